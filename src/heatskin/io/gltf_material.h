#pragma once

// Materials, textures, samplers and images, as far as the base colour needs them.

#include <filesystem>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/gltf_buffers.h"
#include "heatskin/io/gltf_json.h"

namespace heatskin::gltf {

/// Fills materials, textures and images of `asset`. Only textures that are some material's base colour are
/// kept, and only their images are decoded, each once. A missing image file leaves its texture without image
/// and a notice; an image that is damaged, too large or outside the asset's folder is an error.
Result<void> readMaterials(const Document& document, Buffers& buffers, const LoadOptions& options,
                           NoticeList& notices, Asset& asset);

}  // namespace heatskin::gltf
