#pragma once

// Colours of a surface drawn into an image, along texture coordinates.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/rendering/atlas.h"
#include "heatskin/rendering/render.h"

namespace heatskin {

struct BakeOptions {
  int width = 256, height = 256;
  int supersampling = 2;              ///< points along each side of a texel
  std::vector<std::uint8_t> include;  ///< [F] nonzero: draw the face; empty: draw all
};

/// An 8-bit sRGB image without holes: texels outside of all charts have the colours of the charts around
/// them, fading into their mean, so that neither filtering nor compression brings in foreign colours.
struct BakedImage {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;  // [height, width, 3]
  std::size_t covered_texels = 0;

  /// The colour (sRGB) at texture coordinates as renderers show it: repeated, bilinear, in linear light.
  Vec3f at(const Vec2& uv) const;
};

/// Means over texels, in linear light. Where faces overlap in the image, the lowest one counts. A size
/// outside 1 .. kMaxImageSide, supersampling included, gives an empty image. Equal for any number of threads.
BakedImage bakeImage(std::uint32_t face_count, const FaceUvs& uvs, const ColorSource& colors,
                     const BakeOptions& options = {});

}  // namespace heatskin
