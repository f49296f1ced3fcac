#pragma once

// A worker: one process of one machine that does its share of a batch, several fits side by side, each in a
// process of its own. Any number of workers may share a folder.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/batch/cost.h"
#include "heatskin/batch/manifest.h"
#include "heatskin/batch/shard.h"

namespace heatskin::batch {

/// Where a fit reads and writes.
struct FitPlaces {
  std::filesystem::path product, checkpoint, result;  ///< `result`: what the fit says about itself, JSON
  std::size_t max_bytes = 0;                          ///< of memory
};

struct WorkerOptions {
  std::filesystem::path folder;  ///< products, rows and the workers' own files
  Shard shard;
  int jobs = 1;                  ///< fits side by side
  std::size_t max_bytes = 0;     ///< of memory for all of them
  double max_asset_seconds = 0;  ///< of one attempt; 0: any
  double stale_seconds = 180;    ///< a lease without a sign of life for so long is nobody's
  double grace_seconds = 30;     ///< that fits have to save their state when the worker is to stop
  int attempts = 3;              ///< of an asset that crashes, hangs or takes its machine along
  bool retry_failed = false;     ///< try again what has used up its attempts, too
  bool fresh = false;            ///< repeat what is done
  bool wait = true;              ///< for other workers that have assets of this shard
  bool steal = false;            ///< then go on with assets of other shards
  std::string version;           ///< of the program: rows of another one do not count

  /// The command that fits an asset.
  std::function<std::vector<std::string>(const BatchAsset&, const FitPlaces&)> command;

  Progress* progress = nullptr;  ///< may be null. Its cancelled() stops the worker
};

struct WorkerReport {
  std::size_t assets = 0;     ///< of this shard, unusable lines included
  std::size_t done = 0;       ///< by this worker now
  std::size_t skipped = 0;    ///< done before, or by others meanwhile
  std::size_t failed = 0;     ///< now or before
  std::size_t elsewhere = 0;  ///< others have them and were not waited for
  double seconds = 0;
  std::vector<std::string> failures;  ///< the first few: "name: reason"
};

/// Costs of a manifest's assets, the same for all workers of a folder: the first one's predictions are kept
/// there.
Result<std::vector<Cost>> sharedCosts(const Manifest& manifest, const std::filesystem::path& folder,
                                      Progress* progress = nullptr);

/// Works until nothing of its share is left. Fails if it is cancelled (the states of fits are saved) and if
/// the folder cannot be written; an asset that fails is a row.
Result<WorkerReport> runWorker(const Manifest& manifest, const WorkerOptions& options);

}  // namespace heatskin::batch
