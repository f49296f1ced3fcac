#pragma once

// Vertices that share a position become one (METHOD section 1), so that UV seams do not cut the surface.

#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"

namespace heatskin {

/// The outcome of weldPositions.
struct Welding {
  std::vector<std::uint32_t> vertex_of_input;  // [inputs] welded vertex of every input position
  std::vector<Vec3> positions;                 // [welded] position of the first input of each vertex
};

/// Welds positions that are equal as float32 (+0 and -0 are equal). Where float32 would merge what the file
/// keeps apart (a mesh far from the origin, of a size float32 cannot hold), positions are first centred and
/// scaled in double. Welded vertices are numbered in the order of their first input. Positions must be
/// finite.
Welding weldPositions(std::span<const Vec3> positions);

}  // namespace heatskin
