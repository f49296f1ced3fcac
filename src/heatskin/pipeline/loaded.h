#pragma once

// Files that are ready to be used: an asset with its surface and its colours, a product with its texture.
// loaded_file.h is for a file that may be either.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/base/progress.h"
#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/product/product.h"
#include "heatskin/surface/surface.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {

struct OpenOptions {
  SurfaceOptions surface;        ///< of an asset; a product has the surface its method needs
  std::optional<Method> method;  ///< evaluate a product's kernels with this one's default options instead
  Progress* progress = nullptr;  ///< may be null

  /// Of the method's preprocessing. Null: PreprocessingCache::fromEnvironment(), whose notices `notify`
  /// hears.
  PreprocessingCache* cache = nullptr;
  std::function<void(const Notice&)> notify;  ///< may be empty
};

/// An asset with the surface and the appearance made from it.
struct LoadedAsset {
  Asset asset;
  std::shared_ptr<const Surface> surface;
  SurfaceOptions surface_options;
  Appearance appearance;
  std::vector<Notice> notices;  ///< of the reader, then of the surface
  double surface_seconds = 0;   ///< that surface and appearance took
};

Result<LoadedAsset> openAsset(const std::filesystem::path& path, const OpenOptions& options = {});

/// The same for an asset that was read or made.
Result<LoadedAsset> openAsset(Asset asset, const OpenOptions& options = {});

/// An asset that is to be fitted: at the positions its product will hold, with the surface that every reader
/// of that product builds. OpenOptions::surface does not count. Refuses products
/// (error_code::kAlreadyFitted).
Result<LoadedAsset> openAssetToFit(const std::filesystem::path& path, Method method,
                                   const OpenOptions& options = {});
Result<LoadedAsset> openAssetToFit(Asset asset, Method method, const OpenOptions& options = {});

/// A product, ready to be asked for colours.
struct LoadedProduct {
  Product product;
  KernelTexture texture;
};

Result<LoadedProduct> openProduct(const std::filesystem::path& path, const OpenOptions& options = {});

/// The same for a file that was read (Asset::raw_extensions has the kernels).
Result<LoadedProduct> openProduct(Asset asset, const OpenOptions& options = {});

/// The same for a product that was decoded, with a surface that suits the method.
Result<LoadedProduct> openProduct(Product product, const OpenOptions& options = {});

}  // namespace heatskin
