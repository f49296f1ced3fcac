#include "heatskin/surface/strata.h"

#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"

#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

std::vector<double> areasOf(const Surface& surface) {
  return {surface.areas().begin(), surface.areas().end()};
}

TEST(SurfaceStrata, EveryPartHasItsShareOfEveryTriangle) {
  // Places in equal steps are uniform: the part of them in a corner triangle is its part of the area.
  const Surface surface = testing::build(testing::flatGrid(3, 2));
  const SurfaceStrata strata(surface, areasOf(surface));
  constexpr int kCount = 1 << 16;
  std::vector<double> found(surface.faceCount()), corner(surface.faceCount());
  for (int i = 0; i < kCount; ++i) {
    const SurfacePoint p = strata.at((i + 0.5) / kCount);
    EXPECT_GE(p.barycentric.minCoeff(), 0);
    EXPECT_NEAR(p.barycentric.sum(), 1, 1e-12);
    ++found[p.face];
    if (p.barycentric[1] > 0.5) ++corner[p.face];
  }
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    const double expected = kCount * surface.areas()[f] / surface.totalArea();
    EXPECT_NEAR(found[f], expected, 2);
    EXPECT_NEAR(corner[f], expected / 4, 8) << "a corner triangle of half the size has a quarter";
  }
}

TEST(SurfaceStrata, NeighbouringPlacesAreNeighboursWithinAFace) {
  const Surface surface = testing::build(testing::flatGrid(1, 1));
  const SurfaceStrata strata(surface, areasOf(surface));
  constexpr int kCount = 1 << 12;
  // A part of the area 1 / n has the size sqrt(1 / n); halves of right-angled triangles are at most twice as
  // long.
  const double size = std::sqrt(surface.totalArea() / kCount);
  int jumps = 0;
  for (int i = 0; i + 1 < kCount; ++i) {
    const Vec3 a = surface.position(strata.at((i + 0.5) / kCount));
    const Vec3 b = surface.position(strata.at((i + 1.5) / kCount));
    if ((a - b).norm() > 2 * size) ++jumps;
  }
  EXPECT_LE(jumps, 1) << "only from face to face";
}

TEST(SurfaceStrata, FacesWithoutWeightAreLeftOut) {
  const Surface surface = testing::build(testing::flatGrid(4, 4));
  std::vector<double> weights = areasOf(surface);
  weights.front() = weights.back() = weights[7] = 0;
  const SurfaceStrata strata(surface, weights);
  for (const double place : {0.0, 0.999999999999, std::nextafter(1.0, 0.0)})
    EXPECT_GT(weights[strata.at(place).face], 0);
  const RandomStream random(3, 1);
  for (std::uint64_t i = 0; i < 20000; ++i)
    ASSERT_GT(weights[strata.at(random.uniform(i)).face], 0);
}

}  // namespace
}  // namespace heatskin
