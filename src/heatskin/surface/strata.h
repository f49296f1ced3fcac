#pragma once

// A surface cut into parts of equal area (or another weight), neighbours one after the other: the faces along
// a space-filling curve, and inside each face a space-filling curve of the triangle.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/surface/surface.h"

namespace heatskin {

/// See the head of the file. Part i is the piece of the curve between i / count and (i + 1) / count of its
/// length, which runs through every face by its weight: points at uniform places of it are uniform over the
/// surface, and those at neighbouring places lie near each other, within large faces too.
class SurfaceStrata {
 public:
  /// Weights are not negative, their sum is positive; faces without weight have no part in it.
  SurfaceStrata(const Surface& surface, std::span<const double> face_weights);  // [F]

  /// The point at `place` of the curve, in [0, 1). Places are mapped evenly: as uniform as they are.
  SurfacePoint at(double place) const;

 private:
  // Of every face with weight, in the order of the curve; 12 bytes each, which fine meshes have millions of.
  std::vector<double> before_;        // [steps + 1] weight of the faces before it; at the end: of all
  std::vector<std::uint32_t> faces_;  // [steps] the face, and above its kFaceBits the corner where the curve
                                      // enters; it leaves by the next one, the longest edge away
  std::vector<std::uint32_t> guide_;  // [G + 1] the step at g / G of the whole
};

}  // namespace heatskin
