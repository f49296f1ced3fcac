#include "heatskin/texture/kernel_texture.h"

#include <utility>

#include "heatskin/evaluators/evaluate_colors.h"

namespace heatskin {

KernelTexture::KernelTexture(std::shared_ptr<const Surface> surface, KernelSet kernels,
                             const EvaluatorOptions& options)
    : surface_(std::move(surface)),
      kernels_(std::move(kernels)),
      options_(options),
      evaluator_(makeEvaluator(*surface_, options)) {
  evaluator_->rebuild(kernels_);
  filter_.build(kernels_);
}

void KernelTexture::colors(std::span<const SurfacePoint> points, std::span<Vec3f> colors,
                           std::span<float> weights) const {
  evaluateColors(*evaluator_, filter_, points, colors, weights);
}

}  // namespace heatskin
