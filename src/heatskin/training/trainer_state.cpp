#include "heatskin/training/trainer_state.h"

#include <algorithm>
#include <cmath>

#include "heatskin/base/hilbert.h"
#include "heatskin/base/permute.h"

namespace heatskin {

void OptimiserState::reset(std::size_t count, std::size_t channels) {
  parameters = adamParameters(channels);
  adam_m.assign(count * parameters, 0);
  adam_v.assign(count * parameters, 0);
  velocities.assign(count, Vec2::Zero());
  position_v.assign(count, 0);
  mean_m.assign(channels, 0);
  mean_v.assign(channels, 0);
}

void OptimiserState::select(const std::vector<std::uint32_t>& kept) {
  for (std::size_t k = 0; k < kept.size(); ++k) {
    std::copy_n(adam_m.data() + kept[k] * parameters, parameters, adam_m.data() + k * parameters);
    std::copy_n(adam_v.data() + kept[k] * parameters, parameters, adam_v.data() + k * parameters);
    velocities[k] = velocities[kept[k]];
    position_v[k] = position_v[kept[k]];
  }
  adam_m.resize(kept.size() * parameters);
  adam_v.resize(kept.size() * parameters);
  velocities.resize(kept.size());
  position_v.resize(kept.size());
}

void OptimiserState::permute(std::span<const std::uint32_t> order) {
  const auto rows = [&](std::vector<float>& of) {
    std::vector<float> moved(of.size());
    for (std::size_t k = 0; k < order.size(); ++k)
      std::copy_n(of.data() + order[k] * parameters, parameters, moved.data() + k * parameters);
    of.swap(moved);
  };
  rows(adam_m);
  rows(adam_v);
  permuteEntries(velocities, order);
  permuteEntries(position_v, order);
}

void OptimiserState::append() {
  velocities.push_back(Vec2::Zero());
  position_v.push_back(0);
  adam_m.resize(velocities.size() * parameters, 0);
  adam_v.resize(velocities.size() * parameters, 0);
}

void OptimiserState::forget(std::size_t i) {
  std::fill_n(adam_m.data() + i * parameters, parameters, 0.0f);
  std::fill_n(adam_v.data() + i * parameters, parameters, 0.0f);
  velocities[i] = Vec2::Zero();
  position_v[i] = 0;
}

namespace {

/// Kernel k becomes what kernel order[k] was.
void permute(KernelSet& kernels, std::span<const std::uint32_t> order) {
  permuteEntries(kernels.positions, order);
  for (std::vector<float>* of :
       {&kernels.angles, &kernels.anisotropies, &kernels.thresholds, &kernels.sharpnesses, &kernels.lengths})
    permuteEntries(*of, order);
  ChannelTable moved{kernels.channels.channels, {}};
  moved.resize(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    std::copy_n(kernels.channels.row(order[k]), moved.channels, moved.row(k));
  kernels.channels = std::move(moved);
}

}  // namespace

void sortAlongSurface(TrainerState& state, const Surface& surface) {
  std::vector<Vec3> centers(state.kernels.size());
  for (std::size_t i = 0; i < centers.size(); ++i)
    centers[i] = surface.position(state.kernels.positions[i]);
  const std::vector<std::uint32_t> order = hilbertOrder(centers);
  permute(state.kernels, order);
  state.optimiser.permute(order);
  state.statistics.permute(order);
}

bool isConsistent(const TrainerState& state, const Surface& surface) {
  const KernelSet& k = state.kernels;
  const OptimiserState& o = state.optimiser;
  const DensityStatistics& s = state.statistics;
  const std::size_t count = k.size(), channels = k.layout.size();
  if (!isConsistent(k, surface) || o.parameters != adamParameters(channels) ||
      o.adam_m.size() != count * o.parameters || o.adam_v.size() != count * o.parameters ||
      o.mean_m.size() != channels || o.mean_v.size() != channels) {
    return false;
  }
  for (const std::size_t size : {o.velocities.size(), o.position_v.size(), s.hits.size(),
                                 s.contributions.size(), s.errors.size(), s.costs.size()}) {
    if (size != count) return false;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!o.velocities[i].allFinite() || !(o.position_v[i] >= 0)) return false;
  }
  return true;
}

bool isConsistent(const KernelSet& k, const Surface& surface) {
  const std::size_t count = k.size(), channels = k.layout.size();
  if (static_cast<std::size_t>(k.mean.size()) != channels || k.channels.channels != channels ||
      k.channels.values.size() != count * channels) {
    return false;
  }
  for (const std::size_t size : {k.angles.size(), k.anisotropies.size(), k.thresholds.size(),
                                 k.sharpnesses.size(), k.lengths.size()}) {
    if (size != count) return false;
  }
  for (const ChannelGroup& group : k.layout.groups()) {
    if (!group.isTangent()) continue;
    for (std::size_t c = group.first; c < group.first + group.count; ++c) {
      if (k.mean[static_cast<Eigen::Index>(c)] != kTangentZero) return false;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const SurfacePoint& p = k.positions[i];
    const auto within = [](float x, float low, float high) { return x >= low && x <= high; };
    using R = KernelRanges;
    // Barycentric coordinates that a walk left behind may be off by rounding.
    constexpr double kSlack = 1e-6;
    if (p.face >= surface.faceCount() || !(p.barycentric.minCoeff() >= -kSlack) ||
        !(std::abs(p.barycentric.sum() - 1) <= kSlack) || !within(k.angles[i], R::kMinAngle, R::kMaxAngle) ||
        !within(k.anisotropies[i], R::kMinAnisotropy, R::kMaxAnisotropy) ||
        !within(k.thresholds[i], R::kMinThreshold, R::kMaxThreshold) ||
        !within(k.sharpnesses[i], R::kMinSharpness, R::kMaxSharpness) ||
        !within(k.lengths[i], R::kMinLength, R::kMaxLength) || !k.channels[i].allFinite()) {
      return false;
    }
  }
  return true;
}

}  // namespace heatskin
