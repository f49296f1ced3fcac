#include "heatskin/training/optimiser.h"

#include <algorithm>
#include <cmath>

#include "heatskin/kernels/compositor.h"
#include "heatskin/training/angles.h"
#include "heatskin/training/constants.h"

namespace heatskin {
namespace {

void move(float& value, double by, float low, float high) {
  value = std::clamp(static_cast<float>(value - by), low, high);
}

/// Gradients are means over a batch of about as many samples as there are kernels: those of single kernels
/// become small as the batch grows, and Adam's floor has to follow. METHOD's is for 4,096 samples.
double epsilonOf(const TrainOptions& options) {
  constexpr double kPaperBatch = 4096;
  return options.rates.units == RateUnits::kPaper
             ? Adam::kEpsilon
             : Adam::kEpsilon * kPaperBatch / static_cast<double>(options.batch);
}

/// RateUnits::kKernel: what a step of 1 is, for angle, anisotropy, threshold and sharpness.
Adam::Four unitsOf(const KernelSet& kernels, std::size_t i) {
  // A kernel ends where x is eps, at a distance proportional to sqrt(-log eps): this changes its logarithm by
  // 1. Next to eps = 1 a kernel is but a point; a step there should still lead out.
  constexpr float kLeastUnit = 2e-3f;
  const float eps = kernels.thresholds[i];
  const float size = std::max(kLeastUnit, -2 * eps * std::log(eps));
  return {1, 1 + kernels.anisotropies[i], size, kernels.sharpnesses[i]};
}

}  // namespace

Optimiser::Optimiser(const TrainOptions& options, const ChannelLayout& layout, const Walker& walker, int step,
                     double pace)
    : options_(&options),
      pace_(pace),
      adam_(step, options.rates.beta2, epsilonOf(options)),
      geodesic_(walker, options.rates.position * pace, options.rates.momentum),
      tangents_(layout.hasTangents()) {
  const LearningRates& rates = options.rates;
  const auto size = [&](double rate) { return adam_.stepSize(rate * pace); };
  shape_sizes_ << size(rates.angle), size(rates.anisotropy), size(rates.threshold), size(rates.sharpness);
  for (std::size_t c = 0; c < kMaxChannels; ++c) {
    const double factor = c < layout.size() ? layout.groupOf(c).rate : 1.0;
    is_tangent_[c] = c < layout.size() && layout.groupOf(c).isTangent();
    channel_sizes_[c / 4][static_cast<Eigen::Index>(c % 4)] = size(rates.color * factor);
  }
}

Rigid2 Optimiser::moveKernel(std::size_t kernel, const GradientRow& row, TrainerState& state) const {
  KernelSet& k = state.kernels;
  const SoftThreshold<double> filter(k.sharpnesses[kernel], k.thresholds[kernel]);
  const FilterSums<double> sums{row.filter.slope, row.filter.slope_x, row.filter.plain, row.filter.weighted};
  double d_threshold = 0, d_sharpness = 0;
  sums.finish(filter, d_threshold, d_sharpness);

  const GeometryGradient& geometry = row.geometry;
  float* m = state.optimiser.adam_m.data() + kernel * state.optimiser.parameters;
  float* v = state.optimiser.adam_v.data() + kernel * state.optimiser.parameters;
  const bool own_units = options_->rates.units == RateUnits::kKernel;
  const Adam::Four units = own_units ? unitsOf(k, kernel) : Adam::Four::Ones();
  const Adam::Four slopes(geometry.angle, geometry.anisotropy, static_cast<float>(d_threshold),
                          static_cast<float>(d_sharpness));
  const Adam::Four shape = units * adam_.change(shape_sizes_, units * slopes, m, v);
  SurfacePoint& position = k.positions[kernel];
  Vec2& velocity = state.optimiser.velocities[kernel];
  const Vec2 slope(geometry.position_x, geometry.position_y);
  const double spacing = constants::kReferenceSpacing * static_cast<double>(k.lengths[kernel]);
  const Rigid2 motion = own_units ? geodesic_.step(adam_, spacing, slope, position, velocity,
                                                   state.optimiser.position_v[kernel])
                                  : geodesic_.step(slope, position, velocity);

  using R = KernelRanges;
  float& angle = k.angles[kernel];
  if (options_->transport_angle && motion.sine != 0) angle = carriedAngle(angle, motion);
  if (options_->wrap_angle) {
    angle = wrappedAngle(angle - shape[0]);
  } else {
    move(angle, shape[0], R::kMinAngle, R::kMaxAngle);
  }
  move(k.anisotropies[kernel], shape[1], R::kMinAnisotropy, R::kMaxAnisotropy);
  move(k.thresholds[kernel], shape[2], R::kMinThreshold, R::kMaxThreshold);
  move(k.sharpnesses[kernel], shape[3], R::kMinSharpness, R::kMaxSharpness);
  moveChannels(kernel, row.channels(), m + 4, v + 4, k);
  const bool walked = motion.cosine != 1 || motion.sine != 0;
  if (tangents_ && walked) {
    k.carryTangents(kernel, motion);
    KernelSet::carryTangents(k.layout, m + 4, motion);
  }
  return motion;
}

void Optimiser::moveChannels(std::size_t kernel, const float* gradient, float* m, float* v,
                             KernelSet& kernels) const {
  const std::size_t channels = kernels.layout.size();
  float* values = kernels.channels.row(kernel);
  constexpr float kMost = KernelRanges::kMaxResidual;
  if (tangents_) {
    // One squared length for both components: steps do not depend on the frame they are in.
    for (const ChannelGroup& group : kernels.layout.groups()) {
      const std::size_t x = group.first, y = x + 1;
      if (!group.isTangent()) continue;
      const Vec2f change = adam_.changeVector(channel_sizes_[x / 4][static_cast<Eigen::Index>(x % 4)],
                                              Vec2f(gradient[x], gradient[y]), m + x, v + x);
      values[x] -= change.x();
      values[y] -= change.y();
      shortenTo(kMost, values[x], values[y]);
    }
  }
  for (std::size_t first = 0; first < channels; first += 4) {
    // Rows are padded with zeros to whole vectors. Those of tangent groups were moved above.
    Eigen::Array4f kept_m, kept_v;
    if (tangents_) {
      kept_m = Eigen::Map<const Eigen::Array4f>(m + first);
      kept_v = Eigen::Map<const Eigen::Array4f>(v + first);
    }
    const Adam::Four change = adam_.change(
        channel_sizes_[first / 4], Eigen::Map<const Adam::Four>(gradient + first), m + first, v + first);
    for (std::size_t c = first; c < std::min(first + 4, channels); ++c) {
      const auto at = static_cast<Eigen::Index>(c - first);
      if (tangents_ && is_tangent_[c]) {
        m[c] = kept_m[at];
        v[c] = kept_v[at];
      } else {
        move(values[c], change[at], -kMost, kMost);
      }
    }
  }
}

void Optimiser::moveMean(std::span<const double> gradient, TrainerState& state) const {
  for (std::size_t c = 0; c < state.kernels.layout.size(); ++c) {
    if (is_tangent_[c]) continue;  // there is no vector that is the same on all faces, but 0
    move(state.kernels.mean[static_cast<Eigen::Index>(c)],
         adam_.change(options_->rates.mean_color * state.kernels.layout.groupOf(c).rate * pace_, gradient[c],
                      state.optimiser.mean_m[c], state.optimiser.mean_v[c]),
         0.0f, 1.0f);
  }
}

}  // namespace heatskin
