#include "heatskin/product/asset_constants.h"

#include <algorithm>
#include <map>
#include <utility>

#include "heatskin/appearance/appearance_target.h"
#include "heatskin/io/color_space.h"

namespace heatskin {
namespace {

std::uint32_t channelBits(const ChannelGroup& group) {
  std::uint32_t bits = 0;
  for (std::size_t c = group.first; c < group.first + group.count; ++c)
    bits |= std::uint32_t{1} << c;
  return bits;
}

std::uint32_t channelBits(const ChannelLayout& layout, std::uint32_t groups) {
  std::uint32_t bits = 0, bit = 1;
  for (const ChannelGroup& group : layout.groups()) {
    if ((groups & bit) != 0) bits |= channelBits(group);
    bit <<= 1;
  }
  return bits;
}

/// What the factors of a material say in a group, within its range.
void writeFactors(const Material& material, const ChannelGroup& group, float* row) {
  Vec3f values = Vec3f::Zero();
  const Vec4f factor = material.base_color_factor.cwiseMax(0.0f).cwiseMin(1.0f);
  if (group.name == "base_color") {
    values = {srgbFromLinear(factor[0]), srgbFromLinear(factor[1]), srgbFromLinear(factor[2])};
  } else if (group.name == "alpha") {
    values.setConstant(material.alpha_mode == AlphaMode::kOpaque ? 1.0f : factor.w());
  } else if (const std::size_t slot = slotOf(group.name); kMaterialSlots[slot].rule != SlotRule::kTangent) {
    values = slotConstant(kMaterialSlots[slot], material.slots[slot]);
  }  // without a normal map nothing tilts normals: 0
  for (std::size_t c = 0; c < group.count; ++c)
    row[group.first + c] = std::clamp(values[static_cast<Eigen::Index>(c)], group.range[0], group.range[1]);
}

bool hasTexture(const Asset& asset, const Primitive& primitive, const TextureUse& use) {
  const auto set = static_cast<std::size_t>(use.uv_set);
  return use.texture >= 0 && asset.textures[static_cast<std::size_t>(use.texture)].image >= 0 &&
         set < primitive.uv_sets.size() && !primitive.uv_sets[set].empty();
}

}  // namespace

ConstantFaces constantFaces(const Appearance& appearance, const ChannelLayout& layout, bool other_looks) {
  ConstantFaces out;
  out.values.channels = layout.size();
  const AppearanceTarget target(appearance, Filter::kAuto, layout);
  if (!target.hasColor() && !other_looks) return out;
  std::map<std::pair<int, std::uint32_t>, std::uint32_t> known;  // by material and groups
  for (std::uint32_t f = 0; f < appearance.faceCount(); ++f) {
    const std::uint32_t groups = target.constantGroups(f);
    if (groups == 0) continue;
    if (out.row_of_face.empty()) out.row_of_face.assign(appearance.faceCount(), kNone);
    const auto [entry, is_new] = known.try_emplace({appearance.faceMaterial(f), groups},
                                                   static_cast<std::uint32_t>(out.values.size()));
    if (is_new) {
      const SurfacePoint middle{f, Vec3::Constant(1.0 / 3)};
      out.values.resize(out.values.size() + 1);
      out.channels.push_back(channelBits(layout, groups));
      appearance.values({&middle, 1}, layout, {out.values.row(entry->second), layout.size()});
    }
    out.row_of_face[f] = entry->second;
  }
  return out;
}

bool ConstantMaterials::empty() const {
  return all.empty() && std::all_of(of_group.begin(), of_group.end(),
                                    [](const auto& materials) { return materials.empty(); });
}

ConstantFaces constantFaces(const Asset& asset, const Surface& surface, const ConstantMaterials& materials,
                            const ChannelLayout& layout) {
  ConstantFaces out;
  out.values.channels = layout.size();
  if (materials.empty()) return out;
  std::map<std::size_t, std::uint32_t> groups_of;  // by material
  for (const std::size_t material : materials.all)
    groups_of[material] = allGroups(layout);
  for (std::size_t g = 0; g < materials.of_group.size(); ++g) {
    for (const std::size_t material : materials.of_group[g])
      groups_of[material] |= std::uint32_t{1} << g;
  }
  std::map<std::size_t, std::uint32_t> row_of;
  for (const auto& [material, groups] : groups_of) {
    const std::size_t row = out.values.size();
    row_of[material] = static_cast<std::uint32_t>(row);
    out.values.resize(row + 1);
    out.channels.push_back(channelBits(layout, groups));
    for (std::size_t g = 0; g < layout.groups().size(); ++g) {
      if ((groups >> g & 1) != 0)
        writeFactors(asset.materials[material], layout.groups()[g], out.values.row(row));
    }
  }
  out.row_of_face.assign(surface.faceCount(), kNone);
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    const FaceSource& source = surface.sources()[f];
    const Mesh& mesh = asset.meshes[static_cast<std::size_t>(asset.instances[source.instance].mesh)];
    const int material = mesh.primitives[source.primitive].material;
    if (material < 0) continue;
    const auto found = row_of.find(static_cast<std::size_t>(material));
    if (found != row_of.end()) out.row_of_face[f] = found->second;
  }
  return out;
}

std::uint32_t constantGroups(const Asset& asset, const Primitive& primitive, const ChannelLayout& layout) {
  return constantGroups(asset, primitive, primitive.material, layout);
}

std::uint32_t constantGroups(const Asset& asset, const Primitive& primitive, int number,
                             const ChannelLayout& layout) {
  const Material* material = number < 0 ? nullptr : &asset.materials[static_cast<std::size_t>(number)];
  // Without a material nothing says more than the colours do.
  if (material == nullptr) return primitive.colors.empty() ? allGroups(layout) : 0;
  std::uint32_t constant = 0, bit = 1;
  for (const ChannelGroup& group : layout.groups()) {
    const std::size_t slot = slotOf(group.name);
    bool one = false;
    if (slot < kSlotCount) {
      one = !hasTexture(asset, primitive, material->slots[slot].texture);
    } else {
      one = primitive.colors.empty() && !hasTexture(asset, primitive, material->base_color);
      if (group.name == "alpha") one = one || material->alpha_mode == AlphaMode::kOpaque;
    }
    if (one) constant |= bit;
    bit <<= 1;
  }
  return constant;
}

std::uint32_t allGroups(const ChannelLayout& layout) {
  const std::size_t count = layout.groups().size();
  return count >= 32 ? ~0u : (std::uint32_t{1} << count) - 1;
}

}  // namespace heatskin
