#include "heatskin/rendering/camera.h"

#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/rendering/test_meshes.h"
#include "heatskin/rendering/test_views.h"

namespace heatskin {
namespace {

/// Long chains of double operations on numbers near 1.
constexpr double kRounding = 1e-12;

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
    const Surface surface = testing::surfaceOf(mesh);
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
  const Surface surface = testing::surfaceOf(testing::icosphere(2));
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
  const Surface surface = testing::surfaceOf(testing::icosphere(1));
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

/// The box of all vertices in an image of the given size, in units of half its sides from its centre.
Eigen::AlignedBox2d frameOf(const Surface& surface, const Camera& camera, int width, int height) {
  const Projection projection(camera, width, height);
  Eigen::AlignedBox2d box;
  for (const Vec3& x : surface.positions()) {
    const Vec2 pixel = projection.pixelFromSurface(x);
    box.extend(Vec2(2 * pixel.x() / width - 1, 2 * pixel.y() / height - 1));
  }
  return box;
}

// The object touches the margin on two opposite sides and nothing is outside of it: no closer camera with the
// same direction could hold it.
TEST(Views, FramedCamerasTouchTheMargin) {
  testing::TriangleMesh flat = testing::torus(20, 10), needle = testing::icosphere(1);
  for (Vec3& x : flat.positions)
    x.y() *= 0.05;
  for (Vec3& x : needle.positions)
    x = Vec3(3 * x.x() + 0.5 * x.y(), 0.1 * x.y(), 0.1 * x.z());
  for (const auto& mesh :
       {testing::torus(20, 10), testing::icosphere(2), flat, needle, testing::soup(3, 7, 1.0)}) {
    const Surface surface = testing::surfaceOf(mesh);
    for (double aspect : {0.5, 1.0, 16.0 / 9}) {
      for (double azimuth : {0.0, 35.0, 200.0}) {
        for (double elevation : {-30.0, 0.0, 20.0, 90.0}) {
          const double margin = 0.1;
          const Camera camera =
              framedCamera(surface, azimuth * kDegree, elevation * kDegree, aspect, kPictureFov, margin);
          const int height = 360, width = static_cast<int>(360 * aspect);
          const Eigen::AlignedBox2d box = frameOf(surface, camera, width, height);
          ASSERT_LT(box.min().cwiseAbs().maxCoeff(), 1 - margin + 1e-9);
          ASSERT_LT(box.max().cwiseAbs().maxCoeff(), 1 - margin + 1e-9);
          const bool fills_x = box.min().x() < -(1 - margin) + 1e-9 && box.max().x() > 1 - margin - 1e-9;
          const bool fills_y = box.min().y() < -(1 - margin) + 1e-9 && box.max().y() > 1 - margin - 1e-9;
          // A needle seen along its axis is kept at a distance instead.
          const Vec3 axis = (camera.target - camera.eye).normalized();
          const bool along = std::abs(axis.x()) > 0.5 && surface.faceCount() == 80;
          ASSERT_TRUE(fills_x || fills_y || along) << azimuth << " " << elevation << " " << aspect;
          const Vec3 direction(std::cos(elevation * kDegree) * std::sin(azimuth * kDegree),
                               std::sin(elevation * kDegree),
                               std::cos(elevation * kDegree) * std::cos(azimuth * kDegree));
          ASSERT_LT((direction + axis).norm(), 1e-9);
        }
      }
    }
  }
}

TEST(Views, FramedNeedleIsNotAtTheEye) {
  testing::TriangleMesh needle = testing::icosphere(1);
  for (Vec3& x : needle.positions)
    x = Vec3(1e-6 * x.x(), 1e-6 * x.y(), x.z());
  const Surface surface = testing::surfaceOf(needle);
  const Camera camera = framedCamera(surface, 0, 0);
  double highest = -1;
  for (const Vec3& x : surface.positions())
    highest = std::max(highest, x.z());
  EXPECT_GT(camera.eye.z(), highest + 0.4);
}

// One of the pictures touches the frame; turning the object keeps its size and height.
TEST(Views, TurntableIsFramedOverTheWholeTurn) {
  testing::TriangleMesh lopsided = testing::icosphere(2);
  for (Vec3& x : lopsided.positions)
    x = Vec3(2 * x.x(), 0.4 * x.y() + 0.2 * x.x() * x.x(), x.z());
  const Surface surface = testing::surfaceOf(lopsided);
  for (double aspect : {0.7, 1.0, 2.0}) {
    Eigen::AlignedBox2d box;
    for (const Camera& camera : turntable(surface, 24, 20 * kDegree, aspect))
      box.extend(frameOf(surface, camera, static_cast<int>(300 * aspect), 300));
    const double limit = 1 - kPictureMargin;
    EXPECT_LT(box.sizes().maxCoeff(), 2 * limit + 1e-9);
    EXPECT_GT(box.sizes().maxCoeff(), 2 * limit - 0.02) << aspect;
  }
}

TEST(Views, DefaultSeesTheFrontFromAbove) {
  const Surface surface = testing::surfaceOf(testing::icosphere(2));
  const Camera camera = defaultView(surface);
  const Vec3 direction = (camera.eye - camera.target).normalized();
  EXPECT_GT(direction.z(), 0.5);
  EXPECT_GT(direction.x(), 0.3);
  EXPECT_GT(direction.y(), 0.2);
}

// A body along z with a head above its end at -z: seen from there if the file does not say where front is.
TEST(Views, AnAnimalShowsItsHeadWhereFrontIsUnknown) {
  testing::TriangleMesh animal = testing::icosphere(2);
  const testing::TriangleMesh ball = testing::icosphere(2);
  for (Vec3& x : animal.positions)
    x = Vec3(0.4 * x.x(), 0.4 * x.y(), x.z());
  for (const Vec3& x : ball.positions)
    animal.positions.push_back(0.3 * x + Vec3(0, 0.6, -0.9));
  for (const auto& face : ball.faces) {
    const auto first = static_cast<std::uint32_t>(ball.positions.size());
    animal.faces.push_back({face[0] + first, face[1] + first, face[2] + first});
  }
  const auto faces_back = [](const testing::TriangleMesh& mesh, Front front) {
    return std::cos(defaultAngles(testing::surfaceOf(mesh), front).azimuth) < 0;
  };
  EXPECT_TRUE(faces_back(animal, Front::kUnknown));
  EXPECT_FALSE(faces_back(animal, Front::kPlusZ));
  testing::TriangleMesh turned = animal;
  for (Vec3& x : turned.positions)
    x = Vec3(-x.x(), x.y(), -x.z());
  EXPECT_FALSE(faces_back(turned, Front::kUnknown));
  EXPECT_FALSE(faces_back(ball, Front::kUnknown));
}

}  // namespace
}  // namespace heatskin
