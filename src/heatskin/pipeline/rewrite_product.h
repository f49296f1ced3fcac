#pragma once

// A product made of kernels that are there already: the last steps of a transfer or an edit.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/image_f.h"
#include "heatskin/pipeline/pipeline.h"

namespace heatskin {

/// "model.glb: ", or nothing for an asset that was made.
std::string messagePrefix(const Asset& asset);

/// Groups of channels, one bit each, in which the primitives of a product have their material's values, by
/// its constants or those of one of its looks; [meshes][primitives], for ProductFile::constants.
std::vector<std::vector<std::uint32_t>> primitiveConstants(const Product& product,
                                                           const ConstantFaces& faces);

struct RewrittenProduct {
  std::vector<std::uint8_t> bytes;  ///< a GLB
  LoadedProduct stored;             ///< as it reads
};

/// Writes kernels on `surface`, the surface of `asset` as readers of the product build it, and reads them
/// back. Of the options, progress and cache count. `position_bits`: ProductWriter::create()'s, so that
/// kernels of another product keep their places to the bit; 0: as many as the kernels need.
Result<RewrittenProduct> rewriteProduct(const Asset& asset, std::shared_ptr<const Surface> surface,
                                        const KernelSet& kernels, const EvaluatorOptions& options,
                                        const ProductInfo& info, const ProductFile& file,
                                        const OpenOptions& open, int position_bits = 0);

/// The product with other kernels of the same channels, in the same file: what stands in for kernels stays of
/// its kind, constant parts stay constant. `variants` are the values of material variants; those of others
/// are left out.
Result<RewrittenProduct> replaceKernels(const Product& product, const KernelSet& kernels,
                                        const OpenOptions& open, int position_bits = 0,
                                        std::vector<VariantKernels> variants = {});

/// Bits of the positions of kernels in the product's file; 0 if it has none.
int positionBits(const Product& product);

/// A mesh that is to get kernels: glTF, at the positions a product will hold, without kernels of its own.
Result<Asset> meshForKernels(Asset mesh);

/// PSNR of the base colour of a texture against a target of the same surface at area-uniform points, weighted
/// by visibility. `skip` ([F], nonzero) names faces that do not count; empty: all count. Infinite if nothing
/// differs or nothing counts.
double texturePsnr(const KernelTexture& texture, const FitTarget& target, std::size_t samples,
                   std::uint64_t seed, const std::vector<std::uint8_t>& skip = {});

/// The standard views as a map of the errors of a texture against a target of its surface, with the scale.
ImageF targetErrorSheet(const KernelTexture& texture, const FitTarget& target);

}  // namespace heatskin
