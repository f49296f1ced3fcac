#include "heatskin/evaluators/local/local_evaluator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "heatskin/base/rng.h"
#include "heatskin/kernels/compositor.h"
#include "heatskin/kernels/simd_level.h"
#include "heatskin/surface/sampling.h"

#include "support/tiny_surfaces.h"

namespace heatskin::local {
namespace {

KernelSet randomKernels(const Surface& surface, std::size_t count, std::uint64_t seed) {
  KernelSet kernels;
  kernels.resize(count);
  kernels.positions = sampleSurface(surface, count, seed);
  const RandomStream random(seed, 77);
  for (std::size_t i = 0; i < count; ++i) {
    const auto a = random.uniform2(2 * i), b = random.uniform2(2 * i + 1);
    kernels.angles[i] = static_cast<float>(std::numbers::pi * a[0]);
    kernels.anisotropies[i] = static_cast<float>(1 + 99 * a[1]);
    kernels.thresholds[i] = static_cast<float>(0.3 + 0.6 * b[0]);
    kernels.sharpnesses[i] = static_cast<float>(10 + 40 * b[1]);
    kernels.lengths[i] = static_cast<float>(0.5 + 1.5 * random.uniform(4 * count + i));
    kernels.channels[i] = Vec3f(0.1f, -0.1f, 0.2f);
  }
  return kernels;
}

std::array<float, 4> entries(const GeometryGradient& g) {
  return {g.position_x, g.position_y, g.angle, g.anisotropy};
}

/// Vectorised against plain code, candidates and responses and gradients.
void expectTwins(const Surface& surface, const LocalEvaluator& evaluator, std::size_t count) {
  const LocalOptions& options = evaluator.options();
  const PairTables tables = evaluator.tables();
  std::vector<QueryRow> queries;
  for (const SurfacePoint& p : sampleSurface(surface, 500, 9))
    queries.push_back(evaluator.queryRow(p));
  ResponseBlock fast, slow;
  fast.resize(queries.size(), options.candidates);
  slow.resize(queries.size(), options.candidates);
  Selection scratch;
  respondBlock(tables, queries, scratch, fast);
  respondBlockScalar(tables, queries, slow);
  std::size_t different = 0, total = 0;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    ASSERT_EQ(fast.counts[q], slow.counts[q]);
    const auto sorted = [&](const ResponseBlock& block) {
      std::vector<std::pair<std::uint32_t, float>> list;
      for (std::size_t i = 0; i < block.counts[q]; ++i) {
        const std::size_t at = q * block.stride + i;
        EXPECT_EQ(block.kernels[at], tables.supports->of(queries[q].face).kernels[block.pairs[at]]);
        list.emplace_back(block.pairs[at], block.x[at]);
      }
      std::sort(list.begin(), list.end());
      return list;
    };
    const auto a = sorted(fast), b = sorted(slow);
    for (std::size_t i = 0; i < a.size(); ++i) {
      ++total;
      if (a[i].first != b[i].first) {
        ++different;
        continue;
      }
      // fastExp: 3e-7 relative; the exponent (up to 87) carries a few float roundings.
      EXPECT_NEAR(a[i].second, b[i].second, 2e-5f * b[i].second + 1e-12f);
    }
  }
  // Two candidates at the same distance up to rounding may change places at the rim of those kept.
  EXPECT_LE(static_cast<double>(different), 1e-3 * static_cast<double>(total));

