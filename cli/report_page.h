#pragma once

// A report as one HTML file: no other file, no network, light and dark, narrow and wide screens.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heatskin::cli {

/// Collects what is to be shown, in order; texts are plain and escaped here.
class ReportPage {
 public:
  using Rows = std::vector<std::pair<std::string, std::string>>;

  ReportPage(std::string title, std::string lead) : title_(std::move(title)), lead_(std::move(lead)) {}

  /// A row of figures that meet the eye first: value above, name below.
  void tiles(const Rows& rows);
  /// A headline; figures and tables up to the next one share a grid.
  void section(std::string_view title, std::string_view text = {});
  /// A picture (WebP or PNG; without background if it is to sit on the page) and its name. Several pictures
  /// are a turntable: once around, turned by dragging or with the arrow keys.
  struct Cell {
    std::vector<std::vector<std::uint8_t>> images;
    std::string label;
  };
  /// Pictures in rows of `columns` across the whole grid, names below them.
  void gallery(const std::vector<Cell>& cells, int columns, std::string_view caption);
  /// The scale of a map: CSS colours from left to right, and texts at places 0 .. 1.
  void legend(const std::vector<std::string>& colors,
              const std::vector<std::pair<double, std::string>>& ticks);
  /// A drawing as SVG markup, taken as it is.
  void drawing(std::string_view svg, std::string_view caption, bool wide = false);
  void table(std::string_view caption, const Rows& rows);
  /// A table of figures across the whole grid: the first column is text, the others are numbers.
  void figures(std::string_view caption, const std::vector<std::string>& header,
               const std::vector<std::vector<std::string>>& rows);
  void footer(std::string_view text);

  std::string html() const;

 private:
  void openGrid();
  void closeGrid();

  std::string title_, lead_, body_, footer_;
  bool in_grid_ = false;
};

std::string escapeHtml(std::string_view text);

}  // namespace heatskin::cli
