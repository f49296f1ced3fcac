// ThermalRF beside HKTex (paper, "Thermal-preserving acceleration", table "thermal"): pairs of fits on every
// mesh that is admitted, end to end; HKTex's kernels read by ThermalRF without fitting again; how well
// factors of several ranks stand for the heat kernel, over all operators; and where polynomials or rational
// functions of the operator are cheaper.

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "heatskin/base/plural.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/evaluation/evaluate.h"
#include "heatskin/figures/plot.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/metrics/statistics.h"
#include "heatskin/operators/dense_kernels.h"
#include "heatskin/operators/eigenpairs.h"
#include "heatskin/operators/heat_action.h"
#include "heatskin/operators/operators.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/operators/rank_study.h"
#include "heatskin/operators/thermal_factors.h"
#include "heatskin/study/admission.h"
#include "heatskin/study/aggregate.h"
#include "heatskin/study/fit_run.h"
#include "heatskin/study/studies.h"
#include "heatskin/study/subdivide.h"

namespace heatskin::study {
namespace {

constexpr double kThermalTime = 0.0625;
constexpr std::array<std::size_t, 5> kRanks = {64, 96, 128, 192, 256};

/// The operator with the largest anisotropy and a direction between the axes: the stiffest.
const std::uint32_t kStiffest = operatorIndex(1, 6);

/// Columns that share a factorisation: two passes of rank and oversampling.
constexpr std::size_t kSharedColumns = 512, kPanelColumns = 16;

/// Published (paper, table "thermal").
struct PublishedPair {
  const char* mesh;
  double surface, atlas, view, five_frames, hktex_seconds, thermal_seconds;
};
constexpr std::array kPublishedPairs = {
    PublishedPair{"spot", 0.043, -0.117, -0.055, -0.001, 222.63, 157.34},
    PublishedPair{"pumpkin", 0.068, 0.144, 0.016, -0.056, 244.71, 185.11}};

class ThermalStudy final : public Study {
 public:
  std::string_view name() const override { return "thermal"; }
  std::string_view summary() const override {
    return "ThermalRF beside HKTex on every admitted mesh; ranks, frozen swap, Chebyshev against rational";
  }
  bool timed() const override { return true; }

  Result<std::vector<StudyRun>> plan(const StudySettings& settings) const override {
    FitPlan fits;
    fits.meshes = meshesFor(settings, standardMeshes(settings));
    if (settings.quick) fits.meshes.resize(1);
    fits.methods = methodsFor(settings, {{"hktex", "HKTex", "paper", {"method=spectral"}},
                                         {"thermal", "ThermalRF", "paper", {"method=thermal"}}});
    fits.seeds = seedsFor(settings, {0});
    fits.fresh = true;
    fits.five_frames = true;
    auto runs = planFits(fits, settings);
    if (!runs) return runs;
    for (StudyRun& run : *runs)
      run.work["part"] = "fit";
    const MeshSpec mesh = meshesFor(settings, {subjectNamed(settings, "spot")}).front();
    auto json = toJson(mesh);
    if (!json) return json.error();
    std::vector<std::size_t> ranks(kRanks.begin(), kRanks.end());
    if (settings.quick) ranks = {16, 32};
    for (const std::size_t rank : ranks) {
      StudyRun run;
      run.name = fmt::format("{}_rank{}", mesh.name, rank);
      run.work = {{"part", "rank"}, {"mesh", *json}, {"rank", rank}, {"quick", settings.quick}};
      run.cost = settings.quick ? 1 : 60;
      runs->push_back(std::move(run));
    }
    for (int level = 0; level < (settings.quick ? 1 : 3); ++level) {
      StudyRun run;
      run.name = fmt::format("{}_schemes_level{}", mesh.name, level);
      run.work = {{"part", "schemes"}, {"mesh", *json}, {"level", level}};
      run.cost = settings.quick ? 1 : 10 * std::pow(5.0, level);
      runs->push_back(std::move(run));
    }
    return runs;
  }

