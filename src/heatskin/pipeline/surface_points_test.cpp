#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/asset_surface.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/surface/closest_point.h"
#include "heatskin/surface/sampling.h"

#include "support/products.h"

namespace heatskin {
namespace {

using testing::assetOf;
using testing::bumpySphere;

struct Scene {
  Asset asset;
  Surface surface;
};

Scene sceneOf(Asset asset) {
  auto surface = buildSurface(asset);
  EXPECT_TRUE(surface) << surface.error().message;
  return {std::move(asset), std::move(*surface)};
}

TEST(SurfacePoints, ThereAndBack) {
  for (Asset asset : {assetOf(bumpySphere(2, 0.2, 1)), testing::mirroredInstances()}) {
    const Scene scene = sceneOf(std::move(asset));
    const SurfacePointFinder finder(scene.asset, scene.surface);
    const auto points = sampleSurface(scene.surface, 500, 3);
    const std::vector<Vec3> positions = finder.toPositions(points);
    const auto found = finder.fromPositions(positions);
    ASSERT_TRUE(found) << found.error().message;
    const std::vector<Vec3> again = finder.toPositions(found->points);
    const double size = 1 / scene.surface.surfaceFromAsset().scale;
    for (std::size_t i = 0; i < points.size(); ++i)
      ASSERT_LT((again[i] - positions[i]).norm(), 1e-9 * size) << i;
    EXPECT_LT(found->max_distance, 1e-9 * size);

    // Through the triangles of the file: the same place, corner by corner.
    const std::vector<TrianglePoint> triangles = finder.toTriangles(points);
    const auto returned = finder.fromTriangles(triangles);
    ASSERT_TRUE(returned) << returned.error().message;
    for (std::size_t i = 0; i < points.size(); ++i) {
      ASSERT_EQ(returned->points[i].face, points[i].face);
      ASSERT_LT((returned->points[i].barycentric - points[i].barycentric).norm(), 1e-12);
    }
    EXPECT_EQ(returned->max_distance, 0);
  }
}

// A position off the surface goes to the nearest point, and its distance is told in the asset's unit.
TEST(SurfacePoints, DistancesAreThoseOfTheAsset) {
  testing::Soup square{"square", {{0, 0, 0}, {10, 0, 0}, {10, 10, 0}, {0, 10, 0}}, {{0, 1, 2}, {0, 2, 3}}};
  const Scene scene = sceneOf(assetOf(square));
  const SurfacePointFinder finder(scene.asset, scene.surface);
  const std::vector<Vec3> above = {{2, 3, 4}, {7, 2, -1}, {13, 14, 0}};
  const auto found = finder.fromPositions(above);
  ASSERT_TRUE(found);
  const std::vector<Vec3> below = finder.toPositions(found->points);
  EXPECT_LT((below[0] - Vec3(2, 3, 0)).norm(), 1e-9);
  EXPECT_LT((below[1] - Vec3(7, 2, 0)).norm(), 1e-9);
  EXPECT_LT((below[2] - Vec3(10, 10, 0)).norm(), 1e-9);
  EXPECT_NEAR(found->max_distance, 5, 1e-9);
}

// A triangle without area has no face; the nearest place answers for it.
TEST(SurfacePoints, TrianglesThatTheSurfaceDropped) {
  testing::Soup soup{
      "soup", {{0, 0, 0}, {10, 0, 0}, {10, 10, 0}, {0, 10, 0}, {5, 5, 0}}, {{0, 1, 2}, {0, 4, 2}, {0, 2, 3}}};
  const Scene scene = sceneOf(assetOf(soup));
  ASSERT_EQ(scene.surface.faceCount(), 2u);
  const SurfacePointFinder finder(scene.asset, scene.surface);
  EXPECT_EQ(finder.triangleCount(), 3u);
  const std::vector<TrianglePoint> asked = {{1, Vec3(0.5, 0.25, 0.25)}, {2, Vec3(0.2, 0.3, 0.5)}};
  const auto found = finder.fromTriangles(asked);
  ASSERT_TRUE(found);
  const std::vector<Vec3> positions = finder.toPositions(found->points);
  EXPECT_LT((positions[0] - Vec3(3.75, 3.75, 0)).norm(), 1e-9);
  EXPECT_LT((positions[1] - Vec3(3, 8, 0)).norm(), 1e-9);
}

TEST(SurfacePoints, WhatCannotBeFoundIsRefusedByName) {
  const Scene scene = sceneOf(assetOf(bumpySphere(1, 0.2, 1)));
  SurfacePointFinder finder(scene.asset, scene.surface);
  const auto refusal = [](const auto& result) {
    EXPECT_FALSE(result);
    return result ? std::string() : result.error().message;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refusal(finder.fromPositions(std::vector<Vec3>{{0, 0, 0}, {0, 1e300, 0}})),
            "point 1: the point is too far from the surface");
  EXPECT_FALSE(finder.fromPositions(std::vector<Vec3>{{nan, 0, 0}}));
  finder.name_of = [](std::size_t i) { return "line " + std::to_string(i + 1); };
  const auto count = static_cast<std::uint32_t>(finder.triangleCount());
  EXPECT_TRUE(refusal(finder.fromTriangles(std::vector<TrianglePoint>{{count, Vec3(1, 0, 0)}}))
                  .starts_with("line 1: face 80 does not exist"));
  for (const Vec3& b : {Vec3(0.5, 0.5, 0.5), Vec3(-0.1, 0.6, 0.5), Vec3(nan, 0.5, 0.5)})
    EXPECT_FALSE(finder.fromTriangles(std::vector<TrianglePoint>{{0, b}}));
  EXPECT_TRUE(finder.fromTriangles(std::vector<TrianglePoint>{{0, Vec3(0.3333, 0.3333, 0.3333)}}));
}

}  // namespace
}  // namespace heatskin
