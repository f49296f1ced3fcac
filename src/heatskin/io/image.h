#pragma once

// PNG, JPEG and WebP bytes to and from pixels.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"

namespace heatskin {

/// Decodes PNG (every colour type and bit depth; 16 bit is rounded to 8), JPEG (baseline, progressive, grey,
/// CMYK refused by name) or WebP, told apart by their first bytes, not by name. ICC profiles and gamma chunks
/// are ignored: texels are taken as sRGB. The size is checked against `max_pixels` before anything is
/// allocated. `name` is used in error messages and becomes Image::name.
Result<Image> decodeImage(std::span<const std::uint8_t> bytes, const std::string& name,
                          std::size_t max_pixels = std::size_t{1} << 28);

/// Reads and decodes an image file.
Result<Image> readImage(const std::filesystem::path& path, std::size_t max_pixels = std::size_t{1} << 28);

/// Lossless PNG bytes of an 8-bit image with 1, 3 or 4 channels; `pixels` is [height, width, channels].
/// Deterministic: the same pixels give the same bytes.
Result<std::vector<std::uint8_t>> encodePng(std::span<const std::uint8_t> pixels, int width, int height,
                                            int channels);

/// encodePng, then an atomic write.
Result<void> writePng(const std::filesystem::path& path, std::span<const std::uint8_t> pixels, int width,
                      int height, int channels);

/// The least alpha of all texels; 255: the image is opaque.
std::uint8_t smallestAlpha(const Image& image);

}  // namespace heatskin
