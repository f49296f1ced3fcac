#include "heatskin/training/loss.h"

#include <algorithm>

namespace heatskin {

Loss::Loss(std::size_t batch, ClampGradient clamp_gradient)
    : scale_(static_cast<float>(2.0 / static_cast<double>(batch))), clamp_gradient_(clamp_gradient) {}

void Loss::evaluate(const CompositeBlock& block, const Vec3f& mean_color, const LossSamples& samples,
                    LossBlock& out, std::span<float> squared_errors, LossSums& sums) const {
  const std::size_t count = samples.targets.size();
  out.d_colors.resize(count);
  out.absolute_errors.resize(count);
  for (std::size_t q = 0; q < count; ++q) {
    const Vec3f& color = block.colors[q];
    const Vec3f error = color - samples.targets[q];
    Vec3f d_color = scale_ * samples.weights[q] * error;
    if (clamp_gradient_ == ClampGradient::kZero) {
      const Vec3f raw = mean_color + block.sums[q] / std::max(block.weights[q], 1.0f);
      for (Eigen::Index c = 0; c < 3; ++c) {
        if (raw[c] != color[c]) d_color[c] = 0;
      }
    }
    out.d_colors[q] = d_color;
    out.absolute_errors[q] = error.cwiseAbs().sum() / 3;
    squared_errors[q] = error.squaredNorm();
    sums.loss += squared_errors[q] * samples.inverse_probability_weights[q];
    sums.d_mean += d_color.cast<double>();
  }
}

}  // namespace heatskin
