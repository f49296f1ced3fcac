#pragma once

// Kernels carried from one surface to another that has the same triangles.

#include <cstddef>

#include "heatskin/kernels/kernel_set.h"
#include "heatskin/surface/face_matching.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

struct ReseatedKernels {
  KernelSet kernels;
  std::size_t moved = 0;  ///< whose triangle is no longer there: they are at the nearest point instead
};

/// Kernels of `from` on `to`, in the same order: the same barycentric coordinates in the matching face, their
/// axes turned into its plane.
ReseatedKernels reseatKernels(const KernelSet& kernels, const Surface& from, const Surface& to,
                              const FaceMatching& matching);

/// The point of `to` at a point of `from`, whose face has a match.
SurfacePoint matchingPoint(const FaceMatching& matching, const SurfacePoint& point);

}  // namespace heatskin
