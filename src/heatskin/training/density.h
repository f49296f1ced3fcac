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
  Vec3f target;      ///< colour of the asset
  Vec3f error;       ///< colour of the texture - target
  Vec3f sum;         ///< sum of f c
  float weight = 0;  ///< sum of f
};

/// A kernel's f at a probe.
struct Influence {
  std::uint32_t kernel = 0;
  float weight = 0;
};

/// Probes in the order of the surface, and which kernels act at them.
struct Probes {
  std::vector<Probe> points;
  std::vector<std::uint32_t> begin;   // [points + 1] of each probe's influences
  std::vector<Influence> influences;  // probe by probe
};

/// What rebalance() may do.
enum class Rebalance {
  kAll,       ///< remove, cover, split
  kCoverage,  ///< cover what is uncovered, and remove only as much as that needs
};

/// The budget rule. A probe is uncovered if its weight sum is below insert_below and its colour wrong by more
/// than 2 / 255: what is neither covered nor wrong (the mean colour happens to be right there) needs nothing.
///
/// First, up to relocate_share of the kernels go, those whose absence would cost least (TrainerState::costs)
/// if that is little, and none whose absence would make a probe uncovered. When there is no room for what
/// covering needs, up to cover_share more go in the same order, however much they cost. Then kernels are
/// added as the budget and `growth` allow: up to insert_share of them at uncovered probes, drawn by squared
/// error, round, coloured to mend the error around them, and as wide as the widest tenth of the kernels where
/// everything around is uncovered, narrower where it is a gap. The rest by splitting kernels with the largest
/// error. Zeroes the accumulators.
void rebalance(TrainerState& state, const TrainOptions& options, const Walker& walker, const Probes& probes,
               Rebalance what = Rebalance::kAll);

}  // namespace heatskin
