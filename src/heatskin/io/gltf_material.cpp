#include "heatskin/io/gltf_material.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "heatskin/io/image.h"
#include "heatskin/io/reference.h"

namespace heatskin::gltf {
namespace {

/// More sets than this no primitive keeps (see MeshReader).
constexpr std::size_t kMaxTexcoordSet = 63;

float toFloat(double value) {
  constexpr double kMax = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -kMax, kMax));
}

class MaterialReader {
 public:
  MaterialReader(const Document& document, Buffers& buffers, const LoadOptions& options, NoticeList& notices,
                 Asset& asset)
      : document_(document), buffers_(buffers), options_(options), notices_(notices), asset_(asset) {}

  Result<Material> readMaterial(std::size_t index);
  Result<void> readSlots(std::size_t index, Material& material);

 private:
  Result<void> readSlot(const MaterialSlot& slot, Fields& material, SlotUse& use);
  Result<void> readSlotFactors(const MaterialSlot& slot, Fields& holder, Fields& material, SlotUse& use);
  Result<TextureUse> readTextureUse(const Json& json, const std::string& where, const std::string& what);
  Result<int> textureIndex(std::size_t gltf_texture);
  Result<int> imageIndex(std::size_t gltf_image);
  Result<std::vector<std::uint8_t>> externalBytes(const std::string& uri, const std::string& where,
                                                  bool& missing);
  Result<Wrap> wrap(Fields& fields, const char* key);
  Result<TexelFilter> filter(Fields& fields);

  const Document& document_;
  Buffers& buffers_;
  const LoadOptions& options_;
  NoticeList& notices_;
  Asset& asset_;
  std::map<std::size_t, int> texture_map_;  ///< glTF texture -> Asset::textures
  std::map<std::size_t, int> image_map_;    ///< glTF image -> Asset::images, -1: missing
  std::size_t pixels_ = 0;
  bool optional_ = false;  ///< images that cannot be read are left out
};

Vec4f readFactor(Fields& fields, const char* key, NoticeList& notices) {
  std::array<double, 4> factor = {1, 1, 1, 1};
  fields.numbers(key, factor);
  Vec4f result;
  for (int i = 0; i < 4; ++i) {
    const double value = factor[static_cast<std::size_t>(i)];
    const double clamped = std::clamp(value, 0.0, 1.0);
    if (value != clamped) {
      notices.add("factor_clamped", fields.where() + ": " + key + " is outside 0..1 and was clamped");
    }
    result[i] = static_cast<float>(clamped);
  }
  return result;
}

Result<Material> MaterialReader::readMaterial(std::size_t index) {
  Fields fields(document_.list("materials")[index], "material " + std::to_string(index));
  Material material;
  material.name = fields.text("name");
  material.alpha_cutoff = toFloat(fields.number("alphaCutoff", 0.5));
  material.double_sided = fields.boolean("doubleSided", false);
  const std::string alpha_mode = fields.has("alphaMode") ? fields.text("alphaMode") : "OPAQUE";
  if (alpha_mode == "MASK") {
    material.alpha_mode = AlphaMode::kMask;
  } else if (alpha_mode == "BLEND") {
    material.alpha_mode = AlphaMode::kBlend;
  } else if (alpha_mode != "OPAQUE") {
    notices_.add("alpha_mode",
                 fields.where() + ": unknown alphaMode " + quoteForMessage(alpha_mode) + ", read as OPAQUE");
  }

  const Json* texture = nullptr;
  const Json* pbr = fields.object("pbrMetallicRoughness");
  const Json* glossiness = fields.extension("KHR_materials_pbrSpecularGlossiness");
  if (!fields.ok()) return fields.error();
  const bool has_base =
      pbr != nullptr && (pbr->contains("baseColorFactor") || pbr->contains("baseColorTexture"));
  const bool use_diffuse = glossiness != nullptr && !has_base;
  if (use_diffuse || pbr != nullptr) {
    Fields color(use_diffuse ? *glossiness : *pbr, fields.where());
    material.base_color_factor =
        readFactor(color, use_diffuse ? "diffuseFactor" : "baseColorFactor", notices_);
    texture = color.object(use_diffuse ? "diffuseTexture" : "baseColorTexture");
    if (!color.ok()) return color.error();
  }
  if (use_diffuse) {
    notices_.add(
        "specular_glossiness",
        fields.where() + ": the diffuse colour of KHR_materials_pbrSpecularGlossiness is the base colour",
        false);
  }
  if (texture != nullptr) {
    Result<TextureUse> use = readTextureUse(*texture, fields.where(), "base colour texture");
    if (!use) return use.error();
    material.base_color = *use;
  }
  return material;
}

