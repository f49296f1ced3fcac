#pragma once

// The product file: a GLB with the input geometry as it came and the kernels in the vendor extension
// HSK_kernel_texture (docs/format.md), with vertex colours as fallback for viewers that do not know it.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/variants.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {

/// How a product came about; for people and reports, without influence on colours.
struct ProductInfo {
  std::string generator;  ///< "heatskin 0.3.0"
  std::string preset;
  std::uint64_t seed = 0;
  int steps = 0;
  std::string filter = {};  ///< how the fit read textures, one of kFilterNames; empty: not known
};

/// How the textures of the asset a product was made from are read when both are compared: as the fit did, or,
/// where a file does not say, with the paper's formula for the preset `paper` and as samplers say otherwise.
Filter fitFilter(const ProductInfo& info);

/// What programs see that do not know kernels.
enum class Fallback : std::uint8_t {
  kVertex,    ///< the kernels' colours at the vertices
  kOriginal,  ///< the textures of the input, which stay in the file
  kPlain,     ///< one colour, the mean
  kTexture,   ///< small images of the kernels' colours where the input has textures and images come nearer,
              ///< else colours at vertices
};

/// Names of the fallbacks, in the order of the enum; as on the command line.
inline constexpr std::string_view kFallbackNames[] = {"vertex", "original", "none", "texture"};

/// Which image Fallback::kTexture asks for.
struct FallbackRequest {
  /// Meshes of the asset and primitives of theirs that show it, along the coordinates of their base colour.
  std::vector<std::pair<std::size_t, std::size_t>> primitives;
  std::size_t look = 0;       ///< of the material variants (from 1) whose colours it has; 0: the default
  int width = 0, height = 0;  ///< of the image whose place it takes
  std::size_t bytes = 0;      ///< of that one in the file; 0: not known
};

/// The answer.
struct FallbackImage {
  std::vector<std::uint8_t> bytes;  ///< of a file; none: colours at the vertices are the better choice
  std::string mime_type;            ///< "image/png" or "image/jpeg"
};

/// Values of kernels in some material variants.
struct VariantKernels {
  VariantLook look;   ///< of the asset; without changes: the kernels alone look different
  KernelSet kernels;  ///< those of the product with other values and another mean

  /// As ProductFile::constants, which has to be there, too: of primitives with their materials of this look;
  /// empty: those of ProductFile.
  std::vector<std::vector<std::uint32_t>> constants = {};
};

/// How a product is written.
struct ProductFile {
  ProductFile() = default;
  ProductFile(Fallback chosen) : fallback(chosen) {}  // NOLINT: most callers want nothing else

  Fallback fallback = Fallback::kVertex;
  bool extras = false;  ///< the kernels also as text in the scene's extras, which other programs keep
  bool charts = true;   ///< where each kernel reaches (product/charts.h)

  /// Of the looks of an asset from a glTF file, all of them or none; none: the variants stay in the file as
  /// they are, and kernels know the default look alone.
  std::vector<VariantKernels> variants = {};

  /// Groups of channels, one bit each, in which a primitive has its material's values; [meshes][primitives]
  /// of the asset. Null: those that its material alone decides about (constantGroups()).
  const std::vector<std::vector<std::uint32_t>>* constants = nullptr;
};

/// A triangle of the file and barycentric coordinates for its corners in file order.
struct TrianglePoint {
  std::uint32_t triangle = 0;
  Vec3 barycentric = {1.0 / 3, 1.0 / 3, 1.0 / 3};
};

/// The options of the surface that every reader of a product builds. Kernels are stored relative to
/// triangles, so first axes need no curvature, unless the method's operators follow the principal directions.
SurfaceOptions productSurfaceOptions(Method method);

/// Moves an asset to the positions (float32) and transforms that a product made from it will hold; says
/// whether anything changed. A fit on these positions has the surface that readers of its product will build,
/// to the bit: it needs no second one, and the operators of ThermalRF and the eigenbases of HKTex stay the
/// same.
Result<bool> useStoredGeometry(Asset& asset);

/// The GLB of `kernels` fitted to `asset`, whose surface is `surface`: everything the asset's file held
/// (Asset::file), without the textures that kernels take the place of, unless they are the fallback.
/// Quantises. `charts`: the file says where each kernel reaches, where the method has charts
/// (product/charts.h). Primitives of one value in a group of channels keep it in their material and are left
/// to it there, unless all primitives are so in all groups.
Result<std::vector<std::uint8_t>> encodeProduct(const Asset& asset, const Surface& surface,
                                                const KernelSet& kernels, const EvaluatorOptions& options,
                                                const ProductInfo& info, const Preparation& preparation = {},
                                                const ProductFile& file = {});

/// A product read back: everything needed for colours, from that file alone.
struct Product {
  Asset asset;
  std::shared_ptr<const Surface> surface;
  KernelSet kernels;
  EvaluatorOptions options;
  ProductInfo info;
  ConstantFaces constants;      ///< faces that have their material's colour
  std::size_t model_bytes = 0;  ///< of the buffer with the kernels: what they cost
  std::size_t chart_bytes = 0;  ///< of the buffer that says where they reach; 0: there is none

  /// Material variants that kernels have values of their own for, and the bytes of these.
  std::vector<std::string> variants;
  std::size_t variant_bytes = 0;

  /// Where the values of these are, for productLooks(); null: the file has no material variants.
  std::shared_ptr<const RawExtension> stored;

  /// What that buffer says, for Preparation::supports; null: there is none.
  std::shared_ptr<const local::StoredSupports> supports;
  double bytesPerKernel() const {
    return static_cast<double>(model_bytes) / static_cast<double>(kernels.size());
  }
  std::vector<Notice> notices;  ///< of the reader, then of the surface
};

/// The texture of a product in some of its material variants, for KernelTexture::withValues().
struct ProductLook {
  VariantLook look;  ///< of the product's asset; may be without changes: other kernels on the same materials
  KernelSet kernels;
  ConstantFaces constants;
};

/// All looks of a product that differ from its default one, in the order of their first names. None if the
/// product was read with one of its variants: that one counts then.
Result<std::vector<ProductLook>> productLooks(const Product& product);

/// True if the asset carries HSK_kernel_texture.
bool isProduct(const Asset& asset);

/// Fails (input cannot be used) if the asset has no kernels, a version this program does not know, or
/// anything inconsistent.
/// `evaluated_with`: the surface also suits that method. The values are those of Asset::variant.
Result<Product> decodeProduct(Asset asset, std::optional<Method> evaluated_with = {});
Result<Product> loadProduct(const std::filesystem::path& path);

}  // namespace heatskin
