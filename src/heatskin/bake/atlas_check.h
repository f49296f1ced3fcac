#pragma once

// A slow and obvious look at an atlas: which chart needs which texel, and whether two need the same one.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"

namespace heatskin {

struct AtlasCheck {
  std::size_t owned_texels = 0;   ///< read by bilinear filtering at some point of a face
  std::size_t shared_texels = 0;  ///< of these, read for faces of several charts
  std::size_t outside_faces = 0;  ///< with coordinates outside [0, 1], or not finite
  std::size_t flipped_faces = 0;  ///< clockwise seen on the surface
};

/// Draws every texel that bilinear filtering at mip level `level` reads for the points of every face. `uvs`
/// and `chart_of` are [T]; width and height are those of level 0 and multiples of 2^level.
AtlasCheck checkAtlas(std::span<const std::array<Vec2f, 3>> uvs, std::span<const std::uint32_t> chart_of,
                      int width, int height, int level = 0);

}  // namespace heatskin
