#include "heatskin/kernels/composite_block.h"

#include <algorithm>

#include "heatskin/kernels/compositor.h"

namespace heatskin {

namespace {

bool isTangent(const FilterTable& filter, std::size_t channel) {
  return std::any_of(filter.tangents().begin(), filter.tangents().end(),
                     [&](std::size_t first) { return channel == first || channel == first + 1; });
}

}  // namespace

void CompositeBlock::setTangent(std::size_t q, std::size_t first, const Vec2f& sum, float divisor) {
  const Vec2f value = sum / divisor;
  float x = value.x(), y = value.y();
  shortenTo(kTangentZero, x, y);
  sums.row(q)[first] = sum.x();
  sums.row(q)[first + 1] = sum.y();
  // Shortening rounds: a last bit may be too much.
  channels.row(q)[first] = std::clamp(kTangentZero + x, 0.0f, 1.0f);
  channels.row(q)[first + 1] = std::clamp(kTangentZero + y, 0.0f, 1.0f);
}

void CompositeBlock::resize(const ResponseBlock& responses, std::size_t channel_count) {
  const std::size_t queries = responses.counts.size();
  f.resize(queries * responses.stride + ResponseBlock::kPadding);
  channels.channels = sums.channels = channel_count;
  channels.resize(queries);
  sums.resize(queries);
  weights.resize(queries);
}

void compositeScalar(ResponseBlock& responses, const FilterTable& filter, CompositeBlock& out,
                     std::size_t kept) {
  const std::size_t queries = responses.counts.size(), stride = responses.stride;
  const std::size_t channels = filter.channels();
  out.resize(responses, channels);
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
    float* sum = out.sums.row(q);
    std::fill_n(sum, channels, 0.0f);
    float weight = 0;
    for (std::size_t i = 0; i < staying; ++i) {
      const std::size_t from = order[i];
      responses.kernels[base + i] = responses.kernels[base + from];
      responses.pairs[base + i] = responses.pairs[base + from];
      responses.x[base + i] = responses.x[base + from];
      out.f[base + i] = f[from];
      const float* row = filter.row(responses.kernels[base + i]);
      for (std::size_t c = 0; c < channels; ++c)
        sum[c] += f[from] * row[FilterTable::kChannels + c];
      weight += f[from];
    }
    responses.counts[q] = static_cast<std::uint32_t>(staying);
    out.weights[q] = weight;
    for (std::size_t c = 0; c < channels; ++c) {
      const float value = filter.mean()[static_cast<Eigen::Index>(c)] + sum[c] / std::max(weight, 1.0f);
      out.channels.row(q)[c] = std::clamp(value, 0.0f, 1.0f);
    }
  }
}

void compositeTangentsScalar(const ResponseBlock& responses, const FilterTable& filter, CompositeBlock& out) {
  for (std::size_t q = 0; q < responses.counts.size(); ++q) {
    const float divisor = std::max(out.weights[q], 1.0f);
    for (const std::size_t first : filter.tangents()) {
      Vec2f sum = Vec2f::Zero();
      for (std::size_t at = q * responses.stride; at < q * responses.stride + responses.counts[q]; ++at) {
        const float* c = filter.row(responses.kernels[at]) + FilterTable::kChannels + first;
        const float cosine = responses.cosines[at], sine = responses.sines[at];
        sum += out.f[at] * Vec2f(cosine * c[0] - sine * c[1], sine * c[0] + cosine * c[1]);
      }
      out.setTangent(q, first, sum, divisor);
    }
  }
}

void compositeVjpScalar(const ResponseBlock& responses, const FilterTable& filter,
                        const CompositeBlock& block, std::span<const float> d_channels,
                        std::span<const float> errors, std::span<const float> curvatures,
                        std::vector<float>& dx, GradientSums& sums) {
  const std::size_t queries = responses.counts.size(), stride = responses.stride;
  const std::size_t channels = filter.channels();
  std::vector<float> turned(channels);
  dx.resize(queries * stride + ResponseBlock::kPadding);
  for (std::size_t q = 0; q < queries; ++q) {
    const std::size_t base = q * stride;
    const float weight = block.weights[q], inverse = 1 / std::max(weight, 1.0f);
    const float* sum = block.sums.row(q);
    const float* d_channel = d_channels.data() + q * channels;
    const float* curvature = curvatures.data() + (curvatures.size() > channels ? q * channels : 0);
    // Where the weights are normalised, more of one kernel means less of all others.
    float common = 0;
    for (std::size_t c = 0; c < channels && weight > 1; ++c)
      common += d_channel[c] * inverse * sum[c] * inverse;
    const float error_share = errors.empty() ? 0.0f : errors[q] / (weight + 1e-8f);
    for (std::size_t i = 0; i < responses.counts[q]; ++i) {
      const std::uint32_t kernel = responses.kernels[base + i];
      const float* k = filter.row(kernel);
      const float f = block.f[base + i], x = responses.x[base + i];
      GradientRow& row = sums.row(kernel);
      float g = -common;
      // The kernel's values as the query sees them, and gradients as the kernel does.
      std::copy_n(k + FilterTable::kChannels, channels, turned.begin());
      for (std::size_t c = 0; c < channels; ++c)
        row.channels()[c] += isTangent(filter, c) ? 0.0f : f * d_channel[c] * inverse;
      for (const std::size_t first : filter.tangents()) {
        const float cosine = responses.cosines[base + i], sine = responses.sines[base + i];
        const Vec2f v(k[FilterTable::kChannels + first], k[FilterTable::kChannels + first + 1]);
        turned[first] = cosine * v.x() - sine * v.y();
        turned[first + 1] = sine * v.x() + cosine * v.y();
        const Vec2f d = f * inverse * Vec2f(d_channel[first], d_channel[first + 1]);
        row.channels()[first] += cosine * d.x() + sine * d.y();
        row.channels()[first + 1] += cosine * d.y() - sine * d.x();
      }
      for (std::size_t c = 0; c < channels; ++c) {
        const float value = turned[c];
        g += d_channel[c] * inverse * value;
        const float without = (sum[c] - f * value) / std::max(weight - f, 1.0f);
        const float change = without - sum[c] * inverse;
        row.use.cost += d_channel[c] * change + curvature[c] * change * change;
      }
      row.use.hits += 1;
      row.use.contribution += f;
      row.use.error += f * error_share;
      if (!(f > 0 && f < 1)) g = 0;
      const float a = f / k[3] + k[2];
      const float bend = g * a * (1 - a);
      row.filter.slope += bend;
      row.filter.slope_x += bend * (x - k[1]);
      row.filter.plain += g;
      row.filter.weighted += g * f;
      dx[base + i] = bend * k[0] * k[3];
    }
  }
}

}  // namespace heatskin
