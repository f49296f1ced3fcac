#include "heatskin/training/optimiser.h"

#include <algorithm>

#include "heatskin/kernels/compositor.h"
#include "heatskin/kernels/response_block.h"
#include "heatskin/training/angles.h"

namespace heatskin {
namespace {

void move(float& value, double by, float low, float high) {
  value = std::clamp(static_cast<float>(value - by), low, high);
}

}  // namespace

Optimiser::Optimiser(const TrainOptions& options, const Walker& walker, int step, double pace)
    : options_(&options),
      pace_(pace),
      adam_(step),
      geodesic_(walker, options.rates.position * pace, options.rates.momentum) {
  const LearningRates& rates = options.rates;
  const auto size = [&](double rate) { return adam_.stepSize(rate * pace); };
  shape_sizes_ << size(rates.angle), size(rates.anisotropy), size(rates.threshold), size(rates.sharpness);
  color_sizes_ << size(rates.color), size(rates.color), size(rates.color), 0.0f;
}

Rigid2 Optimiser::moveKernel(std::size_t kernel, const float* row, TrainerState& state) const {
  KernelSet& k = state.kernels;
  const SoftThreshold<double> filter(k.sharpnesses[kernel], k.thresholds[kernel]);
  FilterSums<double> sums;
  sums.slope = row[GradientRow::kFilter];
  sums.slope_x = row[GradientRow::kFilter + 1];
  sums.plain = row[GradientRow::kFilter + 2];
  sums.weighted = row[GradientRow::kFilter + 3];
  double d_threshold = 0, d_sharpness = 0;
  sums.finish(filter, d_threshold, d_sharpness);

  float* m = state.optimiser.adam_m[kernel].data();
  float* v = state.optimiser.adam_v[kernel].data();
  const Adam::Four shape =
      adam_.change(shape_sizes_,
                   Adam::Four(row[GradientRow::kAngle], row[GradientRow::kAnisotropy],
                              static_cast<float>(d_threshold), static_cast<float>(d_sharpness)),
                   m, v);
  const Adam::Four color = adam_.change(
      color_sizes_,
      Adam::Four(row[GradientRow::kColor], row[GradientRow::kColor + 1], row[GradientRow::kColor + 2], 0.0f),
      m + 4, v + 4);

  const Rigid2 motion = geodesic_.step(Vec2(row[GradientRow::kPositionX], row[GradientRow::kPositionY]),
                                       k.positions[kernel], state.optimiser.velocities[kernel]);

  using R = KernelRanges;
  float& angle = k.angles[kernel];
  if (options_->transport_angle) angle = carriedAngle(angle, motion);
  if (options_->wrap_angle) {
    angle = wrappedAngle(angle - shape[0]);
  } else {
    move(angle, shape[0], R::kMinAngle, R::kMaxAngle);
  }
  move(k.anisotropies[kernel], shape[1], R::kMinAnisotropy, R::kMaxAnisotropy);
  move(k.thresholds[kernel], shape[2], R::kMinThreshold, R::kMaxThreshold);
  move(k.sharpnesses[kernel], shape[3], R::kMinSharpness, R::kMaxSharpness);
  for (Eigen::Index c = 0; c < 3; ++c)
    move(k.colors[kernel][c], color[c], -R::kMaxResidual, R::kMaxResidual);
  return motion;
}

void Optimiser::moveMean(const Vec3& gradient, TrainerState& state) const {
  for (std::size_t c = 0; c < 3; ++c) {
    const auto channel = static_cast<Eigen::Index>(c);
    move(state.kernels.mean_color[channel],
         adam_.change(options_->rates.mean_color * pace_, gradient[channel], state.optimiser.mean_m[c],
                      state.optimiser.mean_v[c]),
         0.0f, 1.0f);
  }
}

}  // namespace heatskin