  std::vector<float> dx(slow.x.size());
  for (std::size_t i = 0; i < dx.size(); ++i)
    dx[i] = static_cast<float>(i % 5) - 2.0f;
  GradientSums sums_fast, sums_slow;
  sums_fast.reset(count, 3);
  sums_slow.reset(count, 3);
  respondVjpBlock(tables, queries, slow, dx, sums_fast);
  respondVjpBlockScalar(tables, queries, slow, dx, sums_slow);
  for (std::uint32_t k = 0; k < count; ++k) {
    const GradientRow *slow_row = sums_slow.find(k), *fast_row = sums_fast.find(k);
    if (slow_row == nullptr) continue;
    ASSERT_NE(fast_row, nullptr);
    const std::array<float, 4> expected = entries(slow_row->geometry), found = entries(fast_row->geometry);
    double size = 1;
    for (std::size_t c = 0; c < 4; ++c)
      size = std::max(size, static_cast<double>(std::abs(expected[c])));
    for (std::size_t c = 0; c < 4; ++c)
      EXPECT_NEAR(found[c], expected[c], 2e-3 * size) << "kernel " << k << " entry " << c;
  }
}

void expectTwins(const Surface& surface, const LocalOptions& options, std::size_t count) {
  LocalEvaluator evaluator(surface, options);
  evaluator.rebuild(randomKernels(surface, count, 3));
  expectTwins(surface, evaluator, count);
}

TEST(LocalEvaluator, EverySimdLevelEqualsThePlainTwin) {
  const Surface sphere = testing::build(testing::bumpySphere(3, 0.1, 2));
  const std::vector<std::string> levels = simdLevels();
  ASSERT_FALSE(levels.empty());
  EXPECT_EQ(simdLevel(), levels.front());
  for (const std::string& level : levels) {
    SCOPED_TRACE(level);
    ASSERT_TRUE(setSimdLevel(level));
    EXPECT_EQ(simdLevel(), level);
    expectTwins(sphere, {}, 600);
  }
  EXPECT_FALSE(setSimdLevel("MMX"));
  EXPECT_EQ(simdLevel(), levels.back()) << "a wrong name changes nothing";
  ASSERT_TRUE(setSimdLevel(""));
  EXPECT_EQ(simdLevel(), levels.front());
}

TEST(LocalEvaluator, VectorisedEqualsPlain) {
  const Surface sphere = testing::build(testing::bumpySphere(3, 0.1, 2), true);
  LocalOptions options;
  expectTwins(sphere, options, 600);
  options.euclidean = true;
  expectTwins(sphere, options, 600);
  options.euclidean = false;
  options.window_sigma = 0;
  options.max_radius = 0.4;
  expectTwins(sphere, options, 600);
}

TEST(LocalEvaluator, LargeFacesAreSearchedByLeavesWithTheSameCandidates) {
  const Surface cube = testing::build(testing::cube(1));
  LocalOptions options;
  options.max_radius = 0.5;
  for (const std::string& level : simdLevels()) {
    SCOPED_TRACE(level);
    ASSERT_TRUE(setSimdLevel(level));
    expectTwins(cube, options, 5000);
  }
  ASSERT_TRUE(setSimdLevel(""));
  for (const std::size_t candidates : {1u, 2u, 17u, 300u}) {
    SCOPED_TRACE(candidates);
    options.candidates = candidates;
    expectTwins(cube, options, 3000);
  }
}

TEST(LocalEvaluator, JoinedCornersAndReachHaveTheSameTwins) {
  const Surface ball = testing::build(testing::bumpySphere(3, 0.1, 2));
  const Surface coarse = testing::build(testing::bumpySphere(1, 0.5, 5));
  for (const bool joined : {false, true}) {
    for (const CandidateRule rule : {CandidateRule::kPerQuery, CandidateRule::kByReach}) {
      SCOPED_TRACE(fmt::format("joined {}, rule {}", joined, static_cast<int>(rule)));
      LocalOptions options;
      options.join_corners = joined;
      options.rule = rule;
      expectTwins(ball, options, 2000);
      options.max_radius = 1.0;
      expectTwins(coarse, options, 3000);
    }
  }
}

TEST(LocalEvaluator, JoinedCornersOfSliversAndDirtStayFinite) {
  for (const auto& soup : {testing::sliverStrip(40, 1e-7), testing::sliverStrip(40, 1e-3),
                           testing::dirtySoup(3, 40, 200), testing::damagedSphere(2)}) {
    SCOPED_TRACE(soup.name);
    const Surface surface = testing::build(soup);
    LocalOptions options;
    options.join_corners = true;
    options.rule = CandidateRule::kByReach;
    options.max_radius = 1.0;
    LocalEvaluator evaluator(surface, options);
    evaluator.rebuild(randomKernels(surface, 2000, 8));
    for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
      const FacePairs pairs = evaluator.supports().of(f);
      for (const Chart& c : std::span(pairs.charts, pairs.count))
        ASSERT_TRUE(std::isfinite(c.xx + c.xy + c.yx + c.yy + c.x + c.y));
    }
    expectTwins(surface, evaluator, 2000);
  }
}

TEST(LocalEvaluator, ACrowdInALargeFaceIsSearchedAndMayMove) {
  const Surface cube = testing::build(testing::cube(1));
  KernelSet kernels = randomKernels(cube, 3000, 5);
  const auto crowd = [&](const Vec3& around, double size) {
    for (std::size_t i = 0; i < 2500; ++i) {
      const Vec3 place = around + size * kernels.positions[i].barycentric;
      kernels.positions[i] = {4, place / place.sum()};
    }
  };
  crowd({0.5, 0.3, 0.2}, 1e-3);
  LocalOptions options;
  options.max_radius = 0.5;
  LocalEvaluator evaluator(cube, options);
  evaluator.rebuild(kernels);
  expectTwins(cube, evaluator, kernels.size());
  // All of them inside their face, far away from where they were at the rebuild.
  crowd({0.1, 0.1, 0.8}, 1e-2);
  evaluator.refresh(kernels, std::vector<Rigid2>(kernels.size()));
  expectTwins(cube, evaluator, kernels.size());
}

TEST(LocalEvaluator, LargeFacesFindCandidatesWhoseDevelopmentIsTooShort) {
  // Around the sharp tips of a coarse bumpy ball many developments pass where no straight line can: chords
  // are longer and decide who is near.
  const Surface ball = testing::build(testing::bumpySphere(1, 0.5, 5));
  LocalOptions options;
  options.max_radius = 1.0;
  options.edge_tolerance = 1.0;
  expectTwins(ball, options, 3000);
}

