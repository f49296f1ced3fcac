#include "heatskin/pipeline/lod_product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "heatskin/evaluators/local/simplify.h"
#include "heatskin/evaluators/method_traits.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/glb_builder.h"
#include "heatskin/io/gltf_container.h"
#include "heatskin/io/gltf_document.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/io/gltf_vertices.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/pipeline/rewrite_product.h"
#include "heatskin/product/drop_kernels.h"
#include "heatskin/product/file_contents.h"
#include "heatskin/product/product_extension.h"
#include "heatskin/surface/closest_point.h"
#include "heatskin/transfer/carried_target.h"
#include "heatskin/transfer/carry_kernels.h"
#include "heatskin/transfer/merge_kernels.h"
#include "heatskin/transfer/simplified_asset.h"

namespace heatskin {
namespace {

/// Of the extent: there is no level that must not be reached.
constexpr float kAnyError = 1.0f;

/// A level has this many triangles and kernels at least.
constexpr std::size_t kLeastTriangles = 16, kLeastKernels = 16;

/// Levels far away are coarse: points further apart than this part of the longest side do not match.
constexpr double kFarApart = 0.1;

double longestSide(const Surface& surface) {
  return 2 / surface.surfaceFromAsset().scale;
}

/// What a distance between surfaces means on a screen.
void onScreen(const Surface& surface, LodLevel& level) {
  const double side = longestSide(surface);
  level.pixels = level.largest_distance / side * kScreenLines;
  const double half_field = kScreenField / 2 * std::acos(-1.0) / 180;
  level.switch_distance = level.largest_distance * kScreenLines / (2 * std::tan(half_field));
  level.screen_coverage = level.pixels > 1 ? 1 / level.pixels : 1;
}

/// The product's file with fewer triangles and everything else as it is: hierarchy, skins, animations.
/// Vertices are some of the file's own, so that attributes, joints and morph targets stay what they are.
/// Nothing where that cannot be: a mesh that is placed several times, a primitive that would be gone, a
/// triangle whose corners are in different primitives.
Result<std::optional<Asset>> thinnedFile(const Product& product, std::size_t faces) {
  const std::optional<Asset> impossible;
  const Asset& asset = product.asset;
  const Surface& surface = *product.surface;
  if (asset.file == nullptr) return impossible;
  std::vector<std::uint8_t> placed(asset.meshes.size(), 0);
  for (const Instance& instance : asset.instances) {
    if (instance.mesh >= 0 && ++placed[static_cast<std::size_t>(instance.mesh)] > 1) return impossible;
  }
  // The file's vertices at each vertex of the surface, with the face they were found at.
  struct Copy {
    std::uint32_t instance, primitive, vertex, face;
  };
  std::vector<std::vector<Copy>> copies(surface.vertexCount());
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    const FaceSource& source = surface.sources()[f];
    const Primitive& primitive = asset.meshes[static_cast<std::size_t>(asset.instances[source.instance].mesh)]
                                     .primitives[source.primitive];
    for (std::size_t c = 0; c < 3; ++c) {
      copies[surface.faces()[f][c]].push_back(
          {source.instance, source.primitive,
           primitive.triangles[3 * std::size_t{source.triangle} + source.corners[c]], f});
    }
  }
  struct Part {
    std::vector<VertexBlend> vertices;
    std::vector<std::uint32_t> triangles;
    std::map<std::uint32_t, std::uint32_t> numbers;  // of vertices of the primitive
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Part> parts;
  for (std::uint32_t i = 0; i < asset.instances.size(); ++i) {
    const int mesh = asset.instances[i].mesh;
    for (std::uint32_t p = 0; mesh >= 0 && p < asset.meshes[static_cast<std::size_t>(mesh)].primitives.size();
         ++p)
      parts[{i, p}];
  }
  const ClosestPointQuery query(surface);
  const auto middle = [&](std::uint32_t f) {
    const auto& corners = surface.faces()[f];
    return Vec3((surface.positions()[corners[0]] + surface.positions()[corners[1]] +
                 surface.positions()[corners[2]]) /
                3);
  };
  for (const auto& triangle : local::simplify(surface.positions(), surface.vertexNormals(), surface.faces(),
                                              surface.totalArea(), faces, kAnyError)) {
    const Vec3 center = (surface.positions()[triangle[0]] + surface.positions()[triangle[1]] +
                         surface.positions()[triangle[2]]) /
                        3;
    const FaceSource& home = surface.sources()[query(center).point.face];
    Part& part = parts[{home.instance, home.primitive}];
    const Mesh& mesh = asset.meshes[static_cast<std::size_t>(asset.instances[home.instance].mesh)];
    const std::vector<std::uint32_t>& stored = mesh.primitives[home.primitive].source_vertices;
    for (const std::uint32_t v : triangle) {
      // On the triangle's side of a seam: the copy whose face is nearest.
      const Copy* best = nullptr;
      for (const Copy& copy : copies[v]) {
        if (copy.instance != home.instance || copy.primitive != home.primitive) continue;
        if (best == nullptr ||
            (middle(copy.face) - center).squaredNorm() < (middle(best->face) - center).squaredNorm())
          best = &copy;
      }
      if (best == nullptr) return impossible;
      const auto next = static_cast<std::uint32_t>(part.vertices.size());
      const auto [found, is_new] = part.numbers.try_emplace(best->vertex, next);
      if (is_new) {
        VertexBlend& blend = part.vertices.emplace_back();
        blend.from[0] = stored.empty() ? best->vertex : stored[best->vertex];
      }
      part.triangles.push_back(found->second);
    }
    // Faces of the surface may be turned round against those of the file.
    const FaceSource& turned = home;
    const bool flipped = (turned.corners[1] + 3 - turned.corners[0]) % 3 == 2;
    if (flipped)
      std::swap(part.triangles[part.triangles.size() - 1], part.triangles[part.triangles.size() - 2]);
  }
  auto document = GltfDocument::open(*asset.file, asset.path);
  if (!document) return document.error();
  auto vertices = GltfVertices::open(*asset.file, asset.path);
  if (!vertices) return vertices.error();
  vertices->noteUsed(*document);
  dropKernels(*document);
  for (const auto& [place, part] : parts) {
    if (part.triangles.empty()) return impossible;
    const Mesh& mesh = asset.meshes[static_cast<std::size_t>(asset.instances[place.first].mesh)];
    const std::string colors[] = {"COLOR_0"};
    if (auto done = vertices->rewrite(*document, static_cast<std::size_t>(mesh.source),
                                      static_cast<std::size_t>(mesh.primitives[place.second].source),
                                      part.vertices, part.triangles, {}, colors);
        !done)
      return done.error();
  }
  vertices->dropUnused(*document);
  document->dropUnused();
  const auto glb = document->finish();
  if (!glb) return glb.error();
  auto read = readGltfBytes(*glb, asset.path);
  if (!read) return read.error();
  return std::optional<Asset>(std::move(*read));
}

Result<LodLevel> makeLevel(const LoadedProduct& loaded, const LodOptions& options, int number) {
  const Product& product = loaded.product;
  const Method method = methodOf(product.options);
  LodLevel level;
  const auto part = [&](std::size_t count, double ratio, int times, std::size_t least) {
    return std::max(
        least, static_cast<std::size_t>(std::lround(static_cast<double>(count) * std::pow(ratio, times))));
  };
  const std::size_t faces = part(product.surface->faceCount(), options.face_ratio, number, kLeastTriangles);
  Result<std::optional<Asset>> whole = std::optional<Asset>();
  if (!options.bare) whole = thinnedFile(product, faces);
  if (!whole) return whole.error();
  level.bare = !*whole;
  if (level.bare) {
    auto simplified = simplifiedAsset(product.asset, *product.surface, faces);
    if (!simplified) return simplified.error();
    whole = std::optional<Asset>(std::move(*simplified));
  }
  auto mesh = meshForKernels(std::move(**whole));
  if (!mesh) return mesh.error();
  const auto looks = productLooks(product);
  if (!looks) return looks.error();
  mesh = withVariantNames(std::move(*mesh), variantNames(product.asset, *looks));
  if (!mesh) return mesh.error();
  auto built = buildSurface(*mesh, productSurfaceOptions(method));
  if (!built) return built.error();
  const auto surface = std::make_shared<const Surface>(std::move(*built));

  const Correspondence back(*surface, *product.surface, kFarApart);
  const Correspondence there(*product.surface, *surface, kFarApart);
  const TextureTarget look(loaded.texture);
  const CarriedTarget target(look, back);
  const bool has_lengths = traits(method).has_lengths;
  KernelSet kernels = carryKernels(product.kernels, there, has_lengths).kernels;
  if (kernels.size() == 0) return failure("no kernel has a place on a level of so few triangles");
  const bool merged = number >= options.merge_from && options.kernel_ratio < 1;
  if (merged) {
    kernels = mergedKernels(
        kernels, *surface,
        part(product.kernels.size(), options.kernel_ratio, number - options.merge_from + 1, kLeastKernels),
        has_lengths);
  }
  std::optional<PreprocessingCache> own;
  if (options.open.cache == nullptr) own = PreprocessingCache::fromEnvironment();
  auto evaluator =
      makeEvaluator(*surface, product.options, {options.open.progress, own ? &*own : options.open.cache});
  if (!evaluator) return evaluator.error();
  if (auto possible = (*evaluator)->check(kernels, 1); !possible)
    return inputError(possible.error().message, possible.error().code);
  const std::vector<std::uint8_t> all(kernels.size(), 1);
  const FitConfig config = configFor(product.options, kernels.size(), options.seed);
  if (options.refit) {
    level.refit = refitKernels(*surface, target, **evaluator, all, config, RefitOptions(), kernels);
  }
  // Looks of material variants: other values for the same kernels.
  struct OtherLook {
    std::vector<std::string> names;
    KernelTexture texture;
  };
  std::vector<OtherLook> others;
  std::vector<VariantKernels> variants;
  for (const CarriedLook& carried : looksOnMesh(*mesh, *looks)) {
    if (carried.source == nullptr) {
      variants.push_back({carried.look, kernels});
      continue;
    }
    others.push_back(
        {carried.look.names, loaded.texture.withValues(carried.source->kernels, carried.source->constants)});
    const TextureTarget values(others.back().texture);
    const CarriedTarget other(values, back);
    // Which kernels became one is the same in all looks; what the values are then is solved for.
    KernelSet values_there = kernels;
    if (merged) {
      values_there.mean = carried.source->kernels.mean;
    } else {
      values_there =
          withChannelsOf(kernels, carryKernels(carried.source->kernels, there, has_lengths).kernels);
    }
    if (options.refit || merged) solveLook(*surface, other, **evaluator, all, config, values_there);
    variants.push_back({carried.look, std::move(values_there)});
    if (!level.bare) variants.back().constants = primitiveConstants(product, carried.source->constants);
  }
  // The same primitives leave to their materials what they did before.
  std::vector<std::vector<std::uint32_t>> constants;
  if (!level.bare) {
    constants = primitiveConstants(product, product.constants);
  } else {
    for (const Mesh& m : mesh->meshes)
      constants.emplace_back(m.primitives.size(), 0u);
  }
  ProductFile file(Fallback::kVertex);
  file.charts = options.charts;
  file.constants = &constants;
  file.variants = std::move(variants);
  auto written = rewriteProduct(*mesh, surface, kernels, product.options, product.info, file, options.open);
  if (!written) return written.error();
  level.bytes = std::move(written->bytes);
  level.stored.emplace(std::move(written->stored));
  level.triangles = surface->faceCount();
  level.kernels = kernels.size();
  const SurfaceDistance distance = surfaceDistance(*product.surface, *surface);
  level.mean_distance = distance.mean;
  level.largest_distance = distance.p99;
  level.surface_psnr_source =
      texturePsnr(level.stored->texture, target, options.samples, options.seed, target.unmatchedFaces());
  for (const OtherLook& drawn : others) {
    const auto texture = textureOfVariant(*level.stored, drawn.names.front());
    if (!texture) return texture.error();
    const TextureTarget values(drawn.texture);
    const CarriedTarget other(values, back);
    level.variants.push_back(
        {drawn.names, texturePsnr(*texture, other, options.samples, options.seed, other.unmatchedFaces())});
  }
  onScreen(*product.surface, level);
  return level;
}

/// Adds `first` to every index of that name, anywhere below.
void addToIndices(GltfJson& json, std::string_view name, std::size_t first) {
  if (json.is_array() || json.is_object()) {
    for (auto& [key, value] : json.items()) {
      if (key == name && value.is_number_unsigned()) {
        value = value.get<std::size_t>() + first;
      } else {
        addToIndices(value, name, first);
      }
    }
  }
}

/// Appends a product as lodProduct() writes levels (no textures, skins or animations) to the file, byte for
/// byte and with its numbers moved on. Returns an element of `levels` of the extension (docs/format.md).
Result<GltfJson> appendLevel(GlbBuilder& builder, std::span<const std::uint8_t> glb,
                             const std::string& name) {
  const auto container = gltf::splitGlb(glb);
  if (!container) return container.error();
  GltfJson level = GltfJson::parse(container->json.begin(), container->json.end(), nullptr, false);
  if (level.is_discarded() || !container->bin) return failure("a level cannot be read again");
  const auto list = [](GltfJson& root, const char* key) -> GltfJson& {
    if (!root.contains(key)) root[key] = GltfJson::array();
    return root[key];
  };
  for (const char* key : {"textures", "images", "samplers", "skins", "animations", "cameras"}) {
    if (!list(level, key).empty()) return failure(fmt::format("a level of detail has {}", key));
  }
  const std::size_t views = list(builder.root(), "bufferViews").size();
  const std::size_t accessors = list(builder.root(), "accessors").size();
  const std::size_t materials = list(builder.root(), "materials").size();
  const std::size_t meshes = list(builder.root(), "meshes").size();
  const std::size_t nodes = list(builder.root(), "nodes").size();
  for (const GltfJson& view : list(level, "bufferViews")) {
    const auto bytes = container->bin->subspan(view.value("byteOffset", std::size_t{0}),
                                               view["byteLength"].get<std::size_t>());
    const int number = builder.addBufferView({bytes.begin(), bytes.end()});
    for (const char* key : {"byteStride", "target"}) {
      if (view.contains(key))
        builder.root()["bufferViews"][static_cast<std::size_t>(number)][key] = view[key];
    }
  }
  for (GltfJson& accessor : list(level, "accessors")) {
    addToIndices(accessor, "bufferView", views);
    builder.append("accessors", std::move(accessor));
  }
  for (GltfJson& material : list(level, "materials"))
    builder.append("materials", std::move(material));
  for (GltfJson& mesh : list(level, "meshes")) {
    for (GltfJson& primitive : mesh["primitives"]) {
      for (auto& [key, value] : primitive["attributes"].items())
        value = value.get<std::size_t>() + accessors;
      if (primitive.contains("indices"))
        primitive["indices"] = primitive["indices"].get<std::size_t>() + accessors;
      if (primitive.contains("material"))
        primitive["material"] = primitive["material"].get<std::size_t>() + materials;
    }
    builder.append("meshes", std::move(mesh));
  }
  for (GltfJson& node : list(level, "nodes")) {
    if (node.contains("mesh")) node["mesh"] = node["mesh"].get<std::size_t>() + meshes;
    if (node.contains("children")) {
      for (GltfJson& child : node["children"])
        child = child.get<std::size_t>() + nodes;
    }
    builder.append("nodes", std::move(node));
  }
  GltfJson children = level["scenes"][level.value("scene", std::size_t{0})]["nodes"];
  for (GltfJson& child : children)
    child = child.get<std::size_t>() + nodes;
  const int top = builder.append("nodes", {{"name", name}, {"children", std::move(children)}});
  GltfJson extension = std::move(level["extensions"][kExtensionName]);
  addToIndices(extension, "bufferView", views);
  const auto moveMaterials = [&](GltfJson& json) {
    if (!json.contains("constantMaterials")) return;
    for (GltfJson& material : json["constantMaterials"])
      material = material.get<std::size_t>() + materials;
  };
  moveMaterials(extension);
  for (GltfJson& group : extension["channels"])
    moveMaterials(group);
  return GltfJson{{"node", top}, {"extension", std::move(extension)}};
}

/// Some levels after the first are bare.
void noteDropped(const Product& product, std::vector<Notice>& notices) {
  const auto contents = contentsOf(product.asset);
  if (!contents) return;
  std::string words;
  for (const char* word : {"animations", "skins", "morph_targets", "cameras", "images"}) {
    if (contents->contains(word)) words += (words.empty() ? "" : ", ") + std::string(word);
  }
  if (words.empty()) return;
  notices.push_back({"levels_without", fmt::format("some levels after the first have triangles, materials "
                                                   "and kernels alone, not what the product has besides ({})",
                                                   words)});
}

Result<LodOutcome> makeLevels(const LoadedProduct& product, const LodOptions& options) {
  Progress& progress = options.open.progress != nullptr ? *options.open.progress : silentProgress();
  LodOutcome outcome;
  LodLevel& first = outcome.levels.emplace_back();
  if (product.product.asset.file != nullptr) first.bytes = *product.product.asset.file;
  first.triangles = product.product.surface->faceCount();
  first.kernels = product.product.kernels.size();
  first.surface_psnr_source = std::numeric_limits<double>::infinity();
  progress.begin("levels of detail", static_cast<std::size_t>(options.levels));
  for (int number = 1; number < options.levels; ++number) {
    if (progress.cancelled()) return failure("interrupted", error_code::kCancelled);
    progress.update(static_cast<std::size_t>(number), {});
    LodOptions quiet = options;
    quiet.open.progress = nullptr;
    auto level = makeLevel(product, quiet, number);
    if (!level) return level.error();
    outcome.levels.push_back(std::move(*level));
  }
  progress.end();
  if (std::any_of(outcome.levels.begin(), outcome.levels.end(), [](const LodLevel& l) { return l.bare; }))
    noteDropped(product.product, outcome.notices);
  return outcome;
}

}  // namespace

Result<LodOutcome> lodProduct(const LoadedProduct& product, const LodOptions& options) {
  try {
    return makeLevels(product, options);
  } catch (const std::bad_alloc&) {
    return failure("not enough memory for the levels of detail");
  }
}

Result<std::vector<std::uint8_t>> joinLevels(const LodOutcome& outcome) {
  const auto container = gltf::splitGlb(outcome.levels.front().bytes);
  if (!container) return container.error();
  GltfJson root = GltfJson::parse(container->json.begin(), container->json.end(), nullptr, false);
  if (root.is_discarded() || !container->bin) return failure("the first level cannot be read again");
  GlbBuilder builder(std::move(root), {container->bin->begin(), container->bin->end()});
  const GltfJson default_scene = builder.root().contains("scene") ? builder.root()["scene"] : GltfJson(0);
  GltfJson ids = GltfJson::array(), coverage = GltfJson::array(), levels = GltfJson::array();
  for (std::size_t l = 1; l < outcome.levels.size(); ++l) {
    auto added = appendLevel(builder, outcome.levels[l].bytes, fmt::format("level {}", l));
    if (!added) return added.error();
    ids.push_back((*added)["node"]);
    levels.push_back(std::move(*added));
  }
  builder.root()["scene"] = default_scene;
  for (const LodLevel& level : outcome.levels)
    coverage.push_back(&level == &outcome.levels.back() ? 0.0 : (&level + 1)->screen_coverage);
  GltfJson& scene = builder.root()["scenes"][default_scene.get<std::size_t>()];
  GltfJson top = {{"name", "levels of detail"}, {"children", scene["nodes"]}};
  top["extensions"]["MSFT_lod"]["ids"] = std::move(ids);
  top["extras"]["MSFT_screencoverage"] = std::move(coverage);
  const int node = builder.append("nodes", std::move(top));
  builder.root()["scenes"][default_scene.get<std::size_t>()]["nodes"] = GltfJson::array({node});
  builder.useExtension("MSFT_lod");
  GltfJson& extension = builder.root()["extensions"][kExtensionName];
  extension["levels"] = std::move(levels);
  extension["version"] = fmt::format("{}.{}", kFormatMajor, kLevelsMinor);
  builder.root()["buffers"][0]["byteLength"] = builder.binBytes();
  return builder.finish();
}

}  // namespace heatskin
