#pragma once

// What is in a file besides meshes, in a word each, and what its bytes are spent on: for the lines and lists
// that say what a product has kept of its input. Internal: includes the JSON library.

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/gltf_document.h"

namespace heatskin {

/// "normals", "animations", "normalTexture", "KHR_materials_sheen", ...
std::set<std::string> contentsOf(const GltfDocument& document);

/// The same of an asset's file; of other formats than glTF, what they have once they are written as glTF.
Result<std::set<std::string>> contentsOf(const Asset& asset);

/// An asset of another format as a GLB. Images that only give values to channels of `replaced` are written as
/// a single white pixel: whoever replaces them need not wait for their encoder. Null: with all images.
Result<std::vector<std::uint8_t>> encodedAsGltf(const Asset& asset, const ChannelLayout* replaced);

/// Bytes of a product by what they are for.
struct FileParts {
  std::size_t kernels = 0;  ///< buffers of HSK_kernel_texture
  std::size_t colors = 0;   ///< vertex colours
  std::size_t images = 0;
  std::size_t extras = 0;  ///< kernels repeated as text
};

/// Of a GLB; nothing where it cannot be told.
FileParts partsOf(std::span<const std::uint8_t> glb);

}  // namespace heatskin
