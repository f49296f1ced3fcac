// Where no kernel reaches (paper, "Low-poly coverage failure and repair" and the pumpkin's stem): how many
// kernels a face supports, how much of the surface has a weight sum below 0.5 with the cap of candidates per
// face, without any cap and without the window, for the same kernels; and what seeding brings.

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "heatskin/evaluators/local/local_evaluator.h"
#include "heatskin/figures/plot.h"
#include "heatskin/metrics/statistics.h"
#include "heatskin/pipeline/stem.h"
#include "heatskin/study/aggregate.h"
#include "heatskin/study/fit_run.h"
#include "heatskin/study/studies.h"
#include "heatskin/surface/sampling.h"

namespace heatskin::study {
namespace {

constexpr std::uint64_t kSampleSeed = 1;

/// A texture keeps the 30 strongest kernels of a point; sums over fewer are sums over all.
constexpr std::size_t kKept = 30;

/// Published (paper, table "coverage"): vertices, candidates, shares below 0.5 in per cent, view PSNR.
struct PublishedCoverage {
  int vertices, candidates;
  double capped, uncapped, cap_only, hktex, pf, pq;
};
constexpr std::array kPublishedCoverage = {
    PublishedCoverage{121, 2601, 36.5, 1.2, 35.4, 21.49, 15.03, 24.25},
    PublishedCoverage{330, 1012, 24.6, 1.7, 23.0, 48.11, 30.52, 48.13}};

double belowHalf(std::span<const float> weights) {
  const auto low = std::count_if(weights.begin(), weights.end(), [](float w) { return w < 0.5f; });
  return static_cast<double>(low) / static_cast<double>(std::max<std::size_t>(1, weights.size()));
}

KernelSet every(const KernelSet& kernels, std::size_t first, std::size_t step) {
  std::vector<std::uint32_t> chosen;
  for (std::size_t i = first; i < kernels.size(); i += step)
    chosen.push_back(static_cast<std::uint32_t>(i));
  KernelSet some = kernels;
  some.select(chosen);
  return some;
}

std::size_t mostOnAFace(const local::SupportTable& table) {
  std::size_t most = 0;
  for (std::uint32_t f = 0; f < table.faceCount(); ++f)
    most = std::max<std::size_t>(most, table.of(f).count);
  return most;
}

/// Weight sums of all kernels, whatever their number on a face: added up over parts with so few that neither
/// the candidates nor the kept ones of a query are limited.
Result<std::vector<float>> uncappedWeights(std::shared_ptr<const Surface> surface, const KernelSet& kernels,
                                           local::LocalOptions options,
                                           std::span<const SurfacePoint> points) {
  options.rule = local::CandidateRule::kPerQuery;
  options.candidates = kMostCandidates;
  local::LocalEvaluator evaluator(*surface, options);
  evaluator.rebuild(kernels);
  std::size_t parts = std::max<std::size_t>(1, 2 * mostOnAFace(evaluator.supports()) / kKept);
  parts = std::min(parts, kernels.size());
  std::vector<float> sums(points.size(), 0), weights(points.size());
  std::vector<Vec3f> colors(points.size());
  for (std::size_t part = 0; part < parts; ++part) {
    const KernelSet some = every(kernels, part, parts);
    const auto texture = KernelTexture::create(surface, some, options);
    if (!texture) return texture.error();
    texture->colors(points, colors, weights);
    for (std::size_t i = 0; i < points.size(); ++i)
      sums[i] += weights[i];
  }
  return sums;
}

class CoverageStudy final : public Study {
 public:
  std::string_view name() const override { return "coverage"; }
  std::string_view summary() const override {
    return "candidates per face, weight sums with cap, without cap, without window; the pumpkin's stem";
  }

  Result<std::vector<StudyRun>> plan(const StudySettings& settings) const override {
    const std::vector<MethodSpec> own = {
        {"pf", "LocalHK PF", "paper", {"local.candidate_rule=per_face"}},
        {"pq", "LocalHK PQ", "paper", {}},
        {"pq_seeded", "LocalHK PQ, coverage seeding", "paper", {"density.rule=budget"}},
        {"hktex", "HKTex", "paper", {"method=spectral"}}};
    std::vector<MeshSpec> meshes = lowPolyMeshes(settings.found);
    MeshSpec pumpkin;
    pumpkin.name = "pumpkin_3000";
    pumpkin.set = "stem";
    meshes.push_back(pumpkin);
    FitPlan fits;
    fits.meshes = meshesFor(settings, std::move(meshes));
    for (MeshSpec& mesh : fits.meshes) {
      if (mesh.set == pumpkin.set) mesh.vertices = 0;  // also in quick studies: a simplified one has no stem
    }
    fits.methods = methodsFor(settings, own);
    fits.seeds = seedsFor(settings, {0});
    auto runs = planFits(fits, settings);
    if (!runs) return runs;
    // The stem is that of the pumpkin as it was made.
    for (StudyRun& run : *runs)
      run.work["stem"] = run.work["mesh"].contains("resolution") && !run.work["mesh"].contains("vertices");
    return runs;
  }

