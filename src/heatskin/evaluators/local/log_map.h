#pragma once

// The unfolding of LocalHK as a tool of its own: the surface around a point, laid out in the plane of its
// face (the discrete logarithmic map of METHOD section 8).

#include <array>
#include <cstdint>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/evaluators/local/supports.h"
#include "heatskin/surface/surface.h"

namespace heatskin::local {

/// A face that is reached, and where its corners lie in face coordinates of the source's face, relative to
/// the source.
struct UnfoldedFace {
  std::uint32_t face = 0;
  std::array<Vec2, 3> corners;
};

/// Faces in the order in which they are reached, the source's own first. With joined corners, all faces
/// around a vertex have it at one place, unless they see it around different sides of something.
class LogMap {
 public:
  /// As accurate as the library unfolds: what is seen is carried from face to face, and corners are joined.
  explicit LogMap(const Surface& surface);

  /// Everything whose centroid is nearer than `radius` plus its own size. Computed in float.
  std::vector<UnfoldedFace> unfold(const SurfacePoint& source, double radius) const;

 private:
  const Surface* surface_;
  SupportBuilder builder_;
};

}  // namespace heatskin::local
