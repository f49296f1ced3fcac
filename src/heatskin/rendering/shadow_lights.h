#pragma once

// Shadows without noise: light comes from a fixed set of directions, each with a height map as its shadow
// map, so that many hard shadows add up to soft ones. With several samples per pixel the directions are dealt
// out to the samples: each sample sees a part of the lights, their mean all of them. Private to rendering.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/rendering/camera.h"
#include "heatskin/rendering/transparency.h"
#include "heatskin/rendering/visibility.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Shadow test offset along the normal, in cells of the shadow map: the height of a plane changes by less
/// within a cell.
inline constexpr double kShadowOffset = 1.2;

/// A direction that light comes from.
struct ShadowLight {
  HeightMap shadow;
  Vec3 direction;

  /// True when nothing is above x; x is no point of the surface.
  bool reaches(const Vec3& x) const {
    return static_cast<double>(shadow.at(x)) <= direction.dot(x - shadow.center);
  }
  /// The same for a point of the surface.
  bool reaches(const Vec3& x, const Vec3& normal) const {
    return reaches(x + (kShadowOffset / shadow.cells_per_unit) * normal);
  }
};

/// Evenly spread points on a spherical cap around `axis` (golden-angle spiral), equal solid angles.
std::vector<Vec3> capDirections(int count, const Vec3& axis, double half_angle);

/// A light for each direction, with a shadow map of size x size cells. `transparency` may be null. `done` is
/// called after each of them; it may be empty.
std::vector<ShadowLight> shadowLights(const Surface& surface, const BoundingSphere& sphere,
                                      std::span<const Vec3> directions, int size,
                                      const Transparency* transparency, const std::function<void()>& done);

/// Calls visit(number of the light, weight) for the lights of one pass; weights sum to 1.
template <class Visit>
void forLightsOfPass(std::size_t count, int pass, int passes, const Visit& visit) {
  if (count == 0) return;
  const std::size_t stride = std::min(static_cast<std::size_t>(passes), count);
  const std::size_t first = static_cast<std::size_t>(pass) % stride;
  const double weight = 1.0 / static_cast<double>((count - first + stride - 1) / stride);
  for (std::size_t i = first; i < count; i += stride)
    visit(i, weight);
}

/// An invisible floor that the object stands on, as far as it catches a shadow.
struct ShadowFloor {
  ShadowFloor() = default;
  ShadowFloor(const Surface& surface, const BoundingSphere& around, const Vec3& upwards);

  /// Where a line of sight meets the floor, and how much of a shadow is to be seen there (0 .. 1: it fades
  /// away from the object); nothing where it sees no shadow.
  struct Place {
    Vec3 position;
    double strength = 0;
  };
  std::optional<Place> seen(const Vec3& eye, const Vec3& direction) const;

  BoundingSphere sphere;
  Vec3 up = {0, 1, 0};
  double height = 0;  ///< along `up`
};

}  // namespace heatskin
