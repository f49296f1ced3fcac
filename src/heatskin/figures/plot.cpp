#include "heatskin/figures/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace heatskin {
namespace {

constexpr double kFont = 13, kSmallFont = 12, kTitleFont = 17, kMargin = 16;
// Of a letter on average, in font sizes; for placing text without measuring it.
constexpr double kLetter = 0.56;
constexpr const char* kInk = "#1d1c1a";
constexpr const char* kGrid = "#e3e0da";
constexpr const char* kQuiet = "#6d6a64";

/// Columns of text that UTF-8 takes.
double lettersOf(std::string_view text) {
  return static_cast<double>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & '\xC0') != '\x80'; }));
}

double textWidth(std::string_view text, double font) {
  return kLetter * font * lettersOf(text);
}

class Svg {
 public:
  Svg(double width, double height, std::string_view label) {
    out_ = fmt::format(
        R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" )"
        R"(height="{1:.0f}" role="img" aria-label="{2}" )"
        R"(font-family="system-ui, 'DejaVu Sans', Arial, sans-serif" font-size="{3}" fill="{4}">)"
        "\n"
        R"(<rect width="{0:.0f}" height="{1:.0f}" fill="#ffffff"/>)"
        "\n",
        width, height, escapeXml(label), kFont, kInk);
  }
  void text(double x, double y, std::string_view anchor, std::string_view what, std::string_view more = {}) {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor,
                        more, escapeXml(what));
  }
  void line(double x1, double y1, double x2, double y2, std::string_view color, double width = 1,
            std::string_view dash = {}) {
    out_ += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"{:g}\"{}/>\n",
        x1, y1, x2, y2, color, width,
        dash.empty() ? std::string() : fmt::format(" stroke-dasharray=\"{}\"", dash));
  }
  void dot(double x, double y, double radius, std::string_view color, bool hollow, double opacity) {
    out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:g}\" fill=\"{}\"{}{}/>\n", x, y, radius,
                        hollow ? std::string_view("#ffffff") : color,
                        hollow ? fmt::format(" stroke=\"{}\" stroke-width=\"1.5\"", color) : std::string(),
                        opacity < 1 ? fmt::format(" opacity=\"{:g}\"", opacity) : std::string());
  }
  void bar(double x, double y, double width, double height, std::string_view color, double opacity) {
    out_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"{}/>\n", x, y, width,
        height, color, opacity < 1 ? fmt::format(" opacity=\"{:g}\"", opacity) : std::string());
  }
  void raw(std::string_view text) { out_ += text; }
  std::string finish() { return std::move(out_) + "</svg>\n"; }

 private:
  std::string out_;
};

/// An axis whose ends are settled.
struct Range {
  double low = 0, high = 1;
  AxisScale scale = AxisScale::kLinear;

  bool takes(double value) const {
    return std::isfinite(value) && (scale == AxisScale::kLinear || value > 0);
  }
  /// 0 at the low end, 1 at the high end.
  double at(double value) const {
    if (scale == AxisScale::kLinear) return (value - low) / (high - low);
    return (std::log10(value) - std::log10(low)) / (std::log10(high) - std::log10(low));
  }
};

struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void take(double value, const Range& range) {
    if (!range.takes(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

/// Ends of an axis that holds everything: as given, or a little beyond what is there, at a tick where that is
/// near.
Range settle(const PlotAxis& axis, Extent extent, double margin, int wanted, bool to_ticks) {
  Range range;
  range.scale = axis.scale;
  const bool logarithmic = axis.scale == AxisScale::kLogarithmic;
  if (!(extent.low <= extent.high)) extent.low = logarithmic ? 1 : 0, extent.high = logarithmic ? 10 : 1;
  if (logarithmic) {
    const double a = std::log10(extent.low), b = std::log10(extent.high);
    const double room = std::max(margin * (b - a), b - a < 0.3 ? 0.15 : 0.03);
    range.low = std::pow(10, a - room);
    range.high = std::pow(10, b + room);
  } else {
    double room = margin * (extent.high - extent.low);
    if (room <= 0) room = extent.high != 0 ? 0.1 * std::abs(extent.high) : 1;
    range.low = extent.low - room;
    range.high = extent.high + room;
    if (extent.low >= 0 && range.low < 0) range.low = 0;
    if (to_ticks) {
      const auto ticks = axisTicks(range.low, range.high, axis.scale, wanted);
      if (ticks.size() > 1) {
        const double step = ticks[1] - ticks[0];
        range.low = step * std::floor(range.low / step + 1e-9);
        range.high = step * std::ceil(range.high / step - 1e-9);
      }
    }
  }
  if (axis.low) range.low = *axis.low;
  if (axis.high) range.high = *axis.high;
  if (!(range.high > range.low)) range.high = logarithmic ? 10 * range.low : range.low + 1;
  return range;
}

std::string plainNumber(double value) {
  const double size = std::abs(value);
  if (size >= 1e6) return fmt::format("{:g}M", value * 1e-6);
  if (size >= 1e4) return fmt::format("{:g}k", value * 1e-3);
  // What rounding leaves of a zero is no number.
  return size < 1e-12 ? "0" : fmt::format("{:g}", value);
}

std::string tickText(const PlotAxis& axis, double value) {
  return axis.text ? axis.text(value) : plainNumber(value);
}

std::string_view colorOf(const PlotSeries& series, std::size_t place) {
  return series.color.empty() ? plotColor(place) : std::string_view(series.color);
}

struct LegendEntry {
  std::string name, color, dash;
  PlotMark mark = PlotMark::kLine;
  double width = 2;
};

std::vector<LegendEntry> legendOf(const Plot& plot) {
  std::vector<LegendEntry> entries;
  const auto add = [&](LegendEntry entry) {
    if (entry.name.empty()) return;
    for (const LegendEntry& known : entries) {
      if (known.name == entry.name) return;
    }
    entries.push_back(std::move(entry));
  };
  for (const PlotPanel& panel : plot.panels) {
    for (std::size_t s = 0; s < panel.series.size(); ++s) {
      const PlotSeries& series = panel.series[s];
      add({series.name, std::string(colorOf(series, s)), series.dash, series.mark, series.width});
    }
    for (const PlotGuide& guide : panel.guides)
      add({guide.name, guide.color, "5 4", PlotMark::kLine, 1.5});
  }
  return entries;
}

/// Draws the legend in lines from `top` on; with a null drawing only measures. Returns where it ends.
double drawLegend(Svg* svg, const std::vector<LegendEntry>& entries, double width, double top) {
  constexpr double kSample = 28, kGap = 22, kLine = 21;
  double x = kMargin, y = top;
  for (const LegendEntry& entry : entries) {
    const double needed = kSample + 8 + textWidth(entry.name, kFont) + kGap;
    if (x > kMargin && x + needed > width - kMargin + kGap) {
      x = kMargin;
      y += kLine;
    }
    if (svg != nullptr) {
      if (entry.mark == PlotMark::kBars) {
        svg->bar(x + 6, y - 6, 16, 12, entry.color, 1);
      } else {
        if (entry.mark != PlotMark::kDots)
          svg->line(x, y, x + kSample, y, entry.color, entry.width, entry.dash);
        if (entry.mark != PlotMark::kLine) svg->dot(x + kSample / 2, y, 3.5, entry.color, false, 1);
      }
      svg->text(x + kSample + 8, y + 4.5, "start", entry.name);
    }
    x += needed;
  }
  return entries.empty() ? top : y + kLine;
}

/// Draws one panel into the rectangle at (left, top).
class PanelDrawing {
 public:
  PanelDrawing(const PlotPanel& panel, double left, double top, double width, double height) : panel_(panel) {
    Extent ex, ey;
    const bool named = !panel.x.categories.empty();
    Range scale_x{0, 1, panel.x.scale}, scale_y{0, 1, panel.y.scale};
    bool bars = false;
    for (const PlotSeries& series : panel.series) {
      bars = bars || series.mark == PlotMark::kBars;
      for (const PlotPoint& point : series.points) {
        if (!scale_x.takes(point.x) || !scale_y.takes(point.y)) continue;
        ex.take(point.x, scale_x);
        for (const double value : {point.y, point.low, point.high})
          ey.take(value, scale_y);
      }
    }
    for (const PlotGuide& guide : panel.guides) {
      if (guide.kind == PlotGuide::Kind::kHorizontal) ey.take(guide.at, scale_y);
      if (guide.kind == PlotGuide::Kind::kVertical) ex.take(guide.at, scale_x);
    }
    if (bars && panel.y.scale == AxisScale::kLinear) ey.take(0, scale_y);
    y_ = settle(panel.y, ey, 0.04, kTicks, true);
    if (named) {
      x_ = {-0.5, static_cast<double>(panel.x.categories.size()) - 0.5, AxisScale::kLinear};
    } else {
      x_ = settle(panel.x, ex, 0.03, kTicks, false);
    }

    y_ticks_ = axisTicks(y_.low, y_.high, y_.scale, kTicks);
    double widest = 0;
    for (const double tick : y_ticks_)
      widest = std::max(widest, textWidth(tickText(panel.y, tick), kFont));
    left_ = left + (panel.y.label.empty() ? 8 : 26) + widest + 8;
    right_ = left + width - 14;
    top_ = top + (panel.title.empty() ? 12 : 34);
    double below = 26;
    if (named) {
      double longest = 0;
      for (const std::string& name : panel.x.categories)
        longest = std::max(longest, textWidth(name, kSmallFont));
      slanted_ = longest > (right_ - left_) / static_cast<double>(panel.x.categories.size()) - 6;
      if (slanted_) below = 20 + 0.6 * longest;
    }
    if (!panel.x.label.empty()) below += 22;
    bottom_ = top + height - below;
    label_y_ = top + height - 6;
    title_y_ = top + 20;
    label_x_ = left + 14;
  }

  void draw(Svg& svg) const {
    if (!panel_.title.empty()) svg.text(left_, title_y_, "start", panel_.title, " font-weight=\"600\"");
    drawAxes(svg);
    drawGuides(svg);
    drawBars(svg);
    for (std::size_t s = 0; s < panel_.series.size(); ++s) {
      if (panel_.series[s].mark != PlotMark::kBars)
        drawSeries(svg, panel_.series[s], colorOf(panel_.series[s], s));
    }
    svg.line(left_, bottom_, right_, bottom_, "#8a867e");
  }

 private:
  static constexpr int kTicks = 6;

  double px(double x) const { return left_ + x_.at(x) * (right_ - left_); }
  double py(double y) const { return bottom_ - std::clamp(y_.at(y), -0.02, 1.02) * (bottom_ - top_); }
  bool shown(const PlotPoint& point) const { return x_.takes(point.x) && y_.takes(point.y); }

  void drawAxes(Svg& svg) const {
    for (const double tick : y_ticks_) {
      svg.line(left_, py(tick), right_, py(tick), kGrid);
      svg.text(left_ - 7, py(tick) + 4.5, "end", tickText(panel_.y, tick));
    }
    if (panel_.x.categories.empty()) {
      // As many ticks as have room for their texts.
      std::vector<double> ticks;
      for (int wanted = 8; wanted >= 1; --wanted) {
        ticks = axisTicks(x_.low, x_.high, x_.scale, wanted);
        double longest = 0, closest = right_ - left_;
        for (std::size_t i = 0; i < ticks.size(); ++i) {
          longest = std::max(longest, textWidth(tickText(panel_.x, ticks[i]), kFont));
          if (i > 0) closest = std::min(closest, px(ticks[i]) - px(ticks[i - 1]));
        }
        if (longest + 8 < closest) break;
      }
      for (const double tick : ticks) {
        svg.line(px(tick), top_, px(tick), bottom_, kGrid);
        svg.text(px(tick), bottom_ + 18, "middle", tickText(panel_.x, tick));
      }
    } else {
      for (std::size_t i = 0; i < panel_.x.categories.size(); ++i) {
        const double at = px(static_cast<double>(i));
        if (slanted_) {
          svg.text(0, 0, "end", panel_.x.categories[i],
                   fmt::format(" font-size=\"{}\" transform=\"translate({:.1f} {:.1f}) rotate(-35)\"",
                               kSmallFont, at + 4, bottom_ + 14));
        } else {
          svg.text(at, bottom_ + 17, "middle", panel_.x.categories[i],
                   fmt::format(" font-size=\"{}\"", kSmallFont));
        }
      }
    }
    if (!panel_.x.label.empty()) svg.text(0.5 * (left_ + right_), label_y_, "middle", panel_.x.label);
    if (!panel_.y.label.empty()) {
      svg.text(0, 0, "middle", panel_.y.label,
               fmt::format(" transform=\"translate({:.1f} {:.1f}) rotate(-90)\"", label_x_,
                           0.5 * (top_ + bottom_)));
    }
  }

  void drawGuides(Svg& svg) const {
    for (const PlotGuide& guide : panel_.guides) {
      switch (guide.kind) {
        case PlotGuide::Kind::kHorizontal:
          if (y_.takes(guide.at))
            svg.line(left_, py(guide.at), right_, py(guide.at), guide.color, 1.5, "5 4");
          break;
        case PlotGuide::Kind::kVertical:
          if (x_.takes(guide.at))
            svg.line(px(guide.at), top_, px(guide.at), bottom_, guide.color, 1.5, "5 4");
          break;
        case PlotGuide::Kind::kDiagonal: {
          const double from = std::max(x_.low, y_.low), to = std::min(x_.high, y_.high);
          if (from < to) svg.line(px(from), py(from), px(to), py(to), guide.color, 1.5, "5 4");
          break;
        }
      }
    }
  }

  void drawError(Svg& svg, double x, const PlotPoint& point, std::string_view color) const {
    const double low = y_.takes(point.low) ? point.low : point.y,
                 high = y_.takes(point.high) ? point.high : point.y;
    if (!(low < high)) return;
    svg.line(x, py(low), x, py(high), color, 1.4);
    for (const double end : {low, high})
      svg.line(x - 3.5, py(end), x + 3.5, py(end), color, 1.4);
  }

  /// Bars of several series stand side by side.
  void drawBars(Svg& svg) const {
    std::size_t groups = 0, place = 0;
    for (const PlotSeries& series : panel_.series)
      groups += series.mark == PlotMark::kBars ? 1 : 0;
    if (groups == 0) return;
    const double unit = px(1) - px(0), width = 0.8 * unit / static_cast<double>(groups);
    const double zero = y_.scale == AxisScale::kLogarithmic ? y_.low : std::clamp(0.0, y_.low, y_.high);
    for (std::size_t s = 0; s < panel_.series.size(); ++s) {
      const PlotSeries& series = panel_.series[s];
      if (series.mark != PlotMark::kBars) continue;
      for (const PlotPoint& point : series.points) {
        if (!shown(point)) continue;
        const double x = px(point.x) - 0.4 * unit + static_cast<double>(place) * width;
        const double a = py(zero), b = py(point.y);
        svg.bar(x + 0.05 * width, std::min(a, b), 0.9 * width, std::max(0.5, std::abs(a - b)),
                colorOf(series, s), series.opacity);
        drawError(svg, x + 0.5 * width, point, kInk);
        if (!point.label.empty()) {
          svg.text(x + 0.5 * width, std::min(a, b) - 4, "middle", point.label,
                   fmt::format(" font-size=\"{}\"", kSmallFont - 1));
        }
      }
      ++place;
    }
  }

  void drawSeries(Svg& svg, const PlotSeries& series, std::string_view color) const {
    if (series.mark != PlotMark::kDots) {
      const PlotPoint* before = nullptr;
      for (const PlotPoint& point : series.points) {
        if (!shown(point)) continue;
        if (before != nullptr) {
          svg.line(px(before->x), py(before->y), px(point.x), py(point.y), color, series.width,
                   point.hollow ? "4 3" : std::string_view(series.dash));
        }
        before = &point;
      }
    }
    for (const PlotPoint& point : series.points) {
      if (!shown(point)) continue;
      drawError(svg, px(point.x), point, color);
      if (series.mark != PlotMark::kLine)
        svg.dot(px(point.x), py(point.y), series.radius, color, point.hollow, series.opacity);
      if (!point.label.empty()) {
        // To the left of what stands at the right end.
        const bool end = px(point.x) + 7 + textWidth(point.label, kSmallFont) > right_;
        svg.text(px(point.x) + (end ? -7 : 7), py(point.y) - 5, end ? "end" : "start", point.label,
                 fmt::format(" font-size=\"{}\" fill=\"{}\"", kSmallFont - 1, kQuiet));
      }
    }
  }

  const PlotPanel& panel_;
  Range x_, y_;
  std::vector<double> y_ticks_;
  bool slanted_ = false;
  double left_ = 0, right_ = 0, top_ = 0, bottom_ = 0, label_x_ = 0, label_y_ = 0, title_y_ = 0;
};

constexpr double kNoteLine = 17;

void drawNotes(Svg& svg, const std::vector<std::string>& notes, double top) {
  for (std::size_t i = 0; i < notes.size(); ++i) {
    svg.text(kMargin, top + kNoteLine * static_cast<double>(i + 1), "start", notes[i],
             fmt::format(" font-size=\"{}\" fill=\"{}\"", kSmallFont, kQuiet));
  }
}

double notesHeight(const std::vector<std::string>& notes) {
  return notes.empty() ? 8 : kNoteLine * static_cast<double>(notes.size()) + 14;
}

}  // namespace

std::string escapeXml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string_view plotColor(std::size_t i) {
  // Apart in hue and lightness, also for those who see few hues.
  static constexpr std::array<std::string_view, 8> kColors = {"#b8540b", "#2563a8", "#1f7a4d", "#7b3fb0",
                                                              "#c2255c", "#0f766e", "#8a6d00", "#5b6470"};
  return kColors[i % kColors.size()];
}

std::string_view methodColor(std::string_view method) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kKnown = {{
      {"local", "#b8540b"},
      {"pq", "#b8540b"},
      {"pf", "#8a6d00"},
      {"thermal", "#0f766e"},
      {"spectral", "#4338ca"},
      {"hktex", "#4338ca"},
      {"compact", "#c2255c"},
      {"default", "#7b3fb0"},
  }};
  for (const auto& [name, color] : kKnown) {
    if (name == method) return color;
  }
  std::size_t sum = 0;
  for (const char c : method)
    sum += static_cast<unsigned char>(c);
  return plotColor(sum);
}

std::vector<double> axisTicks(double low, double high, AxisScale scale, int wanted) {
  std::vector<double> ticks;
  if (!(low < high)) return {low};
  if (scale == AxisScale::kLogarithmic) {
    const double decades = std::log10(high / low);
    std::vector<double> digits = {1};
    if (3 * decades <= wanted) digits = {1, 2, 5};
    if (9 * decades <= wanted) digits = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const int every = std::max(1, static_cast<int>(std::ceil(decades / std::max(1, wanted))));
    const int first = static_cast<int>(std::floor(std::log10(low))),
              last = static_cast<int>(std::ceil(std::log10(high)));
    for (int decade = first; decade <= last; ++decade) {
      if (digits.size() == 1 && decade % every != 0) continue;
      for (const double digit : digits) {
        const double value = digit * std::pow(10.0, decade);
        if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) ticks.push_back(value);
      }
    }
    // Less than a decade may hold none of the round numbers asked for; then a linear step serves.
    if (ticks.size() < 2) return axisTicks(low, high, AxisScale::kLinear, wanted);
    return ticks;
  }
  const double raw = (high - low) / std::max(1, wanted);
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (digit * power >= raw * (1 - 1e-9)) {
      step = digit * power;
      break;
    }
  }
  const auto from = static_cast<long>(std::ceil(low / step - 1e-9)),
             to = static_cast<long>(std::floor(high / step + 1e-9));
  for (long i = from; i <= to; ++i)
    ticks.push_back(static_cast<double>(i) * step);
  if (ticks.empty()) ticks.push_back(low);
  return ticks;
}

