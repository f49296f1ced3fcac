#pragma once

// Coordinates for a fallback image where the asset has none that would do: no texture coordinates at all,
// vertex colours, or coordinates that overlap.

#include <cstddef>
#include <optional>

#include "heatskin/base/channel_layout.h"
#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/surface/surface.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {

/// The side of the image that the coordinates of fallbackAtlas() are made for.
inline constexpr int kFallbackAtlasSide = 1024;

/// What an image along new coordinates must gain over colours at the vertices, and how many times larger the
/// whole file may become by it (vertices are split where charts end), unless it takes no more bytes than
/// anybody minds.
inline constexpr double kAtlasGain = 3;  // dB
inline constexpr double kAtlasGrowth = 2;
inline constexpr std::size_t kAtlasBytes = 100'000;

/// The asset with the same triangles in the same order, but for what kernels colour with vertices that are
/// split along the charts of a new atlas, its coordinates as a further TEXCOORD, and a white texture of
/// kFallbackAtlasSide along it in the place of base colours, which Fallback::kTexture then draws. `surface`
/// is the asset's, `constants` are ConstantFaces of the layout on it. Nothing where that cannot be: charts
/// that find no room, holes or glass (their texture stays), materials that are described in other ways.
Result<std::optional<Asset>> fallbackAtlas(const Asset& asset, const Surface& surface,
                                           const ChannelLayout& layout, const ConstantFaces& constants);

}  // namespace heatskin
