#pragma once

// How many kernels an asset takes: a fit with an automatic budget runs in stages, each with more kernels than
// the one before, until the target is met, a bound is reached or more kernels no longer pay.

#include <cstddef>
#include <span>
#include <string_view>

#include "heatskin/training/options.h"

namespace heatskin {

/// Why a fit has no more kernels than it has.
enum class StoppedBy { kSteps, kTarget, kMaxKernels, kMaxBytes, kMaxSeconds, kNoGain };

/// In reports; in the order of the enum. `steps`: the budget was given.
inline constexpr std::string_view kStoppedByNames[] = {"steps",     "target",      "max_kernels",
                                                       "max_bytes", "max_seconds", "no_gain"};

/// A stage that is done.
struct GrowthStage {
  double kernels = 0;
  double psnr = 0;     ///< on samples that no batch had
  double seconds = 0;  ///< of this stage
  double bytes = 0;    ///< of its kernels in a file; 0: not known
};

/// What comes next.
struct GrowthDecision {
  std::size_t budget = 0;  ///< of the next stage; 0: none
  StoppedBy stopped_by = StoppedBy::kSteps;
};

/// Decibels that four times as many kernels bring, by the last stages; a guess from experience while there
/// are fewer than two.
double gainPerFourfold(std::span<const GrowthStage> stages);

/// The budget that the first stage has: enough to see what the asset is like, and two kernels for each part.
std::size_t firstBudget(const TrainOptions& options, std::size_t components);

/// After at least one stage. Bounds are kept, `max_seconds` as far as the time of a stage can be foretold
/// from that of the last one: it grows with the number of kernels.
GrowthDecision nextBudget(const TrainOptions& options, std::span<const GrowthStage> stages);

/// The options of a stage with this budget.
TrainOptions stageOptions(TrainOptions options, std::size_t budget);

}  // namespace heatskin