  Result<StudyOutcome> execute(const Json& work, const RunContext& context) const override {
    StudyOutcome outcome;
    auto fitted = fitRun(work, context, outcome);
    if (!fitted) return fitted.error();
    if (!*fitted) return outcome;
    const KernelTexture& texture = (*fitted)->stored.texture;
    if (work.value("stem", false))
      outcome.values["stem_below_half"] = jsonNumber(stemBelowHalf(texture, kSampleSeed));
    if ((*fitted)->config.evaluator.method != Method::kLocal) return outcome;
    if (auto looked = lookCloser(texture, (*fitted)->config.evaluator.local,
                                 work.value("samples", std::size_t{200'000}), outcome.values);
        !looked)
      return looked.error();
    return outcome;
  }

  StudyReport report(std::span<const StudyRow> rows, const std::filesystem::path& /*folder*/) const override {
    StudyReport report;
    report.title = "Coverage";
    report.tables.push_back(diagnosis(rows));
    report.tables.push_back(perMeshTable(rows, "", "view_psnr", 2, "View PSNR, dB"));
    ReportTable published{
        "The paper's two coarse meshes",
        {"vertices", "candidates, median", "PF below 0.5", "uncapped", "cap alone", "HKTex", "PF", "PQ"},
        {}};
    for (const PublishedCoverage& p : kPublishedCoverage) {
      published.rows.push_back({std::to_string(p.vertices), std::to_string(p.candidates),
                                fmt::format("{} %", p.capped), fmt::format("{} %", p.uncapped),
                                fmt::format("{} %", p.cap_only), fmt::format("{:.2f}", p.hktex),
                                fmt::format("{:.2f}", p.pf), fmt::format("{:.2f}", p.pq)});
    }
    report.tables.push_back(std::move(published));
    if (ReportTable stem = stemTable(rows); !stem.rows.empty()) report.tables.push_back(std::move(stem));
    if (ReportTable refused = refusals(rows); !refused.rows.empty())
      report.tables.push_back(std::move(refused));
    summarise(rows, report);
    report.notes = {
        "Shares of the surface with a weight sum below 0.5, for the kernels of each fit: as the method "
        "evaluates them; with "
        "the cap of 50 per face (PF), with 50 per query (PQ), without any cap (the sum over all kernels), "
        "and without cap "
        "and window.",
        "Candidates: how many kernels reach the face of a sample, before any cap."};
    report.figure = drawPlot(figure(rows));
    return report;
  }

 private:
  /// Weight sums of the same kernels under other rules.
  static Result<void> lookCloser(const KernelTexture& texture, const local::LocalOptions& options,
                                 std::size_t samples, Json& values) {
    const auto surface = std::make_shared<const Surface>(texture.surface());
    const std::vector<SurfacePoint> points = sampleSurface(*surface, samples, kSampleSeed);
    local::LocalOptions per_query = options;
    per_query.rule = local::CandidateRule::kPerQuery;
    local::LocalEvaluator evaluator(*surface, per_query);
    evaluator.rebuild(texture.kernels());
    if (&evaluator.supportSurface() == surface.get()) {
      std::vector<double> candidates;
      for (const SurfacePoint& p : points)
        candidates.push_back(static_cast<double>(evaluator.supports().of(p.face).count));
      values["candidates_median"] = jsonNumber(median(candidates));
      values["candidates_p99"] = jsonNumber(percentile(candidates, 99));
    }
    std::vector<Vec3f> colors(points.size());
    std::vector<float> weights(points.size());
    for (const auto& [rule, key] : {std::pair{local::CandidateRule::kPerFace, "below_half_per_face"},
                                    std::pair{local::CandidateRule::kPerQuery, "below_half_per_query"}}) {
      local::LocalOptions other = options;
      other.rule = rule;
      const auto changed = KernelTexture::create(surface, texture.kernels(), other);
      if (!changed) return changed.error();
      changed->colors(points, colors, weights);
      values[key] = jsonNumber(belowHalf(weights));
    }
    const auto uncapped = uncappedWeights(surface, texture.kernels(), options, points);
    if (!uncapped) return uncapped.error();
    values["below_half_uncapped"] = jsonNumber(belowHalf(*uncapped));
    local::LocalOptions no_window = options;
    no_window.window_sigma = 0;
    const auto windowless = uncappedWeights(surface, texture.kernels(), no_window, points);
    if (!windowless) return windowless.error();
    values["below_half_uncapped_no_window"] = jsonNumber(belowHalf(*windowless));
    return {};
  }

  static std::string percentText(const std::vector<double>& values) {
    return values.empty() ? "-" : fmt::format("{:.2f} %", 100 * mean(values));
  }

  static std::vector<double> valuesOf(std::span<const StudyRow> rows, const std::string& mesh,
                                      const std::string& method, std::string_view key) {
    std::vector<double> values;
    for (const StudyRow& row : rows) {
      const double value = row.number(key);
      if (row.text("mesh/name") == mesh && row.text("method/name") == method && std::isfinite(value))
        values.push_back(value);
    }
    return values;
  }

  static std::vector<std::string> meshesIn(std::span<const StudyRow> rows) {
    return tabulate(rows, "vertices").meshes;
  }

  static ReportTable diagnosis(std::span<const StudyRow> rows) {
    ReportTable table{"Weight sums below 0.5, same kernels under several rules",
                      {"mesh", "fitted with", "candidates, median", "as fitted", "50 per face",
                       "50 per query", "no cap", "no cap, no window", "cap per face alone"},
                      {}};
    for (const std::string& mesh : meshesIn(rows)) {
      for (const auto& [name, title] : methodsIn(rows)) {
        const auto of = [&, &method = name](std::string_view key) {
          return valuesOf(rows, mesh, method, key);
        };
        const auto candidates = of("candidates_median"), capped = of("below_half_per_face"),
                   uncapped = of("below_half_uncapped");
        if (capped.empty()) continue;
        table.rows.push_back({mesh, title, candidates.empty() ? "-" : fmt::format("{:.0f}", mean(candidates)),
                              percentText(of("coverage_below_half")), percentText(capped),
                              percentText(of("below_half_per_query")), percentText(uncapped),
                              percentText(of("below_half_uncapped_no_window")),
                              fmt::format("{:.2f} %", 100 * (mean(capped) - mean(uncapped)))});
      }
    }
    return table;
  }

  static ReportTable stemTable(std::span<const StudyRow> rows) {
    ReportTable table{"The pumpkin's stem: share with a weight sum below 0.5",
                      {"mesh", "method", "stem", "everything", "view PSNR"},
                      {}};
    for (const std::string& mesh : meshesIn(rows)) {
      for (const auto& [name, title] : methodsIn(rows)) {
        const auto stem = valuesOf(rows, mesh, name, "stem_below_half");
        if (stem.empty()) continue;
        const auto views = valuesOf(rows, mesh, name, "view_psnr");
        table.rows.push_back({mesh, title, percentText(stem),
                              percentText(valuesOf(rows, mesh, name, "coverage_below_half")),
                              views.empty() ? "-" : fmt::format("{:.2f} dB", mean(views))});
      }
    }
    return table;
  }

  static void summarise(std::span<const StudyRow> rows, StudyReport& report) {
    const auto low = [](const StudyRow& row) { return row.text("mesh/set") == "low"; };
    for (const char* method : {"pf", "pq", "pq_seeded", "hktex"}) {
      const MeshTable table = tabulate(rows, "coverage_below_half", low);
      const MeanInterval interval = meanInterval(table.values(method));
      if (interval.count == 0) continue;
      report.summary["low"][method]["coverage_below_half"] = toJson(interval);
    }
    const MeshTable capped = tabulate(rows, "below_half_per_face", low),
                    free = tabulate(rows, "below_half_uncapped", low);
    if (!capped.values("pf").empty() && !free.values("pf").empty()) {
      report.lead.push_back(
          fmt::format("On the coarse meshes {:.1f} % of the surface is below a weight sum of 0.5 with the "
                      "cap per face, {:.1f} % with "
                      "the same kernels and no cap (paper: 36.5 and 1.2 %, 24.6 and 1.7 % on its two).",
                      100 * mean(capped.values("pf")), 100 * mean(free.values("pf"))));
    }
  }

  static Plot figure(std::span<const StudyRow> rows) {
    Plot plot;
    plot.title = "Share of the surface with a weight sum below 0.5";
    plot.panel_width = 900;
    plot.panel_height = 400;
    PlotPanel panel;
    panel.title = "kernels fitted with candidates per face (PF)";
    panel.y.label = "share below 0.5, %";
    panel.x.categories = meshesIn(rows);
    constexpr std::array<std::pair<const char*, const char*>, 4> kRules = {
        {{"below_half_per_face", "50 per face"},
         {"below_half_per_query", "50 per query"},
         {"below_half_uncapped", "no cap"},
         {"below_half_uncapped_no_window", "no cap, no window"}}};
    for (const auto& [key, title] : kRules) {
      PlotSeries series;
      series.name = title;
      series.mark = PlotMark::kBars;
      for (std::size_t m = 0; m < panel.x.categories.size(); ++m) {
        const auto values = valuesOf(rows, panel.x.categories[m], "pf", key);
        if (!values.empty()) series.points.push_back({static_cast<double>(m), 100 * mean(values)});
      }
      panel.series.push_back(std::move(series));
    }
    plot.panels.push_back(std::move(panel));
    return plot;
  }
};

}  // namespace

std::unique_ptr<Study> makeCoverageStudy() {
  return std::make_unique<CoverageStudy>();
}

}  // namespace heatskin::study
