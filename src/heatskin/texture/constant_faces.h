#pragma once

// Faces whose colour needs no kernels. A texture returns their colour as it is.

#include <cstdint>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

struct ConstantFaces {
  std::vector<std::uint32_t> color_of_face;  // [F] index into colors, kNone: has kernels; empty: no such face
  std::vector<Vec3f> colors;                 ///< sRGB in [0, 1]

  bool empty() const { return color_of_face.empty(); }

  /// The colour of a face; null if kernels decide.
  const Vec3f* find(std::uint32_t face) const {
    return empty() || color_of_face[face] == kNone ? nullptr : &colors[color_of_face[face]];
  }
};

}  // namespace heatskin
