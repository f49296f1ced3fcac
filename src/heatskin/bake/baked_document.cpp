#include "heatskin/bake/baked_document.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include "heatskin/product/color_slots.h"
#include "heatskin/product/drop_kernels.h"

namespace heatskin {
namespace {

constexpr int kLinearFilter = 9729, kMipFilter = 9987, kClamp = 33071, kRepeatWrap = 10497;

/// The object with a slot's texture and factor, made if it is not there.
GltfJson& slotHolder(GltfJson& material, const MaterialSlot& slot) {
  GltfJson* outer = &material;
  if (!slot.extension.empty()) outer = &material["extensions"][std::string(slot.extension)];
  if (!slot.object.empty()) outer = &(*outer)[std::string(slot.object)];
  if (outer->is_null()) *outer = GltfJson::object();
  return *outer;
}

/// The factor that makes texels of 1 the largest value.
void setSlotFactor(GltfJson& material, const MaterialSlot& slot, const ImagePart& part, GltfJson& info,
                   GltfDocument& document) {
  if (!slot.extension.empty()) document.useExtension(slot.extension);
  if (slot.factor.empty()) return;
  double factor = static_cast<double>(part.factor);
  if (slot.factor_in_texture) {
    if (factor != 1) info[std::string(slot.factor)] = factor;
    return;
  }
  if (!slot.strength.empty()) {
    // Emission beyond 1 is what the strength is for.
    GltfJson* extensions = memberOf(material, "extensions");
    if (extensions != nullptr) extensions->erase(std::string(slot.strength_in));
    if (factor > 1) {
      material["extensions"][std::string(slot.strength_in)][std::string(slot.strength)] = factor;
      document.useExtension(slot.strength_in);
      factor = 1;
    } else if (extensions != nullptr && extensions->empty()) {
      material.erase("extensions");
    }
  }
  GltfJson& place = slotHolder(material, slot)[std::string(slot.factor)];
  if (slot.count == 1 || slot.rule == SlotRule::kTangent) {
    place = factor;
  } else {
    place = {factor, factor, factor};
  }
  if (!slot.rotation.empty()) slotHolder(material, slot).erase(std::string(slot.rotation));
  if (slot.rule == SlotRule::kBetween)
    slotHolder(material, slot)[std::string(slot.low)] = static_cast<double>(part.low);
}

}  // namespace

Result<BakedDocument> BakedDocument::open(const Product& product) {
  if (product.asset.file == nullptr) return failure("a product without its file cannot be baked");
  auto document = GltfDocument::open(*product.asset.file, product.asset.path);
  if (!document) return document.error();
  auto vertices = GltfVertices::open(*product.asset.file, product.asset.path);
  if (!vertices) return vertices.error();
  vertices->noteUsed(*document);
  dropKernels(*document);
  return BakedDocument(product, std::move(*document), std::move(*vertices));
}

GltfJson& BakedDocument::primitiveOf(const BakedPrimitive& primitive) {
  const Mesh& mesh = product_->asset.meshes[primitive.mesh];
  return document_.root()["meshes"][static_cast<std::size_t>(mesh.source)]["primitives"]
                         [static_cast<std::size_t>(mesh.primitives[primitive.primitive].source)];
}

bool BakedDocument::colored(const BakedPrimitive& primitive) const {
  const auto groups = product_->kernels.layout.groups();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].name == "base_color" || groups[g].name == "alpha") {
      if ((primitive.constant >> g & 1) == 0) return true;
    }
  }
  return false;
}

void BakedDocument::ownMaterials(std::span<const BakedPrimitive> primitives) {
  // Who else uses a material keeps it.
  std::map<std::size_t, std::size_t> uses;
  const std::function<void(const GltfJson&)> count = [&](const GltfJson& value) {
    if (value.is_object() && value.contains("material") && value["material"].is_number_unsigned())
      ++uses[value["material"].get<std::size_t>()];
    if (value.is_structured()) {
      for (const GltfJson& item : value)
        count(item);
    }
  };
  count(document_.list("meshes"));
  std::map<std::pair<std::size_t, std::uint32_t>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < primitives.size(); ++i) {
    GltfJson& primitive = primitiveOf(primitives[i]);
    // The look that is baked is the only one.
    const int shown = product_->asset.meshes[primitives[i].mesh].primitives[primitives[i].primitive].material;
    if (!product_->asset.variant.empty() && shown >= 0)
      primitive["material"] = static_cast<std::size_t>(shown);
    if (!primitive.contains("material")) {
      primitive["material"] = document_.append("materials", GltfJson::object());
      ++uses[primitiveOf(primitives[i])["material"].get<std::size_t>()];
    }
    groups[{primitiveOf(primitives[i])["material"].get<std::size_t>(), primitives[i].constant}].push_back(i);
  }
  for (const auto& [key, users] : groups) {
    std::size_t material = key.first;
    if (uses[material] > users.size()) {
      uses[material] -= users.size();
      material = document_.append("materials", GltfJson(document_.list("materials")[material]));
      for (const std::size_t user : users)
        primitiveOf(primitives[user])["material"] = material;
    }
    users_[material] = users;
    constant_[material] = key.second;
  }
}

