#include "heatskin/training/loss.h"

#include <algorithm>
#include <cmath>

namespace heatskin {

Loss::Loss(std::size_t batch, ClampGradient clamp_gradient, const ChannelLayout& layout)
    : scale_(static_cast<float>(2.0 / static_cast<double>(batch))),
      clamp_gradient_(clamp_gradient),
      channels_(layout.size()) {
  for (std::size_t c = 0; c < channels_; ++c) {
    const ChannelGroup& group = layout.groupOf(c);
    weights_[c] = static_cast<float>(group.weight);
    roots_[c] = static_cast<float>(std::sqrt(group.weight));
    curvatures_[c] = 0.5f * scale_ * weights_[c];
    everywhere_[c] = group.everywhere;
    is_tangent_[c] = group.isTangent();
    if (group.isTangent() && c == group.first) tangents_.push_back(c);
  }
}

void Loss::evaluate(const CompositeBlock& block, const ChannelValues& mean, const LossSamples& samples,
                    LossBlock& out, std::span<float> squared_errors, LossSums& sums) const {
  const std::size_t count = samples.weights.size(), channels = channels_;
  const bool partial = !samples.left_out.empty();
  const bool masked = !samples.visibilities.empty() || partial;
  out.d_channels.resize(count * channels);
  out.absolute_errors.resize(count);
  out.curvatures.resize(masked ? count * channels : 0);
  float errors[kMaxChannels];  // times the roots of their weights
  std::array<float, kMaxChannels> weights = weights_, roots = roots_;
  for (std::size_t q = 0; q < count; ++q) {
    const float* value = block.channels.row(q);
    const float* target = samples.targets.data() + q * channels;
    float* d_channel = out.d_channels.data() + q * channels;
    const float factor = scale_ * samples.weights[q], divisor = std::max(block.weights[q], 1.0f);
    for (std::size_t c = 0; c < channels && masked; ++c) {
      float seen = everywhere_[c] || samples.visibilities.empty() ? 1.0f : samples.visibilities[q];
      if (partial && (samples.left_out[q] >> c & 1) != 0) seen = 0;
      weights[c] = weights_[c] * seen;
      roots[c] = roots_[c] * std::sqrt(seen);
      out.curvatures[q * channels + c] = curvatures_[c] * seen;
    }
    float absolute = 0;
    for (const std::size_t c : tangents_) {
      // As much as two channels that are off by the same; whichever way the frame lies.
      absolute += std::sqrt(2.0f) * roots[c] * std::hypot(value[c] - target[c], value[c + 1] - target[c + 1]);
    }
    // Backwards as sumOfSquares().
    for (std::size_t c = channels; c-- > 0;) {
      const float error = value[c] - target[c];
      errors[c] = roots[c] * error;
      if (!is_tangent_[c]) absolute = std::abs(errors[c]) + absolute;
      d_channel[c] = factor * weights[c] * error;
      if (clamp_gradient_ == ClampGradient::kZero &&
          mean[static_cast<Eigen::Index>(c)] + block.sums.row(q)[c] / divisor != value[c]) {
        d_channel[c] = 0;
      }
      sums.d_mean[c] += d_channel[c];
    }
    out.absolute_errors[q] = absolute / static_cast<float>(channels);
    squared_errors[q] = sumOfSquares(errors, channels);
    sums.loss += squared_errors[q] * samples.inverse_probability_weights[q];
  }
}

}  // namespace heatskin
