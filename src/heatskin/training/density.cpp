#include "heatskin/training/density.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "heatskin/base/rng.h"
#include "heatskin/training/angles.h"
#include "heatskin/training/streams.h"

namespace heatskin {
namespace {

/// A squared error that is worth a kernel: about five 8-bit levels in each channel.
constexpr double kNeed = 1e-3;

/// Keeps the kernels named in `kept` (increasing) with everything that belongs to them.
void keep(TrainerState& state, const std::vector<std::uint32_t>& kept) {
  state.kernels.select(kept);
  const auto select = [&](auto& values) {
    for (std::size_t k = 0; k < kept.size(); ++k)
      values[k] = values[kept[k]];
    values.resize(kept.size());
  };
  select(state.adam_m);
  select(state.adam_v);
  select(state.velocities);
  select(state.hits);
  select(state.contributions);
  select(state.errors);
  select(state.costs);
}

void forget(TrainerState& state, std::size_t i) {
  state.adam_m[i] = {};
  state.adam_v[i] = {};
  state.velocities[i] = Vec2::Zero();
}

/// Appends a copy of kernel `i` with its use so far, without optimiser state; returns its number.
std::size_t append(TrainerState& state, std::size_t i) {
  state.kernels.append(i);
  state.adam_m.push_back({});
  state.adam_v.push_back({});
  state.velocities.push_back(Vec2::Zero());
  state.hits.push_back(state.hits[i]);
  state.contributions.push_back(state.contributions[i]);
  state.errors.push_back(0);
  state.costs.push_back(0);
  return state.kernels.size() - 1;
}

float insideThreshold(double value) {
  return std::clamp(static_cast<float>(value), KernelRanges::kMinThreshold, KernelRanges::kMaxThreshold);
}

/// Splits kernel `i`, or clones it if it is small.
void multiply(TrainerState& state, std::size_t i, const TrainOptions& options, const Walker& walker) {
  const DensityOptions& d = options.density;
  KernelSet& kernels = state.kernels;
  const std::size_t j = append(state, i);
  const double reach = 1 - static_cast<double>(kernels.thresholds[i]);
  if (reach <= d.split_above) return;
  const double angle = kernels.angles[i] + (d.split_long_axis ? 0.0 : std::numbers::pi / 2);
  const Vec2 offset = reach * d.split_distance * Vec2(std::cos(angle), std::sin(angle));
  const SurfacePoint from = kernels.positions[i];
  const auto place = [&](std::size_t k, const Vec2& by) {
    const WalkOutcome outcome = walker.walk(from, by);
    kernels.positions[k] = outcome.end;
    if (options.transport_angle) kernels.angles[k] = carriedAngle(kernels.angles[k], outcome.end_from_start);
    kernels.thresholds[k] = insideThreshold(1 - reach / d.split_shrink);
    forget(state, k);
  };
  place(i, offset);
  place(j, -offset);
}

/// Kernel numbers by falling value, ties by number.
std::vector<std::uint32_t> orderedByFalling(const std::vector<double>& values) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return values[a] > values[b]; });
  return order;
}

}  // namespace

void prune(TrainerState& state, const DensityOptions& options, double scale) {
  const double most = *std::max_element(state.hits.begin(), state.hits.end());
  std::vector<std::uint32_t> kept, weak;
  for (std::uint32_t i = 0; i < state.kernels.size(); ++i) {
    const bool drop = state.hits[i] < options.prune_hits * most ||
                      state.contributions[i] / scale < options.prune_contribution;
    (drop ? weak : kept).push_back(i);
  }
  // Never below the minimum: the strongest of the weak come back.
  std::stable_sort(weak.begin(), weak.end(), [&](std::uint32_t a, std::uint32_t b) {
    return state.contributions[a] > state.contributions[b];
  });
  for (std::size_t i = 0; i < weak.size() && kept.size() < options.min_kernels; ++i)
    kept.push_back(weak[i]);
  std::sort(kept.begin(), kept.end());
  if (kept.size() < state.kernels.size()) keep(state, kept);
  std::fill(state.hits.begin(), state.hits.end(), 0.0);
  std::fill(state.contributions.begin(), state.contributions.end(), 0.0);
}

void densify(TrainerState& state, const TrainOptions& options, const Walker& walker, double scale) {
  const DensityOptions& d = options.density;
  const std::size_t present = state.kernels.size();
  std::vector<std::uint32_t> candidates = orderedByFalling(state.errors);
  while (!candidates.empty() && !(state.errors[candidates.back()] / scale > d.error_threshold))
    candidates.pop_back();
  const std::size_t room = d.max_kernels > present ? d.max_kernels - present : 0;
  const std::size_t count =
      std::min({candidates.size(), static_cast<std::size_t>(d.growth * static_cast<double>(present)), room});
  for (std::size_t n = 0; n < count; ++n)
    multiply(state, candidates[n], options, walker);
  std::fill(state.errors.begin(), state.errors.end(), 0.0);
}

