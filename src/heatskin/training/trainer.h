#pragma once

// The fit: pool -> batch -> evaluator -> compositor -> loss -> gradients -> optimisers -> density control
// (METHOD sections 1-5). Here is the order of these steps; each has its own file. The trainer cannot tell
// evaluators apart. Same surface, options and seed: the same kernels to the bit, for any number of threads.

#include <span>
#include <vector>

#include "heatskin/evaluators/evaluator.h"
#include "heatskin/geodesic/walk.h"
#include "heatskin/kernels/composite_block.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/training/batch_gradient.h"
#include "heatskin/training/config.h"
#include "heatskin/training/pool.h"
#include "heatskin/training/schedule.h"
#include "heatskin/training/trainer_state.h"

namespace heatskin {

/// What one step saw.
struct StepReport {
  int step = 0;
  double loss = 0;  ///< squared error summed over channels: an unbiased estimate of its mean over the surface
  double psnr = 0;  ///< that goes with the loss
  std::size_t kernels = 0;
  double seconds = 0;
};

/// See the head of the file. Surface, target and evaluator must outlive it.
class Trainer {
 public:
  Trainer(const Surface& surface, const FitTarget& target, Evaluator& evaluator, const TrainOptions& options);

  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  int stepsDone() const { return state_.step; }
  bool finished() const { return state_.step >= options_.steps; }

  /// One optimisation step, including whatever is due before it (rebuild, density control).
  StepReport step();

  /// True between two steps when the next one begins with a rebuild: only then state() is all there is, and a
  /// trainer restored from it goes on to the bit. With rebuilds every 10 steps it is true every 10 steps.
  bool canSave() const;

  /// Gives back the memory that only a step needs; the next step takes it again.
  void makeRoom();

  /// What a checkpoint stores.
  TrainerState state() const;
  /// The same without a copy: all but pool_errors, and these.
  const TrainerState& stateWithoutErrors() const { return state_; }
  std::span<const float> poolErrors() const { return pool_.errors(); }

  /// Goes on from a state that a trainer with the same surface, target and options had when canSave() was
  /// true. False, and nothing changed, if the state cannot be one of this surface and these options.
  bool restore(TrainerState state);

  /// PSNR of the texture as it is, on samples that no batch had. Steps can go on afterwards.
  double psnr();

  const KernelSet& kernels() const { return state_.kernels; }
  const TrainProfile& profile() const { return profile_; }
  const TrainOptions& options() const { return options_; }

 private:
  bool densityDue() const;
  bool rebuildDue() const;
  void controlDensity();
  void fillGaps();
  void closeGaps();
  void solveIfDue();
  void rebuildIfDue();
  void moveKernels();

  const Surface* surface_;
  Evaluator* evaluator_;
  TrainOptions options_;
  Schedule schedule_;
  SamplePool pool_;
  Walker walker_;
  Loss loss_;
  TrainerState state_;  // but for the pool's errors, which the pool has
  FilterTable filter_;
  BatchGradient gradient_;
  std::vector<Rigid2> motions_;  // [N] of the last step
  TrainProfile profile_;
  int rebuilt_at_ = -1;
};

}  // namespace heatskin
