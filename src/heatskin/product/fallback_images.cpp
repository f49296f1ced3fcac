#include "heatskin/product/fallback_images.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "heatskin/io/image.h"

namespace heatskin {
namespace {

/// Bytes of a texture's image, if it is in the file.
std::size_t bytesOfImage(const GltfDocument& document, const GltfJson& texture) {
  const auto number = [](const GltfJson& object, const char* key, std::size_t none) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number_unsigned() ? found->get<std::size_t>() : none;
  };
  const GltfJson &images = document.list("images"), &views = document.list("bufferViews");
  const std::size_t source = number(texture, "source", images.size());
  if (source >= images.size()) return 0;
  const std::size_t view = number(images[source], "bufferView", views.size());
  return view < views.size() ? number(views[view], "byteLength", 0) : 0;
}

}  // namespace

void FallbackImages::request(const GltfDocument& document, const Asset& asset, std::size_t own,
                             std::size_t material, const std::vector<PrimitiveKey>& users,
                             const std::set<PrimitiveKey>& colored) {
  const Material& before = asset.materials[material];
  if (before.base_color.texture < 0) return;
  const Texture& texture = asset.textures[static_cast<std::size_t>(before.base_color.texture)];
  if (texture.image < 0) return;
  const Image& image = *asset.images[static_cast<std::size_t>(texture.image)];
  if (before.alpha_mode != AlphaMode::kOpaque && smallestAlpha(image) < 255) return;
  FallbackRequest request;
  for (std::size_t m = 0; m < asset.meshes.size(); ++m) {
    const Mesh& mesh = asset.meshes[m];
    for (std::size_t p = 0; p < mesh.primitives.size(); ++p) {
      const PrimitiveKey key(static_cast<std::size_t>(mesh.source),
                             static_cast<std::size_t>(mesh.primitives[p].source));
      if (std::find(users.begin(), users.end(), key) == users.end()) continue;
      // Vertex colours vary along the surface, images along coordinates, which may overlap.
      if (!mesh.primitives[p].colors.empty() || !colored.contains(key)) return;
      request.primitives.emplace_back(m, p);
    }
  }
  Slots slots;
  GltfJson json = document.list("materials")[own];
  std::optional<std::size_t> number;
  for (const ColorSlot& slot : colorSlots(json)) {
    GltfJson* use = memberOf(*slot.object, slot.texture);
    GltfJson* index = use == nullptr ? nullptr : memberOf(*use, "index");
    if (index == nullptr || !index->is_number_unsigned()) continue;
    number = index->get<std::size_t>();
    slots.uses.push_back({own, std::string_view(slot.texture) == "baseColorTexture", *use});
  }
  if (!number || *number >= document.list("textures").size()) return;
  const GltfJson& stored = document.list("textures")[*number];
  const auto sampler = stored.find("sampler");
  if (sampler != stored.end() && sampler->is_number_unsigned() &&
      sampler->get<std::size_t>() < document.list("samplers").size())
    slots.sampler = document.list("samplers")[sampler->get<std::size_t>()];
  slots.name = image.name;
  request.width = image.width;
  request.height = image.height;
  request.bytes = bytesOfImage(document, stored);
  with_image_.insert(users.begin(), users.end());
  // Materials that show one texture with one factor get one image.
  const std::pair key(before.base_color.texture,
                      std::array<float, 4>{before.base_color_factor[0], before.base_color_factor[1],
                                           before.base_color_factor[2], 1.0f});
  const auto [known, is_new] = request_of_.try_emplace(key, requests_.size());
  if (is_new) {
    requests_.push_back(std::move(request));
    slots_.push_back(std::move(slots));
    return;
  }
  auto& primitives = requests_[known->second].primitives;
  primitives.insert(primitives.end(), request.primitives.begin(), request.primitives.end());
  auto& uses = slots_[known->second].uses;
  uses.insert(uses.end(), slots.uses.begin(), slots.uses.end());
}

void FallbackImages::useSizes(const Asset& asset) {
  for (FallbackRequest& request : requests_) {
    const auto [mesh, primitive] = request.primitives.front();
    const int material = asset.meshes[mesh].primitives[primitive].material;
    const int texture = asset.materials[static_cast<std::size_t>(material)].base_color.texture;
    const int image = asset.textures[static_cast<std::size_t>(texture)].image;
    request.width = asset.images[static_cast<std::size_t>(image)]->width;
    request.height = asset.images[static_cast<std::size_t>(image)]->height;
  }
}

std::set<std::string> FallbackImages::extensions() const {
  std::set<std::string> names;
  for (const Slots& slots : slots_) {
    for (const Slots::Use& use : slots.uses) {
      const auto extensions = use.info.find("extensions");
      if (extensions == use.info.end() || !extensions->is_object()) continue;
      for (auto extension = extensions->begin(); extension != extensions->end(); ++extension)
        names.insert(extension.key());
    }
  }
  return names;
}

void FallbackImages::hang(GltfDocument& document, std::span<const FallbackImage> images) const {
  for (std::size_t i = 0; i < images.size(); ++i) {
    const Slots& slots = slots_[i];
    GltfJson image, texture;
    if (!slots.name.empty()) image["name"] = slots.name;
    image["bufferView"] = document.addBufferView(images[i].bytes);
    image["mimeType"] = images[i].mime_type;
    if (!slots.sampler.is_null()) texture["sampler"] = document.append("samplers", slots.sampler);
    texture["source"] = document.append("images", std::move(image));
    const std::size_t number = document.append("textures", std::move(texture));
    for (const Slots::Use& use : slots.uses) {
      GltfJson info = use.info;
      info["index"] = number;
      if (const GltfJson* extensions = memberOf(info, "extensions"); extensions != nullptr) {
        for (const auto& extension : extensions->items())
          document.useExtension(extension.key());
      }
      GltfJson& material = document.root()["materials"][use.material];
      if (use.metallic_roughness) {
        material["pbrMetallicRoughness"]["baseColorTexture"] = std::move(info);
      } else {
        material["extensions"]["KHR_materials_pbrSpecularGlossiness"]["diffuseTexture"] = std::move(info);
      }
    }
  }
}

}  // namespace heatskin
