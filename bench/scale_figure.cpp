#include "bench/scale_figure.h"

#include <utility>

#include "heatskin/figures/plot.h"

namespace heatskin::bench {
namespace {

constexpr std::pair<const char*, const char*> kPanels[] = {{"setup_s", "from file to first step, s"},
                                                           {"step_ms", "median step, ms"},
                                                           {"query_mpoints_s", "queries, million/s"},
                                                           {"beyond_mb", "memory beyond the input, MB"}};

}  // namespace

std::string scaleFigure(const std::vector<FigurePoint>& points) {
  Plot plot;
  plot.title = "What finer meshes cost";
  plot.columns = 2;
  for (const auto& [name, title] : kPanels) {
    PlotPanel panel;
    panel.title = title;
    panel.x.label = "vertices";
    panel.x.scale = panel.y.scale = AxisScale::kLogarithmic;
    for (const FigurePoint& point : points) {
      if (panel.series.empty() || panel.series.back().name != point.method) {
        PlotSeries series;
        series.name = point.method;
        series.color = methodColor(point.method);
        panel.series.push_back(std::move(series));
      }
      if (point.panel != name) continue;
      PlotPoint drawn{point.vertices, point.value};
      drawn.hollow = point.extrapolated;
      panel.series.back().points.push_back(std::move(drawn));
    }
    plot.panels.push_back(std::move(panel));
  }
  for (const FigurePoint& point : points) {
    if (!point.extrapolated) continue;
    plot.notes = {"Rings and dashes: extrapolated."};
    break;
  }
  return drawPlot(plot);
}

}  // namespace heatskin::bench
