#pragma once

// Materials, textures, samplers and images.

#include <filesystem>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/gltf_buffers.h"
#include "heatskin/io/gltf_json.h"

namespace heatskin::gltf {

/// Fills materials, textures and images of `asset`: those of base colours first, then those of the other
/// slots (material_slots.h). Only textures of some material are kept, and only their images are decoded, each
/// once. A missing image file leaves its texture without image and a notice. An image that is damaged, too
/// large or outside the asset's folder is an error for a base colour; in other slots it is left out with a
/// notice.
Result<void> readMaterials(const Document& document, Buffers& buffers, const LoadOptions& options,
                           NoticeList& notices, Asset& asset);

}  // namespace heatskin::gltf
