#pragma once

// Where a ray meets a surface.

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/surface/face_tree.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Points origin + t direction with t in [0, reach]. The direction is not zero; t counts in units of it.
struct Ray {
  Vec3 origin = Vec3::Zero();
  Vec3 direction = {0, 0, 1};
  double reach = std::numeric_limits<double>::infinity();
};

/// What a ray meets first.
struct RayHit {
  SurfacePoint point{kNone, Vec3::Zero()};  ///< face kNone: nothing
  double t = std::numeric_limits<double>::infinity();

  bool any() const { return point.face != kNone; }
};

/// Answers rays with the surface's FaceTree, both sides of faces alike. Watertight: a ray through an edge or
/// a vertex inside of the surface meets one of its faces, never the gap between them (Woop, Benthin and Wald,
/// "Watertight ray/triangle intersection", JCGT 2013; in double, where a zero counts as inside). Of several
/// faces at the same distance the lowest one answers. Queries are thread-safe. The surface must outlive it.
class RayQuery {
 public:
  explicit RayQuery(const Surface& surface);

  const Surface& surface() const { return tree_.surface(); }

  /// The nearest point on the ray.
  RayHit nearest(const Ray& ray) const;

  /// True if there is any.
  bool blocked(const Ray& ray) const;

 private:
  template <bool kAny>
  RayHit search(const Ray& ray) const;

  FaceTree tree_;
  std::vector<std::array<Vec3, 3>> corners_;  // [F] in the order of the leaves: one look for a triangle
};

}  // namespace heatskin
