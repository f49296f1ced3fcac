#pragma once

// From welded triangles to an oriented manifold: which faces stay, which half-edges are twins, which vertices
// must be doubled. Purely combinatorial except for the choice of which faces go together at a non-manifold
// edge.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// An oriented manifold made from a triangle soup.
struct Manifold {
  std::vector<std::array<std::uint32_t, 3>> faces;  // [F] after orientation and vertex splitting
  std::vector<std::array<std::uint32_t, 3>> twins;  // [F] half-edge 3 f + e, or kNone on a boundary
  std::vector<std::uint32_t> input_face;            // [F] index of the input triangle
  std::vector<std::uint8_t> flipped;                // [F] 1: corners 1 and 2 were swapped
  std::vector<std::uint32_t> input_vertex;          // [V] the input vertex a vertex is a copy of
  std::vector<std::uint32_t> vertex_half_edge;      // [V] see Surface::vertexHalfEdge
};

/// Makes a manifold of the triangles and counts in `report` what it found and did. In this order:
/// - degenerate triangles (a repeated vertex, or a height below kMinRelativeHeight of the longest edge) are
/// dropped, and
///   exact duplicates of an earlier triangle; a duplicate with the opposite orientation is the other side of
///   a sheet and is kept;
/// - an edge of two faces joins them; at an edge of more, the pairs that continue each other best (consistent
/// orientation
///   first, then the flattest) are joined and the rest is cut;
/// - orientation is propagated across joined edges, each piece keeping the orientation of the larger part of
/// its area; where a
///   non-orientable piece contradicts itself it is cut;
/// - a vertex whose faces form several fans gets one copy for each fan. Unused vertices disappear.
/// Vertices are renumbered in the order of their input vertices; positions must be finite and of moderate
/// size.
Manifold makeManifold(std::span<const Vec3> positions,
                      std::span<const std::array<std::uint32_t, 3>> triangles, SurfaceReport& report);

/// A triangle whose height is below this fraction of its longest edge has no usable plane in double
/// precision: its normal would be wrong in the seventh digit and its barycentric coordinates meaningless.
inline constexpr double kMinRelativeHeight = 1e-9;

/// Kept but reported: cotangents of such a triangle are of the order of a million.
inline constexpr double kSliverRelativeHeight = 1e-6;

}  // namespace heatskin
