#include "heatskin/rendering/photograph.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/io/color_space.h"
#include "heatskin/rendering/test_meshes.h"
#include "heatskin/rendering/test_views.h"
#include "heatskin/rendering/transparency.h"

namespace heatskin {
namespace {

TEST(NeutralTone, KeepsMiddleGreysAndNeverExceedsOne) {
  // Without compression a grey only loses the 0.04 that Khronos's specification takes away.
  for (const float grey : {0.1f, 0.3f, 0.7f})
    EXPECT_NEAR(neutralTone(Vec3f::Constant(grey)).x(), grey - 0.04f, 1e-6f);
  // The shoulder: 1 - 0.24^2 / (peak + 0.24 - 0.76), here with a peak of 1.96.
  EXPECT_NEAR(neutralTone(Vec3f::Constant(2)).x(), 1 - 0.0576f / 1.44f, 1e-6f);
  for (const float strength : {0.0f, 0.02f, 0.5f, 1.0f, 5.0f, 1000.0f}) {
    const Vec3f shown = neutralTone(strength * Vec3f(1, 0.5f, 0.1f));
    EXPECT_GE(shown.minCoeff(), 0);
    EXPECT_LE(shown.maxCoeff(), 1);
  }
  EXPECT_EQ(neutralTone(Vec3f::Constant(-1)), Vec3f::Zero());
}

TEST(NeutralTone, RisesWithTheLightAndFadesToWhite) {
  Vec3f before = Vec3f::Zero();
  for (float strength = 0; strength < 50; strength += 0.01f) {
    const Vec3f shown = neutralTone(strength * Vec3f(1, 0.6f, 0.2f));
    for (Eigen::Index c = 0; c < 3; ++c)
      ASSERT_GE(shown[c], before[c] - 1e-6f) << strength;
    before = shown;
  }
  EXPECT_GT(before.minCoeff(), 0.8f);
}

/// A ball on the floor.
Surface ball() {
  return testing::surfaceOf(testing::icosphere(3));
}

PhotographOptions few(int samples = 16) {
  PhotographOptions options;
  options.samples = samples;
  return options;
}

Camera above(const Surface& surface) {
  return framedCamera(surface, 0.4, 20 * kDegree);
}

TEST(Photograph, BackgroundIsAsAskedForAndDarkerUnderTheObject) {
  const Surface surface = ball();
  constexpr int kSize = 64;
  PhotographOptions options = few();
  options.background_top = options.background_bottom = Vec3f(0.2f, 0.6f, 0.9f);
  const Picture picture =
      renderPhotograph(surface, above(surface), kSize, kSize, constantColor(Vec3f::Constant(0.7f)), options);
  const auto pixel = [&](int x, int y) { return picture.image.pixel(x, y); };
  EXPECT_NEAR(pixel(1, 1)[0], 0.2f, 0.01f);  // no tone curve, no noise
  EXPECT_NEAR(pixel(1, 1)[2], 0.9f, 0.01f);
  float darkest = 1;
  for (int x = 0; x < kSize; ++x) {
    for (int y = kSize / 2; y < kSize; ++y) {
      if (picture.coverage[picture.image.index(x, y)] == 0) darkest = std::min(darkest, pixel(x, y)[2]);
    }
  }
  EXPECT_LT(darkest, 0.7f);
}

TEST(Photograph, FromBelowThereIsNoFloor) {
  const Surface surface = ball();
  const Camera below = framedCamera(surface, 0.4, -40 * kDegree);
  PhotographOptions options = few(4);
  const Picture with = renderPhotograph(surface, below, 32, 32, constantColor(Vec3f::Ones()), options);
  options.floor_shadow = false;
  const Picture without = renderPhotograph(surface, below, 32, 32, constantColor(Vec3f::Ones()), options);
  EXPECT_EQ(with.image.rgb, without.image.rgb);
}

TEST(Photograph, TransparentBackgroundKeepsAlpha) {
  const Surface surface = ball();
  PhotographOptions options = few(4);
  options.transparent_background = true;
  const Picture picture =
      renderPhotograph(surface, above(surface), 32, 32, constantColor(Vec3f::Constant(0.5f)), options);
  EXPECT_EQ(picture.image.mask[0], 0);
  EXPECT_EQ(picture.image.mask[16 * 32 + 16], 255);
}

TEST(Photograph, AGreyBallLooksGreyAndIsLitFromItsUpperLeft) {
  const Surface surface = ball();
  constexpr int kSize = 64;
  const Picture picture =
      renderPhotograph(surface, above(surface), kSize, kSize, constantColor(Vec3f::Constant(0.6f)), few(64));
  const auto grey = [&](int x, int y) { return picture.image.pixel(x, y)[1]; };
  EXPECT_GT(grey(24, 20), grey(42, 46) + 0.1f);
  EXPECT_GT(grey(24, 20), 0.5f);
  EXPECT_LT(grey(24, 20), 0.95f);
  const float* middle = picture.image.pixel(kSize / 2, kSize / 2);
  EXPECT_NEAR(middle[0], middle[2], 0.06f);
}

TEST(Photograph, RefusesImpossibleSizes) {
  const Surface surface = ball();
  EXPECT_TRUE(
      renderPhotograph(surface, above(surface), 0, 5, constantColor(Vec3f::Ones())).image.rgb.empty());
}

}  // namespace
}  // namespace heatskin
