#pragma once

// Plots as SVG documents: panels with linear, logarithmic or named axes; lines, dots, bars and error bars;
// one legend for all panels. The same plot gives the same bytes.

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heatskin {

enum class AxisScale { kLinear, kLogarithmic };

struct PlotAxis {
  std::string label;
  AxisScale scale = AxisScale::kLinear;

  /// Ends; unless given they follow from what is drawn. With a logarithmic scale both are positive, and
  /// values that are not are left out.
  std::optional<double> low, high;

  /// The text of a tick; empty: the number.
  std::function<std::string(double)> text;

  /// Names of the places 0, 1, 2, ... instead of numbers (x axis only).
  std::vector<std::string> categories;
};

/// A value, possibly with an interval around it.
struct PlotPoint {
  double x = 0, y = 0;
  double low = std::numeric_limits<double>::quiet_NaN();   ///< lower end of an error bar, unless NaN
  double high = std::numeric_limits<double>::quiet_NaN();  ///< and its upper end
  bool hollow = false;                                     ///< not measured: a ring, with dashes before it
  std::string label = {};                                  ///< written beside it
};

enum class PlotMark { kLine, kDots, kLineAndDots, kBars };

/// Values that belong together. Points that are not finite are left out.
struct PlotSeries {
  std::string name;   ///< in the legend; empty: not there
  std::string color;  ///< "#b8540b"; empty: plotColor() of its place
  PlotMark mark = PlotMark::kLineAndDots;
  std::vector<PlotPoint> points;
  double width = 2;       ///< of lines, in pixels
  std::string dash = {};  ///< of lines: "7 4"
  double radius = 3.2;    ///< of dots, in pixels
  double opacity = 1;     ///< of dots and bars
};

/// A line across a panel for comparison; in the legend if it has a name.
struct PlotGuide {
  enum class Kind { kHorizontal, kVertical, kDiagonal };
  Kind kind = Kind::kHorizontal;
  double at = 0;  ///< y or x; of kDiagonal: nothing, it is y = x
  std::string name = {};
  std::string color = "#8a867e";
};

struct PlotPanel {
  std::string title;
  PlotAxis x, y;
  std::vector<PlotSeries> series;
  std::vector<PlotGuide> guides = {};
};

struct Plot {
  std::string title;
  std::vector<PlotPanel> panels;
  int columns = 1;                               ///< of panels
  double panel_width = 460, panel_height = 320;  ///< in pixels, axes and titles included
  std::vector<std::string> notes = {};           ///< small, below everything
};

/// An SVG document with a light background.
std::string drawPlot(const Plot& plot);

/// The i-th colour of a series; they repeat after eight.
std::string_view plotColor(std::size_t i);

/// The colour of a method, the same in every figure; that of its place for names we do not know.
std::string_view methodColor(std::string_view method);

/// Round numbers within [low, high], about `wanted` of them: multiples of 1, 2 or 5 times a power of ten; on
/// a logarithmic scale such digits of each decade, or only powers of ten. Never fewer than one for low <
/// high.
std::vector<double> axisTicks(double low, double high, AxisScale scale, int wanted);

/// `text` with the characters escaped that mean something in XML.
std::string escapeXml(std::string_view text);

/// A table of pictures with names of rows and columns, as an SVG document that holds them.
struct PictureTable {
  std::string title;
  std::vector<std::string> columns;
  struct Cell {
    std::string data_uri;  ///< "data:image/png;base64,..."; empty: nothing is drawn
    std::string label;     ///< below it
  };
  struct Row {
    std::string name;
    std::vector<Cell> cells;
  };
  std::vector<Row> rows;
  double picture_size = 200;            ///< side of a cell's picture in pixels
  std::vector<std::string> notes = {};  ///< small, below everything
};
std::string drawPictures(const PictureTable& table);

}  // namespace heatskin
