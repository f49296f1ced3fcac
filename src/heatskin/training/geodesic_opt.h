#pragma once

// GeodesicOpt (METHOD section 4): gradient descent with momentum, or Adam, for points on a surface. A step is
// a straightest walk, and the velocity is carried along it.

#include "heatskin/geodesic/walk.h"
#include "heatskin/training/adam.h"

namespace heatskin {

/// See the head of the file. The walker must outlive it.
class GeodesicOpt {
 public:
  GeodesicOpt(const Walker& walker, double rate, double momentum)
      : walker_(&walker), rate_(rate), momentum_(momentum) {}

  /// One step. `gradient` and `velocity` are in face coordinates of the position's face; the velocity is in
  /// those of the new face afterwards. Returns the face coordinates of the new face from those of the old one
  /// (WalkOutcome::end_from_start).
  Rigid2 step(const Vec2& gradient, SurfacePoint& position, Vec2& velocity) const {
    velocity = momentum_ * velocity + gradient;
    return walk(-rate_ * velocity, position, velocity);
  }

  /// The same by Adam, by about `rate` times `unit` at the beginning of a descent; `spread` is the mean
  /// squared length of gradients.
  Rigid2 step(const Adam& adam, double unit, const Vec2& gradient, SurfacePoint& position, Vec2& velocity,
              double& spread) const {
    const Vec2 change = unit * adam.change(rate_, unit * gradient, velocity, spread);
    return walk(-change, position, velocity);
  }

 private:
  Rigid2 walk(const Vec2& by, SurfacePoint& position, Vec2& velocity) const {
    const WalkOutcome outcome = walker_->walk(position, by);
    velocity = outcome.end_from_start.rotate(velocity);
    position = outcome.end;
    return outcome.end_from_start;
  }

  const Walker* walker_;
  double rate_, momentum_;
};

}  // namespace heatskin
