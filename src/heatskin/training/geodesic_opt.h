#pragma once

// GeodesicOpt (METHOD section 4): gradient descent with momentum for points on a surface. A step is a
// straightest walk, and the velocity is carried along it.

#include "heatskin/geodesic/walk.h"

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
    const WalkOutcome outcome = walker_->walk(position, -rate_ * velocity);
    velocity = outcome.end_from_start.rotate(velocity);
    position = outcome.end;
    return outcome.end_from_start;
  }

 private:
  const Walker* walker_;
  double rate_, momentum_;
};

}  // namespace heatskin