  Result<StudyOutcome> execute(const Json& work, const RunContext& context) const override {
    const std::string part = work.value("part", "");
    if (part == "rank") return executeRank(work);
    if (part == "schemes") return executeSchemes(work);
    StudyOutcome outcome;
    auto fitted = fitRun(work, context, outcome);
    if (!fitted) return fitted.error();
    if (!*fitted || (*fitted)->config.evaluator.method != Method::kSpectral) return outcome;
    // The kernels of HKTex as they are, read by ThermalRF.
    const KernelTexture& texture = (*fitted)->stored.texture;
    const auto swapped = KernelTexture::create((*fitted)->asset.surface, texture.kernels(),
                                               (*fitted)->config.evaluator.thermal,
                                               {context.progress, nullptr, {}}, texture.constants());
    if (!swapped) return swapped.error();
    EvaluationOptions options;
    options.surface_samples = work.value("samples", options.surface_samples);
    options.seam_samples = 0;
    options.atlas_size = options.view_size = options.query_runs = 0;
    options.filter = (*fitted)->config.train.filter;
    const auto evaluation = evaluate(*swapped, (*fitted)->asset.appearance, options, *context.progress);
    if (!evaluation) return evaluation.error();
    outcome.values["swapped_surface_psnr"] = jsonNumber(evaluation->surface_psnr_nearest);
    return outcome;
  }

  StudyReport report(std::span<const StudyRow> rows, const std::filesystem::path& /*folder*/) const override {
    StudyReport report;
    report.title = "ThermalRF";
    std::vector<StudyRow> fits;
    for (const StudyRow& row : rows) {
      if (row.text("part") == "fit") fits.push_back(row);
    }
    addPairs(report, fits);
    addRanks(report, rows);
    addSchemes(report, rows);
    if (ReportTable refused = refusals(fits); !refused.rows.empty())
      report.tables.push_back(std::move(refused));
    report.notes = {
        "End to end is initialisation (preprocessing included, nothing from a cache) and optimisation, one "
        "run at a time; processor time is that of all threads for the same, which says more on a busy "
        "machine.",
        "Filtered-response PSNR: f(h(p,q)/h(p,p)) without window against the heat kernel of 256 eigenpairs, "
        "256 centres and 4,096 "
        "queries for each of the 42 distinct operators of the 49; factors in float16. Ours are Nystroem's "
        "instead of the paper's "
        "projection, from the same two passes.",
        "Chebyshev and rational: milliseconds for 16 columns of the stiffest operator on one thread, the "
        "factorisation shared by 512 "
        "columns."};
    report.figure = drawPlot(figure(rows, fits));
    return report;
  }

 private:
  static Result<Surface> surfaceOf(const Json& work, int level) {
    auto asset = makeAsset(meshFromJson(work.at("mesh")));
    if (!asset) return asset.error();
    subdivide(*asset, level);
    return buildSurface(*asset);
  }

  static Result<StudyOutcome> executeRank(const Json& work) {
    const auto surface = surfaceOf(work, 0);
    if (!surface) return surface.error();
    const std::size_t rank = work.value("rank", std::size_t{192});
    const Operators operators = assembleOperators(*surface);
    const HeatPlan plan(operators);
    EigenOptions eigen;
    RankStudyOptions study_options;
    const bool quick = work.value("quick", false);
    if (quick) {
      eigen.count = 48;
      study_options.centers = 16;
      study_options.queries = 256;
    }
    const EigenSolver solver(operators, eigen);
    const RankStudy study(*surface, study_options);
    std::vector<double> psnr, raw;
    for (std::uint32_t j = 0; j < kFactorCount; j += quick ? 14 : 1) {
      const auto oracle = solver.solve(j);
      if (!oracle) return oracle.error();
      FactorOptions options;
      options.rank = rank;
      std::vector<float> factor = thermalFactor(operators, plan, j, options);
      std::vector<std::uint16_t> halves(factor.size());
      halfFromFloat(factor, halves);
      floatFromHalf(halves, factor);
      const std::vector<float> truth = spectralFactor(*oracle, kThermalTime);
      const std::size_t modes = oracle->values.size(), width = factor.size() / operators.vertex_count;
      const RankScore score = study.score({truth, modes, modes}, {factor, width, width});
      psnr.push_back(score.psnr);
      raw.push_back(100 * score.raw_error);
    }
    StudyOutcome outcome;
    outcome.values = {{"operators", psnr.size()},
                      {"worst_db", jsonNumber(summarise(psnr).minimum)},
                      {"median_db", jsonNumber(median(psnr))},
                      {"raw_error_max_percent", jsonNumber(summarise(raw).maximum)},
                      {"raw_error_median_percent", jsonNumber(median(raw))}};
    return outcome;
  }

