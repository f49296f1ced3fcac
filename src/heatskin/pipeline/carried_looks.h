#pragma once

// Material variants of a product on their way to another file: which looks there are, and the kernels'
// values in each of them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/variants.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/product/product.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"
#include "heatskin/training/config.h"

namespace heatskin {

/// A look that a mesh is to have beside that of its default materials.
struct CarriedLook {
  VariantLook look;                     ///< of the mesh; without changes: kernels alone look different
  const ProductLook* source = nullptr;  ///< whose kernels it has; null: those of the default look
};

/// How well the kernels of some material variants came out.
struct LookFigure {
  std::vector<std::string> names;
  double surface_psnr_source = 0;  ///< of the base colour against the source
};

/// The mesh, read from a glTF file (Asset::file), with these names among its material variants. Names that it
/// has already keep their materials.
Result<Asset> withVariantNames(Asset mesh, std::span<const std::string> names);

/// The names for a mesh that gets the looks of `asset`: none if there are no looks, else all of its variants,
/// because some may look as the default does.
std::span<const std::string> variantNames(const Asset& asset, std::span<const ProductLook> looks);

/// The looks of a mesh that has the names of `looks`: variants that have the same kernels and the same
/// materials are one. `looks` must outlive the result.
std::vector<CarriedLook> looksOnMesh(const Asset& mesh, std::span<const ProductLook> looks);

/// `kernels` with the mean and the channels of `values`, which has the same kernels or the first of them: the
/// rest keeps its channels. So do vectors of kernels that are on another face by now.
KernelSet withChannelsOf(const KernelSet& kernels, const KernelSet& values);

/// Solves for the values of `free` kernels (nonzero, [N]) in another look; the rest of them stays. False: it
/// made nothing better, and nothing has changed. The evaluator is one of the surface; afterwards it has to be
/// rebuilt before it is asked.
bool solveLook(const Surface& surface, const FitTarget& target, Evaluator& evaluator,
               std::span<const std::uint8_t> free, const FitConfig& config, KernelSet& kernels);

/// The texture of a product in one of its variants; that of the default where it looks the same.
Result<KernelTexture> textureOfVariant(const LoadedProduct& product, const std::string& name);

}  // namespace heatskin