bool BakedDocument::readsOtherTextures(std::size_t material, const ChannelLayout& layout) const {
  GltfJson rest = document_.list("materials")[material];
  const std::uint32_t constant = constant_.at(material);
  for (std::size_t g = 0; g < layout.groups().size(); ++g) {
    if ((constant >> g & 1) != 0) continue;
    const std::size_t slot = slotOf(layout.groups()[g].name);
    if (slot < kSlotCount) {
      slotHolder(rest, kMaterialSlots[slot]).erase(std::string(kMaterialSlots[slot].texture));
      continue;
    }
    for (const ColorSlot& color : colorSlots(rest))
      color.object->erase(color.texture);
  }
  bool found = false;
  const std::function<void(const GltfJson&)> look = [&](const GltfJson& value) {
    if (!value.is_object()) return;
    for (const auto& [key, item] : value.items()) {
      if (key == "extras") continue;
      found = found || ((key.ends_with("Texture") || key.ends_with("texture")) && item.is_object());
      look(item);
    }
  };
  look(rest);
  return found;
}

void BakedDocument::attach(std::size_t number, const ImagePlan& plan, const GltfJson& info,
                           std::uint32_t constant) {
  const auto varies = [&](const ImagePart& part) {
    return part.group >= 32 || (constant >> part.group & 1) == 0;
  };
  GltfJson& material = document_.root()["materials"][number];
  bool with_alpha = false, color_varies = false;
  for (const ImagePart& part : plan.parts) {
    if (part.slot < kSlotCount) continue;
    with_alpha = with_alpha || part.components[0] == 3;
    color_varies = color_varies || (varies(part) && part.group < product_->kernels.layout.groups().size());
  }
  if (plan.name == "base_color") {
    if (!color_varies) return;
    if (colorSlots(material).empty()) material["pbrMetallicRoughness"] = GltfJson::object();
    for (const ColorSlot& slot : colorSlots(material)) {
      (*slot.object)[slot.texture] = info;
      whiten(slot);
      if (with_alpha) slot.object->erase(slot.factor);
    }
    return;
  }
  // Slots that share a texture in the material share its image, and the image has the values of all of them
  // that kernels hold.
  for (const ImagePart& part : plan.parts) {
    const MaterialSlot& slot = kMaterialSlots[part.slot];
    const auto same = [&](const ImagePart& other) {
      const MaterialSlot& its = kMaterialSlots[other.slot];
      return its.extension == slot.extension && its.object == slot.object && its.texture == slot.texture;
    };
    if (std::none_of(plan.parts.begin(), plan.parts.end(),
                     [&](const ImagePart& other) { return same(other) && varies(other); }))
      continue;
    GltfJson own = info;
    if (!slot.factor_in_texture) setSlotFactor(material, slot, part, own, document_);
    slotHolder(material, slot)[std::string(slot.texture)] = own;
  }
}

void BakedDocument::addImages(const MaterialImages& images, std::span<const EncodedImage> encoded,
                              std::span<const std::size_t> materials, std::size_t set, bool repeat) {
  GltfJson sampler;
  sampler["magFilter"] = kLinearFilter;
  sampler["minFilter"] = kMipFilter;
  sampler["wrapS"] = sampler["wrapT"] = repeat ? kRepeatWrap : kClamp;
  const std::size_t sampler_number = document_.append("samplers", std::move(sampler));
  for (std::size_t i = 0; i < images.plans().size(); ++i) {
    if (encoded[i].bytes.empty()) continue;
    GltfJson image, texture, info;
    image["name"] = images.plans()[i].name;
    image["bufferView"] = document_.addBufferView(encoded[i].bytes);
    image["mimeType"] = encoded[i].mime_type;
    const std::size_t source = document_.append("images", std::move(image));
    texture["sampler"] = sampler_number;
    const bool webp = encoded[i].mime_type == "image/webp", ktx2 = encoded[i].mime_type == "image/ktx2";
    if (webp || ktx2) {
      const char* extension = webp ? "EXT_texture_webp" : "KHR_texture_basisu";
      texture["extensions"][extension]["source"] = source;
      document_.useExtension(extension);
      GltfJson& required = document_.root()["extensionsRequired"];
      if (!required.is_array()) required = GltfJson::array();
      if (std::find(required.begin(), required.end(), extension) == required.end())
        required.push_back(extension);
    } else {
      texture["source"] = source;
    }
    info["index"] = document_.append("textures", std::move(texture));
    if (set != 0) info["texCoord"] = set;
    for (const std::size_t material : materials)
      attach(material, images.plans()[i], info, constant_[material]);
  }
}

