#include "bench/scale_figure.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>

namespace heatskin::bench {
namespace {

constexpr double kWidth = 380, kHeight = 230, kLeft = 52, kRight = 14, kTop = 28, kBottom = 34;

struct Panel {
  const char* name;
  const char* title;
};

constexpr Panel kPanels[] = {{"setup_s", "from file to first step, s"},
                             {"step_ms", "median step, ms"},
                             {"query_mpoints_s", "queries, million/s"},
                             {"beyond_mb", "memory beyond the input, MB"}};

const char* colorOf(std::string_view method) {
  if (method == "local") return "#c2410c";
  return method == "thermal" ? "#0f766e" : "#4338ca";
}

/// The decades around a range of positive values.
struct Axis {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void settle() {
    if (!(high > 0)) low = high = 1;
    low = std::floor(std::log10(low));
    high = std::max(low + 1, std::ceil(std::log10(high)));
  }
  double at(double value) const { return (std::log10(value) - low) / (high - low); }
};

}  // namespace

std::string scaleFigure(const std::vector<FigurePoint>& points) {
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {:.0f} {:.0f}" font-family="sans-serif" font-size="11">)"
      "\n"
      R"(<rect width="100%" height="100%" fill="white"/>)"
      "\n",
      2 * kWidth, 2 * kHeight);
  Axis x;
  for (const FigurePoint& point : points)
    x.take(point.vertices);
  x.settle();
  for (std::size_t p = 0; p < std::size(kPanels); ++p) {
    const double left = static_cast<double>(p % 2) * kWidth, top = static_cast<double>(p / 2) * kHeight;
    Axis y;
    for (const FigurePoint& point : points) {
      if (point.panel == kPanels[p].name && point.value > 0) y.take(point.value);
    }
    y.settle();
    const auto px = [&](double vertices) {
      return left + kLeft + x.at(vertices) * (kWidth - kLeft - kRight);
    };
    const auto py = [&](double value) { return top + kTop + (1 - y.at(value)) * (kHeight - kTop - kBottom); };
    const auto text = [&](double at_x, double at_y, const char* anchor, std::string_view what) {
      svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", at_x, at_y, anchor,
                         what);
    };
    text(left + kLeft, top + 16, "start", kPanels[p].title);
    for (double decade = y.low; decade <= y.high; ++decade) {
      const double value = std::pow(10, decade);
      svg += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n",
                         left + kLeft, left + kWidth - kRight, py(value), py(value));
      text(left + kLeft - 6, py(value) + 4, "end", fmt::format("{:g}", value));
    }
    for (double decade = x.low; decade <= x.high; ++decade) {
      const double value = std::pow(10, decade);
      text(px(value), top + kHeight - kBottom + 16, "middle",
           value >= 1e6 ? fmt::format("{:g}M", value * 1e-6) : fmt::format("{:g}k", value * 1e-3));
    }
    const FigurePoint* before = nullptr;
    for (const FigurePoint& point : points) {
      if (point.panel != kPanels[p].name || !(point.value > 0)) continue;
      const char* color = colorOf(point.method);
      if (before != nullptr && before->method == point.method) {
        svg += fmt::format(
            "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
            "stroke-width=\"1.6\"{}/>\n",
            px(before->vertices), py(before->value), px(point.vertices), py(point.value), color,
            point.extrapolated ? " stroke-dasharray=\"4 3\"" : "");
      } else {
        text(px(point.vertices) + 6, py(point.value) - 6, "start",
             fmt::format("<tspan fill=\"{}\">{}</tspan>", color, point.method));
      }
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\" stroke=\"{}\"/>\n",
                         px(point.vertices), py(point.value), point.extrapolated ? "white" : color, color);
      before = &point;
    }
  }
  return svg + "</svg>\n";
}

}  // namespace heatskin::bench