std::string drawPlot(const Plot& plot) {
  const int columns = std::max(1, std::min(plot.columns, static_cast<int>(plot.panels.size())));
  const int rows = (static_cast<int>(plot.panels.size()) + columns - 1) / columns;
  const double width = 2 * kMargin + columns * plot.panel_width;
  const std::vector<LegendEntry> legend = legendOf(plot);
  const double legend_top = plot.title.empty() ? 18 : 48;
  // A single series under a title needs no legend.
  const bool named = legend.size() > 1;
  const double panels_top = (named ? drawLegend(nullptr, legend, width, legend_top) : legend_top - 14) + 2;
  const double panels_bottom = panels_top + rows * plot.panel_height;
  Svg svg(width, panels_bottom + notesHeight(plot.notes), plot.title);
  if (!plot.title.empty())
    svg.text(kMargin, 27, "start", plot.title,
             fmt::format(" font-size=\"{}\" font-weight=\"600\"", kTitleFont));
  if (named) drawLegend(&svg, legend, width, legend_top);
  for (std::size_t p = 0; p < plot.panels.size(); ++p) {
    const auto column = static_cast<double>(p % static_cast<std::size_t>(columns)),
               row = static_cast<double>(p / static_cast<std::size_t>(columns));
    PanelDrawing(plot.panels[p], kMargin + column * plot.panel_width, panels_top + row * plot.panel_height,
                 plot.panel_width, plot.panel_height)
        .draw(svg);
  }
  drawNotes(svg, plot.notes, panels_bottom);
  return svg.finish();
}

