#include "cli/textured_subject.h"

#include <utility>

#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/evaluation/pictures.h"
#include "heatskin/io/load.h"

namespace heatskin::cli {
namespace {

Result<std::unique_ptr<FittedSubject>> decode(Console& console, Asset asset, std::string_view method = {}) {
  console.begin("unpacking the kernels", 0);
  auto product = decodeProduct(std::move(asset));
  if (!product) return product.error();
  console.end();
  auto cache = PreprocessingCache::fromEnvironment();
  EvaluatorOptions options = product->options;
  if (!method.empty() && method != options.method) {
    options = EvaluatorOptions();
    options.method = method;
  }
  auto texture = KernelTexture::create(product->surface, product->kernels, options, {&console, &cache},
                                       product->constants);
  for (const Notice& notice : cache.notices())
    console.warning(notice.message);
  if (!texture) {
    return Error{texture.error().kind,
                 fmt::format("{}: {}", displayPath(product->asset.path), texture.error().message)};
  }
  return std::make_unique<FittedSubject>(FittedSubject{std::move(*product), std::move(*texture)});
}

Result<Asset> read(Console& console, const std::filesystem::path& path) {
  console.begin("reading " + displayPath(path.filename()), 0);
  auto asset = loadAsset(path);
  console.end();
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

}  // namespace

Result<std::unique_ptr<FittedSubject>> loadFitted(Session& session, const std::filesystem::path& path,
                                                  std::string_view method) {
  auto asset = read(session.console, path);
  if (!asset) return asset.error();
  return decode(session.console, std::move(*asset), method);
}

ColorSource TexturedSubject::colors(Filter filter) const {
  return plain ? appearanceColors(plain->appearance, filter) : textureColors(fitted->texture);
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
  auto asset = read(session.console, path);
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

void warnAbout(Session& session, const std::filesystem::path& path, const std::vector<Notice>& notices) {
  for (const std::string& message : messages(notices, true))
    session.console.warning(fmt::format("{}: {}", displayPath(path), message));
}

}  // namespace heatskin::cli
