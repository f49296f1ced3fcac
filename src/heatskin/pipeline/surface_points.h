#pragma once

// Points as people have them (positions in space, triangles of a file) to points of a surface, and back.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/asset.h"
#include "heatskin/product/product.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Points found on a surface.
struct FoundPoints {
  std::vector<SurfacePoint> points;
  double max_distance = 0;  ///< of what was asked for from the surface, in asset units
};

/// See the head of the file. Asset and surface must outlive it; calls may run concurrently.
class SurfacePointFinder {
 public:
  SurfacePointFinder(const Asset& asset, const Surface& surface);
  ~SurfacePointFinder();
  SurfacePointFinder(const SurfacePointFinder&) = delete;
  SurfacePointFinder& operator=(const SurfacePointFinder&) = delete;

  /// How messages name the i-th point: "line 7". Unless set, "point 6".
  std::function<std::string(std::size_t)> name_of;

  /// Triangles of the asset, instances counted.
  std::size_t triangleCount() const;

  /// The nearest surface points of positions in asset coordinates. Refuses positions so far away that
  /// distances to the surface cannot be told apart.
  Result<FoundPoints> fromPositions(std::span<const Vec3> positions) const;

  /// Points of the asset's triangles. Barycentric coordinates may miss their sum and range by a little
  /// (numbers with four decimals). Where the surface has dropped a triangle (no area, or a repetition of
  /// another) the nearest point takes its place.
  Result<FoundPoints> fromTriangles(std::span<const TrianglePoint> points) const;

  /// Back again.
  std::vector<Vec3> toPositions(std::span<const SurfacePoint> points) const;
  std::vector<TrianglePoint> toTriangles(std::span<const SurfacePoint> points) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace heatskin
