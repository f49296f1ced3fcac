#pragma once

// How large an asset is, from the first bytes of its files: for predictions, in a moment and without
// decoding anything.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>

namespace heatskin::batch {

struct AssetSize {
  bool found = false;      ///< the file is there and has an ending we know
  double triangles = 0;    ///< about: of an OBJ file from its length
  double vertices = 0;     ///< as stored
  double texels = 0;       ///< of all images
  double image_bytes = 0;  ///< of all images as they are stored: detail takes bytes
  double file_bytes = 0;   ///< of the file and those it refers to
};

/// Never fails: what cannot be read counts nothing.
AssetSize measureAsset(const std::filesystem::path& file);

/// Width and height of a PNG, JPEG or WebP image from its first bytes; zeros if they do not tell.
std::pair<std::uint32_t, std::uint32_t> imageSize(std::span<const std::uint8_t> head);

}  // namespace heatskin::batch
