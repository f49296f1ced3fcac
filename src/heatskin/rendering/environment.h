#pragma once

// Light from infinitely far away: a dome whose radiance changes smoothly with height, and softboxes, round
// lamps on it. The dome is smooth enough to be found by drawing directions from the surface's own
// reflection; softboxes are drawn by themselves as well (multiple importance sampling, in path_tracer.cpp).

#include <vector>

#include "heatskin/base/vec.h"

namespace heatskin {

/// A disc on the sky.
struct Softbox {
  Vec3 direction = {0, 1, 0};  ///< unit, towards its centre
  double half_angle = 0.2;     ///< radians, below pi / 2
  Vec3f radiance = {1, 1, 1};  ///< linear
};

/// See the head of the file. The default is the constant environment of METHOD section 14.
struct Environment {
  Vec3 up = {0, 1, 0};                                               ///< unit
  Vec3f zenith = {1, 1, 1}, horizon = {1, 1, 1}, nadir = {1, 1, 1};  ///< linear radiance of the dome
  std::vector<Softbox> softboxes;

  /// Radiance of the dome, without softboxes.
  Vec3f dome(const Vec3& direction) const;

  /// Radiance of the softboxes.
  Vec3f lamps(const Vec3& direction) const;
};

/// Draws directions towards an environment's softboxes. The environment must outlive it.
class SoftboxSampler {
 public:
  explicit SoftboxSampler(const Environment& environment);

  /// No softboxes: there is nothing to draw.
  bool empty() const { return boxes_.empty(); }

  /// A direction, with `u` for the place on the lamp and `which` for the lamp, both 0 .. 1.
  Vec3 sample(const Vec2& u, double which) const;

  /// The density sample() draws a direction with, per solid angle; 0 outside of the lamps.
  double density(const Vec3& direction) const;

 private:
  struct Box {
    Vec3 direction, x_axis, y_axis;
    double least_cosine = 1;  ///< at its rim
    double until = 1;         ///< which < until: this one, or one before it
    double density = 0;       ///< in its disc, times how often it is chosen
  };
  std::vector<Box> boxes_;
};

/// Light that a floor facing `up` would receive with nothing in the way, divided by pi: what a white Lambert
/// floor shows. By quadrature, to about 1e-4.
Vec3f openFloorLight(const Environment& environment);

/// A photographer's studio: a bright dome, a large key lamp upper left of the camera, a fill lamp on its
/// right and a lamp behind. `towards_viewer` and `right` are horizontal and, with `up`, orthonormal.
Environment studioEnvironment(const Vec3& up, const Vec3& towards_viewer, const Vec3& right);

}  // namespace heatskin
