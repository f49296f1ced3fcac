#include "heatskin/rendering/camera.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

ViewAngles standardViewAngles(std::size_t k) {
  return {45 * static_cast<int>(k) * kDegree, (k % 2 == 0 ? 20 : -20) * kDegree};
}

std::vector<Camera> standardViews(const Surface& surface) {
  const BoundingSphere sphere = boundingSphere(surface);
  std::vector<Camera> cameras;
  for (std::size_t k = 0; k < 8; ++k) {
    const ViewAngles from = standardViewAngles(k);
    cameras.push_back(orbitCamera(sphere, from.azimuth, from.elevation));
  }
  return cameras;
}

namespace {

/// The smallest numbers a, b with a >= u - t w and b >= -u - t w for all points (u across, w forward): an eye
/// at (e, d) has all points within the angle atan(t) of its axis exactly if e - t d >= a and -e - t d >= b.
struct Reach {
  double positive = -std::numeric_limits<double>::infinity();
  double negative = -std::numeric_limits<double>::infinity();

  void add(double across, double forward, double slope) {
    positive = std::max(positive, across - slope * forward);
    negative = std::max(negative, -across - slope * forward);
  }
  /// The most forward place of an eye that is free to move across.
  double free(double slope) const { return -0.5 * (positive + negative) / slope; }
  /// The same for an eye at 0 across.
  double centred(double slope) const { return -std::max(positive, negative) / slope; }
  /// Where the free eye is across.
  double across() const { return 0.5 * (positive - negative); }
};

struct Slopes {
  double horizontal, vertical;
};

Slopes frameSlopes(double aspect, double fov, double margin) {
  const double vertical = std::tan(0.5 * fov) * (1 - std::clamp(margin, 0.0, 0.9));
  return {vertical * aspect, vertical};
}

/// Not closer to the nearest point than this part of the bounding sphere's radius: a needle seen along its
/// axis would otherwise have the eye at its tip.
constexpr double kLeastDistance = 0.5;

constexpr double kLongerThanWide = 1.2;
constexpr double kUpperPart = 0.4;  // of the height
constexpr double kLean = 0.15;      // of the length

/// True when the middle of the upper part's area lies clearly towards -z.
bool leansBack(const Surface& surface, const Eigen::AlignedBox3d& box) {
  const double from = box.max().y() - kUpperPart * box.sizes().y();
  double area = 0, moment = 0;
  for (const auto& face : surface.faces()) {
    const Vec3 &a = surface.positions()[face[0]], &b = surface.positions()[face[1]],
               &c = surface.positions()[face[2]];
    const Vec3 middle = (a + b + c) / 3;
    if (middle.y() < from) continue;
    const double amount = 0.5 * (b - a).cross(c - a).norm();
    area += amount;
    moment += amount * (middle.z() - box.center().z());
  }
  return area > 0 && moment / area < -kLean * box.sizes().z();
}

}  // namespace

Camera framedCamera(const Surface& surface, double azimuth, double elevation, double aspect,
                    double vertical_fov, double margin) {
  const BoundingSphere sphere = boundingSphere(surface);
  Camera camera = orbitCamera(sphere, azimuth, elevation, aspect, vertical_fov);
  const Projection axes(camera, 1, 1);
  const auto [horizontal, vertical] = frameSlopes(aspect, camera.vertical_fov, margin);
  Reach right, up;
  double nearest = std::numeric_limits<double>::infinity();
  for (const Vec3& x : surface.positions()) {
    const Vec3 offset = x - sphere.center;
    const double forward = axes.forward().dot(offset);
    right.add(axes.right().dot(offset), forward, horizontal);
    up.add(axes.up().dot(offset), forward, vertical);
    nearest = std::min(nearest, forward);
  }
  const double forward =
      std::min({right.free(horizontal), up.free(vertical), nearest - kLeastDistance * sphere.radius});
  if (!std::isfinite(forward)) return camera;
  camera.target = sphere.center + right.across() * axes.right() + up.across() * axes.up();
  camera.eye = camera.target + forward * axes.forward();
  return camera;
}

std::vector<Camera> turntable(const Surface& surface, int count, double elevation, double aspect) {
  const BoundingSphere sphere = boundingSphere(surface);
  const auto [horizontal, vertical] = frameSlopes(aspect, kPictureFov, kPictureMargin);
  std::vector<Camera> cameras;
  Reach up;
  double forward = std::numeric_limits<double>::infinity();
  for (int k = 0; k < count; ++k) {
    cameras.push_back(orbitCamera(sphere, 360.0 * k / count * kDegree, elevation, aspect, kPictureFov));
    const Projection axes(cameras.back(), 1, 1);
    Reach right;
    for (const Vec3& x : surface.positions()) {
      const Vec3 offset = x - sphere.center;
      const double along = axes.forward().dot(offset);
      right.add(axes.right().dot(offset), along, horizontal);
      up.add(axes.up().dot(offset), along, vertical);
      forward = std::min(forward, along - kLeastDistance * sphere.radius);
    }
    forward = std::min(forward, right.centred(horizontal));
  }
  forward = std::min(forward, up.free(vertical));
  if (!std::isfinite(forward)) return cameras;
  for (Camera& camera : cameras) {
    const Projection axes(camera, 1, 1);
    camera.eye = sphere.center + up.across() * axes.up() + forward * axes.forward();
    // All cameras look at one point of the axis, unless they look along it.
    const double level = axes.up().y();
    camera.target = level > kMinCross ? Vec3(sphere.center + Vec3(0, up.across() / level, 0))
                                      : Vec3(sphere.center + up.across() * axes.up());
  }
  return cameras;
}

ViewAngles defaultAngles(const Surface& surface, Front front) {
  Eigen::AlignedBox3d box;
  for (const Vec3& x : surface.positions())
    box.extend(x);
  const Vec3 size = box.isEmpty() ? Vec3(Vec3::Ones()) : Vec3(box.sizes());
  Eigen::Index thin = 0;
  const double thickness = size.minCoeff(&thin);
  if (thickness <= kFlatness * size.maxCoeff()) {
    if (thin == 1) return {0, 60 * kDegree};
    return {(thin == 0 ? 80 : 10) * kDegree, 10 * kDegree};
  }
  ViewAngles angles;
  if (front == Front::kUnknown && size.z() > kLongerThanWide * size.x() && leansBack(surface, box))
    angles.azimuth = 180 * kDegree - angles.azimuth;
  return angles;
}

Camera defaultView(const Surface& surface, double aspect, Front front) {
  const auto [azimuth, elevation] = defaultAngles(surface, front);
  return framedCamera(surface, azimuth, elevation, aspect);
}

}  // namespace heatskin
