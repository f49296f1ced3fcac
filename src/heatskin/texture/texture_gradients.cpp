#include "heatskin/texture/texture_gradients.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "heatskin/base/parallel.h"
#include "heatskin/evaluators/composite_batch.h"
#include "heatskin/kernels/compositor.h"
#include "heatskin/kernels/gradient_sums.h"

namespace heatskin {
namespace {

/// Points are worked on in so many parts, each with sums of its own, whatever the number of threads.
constexpr std::size_t kParts = 16;

struct Part {
  GradientSums sums;
  std::array<double, kMaxChannels> mean{};
};

/// dL/d(part of the range) from dL/d(value); zero where kernels have no say or the value is clamped.
void unitGradients(const KernelTexture& texture, std::span<const SurfacePoint> points,
                   const CompositeBlock& block, const FilterTable& filter, std::span<const float> d_values,
                   std::span<float> out) {
  const ChannelLayout& layout = texture.layout();
  const std::size_t channels = layout.size();
  for (std::size_t q = 0; q < points.size(); ++q) {
    const std::uint32_t constant = texture.constants().channelsOf(points[q].face);
    const float divisor = std::max(block.weights[q], 1.0f);
    const float* value = block.channels.row(q);
    const float* sum = block.sums.row(q);
    for (const ChannelGroup& group : layout.groups()) {
      const float range = group.range[1] - group.range[0];
      bool clamped = false;
      for (std::size_t c = group.first; c < group.first + group.count; ++c) {
        const bool here = filter.mean()[static_cast<Eigen::Index>(c)] + sum[c] / divisor != value[c];
        clamped = group.isTangent() ? clamped || here : here;
        const bool none = clamped || (constant >> c & 1) != 0;
        out[q * channels + c] = none ? 0 : range * d_values[q * channels + c];
      }
      // A vector is shortened as a whole.
      if (group.isTangent() && clamped)
        std::fill_n(out.data() + q * channels + group.first, group.count, 0.0f);
    }
  }
}

}  // namespace

KernelGradients kernelGradients(const KernelTexture& texture, std::span<const SurfacePoint> points,
                                std::span<const float> d_values) {
  const KernelSet& kernels = texture.kernels();
  const std::size_t count = kernels.size(), channels = texture.layout().size();
  FilterTable filter;
  filter.build(kernels);
  const std::size_t part_size = std::max<std::size_t>(1, (points.size() + kParts - 1) / kParts);
  std::vector<std::unique_ptr<Part>> parts(blockCount(points.size(), part_size));
  parallelBlocks(points.size(), part_size, [&](std::size_t p, std::size_t begin, std::size_t end) {
    auto part = std::make_unique<Part>();
    part->sums.takeTable({});
    part->sums.reset(count, channels);
    const auto own = points.subspan(begin, end - begin);
    const auto batch = texture.evaluator().begin(own);
    Workspace workspace;
    CompositeBlock block;
    std::vector<float> d_channels, dx;
    const std::vector<float> curvatures(channels, 0.0f);
    for (std::size_t first = 0; first < own.size(); first += kQueryBlock) {
      const std::size_t queries = std::min(kQueryBlock, own.size() - first);
      batch->respond(first, first + queries, workspace);
      compositeBatch(*batch, first, first + queries, filter, workspace, block);
      d_channels.resize(queries * channels);
      unitGradients(texture, own.subspan(first, queries), block, filter,
                    d_values.subspan((begin + first) * channels, queries * channels), d_channels);
      for (std::size_t i = 0; i < d_channels.size(); ++i)
        part->mean[i % channels] += static_cast<double>(d_channels[i]);
      compositeVjp(workspace.responses, filter, block, d_channels, {}, curvatures, dx, part->sums);
      batch->respondVjp(first, first + queries, workspace, dx, part->sums);
    }
    parts[p] = std::move(part);
  });

  KernelGradients out;
  out.positions.assign(count, Vec2::Zero());
  for (auto* column : {&out.angles, &out.anisotropies, &out.thresholds, &out.sharpnesses})
    column->assign(count, 0.0f);
  out.channels.channels = channels;
  out.channels.resize(count);
  out.mean.assign(channels, 0.0f);
  for (std::size_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (const auto& part : parts)
      sum += part->mean[c];
    // Vectors have no mean.
    out.mean[c] = texture.layout().groupOf(c).isTangent() ? 0.0f : static_cast<float>(sum);
  }
  parallelFor(count, 256, [&](std::size_t begin, std::size_t end) {
    GradientRowBuffer buffer;
    for (std::size_t i = begin; i < end; ++i) {
      GradientRow& row = buffer.clear();
      const auto kernel = static_cast<std::uint32_t>(i);
      bool touched = false;
      for (const auto& part : parts) {
        if (const GradientRow* own = part->sums.find(kernel)) {
          part->sums.add(row, *own);
          touched = true;
        }
      }
      if (!touched) continue;
      texture.evaluator().finish(kernel, row.geometry);
      const SoftThreshold<double> threshold(kernels.sharpnesses[i], kernels.thresholds[i]);
      const FilterSums<double> sums{row.filter.slope, row.filter.slope_x, row.filter.plain,
                                    row.filter.weighted};
      double d_threshold = 0, d_sharpness = 0;
      sums.finish(threshold, d_threshold, d_sharpness);
      out.positions[i] = Vec2(row.geometry.position_x, row.geometry.position_y);
      out.angles[i] = row.geometry.angle;
      out.anisotropies[i] = row.geometry.anisotropy;
      out.thresholds[i] = static_cast<float>(d_threshold);
      out.sharpnesses[i] = static_cast<float>(d_sharpness);
      std::copy_n(row.channels(), channels, out.channels.row(i));
    }
  });
  return out;
}

}  // namespace heatskin
