#pragma once

// evaluateProduct() in two steps, for whoever evaluates more than once.

#include <optional>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/evaluation/evaluation.h"
#include "heatskin/evaluation/reference.h"
#include "heatskin/pipeline/pipeline.h"

namespace heatskin {

/// The asset as ground truth of the product. Both must outlive the reference.
Result<Reference> referenceOf(const LoadedProduct& product, const LoadedAsset& asset);
Result<Evaluation> evaluateProduct(const LoadedProduct& product, const Reference& reference,
                                   EvaluationOptions options = {}, std::optional<Filter> filter = {},
                                   Progress& progress = silentProgress());

/// Surface PSNR of what programs see that do not know kernels. Nothing where the surfaces of product and
/// asset differ. Of the options, samples, seed and filter count.
std::optional<double> fallbackPsnr(const LoadedProduct& product, const LoadedAsset& asset,
                                   EvaluationOptions options);

/// What a product has of its asset's file besides meshes, in words, and what it has not.
struct KeptContents {
  std::vector<std::string> kept, dropped;
};
Result<KeptContents> keptContents(const LoadedProduct& product, const LoadedAsset& asset);

}  // namespace heatskin