/// A factor with as many numbers as the slot has channels, within its bounds; false: there is none.
bool readSlotFactor(const MaterialSlot& slot, Fields& holder, NoticeList& notices, Vec3f& factor) {
  const std::string key(slot.factor);
  std::array<double, 3> numbers = {};
  if (slot.count == 1 || slot.rule == SlotRule::kTangent) {
    if (!holder.has(key.c_str())) return false;
    numbers.fill(holder.number(key.c_str(), 0));
  } else if (!holder.numbers(key.c_str(), numbers)) {
    return false;
  }
  // A negative scale of normals turns bumps into dents.
  const double least = slot.rule == SlotRule::kTangent && !slot.bounded ? -double{kMaxFactor} : 0.0;
  const double most = slot.bounded ? 1.0 : double{kMaxFactor};
  for (int i = 0; i < 3; ++i) {
    const double value = numbers[static_cast<std::size_t>(i)], clamped = std::clamp(value, least, most);
    if (value != clamped) {
      notices.add("factor_clamped", holder.where() + ": " + key +
                                        (slot.bounded ? " is outside 0..1" : " is out of range") +
                                        " and was clamped");
    }
    factor[i] = static_cast<float>(clamped);
  }
  return true;
}

Result<void> MaterialReader::readSlotFactors(const MaterialSlot& slot, Fields& holder, Fields& material,
                                             SlotUse& use) {
  if (!slot.factor_in_texture) readSlotFactor(slot, holder, notices_, use.factor);
  if (!slot.low.empty()) {
    const double low = holder.number(std::string(slot.low).c_str(), slot.standard_low);
    use.low = static_cast<float>(std::clamp(low, 0.0, double{kMaxFactor}));
  }
  if (!slot.rotation.empty()) {
    // Whole turns say nothing, and many of them leave no digits for the rest.
    const double angle = holder.number(std::string(slot.rotation).c_str(), 0);
    use.rotation = toFloat(std::remainder(angle, 2 * std::numbers::pi));
  }
  if (!slot.strength.empty()) {
    const Json* extension = material.extension(std::string(slot.strength_in).c_str());
    if (extension != nullptr) {
      Fields fields(*extension, material.where() + ", " + std::string(slot.strength_in));
      const double strength = fields.number(std::string(slot.strength).c_str(), 1);
      if (!fields.ok()) return fields.error();
      for (int i = 0; i < 3; ++i) {
        const double product = static_cast<double>(use.factor[i]) * strength;
        use.factor[i] = static_cast<float>(std::clamp(product, 0.0, double{kMaxFactor}));
      }
    }
  }
  if (!holder.ok()) return holder.error();
  if (!material.ok()) return material.error();
  return {};
}

