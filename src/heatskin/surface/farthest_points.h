#pragma once

// Farthest-point sampling: an evenly spread subset of points (METHOD section 2, kernel positions).

#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"

namespace heatskin {

/// Indices of `count` points chosen one by one: first `start`, then always the point farthest (Euclidean)
/// from all chosen so far; ties go to the lower index. Exact, not approximate: points are kept in the leaves
/// of a k-d tree, and a leaf is looked at only when the new point can be nearer to it than its farthest
/// member's present distance. `count` is cut to the number of points; duplicates of chosen points come last.
std::vector<std::uint32_t> farthestPoints(std::span<const Vec3> points, std::size_t count,
                                          std::uint32_t start);

/// The point closest to the origin (lowest index on ties): METHOD's start.
std::uint32_t closestToOrigin(std::span<const Vec3> points);

}  // namespace heatskin
