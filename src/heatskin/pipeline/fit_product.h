#pragma once

// A fit from an asset to its product, in memory and as a file, with its evaluation.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/evaluation/evaluation.h"
#include "heatskin/pipeline/loaded.h"
#include "heatskin/training/config.h"
#include "heatskin/training/fit.h"

namespace heatskin {

struct FitJob {
  FitConfig config;
  ChannelLayout layout;  ///< what is fitted, beginning with base_color; Appearance::knows() it

  std::filesystem::path output;    ///< the product; empty: in memory only
  std::filesystem::path resolved;  ///< its configuration as TOML; empty: not written

  /// Checkpoints, progress (whose cancelled() stops the fit), notices. The checkpoint is removed when the
  /// product is written. Without a cache: PreprocessingCache::fromEnvironment().
  FitControl control;

  bool evaluate = true;
  EvaluationOptions evaluation;  ///< but for the filter, which is the fit's

  /// True: a kernel budget too small to cover the surface stays as it is. Otherwise it is raised.
  bool keep_budget = false;

  /// Calls what it is given, the writing of product and configuration, with whatever has to stand around it
  /// (a command line holds back signals); may be empty.
  std::function<Result<void>(const std::function<Result<void>()>& write)> guard;
};

struct FitOutcome {
  FitResult fit;                         ///< incomplete: cancelled, and there is nothing of what follows
  FitConfig config;                      ///< the job's, with budget and lengths as they were settled
  std::vector<std::uint8_t> bytes;       ///< of the product, a GLB
  std::optional<LoadedProduct> stored;   ///< the product as it was read back
  std::optional<Evaluation> evaluation;  ///< of the stored texture; nothing if cancelled or not asked for
  double quantisation_loss_db = 0;       ///< surface PSNR before storing minus after; 0 without evaluation
  double init_seconds = 0;               ///< from the loaded file to the first step
  std::vector<Notice> notices;           ///< of budget and fit; FitControl::notify heard them
};

/// Settles the kernel budget, fits, makes the product, writes it with its configuration (atomically,
/// together), removes the checkpoint, reads the product back and evaluates what was read. Fails as fit()
/// does, if the asset is a product itself, or if the product cannot be written (error_code::kNotSaved; the
/// checkpoint stays).
Result<FitOutcome> fitProduct(const LoadedAsset& asset, const FitJob& job);

/// The same for a file, with the surface that the job's method needs.
Result<FitOutcome> fitProduct(const std::filesystem::path& asset, const FitJob& job);

}  // namespace heatskin
