#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heatskin/base/files.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/io/obj_reader.h"
#include "heatskin/io/obj_text.h"
#include "heatskin/io/ply_reader.h"
#include "heatskin/io/reference.h"

namespace heatskin {
namespace {

/// What the first bytes say, for formats that begin with a signature.
std::string_view signatureOf(std::span<const std::uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("glTF")) return "glb";
  if (text.starts_with("ply\n") || text.starts_with("ply\r")) return "ply";
  return "";
}

Result<Asset> read(std::vector<std::uint8_t> bytes, const std::filesystem::path& path,
                   const LoadOptions& options) {
  const std::string extension = text::lowerCase(path.extension().string());
  if (extension == ".glb" || extension == ".gltf") {
    return readGltfBytes(std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes)), path, options);
  }
  if (extension == ".obj") {
    if (const std::string_view is = signatureOf(bytes); !is.empty()) {
      return inputError(displayPath(path) + ": not an OBJ file: the content is " + std::string(is) +
                        "; rename it to ." + std::string(is));
    }
    return parseObj(bytes, path, options);
  }
  return parsePly(bytes, path, options);
}

bool hasNotice(const Asset& asset, std::string_view code) {
  return std::any_of(asset.notices.begin(), asset.notices.end(),
                     [&](const Notice& notice) { return notice.code == code; });
}

std::string shortNumber(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

/// The texture of a primitive, null when it has none that can be used.
const TextureUse* usableTexture(const Asset& asset, const Primitive& primitive) {
  if (primitive.material < 0) return nullptr;
  const TextureUse& use = asset.materials[static_cast<std::size_t>(primitive.material)].base_color;
  if (use.texture < 0 || asset.textures[static_cast<std::size_t>(use.texture)].image < 0) return nullptr;
  const auto set = static_cast<std::size_t>(use.uv_set);
  const bool has_uvs = set < primitive.uv_sets.size() && !primitive.uv_sets[set].empty();
  return has_uvs ? &use : nullptr;
}

void noteMissingColor(Asset& asset, const LoadOptions& options) {
  if (!options.load_images) return;
  for (const Mesh& mesh : asset.meshes) {
    for (const Primitive& primitive : mesh.primitives) {
      if (!primitive.colors.empty() || usableTexture(asset, primitive) != nullptr) return;
      if (primitive.material < 0) continue;
      const Vec4f& factor = asset.materials[static_cast<std::size_t>(primitive.material)].base_color_factor;
      if (factor.head<3>() != Vec3f::Ones()) return;
    }
  }
  // A scan in a PLY file is often shape only; the other formats normally come with a look.
  asset.notices.push_back(
      {"no_color",
       "there is no usable texture, no vertex colour and no material colour: everything is "
       "white and there is nothing to fit",
       1, asset.format != "ply"});
}

void noteConstantUvs(Asset& asset) {
  if (hasNotice(asset, "constant_uv")) return;
  std::size_t constant = 0;
  for (const Mesh& mesh : asset.meshes) {
    for (const Primitive& primitive : mesh.primitives) {
      const TextureUse* use = usableTexture(asset, primitive);
      if (use == nullptr) continue;
      const std::vector<Vec2f>& uvs = primitive.uv_sets[static_cast<std::size_t>(use->uv_set)];
      constant += std::all_of(uvs.begin(), uvs.end(), [&](const Vec2f& uv) { return uv == uvs[0]; }) ? 1 : 0;
    }
  }
  if (constant > 0) {
    asset.notices.push_back({"constant_uv",
                             "all texture coordinates of a textured part are equal: it shows a single texel",
                             constant});
  }
}

/// Coordinates that single precision cannot hold, and those that even double cannot square.
Result<void> checkExtent(Asset& asset) {
  // Boxes of meshes, not of every instance's vertices: a forest may place one tree a million times.
  std::vector<Eigen::AlignedBox3d> boxes(asset.meshes.size());
  for (std::size_t m = 0; m < boxes.size(); ++m) {
    for (const Primitive& primitive : asset.meshes[m].primitives) {
      for (const std::uint32_t vertex : primitive.triangles)
        boxes[m].extend(primitive.positions[vertex]);
    }
  }
  Eigen::AlignedBox3d world;
  for (const Instance& instance : asset.instances) {
    const Eigen::AlignedBox3d& box = boxes[static_cast<std::size_t>(instance.mesh)];
    if (!box.isEmpty()) world.extend(box.transformed(instance.asset_from_mesh));
  }
  const double extent = world.sizes().maxCoeff();
  const double distance = std::max(world.min().cwiseAbs().maxCoeff(), world.max().cwiseAbs().maxCoeff());
  // Squared areas, fourth powers of a length, must stay inside double.
  constexpr double kTooLarge = 1e70;
  if (!(distance < kTooLarge)) {
    return inputError(displayPath(asset.path) + ": coordinates of " + shortNumber(distance) +
                      " are too large; scale the object down");
  }
  // Squares beyond these leave the normal range of single precision.
  constexpr double kLarge = 1e18, kSmall = 1e-18;
  if ((extent > kLarge || (extent > 0 && extent < kSmall)) && !hasNotice(asset, "extreme_coordinates")) {
    asset.notices.push_back(
        {"extreme_coordinates", "the object is " + shortNumber(extent) +
                                    " units wide: heatskin computes in double precision, but programs that "
                                    "use single precision will fail on it"});
  }
  // Single precision has 24 bits; with fewer than ten left for the object, it visibly loses its shape.
  constexpr double kFarRatio = 1 << 14;
  if (extent > 0 && distance > kFarRatio * extent) {
    asset.notices.push_back(
        {"far_from_origin", "the object is " + shortNumber(extent) + " wide and " + shortNumber(distance) +
                                " away from the origin: heatskin keeps it in double precision, but programs "
                                "that use single precision will distort it"});
  }
  return {};
}

std::size_t countTriangles(const Asset& asset) {
  std::size_t triangles = 0;
  for (const Instance& instance : asset.instances) {
    for (const Primitive& primitive : asset.meshes[static_cast<std::size_t>(instance.mesh)].primitives) {
      triangles += primitive.triangleCount();
    }
  }
  return triangles;
}

/// Bytes of files, each counted once; those that are not there have none.
std::size_t sizeOfAll(std::vector<std::filesystem::path> files) {
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  std::size_t bytes = 0;
  for (const std::filesystem::path& file : files) {
    std::error_code problem;
    const auto size = std::filesystem::file_size(file, problem);
    if (!problem) bytes += static_cast<std::size_t>(size);
  }
  return bytes;
}

}  // namespace

