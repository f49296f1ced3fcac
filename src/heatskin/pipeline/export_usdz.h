#pragma once

// Baked products as USDZ: what phones show. A stored zip archive, data at multiples of 64 bytes, with a text
// layer first: meshes where they are, materials as UsdPreviewSurface with the baked images.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heatskin/base/result.h"

namespace heatskin {

struct UsdzOutcome {
  std::vector<std::uint8_t> bytes;
  std::size_t meshes = 0, materials = 0, images = 0;
  std::vector<Notice> notices;
};

/// The GLB that bakeProduct() made (PNG, JPEG or WebP images) as USDZ; images become PNG. Animations, skins,
/// cameras and lights are left out, with a notice.
Result<UsdzOutcome> encodeUsdz(std::span<const std::uint8_t> baked_glb);

/// Looks at an archive as those who made the format demand it: stored entries, aligned data, a USD layer
/// first, nothing but layers and images, and every image that the text layer names. Nothing is wrong with an
/// empty answer; otherwise it says what.
std::string checkUsdz(std::span<const std::uint8_t> bytes);

}  // namespace heatskin
