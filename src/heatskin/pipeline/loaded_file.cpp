#include "heatskin/pipeline/loaded_file.h"

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "heatskin/appearance/shading_normals.h"
#include "heatskin/base/files.h"
#include "heatskin/evaluation/pictures.h"
#include "heatskin/io/asset.h"
#include "heatskin/product/levels.h"
#include "heatskin/rendering/supersampling.h"

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

MaterialSource assetMaterials(const Asset& asset, const Surface& surface, const Appearance& appearance,
                              Filter filter) {
  const auto normals = std::make_shared<const ShadingNormals>(asset, surface, appearance.slots());
  return [normals, source = appearanceMaterials(appearance, *normals, filter)](
             std::span<const SurfacePoint> points, std::span<SurfaceMaterial> out) { source(points, out); };
}

/// Writes what kernels say about a point over what its material says.
class KernelMaterials {
 public:
  explicit KernelMaterials(const KernelTexture& texture)
      : texture_(&texture), normals_(texture.layout()), coat_(texture.layout(), kCoatNormalSlot) {
    const ChannelLayout& layout = texture.layout();
    const auto colors = [&](const char* name, Vec3f SurfaceMaterial::*member, bool srgb) {
      if (const ChannelGroup* group = layout.find(name)) colors_.push_back({group->first, member, srgb});
    };
    const auto number = [&](const char* name, float SurfaceMaterial::*member) {
      if (const ChannelGroup* group = layout.find(name)) numbers_.push_back({group->first, member});
    };
    colors("base_color", &SurfaceMaterial::base_color, true);
    colors("emissive", &SurfaceMaterial::emissive, false);
    colors("sheen_color", &SurfaceMaterial::sheen_color, true);
    number("metallic", &SurfaceMaterial::metallic);
    number("roughness", &SurfaceMaterial::roughness);
    number("occlusion", &SurfaceMaterial::occlusion);
    number("clearcoat", &SurfaceMaterial::clearcoat);
    number("clearcoat_roughness", &SurfaceMaterial::clearcoat_roughness);
    number("sheen_roughness", &SurfaceMaterial::sheen_roughness);
  }

  void write(std::span<const SurfacePoint> points, std::span<SurfaceMaterial> out) const {
    const std::size_t channels = texture_->layout().size();
    std::vector<float> values(points.size() * channels);
    texture_->values(points, values);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const float* row = values.data() + i * channels;
      for (const Color& color : colors_) {
        const Vec3f value = Eigen::Map<const Vec3f>(row + color.first);
        out[i].*color.member = color.srgb ? raster::linearColor(value) : value;
      }
      for (const Number& number : numbers_)
        out[i].*number.member = row[number.first];
      const FaceFrame& frame = texture_->surface().frames()[points[i].face];
      const Vec3 n0 = out[i].vertex_normal.cast<double>();
      if (normals_.any()) out[i].normal = normals_.normal(frame, n0, row).cast<float>();
      if (coat_.any()) out[i].coat_normal = coat_.normal(frame, n0, row).cast<float>();
    }
  }

 private:
  struct Color {
    std::size_t first;
    Vec3f SurfaceMaterial::*member;
    bool srgb;
  };
  struct Number {
    std::size_t first;
    float SurfaceMaterial::*member;
  };

  const KernelTexture* texture_;
  NormalChannels normals_, coat_;
  std::vector<Color> colors_;
  std::vector<Number> numbers_;
};

/// What the product's materials say, and its kernels.
MaterialSource productMaterials(const LoadedProduct& fitted, Filter filter) {
  const Product& product = fitted.product;
  const auto appearance = std::make_shared<const Appearance>(product.asset, *product.surface);
  return [appearance, materials = assetMaterials(product.asset, *product.surface, *appearance, filter),
          kernels = KernelMaterials(fitted.texture)](std::span<const SurfacePoint> points,
                                                     std::span<SurfaceMaterial> out) {
    materials(points, out);
    kernels.write(points, out);
  };
}

}  // namespace

ColorSource LoadedFile::colors(Filter filter) const {
  return plain ? appearanceColors(plain->appearance, filter) : textureColors(fitted->texture);
}

Transparency LoadedFile::transparency(Filter filter) const {
  if (plain) return transparencyOf(plain->asset, plain->appearance, filter);
  return productTransparency(fitted->product, filter);
}

MaterialSource LoadedFile::materials(Filter filter) const {
  if (plain) return assetMaterials(plain->asset, *plain->surface, plain->appearance, filter);
  return productMaterials(*fitted, filter);
}

std::vector<std::array<Vec3f, 3>> LoadedFile::normals() const {
  return cornerNormals(asset(), surface());
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

Result<LoadedFile> openFile(Asset asset, const OpenOptions& given) {
  LoadedFile result;
  OpenOptions options = given;
  if (options.level > 0) {
    auto level = selectLevel(std::move(asset), std::exchange(options.level, 0));
    if (!level) return level.error();
    asset = std::move(*level);
  }
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
