#pragma once

// The whole fit in one call: evaluator, trainer, steps, checkpoints. Whoever wants to watch single steps uses
// Trainer.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "heatskin/base/progress.h"
#include "heatskin/base/result.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"
#include "heatskin/training/config.h"
#include "heatskin/training/fit_history.h"
#include "heatskin/training/growth.h"

namespace heatskin {

/// Whether a fit begins where a checkpoint ended.
enum class Resume {
  kNo,           ///< no
  kIfThere,      ///< if the file exists; one that is damaged is replaced, with a notice
  kMustBeThere,  ///< yes, and it is an error if there is no such file
};

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
