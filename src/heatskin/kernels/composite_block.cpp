#include "heatskin/kernels/composite_block.h"

#include <algorithm>

#include "heatskin/kernels/compositor.h"

namespace heatskin {

void compositeScalar(ResponseBlock& responses, const FilterTable& filter, CompositeBlock& out,
                     std::size_t kept) {
  const std::size_t queries = responses.counts.size(), stride = responses.stride;
  out.f.resize(queries * stride + ResponseBlock::kPadding);
  out.colors.resize(queries);
  out.sums.resize(queries);
  out.weights.resize(queries);
  std::vector<float> f(stride);
  std::vector<std::uint32_t> order(stride);
  for (std::size_t q = 0; q < queries; ++q) {
    const std::size_t base = q * stride, count = responses.counts[q];
    for (std::size_t i = 0; i < count; ++i) {
      const float* row = filter.row(responses.kernels[base + i]);
      const float a = logistic(row[0] * (responses.x[base + i] - row[1]));
      f[i] = std::clamp((a - row[2]) * row[3], 0.0f, 1.0f);
      order[i] = static_cast<std::uint32_t>(i);
    }
    std::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
                     [&](std::uint32_t a, std::uint32_t b) { return f[a] > f[b]; });
    std::size_t staying = std::min(count, kept);
    while (staying > 0 && !(f[order[staying - 1]] > kNegligibleWeight))
      --staying;
    std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(staying));
    Vec3f sum = Vec3f::Zero();
    float weight = 0;
    for (std::size_t i = 0; i < staying; ++i) {
      const std::size_t from = order[i];
      responses.kernels[base + i] = responses.kernels[base + from];
      responses.pairs[base + i] = responses.pairs[base + from];
      responses.x[base + i] = responses.x[base + from];
      out.f[base + i] = f[from];
      const float* row = filter.row(responses.kernels[base + i]);
      sum += f[from] * Vec3f(row[4], row[5], row[6]);
      weight += f[from];
    }
    responses.counts[q] = static_cast<std::uint32_t>(staying);
    out.sums[q] = sum;
    out.weights[q] = weight;
    out.colors[q] = (filter.meanColor() + sum / std::max(weight, 1.0f)).cwiseMax(0.0f).cwiseMin(1.0f);
  }
}

void compositeVjpScalar(const ResponseBlock& responses, const FilterTable& filter,
                        const CompositeBlock& block, std::span<const Vec3f> d_colors,
                        std::span<const float> errors, float curvature, std::vector<float>& dx,
                        GradientSums& sums) {
  const std::size_t queries = responses.counts.size(), stride = responses.stride;
  dx.resize(queries * stride + ResponseBlock::kPadding);
  for (std::size_t q = 0; q < queries; ++q) {
    const std::size_t base = q * stride;
    const float weight = block.weights[q], inverse = 1 / std::max(weight, 1.0f);
    const Vec3f d_sum = d_colors[q] * inverse;
    // Where the weights are normalised, more of one kernel means less of all others.
    const float common = weight > 1 ? d_sum.dot(block.sums[q]) * inverse : 0.0f;
    const float error_share = errors.empty() ? 0.0f : errors[q] / (weight + 1e-8f);
    for (std::size_t i = 0; i < responses.counts[q]; ++i) {
      const std::uint32_t kernel = responses.kernels[base + i];
      const float* k = filter.row(kernel);
      const float f = block.f[base + i], x = responses.x[base + i];
      float g = d_sum.x() * k[4] + d_sum.y() * k[5] + d_sum.z() * k[6] - common;
      float* row = sums.row(kernel);
      for (std::size_t c = 0; c < 3; ++c)
        row[GradientRow::kColor + c] += f * d_sum[static_cast<Eigen::Index>(c)];
      row[GradientRow::kHits] += 1;
      row[GradientRow::kContribution] += f;
      row[GradientRow::kError] += f * error_share;
      const Vec3f without = (block.sums[q] - f * Vec3f(k[4], k[5], k[6])) / std::max(weight - f, 1.0f);
      const Vec3f change = without - block.sums[q] * inverse;
      row[GradientRow::kCost] += d_colors[q].dot(change) + curvature * change.squaredNorm();
      if (!(f > 0 && f < 1)) g = 0;
      const float a = f / k[3] + k[2];
      const float bend = g * a * (1 - a);
      row[GradientRow::kFilter] += bend;
      row[GradientRow::kFilter + 1] += bend * (x - k[1]);
      row[GradientRow::kFilter + 2] += g;
      row[GradientRow::kFilter + 3] += g * f;
      dx[base + i] = bend * k[0] * k[3];
    }
  }
}

}  // namespace heatskin
