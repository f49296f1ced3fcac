#include "heatskin/product/material_factors.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "heatskin/appearance/shading_normals.h"
#include "heatskin/appearance/slot_appearance.h"
#include "heatskin/io/color_space.h"
#include "heatskin/io/gltf_document.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

GltfJson* find(GltfJson* object, std::string_view key) {
  return object == nullptr ? nullptr : memberOf(*object, key);
}

/// The object with a slot's texture and factor; null if the material has none.
GltfJson* holderOf(GltfJson& material, const MaterialSlot& slot) {
  GltfJson* outer = &material;
  if (!slot.extension.empty()) outer = find(find(&material, "extensions"), slot.extension);
  return slot.object.empty() || outer == nullptr ? outer : find(outer, slot.object);
}

bool sameTexture(const MaterialSlot& a, const MaterialSlot& b) {
  return a.extension == b.extension && a.object == b.object && a.texture == b.texture;
}

/// Numbers of a file that people read: six digits say more than textures do.
double rounded(double value) {
  return std::round(value * 1e6) / 1e6;
}

/// The factor that shows the mean value. Occlusion has none of its own: without a texture there is none.
void setFactor(GltfJson& material, const MaterialSlot& slot, const Vec3& mean) {
  if (slot.factor.empty() || slot.factor_in_texture) return;
  Vec3 factor = mean;
  if (!slot.strength.empty()) {
    const GltfJson* strength = find(find(find(&material, "extensions"), slot.strength_in), slot.strength);
    if (strength != nullptr && strength->is_number() && strength->get<double>() > 0)
      factor /= strength->get<double>();
  }
  if (slot.bounded || !slot.strength.empty()) factor = factor.cwiseMax(0.0).cwiseMin(1.0);
  GltfJson& place = (*holderOf(material, slot))[std::string(slot.factor)];
  if (slot.count == 1) {
    place = rounded(factor[0]);
  } else {
    place = {rounded(factor[0]), rounded(factor[1]), rounded(factor[2])};
  }
}

}  // namespace

std::array<Vec3, kSlotCount> SlotSums::zeros() {
  std::array<Vec3, kSlotCount> all;
  all.fill(Vec3::Zero());
  return all;
}

void SlotSums::add(const SlotSums& other) {
  area += other.area;
  for (std::size_t s = 0; s < kSlotCount; ++s)
    sums[s] += other.sums[s];
}

std::map<std::pair<std::size_t, std::size_t>, SlotSums> slotSums(const Asset& asset, const Surface& surface,
                                                                 const ChannelLayout& layout) {
  std::map<std::pair<std::size_t, std::size_t>, SlotSums> result;
  std::vector<std::size_t> slots;
  for (const ChannelGroup& group : layout.groups()) {
    const std::size_t slot = slotOf(group.name);
    if (slot < kSlotCount && kMaterialSlots[slot].rule != SlotRule::kTangent) slots.push_back(slot);
  }
  if (slots.empty()) return result;

  // Meshes and primitives without triangles are not written.
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> keys(asset.meshes.size());
  std::size_t written = 0;
  for (std::size_t m = 0; m < asset.meshes.size(); ++m) {
    std::size_t place = 0;
    for (const Primitive& primitive : asset.meshes[m].primitives) {
      keys[m].emplace_back(written, place);
      if (asset.file != nullptr)
        keys[m].back() = {static_cast<std::size_t>(asset.meshes[m].source),
                          static_cast<std::size_t>(primitive.source)};
      place += primitive.triangles.empty() ? 0 : 1;
    }
    written += place > 0 ? 1 : 0;
  }

  // Enough for a mean to a hundredth; every face with at least one point, however small.
  constexpr std::size_t kPoints = 100'000;
  const SlotAppearance appearance(asset, surface, asset.images);
  const auto add = [&](const SurfacePoint& p, double area) {
    const FaceSource& source = surface.sources()[p.face];
    const auto mesh = static_cast<std::size_t>(asset.instances[source.instance].mesh);
    SlotSums& sums = result[keys[mesh][source.primitive]];
    sums.area += area;
    for (const std::size_t slot : slots) {
      Vec3 value = appearance.value(p, slot).cast<double>();
      if (kMaterialSlots[slot].values == ColorSpace::kSrgb) {
        for (int c = 0; c < 3; ++c)
          value[c] = static_cast<double>(linearFromSrgb(static_cast<float>(value[c])));
      }
      sums.sums[slot] += area * value;
    }
  };
  const double share = surface.totalArea() / kPoints;
  for (const SurfacePoint& p : sampleSurface(surface, kPoints, 0))
    add(p, share);
  // A primitive that no point met.
  constexpr double kHardly = 1e-9;
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f)
    add({f, Vec3::Constant(1.0 / 3)}, kHardly * surface.areas()[f]);
  return result;
}

void stripSlots(GltfJson& material, const ChannelLayout& layout, std::uint32_t constant,
                const SlotSums& means, bool tangents) {
  std::vector<std::size_t> gone;
  for (std::size_t g = 0; g < layout.groups().size(); ++g) {
    const std::size_t slot = slotOf(layout.groups()[g].name);
    if (slot < kSlotCount && (constant >> g & 1) == 0) gone.push_back(slot);
  }
  const MaterialSlot& anisotropy = kMaterialSlots[kAnisotropySlot];
  if (!tangents && std::find(gone.begin(), gone.end(), kAnisotropySlot) == gone.end() &&
      holderOf(material, anisotropy) != nullptr)
    std::erase(gone, kNormalSlot);
  const auto isGone = [&](std::size_t slot) {
    return std::find(gone.begin(), gone.end(), slot) != gone.end();
  };
  // Slots may share a texture: all of them are found before one of them goes. A product that is written again
  // has none, and its means already.
  std::vector<std::size_t> textured;
  for (const std::size_t slot : gone) {
    bool shared = false;
    for (std::size_t other = 0; other < kSlotCount; ++other)
      shared = shared || (sameTexture(kMaterialSlots[slot], kMaterialSlots[other]) && !isGone(other));
    if (!shared && find(holderOf(material, kMaterialSlots[slot]), kMaterialSlots[slot].texture) != nullptr)
      textured.push_back(slot);
  }
  for (const std::size_t slot : textured) {
    holderOf(material, kMaterialSlots[slot])->erase(std::string(kMaterialSlots[slot].texture));
    if (means.area > 0 && kMaterialSlots[slot].rule != SlotRule::kTangent)
      setFactor(material, kMaterialSlots[slot], means.sums[slot] / means.area);
  }
  if (std::find(textured.begin(), textured.end(), kAnisotropySlot) == textured.end()) return;
  GltfJson& extensions = material["extensions"];
  extensions.erase(std::string(anisotropy.extension));
  if (extensions.empty()) material.erase("extensions");
}

}  // namespace heatskin
