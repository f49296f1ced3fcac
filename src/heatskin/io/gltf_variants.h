#pragma once

// KHR_materials_variants. Private to the glTF reader.

#include "heatskin/io/asset.h"
#include "heatskin/io/gltf_json.h"

namespace heatskin::gltf {

/// Names of variants, and what primitives of `asset`, whose meshes and materials were read, have in them.
/// Nothing here is an error, because the file shows its default without it: what cannot be used (a name that
/// is missing, far too long or there already, an index of nothing, more than kMaxVariants) is left out with a
/// notice.
void readVariants(const Document& document, NoticeList& notices, Asset& asset);

}  // namespace heatskin::gltf
