// What the paper says is missing: where unfolding is better than distance through space in the texture
// itself. Thin sheets, sharp folds and close parts, made by code (fold_shapes.h), and a plane as control.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "heatskin/figures/plot.h"
#include "heatskin/study/aggregate.h"
#include "heatskin/study/fit_run.h"
#include "heatskin/study/fold_shapes.h"
#include "heatskin/study/studies.h"

namespace heatskin::study {
namespace {

class FoldsStudy final : public FitStudy {
 public:
  std::string_view name() const override { return "folds"; }
  std::string_view summary() const override {
    return "thin sheets, sharp folds, close parts: unfolding against distance through space";
  }

  Result<std::vector<StudyRun>> plan(const StudySettings& settings) const override {
    std::vector<MeshSpec> own;
    for (const FoldShape& shape : foldShapes()) {
      MeshSpec mesh;
      mesh.name = shape.name;
      mesh.shape = shape.name;
      mesh.set = "folds";
      own.push_back(std::move(mesh));
    }
    FitPlan fits;
    if (settings.quick) own.resize(2);  // the shapes themselves: a pumpkin has no folds
    fits.meshes = settings.quick ? std::move(own) : meshesFor(settings, std::move(own));
    fits.methods = methodsFor(
        settings, {{"pq", "unfolding", "paper", {}},
                   {"euclid", "Euclidean", "paper", {"local.euclidean=true"}},
                   {"carried",
                    "unfolding, our rule",
                    "paper",
                    {"local.sight=carried", "local.edge_tolerance=0.3", "local.join_corners=true"}},
                   {"hktex", "HKTex", "paper", {"method=spectral"}}});
    if (settings.quick) std::erase_if(fits.methods, [](const MethodSpec& m) { return m.name == "hktex"; });
    fits.seeds = seedsFor(settings);
    fits.views = false;
    return planFits(fits, settings);
  }

  StudyReport report(std::span<const StudyRow> rows, const std::filesystem::path& /*folder*/) const override {
    StudyReport report;
    report.title = "Folds";
    report.tables.push_back(
        perMeshTable(rows, "", "surface_psnr_filtered", 2, "Surface PSNR, dB, mean over seeds"));
    ReportTable table{"Unfolding - Euclidean: surface PSNR, dB, over seeds",
                      {"shape", "difference, 95 %", "seeds", "wins"},
                      {}};
    PlotPanel panel;
    panel.title = "unfolding - Euclidean";
    panel.y.label = "surface PSNR, dB";
    panel.guides = {{PlotGuide::Kind::kHorizontal, 0}};
    PlotSeries series;
    series.name = "mean and 95 % over seeds";
    series.mark = PlotMark::kBars;
    for (const std::string& mesh : tabulate(rows, "surface_psnr_filtered").meshes) {
      const std::vector<double> differences = seedDifferences(rows, mesh);
      const MeanInterval interval = meanInterval(differences);
      const auto wins = std::count_if(differences.begin(), differences.end(), [](double d) { return d > 0; });
      table.rows.push_back({mesh, intervalText(interval, 2, true), std::to_string(differences.size()),
                            fmt::format("{}/{}", wins, differences.size())});
      report.summary[mesh] = toJson(interval);
      const auto x = static_cast<double>(panel.x.categories.size());
      panel.x.categories.push_back(mesh);
      if (interval.count > 0) series.points.push_back({x, interval.mean, interval.low, interval.high});
    }
    report.tables.push_back(std::move(table));
    if (ReportTable refused = refusals(rows); !refused.rows.empty())
      report.tables.push_back(std::move(refused));
    for (const FoldShape& shape : foldShapes())
      report.notes.push_back(fmt::format("{}: {}.", shape.name, shape.description));
    report.notes.emplace_back(
        "Same seed, same everything, but distances and frames in space instead of on the unfolded surface. "
        "Supports are unfolded in "
        "both: a kernel never reaches what is near in space only, so separate plates differ by nothing but "
        "curvature, and the "
        "difference is a lower bound of what a purely Euclidean method would lose.");
    panel.series.push_back(std::move(series));
    Plot plot;
    plot.title = "Where unfolding matters";
    plot.panel_width = 700;
    plot.panel_height = 380;
    plot.panels.push_back(std::move(panel));
    report.figure = drawPlot(plot);
    return report;
  }

 private:
  static std::vector<double> seedDifferences(std::span<const StudyRow> rows, const std::string& mesh) {
    std::vector<double> differences;
    for (const StudyRow& row : rows) {
      if (row.text("mesh/name") != mesh || row.text("method/name") != "pq" || !row.error.empty()) continue;
      for (const StudyRow& other : rows) {
        if (other.text("mesh/name") != mesh || other.text("method/name") != "euclid" ||
            !other.error.empty() || other.text("seed") != row.text("seed"))
          continue;
        const double difference = row.number("surface_psnr_filtered") - other.number("surface_psnr_filtered");
        if (std::isfinite(difference)) differences.push_back(difference);
      }
    }
    return differences;
  }
};

}  // namespace

std::unique_ptr<Study> makeFoldsStudy() {
  return std::make_unique<FoldsStudy>();
}

}  // namespace heatskin::study
