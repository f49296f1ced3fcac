#pragma once

// Directions of maximum principal curvature, from which faces take their first axis (METHOD sections 6 and
// 8).

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"

namespace heatskin {

/// The part of a surface the fit needs. Same meaning as the accessors of Surface.
struct SurfaceTopology {
  std::span<const Vec3> positions;                      // [V]
  std::span<const Vec3> normals;                        // [V] unit
  std::span<const std::array<std::uint32_t, 3>> faces;  // [F]
  std::span<const std::array<std::uint32_t, 3>> twins;  // [F]
  std::span<const std::uint32_t> vertex_half_edge;      // [V]
};

/// Unit tangent directions of the largest signed normal curvature (convex is positive) at every vertex: the
/// surface within `rings` edges is fitted by a quadric over the vertex's tangent plane (as in libigl's
/// principal_curvature; differs in that neighbours facing away are left out, so that thin parts do not mix
/// their two sides). The sign is arbitrary. Where the fit has no preferred direction (flat, spherical, too
/// few neighbours) the result is the projection of a fixed coordinate axis: arbitrary, but the same across a
/// flat region.
std::vector<Vec3> principalDirections(const SurfaceTopology& surface, int rings);

}  // namespace heatskin
