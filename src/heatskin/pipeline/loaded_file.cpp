#include "heatskin/pipeline/loaded_file.h"

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "heatskin/base/files.h"
#include "heatskin/evaluation/pictures.h"
#include "heatskin/io/asset.h"

namespace heatskin {
namespace {

/// First texture coordinates of a face, whatever its material does with them.
bool storedUvs(const Asset& asset, const Surface& surface, std::uint32_t face, std::array<Vec2f, 3>& uvs) {
  const FaceSource& source = surface.sources()[face];
  const Mesh& mesh = asset.meshes[static_cast<std::size_t>(asset.instances[source.instance].mesh)];
  const Primitive& primitive = mesh.primitives[source.primitive];
  if (primitive.uv_sets.empty() || primitive.uv_sets[0].empty()) return false;
  for (std::size_t c = 0; c < 3; ++c) {
    const std::uint32_t vertex = primitive.triangles[3 * std::size_t{source.triangle} + source.corners[c]];
    uvs[c] = primitive.uv_sets[0][vertex];
  }
  return true;
}

/// The product's own materials decide what is visible; its kernels only about colours.
Transparency productTransparency(const Product& product, Filter filter) {
  const auto appearance = std::make_shared<const Appearance>(product.asset, *product.surface);
  Transparency result = transparencyOf(product.asset, *appearance, filter);
  if (!result.opaque()) {
    result.alpha = [appearance, alpha = std::move(result.alpha)](
                       std::span<const SurfacePoint> points, std::span<float> out) { alpha(points, out); };
  }
  return result;
}

}  // namespace

ColorSource LoadedFile::colors(Filter filter) const {
  return plain ? appearanceColors(plain->appearance, filter) : textureColors(fitted->texture);
}

Transparency LoadedFile::transparency(Filter filter) const {
  if (plain) return transparencyOf(plain->asset, plain->appearance, filter);
  return productTransparency(fitted->product, filter);
}

AtlasBuffer LoadedFile::atlas(const AtlasOptions& options) const {
  if (plain) return rasteriseAtlas(*plain->surface, plain->appearance, options);
  return rasteriseAtlas(
      surface().faceCount(),
      [this](std::uint32_t face, std::array<Vec2f, 3>& uvs) {
        return storedUvs(asset(), surface(), face, uvs);
      },
      options);
}

Result<LoadedFile> openFile(const std::filesystem::path& path, const OpenOptions& options) {
  Progress& progress = options.progress != nullptr ? *options.progress : silentProgress();
  progress.begin("reading " + displayPath(path.filename()), 0);
  auto asset = loadAsset(path);
  progress.end();
  if (!asset) return asset.error();
  return openFile(std::move(*asset), options);
}

Result<LoadedFile> openFile(Asset asset, const OpenOptions& options) {
  LoadedFile result;
  if (isProduct(asset)) {
    auto fitted = openProduct(std::move(asset), options);
    if (!fitted) return fitted.error();
    result.fitted = std::make_unique<LoadedProduct>(std::move(*fitted));
    return result;
  }
  auto plain = openAsset(std::move(asset), options);
  if (!plain) return plain.error();
  result.plain = std::make_unique<LoadedAsset>(std::move(*plain));
  return result;
}

}  // namespace heatskin
