#include "heatskin/rendering/camera.h"

#include <algorithm>
#include <cmath>

namespace heatskin {
namespace {

constexpr double kMinFov = 0.1 * kDegree;
constexpr double kMaxFov = 170 * kDegree;

/// Below this length (relative to the unit vectors it is made of) a cross product has no direction left.
constexpr double kMinCross = 1e-9;

/// A depth of zero cannot be projected; surface units, a billionth of an asset.
constexpr double kMinNear = 1e-9;

/// Thickness over length below which an asset counts as a card (a decal, a feature test).
constexpr double kFlatness = 0.05;

}  // namespace

Projection::Projection(const Camera& camera, int width, int height) {
  eye_ = camera.eye;
  forward_ = camera.target - camera.eye;
  const double distance = forward_.stableNorm();
  forward_ = distance > 0 && std::isfinite(distance) ? Vec3(forward_ / distance) : Vec3(0, 0, -1);
  const double up_length = camera.up.stableNorm();
  const Vec3 up = up_length > 0 && std::isfinite(up_length) ? Vec3(camera.up / up_length) : Vec3(0, 1, 0);
  right_ = forward_.cross(up);
  if (right_.norm() < kMinCross) {
    // Looking straight along `up`: the least aligned axis takes its place.
    Vec3 axis = Vec3::Zero();
    Eigen::Index least = 0;
    forward_.cwiseAbs().minCoeff(&least);
    axis[least] = 1;
    right_ = forward_.cross(axis);
  }
  right_.normalize();
  up_ = right_.cross(forward_);

  const double fov =
      std::isfinite(camera.vertical_fov) ? std::clamp(camera.vertical_fov, kMinFov, kMaxFov) : kMaxFov;
  focal_ = 0.5 * height / std::tan(0.5 * fov);
  center_ = {0.5 * width, 0.5 * height};
  near_ = std::isfinite(camera.near_distance) ? std::max(camera.near_distance, kMinNear) : kMinNear;
}

BoundingSphere boundingSphere(const Surface& surface) {
  Eigen::AlignedBox3d box;
  for (const Vec3& x : surface.positions())
    box.extend(x);
  if (box.isEmpty()) return {};
  BoundingSphere sphere{box.center(), 0};
  for (const Vec3& x : surface.positions())
    sphere.radius = std::max(sphere.radius, (x - sphere.center).norm());
  return sphere;
}

Camera orbitCamera(const BoundingSphere& sphere, double azimuth, double elevation, double aspect,
                   double vertical_fov, double margin) {
  Camera camera;
  camera.vertical_fov = std::clamp(vertical_fov, kMinFov, kMaxFov);
  const double half_vertical = 0.5 * camera.vertical_fov;
  const double half_horizontal = std::atan(std::tan(half_vertical) * aspect);
  const double distance = (1 + margin) * sphere.radius / std::sin(std::min(half_vertical, half_horizontal));
  const Vec3 direction(std::cos(elevation) * std::sin(azimuth), std::sin(elevation),
                       std::cos(elevation) * std::cos(azimuth));
  camera.target = sphere.center;
  camera.eye = sphere.center + distance * direction;
  return camera;
}

std::vector<Camera> standardViews(const Surface& surface) {
  const BoundingSphere sphere = boundingSphere(surface);
  std::vector<Camera> cameras;
  for (int k = 0; k < 8; ++k)
    cameras.push_back(orbitCamera(sphere, 45 * k * kDegree, (k % 2 == 0 ? 20 : -20) * kDegree));
  return cameras;
}

std::vector<Camera> turntable(const Surface& surface, int count, double elevation, double aspect) {
  const BoundingSphere sphere = boundingSphere(surface);
  std::vector<Camera> cameras;
  for (int k = 0; k < count; ++k)
    cameras.push_back(orbitCamera(sphere, 360.0 * k / count * kDegree, elevation, aspect));
  return cameras;
}

Camera defaultView(const Surface& surface, double aspect) {
  Eigen::AlignedBox3d box;
  for (const Vec3& x : surface.positions())
    box.extend(x);
  const Vec3 size = box.isEmpty() ? Vec3(Vec3::Ones()) : Vec3(box.sizes());
  const BoundingSphere sphere = boundingSphere(surface);
  Eigen::Index thin = 0;
  const double thickness = size.minCoeff(&thin);
  if (thickness > kFlatness * size.maxCoeff()) {
    return orbitCamera(sphere, 35 * kDegree, 20 * kDegree, aspect);
  }
  if (thin == 1) return orbitCamera(sphere, 0, 60 * kDegree, aspect);
  return orbitCamera(sphere, (thin == 0 ? 80 : 10) * kDegree, 10 * kDegree, aspect);
}

}  // namespace heatskin
