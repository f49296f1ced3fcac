#include "heatskin/training/trainer_state.h"

#include <cmath>

namespace heatskin {

void OptimiserState::reset(std::size_t count) {
  adam_m.assign(count, {});
  adam_v.assign(count, {});
  velocities.assign(count, Vec2::Zero());
  mean_m = mean_v = {};
}

void OptimiserState::select(const std::vector<std::uint32_t>& kept) {
  for (std::size_t k = 0; k < kept.size(); ++k) {
    adam_m[k] = adam_m[kept[k]];
    adam_v[k] = adam_v[kept[k]];
    velocities[k] = velocities[kept[k]];
  }
  adam_m.resize(kept.size());
  adam_v.resize(kept.size());
  velocities.resize(kept.size());
}

void OptimiserState::append() {
  adam_m.push_back({});
  adam_v.push_back({});
  velocities.push_back(Vec2::Zero());
}

void OptimiserState::forget(std::size_t i) {
  adam_m[i] = {};
  adam_v[i] = {};
  velocities[i] = Vec2::Zero();
}

bool isConsistent(const TrainerState& state, const Surface& surface) {
  const KernelSet& k = state.kernels;
  const OptimiserState& o = state.optimiser;
  const DensityStatistics& s = state.statistics;
  const std::size_t count = k.size();
  for (const std::size_t size :
       {k.angles.size(), k.anisotropies.size(), k.thresholds.size(), k.sharpnesses.size(), k.colors.size(),
        o.adam_m.size(), o.adam_v.size(), o.velocities.size(), s.hits.size(), s.contributions.size(),
        s.errors.size(), s.costs.size()}) {
    if (size != count) return false;
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
        !within(k.sharpnesses[i], R::kMinSharpness, R::kMaxSharpness) || !k.colors[i].allFinite() ||
        !o.velocities[i].allFinite()) {
      return false;
    }
  }
  return true;
}

}  // namespace heatskin
