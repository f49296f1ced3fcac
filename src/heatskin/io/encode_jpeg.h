#pragma once

// JPEG for comparisons with what asset pipelines write.

#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/result.h"

namespace heatskin {

/// Progressive JPEG bytes of 8-bit RGB pixels, [height, width, 3], with Huffman tables made for the picture.
/// `quality` is 1 .. 100 as in libjpeg; from 90 on colours are kept at full resolution (4:4:4), below at half
/// (4:2:0), as most tools do. Deterministic: the same pixels give the same bytes.
Result<std::vector<std::uint8_t>> encodeJpeg(std::span<const std::uint8_t> rgb, int width, int height,
                                             int quality);

}  // namespace heatskin
