#pragma once

// What the methods that evaluate fields on vertices have in common.

#include <cstddef>

#include "heatskin/base/result.h"
#include "heatskin/surface/surface.h"

namespace heatskin::fields {

/// How far from a kernel on a plane its response falls to `response`.
double planarReach(double diffusion_time, double window_sigma, double response);

/// Refuses surfaces whose faces' lists of so many candidates cannot be held.
Result<void> checkLists(const Surface& surface, std::size_t candidates);

}  // namespace heatskin::fields