  static Result<StudyOutcome> executeSchemes(const Json& work) {
    const auto surface = surfaceOf(work, work.value("level", 0));
    if (!surface) return surface.error();
    const Operators operators = assembleOperators(*surface);
    const HeatPlan plan(operators);
    StudyOutcome outcome;
    outcome.values["vertices"] = surface->vertexCount();
    outcome.values["factor_entries"] = plan.factorEntries();
    const std::vector<float> x = gaussianBlock(operators.vertex_count, kPanelColumns, 1, 1);
    std::vector<float> y(x.size());
    for (const auto& [label, time] :
         {std::pair{"t1e-4", 1e-4}, std::pair{"t0.0025", 0.0025}, std::pair{"t0.0625", kThermalTime}}) {
      const std::string suffix = label;
      for (const HeatScheme scheme : {HeatScheme::kChebyshev, HeatScheme::kRational}) {
        HeatOptions options;
        options.scheme = scheme;
        options.columns = kSharedColumns;
        Stopwatch watch;
        const HeatAction action(operators, plan, kStiffest, std::span(&time, 1), options);
        const double prepare = watch.lap();
        std::vector<double> seconds;
        for (int run = 0; run < 3; ++run) {
          action.applyPanel(0, kPanelColumns, 0, x.data(), y.data());
          seconds.push_back(watch.lap());
        }
        const bool rational = scheme == HeatScheme::kRational;
        const std::string key = fmt::format("{}_{}", rational ? "rational" : "chebyshev", suffix);
        outcome.values[key + "_degree"] = action.degree(0);
        // Only the rational scheme has something to share.
        const double shared = rational ? prepare * kPanelColumns / kSharedColumns : 0;
        outcome.timing[key + "_ms"] = 1e3 * (median(seconds) + shared);
      }
      HeatOptions options;
      options.columns = kSharedColumns;
      const HeatAction chosen(operators, plan, kStiffest, std::span(&time, 1), options);
      outcome.values["chosen_" + suffix] =
          chosen.scheme() == HeatScheme::kRational ? "rational" : "Chebyshev";
    }
    return outcome;
  }

