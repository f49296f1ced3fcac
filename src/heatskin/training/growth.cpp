#include "heatskin/training/growth.h"

#include <algorithm>
#include <cmath>

#include "heatskin/training/constants.h"

namespace heatskin {
namespace {

using namespace constants;  // NOLINT: a list of numbers, and only here

/// A bound and its name.
struct Limit {
  double kernels;
  StoppedBy name;
};

/// The least of the bounds that can be told in kernels.
Limit tightest(const TrainOptions& options, const GrowthStage& last) {
  Limit limit{static_cast<double>(options.density.max_kernels), StoppedBy::kMaxKernels};
  if (options.budget.max_bytes > 0 && last.bytes > 0) {
    // Kernels of larger sets take a little less each; codes of positions may take a little more.
    const double fits =
        kByteMargin * static_cast<double>(options.budget.max_bytes) / (last.bytes / last.kernels);
    if (fits < limit.kernels) limit = {fits, StoppedBy::kMaxBytes};
  }
  return limit;
}

}  // namespace

double gainPerFourfold(std::span<const GrowthStage> stages) {
  if (stages.size() < 2) return kUsualGain;
  const GrowthStage &before = stages[stages.size() - 2], &last = stages.back();
  if (!(last.kernels > before.kernels)) return 0;
  return (last.psnr - before.psnr) / std::log(last.kernels / before.kernels) * std::log(4.0);
}

std::size_t firstBudget(const TrainOptions& options, std::size_t components) {
  double first = static_cast<double>(std::max(kFirstBudget, 2 * components));
  if (options.budget.max_bytes > 0)
    first = std::min(first, (static_cast<double>(options.budget.max_bytes) - kCommonBytes) / kCautiousBytes);
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::max(first, 1.0)), 1,
                                 options.density.max_kernels);
}

GrowthDecision nextBudget(const TrainOptions& options, std::span<const GrowthStage> stages) {
  const GrowthStage& last = stages.back();
  const BudgetOptions& budget = options.budget;
  if (budget.target_psnr > 0 && last.psnr >= budget.target_psnr) return {0, StoppedBy::kTarget};
  const Limit limit = tightest(options, last);
  // A bound that leaves next to nothing to add has been reached.
  if (limit.kernels < kLeastGrowth * last.kernels) return {0, limit.name};
  // A stage that did not use its budget has no use for a larger one; and every stage that is followed by
  // another has grown, so that they come to an end.
  if (stages.size() > 1 && last.kernels < kLeastGrowth * stages[stages.size() - 2].kernels)
    return {0, StoppedBy::kNoGain};
  const double gain = gainPerFourfold(stages);
  if (stages.size() > 1 && gain < kLeastGain) return {0, StoppedBy::kNoGain};

  double growth = 4;
  if (budget.target_psnr > 0) {
    // What is missing, and a little more: the next stage should be the last.
    const double missing = budget.target_psnr + kTargetMargin - last.psnr;
    growth = std::clamp(std::pow(4.0, missing / std::max(gain, kLeastGain)), kLeastStage, 4.0);
  }
  // Every stage starts over: one that the bound follows soon after would be worth little.
  const double largest =
      growth < 4 || kWorthAStage * 4 * last.kernels < limit.kernels ? growth * last.kernels : limit.kernels;
  double next = std::min(limit.kernels, largest);
  if (budget.max_seconds > 0) {
    double spent = 0;
    for (const GrowthStage& stage : stages)
      spent += stage.seconds;
    const double left = kTimeMargin * (budget.max_seconds - spent);
    next = std::min(next, last.kernels * left / std::max(last.seconds, 1e-9));
    if (next < kLeastGrowth * last.kernels) return {0, StoppedBy::kMaxSeconds};
  }
  return {static_cast<std::size_t>(next), StoppedBy::kSteps};
}

TrainOptions stageOptions(TrainOptions options, std::size_t budget) {
  options.density.max_kernels = budget;
  options.density.min_kernels = std::min(options.density.min_kernels, budget);
  options.start.kernels = std::min(options.start.kernels, budget);
  return options;
}

}  // namespace heatskin
