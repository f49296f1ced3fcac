#pragma once

// What programs call, from files to textures and back: open an asset or a product, find points on it, fit an
// asset, compare a product with it. Each part has a source of its own (loaded.cpp, surface_points.cpp,
// fit_product.cpp, evaluate_product.cpp).

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/evaluation/evaluation.h"
#include "heatskin/io/asset.h"
#include "heatskin/product/product.h"
#include "heatskin/surface/surface.h"
#include "heatskin/texture/kernel_texture.h"
#include "heatskin/training/config.h"
#include "heatskin/training/fit.h"

namespace heatskin {

/// How files are opened.
struct OpenOptions {
  SurfaceOptions surface;        ///< of an asset; a product has the surface its method needs
  std::optional<Method> method;  ///< evaluate a product's kernels with this one's default options instead

  /// The material variant (KHR_materials_variants) that is shown; empty: the default. Refused
  /// (error_code::kBadRequest) if the file has none of that name. An asset that is fitted has all of them.
  std::string variant;

  /// The level of detail of a product's file that is shown; 0 is its scene. Refused
  /// (error_code::kBadRequest) if the file has none of that number.
  std::size_t level = 0;
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

/// Points found on a surface.
struct FoundPoints {
  std::vector<SurfacePoint> points;
  double max_distance = 0;  ///< of what was asked for from the surface, in asset units
};

/// Points as people have them (positions in space, triangles of a file) to points of a surface, and back.
/// Asset and surface must outlive it; calls may run concurrently.
class SurfacePointFinder {
 public:
  SurfacePointFinder(const Asset& asset, const Surface& surface);
  ~SurfacePointFinder();
  SurfacePointFinder(const SurfacePointFinder&) = delete;
  SurfacePointFinder& operator=(const SurfacePointFinder&) = delete;

  /// How messages name the i-th point: "line 7". Unless set, "point 6".
  std::function<std::string(std::size_t)> name_of;

  /// Triangles of the asset, instances counted.
  std::size_t triangleCount() const;

  /// The nearest surface points of positions in asset coordinates. Refuses positions so far away that
  /// distances to the surface cannot be told apart.
  Result<FoundPoints> fromPositions(std::span<const Vec3> positions) const;

  /// Points of the asset's triangles. Barycentric coordinates may miss their sum and range by a little
  /// (numbers with four decimals). Where the surface has dropped a triangle (no area, or a repetition of
  /// another) the nearest point takes its place.
  Result<FoundPoints> fromTriangles(std::span<const TrianglePoint> points) const;

  /// Back again.
  std::vector<Vec3> toPositions(std::span<const SurfacePoint> points) const;
  std::vector<TrianglePoint> toTriangles(std::span<const SurfacePoint> points) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What a fit of the asset can have: channels of these names, or, without names, all that vary over its
/// surface (appearance/asset_channels.h). For FitJob::layout. Normal maps are fitted as the group "normal",
/// or, with methods that know no tangent groups, as "object_normal", whichever of both names is given.
Result<ChannelLayout> fitChannels(const LoadedAsset& asset, std::span<const std::string> names = {},
                                  Filter filter = Filter::kAuto, Method method = Method::kLocal);

/// Forgets the asset's material variants: a fit then has the default look alone, and the product keeps the
/// variants as they are.
void forgetVariants(Asset& asset);

/// A fit from an asset to its product. All material variants get values: kernels lie where any of them needs
/// them (appearance/variant_target.h).
struct FitJob {
  FitConfig config;
  ChannelLayout layout;  ///< what is fitted, beginning with base_color; Appearance::knows() it

  std::filesystem::path output;    ///< the product; empty: in memory only
  std::filesystem::path resolved;  ///< its configuration as TOML; empty: not written

  /// Checkpoints, progress (whose cancelled() stops the fit), notices. The checkpoint is removed when the
  /// product is written. Without a cache: PreprocessingCache::fromEnvironment().
  FitControl control;

  Fallback fallback = Fallback::kVertex;  ///< what programs see that do not know kernels
  bool extras = false;                    ///< the kernels also as text in the scene's extras
  bool charts = true;                     ///< the product says where each kernel reaches

  bool evaluate = true;
  EvaluationOptions evaluation;  ///< but for the filter, which is the fit's

  /// True: a kernel budget too small to cover the surface stays as it is. Otherwise it is raised.
  bool keep_budget = false;

  /// Calls what it is given, the writing of product and configuration, with whatever has to stand around it
  /// (a command line holds back signals); may be empty.
  std::function<Result<void>(const std::function<Result<void>()>& write)> guard;
};

/// A material variant of a fit.
struct FittedVariant {
  std::string name;
  std::size_t bytes = 0;                 ///< of its values in the product; those of one look share them
  double solve_seconds = 0;              ///< that they took; 0: another variant looks the same
  std::optional<Evaluation> evaluation;  ///< on the surface alone; nothing if cancelled or not asked for
};

/// Looks of material variants that a fit can have; more is refused (forgetVariants() helps).
inline constexpr std::size_t kMaxLooks = 64;

/// What came of it.
struct FitOutcome {
  FitResult fit;                          ///< incomplete: cancelled, and there is nothing of what follows
  FitConfig config;                       ///< the job's, with budget and lengths as they were settled
  std::vector<std::uint8_t> bytes;        ///< of the product, a GLB
  std::optional<LoadedProduct> stored;    ///< the product as it was read back
  std::optional<Evaluation> evaluation;   ///< of the stored texture; nothing if cancelled or not asked for
  double quantisation_loss_db = 0;        ///< surface PSNR before storing minus after; 0 without evaluation
  Fallback fallback = Fallback::kVertex;  ///< what it became: images may be no better than vertex colours
  std::optional<double> fallback_psnr;    ///< surface PSNR of the fallback, where there is one to measure
  std::vector<FittedVariant> variants;    ///< that look other than the default
  std::vector<std::string> kept;          ///< words for what the product has of the input besides meshes
  std::vector<std::string> dropped;       ///< and for what it has not
  std::string why_larger;                 ///< what the product adds to its input, if it is the larger one
  double init_seconds = 0;                ///< from the loaded file to the first step
  std::vector<Notice> notices;            ///< of budget and fit; FitControl::notify heard them
};

/// Settles the kernel budget, fits, makes the product, writes it with its configuration (atomically,
/// together), removes the checkpoint, reads the product back and evaluates what was read. Fails as fit()
/// does, if the asset is a product itself, or if the product cannot be written (error_code::kNotSaved; the
/// checkpoint stays).
Result<FitOutcome> fitProduct(const LoadedAsset& asset, const FitJob& job);

/// The same for a file, with the surface that the job's method needs.
Result<FitOutcome> fitProduct(const std::filesystem::path& asset, const FitJob& job);

/// The figures of a product against the asset as ground truth, or against another mesh of the same object.
/// Textures are read as `filter` says; unless given, as the fit read them. Refuses another object.
Result<Evaluation> evaluateProduct(const LoadedProduct& product, const LoadedAsset& asset,
                                   const EvaluationOptions& options = {}, std::optional<Filter> filter = {},
                                   Progress& progress = silentProgress());

}  // namespace heatskin
