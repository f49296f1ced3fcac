#pragma once

// The same triangles in two surfaces: a mesh and what other tools made of it without changing its shape.
// Vertices may be renumbered, split or joined and rounded to a grid, triangles reordered and their corners
// rotated, parts joined or separated, everything moved and scaled evenly.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Corners may move by this part of the longest side at most, however coarse the grid they were rounded to:
/// more than 10 bits do, fewer change the shape.
inline constexpr double kMostRounding = 1.0 / 1024;

struct FaceMatching {
  std::vector<std::uint32_t> face;                   // [F of from] a face of `to`, or kNone
  std::vector<std::array<std::uint8_t, 3>> corners;  // [F of from] corner c is where corner corners[c] of
                                                     // that face is
  double largest_move = 0;                           ///< of a corner, in surface coordinates
  double tolerance = 0;                              ///< the largest that was allowed
  std::size_t lost = 0;   ///< faces of `from` that are too thin to be found in `to`, or are no longer there
  std::size_t added = 0;  ///< faces of `to` that are too thin to have been in `from`
};

/// Pairs of faces with the nearest corners, in surface coordinates. How far corners may be apart follows from
/// how far those of most faces of the same part are: a grid moves all of them alike. Refuses surfaces where
/// other faces are left over (error_code::kOtherShape), and meshes with so many triangles at one place that
/// they cannot be told apart. Of several faces in reach the nearest counts, then one that faces the same way,
/// then the lowest.
Result<FaceMatching> matchFaces(const Surface& from, const Surface& to);

}  // namespace heatskin
