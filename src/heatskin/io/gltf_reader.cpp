#include "heatskin/io/gltf_reader.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heatskin/base/files.h"
#include "heatskin/io/gltf_accessor.h"
#include "heatskin/io/gltf_buffers.h"
#include "heatskin/io/gltf_container.h"
#include "heatskin/io/gltf_extension.h"
#include "heatskin/io/gltf_json.h"
#include "heatskin/io/gltf_material.h"
#include "heatskin/io/gltf_primitive.h"
#include "heatskin/io/gltf_scene.h"
#include "heatskin/io/gltf_variants.h"
#include "heatskin/io/reference.h"

namespace heatskin {
namespace gltf {
namespace {

/// Mesh instances a document may have; each costs about 150 bytes before a single triangle.
constexpr std::size_t kMaxPlacements = std::size_t{1} << 20;

/// What changes geometry or base colour and is understood.
constexpr std::array kSupported = {
    "KHR_draco_mesh_compression",
    "EXT_meshopt_compression",
    "KHR_mesh_quantization",
    "KHR_texture_transform",
    "EXT_texture_webp",
    "EXT_mesh_gpu_instancing",
    "KHR_materials_pbrSpecularGlossiness",
};

/// What changes neither geometry nor base colour, so that ignoring it is right even when it is required.
constexpr std::array kHarmless = {
    "KHR_animation_pointer",
    "KHR_lights_punctual",
    "KHR_materials_anisotropy",
    "KHR_materials_clearcoat",
    "KHR_materials_diffuse_transmission",
    "KHR_materials_dispersion",
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_iridescence",
    "KHR_materials_sheen",
    "KHR_materials_specular",
    "KHR_materials_transmission",
    "KHR_materials_unlit",
    "KHR_materials_variants",
    "KHR_materials_volume",
    "KHR_xmp_json_ld",
    "EXT_lights_image_based",
    "HSK_kernel_texture",
};

/// Extensions of the root that others in this program read.
constexpr std::array kHandedOn = {"HSK_kernel_texture"};

template <std::size_t N>
bool contains(const std::array<const char*, N>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::optional<Error> checkExtensions(const Document& document, NoticeList& notices) {
  for (const std::string& name : document.extensions_required) {
    if (!contains(kSupported, name) && !contains(kHarmless, name)) {
      return inputError("the required extension " + quoteForMessage(name) + " is not supported");
    }
  }
  for (const std::string& name : document.extensions_used) {
    // A texture that needs Basis speaks up itself.
    if (name == "KHR_texture_basisu") continue;
    if (!contains(kSupported, name) && !contains(kHarmless, name)) {
      notices.add("unknown_extension", "the extension " + quoteForMessage(name) + " is not known and ignored",
                  false);
    }
  }
  return std::nullopt;
}

std::string materialName(const Asset& asset, int index) {
  const std::string& name = asset.materials[static_cast<std::size_t>(index)].name;
  return "material " + std::to_string(index) + (name.empty() ? "" : " (" + quoteForMessage(name) + ")");
}

/// A textured material on a primitive that cannot place the texture is legal and almost always a mistake.
void noteUnusableTextures(const Asset& asset, NoticeList& notices) {
  for (const Mesh& mesh : asset.meshes) {
    for (const Primitive& primitive : mesh.primitives) {
      if (primitive.material < 0) continue;
      const TextureUse& use = asset.materials[static_cast<std::size_t>(primitive.material)].base_color;
      if (use.texture < 0) continue;
      const auto set = static_cast<std::size_t>(use.uv_set);
      if (set >= primitive.uv_sets.size() || primitive.uv_sets[set].empty()) {
        notices.add("missing_texcoord", materialName(asset, primitive.material) +
                                            " is textured by TEXCOORD_" + std::to_string(set) +
                                            ", which a primitive lacks; its colour factor is used there");
        continue;
      }
      const std::vector<Vec2f>& uvs = primitive.uv_sets[set];
      if (std::all_of(uvs.begin(), uvs.end(), [&](const Vec2f& uv) { return uv == uvs.front(); })) {
        notices.add("constant_uv", "all texture coordinates of a primitive with " +
                                       materialName(asset, primitive.material) +
                                       " are equal, so it shows a single texel");
      }
    }
  }
}

/// Finite positions can leave the range of double once transformed, and single-precision programs fail far
/// earlier.
std::optional<Error> checkExtent(const Asset& asset, NoticeList& notices) {
  Eigen::AlignedBox3d world;
  std::vector<Eigen::AlignedBox3d> boxes(asset.meshes.size());
  for (std::size_t m = 0; m < asset.meshes.size(); ++m) {
    for (const Primitive& primitive : asset.meshes[m].primitives) {
      for (const Vec3& p : primitive.positions)
        boxes[m].extend(p);
    }
  }
  for (const Instance& instance : asset.instances) {
    const Eigen::AlignedBox3d& box = boxes[static_cast<std::size_t>(instance.mesh)];
    if (box.isEmpty()) continue;
    for (const auto corner : {Eigen::AlignedBox3d::BottomLeftFloor, Eigen::AlignedBox3d::BottomRightFloor,
                              Eigen::AlignedBox3d::TopLeftFloor, Eigen::AlignedBox3d::TopRightFloor,
                              Eigen::AlignedBox3d::BottomLeftCeil, Eigen::AlignedBox3d::BottomRightCeil,
                              Eigen::AlignedBox3d::TopLeftCeil, Eigen::AlignedBox3d::TopRightCeil}) {
      world.extend(instance.asset_from_mesh * box.corner(corner));
    }
    if (!world.min().allFinite() || !world.max().allFinite()) {
      return inputError("the transformed coordinates are too large");
    }
  }
  // Squares of lengths beyond these leave the normal range of single precision.
  constexpr double kLargest = 1e18, kSmallest = 1e-18;
  const double extent = world.isEmpty() ? 0 : world.sizes().maxCoeff();
  if (!std::isfinite(extent)) return inputError("the transformed coordinates are too large");
  if (extent > kLargest || (extent > 0 && extent < kSmallest)) {
    notices.add("extreme_coordinates", std::string("the object is extremely ") +
                                           (extent > kLargest ? "large" : "small") +
                                           " and will not survive programs that compute in single precision");
  }
  return std::nullopt;
}

/// Meshes that are placed somewhere, each read once, and their instances.
Result<void> readGeometry(const Document& document, Buffers& buffers, MemoryBudget& budget,
                          const LoadOptions& options, NoticeList& notices, Asset& asset) {
  Accessors accessors(document, buffers, budget);
  Result<std::vector<Placement>> placements = readPlacements(document, accessors, kMaxPlacements, notices);
  if (!placements) return placements.error();
  MeshReader reader(document, buffers, accessors, budget, options, notices);
  struct ReadMesh {
    int index = -1;  ///< into Asset::meshes, -1: no triangles
    std::size_t stored_vertices = 0;
  };
  std::map<std::size_t, ReadMesh> read;
  std::size_t vertices = 0, triangles = 0;
  for (Placement& placement : *placements) {
    auto it = read.find(placement.mesh);
    if (it == read.end()) {
      const std::size_t stored_before = reader.storedVertices();
      Result<Mesh> mesh = reader.readMesh(placement.mesh);
      if (!mesh) return mesh.error();
      ReadMesh entry;
      entry.stored_vertices = reader.storedVertices() - stored_before;
      if (!mesh->primitives.empty()) {
        entry.index = static_cast<int>(asset.meshes.size());
        asset.meshes.push_back(std::move(*mesh));
      }
      it = read.emplace(placement.mesh, entry).first;
    }
    const int index = it->second.index;
    if (index < 0) continue;
    asset.stored_vertices += it->second.stored_vertices;
    for (const Primitive& primitive : asset.meshes[static_cast<std::size_t>(index)].primitives) {
      vertices += primitive.positions.size();
      triangles += primitive.triangleCount();
    }
    if (vertices > options.max_vertices || triangles > options.max_triangles) {
      return inputError("the scene is too large: more than " + std::to_string(options.max_vertices) +
                        " vertices or " + std::to_string(options.max_triangles) + " triangles");
    }
    asset.instances.push_back({std::move(placement.name), index, placement.asset_from_mesh});
  }
  if (triangles == 0) {
    std::string why;
    if (reader.skippedLinesAndPoints() > 0) why = "only points and lines";
    if (reader.skippedWithoutPositions() > 0) {
      why += std::string(why.empty() ? "" : ", ") + "primitives without POSITION";
    }
    const bool has_meshes = !document.list("meshes").empty();
    if (why.empty())
      why = !has_meshes           ? "it has no mesh"
            : placements->empty() ? "no mesh is in the scene"
                                  : "its meshes are empty";
    return inputError("no triangles in the file (" + why + ")");
  }
  return {};
}

/// Files the document names, whether or not they were needed.
void noteReferences(const Document& document, const std::filesystem::path& folder,
                    std::vector<std::filesystem::path>& files) {
  for (const char* list : {"buffers", "images"}) {
    for (const Json& item : document.list(list)) {
      if (!item.is_object()) continue;
      const auto uri = item.find("uri");
      if (uri == item.end() || !uri->is_string() || isDataUri(uri->get_ref<const std::string&>())) continue;
      const Result<std::string> name = percentDecode(uri->get_ref<const std::string&>());
      if (!name) continue;
      if (auto file = resolveReference(folder, *name)) files.push_back(std::move(*file));
    }
  }
}

Result<Asset> readDocument(std::span<const std::uint8_t> bytes, const std::filesystem::path& path,
                           const LoadOptions& options) {
  NoticeList notices;
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool called_glb = extension == ".glb";
  const bool is_glb = called_glb || hasGlbMagic(bytes);
  Container container;
  if (is_glb) {
    Result<Container> split = splitGlb(bytes);
    if (!split) return split.error();
    container = *split;
    if (!called_glb) notices.add("glb_content", "the file is a GLB file although it is not called .glb");
  } else {
    if (bytes.empty()) return inputError("the file is empty");
    container.json = bytes;
  }
  Result<ParsedJson> json = parseJson(container.json);
  if (!json) return json.error();
  if (json->repaired_utf8) {
    notices.add("not_utf8", "the JSON text is not valid UTF-8; broken characters in names were replaced");
  }
  Result<Document> document = makeDocument(std::move(json->root));
  if (!document) return document.error();
  if (auto error = checkExtensions(*document, notices)) return *error;

  Asset asset;
  asset.path = path;
  asset.format = is_glb ? "glb" : "gltf";
  asset.extensions = document->extensions_used;
  if (options.references != nullptr) noteReferences(*document, path.parent_path(), *options.references);
  MemoryBudget budget(bytes.size());
  Buffers buffers(*document, container.bin, path.parent_path(), budget);
  if (Result<void> done = readGeometry(*document, buffers, budget, options, notices, asset); !done) {
    return done.error();
  }
  if (Result<void> done = readMaterials(*document, buffers, options, notices, asset); !done) {
    return done.error();
  }
  readVariants(*document, notices, asset);
  for (const char* name : kHandedOn) {
    Result<std::optional<RawExtension>> raw =
        readRawExtension(*document, container.json, name, buffers, budget);
    if (raw && !*raw) raw = readExtrasExtension(*document, name, budget);
    if (!raw) return raw.error();
    if (*raw) asset.raw_extensions.push_back(std::move(**raw));
  }
  if (auto error = checkExtent(asset, notices)) return *error;
  noteUnusableTextures(asset, notices);
  if (!document->list("animations").empty()) {
    notices.add("animations", "animations are ignored, the rest pose is used", false);
  }
  asset.notices = notices.take();
  return asset;
}

}  // namespace
}  // namespace gltf

Result<Asset> readGltfBytes(std::shared_ptr<const std::vector<std::uint8_t>> bytes,
                            const std::filesystem::path& path, const LoadOptions& options) {
  const auto named = [&](const Error& error) { return error.prefixed(displayPath(path) + ": "); };
  try {
    Result<Asset> asset = gltf::readDocument(*bytes, path, options);
    if (!asset) return named(asset.error());
    asset->file = std::move(bytes);
    return asset;
  } catch (const std::bad_alloc&) {
    return named(failure("not enough memory"));
  } catch (const std::exception& e) {
    return named(inputError(std::string("cannot be read: ") + e.what()));
  }
}

Result<Asset> readGltfBytes(std::span<const std::uint8_t> bytes, const std::filesystem::path& path,
                            const LoadOptions& options) {
  return readGltfBytes(std::make_shared<const std::vector<std::uint8_t>>(bytes.begin(), bytes.end()), path,
                       options);
}

Result<Asset> readGltf(const std::filesystem::path& path, const LoadOptions& options) {
  Result<std::vector<std::uint8_t>> bytes = readFile(path);
  if (!bytes) return bytes.error();
  return readGltfBytes(std::make_shared<const std::vector<std::uint8_t>>(std::move(*bytes)), path, options);
}

}  // namespace heatskin
