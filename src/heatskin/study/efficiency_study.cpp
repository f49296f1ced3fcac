// What the methods cost (paper, "Efficiency and scaling" and the table by mesh): initialisation, step,
// memory, query rate, optimisation. One run at a time with all threads, nothing from a cache.

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "heatskin/figures/plot.h"
#include "heatskin/study/aggregate.h"
#include "heatskin/study/fit_run.h"
#include "heatskin/study/studies.h"

namespace heatskin::study {
namespace {

struct Cost {
  const char* key;
  const char* title;
  int decimals;
  bool more_is_better;
  double scale;                            ///< from the row's unit to the table's
  double paper_hktex, paper_pf, paper_pq;  ///< published means over the paper's main set, A100
};
constexpr std::array kCosts = {
    Cost{"init_s", "initialisation, s", 2, false, 1, 163.75, 3.83, 4.04},
    Cost{"median_step_ms", "median step, ms", 2, false, 1, 23.76, 12.87, 15.56},
    Cost{"optimise_s", "optimisation, s", 1, false, 1, 141.83, 135.98, 143.97},
    Cost{"run_peak_rss_mb", "peak memory, GB", 3, false, 1e-3, 2.952, 0.284, 0.359},
    Cost{"query_mpoints_s", "queries, million/s", 3, true, 1, 0.145, 3.670, 1.443},
    Cost{"end_to_end_s", "end to end, s", 1, false, 1, 0, 0, 0},
    Cost{"fit_cpu_s", "processor time of the fit, s", 1, false, 1, 0, 0, 0}};

class EfficiencyStudy final : public FitStudy {
 public:
  std::string_view name() const override { return "efficiency"; }
  std::string_view summary() const override {
    return "initialisation, step, memory, query rate and optimisation of all methods on every mesh";
  }
  bool timed() const override { return true; }

  Result<std::vector<StudyRun>> plan(const StudySettings& settings) const override {
    FitPlan fits;
    fits.meshes = meshesFor(settings, standardMeshes(settings));
    if (settings.quick) fits.meshes.resize(1);
    fits.methods = methodsFor(settings, paperMethods());
    fits.seeds = seedsFor(settings, {0});
    fits.fresh = true;
    fits.views = false;
    return planFits(fits, settings);
  }

  StudyReport report(std::span<const StudyRow> rows, const std::filesystem::path& /*folder*/) const override {
    StudyReport report;
    report.title = "Efficiency";
    const auto admitted = [&](const StudyRow& row) { return !refusedAnywhere(rows, row.text("mesh/name")); };
    ReportTable table{"Means over the meshes that all methods take", {"figure"}, {}};
    const auto methods = methodsIn(rows);
    for (const auto& [name, title] : methods)
      table.header.push_back(title);
    table.header.insert(table.header.end(), {"HKTex / PQ", "HKTex / PQ, paper", "paper: HKTex, PF, PQ"});
    for (const Cost& cost : kCosts) {
      const MeshTable values = tabulate(rows, cost.key, admitted);
      std::vector<std::string> line = {cost.title};
      for (const auto& [name, title] : methods) {
        std::vector<double> scaled = values.values(name);
        for (double& value : scaled)
          value *= cost.scale;
        const MeanInterval interval = meanInterval(scaled);
        line.push_back(intervalText(interval, cost.decimals));
        report.summary["means"][name][cost.key] = toJson(interval);
      }
      const double hktex = mean(values.values("hktex")), pq = mean(values.values("pq"));
      const double ratio = cost.more_is_better ? pq / hktex : hktex / pq;
      line.push_back(std::isfinite(ratio) ? fmt::format("{:.2f}", ratio) : "-");
      if (cost.paper_pq > 0) {
        const double paper =
            cost.more_is_better ? cost.paper_pq / cost.paper_hktex : cost.paper_hktex / cost.paper_pq;
        line.push_back(fmt::format("{:.2f}", paper));
        line.push_back(fmt::format("{:g}, {:g}, {:g}", cost.paper_hktex, cost.paper_pf, cost.paper_pq));
      } else {
        line.insert(line.end(), {"", ""});
      }
      table.rows.push_back(std::move(line));
      if (std::string_view(cost.key) == "end_to_end_s") {
        const double thermal = mean(values.values("thermal"));
        if (std::isfinite(hktex / thermal)) {
          report.lead.push_back(fmt::format(
              "End to end ThermalRF is {:.2f} times as fast as HKTex (paper: 1.365 on two meshes).",
              hktex / thermal));
          report.summary["thermal_speedup"] = jsonNumber(hktex / thermal);
        }
      }
    }
    report.tables.push_back(std::move(table));
    for (const Cost& cost : kCosts)
      report.tables.push_back(perMeshTable(scaledRows(rows, cost), "", cost.key, cost.decimals,
                                           fmt::format("By mesh: {}", cost.title)));
    if (ReportTable refused = refusals(rows); !refused.rows.empty())
      report.tables.push_back(std::move(refused));
    report.notes = {
        "Initialisation is everything from the loaded file to the first step, preprocessing included and "
        "never from a "
        "cache; the step is the median after the first tenth; the memory is the largest resident size of a "
        "process that "
        "fits and evaluates; queries are those of the surface samples.",
        "The paper's figures are from A100 GPUs (memory: allocated there), ours from a CPU: ratios compare, "
        "not times.",
        "Processor time is that of all threads from the loaded file to the product: on a busy machine it "
        "says "
        "more than the clock.",
        "Times vary with whatever else the machine does; they are no part of what has to be the same in "
        "every run."};
    report.figure = drawPlot(figure(rows));
    return report;
  }

 private:
  static bool refusedAnywhere(std::span<const StudyRow> rows, const std::string& mesh) {
    for (const StudyRow& row : rows) {
      if (row.text("mesh/name") == mesh && (row.values.contains("refused") || !row.error.empty()))
        return true;
    }
    return false;
  }

  /// Rows with one figure in the table's unit.
  static std::vector<StudyRow> scaledRows(std::span<const StudyRow> rows, const Cost& cost) {
    std::vector<StudyRow> scaled(rows.begin(), rows.end());
    for (StudyRow& row : scaled) {
      const double value = row.number(cost.key);
      if (std::isfinite(value)) row.timing[cost.key] = value * cost.scale;
    }
    return scaled;
  }

  static Plot figure(std::span<const StudyRow> rows) {
    Plot plot;
    plot.title = "What the methods cost, by number of vertices";
    plot.columns = 2;
    for (const Cost& cost : kCosts) {
      PlotPanel panel;
      panel.title = cost.title;
      panel.x.label = "vertices";
      panel.x.scale = panel.y.scale = AxisScale::kLogarithmic;
      for (const auto& [name, title] : methodsIn(rows)) {
        PlotSeries series;
        series.name = title;
        series.color = methodColor(name);
        series.mark = PlotMark::kDots;
        series.radius = 4;
        series.opacity = 0.8;
        for (const StudyRow& row : rows) {
          if (row.text("method/name") == name)
            series.points.push_back({row.number("vertices"), cost.scale * row.number(cost.key)});
        }
        panel.series.push_back(std::move(series));
      }
      plot.panels.push_back(std::move(panel));
    }
    return plot;
  }
};

}  // namespace

std::unique_ptr<Study> makeEfficiencyStudy() {
  return std::make_unique<EfficiencyStudy>();
}

}  // namespace heatskin::study
