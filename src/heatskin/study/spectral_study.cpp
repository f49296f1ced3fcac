// What HKTex needs before its first step (paper, table "spectral-permesh"): eigenpairs of all operators and
// their alignment, by mesh; and what alignment does to eigenvectors.

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "heatskin/base/plural.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/figures/plot.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/metrics/statistics.h"
#include "heatskin/operators/align.h"
#include "heatskin/operators/eigenpairs.h"
#include "heatskin/operators/operators.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/operators/spectral_bases.h"
#include "heatskin/study/admission.h"
#include "heatskin/study/fit_run.h"
#include "heatskin/study/studies.h"

namespace heatskin::study {
namespace {

/// Published (paper, table "spectral-permesh"), A100 nodes: vertices and seconds.
constexpr std::array<std::pair<double, double>, 10> kPublishedSpectral = {{{121, 17.4},
                                                                           {330, 39.8},
                                                                           {1495, 92.4},
                                                                           {2912, 116.5},
                                                                           {4767, 132.2},
                                                                           {8138, 160.6},
                                                                           {11224, 257.9},
                                                                           {15250, 251.8},
                                                                           {16024, 333.2},
                                                                           {56434, 1052.8}}};

class SpectralStudy final : public Study {
 public:
  std::string_view name() const override { return "spectral"; }
  std::string_view summary() const override {
    return "HKTex preprocessing by mesh; residuals of eigenvectors before and after alignment";
  }
  bool timed() const override { return true; }

  Result<std::vector<StudyRun>> plan(const StudySettings& settings) const override {
    std::vector<StudyRun> runs;
    for (const MeshSpec& mesh : meshesFor(settings, standardMeshes(settings))) {
      auto json = toJson(mesh);
      if (!json) return json.error();
      StudyRun run;
      run.name = fmt::format("{}_spectral", mesh.name);
      run.work = {{"mesh", *json}, {"modes", settings.quick ? std::size_t{32} : kEigenpairs}};
      run.cost = settings.quick ? 1 : 30;
      runs.push_back(std::move(run));
    }
    return runs;
  }

  Result<StudyOutcome> execute(const Json& work, const RunContext& context) const override {
    auto asset = makeAsset(meshFromJson(work.at("mesh")));
    if (!asset) return asset.error();
    const auto surface = buildSurface(*asset);
    if (!surface) return surface.error();
    StudyOutcome outcome;
    outcome.values["vertices"] = surface->vertexCount();
    outcome.values["faces"] = surface->faceCount();
    if (const Admission admission = checkAdmission(*asset, *surface); !admission.admitted()) {
      outcome.values["refused"] = admission.text();
      return outcome;
    }
    SpectralOptions options;
    options.eigen.count = work.value("modes", kEigenpairs);
    PreprocessingCache none;
    SpectralProfile profile;
    const double cpu_before = cpuSeconds();
    Stopwatch watch;
    const auto bases = buildSpectralBases(*surface, none, options, *context.progress, &profile);
    if (!bases) {
      if (bases.error().kind != ErrorKind::kInput) return bases.error();
      outcome.values["refused"] = bases.error().message;
      return outcome;
    }
    outcome.timing["preprocess_s"] = watch.lap();
    outcome.timing["preprocess_cpu_s"] = cpuSeconds() - cpu_before;
    outcome.timing["assembly_s"] = profile.assembly_seconds;
    outcome.timing["eigen_s"] = profile.eigen_seconds;
    outcome.timing["align_s"] = profile.align_seconds;
    outcome.values["modes"] = bases->count;
    outcome.values["bases_mb"] = static_cast<double>(2 * bases->vectors.size()) * 1e-6;

    const Operators operators = assembleOperators(*surface);
    const EigenSolver solver(operators, options.eigen);
    const auto pairs = solver.solveAll(*context.progress);
    if (!pairs) return pairs.error();
    std::vector<double> before, after(kAlignedBases, 0.0);
    for (std::uint32_t j = 0; j < kOperatorCount; ++j)
      before.push_back(eigenResidual(operators, j, (*pairs)[j].values, (*pairs)[j].vectors));
    alignAll(operators, *pairs, [&](std::uint32_t index, const Eigenpairs& basis) {
      after[index] = eigenResidual(operators, operatorOfAligned(index), basis.values, basis.vectors);
    });
    after.pop_back();  // the isotropic basis is nobody's follower
    for (const auto& [key, residuals] :
         {std::pair{"residual_before", &before}, std::pair{"residual_after", &after}}) {
      const Summary summary = summarise(*residuals);
      outcome.values[std::string(key) + "_min"] = jsonNumber(summary.minimum);
      outcome.values[std::string(key) + "_median"] = jsonNumber(summary.median);
      outcome.values[std::string(key) + "_max"] = jsonNumber(summary.maximum);
    }
    return outcome;
  }