Result<void> MaterialReader::readSlot(const MaterialSlot& slot, Fields& material, SlotUse& use) {
  const Json* json = nullptr;
  std::string where = material.where();
  if (!slot.extension.empty()) {
    json = material.extension(std::string(slot.extension).c_str());
    where += ", " + std::string(slot.extension);
  } else if (!slot.object.empty()) {
    json = material.object(std::string(slot.object).c_str());
  }
  if (!material.ok()) return material.error();
  if (json == nullptr && !(slot.extension.empty() && slot.object.empty())) return {};
  std::optional<Fields> inner;
  if (json != nullptr) inner.emplace(*json, where);
  Fields& holder = inner ? *inner : material;
  if (auto factors = readSlotFactors(slot, holder, material, use); !factors) return factors;
  const Json* texture = holder.object(std::string(slot.texture).c_str());
  if (!holder.ok()) return holder.error();
  if (texture == nullptr) return {};
  if (slot.factor_in_texture) {
    Fields fields(*texture, where + ", " + std::string(slot.texture));
    readSlotFactor(slot, fields, notices_, use.factor);
    if (!fields.ok()) return fields.error();
  }
  Result<TextureUse> read = readTextureUse(*texture, where, std::string(slot.texture));
  if (!read) return read.error();
  use.texture = *read;
  return {};
}

Result<void> MaterialReader::readSlots(std::size_t index, Material& material) {
  optional_ = true;
  Fields fields(document_.list("materials")[index], "material " + std::to_string(index));
  material.slots = standardSlots();
  if (const Json* glossiness = fields.extension("KHR_materials_pbrSpecularGlossiness");
      glossiness != nullptr && fields.ok() && !fields.has("pbrMetallicRoughness")) {
    // Near enough for materials whose diffuse colour is read as the base colour.
    Fields gloss(*glossiness, fields.where());
    const double smooth = std::clamp(gloss.number("glossinessFactor", 1), 0.0, 1.0);
    if (!gloss.ok()) return gloss.error();
    material.slots[slotOf("metallic")].factor.setZero();
    material.slots[slotOf("roughness")].factor.setConstant(static_cast<float>(1 - smooth));
  }
  for (std::size_t s = 0; s < kSlotCount; ++s) {
    auto read = readSlot(kMaterialSlots[s], fields, material.slots[s]);
    if (!read) return read;
  }
  return {};
}

Result<TextureUse> MaterialReader::readTextureUse(const Json& json, const std::string& where,
                                                  const std::string& what) {
  Fields fields(json, where);
  const auto gltf_texture = fields.index("index", document_.list("textures").size(), "texture");
  std::size_t uv_set = fields.size("texCoord", 0);
  const Json* transform = fields.extension("KHR_texture_transform");
  if (!fields.ok()) return fields.error();
  if (!gltf_texture) return inputError(where + ": the " + what + " has no index");
  TextureUse use;
  if (transform != nullptr) {
    Fields t(*transform, where + ", KHR_texture_transform");
    std::array<double, 2> offset = {0, 0}, scale = {1, 1};
    t.numbers("offset", offset);
    t.numbers("scale", scale);
    use.rotation = toFloat(t.number("rotation", 0));
    use.offset = {toFloat(offset[0]), toFloat(offset[1])};
    use.scale = {toFloat(scale[0]), toFloat(scale[1])};
    uv_set = t.size("texCoord", uv_set);
    if (!t.ok()) return t.error();
  }
  if (uv_set > kMaxTexcoordSet) {
    return inputError(where + ": TEXCOORD_" + std::to_string(uv_set) + " cannot be used, the last set is " +
                      std::to_string(kMaxTexcoordSet));
  }
  use.uv_set = static_cast<int>(uv_set);
  Result<int> texture = textureIndex(*gltf_texture);
  if (!texture) return texture.error();
  use.texture = *texture;
  return use;
}

Result<Wrap> MaterialReader::wrap(Fields& fields, const char* key) {
  constexpr std::size_t kGlRepeat = 10497, kGlClampToEdge = 33071, kGlMirroredRepeat = 33648;
  const std::size_t code = fields.size(key, kGlRepeat);
  if (!fields.ok()) return fields.error();
  if (code == kGlClampToEdge) return Wrap::kClampToEdge;
  if (code == kGlMirroredRepeat) return Wrap::kMirroredRepeat;
  if (code != kGlRepeat) {
    notices_.add("wrap_mode", fields.where() + ": unknown " + key + " " + std::to_string(code) +
                                  ", the texture is repeated");
  }
  return Wrap::kRepeat;
}

