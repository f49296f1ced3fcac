#include "heatskin/product/material_stripper.h"

#include <algorithm>
#include <utility>

#include "heatskin/io/image.h"

namespace heatskin {
namespace {

/// The bit of base_color, with which layouts of products begin.
constexpr std::uint32_t kBaseColor = 1;

}  // namespace

MaterialStripper::MaterialStripper(
    GltfDocument& document, const Asset& asset, const ChannelLayout& layout,
    const std::function<std::uint32_t(std::size_t mesh, std::size_t primitive)>& constant_groups,
    std::map<PrimitiveKey, SlotSums> sums, Fallback fallback)
    : document_(document), asset_(asset), layout_(layout), sums_(std::move(sums)), fallback_(fallback) {
  const std::uint32_t all = allGroups(layout);
  for (std::size_t m = 0; m < asset.meshes.size(); ++m) {
    const Mesh& mesh = asset.meshes[m];
    for (std::size_t p = 0; p < mesh.primitives.size(); ++p) {
      const PrimitiveKey key(static_cast<std::size_t>(mesh.source),
                             static_cast<std::size_t>(mesh.primitives[p].source));
      const std::uint32_t constant = constant_groups(m, p);
      groups_[key] = constant;
      (constant == all ? constant_ : fitted_).insert(key);
      if ((constant & kBaseColor) == 0) colored_.insert(key);
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
  std::map<std::pair<std::size_t, std::uint32_t>, std::vector<PrimitiveKey>> fitted_users;
  std::set<std::size_t> others;
  const std::size_t meshes = document_.list("meshes").size();
  for (std::size_t m = 0; m < meshes; ++m) {
    const std::size_t count = primitiveCount(m);
    for (std::size_t p = 0; p < count; ++p) {
      const std::optional<std::size_t> material = materialOf({m, p});
      if (!material) continue;
      if (fitted_.contains({m, p})) {
        fitted_users[{*material, groups_[{m, p}]}].push_back({m, p});
      } else {
        others.insert(*material);
      }
    }
  }
  const GltfJson originals = document_.list("materials");
  for (const auto& [key, users] : fitted_users) {
    const auto& [material, constant] = key;
    std::size_t own = material;
    if (!others.insert(material).second) {
      own = document_.append("materials", originals[material]);
      for (const PrimitiveKey& user : users)
        primitiveOf(user)["material"] = own;
    }
    if ((constant & kBaseColor) == 0) {
      if (fallback_ == Fallback::kTexture) images_.request(document_, asset_, own, material, users, colored_);
      if (auto done = stripMaterial(own, asset_.materials[material]); !done) return done.error();
    }
    SlotSums means;
    for (const PrimitiveKey& user : users) {
      if (const auto found = sums_.find(user); found != sums_.end()) means.add(found->second);
    }
    stripSlots(document_.root()["materials"][own], layout_, constant, means);
    dropEmpty(own);
  }
  giveConstantsMaterials();
  return {};
}

ConstantMaterials MaterialStripper::constantMaterials() {
  std::set<std::size_t> all;
  std::vector<std::set<std::size_t>> of_group(layout_.groups().size());
  for (const PrimitiveKey& key : constant_)
    all.insert(*materialOf(key));
  for (const PrimitiveKey& key : fitted_) {
    for (std::size_t g = 0; g < of_group.size(); ++g) {
      if ((groups_[key] >> g & 1) != 0) of_group[g].insert(*materialOf(key));
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

std::optional<std::size_t> MaterialStripper::materialOf(const PrimitiveKey& key) {
  const GltfJson* material = memberOf(primitiveOf(key), "material");
  if (material == nullptr || !material->is_number_unsigned()) return std::nullopt;
  const auto index = material->get<std::size_t>();
  return index < document_.list("materials").size() ? std::optional(index) : std::nullopt;
}

/// A material says the values of all its triangles in the same groups: copies for those that differ.
void MaterialStripper::separateConstants() {
  std::map<std::size_t, std::uint32_t> first;  // groups of whom the material stays with
  std::map<std::pair<std::size_t, std::uint32_t>, std::size_t> copies;
  std::vector<PrimitiveKey> keys(fitted_.begin(), fitted_.end());
  keys.insert(keys.end(), constant_.begin(), constant_.end());
  for (const PrimitiveKey& key : keys) {
    const auto material = materialOf(key);
    if (!material) continue;
    if (first.try_emplace(*material, groups_[key]).first->second == groups_[key]) continue;
    const auto [copy, is_new] = copies.try_emplace({*material, groups_[key]});
    if (is_new) copy->second = document_.append("materials", document_.list("materials")[*material]);
    primitiveOf(key)["material"] = copy->second;
  }
}

/// A primitive without a material has glTF's default one, which cannot be named.
void MaterialStripper::giveConstantsMaterials() {
  std::optional<std::size_t> plain;
  for (const auto& [key, groups] : groups_) {
    if (groups == 0 || materialOf(key)) continue;
    if (!plain) plain = document_.append("materials", GltfJson::object());
    primitiveOf(key)["material"] = *plain;
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
