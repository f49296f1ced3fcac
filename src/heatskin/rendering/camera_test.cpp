#include "heatskin/rendering/camera.h"

#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/rendering/test_meshes.h"

namespace heatskin {
namespace {

/// Long chains of double operations on numbers near 1.
constexpr double kRounding = 1e-12;

Surface surfaceOf(const testing::TriangleMesh& mesh) {
  SurfaceOptions options;
  options.principal_axes = false;
  Result<Surface> surface = Surface::build(mesh.positions, mesh.faces, options);
  EXPECT_TRUE(surface.ok());
  return std::move(surface).value();
}

TEST(ProjectionTest, CentreAxesAndDepth) {
  Camera camera;
  camera.eye = {0, 0, 5};
  camera.vertical_fov = 90 * kDegree;
  const Projection projection(camera, 200, 100);
  EXPECT_NEAR((projection.pixelFromSurface({0, 0, 0}) - Vec2(100, 50)).norm(), 0, kRounding);
  // Half the height at distance 5 is 5 units.
  EXPECT_NEAR((projection.pixelFromSurface({5, 5, 0}) - Vec2(150, 0)).norm(), 0, 1e-9);
  EXPECT_NEAR(projection.viewFromSurface({1, 2, 3}).z(), 2, kRounding);
  const Vec3 x(0.3, -0.8, 1.1);
  EXPECT_NEAR((projection.surfaceFromView(projection.viewFromSurface(x)) - x).norm(), 0, kRounding);
  const Vec2 pixel = projection.pixelFromSurface(x);
  const Vec3 ray = projection.viewRay(pixel.x(), pixel.y());
  EXPECT_NEAR((projection.viewFromSurface(x).z() * ray - projection.viewFromSurface(x)).norm(), 0, kRounding);
}

TEST(ProjectionTest, EveryCameraHasAnOrthonormalFrame) {
  for (const Vec3& eye : {Vec3(0, 0, 0), Vec3(0, 3, 0), Vec3(1, 2, 3), Vec3(0, -1e-200, 0)}) {
    for (const Vec3& up : {Vec3(0, 1, 0), Vec3(0, 0, 0), Vec3(0, 0, 1e-9), Vec3(1, 2, 3)}) {
      Camera camera;
      camera.eye = eye;
      camera.up = up;
      const Projection p(camera, 10, 10);
      Mat3 frame;
      frame << p.right(), p.up(), -p.forward();
      EXPECT_LT((frame.transpose() * frame - Mat3::Identity()).norm(), 1e-9);
      EXPECT_NEAR(frame.determinant(), 1, 1e-9);
    }
  }
}

TEST(Views, BoundingSphereFitsEveryStandardView) {
  testing::TriangleMesh lopsided = testing::icosphere(1);
  for (Vec3& x : lopsided.positions)
    x = Vec3(0.1 * x.x() + 3, x.y() * x.y() * x.y(), 2 * x.z());
  for (const auto& mesh : {testing::torus(20, 10), lopsided, testing::soup(1, 5, 1.0)}) {
    const Surface surface = surfaceOf(mesh);
    const BoundingSphere sphere = boundingSphere(surface);
    for (const Vec3& x : surface.positions())
      ASSERT_LE((x - sphere.center).norm(), sphere.radius * (1 + kRounding));
    const std::vector<Camera> views = standardViews(surface);
    ASSERT_EQ(views.size(), 8u);
    for (const Camera& camera : views) {
      const Projection projection(camera, 512, 512);
      // The image of a sphere: the cone of half angle asin(r / d) around the axis.
      const double distance = (sphere.center - camera.eye).norm();
      const double reach = projection.focalLength() * std::tan(std::asin(sphere.radius / distance));
      EXPECT_LT(reach, 256.0);
      EXPECT_GT(reach, 0.9 * 256.0);
      for (const Vec3& x : surface.positions()) {
        const Vec2 pixel = projection.pixelFromSurface(x);
        ASSERT_TRUE(pixel.minCoeff() > 0 && pixel.maxCoeff() < 512);
      }
    }
    EXPECT_GT(views[0].eye.z(), views[0].target.z());
    EXPECT_GT(views[0].eye.y(), views[0].target.y());
    EXPECT_LT(views[1].eye.y(), views[1].target.y());
    EXPECT_GT(views[2].eye.x(), views[2].target.x());
  }
}

TEST(Views, NarrowImagesHoldTheSphereToo) {
  const Surface surface = surfaceOf(testing::icosphere(2));
  for (double aspect : {0.25, 0.5, 1.0, 3.0}) {
    for (const Camera& camera : turntable(surface, 7, 10 * kDegree, aspect)) {
      const int height = 400, width = static_cast<int>(height * aspect);
      const Projection projection(camera, width, height);
      for (const Vec3& x : surface.positions()) {
        const Vec2 pixel = projection.pixelFromSurface(x);
        ASSERT_TRUE(pixel.x() > 0 && pixel.x() < width && pixel.y() > 0 && pixel.y() < height);
      }
    }
  }
}

TEST(Views, TurntableGoesRoundEvenly) {
  const Surface surface = surfaceOf(testing::icosphere(1));
  const std::vector<Camera> cameras = turntable(surface, 12, 30 * kDegree);
  ASSERT_EQ(cameras.size(), 12u);
  for (std::size_t k = 0; k < cameras.size(); ++k) {
    const Vec3 a = cameras[k].eye - cameras[k].target;
    const Vec3 b = cameras[(k + 1) % 12].eye - cameras[k].target;
    EXPECT_NEAR(a.norm(), b.norm(), 1e-9);
    EXPECT_NEAR(std::asin(a.y() / a.norm()), 30 * kDegree, 1e-9);
    const double turn = std::atan2(a.z() * b.x() - a.x() * b.z(), a.x() * b.x() + a.z() * b.z());
    EXPECT_NEAR(turn, 30 * kDegree, 1e-9);
  }
}

}  // namespace
}  // namespace heatskin