Result<Asset> loadAsset(const std::filesystem::path& path, const LoadOptions& options) {
  const std::string extension = text::lowerCase(path.extension().string());
  constexpr std::array<std::string_view, 4> kKnown = {".glb", ".gltf", ".obj", ".ply"};
  const bool known = std::find(kKnown.begin(), kKnown.end(), extension) != kKnown.end();
  try {
    std::error_code ignored;
    if (!known && std::filesystem::is_regular_file(path, ignored)) {
      return inputError(displayPath(path) + ": unknown file type " +
                        (extension.empty() ? "(no extension)" : quoteForMessage(extension)) +
                        "; known are .glb, .gltf, .obj and .ply");
    }
    // A missing file or a folder is reported as such, whatever its name.
    Result<std::vector<std::uint8_t>> bytes = readFile(path);
    if (!bytes) return bytes.error();
    const std::size_t own_bytes = bytes->size();
    std::vector<std::filesystem::path> references;
    LoadOptions noting = options;
    noting.references = &references;
    Result<Asset> asset = read(std::move(*bytes), path, noting);
    if (options.references != nullptr)
      options.references->insert(options.references->end(), references.begin(), references.end());
    if (!asset) return asset;
    asset->input_bytes = own_bytes + sizeOfAll(std::move(references));
    if (countTriangles(*asset) == 0) return inputError(displayPath(path) + ": no triangles in file");
    if (Result<void> checked = checkExtent(*asset); !checked) return checked.error();
    noteConstantUvs(*asset);
    noteMissingColor(*asset, options);
    return asset;
  } catch (const std::bad_alloc&) {
    return failure(displayPath(path) + ": not enough memory to load it");
  } catch (const std::exception& e) {
    return inputError(displayPath(path) + ": cannot be read: " + e.what());
  }
}

}  // namespace heatskin
