#include "heatskin/rendering/colormap.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace heatskin {
namespace {

/// Maps are cut to sRGB with 1e-4 of slack in linear light, which is worth this much lightness near black.
constexpr double kLightnessError = 5e-3;

TEST(Colormap, OklabOfKnownColours) {
  EXPECT_NEAR(oklabLightness({1, 1, 1}), 1, 1e-4);
  EXPECT_NEAR(oklabLightness({0, 0, 0}), 0, 1e-6);
  // Lightness of the sRGB primaries as published with the space.
  EXPECT_NEAR(oklabLightness({1, 0, 0}), 0.628, 1e-3);
  EXPECT_NEAR(oklabLightness({0, 1, 0}), 0.866, 1e-3);
  EXPECT_NEAR(oklabLightness({0, 0, 1}), 0.452, 1e-3);
  const Vec3f grey = srgbFromOklch(0.5, 0, 1.0);
  EXPECT_NEAR(grey.x(), grey.y(), 1e-3);
  EXPECT_NEAR(grey.y(), grey.z(), 1e-3);
}

TEST(Colormap, HeatIsPerceptuallyLinearAndSmooth) {
  constexpr int kSteps = 256;
  Vec3f last = heatColor(0);
  for (int i = 0; i <= kSteps; ++i) {
    const float t = static_cast<float>(i) / kSteps;
    const Vec3f color = heatColor(t);
    ASSERT_NEAR(oklabLightness(color), 0.14 + 0.82 * static_cast<double>(t), kLightnessError);
    ASSERT_TRUE(color.minCoeff() >= 0 && color.maxCoeff() <= 1);
    // No visible line: one step is below 5 of 255 levels.
    ASSERT_LT((color - last).cwiseAbs().maxCoeff(), 5.0f / 255) << t;
    last = color;
  }
  EXPECT_EQ(heatColor(-3), heatColor(0));
  EXPECT_EQ(heatColor(7), heatColor(1));
  EXPECT_EQ(heatColor(std::numeric_limits<float>::infinity()), heatColor(1));
  EXPECT_EQ(heatColor(std::numeric_limits<float>::quiet_NaN()), Vec3f(0.5f, 0.5f, 0.5f));
  EXPECT_EQ(errorColor(0.05f, 0.1f), heatColor(0.5f));
  EXPECT_EQ(errorColor(0.05f, 0), heatColor(0));
}

TEST(Colormap, DivergingIsSymmetricInLightness) {
  for (float t = 0; t <= 1; t += 0.05f)
    EXPECT_NEAR(oklabLightness(divergingColor(t)), oklabLightness(divergingColor(-t)), kLightnessError);
  EXPECT_GT(divergingColor(1).x(), divergingColor(1).z());
  EXPECT_LT(divergingColor(-1).x(), divergingColor(-1).z());
}

TEST(Colormap, CoverageTurnsFromRedToGreenAtOne) {
  for (float w = 0; w < 0.5f; w += 0.05f) {
    const Vec3f color = coverageColor(w);
    EXPECT_GT(color.x(), color.y() + 0.2f) << w;
  }
  for (float w = 1.05f; w < 10; w += 0.3f) {
    const Vec3f color = coverageColor(w);
    EXPECT_LT(color.x(), color.y()) << w;
  }
  EXPECT_EQ(coverageColor(4), coverageColor(100));
  EXPECT_EQ(coverageColor(-1), coverageColor(0));
}

}  // namespace
}  // namespace heatskin
