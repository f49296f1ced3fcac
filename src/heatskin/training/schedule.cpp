#include "heatskin/training/schedule.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "heatskin/training/constants.h"

namespace heatskin {

using namespace constants;  // NOLINT: a list of numbers, and only here

int Schedule::at(double fraction) const {
  return static_cast<int>(std::lround(fraction * options_->steps));
}

double Schedule::pace(int step) const {
  if (options_->rates.decay == Decay::kHalving)
    return std::pow(0.5, std::floor(5.0 * step / options_->steps));
  const double low = options_->rates.final_rate;
  return low + (1 - low) * 0.5 * (1 + std::cos(std::numbers::pi * step / options_->steps));
}

bool Schedule::warmup(int step) const {
  return step < at(kWarmup);
}

bool Schedule::countsUse(int step) const {
  return step >= at(kUseCountsFrom);
}

bool Schedule::countsErrors(int step) const {
  return step >= at(kErrorsCountFrom);
}

bool Schedule::due(int step, double from, double until, double every) const {
  const int period = std::max(1, at(every));
  return step > 0 && step >= at(from) && step < at(until) && step % period == 0;
}

bool Schedule::pruneDue(int step) const {
  const DensityOptions& d = options_->density;
  return d.rule == Density::kPaper && due(step, kPruneFrom, kPruneUntil, kPruneEvery);
}

bool Schedule::densifyDue(int step) const {
  return due(step, kDensifyFrom, kDensifyUntil, kDensifyEvery);
}

bool Schedule::coverDue(int step) const {
  const DensityOptions& d = options_->density;
  return d.rule == Density::kBudget && !densifyDue(step) &&
         due(step, kDensifyFrom, kCoverUntil, kDensifyEvery);
}

bool Schedule::solveDue(int step) const {
  const auto done = [&](int s) { return std::int64_t{s} * options_->solves / options_->steps; };
  return step > 0 && done(step) > done(step - 1);
}

int Schedule::rebuildInterval(int step) const {
  // What an evaluator keeps lasts as long as kernels move little, and they move in proportion to the rates.
  const double slower = std::clamp(1 / pace(step), 1.0, options_->rebuild_slowdown);
  return static_cast<int>(options_->rebuild_interval * slower);
}

double Schedule::pruneScale() const {
  return std::max(1, at(kUseCountsFrom));
}

double Schedule::densifyScale() const {
  return std::max(1, at(kErrorSteps));
}

}  // namespace heatskin
