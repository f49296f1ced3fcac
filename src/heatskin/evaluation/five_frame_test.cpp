#include "heatskin/evaluation/five_frame.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/io/color_space.h"
#include "heatskin/metrics/psnr.h"

#include "support/sanitized.h"
#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

using testing::casesToTry;

constexpr int kSamples = casesToTry(2, 1);

float at(const ImageF& image, int x, int y) {
  return image.pixel(x, y)[0];
}

/// Mean linear light of a square of pixels.
double meanLight(const ImageF& image, int left, int top, int side) {
  double sum = 0;
  for (int y = top; y < top + side; ++y) {
    for (int x = left; x < left + side; ++x)
      sum += static_cast<double>(linearFromSrgb8[toByte(at(image, x, y))]);
  }
  return sum / (side * side);
}

TEST(FiveFrame, CamerasStandWhereTheAuthorsPutThem) {
  const auto cameras = fiveFrameCameras();
  ASSERT_EQ(cameras.size(), 5u);
  EXPECT_LT((cameras[0].eye - Vec3(0, 0, -3.7)).norm(), 1e-12);
  EXPECT_NEAR(cameras[1].eye.x(), 3.7 * std::sin(252 * kDegree), 1e-12);
  for (const Camera& camera : cameras) {
    EXPECT_NEAR(camera.eye.norm(), 3.7, 1e-12);
    EXPECT_EQ(camera.eye.y(), 0);
    EXPECT_EQ(camera.target, Vec3::Zero());
  }
}

TEST(FiveFrame, BackgroundIsWhiteFloorIsItsAlbedoAndTheObjectItsOwn) {
  const Surface surface = testing::build(testing::icosphere(4));
  const ColorSource grey = constantColor(Vec3f::Constant(0.5f));
  const FramePair frame =
      drawFrame(surface, fiveFrameCameras()[0], grey, constantColor(Vec3f::Ones()), {}, kSamples, 1);
  ASSERT_EQ(frame.truth.width, 256);
  EXPECT_EQ(at(frame.truth, 5, 5), 1);  // the environment, above the horizon
  // The floor beside the object: albedo 0.3, less where the object hides the sky.
  EXPECT_NEAR(meanLight(frame.truth, 2, 236, 16), 0.26, 0.04);
  // The middle of the object faces the camera: half of what it sees is sky (1), half the floor (0.2 to 0.3 in
  // the object's shadow). It reflects 0.037 + 1.006 times its colour of that (principled_test.cpp).
  EXPECT_NEAR(meanLight(frame.truth, 104, 104, 48), (0.037 + 0.503) * 0.625, 0.04);
  EXPECT_NEAR(meanLight(frame.test, 104, 104, 48), (0.037 + 1.006) * 0.625, 0.07);
  for (const float value : frame.truth.rgb)
    ASSERT_EQ(value, static_cast<float>(toByte(value)) / 255.0f);
}

TEST(FiveFrame, AKnownDifferenceGivesTheKnownPsnr) {
  // Two greys differ by the derivative of the sRGB curve times the difference of the diffuse light.
  const Surface surface = testing::build(testing::icosphere(3));
  const ColorSource one = constantColor(Vec3f::Constant(0.5f)), other = constantColor(Vec3f::Constant(0.7f));
  const auto quality = measureFiveFrames(surface, one, other, {}, kSamples, 1);
  ASSERT_TRUE(quality);
  SquaredError pooled;
  for (const Camera& camera : fiveFrameCameras()) {
    const FramePair frame = drawFrame(surface, camera, one, other, {}, kSamples, 1);
    pooled += *squaredError(frame.truth, frame.test);
  }
  EXPECT_EQ(pooled.count, 5u * 3 * 256 * 256);  // nothing is masked
  EXPECT_NEAR(quality->psnr, psnrFromMse(pooled.mean()), 1e-9);
  // The sphere covers about two fifths of a frame and its grey changes from 0.76 to 0.88 as sRGB.
  EXPECT_NEAR(quality->psnr, psnrFromMse(0.4 * 0.12 * 0.12), 1.5);
  EXPECT_GT(quality->ssim, 0.9);
  EXPECT_GT(quality->ms_ssim, 0.9);
  EXPECT_FALSE(quality->lpips.has_value());
}

TEST(FiveFrame, IdenticalColoursAreIdenticalPictures) {
  const Surface surface = testing::build(testing::icosphere(2));
  const ColorSource grey = constantColor(Vec3f::Constant(0.4f));
  const auto quality = measureFiveFrames(surface, grey, grey, {}, 1, 3);
  ASSERT_TRUE(quality);
  EXPECT_EQ(quality->psnr, std::numeric_limits<double>::infinity());
  EXPECT_NEAR(quality->ssim, 1, 1e-9);
  EXPECT_EQ(quality->samples, 1);
}

TEST(FiveFrame, DoesNotDependOnTheNumberOfThreads) {
  const Surface surface = testing::build(testing::torus(20, 12));
  const ColorSource one = constantColor(Vec3f::Constant(0.5f)),
                    other = constantColor(Vec3f(0.5f, 0.6f, 0.1f));
  const int threads = threadCount();
  setThreadCount(1);
  const auto first = measureFiveFrames(surface, one, other, {}, 1, 1);
  setThreadCount(3);
  const auto second = measureFiveFrames(surface, one, other, {}, 1, 1);
  setThreadCount(threads);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->psnr, second->psnr);
  EXPECT_EQ(first->ssim, second->ssim);
}

}  // namespace
}  // namespace heatskin