Result<TexelFilter> MaterialReader::filter(Fields& fields) {
  constexpr std::size_t kGlNearest = 9728, kGlLinear = 9729, kGlNearestMipmapNearest = 9984,
                        kGlLinearMipmapNearest = 9985, kGlNearestMipmapLinear = 9986,
                        kGlLinearMipmapLinear = 9987;
  // Without a magnification filter the program may choose; what the file says of minification is the best
  // hint.
  const char* key = fields.has("magFilter") ? "magFilter" : "minFilter";
  const std::size_t code = fields.size(key, kGlLinear);
  if (!fields.ok()) return fields.error();
  switch (code) {
    case kGlNearest:
    case kGlNearestMipmapNearest:
    case kGlNearestMipmapLinear:
      return TexelFilter::kNearest;
    case kGlLinear:
    case kGlLinearMipmapNearest:
    case kGlLinearMipmapLinear:
      return TexelFilter::kLinear;
    default:
      notices_.add("filter", fields.where() + ": unknown " + key + " " + std::to_string(code) +
                                 ", the texture is filtered linearly");
  }
  return TexelFilter::kLinear;
}

Result<int> MaterialReader::textureIndex(std::size_t gltf_texture) {
  if (const auto it = texture_map_.find(gltf_texture); it != texture_map_.end()) return it->second;
  Fields fields(document_.list("textures")[gltf_texture], "texture " + std::to_string(gltf_texture));
  const std::size_t images = document_.list("images").size();
  const Json::array_t& samplers = document_.list("samplers");
  auto source = fields.index("source", images, "image");
  const auto sampler = fields.index("sampler", samplers.size(), "sampler");
  const Json* webp = fields.extension("EXT_texture_webp");
  const Json* basis = fields.extension("KHR_texture_basisu");
  if (!fields.ok()) return fields.error();
  if (webp != nullptr) {
    Fields webp_fields(*webp, fields.where() + ", EXT_texture_webp");
    const auto webp_source = webp_fields.index("source", images, "image");
    if (!webp_fields.ok()) return webp_fields.error();
    if (webp_source) source = webp_source;
  }

  Texture texture;
  if (sampler) {
    Fields sampler_fields(samplers[*sampler], "sampler " + std::to_string(*sampler));
    Result<Wrap> u = wrap(sampler_fields, "wrapS");
    if (!u) return u.error();
    Result<Wrap> v = wrap(sampler_fields, "wrapT");
    if (!v) return v.error();
    texture.wrap_u = *u;
    texture.wrap_v = *v;
    Result<TexelFilter> filtered = filter(sampler_fields);
    if (!filtered) return filtered.error();
    texture.filter = *filtered;
  }
  if (!source) {
    notices_.add("texture_without_image",
                 fields.where() + (basis != nullptr ? ": KHR_texture_basisu is not supported and there is no "
                                                      "other image, so its materials are untextured"
                                                    : ": has no image, so its materials are untextured"));
  } else if (options_.load_images) {
    Result<int> image = imageIndex(*source);
    if (!image && optional_ && image.error().kind == ErrorKind::kInput) {
      notices_.add("image_left_out", image.error().message + "; its textures are not read");
      image = image_map_.emplace(*source, -1).first->second;
    }
    if (!image) return image.error();
    texture.image = *image;
  }
  asset_.textures.push_back(texture);
  const int index = static_cast<int>(asset_.textures.size()) - 1;
  texture_map_.emplace(gltf_texture, index);
  return index;
}