void rebalance(TrainerState& state, const TrainOptions& options, const Walker& walker,
               std::span<const Probe> probes) {
  const DensityOptions& d = options.density;
  KernelSet& kernels = state.kernels;

  // What would be missed least goes.
  std::size_t present = kernels.size();
  std::vector<double> sorted = state.costs;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(present / 2), sorted.end());
  const double limit = d.relocate_below * std::max(0.0, sorted[present / 2]);
  const std::vector<std::uint32_t> by_cost = orderedByFalling(state.costs);
  std::size_t staying = present;
  const std::size_t least =
      std::max(std::min(d.min_kernels, present),
               present - static_cast<std::size_t>(d.relocate_share * static_cast<double>(present)));
  while (staying > least && state.costs[by_cost[staying - 1]] <= limit)
    --staying;
  std::vector<std::uint32_t> new_number(present, ~0u);
  if (staying < present) {
    std::vector<std::uint32_t> kept(by_cost.begin(), by_cost.begin() + static_cast<std::ptrdiff_t>(staying));
    std::sort(kept.begin(), kept.end());
    for (std::uint32_t k = 0; k < kept.size(); ++k)
      new_number[kept[k]] = k;
    keep(state, kept);
    present = staying;
  } else {
    std::iota(new_number.begin(), new_number.end(), 0u);
  }

  const std::size_t room = d.max_kernels > present ? d.max_kernels - present : 0;
  const std::size_t adding = std::min(
      room, std::max<std::size_t>(1, static_cast<std::size_t>(d.growth * static_cast<double>(present))));
  // Squared error where an insertion may help: at places that few kernels reach, which no split can mend.
  const auto need = [&](const Probe& probe) {
    return probe.weight < d.insert_below ? static_cast<double>(probe.error.squaredNorm()) : 0.0;
  };
  double total = 0;
  std::size_t needy = 0;
  for (const Probe& probe : probes) {
    total += need(probe);
    needy += need(probe) > kNeed ? 1 : 0;
  }
  const std::size_t inserting =
      std::min(needy, static_cast<std::size_t>(std::ceil(d.insert_share * static_cast<double>(adding))));
  const std::size_t splitting = std::min(adding - inserting, present);

  const std::vector<std::uint32_t> by_error = orderedByFalling(state.errors);
  double mean_threshold = 0;
  for (std::size_t i = 0; i < present; ++i)
    mean_threshold += kernels.thresholds[i];
  mean_threshold /= static_cast<double>(present);

  // Systematic draws: probes in the order of the surface, equal steps in accumulated squared error.
  const RandomStream random(options.seed, streams::kSeeding + (static_cast<std::uint64_t>(state.step) << 8));
  const double stride = inserting > 0 ? total / static_cast<double>(inserting) : 0;
  double target = stride * random.uniform(0), before = 0;
  std::size_t inserted = 0;
  for (const Probe& probe : probes) {
    before += need(probe);
    if (inserted >= inserting || before <= target) continue;
    // One kernel per probe, however large its error.
    while (target < before)
      target += stride;
    ++inserted;
    const bool covered = probe.strongest != ~0u && new_number[probe.strongest] != ~0u;
    const std::size_t k = append(state, covered ? new_number[probe.strongest] : 0);
    kernels.positions[k] = probe.point;
    const auto channel = [&](Eigen::Index c) {
      // With f = 1 at its centre the sum there becomes sum + c, the weight + 1.
      const float weight = std::max(probe.weight + 1, 1.0f);
      const float wanted = (probe.target[c] - kernels.mean_color[c]) * weight - probe.sum[c];
      return std::clamp(wanted, -KernelRanges::kMaxResidual, KernelRanges::kMaxResidual);
    };
    kernels.colors[k] = Vec3f(channel(0), channel(1), channel(2));
    if (covered) {
      const double reach = 1 - static_cast<double>(kernels.thresholds[k]);
      kernels.thresholds[k] = insideThreshold(1 - reach / d.split_shrink);
      // The angle belongs to another face's frame; a fresh one is as good.
      kernels.angles[k] = wrappedAngle(std::numbers::pi * random.uniform(1 + inserted));
    } else {
      kernels.thresholds[k] = insideThreshold(mean_threshold);
      kernels.anisotropies[k] = KernelRanges::kMinAnisotropy;
    }
    state.hits[k] = state.contributions[k] = 0;
  }
  for (std::size_t n = 0; n < splitting; ++n)
    multiply(state, by_error[n], options, walker);
  std::fill(state.errors.begin(), state.errors.end(), 0.0);
  std::fill(state.costs.begin(), state.costs.end(), 0.0);
}

}  // namespace heatskin
