#pragma once

// How many kernels a surface takes to be covered, and how lengths grow when there are fewer. What fits do
// with it, settleBudget(), is in fit.h.

#include <cstddef>

#include "heatskin/evaluators/method.h"
#include "heatskin/surface/surface.h"
#include "heatskin/training/config.h"

namespace heatskin {

/// How far the widest isotropic kernel covers (f = 1/2), in surface units. For `thermal` and `spectral`,
/// whose windows act on embedding distances, an estimate from the length these have on spot (METHOD section
/// 7).
double widestReach(const EvaluatorOptions& options);

/// About how many kernels it takes at least to cover the surface: 1.21 times its area in discs of that reach
/// (the best covering of a plane), and one for every component.
std::size_t kernelsToCover(const Surface& surface, const EvaluatorOptions& options);

/// Lets every length of `local` grow (window, heat and radius cap by one factor, METHOD section 13) until the
/// budget holds density.cover_spare times the discs that cover the area: few kernels then give a blurred
/// texture instead of one with holes. Returns the factor: 1 if the budget suffices, if cover_spare is 0 or
/// with another method, and at most 10. A second call changes nothing.
double fitLengthsToBudget(FitConfig& config, const Surface& surface);

}  // namespace heatskin
