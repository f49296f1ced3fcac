// ThermalRF's preprocessing: sparse products against what the machine can do, both heat actions and where one
// takes over from the other, factors and routing, and what a rank costs against exact eigenpairs.

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "heatskin/base/parallel.h"
#include "heatskin/demo/pumpkin.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/operators/dense_kernels.h"
#include "heatskin/operators/eigenpairs.h"
#include "heatskin/operators/heat_action.h"
#include "heatskin/operators/rank_study.h"
#include "heatskin/operators/routing.h"
#include "heatskin/operators/thermal_factors.h"

#include "bench/field_steps.h"
#include "bench/fma_roofline.h"
#include "bench/harness.h"

namespace heatskin::bench::thermal {
namespace {

constexpr std::size_t kWidth = 256;               // of the dense block
constexpr double kTime = 0.0625;                  // t
constexpr std::size_t kRooflineRounds = 1 << 21;  // some milliseconds
constexpr int kRefinements = 2;                   // 3,000 -> 12,000 -> 47,000 vertices
const std::uint32_t kSteepest = operatorIndex(1, 6);

/// Every triangle split in four at the midpoints of its edges.
Result<Surface> refine(const Surface& surface) {
  std::vector<Vec3> positions(surface.positions().begin(), surface.positions().end());
  std::vector<std::array<std::uint32_t, 3>> faces;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> middles;
  const auto middle = [&](std::uint32_t a, std::uint32_t b) {
    const auto [it, added] =
        middles.try_emplace(std::minmax(a, b), static_cast<std::uint32_t>(positions.size()));
    if (added) positions.push_back(0.5 * (positions[a] + positions[b]));
    return it->second;
  };
  for (const auto& [a, b, c] : surface.faces()) {
    const std::uint32_t ab = middle(a, b), bc = middle(b, c), ca = middle(c, a);
    faces.insert(faces.end(), {{a, ab, ca}, {ab, b, bc}, {ca, bc, c}, {ab, bc, ca}});
  }
  SurfaceOptions options;
  options.principal_axes = false;  // the cost does not depend on directions
  return Surface::build(positions, faces, options);
}

HeatAction makeAction(const Operators& operators, const HeatPlan& plan, std::uint32_t index,
                      HeatScheme scheme, double time = kTime) {
  HeatOptions options;
  options.scheme = scheme;
  options.columns = 2 * kWidth;
  return HeatAction(operators, plan, index, std::span(&time, 1), options);
}

std::vector<double> rates(std::span<const double> seconds, double amount) {
  std::vector<double> result;
  for (const double s : seconds)
    result.push_back(amount / s);
  return result;
}

std::vector<double> ratios(std::span<const double> numerators, std::span<const double> denominators) {
  std::vector<double> result;
  for (std::size_t i = 0; i < numerators.size(); ++i)
    result.push_back(numerators[i] / denominators[i]);
  return result;
}

/// Sparse products and solves of a 256-wide block against the machine.
void measureRoofline(const Operators& operators, const HeatPlan& plan, const BenchOptions& options,
                     std::vector<BenchRow>& rows) {
  const std::vector<float> x = gaussianBlock(operators.vertex_count, kWidth, options.seed, 1);
  std::vector<float> y(x.size());
  const HeatAction chebyshev = makeAction(operators, plan, kSteepest, HeatScheme::kChebyshev);
  const HeatAction rational = makeAction(operators, plan, kSteepest, HeatScheme::kRational);
  const auto threads = static_cast<std::size_t>(threadCount());
  const auto everywhere = [&](double (*run)(std::size_t)) {
    parallelFor(threads, 1, [&](std::size_t, std::size_t) { run(kRooflineRounds); });
  };
  const double lanes_work = runRegisterMultiplyAdds(1) * static_cast<double>(kRooflineRounds * threads);
  const std::vector<std::function<void()>> subjects = {
      [&] { chebyshev.apply(0, kWidth, x.data(), y.data()); },
      [&] { rational.apply(0, kWidth, x.data(), y.data()); },
      [&] { everywhere(&runRegisterMultiplyAdds); },
      [&] { everywhere(&runLoadedMultiplyAdds); },
  };
  const auto seconds = measureTogether(subjects, options.repeats, options.progress);
  const double product = 2e-9 * static_cast<double>(operators.entryCount() * kWidth * chebyshev.degree(0));
  const double solves = 4e-9 * static_cast<double>(plan.factorEntries() * kWidth * rational.degree(0));
  const auto multiply = rates(seconds[0], product), solve = rates(seconds[1], solves);
  const auto peak = rates(seconds[2], 2e-9 * lanes_work), loaded = rates(seconds[3], 2e-9 * lanes_work);
  rows.push_back(measuredRow(
      "sparse_gflops", "GFLOP/s", multiply,
      fmt::format("{} x {} by {} columns, {} steps of the Chebyshev recurrence fused; only "
                  "multiply-adds of entries count, {} threads",
                  operators.vertex_count, operators.vertex_count, kWidth, chebyshev.degree(0), threads)));
  rows.push_back(measuredRow("solve_gflops", "GFLOP/s", solve,
                             fmt::format("{} pairs of triangular solves, factor of {} entries",
                                         rational.degree(0), plan.factorEntries())));
  rows.push_back(measuredRow("peak_gflops", "GFLOP/s", peak, "multiply-adds in registers"));
  rows.push_back(measuredRow("roofline_gflops", "GFLOP/s", loaded,
                             "each multiply-add fed by a vector and a scalar from the first-level cache"));
  rows.push_back(measuredRow("sparse_roofline_fraction", "", ratios(multiply, loaded), "same run"));
  rows.push_back(measuredRow("solve_roofline_fraction", "", ratios(solve, loaded), "same run"));
}

/// Both actions on one panel, the factorisation shared by the panels of two passes as for factors.
void measureCrossover(const Operators& operators, const HeatPlan& plan, double time,
                      const BenchOptions& options, std::vector<BenchRow>& rows) {
  const std::vector<float> x = gaussianBlock(operators.vertex_count, 16, options.seed, 1);
  std::vector<float> y(x.size());
  const HeatAction chebyshev = makeAction(operators, plan, kSteepest, HeatScheme::kChebyshev, time);
  const HeatAction rational = makeAction(operators, plan, kSteepest, HeatScheme::kRational, time);
  const HeatAction chosen = makeAction(operators, plan, kSteepest, HeatScheme::kAutomatic, time);
  const std::vector<std::function<void()>> subjects = {
      [&] { chebyshev.applyPanel(0, 16, 0, x.data(), y.data()); },
      [&] { rational.applyPanel(0, 16, 0, x.data(), y.data()); },
      [&] { makeAction(operators, plan, kSteepest, HeatScheme::kRational, time); },
  };
  const auto seconds = measureTogether(subjects, std::min(options.repeats, 5), options.progress);
  std::vector<double> direct, shared;
  for (std::size_t i = 0; i < seconds[0].size(); ++i) {
    direct.push_back(1e3 * seconds[0][i]);
    shared.push_back(1e3 * (seconds[1][i] + seconds[2][i] * 16 / (2.0 * kWidth)));
  }
  const std::string where = fmt::format("v{}_t{}", operators.vertex_count, time);
  rows.push_back(measuredRow("chebyshev_ms_" + where, "ms", direct,
                             fmt::format("16 columns, one thread, degree {}", chebyshev.degree(0))));
  rows.push_back(
      measuredRow("rational_ms_" + where, "ms", shared,
                  fmt::format("degree {}, factor of {} entries, a thirty-second of the factorisation; "
                              "chosen: {}",
                              rational.degree(0), plan.factorEntries(),
                              chosen.scheme() == HeatScheme::kRational ? "rational" : "Chebyshev")));
}

Result<void> measureRanks(const Surface& surface, const Operators& operators, const HeatPlan& plan,
                          const BenchOptions& options, std::vector<BenchRow>& rows) {
  const EigenSolver solver(operators);
  const auto oracle = solver.solveAll();
  if (!oracle) return oracle.error();
  const RankStudy study(surface, {256, 4096, options.seed});
  for (const std::size_t rank : {std::size_t{192}, std::size_t{256}}) {
    std::vector<double> psnr, raw, exact;
    for (std::uint32_t j = 0; j < kFactorCount; ++j) {
      FactorOptions factor_options;
      factor_options.rank = rank;
      factor_options.seed = options.seed;
      std::vector<float> factor = thermalFactor(operators, plan, j, factor_options);
      std::vector<std::uint16_t> halves(factor.size());
      halfFromFloat(factor, halves);
      floatFromHalf(halves, factor);
      const std::vector<float> truth = spectralFactor((*oracle)[j], kTime);
      const std::size_t modes = (*oracle)[j].values.size(), width = factor.size() / operators.vertex_count;
      const RankScore score = study.score({truth, modes, modes}, {factor, width, width});
      psnr.push_back(score.psnr);
      raw.push_back(100 * score.raw_error);
      if (rank < modes) exact.push_back(study.score({truth, modes, modes}, {truth, modes, rank}).psnr);
    }
    const Spread spread = spreadOf(psnr);
    rows.push_back(
        countedRow(fmt::format("rank{}_worst_db", rank), "dB", spread.min, "42 operators, float16"));
    rows.push_back(countedRow(fmt::format("rank{}_median_db", rank), "dB", spread.median));
    rows.push_back(countedRow(fmt::format("rank{}_raw_error_max", rank), "%", spreadOf(raw).max));
    if (!exact.empty()) {
      rows.push_back(countedRow(fmt::format("rank{}_exact_worst_db", rank), "dB", spreadOf(exact).min,
                                "the oracle's own first modes"));
      rows.push_back(countedRow(fmt::format("rank{}_exact_median_db", rank), "dB", spreadOf(exact).median));
    }
  }
  return {};
}

Result<BenchReport> runThermalBench(const BenchOptions& options) {
  BenchReport report;
  report.name = "thermal";
  std::filesystem::path path = options.asset;
  std::error_code error;
  if (path.empty()) path = assetsFolder() / "spot" / "spot_triangulated.obj";
  const bool exists = std::filesystem::exists(path, error);
  auto asset = exists || !options.asset.empty() ? loadAsset(path) : Result<Asset>(makePumpkin());
  if (!asset) return asset.error();
  auto surface = buildSurface(*asset);
  if (!surface) return surface.error();
  report.subject = fmt::format("{}, {} vertices", exists ? path.filename().string() : "built-in pumpkin",
                               surface->vertexCount());
  auto& rows = report.rows;
  const int repeats = std::min(options.repeats, 3);

  const auto assembly = measureTogether(
      std::vector<std::function<void()>>{[&] { assembleOperators(*surface); }}, repeats, options.progress);
  rows.push_back(measuredRow("assembly_s", "s", assembly[0], "43 operators"));
  const Operators operators = assembleOperators(*surface);
  const HeatPlan plan(operators);

  std::vector<double> degrees, bounds;
  for (std::uint32_t j = 0; j < kFactorCount; ++j) {
    const HeatAction action = makeAction(operators, plan, j, HeatScheme::kChebyshev);
    degrees.push_back(static_cast<double>(action.degree(0)));
    bounds.push_back(action.spectralBound());
  }
  rows.push_back(countedRow("chebyshev_degree_min", "", spreadOf(degrees).min, "t 0.0625, 42 operators"));
  rows.push_back(countedRow("chebyshev_degree_max", "", spreadOf(degrees).max));
  rows.push_back(countedRow("gershgorin_min", "", spreadOf(bounds).min));
  rows.push_back(countedRow("gershgorin_max", "", spreadOf(bounds).max));
  const RoutingOptions routing_options{.seed = options.seed};
  rows.push_back(countedRow(
      "routing_degree", "",
      static_cast<double>(
          makeAction(operators, plan, kIsotropic, HeatScheme::kChebyshev, routing_options.time).degree(0)),
      "Chebyshev, tau 0.0025"));

  measureRoofline(operators, plan, options, rows);

  FactorOptions factor_options;
  factor_options.seed = options.seed;
  FactorOptions chebyshev_options = factor_options;
  chebyshev_options.scheme = HeatScheme::kChebyshev;
  Result<void> failed;
  std::size_t factor_bytes = 0, routing_bytes = 0;
  const std::vector<std::function<void()>> subjects = {
      [&] {
        const auto factors = thermalFactors(operators, factor_options);
        if (!factors) failed = factors.error();
        if (factors) factor_bytes = factors->bytes();
      },
      [&] {
        const auto routing = routingEmbedding(operators, routing_options);
        if (!routing) failed = routing.error();
        if (routing) routing_bytes = routing->bytes();
      },
      [&] { (void)thermalFactors(operators, chebyshev_options).ok(); },
  };
  const auto seconds = measureTogether(subjects, repeats, options.progress);
  if (!failed) return failed.error();
  rows.push_back(
      measuredRow("factors_s", "s", seconds[0],
                  fmt::format("42 operators, rank {}, {} threads", factor_options.rank, threadCount())));
  rows.push_back(measuredRow("routing_s", "s", seconds[1]));
  rows.push_back(measuredRow("factors_chebyshev_s", "s", seconds[2], "the same with Chebyshev actions only"));
  rows.push_back(countedRow("factors_mb", "MB", 1e-6 * static_cast<double>(factor_bytes)));
  rows.push_back(countedRow("routing_mb", "MB", 1e-6 * static_cast<double>(routing_bytes)));

  if (auto done = measureRanks(*surface, operators, plan, options, rows); !done) return done.error();

  if (auto steps = measureFieldSteps(*asset, *surface, Method::kThermal, options, rows); !steps)
    return steps.error();

  Surface finer = std::move(*surface);
  for (int level = 0; level <= kRefinements; ++level) {
    if (level > 0) {
      auto next = refine(finer);
      if (!next) return next.error();
      finer = std::move(*next);
    }
    const Operators fine_operators = level == 0 ? operators : assembleOperators(finer);
    const HeatPlan fine_plan(fine_operators);
    for (const double time : {1e-4, routing_options.time, kTime})
      measureCrossover(fine_operators, fine_plan, time, options, rows);
  }
  return report;
}

const RegisterBench registration{
    "thermal", "ThermalRF's preprocessing: sparse products, heat actions, factors, routing, rank study",
    &runThermalBench};

}  // namespace
}  // namespace heatskin::bench::thermal