  static void addPairs(StudyReport& report, std::span<const StudyRow> fits) {
    ReportTable table{
        "ThermalRF - HKTex",
        {"mesh", "vertices", "surface, dB", "atlas, dB", "views, dB", "five frames, dB",
         "end to end, HKTex / ThermalRF", "processor time, HKTex / ThermalRF", "frozen swap, dB"},
        {}};
    constexpr std::array<const char*, 4> kKeys = {"surface_psnr", "atlas_psnr", "view_psnr",
                                                  "five_frame_psnr"};
    std::vector<MeshTable> figures;
    for (const char* key : kKeys)
      figures.push_back(tabulate(fits, key));
    const MeshTable seconds = tabulate(fits, "end_to_end_s"), cpu = tabulate(fits, "fit_cpu_s"),
                    vertices = tabulate(fits, "vertices"), swapped = tabulate(fits, "swapped_surface_psnr");
    const auto value = [](const MeshTable& of, std::string_view method, std::size_t mesh) {
      const auto& values = of.of(method);
      return mesh < values.size() && values[mesh] ? *values[mesh] : std::nan("");
    };
    std::vector<double> hktex_seconds, thermal_seconds, hktex_cpu, thermal_cpu;
    const auto ratio = [](double hktex, double thermal) {
      return fmt::format("{:.2f} ({:.0f} / {:.0f} s)", hktex / thermal, hktex, thermal);
    };
    for (std::size_t m = 0; m < figures[0].meshes.size(); ++m) {
      if (!std::isfinite(value(figures[0], "thermal", m) - value(figures[0], "hktex", m))) continue;
      std::vector<std::string> line = {figures[0].meshes[m],
                                       grouped(static_cast<std::size_t>(value(vertices, "hktex", m)))};
      for (const MeshTable& of : figures) {
        const double difference = value(of, "thermal", m) - value(of, "hktex", m);
        line.push_back(std::isfinite(difference) ? fmt::format("{:+.3f}", difference) : "-");
      }
      hktex_seconds.push_back(value(seconds, "hktex", m));
      thermal_seconds.push_back(value(seconds, "thermal", m));
      hktex_cpu.push_back(value(cpu, "hktex", m));
      thermal_cpu.push_back(value(cpu, "thermal", m));
      line.push_back(ratio(hktex_seconds.back(), thermal_seconds.back()));
      line.push_back(ratio(hktex_cpu.back(), thermal_cpu.back()));
      line.push_back(fmt::format("{:+.2f}", value(swapped, "hktex", m) - value(figures[0], "hktex", m)));
      table.rows.push_back(std::move(line));
    }
    std::vector<std::string> means = {"all", ""};
    for (std::size_t f = 0; f < figures.size(); ++f) {
      const Comparison comparison = compare(figures[f], "thermal", "hktex");
      means.push_back(comparison.difference.count == 0 ? "-" : comparisonText(comparison, 3));
      report.summary["pairs"][kKeys[f]] = toJson(comparison);
    }
    const double speedup = mean(hktex_seconds) / mean(thermal_seconds);
    const double cpu_speedup = mean(hktex_cpu) / mean(thermal_cpu);
    for (const double times : {speedup, cpu_speedup})
      means.push_back(std::isfinite(times) ? fmt::format("{:.2f}", times) : "-");
    means.emplace_back("");
    table.rows.push_back(std::move(means));
    report.summary["speedup"] = jsonNumber(speedup);
    report.summary["cpu_speedup"] = jsonNumber(cpu_speedup);
    for (const PublishedPair& p : kPublishedPairs) {
      table.rows.push_back({fmt::format("{}, paper", p.mesh), "", fmt::format("{:+.3f}", p.surface),
                            fmt::format("{:+.3f}", p.atlas), fmt::format("{:+.3f}", p.view),
                            fmt::format("{:+.3f}", p.five_frames), ratio(p.hktex_seconds, p.thermal_seconds),
                            "", std::string_view(p.mesh) == "spot" ? "-6.70" : ""});
    }
    report.tables.push_back(std::move(table));
    const Comparison surface = compare(figures[0], "thermal", "hktex");
    if (surface.difference.count > 0) {
      report.lead.push_back(
          fmt::format("Surface PSNR against HKTex, in dB: {}; end to end {:.2f} times as fast "
                      "(paper: within 0.12 dB and 1.365 times on two meshes).",
                      comparisonText(surface, 3), speedup));
    }
  }

  static void addRanks(StudyReport& report, std::span<const StudyRow> rows) {
    ReportTable table{"Filtered-response PSNR of low-rank factors, dB",
                      {"mesh", "rank", "operators", "worst", "median", "largest raw error",
                       "paper: worst / median, raw error"},
                      {}};
    for (const StudyRow& row : rows) {
      if (row.text("part") != "rank" || !row.error.empty()) continue;
      const std::string rank = row.text("rank");
      table.rows.push_back({row.text("mesh/name"), rank, fmt::format("{:.0f}", row.number("operators")),
                            fmt::format("{:.1f}", row.number("worst_db")),
                            fmt::format("{:.1f}", row.number("median_db")),
                            fmt::format("{:.2f} %", row.number("raw_error_max_percent")),
                            rank == "192"   ? "40.30 / 52.08, 6.49 %"
                            : rank == "256" ? "62.15 / 78.41, 1.46 %"
                                            : ""});
    }
    if (!table.rows.empty()) report.tables.push_back(std::move(table));
  }

