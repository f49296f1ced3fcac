#pragma once

// Colours of a surface as one image without holes, along texture coordinates (bake/sheet.h).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heatskin/bake/sheet.h"
#include "heatskin/base/vec.h"
#include "heatskin/rendering/render.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// An 8-bit sRGB image without holes: texels outside of all charts have the colours of the charts around
/// them, fading into their mean, so that neither filtering nor compression brings in foreign colours.
struct ColorImage {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;  // [height, width, 3]
  std::size_t covered_texels = 0;

  /// The colour (sRGB) at texture coordinates as renderers show it: repeated, bilinear, in linear light.
  Vec3f at(const Vec2& uv) const;
};

/// Means over texels, in linear light. A size outside 1 .. kMaxImageSide gives an empty image. Equal for any
/// number of threads; drawn in bands, so that little more memory is needed than for the image.
ColorImage drawColors(const Surface& surface, const SheetFaces& faces, const ColorSource& colors,
                      const SheetOptions& options = {});

}  // namespace heatskin
