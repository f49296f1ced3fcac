#pragma once

// Textures at a lower resolution, as asset pipelines make them.

#include "heatskin/io/asset.h"

namespace heatskin {

/// The values that texels are averaged in.
enum class ResizeSpace {
  kLinear,  ///< linear light: what a mip map holds
  kSrgb,    ///< the stored values: the mean that has the least squared error in them
};

/// The window that texels are averaged over, stretched by the ratio of the sizes.
enum class ResizeWindow {
  kBox,      ///< the area of the new texel
  kLanczos,  ///< a sinc windowed to three lobes: sharper
};

struct ResizeOptions {
  ResizeSpace space = ResizeSpace::kSrgb;
  ResizeWindow window = ResizeWindow::kLanczos;

  /// Colours count by their texel's alpha, so that what nobody sees does not show at the rim of a cut-out.
  /// False for textures of opaque materials, whose alpha means nothing.
  bool weigh_by_alpha = false;
};

/// `image` with so many texels, at least one and at most as many as it has (more leaves that side as it is).
/// Beyond the border the outermost texels repeat. The same size gives the same texels to the bit; a texture
/// of one colour keeps it.
Image resized(const Image& image, int width, int height, const ResizeOptions& options = {});

}  // namespace heatskin
