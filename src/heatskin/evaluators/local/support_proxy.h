#pragma once

// A coarser copy of a fine surface that supports live on (METHOD section 8): how many faces a kernel reaches
// is then a matter of the kernel's size, not of the mesh. Kernels, walks and queries stay on the surface
// itself.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "heatskin/surface/closest_point.h"
#include "heatskin/surface/surface.h"

namespace heatskin::local {

/// See the head of the file. Deterministic; in the coordinates of the surface, which must outlive it.
class SupportProxy {
 public:
  /// With about `faces` faces, by quadric error. Null where that would gain little: the surface has fewer
  /// than twice as many, cannot be simplified so far within kMostError, or would lose one of its components.
  static std::unique_ptr<SupportProxy> build(const Surface& surface, std::size_t faces);

  SupportProxy(const SupportProxy&) = delete;  // the search refers to the proxy beside it
  SupportProxy& operator=(const SupportProxy&) = delete;

  const Surface& surface() const { return proxy_; }

  /// The proxy face of a face of the surface: the one nearest to its centroid.
  std::uint32_t faceOf(std::uint32_t face) const { return face_of_[face]; }

  /// The point of the proxy nearest to the point `x` of face `face`: of the same component, and rather on the
  /// side the face is on than on the back of something thin.
  SurfacePoint place(std::uint32_t face, const Vec3& x) const;

  /// How far the proxy may be from the surface, as a part of its extent: well inside the windows of kernels.
  static constexpr float kMostError = 0.005f;

 private:
  SupportProxy(const Surface& surface, Surface proxy, std::vector<std::uint32_t> components);

  const Surface* surface_;
  Surface proxy_;
  std::vector<std::uint32_t> components_;  // [proxy faces] component of the surface
  ClosestPointQuery closest_;
  std::vector<std::uint32_t> face_of_;  // [F]
};

}  // namespace heatskin::local
