// Nasty shapes, each at two sizes: fans, cones, strips, combs, slivers, one giant face among tiny ones, very
// many components. What a part of the work costs per face, and the exponent with which it grows from one size
// to the other: 1 is linear, 2 quadratic. All in one run, so that the machine's speed does not matter.

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/appearance/appearance_target.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/evaluators/evaluate_colors.h"
#include "heatskin/evaluators/local/local_evaluator.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/surface/farthest_points.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/training/config.h"
#include "heatskin/training/trainer.h"

#include "bench/harness.h"

namespace heatskin::bench::shapes {
namespace {

constexpr std::size_t kKernels = 2000, kPool = 50'000, kQueries = 20'000;

/// Steps of a fit that are measured: two rebuilds and their share of steps between.
constexpr int kSteps = 20;

struct Builder {
  Primitive primitive;

  std::uint32_t vertex(double x, double y, double z) {
    primitive.positions.emplace_back(x, y, z);
    const auto wave = [](double t) { return static_cast<float>(0.5 + 0.5 * std::sin(t)); };
    primitive.colors.emplace_back(wave(9 * x), wave(7 * y), wave(5 * x - 5 * z), 1.0f);
    return static_cast<std::uint32_t>(primitive.positions.size() - 1);
  }
  void face(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    primitive.triangles.insert(primitive.triangles.end(), {a, b, c});
  }
};

/// A disc (or a cone) of `n` triangles around one vertex.
void fan(Builder& b, std::size_t n, double apex) {
  const std::uint32_t center = b.vertex(0, 0, apex);
  std::vector<std::uint32_t> rim;
  for (std::size_t i = 0; i < n; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
    rim.push_back(b.vertex(std::cos(angle), std::sin(angle), 0));
  }
  for (std::size_t i = 0; i < n; ++i)
    b.face(center, rim[i], rim[(i + 1) % n]);
}

/// A ribbon of `n` triangles; `height` 1 makes needles across, a small one a long thin ribbon.
void strip(Builder& b, std::size_t n, double height) {
  const auto pairs = static_cast<double>(n / 2);
  std::uint32_t low = b.vertex(0, 0, 0), high = b.vertex(0, height, 0);
  for (std::size_t i = 1; i <= n / 2; ++i) {
    const double x = 2 * static_cast<double>(i) / pairs;
    const std::uint32_t next_low = b.vertex(x, 0, 0), next_high = b.vertex(x, height, 0);
    b.face(low, next_low, high);
    b.face(high, next_low, next_high);
    low = next_low;
    high = next_high;
  }
}

/// Teeth on a back: a needle on every piece of it.
void comb(Builder& b, std::size_t n) {
  const std::size_t teeth = n / 3;
  std::uint32_t low = b.vertex(0, -0.1, 0), high = b.vertex(0, 0, 0);
  for (std::size_t i = 1; i <= teeth; ++i) {
    const double x = 2 * static_cast<double>(i) / static_cast<double>(teeth);
    const std::uint32_t next_low = b.vertex(x, -0.1, 0), next_high = b.vertex(x, 0, 0);
    b.face(low, next_low, high);
    b.face(high, next_low, next_high);
    b.face(high, next_high, b.vertex(x - 1.0 / static_cast<double>(teeth), 1, 0));
    low = next_low;
    high = next_high;
  }
}

/// A square of two faces with a ruffle of tiny faces along one side.
void giant(Builder& b, std::size_t n) {
  const std::uint32_t far_left = b.vertex(0, 2, 0), far_right = b.vertex(2, 2, 0);
  std::uint32_t left = b.vertex(0, 0, 0);
  const std::uint32_t right = b.vertex(2, 0, 0);
  b.face(left, right, far_right);
  b.face(left, far_right, far_left);
  const std::size_t side = static_cast<std::size_t>(std::sqrt(static_cast<double>(n) / 2));
  std::vector<std::uint32_t> grid;
  for (std::size_t y = 0; y <= side; ++y) {
    for (std::size_t x = 0; x <= side; ++x) {
      const double step = 0.05 / static_cast<double>(side);
      grid.push_back(x == 0 && y == 0
                         ? left
                         : b.vertex(-step * static_cast<double>(x), -step * static_cast<double>(y), 0));
    }
  }
  for (std::size_t y = 0; y < side; ++y) {
    for (std::size_t x = 0; x < side; ++x) {
      const std::size_t at = y * (side + 1) + x;
      b.face(grid[at], grid[at + 1], grid[at + side + 2]);
      b.face(grid[at], grid[at + side + 2], grid[at + side + 1]);
    }
  }
}

/// Triangles that touch nothing.
void loose(Builder& b, std::size_t n) {
  const auto side = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(n))));
  const double step = 2.0 / static_cast<double>(side);
  for (std::size_t i = 0; i < n; ++i) {
    const double x = step * static_cast<double>(i % side), y = step * static_cast<double>(i / side);
    const std::uint32_t a = b.vertex(x, y, 0), c = b.vertex(x + 0.8 * step, y, 0),
                        d = b.vertex(x, y + 0.8 * step, 0);
    b.face(a, c, d);
  }
}

