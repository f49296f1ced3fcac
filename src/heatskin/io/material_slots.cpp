#include "heatskin/io/material_slots.h"

#include "heatskin/io/asset.h"

namespace heatskin {

Vec3f slotValue(const MaterialSlot& slot, const Vec3f& factor, float low, const Vec3f& texel) {
  switch (slot.rule) {
    case SlotRule::kOcclusion:
      return Vec3f::Ones() + factor.cwiseProduct(texel - Vec3f::Ones());
    case SlotRule::kBetween:
      return low * (Vec3f::Ones() - texel) + factor.cwiseProduct(texel);
    case SlotRule::kMultiply:
    case SlotRule::kTangent:
      break;
  }
  return factor.cwiseProduct(texel);
}

SlotUses standardSlots() {
  SlotUses uses;
  for (std::size_t s = 0; s < kSlotCount; ++s) {
    uses[s].factor.setConstant(kMaterialSlots[s].standard);
    uses[s].low = kMaterialSlots[s].standard_low;
  }
  return uses;
}

SlotUses plainSlots() {
  SlotUses uses = standardSlots();
  uses[slotOf("metallic")].factor.setZero();
  uses[slotOf("roughness")].factor.setConstant(0.75f);
  return uses;
}

}  // namespace heatskin
