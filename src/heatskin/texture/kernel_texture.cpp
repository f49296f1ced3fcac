#include "heatskin/texture/kernel_texture.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "heatskin/evaluators/evaluate_colors.h"
#include "heatskin/evaluators/method_traits.h"
#include "heatskin/kernels/composite_block.h"

namespace heatskin {

Result<KernelTexture> KernelTexture::create(std::shared_ptr<const Surface> surface, KernelSet kernels,
                                            const EvaluatorOptions& options, const Preparation& preparation,
                                            ConstantFaces constants) {
  // Before the work of preparing an evaluator.
  if (auto suits = checkChannels(methodOf(options), kernels.layout); !suits) return suits.error();
  auto evaluator = makeEvaluator(*surface, options, preparation);
  if (!evaluator) return evaluator.error();
  return withEvaluator(std::move(surface), std::move(kernels), options, std::move(*evaluator),
                       std::move(constants));
}

Result<KernelTexture> KernelTexture::withEvaluator(std::shared_ptr<const Surface> surface, KernelSet kernels,
                                                   const EvaluatorOptions& options,
                                                   std::shared_ptr<Evaluator> evaluator,
                                                   ConstantFaces constants) {
  if (auto suits = checkChannels(methodOf(options), kernels.layout); !suits) return suits.error();
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

KernelTexture KernelTexture::withValues(KernelSet kernels, ConstantFaces constants) const {
  KernelTexture texture = *this;
  texture.kernels_ = std::move(kernels);
  texture.constants_ = std::move(constants);
  FilterTable filter;
  filter.build(texture.kernels_);
  texture.filter_ = std::make_shared<const FilterTable>(std::move(filter));
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

template <class Take>
void KernelTexture::forPieces(std::span<const SurfacePoint> points, std::span<float> weights,
                              std::size_t channels, const Take& take) const {
  constexpr std::size_t kAtOnce = std::size_t{1} << 16;
  std::vector<float> rows;
  for (std::size_t first = 0; first < points.size(); first += kAtOnce) {
    const auto part = points.subspan(first, std::min(kAtOnce, points.size() - first));
    rows.resize(part.size() * channels);
    values(part, rows, weights.empty() ? weights : weights.subspan(first, part.size()));
    take(first, part, std::span<const float>(rows));
  }
}

void KernelTexture::valuesInSpace(std::span<const SurfacePoint> points, std::span<float> out,
                                  std::span<float> weights) const {
  const std::size_t channels = layout().size();
  if (!layout().hasTangents()) return values(points, out, weights);
  forPieces(points, weights, channels,
            [&](std::size_t first, std::span<const SurfacePoint> part, std::span<const float> rows) {
              float* to = out.data() + first * layout().spaceSize();
              for (std::size_t i = 0; i < part.size(); ++i) {
                const float* row = rows.data() + i * channels;
                for (const ChannelGroup& group : layout().groups()) {
                  if (!group.isTangent()) {
                    to = std::copy_n(row + group.first, group.count, to);
                    continue;
                  }
                  // Surface coordinates are those of the asset, moved and scaled: directions are the same.
                  const Vec3f in_space = surface_->frames()[part[i].face]
                                             .directionFromFace(Vec2(row[group.first], row[group.first + 1]))
                                             .cast<float>();
                  to = std::copy_n(in_space.data(), 3, to);
                }
              }
            });
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
  forPieces(points, weights, channels,
            [&](std::size_t first, std::span<const SurfacePoint> part, std::span<const float> rows) {
              for (std::size_t i = 0; i < part.size(); ++i)
                colors[first + i] = Eigen::Map<const Vec3f>(rows.data() + i * channels + base_color->first);
            });
}

}  // namespace heatskin