Result<void> BakedDocument::setVertices(std::span<const BakedPrimitive> primitives, std::size_t set) {
  for (const BakedPrimitive& primitive : primitives) {
    if (primitive.vertices.empty()) continue;
    std::vector<VertexAttribute> added(1);
    added[0].name = "TEXCOORD_" + std::to_string(set);
    for (const Vec2f& uv : primitive.uvs)
      added[0].rows.insert(added[0].rows.end(), {uv.x(), uv.y()});
    // Sets are numbered without gaps.
    const auto& before = product_->asset.meshes[primitive.mesh].primitives[primitive.primitive].uv_sets;
    for (std::size_t missing = 0; missing < set; ++missing) {
      if (missing < before.size() && !before[missing].empty()) continue;
      VertexAttribute filler = added[0];
      filler.name = "TEXCOORD_" + std::to_string(missing);
      added.push_back(std::move(filler));
    }
    if (!primitive.tangents.empty()) {
      VertexAttribute& tangents = added.emplace_back();
      tangents.name = "TANGENT";
      tangents.components = 4;
      for (const Vec4f& t : primitive.tangents)
        tangents.rows.insert(tangents.rows.end(), {t.x(), t.y(), t.z(), t.w()});
    }
    if (auto done = setVertices(primitive, added); !done) return done;
  }
  return {};
}

Result<void> BakedDocument::setVertices(const BakedPrimitive& primitive,
                                        std::span<const VertexAttribute> attributes) {
  const Mesh& mesh = product_->asset.meshes[primitive.mesh];
  const Primitive& before = mesh.primitives[primitive.primitive];
  std::vector<VertexBlend> vertices = primitive.vertices;
  for (VertexBlend& vertex : vertices) {
    for (std::uint32_t& from : vertex.from)
      from = before.source_vertices.empty() ? from : before.source_vertices[from];
  }
  std::vector<std::string> removed;
  if (colored(primitive)) removed.push_back("COLOR_0");
  // Coordinates that nothing reads any more would only be carried along.
  const bool new_uvs = !attributes.empty() && attributes[0].name == "TEXCOORD_0";
  for (std::size_t set = 0; new_uvs && set < before.uv_sets.size(); ++set)
    removed.push_back("TEXCOORD_" + std::to_string(set));
  return vertices_.rewrite(document_, static_cast<std::size_t>(mesh.source),
                           static_cast<std::size_t>(before.source), vertices, primitive.triangles, attributes,
                           removed);
}

void BakedDocument::dropVertexColors(std::span<const BakedPrimitive> primitives) {
  for (const BakedPrimitive& primitive : primitives) {
    if (!colored(primitive)) continue;
    GltfJson& json = primitiveOf(primitive);
    json["attributes"].erase("COLOR_0");
    GltfJson* extensions = memberOf(json, "extensions");
    GltfJson* draco = extensions == nullptr ? nullptr : memberOf(*extensions, "KHR_draco_mesh_compression");
    GltfJson* inside = draco == nullptr ? nullptr : memberOf(*draco, "attributes");
    if (inside != nullptr && inside->is_object()) inside->erase("COLOR_0");
  }
}

void BakedDocument::useVertexColors(std::span<const BakedPrimitive> primitives) {
  for (const BakedPrimitive& primitive : primitives) {
    if (!colored(primitive)) continue;
    const auto number = primitiveOf(primitive)["material"].get<std::size_t>();
    GltfJson& material = document_.root()["materials"][number];
    if (colorSlots(material).empty()) continue;
    for (const ColorSlot& slot : colorSlots(material)) {
      slot.object->erase(slot.texture);
      slot.object->erase(slot.factor);
    }
    if (GltfJson* pbr = memberOf(material, "pbrMetallicRoughness"); pbr != nullptr && pbr->empty())
      material.erase("pbrMetallicRoughness");
  }
}

bool BakedDocument::skinned(const BakedPrimitive& primitive) {
  return primitiveOf(primitive)["attributes"].contains("JOINTS_0");
}

bool BakedDocument::dropVariants(std::span<const BakedPrimitive> primitives) {
  bool any = false;
  for (const BakedPrimitive& primitive : primitives) {
    GltfJson& json = primitiveOf(primitive);
    GltfJson* extensions = memberOf(json, "extensions");
    if (extensions == nullptr || extensions->erase("KHR_materials_variants") == 0) continue;
    any = true;
    if (extensions->empty()) json.erase("extensions");
  }
  return any;
}

Result<std::vector<std::uint8_t>> BakedDocument::finish(const std::string& generator) {
  vertices_.dropUnused(document_);
  if (!generator.empty()) document_.root()["asset"]["generator"] = generator;
  document_.dropUnused();
  return document_.finish();
}

}  // namespace heatskin
