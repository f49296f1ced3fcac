#include "heatskin/product/file_contents.h"

#include <functional>
#include <memory>
#include <utility>

#include "heatskin/io/glb_writer.h"
#include "heatskin/io/material_slots.h"
#include "heatskin/product/product_extension.h"

namespace heatskin {
namespace {

/// For formats that are not glTF: images that kernels take the place of need not be written first.
Asset withSmallImages(Asset asset, const ChannelLayout& replaced) {
  std::set<int> needed;
  for (const Material& material : asset.materials) {
    for (std::size_t s = 0; s < kSlotCount; ++s) {
      const int texture = material.slots[s].texture.texture;
      if (texture >= 0 && replaced.find(kMaterialSlots[s].channel) == nullptr)
        needed.insert(asset.textures[static_cast<std::size_t>(texture)].image);
    }
    if (material.alpha_mode == AlphaMode::kOpaque || material.base_color.texture < 0) continue;
    needed.insert(asset.textures[static_cast<std::size_t>(material.base_color.texture)].image);
  }
  Image pixel;
  pixel.width = pixel.height = 1;
  pixel.format = "png";
  pixel.rgba.assign(4, 255);
  const auto small = std::make_shared<const Image>(std::move(pixel));
  for (std::size_t i = 0; i < asset.images.size(); ++i) {
    if (!needed.contains(static_cast<int>(i))) asset.images[i] = small;
  }
  return asset;
}

/// Textures by the name of their slot, in all materials.
std::set<std::string> texturedSlots(const GltfDocument& document) {
  std::set<std::string> names;
  const std::function<void(const GltfJson&)> look = [&](const GltfJson& value) {
    if (value.is_array()) {
      for (const GltfJson& item : value)
        look(item);
    } else if (value.is_object()) {
      for (const auto& [key, item] : value.items()) {
        if (key == "extras") continue;
        if (key.ends_with("Texture") && item.is_object() && item.contains("index")) names.insert(key);
        look(item);
      }
    }
  };
  look(document.list("materials"));
  return names;
}

/// Bytes of a buffer view; 0 if there is none of that number.
std::size_t viewBytes(const GltfDocument& document, const GltfJson& number) {
  const GltfJson& views = document.list("bufferViews");
  if (!number.is_number_unsigned() || number.get<std::size_t>() >= views.size()) return 0;
  const GltfJson& view = views[number.get<std::size_t>()];
  const auto length = view.find("byteLength");
  return length != view.end() && length->is_number_unsigned() ? length->get<std::size_t>() : 0;
}

/// Those of all views that something inside `value` names.
std::size_t namedBytes(const GltfDocument& document, const GltfJson& value) {
  std::size_t bytes = 0;
  if (value.is_object()) {
    for (const auto& [key, item] : value.items())
      bytes += key == "bufferView" ? viewBytes(document, item) : namedBytes(document, item);
  } else if (value.is_array()) {
    for (const GltfJson& item : value)
      bytes += namedBytes(document, item);
  }
  return bytes;
}

}  // namespace

std::set<std::string> contentsOf(const GltfDocument& document) {
  std::set<std::string> words = texturedSlots(document);
  for (const char* list : {"animations", "skins", "cameras", "images"}) {
    if (!document.list(list).empty()) words.insert(list);
  }
  if (document.list("scenes").size() > 1) words.insert("scenes");
  for (const GltfJson& name : document.list("extensionsUsed")) {
    if (name.is_string() && name != kExtensionName) words.insert(name.get<std::string>());
  }
  if (document.root().contains("asset") && document.root()["asset"].is_object() &&
      document.root()["asset"].contains("copyright"))
    words.insert("copyright");
  for (const GltfJson& node : document.list("nodes")) {
    if (!node.is_object()) continue;
    if (node.contains("children")) words.insert("hierarchy");
    if (node.contains("name")) words.insert("names");
  }
  const std::function<void(const GltfJson&)> look_for_extras = [&](const GltfJson& value) {
    if (value.is_object() && value.contains("extras")) words.insert("extras");
    if (!value.is_structured()) return;
    for (const GltfJson& item : value)
      look_for_extras(item);
  };
  look_for_extras(document.root());
  for (const GltfJson& mesh : document.list("meshes")) {
    const auto primitives = mesh.is_object() ? mesh.find("primitives") : mesh.end();
    if (!mesh.is_object() || primitives == mesh.end() || !primitives->is_array()) continue;
    for (const GltfJson& primitive : *primitives) {
      if (!primitive.is_object()) continue;
      if (primitive.contains("targets")) words.insert("morph_targets");
      const auto attributes = primitive.find("attributes");
      if (attributes == primitive.end() || !attributes->is_object()) continue;
      for (const auto& item : attributes->items()) {
        const std::string& name = item.key();
        if (name == "NORMAL") words.insert("normals");
        if (name == "TANGENT") words.insert("tangents");
        if (name.starts_with("TEXCOORD_")) words.insert("texture_coordinates");
        if (name.starts_with("_")) words.insert("custom_attributes");
      }
    }
  }
  return words;
}

Result<std::set<std::string>> contentsOf(const Asset& asset) {
  std::vector<std::uint8_t> made;
  if (asset.file == nullptr) {
    const ChannelLayout base_color;
    auto encoded = encodedAsGltf(asset, &base_color);
    if (!encoded) return encoded.error();
    made = std::move(*encoded);
  }
  const auto document = GltfDocument::open(asset.file == nullptr ? made : *asset.file, asset.path);
  if (!document) return document.error();
  return contentsOf(*document);
}

Result<std::vector<std::uint8_t>> encodedAsGltf(const Asset& asset, const ChannelLayout* replaced) {
  return encodeGlb(replaced == nullptr ? asset : withSmallImages(asset, *replaced));
}

FileParts partsOf(std::span<const std::uint8_t> glb) {
  FileParts parts;
  const auto document = GltfDocument::open(glb, {});
  if (!document) return parts;
  const GltfJson& root = document->root();
  if (const auto all = root.find("extensions"); all != root.end() && all->is_object()) {
    if (const auto ours = all->find(kExtensionName); ours != all->end())
      parts.kernels = namedBytes(*document, *ours);
  }
  parts.images = namedBytes(*document, document->list("images"));
  std::set<std::size_t> colors;
  const GltfJson& accessors = document->list("accessors");
  for (const GltfJson& mesh : document->list("meshes")) {
    for (const GltfJson& primitive : mesh.value("primitives", GltfJson::array())) {
      const GltfJson attributes = primitive.value("attributes", GltfJson::object());
      const auto color = attributes.find("COLOR_0");
      if (color == attributes.end() || !color->is_number_unsigned()) continue;
      const auto number = color->get<std::size_t>();
      if (number < accessors.size() && colors.insert(number).second)
        parts.colors += namedBytes(*document, accessors[number]);
    }
  }
  for (const GltfJson& scene : document->list("scenes")) {
    const auto extras = scene.find("extras");
    if (extras == scene.end() || !extras->is_object() || !extras->contains(kExtensionName)) continue;
    parts.extras += (*extras)[kExtensionName].dump().size();
  }
  return parts;
}

}  // namespace heatskin
