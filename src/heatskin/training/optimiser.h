#pragma once

// One step of all that is learned: Adam for parameters and colours, GeodesicOpt for positions, and clamping
// to the allowed ranges (projected gradient descent, METHOD section 4).

#include <array>
#include <cstddef>
#include <span>

#include "heatskin/training/adam.h"
#include "heatskin/training/config.h"
#include "heatskin/training/geodesic_opt.h"
#include "heatskin/training/trainer_state.h"

namespace heatskin {

/// See the head of the file. Options and walker must outlive it.
class Optimiser {
 public:
  /// For the step after state.step ones, with learning rates `pace` times the first ones.
  Optimiser(const TrainOptions& options, const ChannelLayout& layout, const Walker& walker, int step,
            double pace);

  /// Moves one kernel against its finished gradient (after Evaluator::finish()).
  /// Returns how it moved (GeodesicOpt::step()). Different kernels may be moved concurrently.
  Rigid2 moveKernel(std::size_t kernel, const GradientRow& row, TrainerState& state) const;

  /// Moves the mean; `gradient` is [C].
  void moveMean(std::span<const double> gradient, TrainerState& state) const;

 private:
  /// Moves the channels of a kernel, in face coordinates of the face it had; `gradient`, `m` and `v` are [C],
  /// padded to whole vectors.
  void moveChannels(std::size_t kernel, const float* gradient, float* m, float* v, KernelSet& kernels) const;

  const TrainOptions* options_;
  double pace_;
  Adam adam_;
  GeodesicOpt geodesic_;
  Adam::Four shape_sizes_;
  std::array<Adam::Four, kMaxChannels / 4> channel_sizes_;
  bool tangents_;
  std::array<bool, kMaxChannels> is_tangent_{};
};

}  // namespace heatskin
