#include <utility>

#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/base/result.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/evaluators/method_traits.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/variants.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/product/levels.h"

namespace heatskin {
namespace {

Progress& progressOf(const OpenOptions& options) {
  return options.progress != nullptr ? *options.progress : silentProgress();
}

Result<Asset> readShown(const std::filesystem::path& path, const OpenOptions& options) {
  Progress& progress = progressOf(options);
  progress.begin("reading " + displayPath(path.filename()), 0);
  auto asset = loadAsset(path);
  progress.end();
  return asset;
}

}  // namespace

Result<LoadedAsset> openAsset(const std::filesystem::path& path, const OpenOptions& options) {
  auto asset = readShown(path, options);
  if (!asset) return asset.error();
  return openAsset(std::move(*asset), options);
}

Result<LoadedAsset> openAsset(Asset asset, const OpenOptions& options) {
  Stopwatch watch;
  if (!options.variant.empty()) {
    if (auto selected = selectVariant(asset, options.variant); !selected) return selected.error();
  }
  Progress& progress = progressOf(options);
  progress.begin("building the surface", 0);
  auto built = buildSurface(asset, options.surface);
  progress.end();
  if (!built) return built.error();

  auto surface = std::make_shared<const Surface>(std::move(*built));
  Appearance appearance(asset, *surface);
  const double surface_seconds = watch.lap();
  std::vector<Notice> notices = asset.notices;
  for (Notice& notice : surface->notices())
    notices.push_back(std::move(notice));
  return LoadedAsset{std::move(asset),      std::move(surface), options.surface,
                     std::move(appearance), std::move(notices), surface_seconds};
}

Result<LoadedAsset> openAssetToFit(const std::filesystem::path& path, Method method,
                                   const OpenOptions& options) {
  auto asset = readShown(path, options);
  if (!asset) return asset.error();
  return openAssetToFit(std::move(*asset), method, options);
}

Result<LoadedAsset> openAssetToFit(Asset asset, Method method, const OpenOptions& options) {
  if (isProduct(asset)) {
    const std::string name = asset.path.empty() ? std::string() : displayPath(asset.path) + ": ";
    return inputError(name + "is a fitted texture already; give the asset it was made from",
                      error_code::kAlreadyFitted);
  }
  OpenOptions as_readers = options;
  as_readers.variant.clear();
  as_readers.surface = productSurfaceOptions(method);
  if (const auto moved = useStoredGeometry(asset); !moved) {
    // Whatever is wrong with a mesh, its surface says it better.
    const auto loaded = openAsset(std::move(asset), as_readers);
    return loaded ? moved.error() : loaded.error();
  }
  return openAsset(std::move(asset), as_readers);
}

Result<LoadedProduct> openProduct(const std::filesystem::path& path, const OpenOptions& options) {
  auto asset = readShown(path, options);
  if (!asset) return asset.error();
  return openProduct(std::move(*asset), options);
}

Result<LoadedProduct> openProduct(Asset asset, const OpenOptions& options) {
  Progress& progress = progressOf(options);
  if (options.level > 0) {
    auto level = selectLevel(std::move(asset), options.level);
    if (!level) return level.error();
    asset = std::move(*level);
  }
  if (!options.variant.empty()) {
    if (auto selected = selectVariant(asset, options.variant); !selected) return selected.error();
  }
  progress.begin("unpacking the kernels", 0);
  auto product = decodeProduct(std::move(asset), options.method);
  if (!product) return product.error();
  progress.end();
  return openProduct(std::move(*product), options);
}

Result<LoadedProduct> openProduct(Product product, const OpenOptions& options) {
  Progress& progress = progressOf(options);
  EvaluatorOptions evaluator = product.options;
  if (options.method && *options.method != methodOf(evaluator)) evaluator = defaultOptions(*options.method);

  std::optional<PreprocessingCache> own;
  if (options.cache == nullptr) own = PreprocessingCache::fromEnvironment();
  Preparation preparation{&progress, own ? &*own : options.cache, {}};
  if (methodOf(evaluator) == methodOf(product.options)) preparation.supports = product.supports;
  auto texture =
      KernelTexture::create(product.surface, product.kernels, evaluator, preparation, product.constants);
  if (own && options.notify) {
    for (const Notice& notice : own->notices())
      options.notify(notice);
  }
  if (!texture) {
    const std::string name =
        product.asset.path.empty() ? std::string() : displayPath(product.asset.path) + ": ";
    return texture.error().prefixed(name);
  }
  return LoadedProduct{std::move(product), std::move(*texture)};
}

}  // namespace heatskin
