#pragma once

// How close a product comes to the asset it was made from.

#include <optional>

#include "heatskin/base/progress.h"
#include "heatskin/base/result.h"
#include "heatskin/base/texture_filter.h"
#include "heatskin/evaluation/evaluation.h"
#include "heatskin/pipeline/loaded.h"

namespace heatskin {

class Reference;

/// The figures of a product against the asset as ground truth, or against another mesh of the same object.
/// Textures are read as `filter` says; unless given, as the fit read them. Refuses another object.
Result<Evaluation> evaluateProduct(const LoadedProduct& product, const LoadedAsset& asset,
                                   const EvaluationOptions& options = {}, std::optional<Filter> filter = {},
                                   Progress& progress = silentProgress());

/// In two steps, for whoever evaluates more than once. Both must outlive the reference.
Result<Reference> referenceOf(const LoadedProduct& product, const LoadedAsset& asset);
Result<Evaluation> evaluateProduct(const LoadedProduct& product, const Reference& reference,
                                   EvaluationOptions options = {}, std::optional<Filter> filter = {},
                                   Progress& progress = silentProgress());

}  // namespace heatskin
