#pragma once

// How many kernels a surface takes to be covered, and what a fit does about a budget that is too small.

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

/// What settleBudget() found.
struct BudgetReport {
  std::size_t before = 0;  ///< density.max_kernels
  std::size_t after = 0;
  std::size_t needed = 0;  ///< to cover the surface, at least
  std::size_t ample = 0;   ///< that would do

  bool too_small() const { return ample > before; }
};

/// Kernel budget and lengths for this very surface: lengths grow until the budget covers it
/// (fitLengthsToBudget()); where even that is not enough the budget is raised, unless it is to be kept or the
/// configuration asks for the published method.
BudgetReport settleBudget(FitConfig& config, const Surface& surface, bool keep_budget = false);

}  // namespace heatskin
