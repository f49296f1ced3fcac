#include "heatskin/product/product_document.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/base/base64.h"
#include "heatskin/io/color_space.h"
#include "heatskin/io/gltf_document.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/io/image.h"
#include "heatskin/io/reference.h"
#include "heatskin/product/asset_constants.h"
#include "heatskin/product/file_contents.h"
#include "heatskin/product/geometry_fingerprint.h"
#include "heatskin/product/material_factors.h"
#include "heatskin/product/product_extension.h"

namespace heatskin {
namespace {

/// A primitive of the file: mesh and place in it.
using PrimitiveKey = std::pair<std::size_t, std::size_t>;

/// Whether kernels are needed at all: some primitive has more than one value in some group.
bool hasVaryingValues(const Asset& asset, const ChannelLayout& layout) {
  for (const Mesh& mesh : asset.meshes) {
    for (const Primitive& primitive : mesh.primitives) {
      if (!primitive.triangles.empty() && constantGroups(asset, primitive, layout) != allGroups(layout))
        return true;
    }
  }
  return false;
}

GltfJson* member(GltfJson& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

/// Where a material has its base colour: the object with texture and factor, and their names.
struct ColorSlot {
  GltfJson* object;
  const char* texture;
  const char* factor;
};

std::vector<ColorSlot> colorSlots(GltfJson& material) {
  std::vector<ColorSlot> slots;
  if (GltfJson* pbr = member(material, "pbrMetallicRoughness"); pbr != nullptr && pbr->is_object())
    slots.push_back({pbr, "baseColorTexture", "baseColorFactor"});
  GltfJson* extensions = member(material, "extensions");
  GltfJson* glossiness =
      extensions == nullptr ? nullptr : member(*extensions, "KHR_materials_pbrSpecularGlossiness");
  if (glossiness != nullptr && glossiness->is_object())
    slots.push_back({glossiness, "diffuseTexture", "diffuseFactor"});
  return slots;
}

/// The factor without its colour; glTF's default need not be written.
void whiten(const ColorSlot& slot) {
  GltfJson* factor = member(*slot.object, slot.factor);
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

/// Vertex colours of the primitives that share a POSITION accessor, as the file holds them: RGBA, normalised
/// integers of 8 bits where nobody sees the difference, else of 16.
class ColorWriter {
 public:
  explicit ColorWriter(GltfDocument& document) : document_(document) {}

  void add(const PrimitiveKey& key, const Primitive& primitive) {
    GltfJson& json = document_.root()["meshes"][key.first]["primitives"][key.second];
    const auto position = json["attributes"]["POSITION"].get<std::size_t>();
    Shared& shared = shared_[position];
    shared.users.push_back(key);
    const auto count = document_.list("accessors")[position]["count"].get<std::size_t>();
    shared.colors.resize(count, Vec4f::Ones());
    for (std::size_t v = 0; v < primitive.colors.size(); ++v) {
      const std::size_t at = primitive.source_vertices.empty() ? v : primitive.source_vertices[v];
      if (at < count) shared.colors[at] = primitive.colors[v];
    }
  }

  void write() {
    for (const auto& [position, shared] : shared_) {
      const std::size_t accessor = place(colorsOf(shared), shared.colors);
      for (const auto& [mesh, place] : shared.users) {
        GltfJson& json = document_.root()["meshes"][mesh]["primitives"][place];
        json["attributes"]["COLOR_0"] = accessor;
        // Colours that were inside a Draco stream are now outside.
        GltfJson* extensions = member(json, "extensions");
        GltfJson* draco = extensions == nullptr ? nullptr : member(*extensions, "KHR_draco_mesh_compression");
        GltfJson* inside = draco == nullptr ? nullptr : member(*draco, "attributes");
        if (inside != nullptr && inside->is_object()) inside->erase("COLOR_0");
      }
    }
  }

 private:
  struct Shared {
    std::vector<PrimitiveKey> users;
    std::vector<Vec4f> colors;
  };

  template <class T>
  static std::vector<std::uint8_t> packed(const std::vector<Vec4f>& colors) {
    constexpr auto kMost = static_cast<float>(std::numeric_limits<T>::max());
    std::vector<T> values;
    values.reserve(4 * colors.size());
    for (const Vec4f& color : colors) {
      for (int c = 0; c < 4; ++c)
        values.push_back(static_cast<T>(std::lround(std::clamp(color[c], 0.0f, 1.0f) * kMost)));
    }
    const auto* first = reinterpret_cast<const std::uint8_t*>(values.data());
    return {first, first + values.size() * sizeof(T)};
  }

  /// Eight bits in linear light are coarse where it is dark.
  static bool eightBitsDo(const std::vector<Vec4f>& colors) {
    constexpr float kSeen = 2.0f / 255;
    for (const Vec4f& color : colors) {
      for (int c = 0; c < 3; ++c) {
        const float value = std::clamp(color[c], 0.0f, 1.0f), stored = std::round(255 * value) / 255;
        if (std::abs(srgbFromLinear(value) - srgbFromLinear(stored)) > kSeen) return false;
      }
    }
    return true;
  }

  /// The accessor of the colours they had, if it is theirs alone: the new ones take its place.
  std::optional<std::size_t> colorsOf(const Shared& shared) {
    std::set<std::size_t> theirs;
    std::size_t uses = 0;
    for (const auto& [mesh, place] : shared.users) {
      const GltfJson* color =
          member(document_.root()["meshes"][mesh]["primitives"][place]["attributes"], "COLOR_0");
      if (color == nullptr || !color->is_number_unsigned()) return std::nullopt;
      theirs.insert(color->get<std::size_t>());
    }
    if (theirs.size() != 1) return std::nullopt;
    for (const GltfJson& mesh : document_.list("meshes")) {
      for (const GltfJson& primitive : mesh.value("primitives", GltfJson::array())) {
        for (const GltfJson& accessor : primitive.value("attributes", GltfJson::object()))
          uses += accessor.is_number_unsigned() && accessor.get<std::size_t>() == *theirs.begin() ? 1 : 0;
      }
    }
    return uses == shared.users.size() ? std::optional(*theirs.begin()) : std::nullopt;
  }

  std::size_t place(std::optional<std::size_t> number, const std::vector<Vec4f>& colors) {
    constexpr int kUnsignedByte = 5121, kUnsignedShort = 5123;
    const bool eight = eightBitsDo(colors);
    GltfJson accessor;
    accessor["bufferView"] = document_.addBufferView(
        eight ? packed<std::uint8_t>(colors) : packed<std::uint16_t>(colors), GlbBuilder::Target::kVertices);
    accessor["componentType"] = eight ? kUnsignedByte : kUnsignedShort;
    accessor["normalized"] = true;
    accessor["count"] = colors.size();
    accessor["type"] = "VEC4";
    if (!number) return document_.append("accessors", std::move(accessor));
    document_.root()["accessors"][*number] = std::move(accessor);
    return *number;
  }

  GltfDocument& document_;
  std::map<std::size_t, Shared> shared_;  // by POSITION accessor
};

}  // namespace

/// Where a texture of the kernels' colours goes: materials of the file with what they said about the texture
/// they had, and the sampler of that.
struct FallbackImageSlots {
  struct Use {
    std::size_t material;
    std::size_t slot;  ///< of colorSlots()
    GltfJson info;     ///< baseColorTexture
  };
  std::vector<Use> uses;
  GltfJson sampler;  ///< null: none
  std::string name;
};

namespace {

/// The kernels of a product that is written again, wherever they are.
void dropOldKernels(GltfDocument& document) {
  if (GltfJson* extensions = member(document.root(), "extensions");
      extensions != nullptr && extensions->is_object()) {
    extensions->erase(kExtensionName);
    if (extensions->empty()) document.root().erase("extensions");
  }
  GltfJson* scenes = member(document.root(), "scenes");
  if (scenes == nullptr || !scenes->is_array()) return;
  for (GltfJson& scene : *scenes) {
    GltfJson* extras = member(scene, "extras");
    if (extras == nullptr || !extras->is_object() || extras->erase(kExtensionName) == 0) continue;
    if (extras->empty()) scene.erase("extras");
  }
}

/// A copy of the extension in the extras of the scene that is shown (readExtrasExtension()).
void addExtras(GltfDocument& document, std::size_t view, std::span<const std::vector<std::uint8_t>> buffers,
               const std::string& geometry) {
  GltfJson& root = document.root();
  const std::size_t count = document.list("scenes").size();
  if (count == 0) return;
  const GltfJson* chosen = member(root, "scene");
  const std::size_t scene =
      chosen != nullptr && chosen->is_number_unsigned() ? chosen->get<std::size_t>() : 0;
  GltfJson& extras = root["scenes"][std::min(scene, count - 1)]["extras"];
  // Extras may be anything; what is no object is put beside ours.
  if (!extras.is_object()) extras = extras.is_null() ? GltfJson::object() : GltfJson{{"value", extras}};
  GltfJson& copy = extras[kExtensionName];
  copy["geometry"] = geometry;
  copy["extension"] = root["extensions"][kExtensionName];
  for (std::size_t i = 0; i < buffers.size(); ++i)
    copy["views"][std::to_string(view + i)] = base64(buffers[i]);
}

}  // namespace

struct ProductDocument::Impl {
  GltfDocument document;
  std::vector<FallbackImageSlots> image_slots;  // [requests]
  std::vector<FallbackRequest> requests;
  Asset stored;
  Fallback fallback = Fallback::kVertex;
  bool extras = false;
  ConstantMaterials constant_materials;
  std::set<PrimitiveKey> fitted;  // whose base colour is
  std::vector<std::string> kept, dropped;
  std::vector<Notice> notices;

  /// Images in the place of those that went.
  void hang(GltfDocument& file, std::span<const FallbackImage> images) const {
    for (std::size_t i = 0; i < images.size(); ++i) {
      const FallbackImageSlots& slots = image_slots[i];
      GltfJson image, texture;
      if (!slots.name.empty()) image["name"] = slots.name;
      image["bufferView"] = file.addBufferView(images[i].bytes);
      image["mimeType"] = images[i].mime_type;
      if (!slots.sampler.is_null()) texture["sampler"] = file.append("samplers", slots.sampler);
      texture["source"] = file.append("images", std::move(image));
      const std::size_t number = file.append("textures", std::move(texture));
      for (const FallbackImageSlots::Use& use : slots.uses) {
        GltfJson info = use.info;
        info["index"] = number;
        if (const GltfJson* extensions = member(info, "extensions"); extensions != nullptr) {
          for (const auto& extension : extensions->items())
            file.useExtension(extension.key());
        }
        GltfJson& material = file.root()["materials"][use.material];
        if (use.slot == 0) {
          material["pbrMetallicRoughness"]["baseColorTexture"] = std::move(info);
        } else {
          material["extensions"]["KHR_materials_pbrSpecularGlossiness"]["diffuseTexture"] = std::move(info);
        }
      }
    }
  }

  /// One colour for all that is fitted.
  void paint(GltfDocument& file, const Vec3f& srgb) const {
    const GltfJson factor = {linearFromSrgb(srgb[0]), linearFromSrgb(srgb[1]), linearFromSrgb(srgb[2]), 1};
    for (const auto& [mesh, place] : fitted) {
      GltfJson& primitive = file.root()["meshes"][mesh]["primitives"][place];
      primitive["attributes"].erase("COLOR_0");
      const GltfJson* material = member(primitive, "material");
      if (material == nullptr || !material->is_number_unsigned()) continue;
      GltfJson& json = file.root()["materials"][material->get<std::size_t>()];
      if (colorSlots(json).empty()) json["pbrMetallicRoughness"] = GltfJson::object();
      for (const ColorSlot& slot : colorSlots(json)) {
        const GltfJson* old = member(*slot.object, slot.factor);
        GltfJson painted = factor;
        if (old != nullptr && old->is_array() && old->size() == 4) painted[3] = (*old)[3];
        (*slot.object)[slot.factor] = std::move(painted);
      }
    }
  }
};

namespace {

/// Takes what kernels take the place of out of the materials of what is fitted.
class Stripper {
 public:
  /// `constant_groups` is asked for meshes of `asset` and their primitives.
  Stripper(GltfDocument& document, const Asset& asset, const ChannelLayout& layout,
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

  Result<void> strip() {
    if (fallback_ == Fallback::kOriginal) {
      separateConstants();
      return giveConstantsMaterials();
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
        if (fallback_ == Fallback::kTexture) requestImage(own, material, users);
        if (auto done = stripMaterial(own, asset_.materials[material]); !done) return done.error();
      }
      SlotSums means;
      for (const PrimitiveKey& user : users) {
        if (const auto found = sums_.find(user); found != sums_.end()) means.add(found->second);
      }
      stripSlots(document_.root()["materials"][own], layout_, constant, means);
      dropEmpty(own);
    }
    return giveConstantsMaterials();
  }

  ConstantMaterials constantMaterials() {
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

  /// Those whose base colour is fitted.
  const std::set<PrimitiveKey>& colored() const { return colored_; }
  bool showsImage(const PrimitiveKey& key) const { return with_image_.contains(key); }

  /// What Fallback::kTexture asks for; primitives are those of the file here.
  std::vector<FallbackImageSlots> takeSlots() { return std::move(slots_); }
  std::vector<FallbackRequest> takeRequests() { return std::move(requests_); }

 private:
  std::size_t primitiveCount(std::size_t mesh) const {
    const GltfJson& json = document_.list("meshes")[mesh];
    const auto primitives = json.find("primitives");
    return primitives != json.end() && primitives->is_array() ? primitives->size() : 0;
  }
  GltfJson& primitiveOf(const PrimitiveKey& key) {
    return document_.root()["meshes"][key.first]["primitives"][key.second];
  }
  std::optional<std::size_t> materialOf(const PrimitiveKey& key) {
    const GltfJson* material = member(primitiveOf(key), "material");
    if (material == nullptr || !material->is_number_unsigned()) return std::nullopt;
    const auto index = material->get<std::size_t>();
    return index < document_.list("materials").size() ? std::optional(index) : std::nullopt;
  }

  /// A material says the values of all its triangles in the same groups: copies for those that differ.
  void separateConstants() {
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
  Result<void> giveConstantsMaterials() {
    std::optional<std::size_t> plain;
    for (const auto& [key, groups] : groups_) {
      if (groups == 0 || materialOf(key)) continue;
      if (!plain) plain = document_.append("materials", GltfJson::object());
      primitiveOf(key)["material"] = *plain;
    }
    return {};
  }

  Result<void> stripMaterial(std::size_t number, const Material& material) {
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
      GltfJson* use = member(*slot.object, slot.texture);
      if (use == nullptr) continue;
      GltfJson* index = member(*use, "index");
      if (!cuts || index == nullptr || !index->is_number_unsigned()) {
        slot.object->erase(slot.texture);
        continue;
      }
      const auto white = whiteTexture(index->get<std::size_t>(), *image);
      if (!white) return white.error();
      slot = colorSlots(document_.root()["materials"][number])[s];
      (*member(*slot.object, slot.texture))["index"] = *white;
    }
    return {};
  }

  /// An object without members says nothing.
  void dropEmpty(std::size_t number) {
    GltfJson& json = document_.root()["materials"][number];
    if (const GltfJson* pbr = member(json, "pbrMetallicRoughness"); pbr != nullptr && pbr->empty())
      json.erase("pbrMetallicRoughness");
  }

  /// Bytes of a texture's image, if it is in the file.
  std::size_t bytesOfImage(const GltfJson& texture) const {
    const auto number = [](const GltfJson& object, const char* key, std::size_t none) {
      const auto found = object.find(key);
      return found != object.end() && found->is_number_unsigned() ? found->get<std::size_t>() : none;
    };
    const GltfJson &images = document_.list("images"), &views = document_.list("bufferViews");
    const std::size_t source = number(texture, "source", images.size());
    if (source >= images.size()) return 0;
    const std::size_t view = number(images[source], "bufferView", views.size());
    return view < views.size() ? number(views[view], "byteLength", 0) : 0;
  }

  /// Notes what the material says about its texture before that goes, if an image can take its place.
  void requestImage(std::size_t own, std::size_t material, const std::vector<PrimitiveKey>& users) {
    const Material& before = asset_.materials[material];
    if (before.base_color.texture < 0) return;
    const Texture& texture = asset_.textures[static_cast<std::size_t>(before.base_color.texture)];
    if (texture.image < 0) return;
    const Image& image = *asset_.images[static_cast<std::size_t>(texture.image)];
    if (before.alpha_mode != AlphaMode::kOpaque && smallestAlpha(image) < 255) return;
    FallbackRequest request;
    for (std::size_t m = 0; m < asset_.meshes.size(); ++m) {
      const Mesh& mesh = asset_.meshes[m];
      for (std::size_t p = 0; p < mesh.primitives.size(); ++p) {
        const PrimitiveKey key(static_cast<std::size_t>(mesh.source),
                               static_cast<std::size_t>(mesh.primitives[p].source));
        if (std::find(users.begin(), users.end(), key) == users.end()) continue;
        // Vertex colours vary along the surface, images along coordinates, which may overlap.
        if (!mesh.primitives[p].colors.empty() || !colored_.contains(key)) return;
        request.primitives.emplace_back(m, p);
      }
    }
    FallbackImageSlots slots;
    GltfJson& json = document_.root()["materials"][own];
    std::optional<std::size_t> number;
    for (const ColorSlot& slot : colorSlots(json)) {
      GltfJson* use = member(*slot.object, slot.texture);
      GltfJson* index = use == nullptr ? nullptr : member(*use, "index");
      if (index == nullptr || !index->is_number_unsigned()) continue;
      number = index->get<std::size_t>();
      slots.uses.push_back({own, std::string_view(slot.texture) == "baseColorTexture" ? 0u : 1u, *use});
    }
    if (!number || *number >= document_.list("textures").size()) return;
    const GltfJson& stored = document_.list("textures")[*number];
    const auto sampler = stored.find("sampler");
    if (sampler != stored.end() && sampler->is_number_unsigned() &&
        sampler->get<std::size_t>() < document_.list("samplers").size())
      slots.sampler = document_.list("samplers")[sampler->get<std::size_t>()];
    slots.name = image.name;
    request.width = image.width;
    request.height = image.height;
    request.bytes = bytesOfImage(stored);
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

  /// The texture with its colour replaced by white: what makes its material transparent stays.
  Result<std::size_t> whiteTexture(std::size_t texture, const Image& image) {
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

  /// The bit of base_color, with which layouts of products begin.
  static constexpr std::uint32_t kBaseColor = 1;

  GltfDocument& document_;
  const Asset& asset_;
  const ChannelLayout& layout_;
  std::map<PrimitiveKey, SlotSums> sums_;
  Fallback fallback_;
  std::map<PrimitiveKey, std::uint32_t> groups_;  // in which they are constant
  std::set<PrimitiveKey> fitted_, constant_, colored_;
  std::map<std::size_t, std::size_t> white_;  // by texture
  std::set<PrimitiveKey> with_image_;
  std::vector<FallbackImageSlots> slots_;
  std::vector<FallbackRequest> requests_;
  std::map<std::pair<int, std::array<float, 4>>, std::size_t> request_of_;  // by texture and factor
};

}  // namespace

ProductDocument::ProductDocument(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ProductDocument::~ProductDocument() = default;
ProductDocument::ProductDocument(ProductDocument&&) noexcept = default;
ProductDocument& ProductDocument::operator=(ProductDocument&&) noexcept = default;

const Asset& ProductDocument::stored() const {
  return impl_->stored;
}
const ConstantMaterials& ProductDocument::constantMaterials() const {
  return impl_->constant_materials;
}
const std::vector<FallbackRequest>& ProductDocument::fallbackRequests() const {
  return impl_->requests;
}
const std::vector<std::string>& ProductDocument::kept() const {
  return impl_->kept;
}
const std::vector<std::string>& ProductDocument::dropped() const {
  return impl_->dropped;
}

const std::vector<Notice>& ProductDocument::notices() const {
  return impl_->notices;
}

namespace {

/// Images of other formats than glTF were not written with their sizes.
void useImageSizes(const Asset& asset, std::vector<FallbackRequest>& requests) {
  for (FallbackRequest& request : requests) {
    const auto [mesh, primitive] = request.primitives.front();
    const int material = asset.meshes[mesh].primitives[primitive].material;
    const int texture = asset.materials[static_cast<std::size_t>(material)].base_color.texture;
    const int image = asset.textures[static_cast<std::size_t>(texture)].image;
    request.width = asset.images[static_cast<std::size_t>(image)]->width;
    request.height = asset.images[static_cast<std::size_t>(image)]->height;
  }
}

}  // namespace

Result<ProductDocument> ProductDocument::create(const Asset& asset, const Surface& surface,
                                                const ChannelLayout& layout, const ProductFile& file) {
  auto impl = std::make_unique<Impl>();
  const Fallback fallback = file.fallback;
  impl->fallback = fallback;
  impl->extras = file.extras;
  // glTF is taken as it came; everything else is written as glTF first.
  Asset made;
  const Asset* input = &asset;
  std::vector<std::uint8_t> bytes;
  if (asset.file == nullptr) {
    auto encoded = encodedAsGltf(asset, fallback == Fallback::kOriginal ? nullptr : &layout);
    if (!encoded) return encoded.error();
    bytes = std::move(*encoded);
    auto read = readGltfBytes(bytes, "product.glb");
    if (!read) return failure(read.error().message);
    made = std::move(*read);
    input = &made;
  }
  auto document = GltfDocument::open(asset.file == nullptr ? bytes : *asset.file, asset.path);
  if (!document) return document.error();
  impl->document = std::move(*document);
  const std::set<std::string> before = contentsOf(impl->document);

  dropOldKernels(impl->document);
  const bool keep_constants = hasVaryingValues(*input, layout) && Appearance::knows(layout);
  Stripper stripper(
      impl->document, *input, layout,
      [&](std::size_t mesh, std::size_t primitive) -> std::uint32_t {
        if (file.constants != nullptr) return (*file.constants)[mesh][primitive];
        return keep_constants ? constantGroups(*input, input->meshes[mesh].primitives[primitive], layout) : 0;
      },
      slotSums(asset, surface, layout), fallback);
  if (auto done = stripper.strip(); !done) return done.error();
  impl->constant_materials = stripper.constantMaterials();
  impl->fitted = stripper.colored();
  impl->image_slots = stripper.takeSlots();
  impl->requests = stripper.takeRequests();
  if (asset.file == nullptr) useImageSizes(asset, impl->requests);
  impl->document.dropUnused();
  for (const std::string& name : impl->document.missingImages()) {
    impl->notices.push_back(
        {"missing_image",
         fmt::format("image {} cannot be read: the product only refers to it, too", quoteForMessage(name))});
  }
  std::set<std::string> after = contentsOf(impl->document);
  // What speaks of a texture comes back with the image that takes its place.
  for (const FallbackImageSlots& slots : impl->image_slots) {
    for (const FallbackImageSlots::Use& use : slots.uses) {
      const auto extensions = use.info.find("extensions");
      if (extensions == use.info.end() || !extensions->is_object()) continue;
      for (auto extension = extensions->begin(); extension != extensions->end(); ++extension)
        after.insert(extension.key());
    }
  }
  impl->kept.assign(after.begin(), after.end());
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                      std::back_inserter(impl->dropped));

  GltfDocument copy = impl->document;
  const auto geometry = copy.finish();
  if (!geometry) return geometry.error();
  auto stored = readGltfBytes(*geometry, "product.glb");
  if (!stored) return failure(stored.error().message);
  impl->stored = std::move(*stored);
  impl->stored.file = nullptr;
  for (Mesh& mesh : impl->stored.meshes) {
    for (Primitive& primitive : mesh.primitives) {
      const PrimitiveKey key(static_cast<std::size_t>(mesh.source),
                             static_cast<std::size_t>(primitive.source));
      const bool painted =
          fallback == Fallback::kVertex || (fallback == Fallback::kTexture && !stripper.showsImage(key));
      if (stripper.colored().contains(key) && painted)
        primitive.colors.resize(primitive.positions.size(), Vec4f::Ones());
    }
  }
  return ProductDocument(std::move(impl));
}

Result<std::vector<std::uint8_t>> ProductDocument::finish(
    const Asset& colored, std::span<const std::vector<std::uint8_t>> buffers,
    const std::function<std::string(std::size_t view)>& json, const Vec3f& mean, const std::string& generator,
    std::span<const FallbackImage> images) const {
  GltfDocument document = impl_->document;
  impl_->hang(document, images);
  if (impl_->fallback == Fallback::kVertex || impl_->fallback == Fallback::kTexture) {
    ColorWriter writer(document);
    for (const Mesh& mesh : colored.meshes) {
      for (const Primitive& primitive : mesh.primitives) {
        if (primitive.colors.empty()) continue;
        writer.add({static_cast<std::size_t>(mesh.source), static_cast<std::size_t>(primitive.source)},
                   primitive);
      }
    }
    writer.write();
  } else if (impl_->fallback == Fallback::kPlain) {
    impl_->paint(document, mean);
  }
  const std::size_t view = document.addBufferView(buffers[0]);
  for (const std::vector<std::uint8_t>& buffer : buffers.subspan(1))
    document.addBufferView(buffer);
  document.useExtension(kExtensionName);
  document.root()["extensions"][kExtensionName] = GltfJson::parse(json(view));
  if (impl_->extras) addExtras(document, view, buffers, geometryFingerprint(impl_->stored));
  if (!generator.empty()) document.root()["asset"]["generator"] = generator;
  document.dropUnused();
  return document.finish();
}

}  // namespace heatskin
