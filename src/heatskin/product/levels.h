#pragma once

// Levels of detail of a product in one file (docs/format.md): the first one is the scene, the others hang on
// nodes that MSFT_lod names, each with kernels of its own.

#include <cstddef>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"

namespace heatskin {

/// Levels of a product's file, the first one included; 1 for any other asset.
Result<std::size_t> levelCount(const Asset& asset);

/// The asset with a level in the place of its scene, and that level's kernels; 0 is the asset as it is.
/// Refuses (error_code::kBadRequest) a level that the file does not have.
Result<Asset> selectLevel(Asset asset, std::size_t level);

}  // namespace heatskin
