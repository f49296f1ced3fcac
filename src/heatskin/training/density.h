#pragma once

// How many kernels there are and where: pruning and densification of the paper (METHOD section 5), and our
// own rule that keeps the budget full and moves what is of no use to where the error is (traps 11.4, 11.9).

#include "heatskin/geodesic/walk.h"
#include "heatskin/training/config.h"
#include "heatskin/training/probes.h"
#include "heatskin/training/trainer_state.h"

namespace heatskin {

/// Removes kernels that are hardly used; `scale` divides contributions (METHOD: 250). Zeroes the
/// accumulators.
void prune(TrainerState& state, const DensityOptions& options, double scale);

/// Splits or clones the kernels with the largest accumulated error; `scale` divides errors (METHOD: 75).
void densify(TrainerState& state, const TrainOptions& options, const Walker& walker, double scale);

/// What rebalance() may do.
enum class Rebalance {
  kAll,       ///< remove, cover, split
  kCoverage,  ///< cover what is uncovered, and remove only as much as that needs
  /// The same after the last step: nothing is split, because nobody would train the halves, and kernels with
  /// lengths are lengthened over small gaps (stretch.h). Can be repeated with other probes: costs stay, and
  /// what it inserted is not taken away again.
  kLast,
};

/// The budget rule. A probe is uncovered if its weight sum is below kCovered and a channel wrong by more
/// than 2 / 255: what is neither covered nor wrong (the mean happens to be right there) needs nothing.
///
/// First, up to relocate_share of the kernels go, those whose absence would cost least
/// (DensityStatistics::costs) if that is little, and none whose absence would make a probe uncovered. When
/// there is no room for what covering needs, up to cover_share more go in the same order, however much they
/// cost. Then kernels are added as the budget and `growth` allow: up to insert_share of them at uncovered
/// probes, drawn by squared error, round, coloured to mend the error around them, and as wide as the widest
/// tenth of the kernels where everything around is uncovered, narrower where it is a gap. The rest by
/// splitting kernels with the largest error. Zeroes the accumulators. Returns how many were
/// inserted or lengthened.
std::size_t rebalance(TrainerState& state, const TrainOptions& options, const Walker& walker, Probes probes,
                      Rebalance what = Rebalance::kAll);

}  // namespace heatskin
