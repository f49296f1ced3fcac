#pragma once

// What programs of others do for us where they are there: node, and packages of npm. Looked for in the folder
// that the environment variable HEATSKIN_NODE_MODULES names (one with a folder node_modules), then in the
// current one and those above it. Nothing is fetched.

#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/bake/atlas_charts.h"
#include "heatskin/bake/pack_charts.h"
#include "heatskin/base/result.h"

namespace heatskin {

/// KTX2 bytes (Basis Universal, UASTC with mip maps, Zstandard) of 8-bit RGBA pixels, by the package
/// ktx2-encoder. `srgb`: colours; `normals`: a normal map. Fails with the reason if it is not there.
Result<std::vector<std::uint8_t>> encodeKtx2(std::span<const std::uint8_t> rgba, int width, int height,
                                             bool srgb, bool normals);

/// An atlas by xatlas (package watlas) instead of ours, of `side` x `side` texels. PackedAtlas::cells stay
/// empty; `chart_of` gets the chart of each triangle. Fails if it is not there, takes longer than `seconds`,
/// or leaves out triangles.
Result<PackedAtlas> xatlasOf(const AtlasMesh& mesh, int side, int gutter, double seconds,
                             std::vector<std::uint32_t>& chart_of);

}  // namespace heatskin
