#pragma once

// What is due at which step of a fit (METHOD sections 4 and 5). Options are fractions of the run.

#include "heatskin/training/config.h"

namespace heatskin {

/// See the head of the file. The options must outlive it.
class Schedule {
 public:
  explicit Schedule(const TrainOptions& options) : options_(&options) {}

  /// The step that comes after this fraction of the run.
  int at(double fraction) const;

  /// Learning rates as a part of the first ones.
  double pace(int step) const;

  bool warmup(int step) const;        ///< batches are uniform
  bool countsUse(int step) const;     ///< hits and contributions count for pruning
  bool countsErrors(int step) const;  ///< errors count for densification

  bool pruneDue(int step) const;
  bool densifyDue(int step) const;
  bool coverDue(int step) const;  ///< only what is uncovered gets kernels (Rebalance::kCoverage)

  bool solveDue(int step) const;  ///< of the kernels' values; `step` may be the number of all steps

  /// Steps between two rebuilds of the evaluator.
  int rebuildInterval(int step) const;

  /// By which sums of contributions and errors are divided (METHOD: 250 and 75).
  double pruneScale() const;
  double densifyScale() const;

 private:
  bool due(int step, double from, double until, double every) const;

  const TrainOptions* options_;
};

}  // namespace heatskin
