#include "heatskin/pipeline/evaluate_product.h"

#include "heatskin/base/files.h"
#include "heatskin/evaluation/evaluate.h"
#include "heatskin/evaluation/reference.h"

namespace heatskin {

Result<Reference> referenceOf(const LoadedProduct& product, const LoadedAsset& asset) {
  return Reference::match(product.texture.surface(), *asset.surface, asset.appearance,
                          displayPath(asset.asset.path));
}

Result<Evaluation> evaluateProduct(const LoadedProduct& product, const Reference& reference,
                                   EvaluationOptions options, std::optional<Filter> filter,
                                   Progress& progress) {
  options.filter = filter ? *filter : fitFilter(product.product.info);
  return evaluate(product.texture, reference, options, progress);
}

Result<Evaluation> evaluateProduct(const LoadedProduct& product, const LoadedAsset& asset,
                                   const EvaluationOptions& options, std::optional<Filter> filter,
                                   Progress& progress) {
  const auto reference = referenceOf(product, asset);
  if (!reference) return reference.error();
  return evaluateProduct(product, *reference, options, filter, progress);
}

}  // namespace heatskin
