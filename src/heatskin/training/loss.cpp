#include "heatskin/training/loss.h"

#include <algorithm>
#include <cmath>

namespace heatskin {

Loss::Loss(std::size_t batch, ClampGradient clamp_gradient)
    : scale_(static_cast<float>(2.0 / static_cast<double>(batch))), clamp_gradient_(clamp_gradient) {}

void Loss::evaluate(const CompositeBlock& block, const ChannelValues& mean, const LossSamples& samples,
                    LossBlock& out, std::span<float> squared_errors, LossSums& sums) const {
  const std::size_t count = samples.weights.size(), channels = block.channels.channels;
  out.d_channels.resize(count * channels);
  out.absolute_errors.resize(count);
  float errors[kMaxChannels];
  for (std::size_t q = 0; q < count; ++q) {
    const float* value = block.channels.row(q);
    const float* target = samples.targets.data() + q * channels;
    float* d_channel = out.d_channels.data() + q * channels;
    const float factor = scale_ * samples.weights[q], divisor = std::max(block.weights[q], 1.0f);
    float absolute = 0;
    // Backwards as sumOfSquares().
    for (std::size_t c = channels; c-- > 0;) {
      errors[c] = value[c] - target[c];
      absolute = std::abs(errors[c]) + absolute;
      d_channel[c] = factor * errors[c];
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
