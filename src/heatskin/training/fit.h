#pragma once

// The whole fit in one call: evaluator, trainer, steps, checkpoints, from a surface and a target to kernels.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"
#include "heatskin/training/config.h"

namespace heatskin {

/// Whether a fit begins where a checkpoint ended.
enum class Resume {
  kNo,           ///< no
  kIfThere,      ///< if the file exists; one that is damaged is replaced, with a notice
  kMustBeThere,  ///< yes, and it is an error if there is no such file
};

struct FitMoment;

struct FitControl {
  std::filesystem::path checkpoint;   ///< file of checkpoints; empty: none are written or read
  double checkpoint_interval_s = 10;  ///< wall-clock time between two of them; 0: at every step that can
  Resume resume = Resume::kNo;
  Progress* progress = nullptr;         ///< may be null; its cancelled() stops the fit
  PreprocessingCache* cache = nullptr;  ///< of the evaluator's preprocessing; null: none

  /// How files are written; writeFileAtomically() if empty.
  std::function<Result<void>(const std::filesystem::path&, std::span<const std::uint8_t>)> write;

  /// Bytes that kernels take in a file, for BudgetOptions::max_bytes; may be empty.
  std::function<std::size_t(const KernelSet&)> bytes_of;

  /// Hears each of FitResult::notices when it arises; may be empty.
  std::function<void(const Notice&)> notify;

  /// Called after every step, from the fit's thread; may be empty. Its time does not count as that of the
  /// fit, and it may take as long as it wants.
  std::function<void(const FitMoment&)> watch;

  /// True: the fit ends as it is at the next step that can be saved, complete (StoppedBy::kAsked); its
  /// checkpoint is written, so that it can be resumed. May be empty.
  std::function<bool()> finish;
};

/// Why a fit has no more kernels than it has.
enum class StoppedBy { kSteps, kTarget, kMaxKernels, kMaxBytes, kMaxSeconds, kNoGain, kAsked };

/// In reports; in the order of the enum. `steps`: the budget was given.
inline constexpr std::string_view kStoppedByNames[] = {"steps",       "target",  "max_kernels", "max_bytes",
                                                       "max_seconds", "no_gain", "asked"};

/// A stage that is done.
struct GrowthStage {
  double kernels = 0;
  double psnr = 0;     ///< on samples that no batch had
  double seconds = 0;  ///< of this stage
  double bytes = 0;    ///< of its kernels in a file; 0: not known
};

/// Decibels that four times as many kernels bring, by the last stages; a guess from experience while there
/// are fewer than two.
double gainPerFourfold(std::span<const GrowthStage> stages);

/// Seconds spent so far, by phase; what threads do side by side is added up.
struct TrainProfile {
  double sampling = 0;
  double candidates = 0;  ///< the evaluator's respond(): candidates and their responses
  double forward = 0, backward = 0, optimiser = 0, rebuild = 0, density = 0, solve = 0;
};

/// Calls visit(name, seconds) for every phase of a profile, in the order of a step. A new phase needs one
/// line here.
template <class Profile, class Visitor>
void visitPhases(Profile& profile, Visitor&& visit) {
  visit("sampling", profile.sampling);
  visit("candidates", profile.candidates);
  visit("forward", profile.forward);
  visit("backward", profile.backward);
  visit("optimiser", profile.optimiser);
  visit("rebuild", profile.rebuild);
  visit("density", profile.density);
  visit("solve", profile.solve);
}

/// What a fit remembers of its past besides the trainer's state; for reports, without influence on the fit.
struct FitHistory {
  std::vector<float> losses;        // [steps done]
  std::vector<float> step_seconds;  // [steps done]
  TrainProfile profile;
  double optimise_seconds = 0;
  double samples = 0;               // drawn
  std::vector<GrowthStage> stages;  // that are done, with an automatic budget; of influence on the fit
};

/// A fit between two steps, for FitControl::watch. What it points to changes afterwards.
struct FitMoment {
  int step = 0, steps = 0;    ///< done and wanted in this stage
  std::size_t stage = 0;      ///< from 0
  double loss = 0, psnr = 0;  ///< of the last step (StepReport)
  const KernelSet* kernels = nullptr;
  const FitHistory* history = nullptr;

  /// The product that the fit would be now, without fallback colours; empty where nobody can make one.
  std::function<Result<std::vector<std::uint8_t>>()> product;
};

struct FitResult {
  bool complete = false;  ///< false: cancelled; if a checkpoint file was given, it has the state
  int steps_done = 0;
  int resumed_at = 0;  ///< steps that were done when this run began
  KernelSet kernels;
  FitHistory history;                        ///< of all runs that led here
  StoppedBy stopped_by = StoppedBy::kSteps;  ///< why there are no more kernels

  std::shared_ptr<Evaluator> evaluator;  ///< of the fit, for KernelTexture::withEvaluator()

  double preprocess_seconds = 0;   ///< the evaluator's
  double init_seconds = 0;         ///< from surface and target to the first step, preprocessing included
  double median_step_seconds = 0;  ///< after warm-up (the first tenth of the steps)

  /// Resident size that was predicted before the work began, with what was held then (fit_memory.h); 0 for
  /// methods whose preprocessing asks for itself.
  double memory_estimate_bytes = 0;
  std::vector<Notice> notices;  ///< checkpoints that could not be read or written
};

/// What settleBudget() found.
struct BudgetReport {
  std::size_t before = 0;  ///< density.max_kernels
  std::size_t after = 0;
  std::size_t needed = 0;  ///< to cover the surface, at least
  std::size_t ample = 0;   ///< that would do

  bool too_small() const { return ample > before; }
};

/// Kernel budget and lengths for this very surface. Lengths of `local` grow by one factor until the budget
/// covers it (density.cover_spare): few kernels then give a blurred texture instead of one with holes. Where
/// even that is not enough the budget is raised, unless it is to be kept or the configuration asks for the
/// published method. fit() takes the configuration as it is; fitProduct() settles it first.
BudgetReport settleBudget(FitConfig& config, const Surface& surface, bool keep_budget = false);

/// Fails, with the reason, if no kernels are needed: nothing has more than its material's colour, or nothing
/// that has is visible.
Result<void> checkSomethingToFit(const Surface& surface, const FitTarget& target);

/// Fits kernels to a target. The surface must outlive the evaluator of the result. The kernels depend on
/// surface, target and configuration only: not on threads, checkpoints or interruptions. Fails if the
/// configuration contradicts itself, if there is nothing to fit (no texture and no vertex colours, or nothing
/// that is visible), if a checkpoint belongs to something else (the message says to what), or if the state of
/// a cancelled fit cannot be written. A cancelled fit goes on for the few steps until its state can be saved
/// (Trainer::canSave()).
Result<FitResult> fit(const Surface& surface, const FitTarget& target, const FitConfig& config,
                      const FitControl& control = {});

}  // namespace heatskin
