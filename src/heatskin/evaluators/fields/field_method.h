#pragma once

// What the methods that evaluate fields on vertices have in common.

#include <cstddef>

#include "heatskin/base/result.h"
#include "heatskin/surface/surface.h"

namespace heatskin::fields {

/// How far from a kernel on a plane its response falls to `response`.
double planarReach(double diffusion_time, double window_sigma, double response);

/// Lists of who is near whom last as long as kernels move little; up to this many times longer as learning
/// rates come down, as a fit can only be saved where lists are renewed.
inline constexpr double kRebuildSlowdown = 4;

/// Refuses surfaces whose faces' lists of so many candidates cannot be held.
Result<void> checkLists(const Surface& surface, std::size_t candidates);

}  // namespace heatskin::fields
