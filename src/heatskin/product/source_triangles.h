#pragma once

// The triangles of a file, numbered as they come: over instances, then primitives, then triangles. A product
// refers to these numbers and to the corners in file order, so that it depends neither on how a surface
// welds, orients and frames its faces nor on what it drops.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/io/asset.h"
#include "heatskin/product/product.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Triangles of an asset (fewer than 2^32), instances counted.
std::size_t countTriangles(const Asset& asset);

/// Leads from a surface to the triangles of the asset it was built from, and back. Asset and surface must
/// outlive it.
class SourceTriangles {
 public:
  SourceTriangles(const Asset& asset, const Surface& surface);

  /// Triangles of the asset.
  std::size_t size() const { return face_of_triangle_.size(); }

  /// The face made from a triangle; kNone if the surface dropped it (no area, or a repetition).
  std::uint32_t faceOf(std::uint32_t triangle) const { return face_of_triangle_[triangle]; }

  /// And back.
  std::uint32_t triangleOf(std::uint32_t face) const { return triangle_of_face_[face]; }

  TrianglePoint toTriangle(const SurfacePoint& point) const;

  /// The triangle must have a face.
  SurfacePoint toSurface(const TrianglePoint& point) const;

  /// The angle (radians, [0, pi)) of an axis against the direction from corner 0 to corner 1 of the file's
  /// triangle, growing towards corner 2, from its angle against the first axis of the face; and back. For a
  /// triangle that is not turned over, both grow counter-clockwise seen from its front.
  double axisInTriangle(std::uint32_t face, double angle) const;
  double axisInFace(std::uint32_t face, double angle) const;

  /// The same for a vector of the face's plane: its components along the edge from corner 0 to corner 1 and
  /// perpendicular to it, towards corner 2. Where the triangle is turned over, that is a mirrored frame.
  Vec2 vectorInTriangle(std::uint32_t face, const Vec2& vector) const;
  Vec2 vectorInFace(std::uint32_t face, const Vec2& vector) const;

  /// Where the point is, in asset coordinates; also for triangles without a face.
  Vec3 assetPosition(const TrianglePoint& point) const;

 private:
  /// Direction of the edge from corner 0 to corner 1 in face coordinates, and whether corner 2 lies left (1)
  /// or right (-1).
  struct Orientation {
    double angle, sign;
  };
  Orientation orientation(std::uint32_t face) const;

  const Asset* asset_;
  const Surface* surface_;
  std::vector<std::uint32_t> face_of_triangle_;  // [triangles]
  std::vector<std::uint32_t> triangle_of_face_;  // [F]
  /// First triangle of each primitive of each instance, in order.
  struct Run {
    std::uint32_t first, instance, primitive;
  };
  std::vector<Run> runs_;
};

}  // namespace heatskin
