#include "heatskin/training/geodesic_opt.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

/// The gradient of a function with this gradient in space, in the coordinates of the point's face.
Vec2 inFace(const Surface& surface, const SurfacePoint& p, const Vec3& gradient) {
  return surface.frames()[p.face].directionToFace(gradient);
}

TEST(GeodesicOpt, OnAPlaneItIsGradientDescentWithMomentum) {
  const Surface surface = testing::build(testing::flatGrid(12, 12));
  const Walker walker(surface);
  const double rate = 0.05, momentum = 0.8;
  const GeodesicOpt opt(walker, rate, momentum);
  SurfacePoint p{156, Vec3(0.2, 0.3, 0.5)};  // in the middle
  Vec2 velocity = Vec2::Zero();
  Vec3 expected = surface.position(p), expected_velocity = Vec3::Zero();
  const Vec3 target = expected + Vec3(0.2, -0.1, 0);
  for (int step = 0; step < 60; ++step) {
    // f = |x - target|^2 / 2: a step in the plane is known exactly.
    const Vec3 gradient = expected - target;
    expected_velocity = momentum * expected_velocity + gradient;
    expected -= rate * expected_velocity;
    const std::uint32_t face = p.face;
    const Rigid2 motion = opt.step(inFace(surface, p, surface.position(p) - target), p, velocity);
    if (p.face == face) {
      EXPECT_NEAR(motion.cosine, 1.0, 1e-12);
    }
    ASSERT_LT((surface.position(p) - expected).norm(), 1e-9) << step;
    EXPECT_LT((velocity - inFace(surface, p, expected_velocity)).norm(), 1e-9) << "carried along";
  }
  EXPECT_LT((expected - target).norm(), 0.1) << "and it is on its way to the minimum";
}

TEST(GeodesicOpt, OnASphereItGlidesAlongAGreatCircle) {
  // With momentum 1 and a gradient only at first, steps have one length and one direction: a geodesic.
  const Surface surface = testing::build(testing::icosphere(4));
  const Walker walker(surface);
  const double step_length = 0.05;
  const GeodesicOpt opt(walker, 1, 1);
  SurfacePoint p{surface.faceCount() / 2, Vec3(1.0 / 3, 1.0 / 3, 1.0 / 3)};
  const double radius = surface.position(p).norm();
  Vec2 velocity = Vec2::Zero();
  const Vec3 start = surface.position(p);
  const Vec2 first(step_length * std::cos(0.4), step_length * std::sin(0.4));
  const FaceFrame& frame = surface.frames()[p.face];
  const Vec3 direction = frame.directionFromFace(-first).normalized();
  const Vec3 axis = start.cross(direction).normalized();
  const int steps = static_cast<int>(2 * std::numbers::pi * radius / step_length);
  opt.step(first, p, velocity);
  for (int step = 1; step < steps; ++step) {
    opt.step(Vec2::Zero(), p, velocity);
    EXPECT_NEAR(velocity.norm(), step_length, 1e-9) << "transport keeps lengths";
    EXPECT_LT(std::abs(surface.position(p).dot(axis)), 0.03 * radius)
        << "in the plane of the circle: " << step;
  }
  EXPECT_LT((surface.position(p) - start).norm(), 0.1 * radius) << "back where it began";
  EXPECT_LT((surface.frames()[p.face].directionFromFace(-velocity).normalized() - direction).norm(), 0.1)
      << "in the direction it began with";
}

TEST(GeodesicOpt, OnASphereItFindsTheNearestPointToATarget) {
  const Surface surface = testing::build(testing::icosphere(3));
  const Walker walker(surface);
  const GeodesicOpt opt(walker, 0.05, 0.9);
  SurfacePoint p{7, Vec3(0.2, 0.2, 0.6)};
  Vec2 velocity = Vec2::Zero();
  const Vec3 target = 2 * Vec3(0.3, -0.8, 0.5).normalized();
  for (int step = 0; step < 400; ++step)
    opt.step(inFace(surface, p, surface.position(p) - target), p, velocity);
  EXPECT_GT(surface.position(p).normalized().dot(target.normalized()), 0.999);
}

TEST(GeodesicOpt, AdamOnAPlaneIsTheSameInAnyUnitAndScale) {
  // Gradients of any size lead the same way, and steps go with the unit.
  const Surface surface = testing::build(testing::flatGrid(12, 12));
  const Walker walker(surface);
  const GeodesicOpt opt(walker, 0.1, 0.9);
  const auto walked = [&](double unit, double scale) {
    SurfacePoint p{156, Vec3(0.2, 0.3, 0.5)};
    const Vec3 start = surface.position(p);
    Vec2 velocity = Vec2::Zero();
    double spread = 0;
    for (int step = 0; step < 20; ++step) {
      // No floor: it would count for more with small gradients.
      const Adam adam(step, 0.99, 0);
      const Vec3 gradient = scale * Vec3(std::cos(0.2 * step), std::sin(0.2 * step), 0);
      opt.step(adam, unit, inFace(surface, p, gradient), p, velocity, spread);
    }
    return Vec3(surface.position(p) - start);
  };
  const Vec3 once = walked(0.01, 1);
  EXPECT_GT(once.norm(), 10 * 0.1 * 0.01) << "twenty steps of a tenth of the unit, on a bent path";
  EXPECT_LT(once.norm(), 20 * 0.1 * 0.01);
  EXPECT_LT((walked(0.02, 1) - 2 * once).norm(), 1e-9);
  EXPECT_LT((walked(0.01, 1e-5) - once).norm(), 1e-9);
}

TEST(GeodesicOpt, AtABoundaryItStopsAndStaysOnTheSurface) {
  const Surface surface = testing::build(testing::flatGrid(4, 4));
  const Walker walker(surface);
  const GeodesicOpt opt(walker, 10, 0.9);
  SurfacePoint p{9, Vec3(0.3, 0.3, 0.4)};
  Vec2 velocity = Vec2::Zero();
  for (int step = 0; step < 5; ++step) {
    opt.step(Vec2(1, 0.3), p, velocity);
    EXPECT_GE(p.barycentric.minCoeff(), 0);
    EXPECT_NEAR(p.barycentric.sum(), 1, 1e-12);
    EXPECT_TRUE(velocity.allFinite());
  }
}

}  // namespace
}  // namespace heatskin
