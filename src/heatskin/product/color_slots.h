#pragma once

// Where materials of a glTF document have their base colour. Internal: includes the JSON library.

#include <cstddef>
#include <utility>
#include <vector>

#include "heatskin/io/glb_builder.h"

namespace heatskin {

/// A primitive of the file: mesh and place in it.
using PrimitiveKey = std::pair<std::size_t, std::size_t>;

/// Where a material has its base colour: the object with texture and factor, and their names.
struct ColorSlot {
  GltfJson* object;
  const char* texture;
  const char* factor;
};

/// Those of a material of the document: of metallic-roughness, then of specular-glossiness. Pointers are good
/// until the document changes.
std::vector<ColorSlot> colorSlots(GltfJson& material);

/// Makes the factor white without touching its alpha; glTF's default is not written.
void whiten(const ColorSlot& slot);

}  // namespace heatskin
