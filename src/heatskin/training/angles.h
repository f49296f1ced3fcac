#pragma once

// A kernel's angle stands for a direction up to its sign.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "heatskin/kernels/kernel_set.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// The same direction as an angle in the allowed range.
inline float wrappedAngle(double angle) {
  angle -= std::numbers::pi * std::floor(angle / std::numbers::pi);
  return std::clamp(static_cast<float>(angle), KernelRanges::kMinAngle, KernelRanges::kMaxAngle);
}

/// The angle of a direction carried along a walk. The frames of two faces are turned against each other by
/// any amount, so that it must be wrapped whatever is done about angles that an optimiser moves.
inline float carriedAngle(float angle, const Rigid2& end_from_start) {
  return wrappedAngle(angle + std::atan2(end_from_start.sine, end_from_start.cosine));
}

}  // namespace heatskin
