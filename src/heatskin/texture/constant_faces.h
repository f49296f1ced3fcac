#pragma once

// Faces whose colour needs no kernels: their material has a factor and nothing else. A texture returns their
// colour as it is.

#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/asset.h"
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

/// Those of an asset that is fitted. None if all faces are so: then there is nothing to fit, and kernels that
/// are there all the same are meant to be seen.
ConstantFaces constantFaces(const Appearance& appearance);

/// Faces of `materials` (indices into Asset::materials): they have the factor's colour.
ConstantFaces constantFaces(const Asset& asset, const Surface& surface,
                            std::span<const std::size_t> materials);

/// True if nothing but a factor gives the primitive its colour: no vertex colours, and no texture or no
/// coordinates for it. The same as Appearance::faceConstant() of its faces.
bool hasOneColor(const Asset& asset, const Primitive& primitive);

}  // namespace heatskin