struct Shape {
  const char* name;
  std::size_t small;  ///< faces; the large one has four times as many
  std::function<void(Builder&, std::size_t)> make;
};

struct Costs {
  double faces = 0, surface = 0, farthest = 0, rebuild = 0, step = 0, query = 0, pairs = 0;
};

Result<Costs> measure(const Shape& shape, std::size_t faces, const BenchOptions& options) {
  Builder builder;
  shape.make(builder, faces);
  Asset asset;
  asset.meshes.push_back({shape.name, {std::move(builder.primitive)}});
  asset.instances.push_back({"", 0, Affine3::Identity()});
  Costs costs;
  Stopwatch watch;
  auto surface = buildSurface(asset);
  costs.surface = watch.lap();
  if (!surface) return surface.error();
  costs.faces = surface->faceCount();
  const Appearance appearance(asset, *surface);

  const std::vector<SurfacePoint> points = sampleSurface(*surface, 5 * kKernels, options.seed);
  std::vector<Vec3> places;
  for (const SurfacePoint& p : points)
    places.push_back(surface->position(p));
  watch.lap();
  const auto chosen = farthestPoints(places, kKernels, 0);
  costs.farthest = watch.lap();

  FitConfig config = *presetConfig("compact");
  config.train.steps = 5000;  // of which few are made
  config.train.start.kernels = kKernels;
  config.train.density.max_kernels = kKernels;
  config.train.sampling.pool = kPool;
  config.train.seed = options.seed;
  local::LocalEvaluator evaluator(*surface, config.evaluator.local);
  const AppearanceTarget target(appearance, config.train.filter);
  Trainer trainer(*surface, target, evaluator, trainOptions(config));
  watch.lap();
  evaluator.rebuild(trainer.kernels());
  costs.rebuild = watch.lap();
  costs.pairs = static_cast<double>(evaluator.supports().pairCount());
  for (int i = 0; i < kSteps; ++i)
    trainer.step();
  costs.step = watch.lap() / kSteps;

  FilterTable filter;
  filter.build(trainer.kernels());
  evaluator.rebuild(trainer.kernels());
  const std::vector<SurfacePoint> queries = sampleSurface(*surface, kQueries, options.seed + 1);
  std::vector<Vec3f> colors(queries.size());
  watch.lap();
  evaluateColors(evaluator, filter, queries, colors, {});
  costs.query = watch.lap();
  return costs;
}

Result<BenchReport> runShapesBench(const BenchOptions& options) {
  const Shape shapes[] = {
      {"fan", 5000, [](Builder& b, std::size_t n) { fan(b, n, 0); }},
      {"cone", 5000, [](Builder& b, std::size_t n) { fan(b, n, 1); }},
      {"needles", 5000, [](Builder& b, std::size_t n) { strip(b, n, 1); }},
      {"ribbon", 5000, [](Builder& b, std::size_t n) { strip(b, n, 2e-3); }},
      {"comb", 5000, comb},
      {"giant", 5000, giant},
      {"components", 25'000, loose},
  };
  BenchReport report;
  report.name = "shapes";
  report.subject = fmt::format("difficult shapes, {} kernels, two sizes each", kKernels);
  for (const Shape& shape : shapes) {
    if (options.progress != nullptr) options.progress->begin(shape.name, 0);
    const auto small = measure(shape, shape.small, options), large = measure(shape, 4 * shape.small, options);
    if (options.progress != nullptr) options.progress->end();
    if (!small) return small.error();
    if (!large) return large.error();
    const std::string name = shape.name;
    report.rows.push_back(countedRow(name + "_faces", "faces", large->faces));
    report.rows.push_back(countedRow(name + "_pairs", "pairs/kernel", large->pairs / kKernels));
    const auto add = [&](const char* part, double Costs::*cost, double scale, const char* unit) {
      report.rows.push_back(countedRow(fmt::format("{}_{}", name, part), unit, scale * (*large).*cost));
      const double growth = std::log(std::max((*large).*cost, 1e-9) / std::max((*small).*cost, 1e-9)) /
                            std::log(large->faces / small->faces);
      report.rows.push_back(countedRow(fmt::format("{}_{}_growth", name, part), "exponent", growth,
                                       fmt::format("from {:.0f} faces", small->faces)));
    };
    add("surface", &Costs::surface, 1e6 / large->faces, "us/face");
    add("farthest", &Costs::farthest, 1e3, "ms");
    add("rebuild", &Costs::rebuild, 1e3, "ms");
    add("step", &Costs::step, 1e3, "ms");
    add("query", &Costs::query, 1e9 / kQueries, "ns/point");
  }
  return report;
}

const RegisterBench registration{
    "shapes", "difficult shapes at two sizes: which costs grow faster than the mesh", &runShapesBench};

}  // namespace
}  // namespace heatskin::bench::shapes
