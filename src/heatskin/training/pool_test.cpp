#include "heatskin/training/pool.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "heatskin/appearance/appearance_target.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/training/test_fits.h"

namespace heatskin {
namespace {

constexpr std::size_t kPool = 2000, kBatch = 500;

struct Setting {
  Asset asset = testing::colourfulRing();
  Surface surface = std::move(*buildSurface(asset));
  Appearance appearance{asset, surface};
  AppearanceTarget target{appearance, Filter::kPaper};

  SamplePool pool(Sampling rule) const {
    SamplingOptions options;
    options.pool = kPool;
    options.rule = rule;
    options.error_power = 0.5;
    options.correction = 1;
    return SamplePool(surface, target, options, 3);
  }
};

std::vector<std::uint32_t> drawn(SamplePool& pool, int step, bool uniform) {
  std::vector<std::uint32_t> indices(kBatch);
  pool.prepareDraw(step, uniform, kBatch);
  pool.draw(0, indices);
  return indices;
}

std::vector<SurfacePoint> pointsOf(const SamplePool& pool, std::uint64_t draw) {
  std::vector<std::uint32_t> indices(pool.size());
  std::iota(indices.begin(), indices.end(), 0u);
  std::vector<SurfacePoint> points(pool.size());
  pool.samples().points(draw, 0, indices, points);
  return points;
}

/// Gives sample i a squared error that grows with i: from 1e-4 to 1.
void tellErrors(SamplePool& pool) {
  std::vector<std::uint32_t> indices(kPool);
  std::vector<float> losses(kPool);
  for (std::uint32_t i = 0; i < kPool; ++i) {
    indices[i] = i;
    const float root = 0.01f + 0.99f * static_cast<float>(i) / kPool;
    losses[i] = root * root;
  }
  pool.visit(indices, losses);
}

TEST(SamplePool, NeighboursInThePoolAreNeighboursOnTheSurface) {
  const Setting setting;
  for (const Sampling rule : {Sampling::kPaper, Sampling::kStratified}) {
    const SamplePool pool = setting.pool(rule);
    const std::vector<SurfacePoint> points = pointsOf(pool, 1);
    const auto mean_distance = [&](std::size_t apart) {
      double sum = 0;
      for (std::size_t i = 0; i < kPool; ++i) {
        sum += (setting.surface.position(points[i]) - setting.surface.position(points[(i + apart) % kPool]))
                   .norm();
      }
      return sum / kPool;
    };
    EXPECT_LT(mean_distance(1), 0.15 * mean_distance(kPool / 2));
    // Every face is visited once.
    std::vector<std::uint8_t> left(setting.surface.faceCount(), 0);
    for (std::size_t i = 1; i < kPool; ++i) {
      const std::uint32_t before = points[i - 1].face, now = points[i].face;
      if (now == before) continue;
      left[before] = 1;
      EXPECT_EQ(left[now], 0) << "face " << now;
    }
  }
}

TEST(SamplePool, StoredSamplesStayAndStrataGiveAnotherPointAtEveryDraw) {
  const Setting setting;
  const auto same = [](const SurfacePoint& a, const SurfacePoint& b) {
    return a.face == b.face && a.barycentric == b.barycentric;
  };
  for (const Sampling rule : {Sampling::kPaper, Sampling::kStratified}) {
    const SamplePool pool = setting.pool(rule);
    const auto once = pointsOf(pool, 1), again = pointsOf(pool, 1), later = pointsOf(pool, 2);
    std::size_t kept = 0, near = 0;
    for (std::size_t i = 0; i < kPool; ++i) {
      ASSERT_TRUE(same(once[i], again[i]));
      kept += same(once[i], later[i]) ? 1 : 0;
      near += (setting.surface.position(once[i]) - setting.surface.position(later[i])).norm() < 0.2 ? 1 : 0;
    }
    EXPECT_EQ(kept, rule == Sampling::kPaper ? kPool : 0);
    // A part that ends in another face than it begins in may have its ends apart.
    EXPECT_GT(near, kPool * 3 / 4) << "in the same part of the surface";
    // What they should look like is what the target says.
    std::vector<std::uint32_t> indices(kPool);
    std::iota(indices.begin(), indices.end(), 0u);
    std::vector<float> values(3 * kPool), truth(3 * kPool);
    pool.samples().values(indices, later, values, {});
    setting.target.values(later, truth);
    EXPECT_EQ(values, truth);
  }
}

TEST(SamplePool, BatchesComeInOrderAndPartsMakeUpTheWhole) {
  const Setting setting;
  for (const Sampling rule : {Sampling::kPaper, Sampling::kStratified}) {
    SamplePool pool = setting.pool(rule);
    for (const bool uniform : {true, false}) {
      const auto whole = drawn(pool, 7, uniform);
      EXPECT_TRUE(std::is_sorted(whole.begin(), whole.end()));
      EXPECT_LT(whole.back(), kPool);
      std::vector<std::uint32_t> part(100);
      pool.draw(300, part);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 300));
      EXPECT_NE(drawn(pool, 8, uniform), whole);
    }
  }
}

