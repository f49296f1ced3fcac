#include "heatskin/product/product_document.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/base/base64.h"
#include "heatskin/io/color_space.h"
#include "heatskin/io/gltf_document.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/io/reference.h"
#include "heatskin/product/asset_constants.h"
#include "heatskin/product/color_slots.h"
#include "heatskin/product/drop_kernels.h"
#include "heatskin/product/fallback_images.h"
#include "heatskin/product/file_contents.h"
#include "heatskin/product/geometry_fingerprint.h"
#include "heatskin/product/material_factors.h"
#include "heatskin/product/material_stripper.h"
#include "heatskin/product/product_extension.h"
#include "heatskin/product/vertex_color_writer.h"

namespace heatskin {
namespace {

/// Whether kernels are needed at all: some primitive has more than one value in some group, by default or,
/// where `variants` count, in one of these.
bool hasVaryingValues(const Asset& asset, const ChannelLayout& layout, bool variants) {
  for (const Mesh& mesh : asset.meshes) {
    for (const Primitive& primitive : mesh.primitives) {
      if (primitive.triangles.empty()) continue;
      const auto varies = [&](int material) {
        return constantGroups(asset, primitive, material, layout) != allGroups(layout);
      };
      if (varies(primitive.material)) return true;
      if (variants && std::any_of(primitive.variants.begin(), primitive.variants.end(),
                                  [&](const VariantMaterial& mapping) { return varies(mapping.material); }))
        return true;
    }
  }
  return false;
}

/// slotSums() of every use of a material.
std::map<MaterialUse, SlotSums> useSums(const Asset& asset, const Surface& surface,
                                        const ChannelLayout& layout, std::span<const VariantLook> looks) {
  std::map<MaterialUse, SlotSums> result;
  for (const auto& [key, sums] : slotSums(asset, surface, layout))
    result[{key}] = sums;
  if (looks.empty()) return result;
  Asset other = asset;
  for (const VariantLook& look : looks) {
    setLook(other, look);
    const auto sums = slotSums(other, surface, layout);
    for (const VariantLook::Change& change : look.changes) {
      const Mesh& mesh = asset.meshes[change.mesh];
      const PrimitiveKey key(static_cast<std::size_t>(mesh.source),
                             static_cast<std::size_t>(mesh.primitives[change.primitive].source));
      const auto found = sums.find(key);
      for (const VariantMaterial& mapping : mesh.primitives[change.primitive].variants) {
        if (found != sums.end() && mapping.material == change.material)
          result[{key, mapping.source}] = found->second;
      }
    }
    unsetLook(other, asset, look);
  }
  return result;
}

/// A copy of the extension in the extras of the scene that is shown (readExtrasExtension()).
void addExtras(GltfDocument& document, std::size_t view, std::span<const std::vector<std::uint8_t>> buffers,
               const std::string& geometry) {
  GltfJson& root = document.root();
  const std::size_t count = document.list("scenes").size();
  if (count == 0) return;
  const GltfJson* chosen = memberOf(root, "scene");
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
  FallbackImages images;
  Asset stored;
  Fallback fallback = Fallback::kVertex;
  bool extras = false;
  ConstantMaterials constant_materials;
  std::set<PrimitiveKey> fitted;           // whose base colour is
  std::set<std::size_t> fitted_materials;  // and theirs
  std::vector<std::string> kept, dropped;
  std::vector<Notice> notices;

  /// One colour for all that is fitted.
  void paint(GltfDocument& file, const Vec3f& srgb) const {
    const GltfJson factor = {linearFromSrgb(srgb[0]), linearFromSrgb(srgb[1]), linearFromSrgb(srgb[2]), 1};
    for (const auto& [mesh, place] : fitted) {
      GltfJson& primitive = file.root()["meshes"][mesh]["primitives"][place];
      primitive["attributes"].erase("COLOR_0");
    }
    for (const std::size_t material : fitted_materials) {
      GltfJson& json = file.root()["materials"][material];
      if (colorSlots(json).empty()) json["pbrMetallicRoughness"] = GltfJson::object();
      for (const ColorSlot& slot : colorSlots(json)) {
        const GltfJson* old = memberOf(*slot.object, slot.factor);
        GltfJson painted = factor;
        if (old != nullptr && old->is_array() && old->size() == 4) painted[3] = (*old)[3];
        (*slot.object)[slot.factor] = std::move(painted);
      }
    }
  }
};

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
  return impl_->images.requests();
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

  dropKernels(impl->document);
  std::vector<VariantLook> looks;
  if (asset.file != nullptr) {
    for (const VariantKernels& variant : file.variants)
      looks.push_back(variant.look);
  }
  const bool keep_constants = hasVaryingValues(*input, layout, !looks.empty()) && Appearance::knows(layout);
  MaterialStripper stripper(
      impl->document, *input, layout,
      [&](std::size_t mesh, std::size_t primitive, int material) -> std::uint32_t {
        if (file.constants != nullptr) {
          if (material != input->meshes[mesh].primitives[primitive].material) {
            const VariantLook::Change change{mesh, primitive, material};
            for (const VariantKernels& variant : file.variants) {
              if (!variant.constants.empty() &&
                  std::binary_search(variant.look.changes.begin(), variant.look.changes.end(), change))
                return variant.constants[mesh][primitive];
            }
          }
          return (*file.constants)[mesh][primitive];
        }
        if (!keep_constants) return 0;
        return constantGroups(*input, input->meshes[mesh].primitives[primitive], material, layout);
      },
      useSums(asset, surface, layout, looks), fallback, looks);
  if (auto done = stripper.strip(); !done) return done.error();
  impl->constant_materials = stripper.constantMaterials();
  impl->fitted = stripper.colored();
  impl->fitted_materials = stripper.coloredMaterials();
  impl->images = stripper.images();
  if (asset.file == nullptr) impl->images.useSizes(asset);
  impl->document.dropUnused();
  for (const std::string& name : impl->document.missingImages()) {
    impl->notices.push_back(
        {"missing_image",
         fmt::format("image {} cannot be read: the product only refers to it, too", quoteForMessage(name))});
  }
  std::set<std::string> after = contentsOf(impl->document);
  // What speaks of a texture comes back with the image that takes its place.
  after.merge(impl->images.extensions());
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
      if (stripper.colored().contains(key) &&
          (fallback == Fallback::kVertex || fallback == Fallback::kTexture))
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
  impl_->images.hang(document, images);
  if (impl_->fallback == Fallback::kVertex || impl_->fallback == Fallback::kTexture) {
    VertexColorWriter writer(document);
    for (const Mesh& mesh : colored.meshes) {
      for (const Primitive& primitive : mesh.primitives) {
        const PrimitiveKey key(static_cast<std::size_t>(mesh.source),
                               static_cast<std::size_t>(primitive.source));
        if (!primitive.colors.empty() && !impl_->images.shown(key, images)) writer.add(key, primitive);
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
