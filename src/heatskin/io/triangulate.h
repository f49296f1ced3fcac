#pragma once

// Polygons to triangles.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"

namespace heatskin {

/// How a polygon was cut.
enum class TriangulationKind : std::uint8_t {
  kFan,        ///< strictly convex (or a triangle): a fan from corner 0
  kEars,       ///< ear clipping; no triangle leaves the outline
  kBrokenFan,  ///< crosses itself, has no area or is beyond the work budget: a fan from corner 0, which may
               ///< leave the outline
};

/// Cuts polygons with any number of corners into corners - 2 triangles each. Keeps its buffers between calls.
///
/// The outline is projected along the largest component of its Newell normal. For a plane polygon that is an
/// affine map of its plane, so what is convex or inside there is so in space, and the coordinates are those
/// of the file, without rounding; orientation is decided exactly.
class Triangulator {
 public:
  /// Appends the triangles of `polygon` (at least 3 corners) to `triangles`, as corner numbers from 0, in the
  /// polygon's orientation.
  TriangulationKind append(std::span<const Vec3> polygon, std::vector<std::uint32_t>& triangles);

 private:
  /// Slivers are avoided first and accepted when there is no other way.
  enum class Care : std::uint8_t { kAvoidSlivers, kExact };

  bool isStrictlyConvex(Care care) const;
  bool turnsLeft(std::uint32_t a, std::uint32_t b, std::uint32_t c, Care care) const;
  bool clipEars(std::vector<std::uint32_t>& triangles);
  bool isEar(std::uint32_t corner, Care care);
  void buildGrid();
  int turn(std::uint32_t a, std::uint32_t b, std::uint32_t c) const;
  std::size_t cell(double coordinate, int axis) const;

  // Point tests that all calls of one Triangulator together may spend on ear clipping: up to five seconds
  // when every one needs exact arithmetic. Without it a file of a few megabytes could keep the quadratic
  // search busy for hours.
  std::uint64_t budget_ = std::uint64_t{1} << 25;

  std::vector<Vec2> points_;                // [n] projected, counter-clockwise
  std::vector<std::uint32_t> previous_;     // [n] the outline that is left, as a ring
  std::vector<std::uint32_t> next_;         // [n]
  std::vector<std::uint8_t> blocks_;        // [n] still in the ring and not clearly convex
  std::vector<std::uint32_t> cell_begin_;   // [cells + 1]
  std::vector<std::uint32_t> cell_corner_;  // [n] corners sorted by cell
  std::size_t grid_side_ = 1;
  Vec2 grid_origin_ = Vec2::Zero();
  Vec2 cells_per_unit_ = Vec2::Zero();
};

/// Sign of the area of the triangle a, b, c: 1 counter-clockwise, -1 clockwise, 0 collinear; exact as long as
/// no product of two coordinates overflows or underflows.
int orientation(const Vec2& a, const Vec2& b, const Vec2& c);

}  // namespace heatskin
