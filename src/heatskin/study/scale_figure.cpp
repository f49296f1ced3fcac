#include "heatskin/study/scale_figure.h"

#include <utility>

namespace heatskin::study {
namespace {

constexpr std::array kScaleTitles = {"from file to first step, s", "median step, ms", "queries, million/s",
                                     "memory beyond the input, MB"};
static_assert(kScaleTitles.size() == kScalePanels.size());

}  // namespace

Plot scalePlot(const std::vector<ScalePoint>& points) {
  Plot plot;
  plot.title = "What finer meshes cost";
  plot.columns = 2;
  for (std::size_t i = 0; i < kScalePanels.size(); ++i) {
    PlotPanel panel;
    panel.title = kScaleTitles[i];
    panel.x.label = "vertices";
    panel.x.scale = panel.y.scale = AxisScale::kLogarithmic;
    for (const ScalePoint& point : points) {
      if (panel.series.empty() || panel.series.back().name != point.title) {
        PlotSeries series;
        series.name = point.title;
        series.color = methodColor(point.method);
        panel.series.push_back(std::move(series));
      }
      if (point.panel != kScalePanels[i]) continue;
      PlotPoint drawn{point.vertices, point.value};
      drawn.hollow = point.extrapolated;
      panel.series.back().points.push_back(std::move(drawn));
    }
    plot.panels.push_back(std::move(panel));
  }
  for (const ScalePoint& point : points) {
    if (!point.extrapolated) continue;
    plot.notes = {"Rings and dashes: extrapolated."};
    break;
  }
  return plot;
}

}  // namespace heatskin::study
