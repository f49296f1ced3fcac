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
  /// A picture of several that show the same thing in different ways, from one side.
  struct ComparedView {
    std::string label;
    std::vector<std::vector<std::uint8_t>> layers;  ///< one for each of the names given with it
  };
  /// Two of the layers behind a slider, the first two at the beginning; which ones, and which view, the
  /// reader chooses. `aspect`: width of every picture over its height.
  void compare(const std::vector<std::string>& layers, const std::vector<ComparedView>& views, double aspect,
               std::string_view caption);
  /// A page of its own in a frame that starts when the reader wants it. `deflated` is a zlib stream of its
  /// HTML.
  void embeddedPage(std::span<const std::uint8_t> deflated, std::string_view title, std::string_view caption);
  /// The scale of a map: its name, CSS colours from left to right, and texts at places 0 .. 1.
  void legend(std::string_view label, const std::vector<std::string>& colors,
              const std::vector<std::pair<double, std::string>>& ticks);
  /// A drawing as SVG markup, taken as it is; the colours of drawPlot() follow the page in the dark.
  void drawing(std::string_view svg, std::string_view caption, bool wide = false);
  void table(std::string_view caption, const Rows& rows);
  /// A table of figures across the whole grid: the first column is text, the others are numbers.
  void figures(std::string_view caption, const std::vector<std::string>& header,
               const std::vector<std::vector<std::string>>& rows);
  /// Parts of a whole as bars: name, text and share of the largest one.
  struct Bar {
    std::string name, text;
    double share = 0;
  };
  void bars(std::string_view caption, const std::vector<Bar>& bars);
  /// Text for machines, with a button that copies it; folded away if it is long.
  void code(std::string_view caption, std::string_view text, bool folded = false);
  /// A paragraph across the whole grid.
  void note(std::string_view text);
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
