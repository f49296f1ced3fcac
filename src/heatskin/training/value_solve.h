#pragma once

// Another set of values for kernels that are there: what a material variant needs. Values are linear given
// the rest of the kernels, so this is one least-squares problem (channel_solve.h).

#include "heatskin/evaluators/evaluator.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"
#include "heatskin/training/config.h"

namespace heatskin {

/// `kernels`, which were fitted to `base`, with mean and values that suit `target`, which has the same
/// channels and something visible that is not constant. What is solved for is the difference of the two
/// targets: where they agree the values hardly change, the less the farther from any difference, and need few
/// bytes of their own in a file. Where `base` knew its values without kernels, the texture itself
/// takes its place. The evaluator is one for the surface; it is left rebuilt for other purposes than queries.
/// Deterministic for any number of threads.
KernelSet solveValues(Evaluator& evaluator, const KernelSet& kernels, const Surface& surface,
                      const FitTarget& base, const FitTarget& target, const TrainOptions& options);

}  // namespace heatskin
