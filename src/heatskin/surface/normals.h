#pragma once

// Normals at vertices: means of face normals, weighted by the angle a face has there, so that they do not
// depend on how a fan is triangulated (Thuermer and Wuethrich, "Computing vertex normals from polygonal
// facets", 1998).

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"

namespace heatskin {

/// The angle at `a` of the triangle a b c; atan2 keeps tiny and flat angles accurate.
inline double cornerAngle(const Vec3& a, const Vec3& b, const Vec3& c) {
  const Vec3 u = b - a, v = c - a;
  return std::atan2(u.cross(v).norm(), u.dot(v));
}

/// A mean of unit normals.
class NormalSum {
 public:
  void add(const Vec3& unit_normal, double angle) { sum_ += angle * unit_normal; }

  /// True when nothing was added or normals cancel, as those of a sheet folded onto itself.
  bool cancelled() const { return !(sum_.norm() > kCancelled); }

  /// The unit normal, or `otherwise` when cancelled.
  Vec3 unit(const Vec3& otherwise) const { return cancelled() ? otherwise : Vec3(sum_ / sum_.norm()); }

 private:
  static constexpr double kCancelled = 1e-9;  ///< radians; angles round at 1e-16
  Vec3 sum_ = Vec3::Zero();
};

/// The corners (3 * face + corner) around each of `vertices` vertices, in increasing order.
class CornersOfVertices {
 public:
  /// `vertex_of_corner` is [3 F].
  CornersOfVertices(std::size_t vertices, std::span<const std::uint32_t> vertex_of_corner);

  std::span<const std::size_t> operator[](std::size_t vertex) const {
    return std::span(corners_).subspan(begin_[vertex], begin_[vertex + 1] - begin_[vertex]);
  }

 private:
  std::vector<std::size_t> begin_;    // [V + 1]
  std::vector<std::size_t> corners_;  // [3 F]
};

}  // namespace heatskin
