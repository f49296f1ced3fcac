#pragma once

// WebP for pictures on web pages, and for comparisons with what asset pipelines write.

#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/result.h"

namespace heatskin {

/// Lossy WebP bytes of 8-bit RGBA pixels, [height, width, 4]; alpha is kept exactly. `quality` is 0 .. 100.
/// Deterministic: the same pixels give the same bytes.
Result<std::vector<std::uint8_t>> encodeWebp(std::span<const std::uint8_t> rgba, int width, int height,
                                             float quality = 85);

/// Lossless WebP bytes; colours of texels with alpha 0 are not kept.
Result<std::vector<std::uint8_t>> encodeWebpLossless(std::span<const std::uint8_t> rgba, int width,
                                                     int height);

}  // namespace heatskin
