#include "heatskin/pipeline/fallback_atlas.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heatskin/bake/atlas_charts.h"
#include "heatskin/bake/baked_primitives.h"
#include "heatskin/bake/pack_charts.h"
#include "heatskin/io/gltf_document.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/io/gltf_vertices.h"
#include "heatskin/io/image.h"
#include "heatskin/product/product.h"

namespace heatskin {
namespace {

/// Texels around a chart at the full size; images a quarter as large still keep one.
constexpr int kAtlasGutter = 4;

constexpr int kGltfLinear = 9729, kGltfClamp = 33071;

const Primitive& primitiveOfBaked(const Asset& asset, const BakedPrimitive& baked) {
  return asset.meshes[baked.mesh].primitives[baked.primitive];
}

/// An asset of another format: its arrays are what is written.
Asset atlasedAsset(const Asset& asset, std::span<const BakedPrimitive> primitives, std::size_t set) {
  Asset out = withNewVertices(asset, primitives, set);
  auto white = std::make_shared<Image>();
  white->name = "base_color";
  white->format = "png";
  white->width = white->height = kFallbackAtlasSide;
  white->rgba.assign(std::size_t{4} * kFallbackAtlasSide * kFallbackAtlasSide, 255);
  out.images.push_back(std::move(white));
  out.textures.push_back({static_cast<int>(out.images.size()) - 1, Wrap::kClampToEdge, Wrap::kClampToEdge,
                          TexelFilter::kLinear});
  std::map<int, int> own;  // materials of what is drawn: others may have the same
  for (const BakedPrimitive& baked : primitives) {
    Primitive& primitive = out.meshes[baked.mesh].primitives[baked.primitive];
    primitive.colors.clear();
    const auto [entry, is_new] = own.try_emplace(primitive.material, static_cast<int>(out.materials.size()));
    if (is_new) {
      // A material that nobody has any more would keep its texture in the file.
      const int before = primitive.material;
      std::size_t users = 0, drawn = 0;
      for (const Mesh& mesh : asset.meshes) {
        for (const Primitive& other : mesh.primitives)
          users += !other.triangles.empty() && other.material == before ? 1 : 0;
      }
      for (const BakedPrimitive& other : primitives)
        drawn += primitiveOfBaked(asset, other).material == before ? 1 : 0;
      if (before >= 0 && users == drawn) {
        entry->second = before;
      } else {
        out.materials.push_back(before < 0 ? Material() : out.materials[static_cast<std::size_t>(before)]);
      }
      Material& material = out.materials[static_cast<std::size_t>(entry->second)];
      material.base_color = {};
      material.base_color.texture = static_cast<int>(out.textures.size()) - 1;
      material.base_color.uv_set = static_cast<int>(set);
      material.base_color_factor = Vec4f::Ones();
    }
    primitive.material = entry->second;
  }
  return out;
}

/// A glTF file is edited, so that nothing else in it changes.
Result<std::optional<Asset>> atlasedFile(const Asset& asset, std::span<const BakedPrimitive> primitives,
                                         std::size_t set) {
  auto document = GltfDocument::open(*asset.file, asset.path);
  if (!document) return document.error();
  auto vertices = GltfVertices::open(*asset.file, asset.path);
  if (!vertices) return vertices.error();
  vertices->noteUsed(*document);
  const std::vector<std::uint8_t> pixels(std::size_t{kFallbackAtlasSide} * kFallbackAtlasSide, 255);
  const auto png = encodePng(pixels, kFallbackAtlasSide, kFallbackAtlasSide, 1);
  if (!png) return png.error();
  GltfJson image, sampler, texture, info;
  image["name"] = "base_color";
  image["mimeType"] = "image/png";
  image["bufferView"] = document->addBufferView(*png);
  sampler["magFilter"] = sampler["minFilter"] = kGltfLinear;
  sampler["wrapS"] = sampler["wrapT"] = kGltfClamp;
  texture["sampler"] = document->append("samplers", std::move(sampler));
  texture["source"] = document->append("images", std::move(image));
  info["index"] = document->append("textures", std::move(texture));
  if (set > 0) info["texCoord"] = set;

  std::map<std::size_t, std::size_t> users;  // of materials, wherever the file names them
  const std::function<void(const GltfJson&)> count = [&](const GltfJson& value) {
    if (!value.is_structured()) return;
    if (value.is_object() && value.contains("material") && value["material"].is_number_unsigned())
      ++users[value["material"].get<std::size_t>()];
    for (const GltfJson& item : value)
      count(item);
  };
  count(document->list("meshes"));

  std::map<int, std::size_t> own;
  for (const BakedPrimitive& baked : primitives) {
    const Mesh& mesh = asset.meshes[baked.mesh];
    const Primitive& primitive = mesh.primitives[baked.primitive];
    const auto at_mesh = static_cast<std::size_t>(mesh.source),
               at_primitive = static_cast<std::size_t>(primitive.source);
    const auto [entry, is_new] = own.try_emplace(primitive.material);
    if (is_new) {
      GltfJson material = primitive.material < 0
                              ? GltfJson::object()
                              : document->list("materials")[static_cast<std::size_t>(primitive.material)];
      if (GltfJson* extensions = memberOf(material, "extensions");
          extensions != nullptr && memberOf(*extensions, "KHR_materials_pbrSpecularGlossiness") != nullptr)
        return std::optional<Asset>();
      GltfJson& pbr = material["pbrMetallicRoughness"];
      if (!pbr.is_object()) pbr = GltfJson::object();
      pbr.erase("baseColorFactor");
      pbr["baseColorTexture"] = info;
      const auto drawn = static_cast<std::size_t>(
          std::count_if(primitives.begin(), primitives.end(), [&](const BakedPrimitive& other) {
            return primitiveOfBaked(asset, other).material == primitive.material;
          }));
      // Who else has the material keeps it; a copy that nobody has would keep its texture in the file.
      if (primitive.material >= 0 && users[static_cast<std::size_t>(primitive.material)] == drawn) {
        entry->second = static_cast<std::size_t>(primitive.material);
        document->root()["materials"][entry->second] = std::move(material);
      } else {
        entry->second = document->append("materials", std::move(material));
      }
    }
    document->root()["meshes"][at_mesh]["primitives"][at_primitive]["material"] = entry->second;

    std::vector<VertexAttribute> added(1);
    added[0].name = "TEXCOORD_" + std::to_string(set);
    for (const Vec2f& uv : baked.uvs)
      added[0].rows.insert(added[0].rows.end(), {uv.x(), uv.y()});
    // Sets are numbered without gaps.
    for (std::size_t missing = 0; missing < set; ++missing) {
      if (missing < primitive.uv_sets.size() && !primitive.uv_sets[missing].empty()) continue;
      VertexAttribute filler = added[0];
      filler.name = "TEXCOORD_" + std::to_string(missing);
      added.push_back(std::move(filler));
    }
    std::vector<VertexBlend> blends = baked.vertices;
    for (VertexBlend& vertex : blends) {
      for (std::uint32_t& from : vertex.from)
        from = primitive.source_vertices.empty() ? from : primitive.source_vertices[from];
    }
    const std::vector<std::string> removed = {"COLOR_0"};
    if (auto done =
            vertices->rewrite(*document, at_mesh, at_primitive, blends, baked.triangles, added, removed);
        !done)
      return done.error();
  }
  vertices->dropUnused(*document);
  document->dropUnused();
  const auto bytes = document->finish();
  if (!bytes) return bytes.error();
  auto read = readGltfBytes(*bytes, asset.path);
  if (!read) return failure(read.error().message);
  read->input_bytes = asset.input_bytes;
  return std::optional(std::move(*read));
}

}  // namespace

Result<std::optional<Asset>> fallbackAtlas(const Asset& asset, const Surface& surface,
                                           const ChannelLayout& layout, const ConstantFaces& constants) {
  Product fitted;
  fitted.asset = asset;
  fitted.surface = std::shared_ptr<const Surface>(std::shared_ptr<void>(), &surface);
  fitted.kernels.layout = layout;
  fitted.constants = constants;
  std::vector<BakedPrimitive> primitives = bakedPrimitives(fitted);
  constexpr std::uint32_t kBaseColor = 1;  // the first group of every product
  std::erase_if(primitives, [](const BakedPrimitive& baked) { return (baked.constant & kBaseColor) != 0; });
  if (primitives.empty()) return std::optional<Asset>();
  std::size_t set = 0;
  for (const BakedPrimitive& baked : primitives) {
    const Primitive& primitive = primitiveOfBaked(asset, baked);
    if (primitive.material >= 0 &&
        asset.materials[static_cast<std::size_t>(primitive.material)].alpha_mode != AlphaMode::kOpaque)
      return std::optional<Asset>();
    set = std::max(set, primitive.uv_sets.size());
  }
  SheetFaces sheet = facesOf(primitives);
  const AtlasCharts charts = growCharts(atlasMesh(surface, sheet.faces));
  if (leastAtlasSide(charts, kAtlasGutter) > kFallbackAtlasSide) return std::optional<Asset>();
  PackOptions options;
  options.width = options.height = kFallbackAtlasSide;
  options.gutter = kAtlasGutter;
  auto packed = packCharts(charts, options);
  if (!packed) return std::optional<Asset>();
  sheet.uvs = std::move(packed->uvs);
  splitVertices(fitted, sheet, false, primitives);
  if (asset.file == nullptr) return std::optional(atlasedAsset(asset, primitives, set));
  return atlasedFile(asset, primitives, set);
}

}  // namespace heatskin
