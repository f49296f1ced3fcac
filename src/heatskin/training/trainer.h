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
#include "heatskin/training/options.h"
#include "heatskin/training/pool.h"

namespace heatskin {

/// Seconds spent so far, by phase.
struct TrainProfile {
  double sampling = 0, forward = 0, backward = 0, optimiser = 0, rebuild = 0, density = 0;
};

/// What one step saw.
struct StepReport {
  int step = 0;
  double loss = 0;  ///< mean over the batch of the sum over channels of squared error
  double psnr = 0;  ///< of the batch (an estimate; error-weighted batches are harder than the surface)
  std::size_t kernels = 0;
  double seconds = 0;
};

/// See the head of the file. Surface, appearance and evaluator must outlive it.
class Trainer {
 public:
  Trainer(const Surface& surface, const Appearance& appearance, Evaluator& evaluator,
          const TrainOptions& options);
  ~Trainer();

  int stepsDone() const { return step_; }
  bool finished() const { return step_ >= options_.steps; }

  /// One optimisation step, including whatever is due before it (rebuild, density control).
  StepReport step();

  const KernelSet& kernels() const { return kernels_; }
  const TrainProfile& profile() const { return profile_; }
  const TrainOptions& options() const { return options_; }

 private:
  struct Part;
  static constexpr std::size_t kParts = 16;  // fixed: the order of sums must not depend on threads
  static constexpr std::size_t kParameters =
      8;  // angle, anisotropy, threshold, sharpness, colour x 3, unused

  void evaluateParts();
  void updateKernels(double rate);
  void densityControl();
  void prune();
  void densify();
  int at(double fraction) const;

  const Surface* surface_;
  Evaluator* evaluator_;
  TrainOptions options_;
  SamplePool pool_;
  Walker walker_;
  KernelSet kernels_;
  FilterTable filter_;
  TrainProfile profile_;
  int step_ = 0;
  int rebuilt_at_ = -1;

  // Optimiser state.
  std::vector<std::array<float, kParameters>> adam_m_, adam_v_;  // [N]
  std::vector<Vec2> velocities_;                                 // [N] face coordinates
  std::array<double, 3> mean_m_{}, mean_v_{};
  std::vector<Rigid2> motions_;  // [N] of the last step

  // Density accumulators.
  std::vector<double> hits_, contributions_, errors_;  // [N]

  // The batch.
  std::vector<std::uint32_t> indices_;
  std::vector<float> losses_;
  std::vector<std::unique_ptr<Part>> parts_;
};

/// Colours of surface points from a kernel set; the evaluator is up to date with it. `weights` ([points]) may
/// be empty.
void evaluateColors(const Evaluator& evaluator, const FilterTable& filter,
                    std::span<const SurfacePoint> points, std::span<Vec3f> colors, std::span<float> weights);

}  // namespace heatskin
