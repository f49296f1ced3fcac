#pragma once

// The surface of an asset with fewer triangles, as an asset: whatever seams its texture coordinates had.

#include <cstddef>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// About `faces` triangles of `surface`, the surface of `asset`, at a subset of its vertices (quadric error).
/// One mesh in the asset's coordinates with a primitive for each material, which triangles have from the
/// nearest one of the original; positions and materials without textures, nothing else. Fails if nothing with
/// an area is left.
Result<Asset> simplifiedAsset(const Asset& asset, const Surface& surface, std::size_t faces);

/// How far two surfaces are apart, both ways, in the units of the assets: at points all over them.
struct SurfaceDistance {
  double mean = 0, p99 = 0, maximum = 0;
};
SurfaceDistance surfaceDistance(const Surface& a, const Surface& b, std::size_t samples = 20'000);

}  // namespace heatskin
