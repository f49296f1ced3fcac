#include "heatskin/product/color_slots.h"

#include "heatskin/io/gltf_document.h"

namespace heatskin {

std::vector<ColorSlot> colorSlots(GltfJson& material) {
  std::vector<ColorSlot> slots;
  if (GltfJson* pbr = memberOf(material, "pbrMetallicRoughness"); pbr != nullptr && pbr->is_object())
    slots.push_back({pbr, "baseColorTexture", "baseColorFactor"});
  GltfJson* extensions = memberOf(material, "extensions");
  GltfJson* glossiness =
      extensions == nullptr ? nullptr : memberOf(*extensions, "KHR_materials_pbrSpecularGlossiness");
  if (glossiness != nullptr && glossiness->is_object())
    slots.push_back({glossiness, "diffuseTexture", "diffuseFactor"});
  return slots;
}

void whiten(const ColorSlot& slot) {
  GltfJson* factor = memberOf(*slot.object, slot.factor);
  if (factor == nullptr || !factor->is_array() || factor->size() != 4 || !(*factor)[3].is_number()) {
    slot.object->erase(slot.factor);
    return;
  }
  const double alpha = (*factor)[3].get<double>();
  if (alpha == 1) {
    slot.object->erase(slot.factor);
  } else {
    *factor = {1, 1, 1, alpha};
  }
}

}  // namespace heatskin
