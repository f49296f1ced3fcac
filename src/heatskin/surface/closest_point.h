#pragma once

// The surface point nearest to a place in space.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "heatskin/surface/surface.h"

namespace heatskin {

/// A nearest surface point and its distance.
struct ClosestPoint {
  SurfacePoint point;
  double distance = 0;
};

/// Answers nearest-point queries with a bounding volume hierarchy. Distances are computed in double;
/// of several faces at the same distance (a point above an edge) the lowest one answers. Queries are
/// thread-safe. The surface must outlive it.
class ClosestPointQuery {
 public:
  explicit ClosestPointQuery(const Surface& surface);
  ~ClosestPointQuery();
  ClosestPointQuery(ClosestPointQuery&&) noexcept;
  ClosestPointQuery& operator=(ClosestPointQuery&&) noexcept;

  /// `x` in surface coordinates, finite.
  ClosestPoint operator()(const Vec3& x) const;

  /// The face that is nearest after its distance was multiplied by what `handicap` says: at least 1, or
  /// infinite for a face that is out of the question. One face must be possible.
  ClosestPoint find(const Vec3& x, const std::function<double(std::uint32_t)>& handicap) const;

  /// Many queries, in parallel; `out` is [x.size()].
  void find(std::span<const Vec3> x, std::span<ClosestPoint> out) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Nearest point of the triangle (a, b, c) to x as barycentric coordinates (non-negative, sum 1).
Vec3 closestBarycentric(const Vec3& x, const Vec3& a, const Vec3& b, const Vec3& c);

}  // namespace heatskin