std::string drawPictures(const PictureTable& table) {
  constexpr double kGap = 8, kLabel = 20;
  double names = 40;
  for (const PictureTable::Row& row : table.rows)
    names = std::max(names, textWidth(row.name, kFont) + 16);
  const double size = table.picture_size, step_x = size + kGap, step_y = size + kLabel + kGap;
  const double left = kMargin + names, top = (table.title.empty() ? 12 : 44) + 22;
  const double width = left + static_cast<double>(table.columns.size()) * step_x + kMargin;
  const double bottom = top + static_cast<double>(table.rows.size()) * step_y;
  Svg svg(width, bottom + notesHeight(table.notes), table.title);
  if (!table.title.empty())
    svg.text(kMargin, 27, "start", table.title,
             fmt::format(" font-size=\"{}\" font-weight=\"600\"", kTitleFont));
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    svg.text(left + static_cast<double>(c) * step_x + size / 2, top - 8, "middle", table.columns[c],
             " font-weight=\"600\"");
  }
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const double y = top + static_cast<double>(r) * step_y;
    svg.text(kMargin, y + size / 2, "start", table.rows[r].name);
    for (std::size_t c = 0; c < table.rows[r].cells.size() && c < table.columns.size(); ++c) {
      const PictureTable::Cell& cell = table.rows[r].cells[c];
      const double x = left + static_cast<double>(c) * step_x;
      if (!cell.data_uri.empty()) {
        svg.raw(
            fmt::format("<image x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.0f}\" height=\"{:.0f}\" href=\"{}\"/>\n",
                        x, y, size, size, escapeXml(cell.data_uri)));
      }
      svg.text(x + size / 2, y + size + 14, "middle", cell.label,
               fmt::format(" font-size=\"{}\" fill=\"{}\"", kSmallFont, kQuiet));
    }
  }
  drawNotes(svg, table.notes, bottom);
  return svg.finish();
}

}  // namespace heatskin
