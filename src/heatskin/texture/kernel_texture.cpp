#include "heatskin/texture/kernel_texture.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "heatskin/evaluators/evaluate_colors.h"
#include "heatskin/kernels/composite_block.h"

namespace heatskin {

Result<KernelTexture> KernelTexture::create(std::shared_ptr<const Surface> surface, KernelSet kernels,
                                            const EvaluatorOptions& options, const Preparation& preparation,
                                            ConstantFaces constants) {
  auto evaluator = makeEvaluator(*surface, options, preparation);
  if (!evaluator) return evaluator.error();
  return withEvaluator(std::move(surface), std::move(kernels), options, std::move(*evaluator),
                       std::move(constants));
}

Result<KernelTexture> KernelTexture::withEvaluator(std::shared_ptr<const Surface> surface, KernelSet kernels,
                                                   const EvaluatorOptions& options,
                                                   std::shared_ptr<Evaluator> evaluator,
                                                   ConstantFaces constants) {
  // Small files may ask for far too much: every kernel on every face.
  if (auto justified = evaluator->check(kernels, 1); !justified)
    return inputError(justified.error().message, justified.error().code);
  KernelTexture texture;
  texture.surface_ = std::move(surface);
  texture.kernels_ = std::move(kernels);
  texture.options_ = options;
  texture.constants_ = std::move(constants);
  try {
    evaluator->rebuild(texture.kernels_);
    evaluator->complete();
  } catch (const std::bad_alloc&) {
    return failure(fmt::format("not enough memory for {} kernels on {} faces", texture.kernels_.size(),
                               texture.surface_->faceCount()));
  }
  FilterTable filter;
  filter.build(texture.kernels_);
  texture.filter_ = std::make_shared<const FilterTable>(std::move(filter));
  texture.evaluator_ = std::move(evaluator);
  return texture;
}

void KernelTexture::values(std::span<const SurfacePoint> points, std::span<float> values,
                           std::span<float> weights) const {
  evaluateChannels(*evaluator_, *filter_, points, values, weights);
  layout().fromUnit(values);
  if (constants_.empty()) return;
  const std::size_t channels = layout().size();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const float* constant = constants_.find(points[i].face);
    if (constant == nullptr) continue;
    const std::uint32_t known = constants_.channelsOf(points[i].face);
    bool all = true;
    for (std::size_t c = 0; c < channels; ++c) {
      if ((known >> c & 1) != 0) {
        values[i * channels + c] = constant[c];
      } else {
        all = false;
      }
    }
    if (all && !weights.empty()) weights[i] = 1;
  }
}

void KernelTexture::colors(std::span<const SurfacePoint> points, std::span<Vec3f> colors,
                           std::span<float> weights) const {
  const ChannelGroup* base_color = layout().find("base_color");
  assert(base_color != nullptr);
  const std::size_t channels = layout().size();
  if (channels == 3) {
    static_assert(sizeof(Vec3f) == 3 * sizeof(float));
    values(points, {colors.empty() ? nullptr : colors[0].data(), 3 * colors.size()}, weights);
    return;
  }
  // In pieces of moderate memory.
  constexpr std::size_t kAtOnce = std::size_t{1} << 16;
  std::vector<float> all;
  for (std::size_t first = 0; first < points.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, points.size() - first);
    all.resize(count * channels);
    values(points.subspan(first, count), all, weights.empty() ? weights : weights.subspan(first, count));
    for (std::size_t i = 0; i < count; ++i)
      colors[first + i] = Eigen::Map<const Vec3f>(all.data() + i * channels + base_color->first);
  }
}

}  // namespace heatskin
