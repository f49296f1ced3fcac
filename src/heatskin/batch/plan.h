#pragma once

// How many machines a batch wants, from predicted costs.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "heatskin/batch/cost.h"
#include "heatskin/batch/manifest.h"

namespace heatskin::batch {

struct PlanOptions {
  double target_seconds = 3600;  ///< that no task shall exceed
  int jobs = 1;                  ///< fits side by side in a task, each on one thread
  std::size_t most = 10000;      ///< tasks in an array, at most
  double factor = 1;             ///< measured seconds for each predicted one
};

/// An array of so many tasks.
struct ArraySize {
  std::size_t tasks = 1;
  double longest_s = 0;  ///< task
  double mean_s = 0;
  double by_count_s =
      0;  ///< longest task, if assets were shared out by their number, in the manifest's order
};

struct Plan {
  std::size_t assets = 0, missing = 0;
  double total_s = 0, median_s = 0, longest_s = 0;  ///< of assets
  double longest_mb = 0;                            ///< of memory, of the asset that takes most
  double task_mb = 0;                               ///< of a task: its largest jobs side by side
  std::string longest_name, largest_name;
  ArraySize chosen;
  std::vector<ArraySize> others;  ///< half, twice, ... as many
  bool reached = true;            ///< the target; otherwise one asset, or the number of tasks, is in the way
};

Plan makePlan(const Manifest& manifest, std::span<const Cost> costs, const PlanOptions& options);

/// Measured over predicted seconds of the rows of an earlier batch: the median, and the ratio below and above
/// which a tenth of them lie. Zeros without rows.
struct Calibration {
  std::size_t rows = 0;
  double factor = 0, low = 0, high = 0;
};
Calibration calibrate(const std::filesystem::path& folder);

/// The manifest with "cost" and "memory" in each usable line, which saves workers from looking at files.
std::string plannedManifest(const Manifest& manifest, std::span<const Cost> costs, double factor);

}  // namespace heatskin::batch
