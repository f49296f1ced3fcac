#include "heatskin/product/material_stripper.h"

#include <algorithm>
#include <utility>

#include "heatskin/io/image.h"

namespace heatskin {
namespace {

/// The bit of base_color, with which layouts of products begin.
constexpr std::uint32_t kBaseColor = 1;

}  // namespace

MaterialStripper::MaterialStripper(GltfDocument& document, const Asset& asset, const ChannelLayout& layout,
                                   const ConstantGroups& constant_groups,
                                   std::map<MaterialUse, SlotSums> sums, Fallback fallback,
                                   std::span<const VariantLook> looks)
    : document_(document), asset_(asset), layout_(layout), sums_(std::move(sums)), fallback_(fallback) {
  const std::uint32_t all = allGroups(layout);
  for (std::size_t m = 0; m < asset.meshes.size(); ++m) {
    const Mesh& mesh = asset.meshes[m];
    for (std::size_t p = 0; p < mesh.primitives.size(); ++p) {
      const PrimitiveKey key(static_cast<std::size_t>(mesh.source),
                             static_cast<std::size_t>(mesh.primitives[p].source));
      const auto note = [&](const MaterialUse& use, int material) {
        const std::uint32_t constant = constant_groups(m, p, material);
        groups_[use] = constant;
        (constant == all ? constant_ : fitted_).insert(use);
        return constant;
      };
      if ((note({key}, mesh.primitives[p].material) & kBaseColor) == 0) colored_.insert(key);
      if (looks.empty()) continue;
      for (const VariantMaterial& mapping : mesh.primitives[p].variants)
        note({key, mapping.source}, mapping.material);
    }
  }
  for (std::size_t l = 0; l < looks.size(); ++l) {
    for (const VariantLook::Change& change : looks[l].changes) {
      const Mesh& mesh = asset.meshes[change.mesh];
      const PrimitiveKey key(static_cast<std::size_t>(mesh.source),
                             static_cast<std::size_t>(mesh.primitives[change.primitive].source));
      // Several mappings may name one material.
      for (const VariantMaterial& mapping : mesh.primitives[change.primitive].variants) {
        if (mapping.material == change.material) look_of_.try_emplace({key, mapping.source}, l + 1);
      }
    }
  }
}

Result<void> MaterialStripper::strip() {
  if (fallback_ == Fallback::kOriginal) {
    separateConstants();
    giveConstantsMaterials();
    return {};
  }
  // Who else has the material of a fitted primitive keeps it, and so does who is constant in other groups.
  // Looks have materials of their own, because their fallback images differ.
  struct Users {
    std::size_t material;
    std::uint32_t constant;
    std::size_t look;  // 0: the default

    auto operator<=>(const Users&) const = default;
  };
  std::map<Users, std::vector<MaterialUse>> fitted_users;
  std::set<std::size_t> others;
  const std::size_t meshes = document_.list("meshes").size();
  for (std::size_t m = 0; m < meshes; ++m) {
    const std::size_t count = primitiveCount(m);
    for (std::size_t p = 0; p < count; ++p) {
      MaterialUse use{{m, p}};
      const auto note = [&] {
        const std::optional<std::size_t> material = materialOf(use);
        if (!material) return;
        if (!fitted_.contains(use)) {
          others.insert(*material);
          return;
        }
        const auto look = look_of_.find(use);
        fitted_users[{*material, groups_[use], look == look_of_.end() ? 0 : look->second}].push_back(use);
      };
      note();
      for (use.mapping = 0; mappingOf(use) != nullptr; ++use.mapping)
        note();
    }
  }
  const GltfJson originals = document_.list("materials");
  for (const auto& [key, users] : fitted_users) {
    const auto& [material, constant, look] = key;
    std::size_t own = material;
    if (!others.insert(material).second) {
      own = document_.append("materials", originals[material]);
      for (const MaterialUse& user : users)
        setMaterial(user, own);
    }
    if ((constant & kBaseColor) == 0) {
      colored_materials_.insert(own);
      if (fallback_ == Fallback::kTexture) {
        std::set<PrimitiveKey> primitives;
        for (const MaterialUse& user : users)
          primitives.insert(user.primitive);
        images_.request(document_, asset_, own, material, primitives, look);
      }
      if (auto done = stripMaterial(own, asset_.materials[material]); !done) return done.error();
    }
    SlotSums means;
    for (const MaterialUse& user : users) {
      if (const auto found = sums_.find(user); found != sums_.end()) means.add(found->second);
    }
    const bool tangents = std::all_of(users.begin(), users.end(), [&](const MaterialUse& user) {
      const GltfJson* attributes = memberOf(primitiveOf(user.primitive), "attributes");
      return attributes != nullptr && attributes->is_object() && attributes->contains("TANGENT");
    });
    stripSlots(document_.root()["materials"][own], layout_, constant, means, tangents);
    dropEmpty(own);
  }
  giveConstantsMaterials();
  return {};
}

ConstantMaterials MaterialStripper::constantMaterials() {
  std::set<std::size_t> all;
  std::vector<std::set<std::size_t>> of_group(layout_.groups().size());
  for (const MaterialUse& use : constant_)
    all.insert(*materialOf(use));
  for (const MaterialUse& use : fitted_) {
    for (std::size_t g = 0; g < of_group.size(); ++g) {
      if ((groups_[use] >> g & 1) != 0) of_group[g].insert(*materialOf(use));
    }
  }
  ConstantMaterials result;
  result.all.assign(all.begin(), all.end());
  for (const std::set<std::size_t>& found : of_group)
    result.of_group.emplace_back(found.begin(), found.end());
  if (std::all_of(of_group.begin(), of_group.end(), [](const auto& found) { return found.empty(); }))
    result.of_group.clear();
  return result;
}

std::size_t MaterialStripper::primitiveCount(std::size_t mesh) const {
  const GltfJson& json = document_.list("meshes")[mesh];
  const auto primitives = json.find("primitives");
  return primitives != json.end() && primitives->is_array() ? primitives->size() : 0;
}

GltfJson& MaterialStripper::primitiveOf(const PrimitiveKey& key) {
  return document_.root()["meshes"][key.first]["primitives"][key.second];
}

/// The mapping of a use; null if the primitive has none of that number.
GltfJson* MaterialStripper::mappingOf(const MaterialUse& use) {
  GltfJson* found = &primitiveOf(use.primitive);
  for (const char* key : {"extensions", "KHR_materials_variants", "mappings"}) {
    found = memberOf(*found, key);
    if (found == nullptr) return nullptr;
  }
  const auto number = static_cast<std::size_t>(use.mapping);
  return found->is_array() && number < found->size() ? &(*found)[number] : nullptr;
}

void MaterialStripper::setMaterial(const MaterialUse& use, std::size_t material) {
  GltfJson& place = use.mapping < 0 ? primitiveOf(use.primitive) : *mappingOf(use);
  place["material"] = material;
}

std::optional<std::size_t> MaterialStripper::materialOf(const MaterialUse& use) {
  GltfJson* place = use.mapping < 0 ? &primitiveOf(use.primitive) : mappingOf(use);
  const GltfJson* material = place == nullptr ? nullptr : memberOf(*place, "material");
  if (material == nullptr || !material->is_number_unsigned()) return std::nullopt;
  const auto index = material->get<std::size_t>();
  return index < document_.list("materials").size() ? std::optional(index) : std::nullopt;
}

/// A material says the values of all its triangles in the same groups: copies for those that differ.
void MaterialStripper::separateConstants() {
  std::map<std::size_t, std::uint32_t> first;  // groups of whom the material stays with
  std::map<std::pair<std::size_t, std::uint32_t>, std::size_t> copies;
  std::vector<MaterialUse> uses(fitted_.begin(), fitted_.end());
  uses.insert(uses.end(), constant_.begin(), constant_.end());
  for (const MaterialUse& use : uses) {
    const auto material = materialOf(use);
    if (!material) continue;
    if (first.try_emplace(*material, groups_[use]).first->second == groups_[use]) continue;
    const auto [copy, is_new] = copies.try_emplace({*material, groups_[use]});
    if (is_new) copy->second = document_.append("materials", document_.list("materials")[*material]);
    setMaterial(use, copy->second);
  }
}

/// A primitive without a material has glTF's default one, which cannot be named.
void MaterialStripper::giveConstantsMaterials() {
  std::optional<std::size_t> plain;
  for (const auto& [use, groups] : groups_) {
    if (groups == 0 || materialOf(use)) continue;
    if (!plain) plain = document_.append("materials", GltfJson::object());
    setMaterial(use, *plain);
  }
}

Result<void> MaterialStripper::stripMaterial(std::size_t number, const Material& material) {
  for (const ColorSlot& slot : colorSlots(document_.root()["materials"][number]))
    whiten(slot);
  const Texture* texture = material.base_color.texture < 0
                               ? nullptr
                               : &asset_.textures[static_cast<std::size_t>(material.base_color.texture)];
  const Image* image = texture == nullptr || texture->image < 0
                           ? nullptr
                           : asset_.images[static_cast<std::size_t>(texture->image)].get();
  const bool cuts =
      material.alpha_mode != AlphaMode::kOpaque && image != nullptr && smallestAlpha(*image) < 255;
  for (std::size_t s = 0; s < colorSlots(document_.root()["materials"][number]).size(); ++s) {
    ColorSlot slot = colorSlots(document_.root()["materials"][number])[s];
    GltfJson* use = memberOf(*slot.object, slot.texture);
    if (use == nullptr) continue;
    GltfJson* index = memberOf(*use, "index");
    if (!cuts || index == nullptr || !index->is_number_unsigned()) {
      slot.object->erase(slot.texture);
      continue;
    }
    const auto white = whiteTexture(index->get<std::size_t>(), *image);
    if (!white) return white.error();
    slot = colorSlots(document_.root()["materials"][number])[s];
    (*memberOf(*slot.object, slot.texture))["index"] = *white;
  }
  return {};
}

/// An object without members says nothing.
void MaterialStripper::dropEmpty(std::size_t number) {
  GltfJson& json = document_.root()["materials"][number];
  if (const GltfJson* pbr = memberOf(json, "pbrMetallicRoughness"); pbr != nullptr && pbr->empty())
    json.erase("pbrMetallicRoughness");
}

/// The texture with its colour replaced by white: what makes its material transparent stays.
Result<std::size_t> MaterialStripper::whiteTexture(std::size_t texture, const Image& image) {
  if (const auto known = white_.find(texture); known != white_.end()) return known->second;
  std::vector<std::uint8_t> rgba = image.rgba;
  for (std::size_t i = 0; i < rgba.size(); i += 4)
    std::fill_n(rgba.begin() + static_cast<std::ptrdiff_t>(i), 3, std::uint8_t{255});
  const auto png = encodePng(rgba, image.width, image.height, 4);
  if (!png) return png.error();
  GltfJson stored;
  if (!image.name.empty()) stored["name"] = image.name;
  stored["bufferView"] = document_.addBufferView(*png);
  stored["mimeType"] = "image/png";
  GltfJson copy = GltfJson::object();
  const GltfJson& original = document_.list("textures")[texture];
  if (original.contains("sampler")) copy["sampler"] = original["sampler"];
  if (original.contains("name")) copy["name"] = original["name"];
  copy["source"] = document_.append("images", std::move(stored));
  const std::size_t number = document_.append("textures", std::move(copy));
  white_.emplace(texture, number);
  return number;
}

}  // namespace heatskin
