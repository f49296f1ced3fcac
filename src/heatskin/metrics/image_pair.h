#pragma once

// What every picture metric does first: two pictures of one size, and which of their pixels count.

#include <cstdint>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/image_f.h"

namespace heatskin {

/// How the metrics treat foreground masks.
///
/// A pixel counts if either picture's mask has it; a picture without a mask adds nothing to the other's, and
/// without any mask every pixel counts. The union, because a silhouette that one picture misses is an error
/// that should be seen. The metrics that look at neighbourhoods (SSIM, MS-SSIM, FLIP, LPIPS) first set every
/// pixel that does not count to `background` in both pictures: their value depends on the foreground alone,
/// whatever a renderer left behind it.
struct MaskOptions {
  bool use_mask = true;                      ///< false: masks are ignored, every pixel counts
  float background[3] = {0.0f, 0.0f, 0.0f};  ///< sRGB 0..1
};

/// Two pictures ready to be compared.
struct ImagePair {
  int width = 0;
  int height = 0;
  std::vector<float> reference;       // [height, width, 3]; background filled in where nothing counts
  std::vector<float> test;            // [height, width, 3]; the same
  std::vector<std::uint8_t> counted;  // [height, width], 0 or 1; empty: every pixel counts
  std::size_t counted_pixels = 0;

  std::size_t pixelCount() const {
    return static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  }
};

/// Refuses pictures that are empty, of different sizes, inconsistent (array lengths), not finite, or without
/// any pixel that counts; returns which pixels count (empty: all).
Result<std::vector<std::uint8_t>> countedPixels(const ImageF& reference, const ImageF& test,
                                                const MaskOptions& options);

/// Neighbourhood metrics work in bands of whole rows; a longer row would need unreasonable memory.
inline constexpr int kMaxPictureSide = 1 << 16;

/// countedPixels, and the background filled in. Refuses sides above kMaxPictureSide.
Result<ImagePair> makeImagePair(const ImageF& reference, const ImageF& test, const MaskOptions& options);

}  // namespace heatskin