  static void addSchemes(StudyReport& report, std::span<const StudyRow> rows) {
    ReportTable table{"Chebyshev and rational heat actions: degree, ms for 16 columns",
                      {"vertices", "time", "Chebyshev", "rational", "chosen"},
                      {}};
    for (const StudyRow& row : rows) {
      if (row.text("part") != "schemes" || !row.error.empty()) continue;
      for (const char* time : {"t1e-4", "t0.0025", "t0.0625"}) {
        const auto cell = [&](const char* scheme) {
          const std::string key = fmt::format("{}_{}", scheme, time);
          return fmt::format("{:.0f}, {:.2f} ms", row.number(key + "_degree"), row.number(key + "_ms"));
        };
        table.rows.push_back({grouped(static_cast<std::size_t>(row.number("vertices"))),
                              std::string(time).substr(1), cell("chebyshev"), cell("rational"),
                              row.text(std::string("chosen_") + time)});
      }
    }
    if (!table.rows.empty()) report.tables.push_back(std::move(table));
  }

  static Plot figure(std::span<const StudyRow> rows, std::span<const StudyRow> fits) {
    Plot plot;
    plot.title = "ThermalRF beside HKTex";
    plot.columns = 2;
    plot.panel_width = 540;
    plot.panel_height = 370;
    PlotPanel pairs;
    pairs.title = "difference of PSNR by mesh";
    pairs.y.label = "ThermalRF - HKTex, dB";
    pairs.guides = {{PlotGuide::Kind::kHorizontal, 0}};
    constexpr std::array<std::pair<const char*, const char*>, 2> kShown = {
        {{"surface_psnr", "surface PSNR"}, {"view_psnr", "view PSNR"}}};
    for (std::size_t k = 0; k < kShown.size(); ++k) {
      const MeshTable table = tabulate(fits, kShown[k].first);
      PlotSeries series;
      series.name = kShown[k].second;
      series.color = plotColor(k);
      series.mark = PlotMark::kDots;
      series.radius = 4.5;
      const auto &thermal = table.of("thermal"), &hktex = table.of("hktex");
      for (std::size_t m = 0; m < std::min(thermal.size(), hktex.size()); ++m) {
        if (!thermal[m] || !hktex[m]) continue;
        const auto place = std::find(pairs.x.categories.begin(), pairs.x.categories.end(), table.meshes[m]);
        const auto x = static_cast<double>(place - pairs.x.categories.begin());
        if (place == pairs.x.categories.end()) pairs.x.categories.push_back(table.meshes[m]);
        series.points.push_back({x, *thermal[m] - *hktex[m]});
      }
      pairs.series.push_back(std::move(series));
    }
    PlotPanel ranks;
    ranks.title = "filtered response of low-rank factors";
    ranks.x.label = "rank";
    ranks.y.label = "PSNR, dB";
    PlotSeries worst, middle, paper;
    worst.name = "worst operator";
    middle.name = "median operator";
    paper.name = "paper: worst and median";
    worst.color = plotColor(2);
    middle.color = plotColor(3);
    paper.color = "#5b6470";
    paper.mark = PlotMark::kDots;
    for (const StudyRow& row : rows) {
      if (row.text("part") != "rank" || !row.work.contains("rank")) continue;
      const double rank = row.work["rank"].get<double>();
      worst.points.push_back({rank, row.number("worst_db")});
      middle.points.push_back({rank, row.number("median_db")});
    }
    for (const auto& [rank, db] : {std::pair{192.0, 40.30}, std::pair{192.0, 52.08}, std::pair{256.0, 62.15},
                                   std::pair{256.0, 78.41}}) {
      PlotPoint point{rank, db};
      point.hollow = true;
      paper.points.push_back(point);
    }
    ranks.series = {std::move(worst), std::move(middle), std::move(paper)};
    plot.panels = {std::move(pairs), std::move(ranks)};
    return plot;
  }
};

}  // namespace

std::unique_ptr<Study> makeThermalStudy() {
  return std::make_unique<ThermalStudy>();
}

}  // namespace heatskin::study
