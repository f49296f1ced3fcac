#pragma once

// What a fit will take, from the size of its asset and its options: to share work out evenly and to ask a
// cluster for the right machines. Predictions decide who does what and when, never what comes out.

#include <cstddef>
#include <span>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/batch/asset_size.h"
#include "heatskin/batch/manifest.h"

namespace heatskin::batch {

struct Cost {
  double seconds = 0;  ///< on one thread of the machine that docs/batch.md names
  double bytes = 0;    ///< of memory at the peak
};

/// A line whose asset is not there costs next to nothing: it fails at once.
Cost predictCost(const AssetSize& size, const LineOptions& options);

/// Costs of all assets of a manifest, those that the manifest names itself and predictions for the others.
/// `progress` may be null.
std::vector<Cost> predictCosts(const Manifest& manifest, Progress* progress = nullptr);

}  // namespace heatskin::batch
