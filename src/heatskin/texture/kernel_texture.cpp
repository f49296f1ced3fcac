#include "heatskin/texture/kernel_texture.h"

#include <new>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/memory_budget.h"
#include "heatskin/evaluators/evaluate_colors.h"
#include "heatskin/evaluators/local/local_evaluator.h"

namespace heatskin {

Result<KernelTexture> KernelTexture::create(std::shared_ptr<const Surface> surface, KernelSet kernels,
                                            const EvaluatorOptions& options, const Preparation& preparation,
                                            ConstantFaces constants) {
  auto evaluator = makeEvaluator(*surface, options, preparation);
  if (!evaluator) return evaluator.error();
  if (const auto* local = dynamic_cast<const local::LocalEvaluator*>(evaluator->get())) {
    if (auto justified = local->checkPairs(kernels); !justified) return justified.error();
    const double pairs = local->estimatePairs(kernels);
    const auto fits =
        askMemory(fmt::format("evaluating {} kernels that reach about {:.2g} faces", kernels.size(), pairs),
                  local->pairBytes(pairs));
    if (!fits) return fits.error();
  }
  KernelTexture texture;
  texture.surface_ = std::move(surface);
  texture.kernels_ = std::move(kernels);
  texture.options_ = options;
  texture.evaluator_ = std::move(*evaluator);
  texture.constants_ = std::move(constants);
  try {
    texture.evaluator_->rebuild(texture.kernels_);
  } catch (const std::bad_alloc&) {
    return failure(fmt::format("not enough memory for {} kernels on {} faces", texture.kernels_.size(),
                               texture.surface_->faceCount()));
  }
  texture.filter_.build(texture.kernels_);
  return texture;
}

void KernelTexture::colors(std::span<const SurfacePoint> points, std::span<Vec3f> colors,
                           std::span<float> weights) const {
  evaluateColors(*evaluator_, filter_, points, colors, weights);
  if (constants_.empty()) return;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Vec3f* constant = constants_.find(points[i].face);
    if (constant == nullptr) continue;
    colors[i] = *constant;
    if (!weights.empty()) weights[i] = 1;
  }
}

}  // namespace heatskin
