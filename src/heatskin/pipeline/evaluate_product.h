#pragma once

// evaluateProduct() in two steps, for whoever evaluates more than once.

#include <optional>

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

}  // namespace heatskin
