#include "heatskin/figures/plot.h"

#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace heatskin {
namespace {

std::size_t countOf(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(AxisTicks, LinearTicksAreRoundAndWithin) {
  EXPECT_EQ(axisTicks(0, 10, AxisScale::kLinear, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(axisTicks(31.2, 34.9, AxisScale::kLinear, 4), (std::vector<double>{32, 33, 34}));
  for (const double tick : axisTicks(-0.37, 0.91, AxisScale::kLinear, 6)) {
    EXPECT_GE(tick, -0.37);
    EXPECT_LE(tick, 0.91);
  }
}

TEST(AxisTicks, LogarithmicTicksArePowersOfTenOverManyDecades) {
  EXPECT_EQ(axisTicks(1, 1000, AxisScale::kLogarithmic, 5), (std::vector<double>{1, 10, 100, 1000}));
  const auto dense = axisTicks(1, 100, AxisScale::kLogarithmic, 6);
  EXPECT_EQ(dense, (std::vector<double>{1, 2, 5, 10, 20, 50, 100}));
}

TEST(AxisTicks, AnyRangeHasATick) {
  for (const double high : {1e-9, 3e-4, 0.7, 1.0000001, 9.7, 1e7}) {
    EXPECT_FALSE(axisTicks(0.9 * high, high, AxisScale::kLinear, 5).empty());
    EXPECT_FALSE(axisTicks(0.9 * high, high, AxisScale::kLogarithmic, 5).empty());
  }
}

TEST(DrawPlot, LeavesOutWhatCannotBeDrawn) {
  PlotPanel panel;
  panel.y.scale = AxisScale::kLogarithmic;
  PlotSeries series;
  series.name = "values";
  series.mark = PlotMark::kDots;
  series.points = {{1, 10}, {2, std::nan("")}, {3, 0}, {4, std::numeric_limits<double>::infinity()}, {5, 30}};
  panel.series.push_back(series);
  Plot plot;
  plot.panels.push_back(panel);
  const std::string svg = drawPlot(plot);
  EXPECT_EQ(countOf(svg, "<circle"), 2u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(DrawPlot, BarsErrorBarsAndLegend) {
  PlotPanel panel;
  panel.x.categories = {"spot", "a <b> & \"c\""};
  PlotSeries one, two;
  one.name = "one";
  two.name = "two";
  one.mark = two.mark = PlotMark::kBars;
  one.points = {{0, 3, 2, 4}, {1, 5}};
  two.points = {{0, 1}, {1, 2}};
  panel.series = {one, two};
  Plot plot;
  plot.title = "title";
  plot.panels = {panel, panel};
  plot.columns = 2;
  const std::string svg = drawPlot(plot);
  // Two panels with four bars each, two samples in one legend for both, the background.
  EXPECT_EQ(countOf(svg, "<rect"), 8u + 2u + 1u);
  EXPECT_EQ(countOf(svg, ">one</text>"), 1u);
  EXPECT_NE(svg.find("a &lt;b&gt; &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_EQ(svg, drawPlot(plot));
}

TEST(DrawPlot, NothingIsStillADocument) {
  EXPECT_NE(drawPlot(Plot()).find("</svg>"), std::string::npos);
  Plot empty_panel;
  empty_panel.panels.emplace_back();
  EXPECT_EQ(drawPlot(empty_panel).find("nan"), std::string::npos);
}

TEST(DrawPictures, EveryCellHasItsPictureAndLabel) {
  PictureTable table;
  table.columns = {"truth", "fit"};
  table.rows = {{"spot", {{"data:image/png;base64,AA==", "a"}, {"", "b"}}}};
  const std::string svg = drawPictures(table);
  EXPECT_EQ(countOf(svg, "<image"), 1u);
  for (const char* text : {">truth<", ">fit<", ">spot<", ">a<", ">b<"})
    EXPECT_NE(svg.find(text), std::string::npos) << text;
}

}  // namespace
}  // namespace heatskin
