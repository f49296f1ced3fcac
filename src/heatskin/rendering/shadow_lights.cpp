#include "heatskin/rendering/shadow_lights.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "heatskin/rendering/render.h"

namespace heatskin {

std::vector<Vec3> capDirections(int count, const Vec3& axis, double half_angle) {
  const double golden = std::numbers::pi * (3 - std::sqrt(5.0));
  const Vec3 u = axis.unitOrthogonal(), v = axis.cross(u);
  std::vector<Vec3> directions;
  for (int i = 0; i < count; ++i) {
    const double z = 1 - (1 - std::cos(half_angle)) * (i + 0.5) / count;
    const double r = std::sqrt(std::max(0.0, 1 - z * z));
    directions.push_back(r * std::cos(golden * i) * u + r * std::sin(golden * i) * v + z * axis);
  }
  return directions;
}

std::vector<ShadowLight> shadowLights(const Surface& surface, const BoundingSphere& sphere,
                                      std::span<const Vec3> directions, int size,
                                      const Transparency* transparency, const std::function<void()>& done) {
  // A light passes points whose alpha is below its threshold. The thresholds of the lights are spread evenly
  // (golden ratio), so that together they pass 1 - alpha of the light (as in stochastic transparency,
  // Enderton et al., 2010, without the chance).
  std::vector<std::uint8_t> see_through;
  const bool transparent = transparency != nullptr && !transparency->opaque();
  if (transparent) {
    see_through.resize(surface.faceCount());
    for (std::uint32_t f = 0; f < see_through.size(); ++f)
      see_through[f] = transparency->maySeeThrough(f) ? 1 : 0;
  }
  std::vector<float> alpha;
  std::vector<ShadowLight> lights;
  for (std::size_t i = 0; i < directions.size(); ++i) {
    StopsLight stops;
    if (transparent) {
      const double turn = (static_cast<double>(i) + 0.5) * (std::numbers::phi - 1);
      const auto threshold = static_cast<float>(turn - std::floor(turn));
      stops = [&alpha, transparency, threshold](std::span<const SurfacePoint> points,
                                                std::span<std::uint8_t> out) {
        for (std::size_t begin = 0; begin < points.size(); begin += kColorBatch) {
          const std::size_t count = std::min(kColorBatch, points.size() - begin);
          alpha.assign(count, 1.0f);
          transparency->alpha(points.subspan(begin, count), alpha);
          for (std::size_t p = 0; p < count; ++p)
            out[begin + p] = alpha[p] > threshold ? 1 : 0;
        }
      };
    }
    lights.push_back({rasteriseHeights(surface.positions(), surface.faces(), sphere, directions[i], size,
                                       see_through, stops),
                      directions[i]});
    if (done) done();
  }
  return lights;
}

ShadowFloor::ShadowFloor(const Surface& surface, const BoundingSphere& around, const Vec3& upwards)
    : sphere(around), up(upwards), height(std::numeric_limits<double>::infinity()) {
  for (const Vec3& x : surface.positions())
    height = std::min(height, up.dot(x));
}

std::optional<ShadowFloor::Place> ShadowFloor::seen(const Vec3& eye, const Vec3& direction) const {
  constexpr double kFadeStart = 1.0, kFadeEnd = 2.4;  // radii from the centre
  const double descent = -up.dot(direction);
  if (descent <= 0 || !(up.dot(eye) > height)) return std::nullopt;
  const Vec3 x = eye + ((up.dot(eye) - height) / descent) * direction;
  const Vec3 centre = sphere.center + (height - up.dot(sphere.center)) * up;
  const double distance = (x - centre).norm() / sphere.radius;
  const double t = std::clamp((kFadeEnd - distance) / (kFadeEnd - kFadeStart), 0.0, 1.0);
  if (t <= 0) return std::nullopt;
  return Place{x, t * t * (3 - 2 * t)};
}

}  // namespace heatskin
