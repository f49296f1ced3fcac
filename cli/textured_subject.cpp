#include "cli/textured_subject.h"

#include <utility>

#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/evaluation/pictures.h"
#include "heatskin/io/load.h"

namespace heatskin::cli {
namespace {

Result<std::unique_ptr<FittedSubject>> decode(Console& console, Asset asset,
                                              std::optional<Method> method = {},
                                              Progress* progress = nullptr) {
  if (progress == nullptr) progress = &console;
  progress->begin("unpacking the kernels", 0);
  auto product = decodeProduct(std::move(asset));
  if (!product) return product.error();
  progress->end();
  auto cache = PreprocessingCache::fromEnvironment();
  EvaluatorOptions options = product->options;
  if (method && *method != methodOf(options)) options = defaultOptions(*method);
  auto texture = KernelTexture::create(product->surface, product->kernels, options, {progress, &cache},
                                       product->constants);
  for (const Notice& notice : cache.notices())
    console.warning(notice.message);
  if (!texture) {
    return Error{texture.error().kind,
                 fmt::format("{}: {}", displayPath(product->asset.path), texture.error().message)};
  }
  return std::make_unique<FittedSubject>(FittedSubject{std::move(*product), std::move(*texture)});
}

Result<Asset> read(Session& session, const std::filesystem::path& path) {
  session.console.begin("reading " + displayPath(path.filename()), 0);
  auto asset = loadApart(session, path);
  session.console.end();
  return asset;
}

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

Result<std::unique_ptr<FittedSubject>> loadFitted(Session& session, const std::filesystem::path& path,
                                                  std::optional<Method> method, Progress* progress) {
  auto asset = read(session, path);
  if (!asset) return asset.error();
  return decode(session.console, std::move(*asset), method, progress);
}

ColorSource TexturedSubject::colors(Filter filter) const {
  return plain ? appearanceColors(plain->appearance, filter) : textureColors(fitted->texture);
}

Transparency TexturedSubject::transparency(Filter filter) const {
  if (plain) return transparencyOf(plain->asset, plain->appearance, filter);
  return productTransparency(fitted->product, filter);
}

AtlasBuffer TexturedSubject::atlas(const AtlasOptions& options) const {
  if (plain) return rasteriseAtlas(plain->surface, plain->appearance, options);
  return rasteriseAtlas(
      surface().faceCount(),
      [this](std::uint32_t face, std::array<Vec2f, 3>& uvs) {
        return storedUvs(asset(), surface(), face, uvs);
      },
      options);
}

Result<TexturedSubject> loadTextured(Session& session, const std::filesystem::path& path,
                                     const SurfaceOptions& options) {
  auto asset = read(session, path);
  if (!asset) return asset.error();
  TexturedSubject result;
  if (isProduct(*asset)) {
    auto fitted = decode(session.console, std::move(*asset));
    if (!fitted) return fitted.error();
    result.fitted = std::move(*fitted);
    return result;
  }
  auto plain = makeSubject(session, std::move(*asset), options);
  if (!plain) return plain.error();
  result.plain = std::make_unique<Subject>(std::move(*plain));
  return result;
}

}  // namespace heatskin::cli