Result<std::vector<std::uint8_t>> MaterialReader::externalBytes(const std::string& uri,
                                                                const std::string& where, bool& missing) {
  const auto at = [&](const Error& error) { return error.prefixed(where + ": "); };
  if (isDataUri(uri)) {
    Result<std::vector<std::uint8_t>> data = decodeDataUri(uri);
    if (!data) return at(data.error());
    return data;
  }
  Result<std::string> name = percentDecode(uri);
  if (!name) return at(name.error());
  Result<std::filesystem::path> path = resolveReference(buffers_.folder(), *name);
  if (!path) return at(path.error());
  std::error_code ignored;
  if (!std::filesystem::exists(*path, ignored)) {
    missing = true;
    return std::vector<std::uint8_t>{};
  }
  Result<std::vector<std::uint8_t>> data = readReference(buffers_.folder(), *name);
  if (!data) return at(data.error());
  return data;
}

Result<int> MaterialReader::imageIndex(std::size_t gltf_image) {
  if (const auto it = image_map_.find(gltf_image); it != image_map_.end()) return it->second;
  Fields fields(document_.list("images")[gltf_image], "image " + std::to_string(gltf_image));
  const std::string& uri = fields.text("uri");
  const std::string& name = fields.text("name");
  const auto view = fields.index("bufferView", document_.list("bufferViews").size(), "bufferView");
  if (!fields.ok()) return fields.error();
  std::string where = fields.where();
  if (!uri.empty() && !isDataUri(uri)) {
    const Result<std::string> decoded = percentDecode(uri);
    where += " (" + quoteForMessage(decoded ? *decoded : uri) + ")";
  } else if (!name.empty()) {
    where += " (" + quoteForMessage(name) + ")";
  }

  std::vector<std::uint8_t> owned;
  std::span<const std::uint8_t> bytes;
  if (view) {
    Result<BufferViewData> data = buffers_.view(*view);
    if (!data) return data.error();
    bytes = data->bytes;
  } else if (fields.has("uri")) {
    bool missing = false;
    Result<std::vector<std::uint8_t>> data = externalBytes(uri, fields.where(), missing);
    if (!data) return data.error();
    if (missing) {
      notices_.add("missing_image", where + ": the file does not exist, its materials are untextured");
      return image_map_.emplace(gltf_image, -1).first->second;
    }
    owned = std::move(*data);
    bytes = owned;
  } else {
    return inputError(where + ": has neither a uri nor a bufferView");
  }

  const std::size_t room = options_.max_total_pixels - std::min(pixels_, options_.max_total_pixels);
  Result<Image> image = decodeImage(bytes, where, std::min(options_.max_image_pixels, room));
  if (!image) return image.error();
  pixels_ += static_cast<std::size_t>(image->width) * static_cast<std::size_t>(image->height);
  // People know the file or the name, not the number.
  if (!uri.empty() && !isDataUri(uri)) {
    const Result<std::string> decoded = percentDecode(uri);
    image->name = decoded ? *decoded : uri;
  } else if (!name.empty()) {
    image->name = name;
  }
  asset_.images.push_back(std::make_shared<const Image>(std::move(*image)));
  return image_map_.emplace(gltf_image, static_cast<int>(asset_.images.size()) - 1).first->second;
}

}  // namespace

Result<void> readMaterials(const Document& document, Buffers& buffers, const LoadOptions& options,
                           NoticeList& notices, Asset& asset) {
  MaterialReader reader(document, buffers, options, notices, asset);
  for (std::size_t i = 0; i < document.list("materials").size(); ++i) {
    Result<Material> material = reader.readMaterial(i);
    if (!material) return material.error();
    asset.materials.push_back(std::move(*material));
  }
  for (std::size_t i = 0; i < asset.materials.size(); ++i) {
    auto slots = reader.readSlots(i, asset.materials[i]);
    if (!slots) return slots;
  }
  return {};
}

}  // namespace heatskin::gltf
