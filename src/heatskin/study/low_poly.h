#pragma once

// Coarse versions of a textured asset, with its colours carried over: fewer triangles, and a new texture with
// a place for each of them.

#include <cstddef>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"

namespace heatskin::study {

struct LowPolyOptions {
  std::size_t vertices = 500;  ///< about
  int texture_size = 1024;     ///< side of the new texture in texels
};

/// The asset with about so many vertices (at a subset of its own) in one primitive. Every pair of triangles
/// has a square of the texture with a gutter around each of them, coloured from the nearest points of the
/// asset as its samplers say; so reading the nearest texel or between four stays within a triangle's own
/// colours. Fails if the asset has no surface or more triangles than the texture has places.
Result<Asset> lowPoly(const Asset& asset, const LowPolyOptions& options = {});

}  // namespace heatskin::study
