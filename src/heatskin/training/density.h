#pragma once

// How many kernels there are and where: pruning and densification of the paper (METHOD section 5), and our
// own rule that keeps the budget full and moves what is of no use to where the error is (traps 11.4, 11.9).

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/geodesic/walk.h"
#include "heatskin/surface/surface_point.h"
#include "heatskin/training/options.h"
#include "heatskin/training/trainer_state.h"

namespace heatskin {

/// Removes kernels that are hardly used; `scale` divides contributions (METHOD: 250). Zeroes the
/// accumulators.
void prune(TrainerState& state, const DensityOptions& options, double scale);

/// Splits or clones the kernels with the largest accumulated error; `scale` divides errors (METHOD: 75).
void densify(TrainerState& state, const TrainOptions& options, const Walker& walker, double scale);

/// The texture at a surface point, and what it should be there.
struct Probe {
  SurfacePoint point;
  Vec3f target;                   ///< colour of the asset
  Vec3f error;                    ///< colour of the texture - target
  Vec3f sum;                      ///< sum of f c
  float weight = 0;               ///< sum of f
  std::uint32_t strongest = ~0u;  ///< kernel with the largest f, or ~0
};

/// The budget rule. Removes up to relocate_share of the kernels, those whose absence would cost least
/// (TrainerState::costs), then adds kernels as the budget and `growth` allow: up to insert_share of them at
/// probes that are wrong and whose weight sum is below insert_below, drawn by squared error, shaped like the
/// strongest kernel there but smaller, coloured to mend the error at that point; where nothing covers a
/// probe, of middling shape. The rest by splitting kernels with the largest error. Zeroes the accumulators.
void rebalance(TrainerState& state, const TrainOptions& options, const Walker& walker,
               std::span<const Probe> probes);

}  // namespace heatskin
