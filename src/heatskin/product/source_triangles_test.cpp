// How kernels refer to the triangles of the file.

#include "heatskin/product/source_triangles.h"

#include <cmath>
#include <cstdint>
#include <numbers>
#include <set>

#include <gtest/gtest.h>

#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/product/test_fitted.h"

#include "support/products.h"

namespace heatskin::testing::product {
namespace {

TEST(Product, AnglesAreMeasuredFromTheFirstEdgeTowardsTheThirdCorner) {
  // A triangle in the plane: the axis of the kernel is along the edge from corner 1 to corner 2, at 135
  // degrees.
  Soup soup{"triangle", {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, {{0, 1, 2}}};
  for (const bool mirrored : {false, true}) {
    Asset asset = assetOf(soup);
    if (mirrored) asset.instances[0].asset_from_mesh.scale(Vec3(-1, 1, 1));
    const auto surface = buildSurface(asset);
    ASSERT_TRUE(surface);
    const SourceTriangles triangles(asset, *surface);
    const Vec3 edge = mirrored ? Vec3(1, 1, 0) : Vec3(-1, 1, 0);
    const Vec2 axis = surface->frames()[0].directionToFace(edge);
    const double angle = std::atan2(axis.y(), axis.x());
    EXPECT_NEAR(triangles.axisInTriangle(0, angle), 0.75 * std::numbers::pi, 1e-12);
    const double back = triangles.axisInFace(0, 0.75 * std::numbers::pi);
    EXPECT_NEAR(std::abs(std::sin(back - angle)), 0, 1e-12);
  }
}

TEST(Product, TrianglesAreNumberedOverInstancesPrimitivesAndTriangles) {
  const Fitted f = fitted(manyMaterials());
  const SourceTriangles triangles(f.asset, *f.surface);
  EXPECT_EQ(triangles.size(), 48u + 80u);
  EXPECT_EQ(triangles.size(), countTriangles(f.asset));
  std::set<std::uint32_t> faces;
  for (std::uint32_t t = 0; t < triangles.size(); ++t) {
    const std::uint32_t face = triangles.faceOf(t);
    ASSERT_NE(face, kNone);
    faces.insert(face);
    const TrianglePoint point{t, {0.5, 0.3, 0.2}};
    const SurfacePoint p = triangles.toSurface(point);
    EXPECT_LT((f.surface->assetFromSurface()(f.surface->position(p)) - triangles.assetPosition(point)).norm(),
              1e-12);
    EXPECT_EQ(triangles.toTriangle(p).barycentric, point.barycentric);
  }
  EXPECT_EQ(faces.size(), triangles.size());
}

}  // namespace
}  // namespace heatskin::testing::product