TEST(SamplePool, StratifiedDrawsFillEveryPart) {
  const Setting setting;
  SamplePool pool = setting.pool(Sampling::kStratified);
  const auto indices = drawn(pool, 1, true);
  for (std::size_t i = 0; i < kBatch; ++i)
    EXPECT_EQ(indices[i] / (kPool / kBatch), i);
}

TEST(SamplePool, DrawsFollowTheErrorAndRarityUndoesIt) {
  const Setting setting;
  SamplePool pool = setting.pool(Sampling::kStratified);
  tellErrors(pool);
  // The weight of sample i is the root of its squared error, linear in i: the upper half has 3/4 of the
  // draws.
  double upper = 0, weight = 0, estimate = 0, truth = 0;
  constexpr int kSteps = 40;
  for (int step = 0; step < kSteps; ++step) {
    for (const std::uint32_t i : drawn(pool, step, false)) {
      upper += i >= kPool / 2 ? 1 : 0;
      weight += pool.inverseProbabilityWeight(i);
      estimate += pool.inverseProbabilityWeight(i) * i;
    }
  }
  for (std::size_t i = 0; i < kPool; ++i)
    truth += static_cast<double>(i) / kPool;
  constexpr double kDraws = kSteps * kBatch;
  EXPECT_NEAR(upper / kDraws, 0.75, 0.01) << "root weights from 0.01 to 1: 0.7475";
  EXPECT_NEAR(weight / kDraws, 1, 0.05) << "the mean weight of a uniform draw";
  EXPECT_NEAR(estimate / kDraws / truth, 1, 0.01) << "a mean over the surface, unbiased";
}

TEST(SamplePool, SamplesThatNoBatchHadAreGuessedFromTheirNeighbours) {
  // Every other sample of the first half is visited and nothing of the second: a quarter of the pool. Weights
  // are 0.1 and 0.3, and change where a new block of 16 neighbours begins.
  const Setting setting;
  SamplePool pool = setting.pool(Sampling::kStratified);
  std::vector<std::uint32_t> indices;
  std::vector<float> losses;
  for (std::uint32_t i = 0; i < kPool / 2; i += 2) {
    indices.push_back(i);
    losses.push_back(i < 400 ? 0.01f : 0.09f);
  }
  pool.visit(indices, losses);
  const std::vector<float> before(pool.errors().begin(), pool.errors().end());
  drawn(pool, 0, true);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), pool.errors().begin()))
      << "uniform draws need no guess";

  const auto batch = drawn(pool, 1, false);
  EXPECT_NEAR(pool.errors()[0], 0.1f, 1e-6);
  EXPECT_NEAR(pool.errors()[1], 0.1f, 1e-6) << "near 0 and 2";
  EXPECT_NEAR(pool.errors()[401], 0.3f, 1e-6) << "near 400 and 402";
  const double everywhere = (200 * 0.1 + 300 * 0.3) / 500;
  EXPECT_NEAR(pool.errors()[kPool - 1], everywhere, 1e-6) << "nothing near was visited";
  const auto known = std::count_if(batch.begin(), batch.end(), [](std::uint32_t i) { return i < kPool / 2; });
  EXPECT_NEAR(static_cast<double>(known) / kBatch, 0.5, 0.01)
      << "what is unknown is as likely as what is known";

  // A checkpoint from before the guess goes on as if nothing had happened.
  SamplePool resumed = setting.pool(Sampling::kStratified);
  resumed.restoreErrors(before);
  EXPECT_EQ(drawn(resumed, 1, false), batch);
}

TEST(SamplePool, WithoutAnyErrorDrawsAreUniform) {
  const Setting setting;
  SamplePool pool = setting.pool(Sampling::kStratified);  // with a floor of 0
  std::vector<std::uint32_t> indices(kPool);
  for (std::uint32_t i = 0; i < kPool; ++i)
    indices[i] = i;
  pool.visit(indices, std::vector<float>(kPool, 0.0f));
  EXPECT_EQ(drawn(pool, 1, false), drawn(pool, 1, true));
  EXPECT_EQ(pool.inverseProbabilityWeight(0), 1);
}

TEST(SamplePool, ThePapersErrorsBarelyMove) {
  // Trap 11.2: one visit multiplies a weight by 0.99.
  const Setting setting;
  SamplePool pool = setting.pool(Sampling::kPaper);
  const std::vector<std::uint32_t> indices = {5};
  const std::vector<float> losses = {0.5f};
  pool.visit(indices, losses);
  EXPECT_NEAR(pool.errors()[5], 0.99e5, 1);
  EXPECT_EQ(pool.errors()[6], 1e5f);
}

}  // namespace
}  // namespace heatskin
