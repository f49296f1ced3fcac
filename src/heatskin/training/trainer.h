#pragma once

// The fit: pool -> batch -> evaluator -> compositor -> loss -> gradients -> optimisers -> density control
// (METHOD sections 1-5). The trainer cannot tell evaluators apart. Same surface, options and seed: the same
// kernels to the bit, for any number of threads.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/geodesic/walk.h"
#include "heatskin/kernels/composite_block.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/training/density.h"
#include "heatskin/training/options.h"
#include "heatskin/training/pool.h"
#include "heatskin/training/trainer_state.h"

namespace heatskin {

/// Seconds spent so far, by phase; what threads do side by side is added up.
struct TrainProfile {
  double sampling = 0;
  double candidates = 0;  ///< the evaluator's respond(): candidates and their responses
  double forward = 0, backward = 0, optimiser = 0, rebuild = 0, density = 0;
};

/// What one step saw.
struct StepReport {
  int step = 0;
  double loss = 0;  ///< squared error summed over channels: an unbiased estimate of its mean over the surface
  double psnr = 0;  ///< that goes with the loss
  std::size_t kernels = 0;
  double seconds = 0;
};

/// See the head of the file. Surface, appearance and evaluator must outlive it.
class Trainer {
 public:
  Trainer(const Surface& surface, const Appearance& appearance, Evaluator& evaluator,
          const TrainOptions& options);
  ~Trainer();

  int stepsDone() const { return state_.step; }
  bool finished() const { return state_.step >= options_.steps; }

  /// One optimisation step, including whatever is due before it (rebuild, density control).
  StepReport step();

  /// True between two steps when the next one begins with a rebuild: only then state() is all there is, and a
  /// trainer restored from it goes on to the bit. With rebuilds every 10 steps it is true every 10 steps.
  bool canSave() const;

  /// What a checkpoint stores.
  TrainerState state() const;

  /// Goes on from a state that a trainer with the same surface, appearance and options had when canSave() was
  /// true. False, and nothing changed, if the state cannot be one of this surface and these options.
  bool restore(TrainerState state);

  const KernelSet& kernels() const { return state_.kernels; }
  const TrainProfile& profile() const { return profile_; }
  const TrainOptions& options() const { return options_; }

 private:
  struct Part;
  static constexpr std::size_t kParts = 16;  // fixed: the order of sums must not depend on threads

  double pace() const;  // learning rates as a part of the first ones
  bool rebuildDue() const;
  bool due(double from, double until, double every) const;
  bool pruneDue() const;
  bool densifyDue() const;
  bool coverDue() const;
  void evaluateParts();
  void updateKernels(double rate);
  void densityControl();
  Probes probe();
  int at(double fraction) const;

  const Surface* surface_;
  Evaluator* evaluator_;
  TrainOptions options_;
  SamplePool pool_;
  Walker walker_;
  TrainerState state_;  // but for the pool's errors, which the pool has
  FilterTable filter_;
  TrainProfile profile_;
  int rebuilt_at_ = -1;

  std::vector<Rigid2> motions_;  // [N] of the last step

  // The batch.
  std::vector<std::uint32_t> indices_;
  std::vector<SurfacePoint> batch_;
  std::vector<float> losses_;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace heatskin
