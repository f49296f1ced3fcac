#include "heatskin/pipeline/evaluate_product.h"

#include <algorithm>
#include <iterator>

#include "heatskin/base/files.h"
#include "heatskin/evaluation/color_comparison.h"
#include "heatskin/evaluation/evaluate.h"
#include "heatskin/evaluation/reference.h"
#include "heatskin/product/file_contents.h"

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

std::optional<double> fallbackPsnr(const LoadedProduct& product, const LoadedAsset& asset,
                                   EvaluationOptions options) {
  const Surface& surface = product.texture.surface();
  if (!sameFaces(surface, *asset.surface)) return std::nullopt;
  options.view_size = 0;
  const auto comparison = ColorComparison::create(*asset.surface, asset.appearance, options);
  if (!comparison) return std::nullopt;
  const Appearance fallback(product.product.asset, surface);
  const auto quality = comparison->measure(
      [&](std::span<const SurfacePoint> points, std::span<Vec3f> out) { fallback.colors(points, out); });
  if (!quality) return std::nullopt;
  return quality->surface_psnr;
}

Result<KeptContents> keptContents(const LoadedProduct& product, const LoadedAsset& asset) {
  const auto before = contentsOf(asset.asset), after = contentsOf(product.product.asset);
  if (!before) return before.error();
  if (!after) return after.error();
  KeptContents contents;
  std::set_intersection(after->begin(), after->end(), before->begin(), before->end(),
                        std::back_inserter(contents.kept));
  std::set_difference(before->begin(), before->end(), after->begin(), after->end(),
                      std::back_inserter(contents.dropped));
  return contents;
}

Result<Evaluation> evaluateProduct(const LoadedProduct& product, const LoadedAsset& asset,
                                   const EvaluationOptions& options, std::optional<Filter> filter,
                                   Progress& progress) {
  const auto reference = referenceOf(product, asset);
  if (!reference) return reference.error();
  return evaluateProduct(product, *reference, options, filter, progress);
}

}  // namespace heatskin
