#pragma once

// How many kernels an asset takes: a fit with an automatic budget runs in stages, each with more kernels than
// the one before, until the target is met, a bound is reached or more kernels no longer pay.

#include <cstddef>
#include <span>

#include "heatskin/training/config.h"
#include "heatskin/training/fit.h"

namespace heatskin {

/// What comes next.
struct GrowthDecision {
  std::size_t budget = 0;  ///< of the next stage; 0: none
  StoppedBy stopped_by = StoppedBy::kSteps;
};

/// The budget that the first stage has: enough to see what the asset is like, and two kernels for each part.
std::size_t firstBudget(const TrainOptions& options, std::size_t components);

/// After at least one stage. Bounds are kept, `max_seconds` as far as the time of a stage can be foretold
/// from that of the last one: it grows with the number of kernels.
GrowthDecision nextBudget(const TrainOptions& options, std::span<const GrowthStage> stages);

/// The options of a stage with this budget.
TrainOptions stageOptions(TrainOptions options, std::size_t budget);

}  // namespace heatskin
