#include "heatskin/evaluators/local/support_proxy.h"

#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/surface/sampling.h"

#include "support/tiny_surfaces.h"

namespace heatskin::local {
namespace {

TEST(SupportProxy, IsOnlyMadeForMuchFinerSurfaces) {
  const Surface surface = testing::build(testing::bumpySphere(5, 0.1, 5));
  ASSERT_EQ(surface.faceCount(), 20480u);
  EXPECT_EQ(SupportProxy::build(surface, 0), nullptr);
  EXPECT_EQ(SupportProxy::build(surface, 20480), nullptr);
  EXPECT_EQ(SupportProxy::build(surface, 10240), nullptr);
  EXPECT_NE(SupportProxy::build(surface, 10000), nullptr);
}

TEST(SupportProxy, IsNullWhereSimplifyingWouldChangeTheShape) {
  // Every vertex of the bumps counts: half of the faces cannot be had within the error.
  const Surface surface = testing::build(testing::bumpySphere(3, 0.6, 5));
  EXPECT_EQ(SupportProxy::build(surface, 300), nullptr);
}

TEST(SupportProxy, LiesOnTheSurfaceInItsCoordinates) {
  const Surface surface = testing::build(testing::bumpySphere(5, 0.1, 5));  // 20,480 faces
  const auto proxy = SupportProxy::build(surface, 3000);
  ASSERT_NE(proxy, nullptr);
  EXPECT_LT(proxy->surface().faceCount(), 4000u);
  EXPECT_NEAR(proxy->surface().totalArea(), surface.totalArea(), 0.02 * surface.totalArea());
  // The quadric error is a root mean square over planes, not the largest distance: twice its limit.
  const double most = 2 * 2 * static_cast<double>(SupportProxy::kMostError);
  for (const SurfacePoint& p : sampleSurface(surface, 500, 3)) {
    const Vec3 x = surface.position(p);
    const SurfacePoint there = proxy->place(p.face, x);
    EXPECT_LT((proxy->surface().position(there) - x).norm(), most);
    EXPECT_GT(proxy->surface().frames()[there.face].normal().dot(surface.frames()[p.face].normal()), 0);
    const FaceFrame& mapped = proxy->surface().frames()[proxy->faceOf(p.face)];
    EXPECT_LT(std::abs(mapped.normal().dot(x - mapped.origin)), most) << "near the plane of its face's proxy";
  }
}

TEST(SupportProxy, KeepsTheSidesOfAThinPlateApart) {
  // A cube pressed flat: 0.002 thick, far thinner than the proxy's error.
  testing::Soup plate = testing::cube(30);
  for (Vec3& x : plate.positions)
    x.z() *= 0.001;
  const Surface surface = testing::build(plate);
  const auto proxy = SupportProxy::build(surface, 1500);
  ASSERT_NE(proxy, nullptr);
  for (const SurfacePoint& p : sampleSurface(surface, 300, 3)) {
    const Vec3 normal = surface.frames()[p.face].normal();
    if (std::abs(normal.z()) < 0.9) continue;  // the rim
    const SurfacePoint there = proxy->place(p.face, surface.position(p));
    EXPECT_GT(proxy->surface().frames()[there.face].normal().dot(normal), 0);
    EXPECT_GT(proxy->surface().frames()[proxy->faceOf(p.face)].normal().dot(normal), 0);
  }
}

}  // namespace
}  // namespace heatskin::local