TEST(LocalEvaluator, ACentreThatWalkedToAnotherFaceKeepsItsDevelopment) {
  const Surface plane = testing::build(testing::flatGrid(10, 10));
  KernelSet kernels = randomKernels(plane, 40, 6);
  LocalOptions options;
  LocalEvaluator moved(plane, options), rebuilt(plane, options);
  moved.rebuild(kernels);
  // Moves every kernel across an edge by hand: the motion is that of the hinge.
  std::vector<Rigid2> motions(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::uint32_t face = kernels.positions[i].face;
    for (int e = 0; e < 3; ++e) {
      const std::uint32_t twin = plane.twins()[face][static_cast<std::size_t>(e)];
      if (twin == kNone) continue;
      motions[i] = plane.neighbourFromFace(face, e);
      kernels.positions[i] = {twin / 3, {1.0 / 3, 1.0 / 3, 1.0 / 3}};
      break;
    }
  }
  moved.refresh(kernels, motions);
  rebuilt.rebuild(kernels);
  const auto queries = sampleSurface(plane, 400, 8);
  Workspace of_moved, of_rebuilt;
  moved.begin(queries)->respond(0, queries.size(), of_moved);
  rebuilt.begin(queries)->respond(0, queries.size(), of_rebuilt);
  const ResponseBlock &a = of_moved.responses, &b = of_rebuilt.responses;
  std::size_t compared = 0;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    for (std::size_t i = 0; i < b.counts[q]; ++i) {
      for (std::size_t j = 0; j < a.counts[q]; ++j) {
        if (a.kernels[q * a.stride + j] != b.kernels[q * b.stride + i]) continue;
        // On a plane a development is exact whichever way it was made.
        EXPECT_NEAR(a.x[q * a.stride + j], b.x[q * b.stride + i], 1e-4f);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 500u);
}

TEST(LocalEvaluator, PerFaceRuleKeepsTheNearestToTheCentroid) {
  const Surface cube = testing::build(testing::cube(1));
  LocalOptions options;
  options.rule = CandidateRule::kPerFace;
  LocalEvaluator evaluator(cube, options);
  evaluator.rebuild(randomKernels(cube, 3000, 4));
  for (std::uint32_t f = 0; f < cube.faceCount(); ++f) {
    EXPECT_LE(evaluator.supports().of(f).count, options.candidates);
  }
}

TEST(SupportRadius, IsWhereTheThresholdFallsToItsTail) {
  const LocalOptions options;
  for (const double threshold : {0.5, 0.7, 0.95}) {
    const double radius = supportRadius(40, threshold, options);
    const double x = std::exp(-radius * radius * (1 / (4 * options.diffusion_time) + 1 / (2 * 0.01)));
    EXPECT_NEAR(SoftThreshold<double>(40, threshold)(x), options.support_tail, 1e-9);
  }
  EXPECT_EQ(supportRadius(10, 0.3, options), options.max_radius) << "the cap";
}

/// Responses of every kernel at every query, zero where it is no candidate.
std::vector<float> allResponses(const LocalEvaluator& evaluator, std::span<const SurfacePoint> queries,
                                std::size_t kernels) {
  Workspace workspace;
  evaluator.begin(queries)->respond(0, queries.size(), workspace);
  const ResponseBlock& block = workspace.responses;
  std::vector<float> x(queries.size() * kernels, 0.0f);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    for (std::size_t n = 0; n < block.counts[q]; ++n)
      x[q * kernels + block.kernels[q * block.stride + n]] = block.x[q * block.stride + n];
  }
  return x;
}

// Supports of rounded sources: they reach a little further, and what the others have they have, too.
TEST(LocalEvaluator, RebuildsForStepsDependOnKernelsAloneAndReachNoLess) {
  const Surface surface = testing::build(testing::bumpySphere(3, 0.2, 5));
  LocalOptions options;
  options.candidates = 256;
  options.sight = Sight::kCarried;
  options.join_corners = true;
  LocalEvaluator used(surface, options), exact(surface, options);
  const auto queries = sampleSurface(surface, 400, 8);
  constexpr std::size_t kKernels = 200;
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    const KernelSet kernels = randomKernels(surface, kKernels, seed);
    used.rebuildForSteps(kernels);
    LocalEvaluator fresh(surface, options);
    fresh.rebuildForSteps(kernels);
    exact.rebuild(kernels);
    const auto rough = allResponses(used, queries, kKernels), truth = allResponses(exact, queries, kKernels);
    EXPECT_EQ(rough, allResponses(fresh, queries, kKernels));
    EXPECT_GE(used.supports().pairCount(), exact.supports().pairCount());
    std::size_t common = 0, same = 0;
    for (std::size_t i = 0; i < truth.size(); ++i) {
      if (truth[i] == 0) continue;
      ++common;
      same += std::abs(rough[i] - truth[i]) <= 0.01f ? 1 : 0;
    }
    // Where a face can be reached by two ways, a centre nearby may prefer the other one.
    EXPECT_GT(static_cast<double>(same), 0.99 * static_cast<double>(common));
  }
}

}  // namespace
}  // namespace heatskin::local
