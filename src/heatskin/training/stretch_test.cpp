#include "heatskin/training/stretch.h"

#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/evaluators/evaluate_colors.h"
#include "heatskin/evaluators/local/local_evaluator.h"
#include "heatskin/training/config.h"

#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

/// Two kernels on a plane, and the weights of both at points on a line through the first one.
class Stretch : public ::testing::Test {
 protected:
  Stretch() {
    kernels_.resize(2);
    kernels_.positions = {{face(20, 20), Vec3(1, 1, 1) / 3}, {face(5, 5), Vec3(1, 1, 1) / 3}};
    for (std::size_t k = 0; k < 2; ++k) {
      kernels_.angles[k] = 0.3f;
      kernels_.anisotropies[k] = 20;
      kernels_.thresholds[k] = 0.6f;
      kernels_.sharpnesses[k] = 30;
      kernels_.lengths[k] = 2;
      kernels_.channels[k] = Vec3f::Zero();
    }
  }

  static std::uint32_t face(std::uint32_t x, std::uint32_t y) { return 2 * (y * 40 + x); }

  float weightAt(const SurfacePoint& point) {
    local::LocalEvaluator evaluator(
        surface_, std::get<local::LocalOptions>(presetConfig("compact")->evaluator.options()));
    evaluator.rebuild(kernels_);
    FilterTable filter;
    filter.build(kernels_);
    std::vector<Vec3f> colors(1);
    std::vector<float> weights(1);
    const SurfacePoint points[] = {point};
    evaluateColors(evaluator, filter, points, colors, weights);
    return weights[0];
  }

  /// A probe where the first kernel has the weight that it has.
  Probes probeAt(const SurfacePoint& point) {
    Probes probes;
    probes.resize(1, 3);
    probes.points = {point};
    probes.weights = {weightAt(point)};
    if (probes.weights[0] > 0) {
      probes.influences = {{0, probes.weights[0]}};
      probes.begin = {0, 1};
    }
    return probes;
  }

  Surface surface_ = testing::build(testing::flatGrid(40, 40));
  KernelSet kernels_;
};

TEST_F(Stretch, ARimIsCoveredAfterwardsAsTheClosedFormSays) {
  std::size_t seen = 0;
  for (std::uint32_t x = 21; x < 32; ++x) {
    const SurfacePoint point{face(x, 20), Vec3(0.5, 0.25, 0.25)};
    kernels_.lengths = {2, 2};
    const Probes probes = probeAt(point);
    const float before = probes.weights[0];
    if (before <= 0 || before >= 0.5f) continue;
    std::uint8_t uncovered[] = {1};
    const std::size_t changed = stretchOver(kernels_, probes, uncovered);
    EXPECT_EQ(changed, uncovered[0] == 0 ? 1u : 0u);
    EXPECT_EQ(kernels_.lengths[1], 2.0f) << "the other one has nothing to do with it";
    if (changed == 0) continue;
    EXPECT_NEAR(weightAt(point), 0.6f, 1e-3f) << before;
    ++seen;
  }
  EXPECT_GE(seen, 1u);
}

TEST_F(Stretch, WhatIsCoveredOrFarAwayChangesNothing) {
  Probes far = probeAt({face(38, 38), Vec3(1, 1, 1) / 3});
  ASSERT_EQ(far.weights[0], 0.0f);
  std::uint8_t uncovered[] = {1};
  EXPECT_EQ(stretchOver(kernels_, far, uncovered), 0u);
  EXPECT_EQ(uncovered[0], 1);
  // A weight so small that the kernel would have to grow several times.
  far.influences = {{0, 1e-8f}};
  far.weights = {1e-8f};
  far.begin = {0, 1};
  kernels_.sharpnesses[0] = 10;
  EXPECT_EQ(stretchOver(kernels_, far, uncovered), 0u);
  std::uint8_t covered[] = {0};
  EXPECT_EQ(stretchOver(kernels_, probeAt({face(20, 20), Vec3(0.4, 0.3, 0.3)}), covered), 0u);
  EXPECT_EQ(kernels_.lengths[0], 2.0f);
}

TEST_F(Stretch, TheLargestFactorCountsInAnyOrder) {
  const std::vector<heatskin::Stretch> stretches[] = {{{0, 1.2f}, {1, 1.05f}}, {}, {{0, 1.1f}}};
  kernels_.lengths = {2, 3};
  EXPECT_EQ(lengthen(kernels_, stretches), 2u);
  const std::vector<float> lengths = kernels_.lengths;
  EXPECT_FLOAT_EQ(lengths[0], 2.4f);
  EXPECT_FLOAT_EQ(lengths[1], 3.15f);
  const std::vector<heatskin::Stretch> turned[] = {{{0, 1.1f}}, {{1, 1.05f}, {0, 1.2f}}};
  kernels_.lengths = {2, 3};
  lengthen(kernels_, turned);
  EXPECT_EQ(kernels_.lengths, lengths);
  kernels_.lengths = {KernelRanges::kMaxLength, 3};
  const std::vector<heatskin::Stretch> too_long[] = {{{0, 1.5f}}};
  lengthen(kernels_, too_long);
  EXPECT_EQ(kernels_.lengths[0], KernelRanges::kMaxLength);
}

TEST(UncoveredProbes, HaveLittleWeightAndAVisibleError) {
  Probes probes;
  probes.resize(4, 3);
  std::fill(probes.errors.values.begin(), probes.errors.values.end(), 0.0f);
  probes.weights = {0.4f, 0.4f, 0.6f, 0.4f};
  probes.errors.row(0)[1] = -0.01f;   // wrong
  probes.errors.row(1)[2] = 0.0078f;  // 1.99 / 255
  probes.errors.row(2)[0] = 0.5f;     // covered
  EXPECT_EQ(uncoveredProbes(probes, KernelSet().layout, 0.5f), (std::vector<std::uint8_t>{1, 0, 0, 0}));
}

}  // namespace
}  // namespace heatskin
