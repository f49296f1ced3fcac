#include "heatskin/study/low_poly.h"

#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/demo/pumpkin.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/study/admission.h"
#include "heatskin/surface/closest_point.h"
#include "heatskin/surface/sampling.h"

namespace heatskin::study {
namespace {

class LowPoly : public ::testing::Test {
 protected:
  static Asset pumpkin() {
    PumpkinOptions options;
    options.resolution = 2000;
    options.texture_size = 512;
    return makePumpkin(options);
  }
};

TEST_F(LowPoly, HasTheVerticesAskedForAndStaysAdmissible) {
  const Asset fine = pumpkin();
  for (const std::size_t vertices : {121u, 330u, 1000u}) {
    const auto coarse = lowPoly(fine, {.vertices = vertices});
    ASSERT_TRUE(coarse.ok()) << coarse.error().message;
    const auto surface = buildSurface(*coarse);
    ASSERT_TRUE(surface.ok());
    EXPECT_NEAR(surface->vertexCount(), static_cast<double>(vertices), 0.1 * static_cast<double>(vertices));
    EXPECT_TRUE(checkAdmission(*coarse, *surface).admitted()) << checkAdmission(*coarse, *surface).text();
  }
}

// At every point of the coarse mesh the new texture has the colour of the nearest point of the fine one, up
// to the size of its texels; whichever way it is read, no triangle shows a neighbour's colours.
TEST_F(LowPoly, CarriesColoursOver) {
  const Asset fine = pumpkin();
  const auto coarse = lowPoly(fine, {.vertices = 200, .texture_size = 2048});
  ASSERT_TRUE(coarse.ok());
  const auto fine_surface = buildSurface(fine), coarse_surface = buildSurface(*coarse);
  ASSERT_TRUE(fine_surface.ok() && coarse_surface.ok());
  const Appearance truth(fine, *fine_surface), carried(*coarse, *coarse_surface);
  const ClosestPointQuery nearest(*fine_surface);
  for (const Filter filter : {Filter::kAuto, Filter::kPaper}) {
    double sum = 0;
    const auto points = sampleSurface(*coarse_surface, 4000, 1);
    for (const SurfacePoint& p : points) {
      const Vec3 x =
          fine_surface->surfaceFromAsset()(coarse_surface->assetFromSurface()(coarse_surface->position(p)));
      const Vec3f difference = truth.color(nearest(x).point) - carried.color(p, filter);
      sum += difference.squaredNorm() / 3;
    }
    EXPECT_GT(-10 * std::log10(sum / 4000), 30) << static_cast<int>(filter);
  }
}

TEST_F(LowPoly, RefusesMoreTrianglesThanPlaces) {
  EXPECT_FALSE(lowPoly(pumpkin(), {.vertices = 2000, .texture_size = 64}).ok());
}

}  // namespace
}  // namespace heatskin::study
