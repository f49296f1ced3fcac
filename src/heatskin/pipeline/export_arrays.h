#pragma once

// A product for programs of other people: a mesh with vertex colours (PLY), or its kernels as arrays that
// numpy reads or as JSON. docs/baking.md describes every field.

#include <cstdint>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/pipeline/pipeline.h"

namespace heatskin {

/// Binary PLY of all instances in the asset's coordinates: positions, normals where all parts have them,
/// 8-bit sRGB colours of the kernels at the vertices, triangles.
std::vector<std::uint8_t> encodePly(const LoadedProduct& product);

/// The kernels as an .npz archive.
std::vector<std::uint8_t> encodeKernelArrays(const Product& product);

/// The same as JSON, with names of the method and the channels.
std::string kernelJson(const Product& product);

}  // namespace heatskin
