// Straightest walks per second on spot for three lengths, on one thread and on all. Starts are area-uniform,
// directions uniform in the tangent plane; the walks of one length are the same in every repeat.

#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include <fmt/format.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/geodesic/walk.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/surface/surface.h"

#include "bench/harness.h"

namespace heatskin::bench::walk {
namespace {

constexpr std::array<double, 3> kLengths = {0.01, 0.05, 0.2};

/// Walks per measured run: a tenth of a second or more on one core, and more memory than the second-level
/// cache holds, as in a fit with random kernels.
constexpr std::size_t kWalks = 200'000;

/// About as many faces as spot, for machines without the assets.
Result<Surface> builtInTorus() {
  constexpr std::uint32_t kSides = 54;
  std::vector<Vec3> positions;
  std::vector<std::array<std::uint32_t, 3>> faces;
  for (std::uint32_t i = 0; i < kSides; ++i) {
    for (std::uint32_t j = 0; j < kSides; ++j) {
      const double u = 2 * std::numbers::pi * i / kSides, v = 2 * std::numbers::pi * j / kSides;
      const double r = 1 + 0.4 * std::cos(v);
      positions.emplace_back(r * std::cos(u), r * std::sin(u), 0.4 * std::sin(v));
      const auto id = [](std::uint32_t a, std::uint32_t b) { return (a % kSides) * kSides + b % kSides; };
      faces.push_back({id(i, j), id(i + 1, j), id(i + 1, j + 1)});
      faces.push_back({id(i, j), id(i + 1, j + 1), id(i, j + 1)});
    }
  }
  return Surface::build(positions, faces);
}

/// What makes a walk a failure: it ended early although no boundary was met, or off the surface.
bool failed(const WalkOutcome& outcome) {
  const Vec3& b = outcome.end.barycentric;
  if (outcome.stop != WalkStop::kComplete && outcome.stop != WalkStop::kBoundary) return true;
  return !(b.minCoeff() >= 0) || !(std::abs(b.sum() - 1) < 1e-12) || !std::isfinite(outcome.length);
}

Result<BenchReport> runWalkBench(const BenchOptions& options) {
  BenchReport report;
  report.name = "walk";
  std::filesystem::path path = options.asset;
  if (path.empty()) {
    path = assetsFolder() / "spot" / "spot_triangulated.obj";
    std::error_code error;
    if (!std::filesystem::exists(path, error)) path.clear();
  }
  auto surface = [&]() -> Result<Surface> {
    if (path.empty()) return builtInTorus();
    LoadOptions load;
    load.load_images = false;
    auto asset = loadAsset(path, load);
    if (!asset) return asset.error();
    return buildSurface(*asset);
  }();
  if (!surface) return surface.error();
  report.subject = fmt::format("{}, {} faces", path.empty() ? "built-in torus" : path.filename().string(),
                               surface->faceCount());

  const int all = threadCount();
  const std::vector<SurfacePoint> starts = sampleSurface(*surface, kWalks, options.seed);
  const RandomStream random(options.seed, 1);
  std::array<std::vector<Vec2>, kLengths.size()> directions;
  for (std::size_t l = 0; l < kLengths.size(); ++l) {
    directions[l].reserve(kWalks);
    for (std::size_t i = 0; i < kWalks; ++i) {
      const double angle = 2 * std::numbers::pi * random.uniform(l * kWalks + i);
      directions[l].emplace_back(kLengths[l] * std::cos(angle), kLengths[l] * std::sin(angle));
    }
  }
  std::vector<double> table_times;
  for (int i = 0; i < 5; ++i) {
    table_times.push_back(1e3 * secondsOf([&] { const Walker walker(*surface); }));
  }
  const Walker walker(*surface);
  std::vector<WalkOutcome> outcomes(kWalks);

  std::vector<std::function<void()>> subjects;
  for (std::size_t l = 0; l < kLengths.size(); ++l) {
    for (const int threads : {1, all}) {
      subjects.emplace_back([&, l, threads] {
        setThreadCount(threads);
        walker.walk(starts, directions[l], outcomes);
      });
    }
  }
  const auto seconds = measureTogether(subjects, options.repeats, options.progress);
  setThreadCount(all);

  std::vector<BenchRow> extra;
  for (std::size_t l = 0; l < kLengths.size(); ++l) {
    const std::string length = fmt::format("{:g}", kLengths[l]);
    const auto& alone = seconds[2 * l];
    const auto& together = seconds[2 * l + 1];
    std::vector<double> rate_alone, rate_together, ratio;
    for (std::size_t r = 0; r < alone.size(); ++r) {
      rate_alone.push_back(static_cast<double>(kWalks) / alone[r]);
      rate_together.push_back(static_cast<double>(kWalks) / together[r]);
      ratio.push_back(alone[r] / together[r]);
    }
    report.rows.push_back(measuredRow("walk_" + length + "_1t", "walks/s", rate_alone));
    report.rows.push_back(measuredRow("walk_" + length + "_all", "walks/s", rate_together, threadsText(all)));
    extra.push_back(measuredRow("walk_" + length + "_all_over_1t", "ratio", ratio, "same run"));

    walker.walk(starts, directions[l], outcomes);
    double crossings = 0;
    std::size_t failures = 0, stopped = 0;
    for (const WalkOutcome& outcome : outcomes) {
      crossings += outcome.crossings;
      failures += failed(outcome);
      stopped += outcome.stop == WalkStop::kBoundary;
    }
    extra.push_back(
        countedRow("walk_" + length + "_crossings", "edges/walk", crossings / static_cast<double>(kWalks)));
    extra.push_back(countedRow("walk_" + length + "_failures", "walks", static_cast<double>(failures),
                               "ended early without a boundary, or off the surface"));
    extra.push_back(
        countedRow("walk_" + length + "_boundary", "walks", static_cast<double>(stopped), "met a boundary"));
  }
  report.rows.insert(report.rows.end(), extra.begin(), extra.end());
  report.rows.push_back(measuredRow("walk_table_ms", "ms", table_times, "building the table of a Walker"));
  return report;
}

const RegisterBench registration{
    "walk", "straightest walks per second for lengths 0.01, 0.05 and 0.2 (default asset: spot)",
    &runWalkBench};

}  // namespace
}  // namespace heatskin::bench::walk
