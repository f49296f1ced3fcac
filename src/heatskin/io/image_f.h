#pragma once

// The picture type that rendering makes and metrics compares: float sRGB with an optional foreground mask.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/image.h"

namespace heatskin {

/// A picture, rows from top to bottom. Values are sRGB in 0..1 (as texels / 255), not linear light.
struct ImageF {
  int width = 0;
  int height = 0;
  std::vector<float> rgb;          // [height, width, 3], sRGB in 0..1
  std::vector<std::uint8_t> mask;  // [height, width] nonzero = foreground; or empty: everything counts.
                                   // Pictures without background keep alpha here

  std::size_t pixelCount() const {
    return static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  }
  std::size_t index(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x);
  }
  float* pixel(int x, int y) { return rgb.data() + 3 * index(x, y); }
  const float* pixel(int x, int y) const { return rgb.data() + 3 * index(x, y); }
};

/// round(255 value), clamped to 0..255; not-a-number becomes 0.
inline std::uint8_t toByte(float value) {
  if (!(value > 0.0f)) return 0;
  if (value >= 1.0f) return 255;
  return static_cast<std::uint8_t>(std::lround(255.0f * value));
}

/// The 8-bit RGB bytes of the picture, [height, width, 3].
inline std::vector<std::uint8_t> toPng8(const ImageF& image) {
  std::vector<std::uint8_t> bytes(image.rgb.size());
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = toByte(image.rgb[i]);
  return bytes;
}

/// RGBA bytes with the mask as alpha (255: opaque), [height, width, 4]; an empty mask is all foreground.
inline std::vector<std::uint8_t> toPng8WithMask(const ImageF& image) {
  std::vector<std::uint8_t> bytes(4 * image.pixelCount());
  for (std::size_t i = 0; i < image.pixelCount(); ++i) {
    for (std::size_t c = 0; c < 3; ++c)
      bytes[4 * i + c] = toByte(image.rgb[3 * i + c]);
    bytes[4 * i + 3] = image.mask.empty() ? 255 : image.mask[i];
  }
  return bytes;
}

/// A decoded image as a picture: texel / 255, alpha dropped, no mask.
inline ImageF toImageF(const Image& image) {
  ImageF picture{image.width, image.height, {}, {}};
  picture.rgb.resize(3 * picture.pixelCount());
  for (std::size_t i = 0; i < picture.pixelCount(); ++i) {
    for (std::size_t c = 0; c < 3; ++c)
      picture.rgb[3 * i + c] = static_cast<float>(image.rgba[4 * i + c]) / 255.0f;
  }
  return picture;
}

/// Writes an 8-bit RGB PNG, atomically.
inline Result<void> writePng(const std::filesystem::path& path, const ImageF& image) {
  return writePng(path, toPng8(image), image.width, image.height, 3);
}

}  // namespace heatskin