  StudyReport report(std::span<const StudyRow> rows, const std::filesystem::path& /*folder*/) const override {
    StudyReport report;
    report.title = "Spectral preprocessing";
    ReportTable table{"By mesh",
                      {"mesh", "vertices", "modes", "preprocessing, s", "processor time, s", "eigenpairs, s",
                       "alignment, s", "residual before: median (max)", "residual after: min .. max"},
                      {}};
    double total = 0;
    std::vector<std::pair<double, std::vector<std::string>>> lines;
    for (const StudyRow& row : rows) {
      if (!row.error.empty() || row.values.contains("refused")) continue;
      total += row.number("preprocess_s");
      lines.push_back(
          {row.number("vertices"),
           {row.text("mesh/name"), grouped(static_cast<std::size_t>(row.number("vertices"))),
            fmt::format("{:.0f}", row.number("modes")), fmt::format("{:.2f}", row.number("preprocess_s")),
            fmt::format("{:.2f}", row.number("preprocess_cpu_s")),
            fmt::format("{:.2f}", row.number("eigen_s")), fmt::format("{:.2f}", row.number("align_s")),
            fmt::format("{:.1e} ({:.1e})", row.number("residual_before_median"),
                        row.number("residual_before_max")),
            fmt::format("{:.2f} .. {:.2f}", row.number("residual_after_min"),
                        row.number("residual_after_max"))}});
    }
    std::stable_sort(lines.begin(), lines.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (auto& [vertices, line] : lines)
      table.rows.push_back(std::move(line));
    table.rows.push_back({"total", "", "", fmt::format("{:.1f}", total), "", "", "", "", ""});
    table.rows.push_back({"spot, paper", "2,930", "256", "122", "", "", "", "1e-5", "0.18 .. 0.61"});
    table.rows.push_back({"total of its ten meshes, paper", "", "", "2454.7", "", "", "", "", ""});
    report.tables.push_back(std::move(table));
    report.summary["total_preprocess_s"] = total;
    if (ReportTable refused = refusals(rows); !refused.rows.empty())
      report.tables.push_back(std::move(refused));
    report.notes = {
        "Preprocessing is assembly, the smallest eigenpairs of all operators and their alignment, with all "
        "threads and without a "
        "cache. The paper's times are from A100 nodes.",
        "Residual: |L Phi - M Phi Lambda| / |M Phi Lambda| in the norm of M^-1 over all columns; the paper "
        "does not define its "
        "norm. After alignment the vectors are no longer eigenvectors: Procrustes mixes modes of different "
        "eigenvalues."};
    report.figure = drawPlot(figure(rows));
    return report;
  }

 private:
  static Plot figure(std::span<const StudyRow> rows) {
    PlotSeries ours, paper;
    ours.name = "ours, CPU";
    ours.color = methodColor("hktex");
    paper.name = "paper, A100 nodes";
    paper.color = "#5b6470";
    paper.dash = "7 4";
    ours.mark = PlotMark::kDots;
    ours.radius = 4.5;
    for (const StudyRow& row : rows) {
      if (row.error.empty()) ours.points.push_back({row.number("vertices"), row.number("preprocess_s")});
    }
    for (const auto& [vertices, seconds] : kPublishedSpectral)
      paper.points.push_back({vertices, seconds});
    PlotPanel panel;
    panel.x.label = "vertices";
    panel.y.label = "seconds";
    panel.x.scale = panel.y.scale = AxisScale::kLogarithmic;
    panel.series = {std::move(ours), std::move(paper)};
    Plot plot;
    plot.title = "HKTex preprocessing";
    plot.panel_width = 640;
    plot.panel_height = 400;
    plot.panels.push_back(std::move(panel));
    return plot;
  }
};

}  // namespace

std::unique_ptr<Study> makeSpectralStudy() {
  return std::make_unique<SpectralStudy>();
}

}  // namespace heatskin::study
