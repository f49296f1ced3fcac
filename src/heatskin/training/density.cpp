#include "heatskin/training/density.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>
#include <utility>

#include "heatskin/base/rng.h"
#include "heatskin/training/angles.h"
#include "heatskin/training/constants.h"
#include "heatskin/training/streams.h"
#include "heatskin/training/stretch.h"

namespace heatskin {
namespace {

/// Kernels for a region per kernel that would cover it if none overlapped: discs that cover a plane take 1.21
/// times their area, and drawn places are no lattice.
constexpr double kOverlap = 1.5;

/// Up to so many uncovered probes are looked at one by one.
constexpr double kFewUncovered = 2048;

/// In the middle of the range, where a kernel can become wider and narrower.
constexpr float kInsertedThreshold = 0.5f;

/// A kernel for a gap is at a probe somewhere in it, not in its middle. Steps would move it there; where none
/// follow, it has so many times the area.
constexpr double kOffCenter = 2;

/// Keeps the kernels named in `kept` (increasing) with everything that belongs to them.
void keep(TrainerState& state, const std::vector<std::uint32_t>& kept) {
  state.kernels.select(kept);
  state.optimiser.select(kept);
  state.statistics.select(kept);
}

/// Appends a copy of kernel `i` with its use so far, without optimiser state; returns its number.
std::size_t append(TrainerState& state, std::size_t i) {
  state.kernels.append(i);
  state.optimiser.append();
  state.statistics.appendUseOf(i);
  return state.kernels.size() - 1;
}

float insideThreshold(double value) {
  return std::clamp(static_cast<float>(value), KernelRanges::kMinThreshold, KernelRanges::kMaxThreshold);
}

float insideLength(double value) {
  return std::clamp(static_cast<float>(value), KernelRanges::kMinLength, KernelRanges::kMaxLength);
}

/// Splits kernel `i`, or clones it if it is small. With lengths from spacing, halves are shorter and keep the
/// threshold: there is always one to split.
void multiply(TrainerState& state, std::size_t i, const TrainOptions& options, const Walker& walker) {
  KernelSet& kernels = state.kernels;
  const std::size_t j = append(state, i);
  const bool shorter = options.lengths == Lengths::kSpacing;
  const double reach = 1 - static_cast<double>(kernels.thresholds[i]);
  if (reach <= constants::kSplitAbove && !shorter) return;
  const bool across = options.density.split_axis == SplitAxis::kShort;
  const double angle = static_cast<double>(kernels.angles[i]) + (across ? std::numbers::pi / 2 : 0);
  const double distance = reach * constants::kSplitDistance * static_cast<double>(kernels.lengths[i]);
  const Vec2 offset = distance * Vec2(std::cos(angle), std::sin(angle));
  const SurfacePoint from = kernels.positions[i];
  const auto place = [&](std::size_t k, const Vec2& by) {
    const WalkOutcome outcome = walker.walk(from, by);
    kernels.positions[k] = outcome.end;
    kernels.carryTangents(k, outcome.end_from_start);
    if (options.transport_angle) kernels.angles[k] = carriedAngle(kernels.angles[k], outcome.end_from_start);
    if (shorter) {
      kernels.lengths[k] = insideLength(kernels.lengths[k] / constants::kSplitLength);
    } else {
      kernels.thresholds[k] = insideThreshold(1 - reach / constants::kSplitShrink);
    }
    state.optimiser.forget(k);
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

/// What covers the probes, while kernels are taken away one by one.
class Cover {
 public:
  /// `enough` is the weight sum from which a probe is covered.
  Cover(const KernelSet& kernels, Probes probes, double enough)
      : kernels_(kernels), probes_(std::move(probes)), enough_(static_cast<float>(enough)) {
    for (const ChannelGroup& group : kernels.layout.groups()) {
      std::fill_n(groups_.begin() + static_cast<std::ptrdiff_t>(group.first), group.count, &group);
      if (group.isTangent()) tangents_.push_back(group.first);
    }
    uncovered_ = uncoveredProbes(probes_, kernels.layout, enough_);
    std::vector<std::uint32_t> covers(kernels.size(), 0);
    for (const Influence& influence : probes_.influences)
      covers[influence.kernel] += influence.weight >= enough_ ? 1 : 0;
    const auto wide = covers.begin() + static_cast<std::ptrdiff_t>(9 * covers.size() / 10);
    std::nth_element(covers.begin(), wide, covers.end());
    wide_ = static_cast<double>(std::max<std::uint32_t>(*wide, 1));
  }

  /// Finds where these kernels act: remove() may be asked about them until the next call. Few kernels are
  /// ever asked about; for all of them this would be the largest table of a fit.
  void consider(std::span<const std::uint32_t> kernels) {
    considered_.assign(kernels_.size(), kNone);
    for (std::uint32_t n = 0; n < kernels.size(); ++n)
      considered_[kernels[n]] = n;
    begin_.assign(kernels.size() + 1, 0);
    for (const Influence& influence : probes_.influences) {
      if (considered_[influence.kernel] != kNone) ++begin_[considered_[influence.kernel] + 1];
    }
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    places_.resize(begin_.back());
    std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
    for (std::size_t i = 0; i < probes_.size(); ++i) {
      for (std::uint32_t n = probes_.begin[i]; n < probes_.begin[i + 1]; ++n) {
        const Influence& influence = probes_.influences[n];
        if (considered_[influence.kernel] == kNone) continue;
        places_[next[considered_[influence.kernel]]++] = {static_cast<std::uint32_t>(i), n, influence.weight};
      }
    }
  }

  /// Takes a kernel away, unless a probe that is not uncovered would be without it.
  bool remove(std::uint32_t kernel) {
    const std::size_t channels = probes_.sums.channels;
    Values turned;
    const std::uint32_t at = considered_[kernel];
    const auto touched = std::span(places_).subspan(begin_[at], begin_[at + 1] - begin_[at]);
    for (const Place& place : touched) {
      const float weight = probes_.weights[place.probe] - place.weight;
      if (uncovered_[place.probe] != 0 || weight >= enough_) continue;
      const float* values = valuesAt(kernel, place, turned);
      Values errors{};
      for (std::size_t c = 0; c < channels; ++c) {
        const float sum = probes_.sums.row(place.probe)[c] - place.weight * values[c];
        const float without = kernels_.mean[static_cast<Eigen::Index>(c)] + sum / std::max(weight, 1.0f);
        errors[c] = (without - probes_.targets.row(place.probe)[c]) * seenOf(place.probe, c);
      }
      if (visiblyWrong(errors.data(), kernels_.layout)) return false;
    }
    for (const Place& place : touched) {
      const float* values = valuesAt(kernel, place, turned);
      probes_.weights[place.probe] -= place.weight;
      for (std::size_t c = 0; c < channels; ++c)
        probes_.sums.row(place.probe)[c] -= place.weight * values[c];
    }
    return true;
  }

  /// Neither covered nor right.
  bool uncovered(std::size_t probe) const { return uncovered_[probe] != 0; }
  std::span<std::uint8_t> allUncovered() { return uncovered_; }  // [probes]

  /// Weights and sums are without the kernels that were taken away.
  const Probes& probes() const { return probes_; }

  /// How many kernels as wide as the widest tenth would cover the uncovered probes.
  std::size_t placesNeeded(const Surface& surface, double probe_area) const {
    const auto count = static_cast<double>(std::count(uncovered_.begin(), uncovered_.end(), 1));
    double places = count / wide_;
    if (count <= kFewUncovered) {
      // Gaps here and there want one kernel each: a probe stands for its share of what is uncovered around
      // it.
      places = 0;
      for (std::size_t i = 0; i < uncovered_.size(); ++i) {
        if (uncovered_[i] != 0) places += 1 / around(i, surface, probe_area).count;
      }
    }
    return static_cast<std::size_t>(std::ceil(std::min(count, kOverlap * places)));
  }

  /// What is around a probe.
  struct Surroundings {
    double count = 0;                          ///< uncovered probes
    double uncovered = 0;                      ///< their share of the probes
    std::array<float, kMaxChannels> target{};  ///< mean over those, as far as they are seen; vectors in face
                                               ///< coordinates of the probe's face
  };

  /// Of an uncovered probe, as far as a wide kernel covers: `probe_area` is the area a probe stands for.
  Surroundings around(std::size_t probe, const Surface& surface, double probe_area) const {
    const double reach = std::sqrt(wide_ * probe_area / std::numbers::pi);
    const Vec3 here = surface.position(probes_.points[probe]);
    // Neighbours on the surface are near each other in the list; some lie beyond its next turn and are
    // missed.
    const auto ahead = static_cast<std::size_t>(4 * wide_);
    const std::size_t end = std::min(probes_.size(), probe + ahead + 1);
    // With few kernels a wide one covers thousands of probes: some hundreds of them tell as much.
    constexpr std::size_t kLooked = 256;
    const std::size_t stride = std::max<std::size_t>(1, ahead / kLooked);
    const std::size_t before = std::min(probe, ahead) / stride * stride;
    Surroundings result;
    double all = 0;
    std::array<double, kMaxChannels> sums{}, counted{};
    for (std::size_t i = probe - before; i < end; i += stride) {
      if ((surface.position(probes_.points[i]) - here).norm() > reach) continue;
      ++all;
      if (uncovered_[i] == 0) continue;
      ++result.count;
      const Values target = targetSeenFrom(probes_.points[probe].face, i, surface);
      for (std::size_t c = 0; c < probes_.targets.channels; ++c) {
        const double counts = static_cast<double>(seenOf(i, c));
        sums[c] += counts * static_cast<double>(target[c]);
        counted[c] += counts;
      }
    }
    for (std::size_t c = 0; c < probes_.targets.channels; ++c) {
      // What nobody sees may be anything.
      result.target[c] = counted[c] > 0 ? static_cast<float>(sums[c] / counted[c])
                                        : kernels_.mean[static_cast<Eigen::Index>(c)];
    }
    result.uncovered = result.count / all;
    result.count *= static_cast<double>(stride);
    return result;
  }

 private:
  using Values = std::array<float, kMaxChannels>;

  struct Place {
    std::uint32_t probe, influence;
    float weight;
  };

  /// The values of a kernel as a probe sees them; `memory` for them where they are turned.
  const float* valuesAt(std::uint32_t kernel, const Place& place, Values& memory) const {
    const float* values = kernels_.channels.row(kernel);
    if (tangents_.empty()) return values;
    std::copy_n(values, probes_.sums.channels, memory.begin());
    for (const std::size_t c : tangents_) {
      const Vec2f turned = probes_.turns[place.influence](values[c], values[c + 1]);
      memory[c] = turned.x();
      memory[c + 1] = turned.y();
    }
    return memory.data();
  }

  /// The target of a probe; vectors in coordinates of a face nearby, projected into its plane through space.
  Values targetSeenFrom(std::uint32_t face, std::size_t probe, const Surface& surface) const {
    Values values{};
    std::copy_n(probes_.targets.row(probe), probes_.sums.channels, values.begin());
    const std::uint32_t own = probes_.points[probe].face;
    for (const std::size_t c : tangents_) {
      if (own == face) break;
      const Vec2 v(values[c] - kTangentZero, values[c + 1] - kTangentZero);
      const Vec2 there = surface.frames()[face].directionToFace(surface.frames()[own].directionFromFace(v));
      values[c] = kTangentZero + static_cast<float>(there.x());
      values[c + 1] = kTangentZero + static_cast<float>(there.y());
    }
    return values;
  }

  /// How much a channel of a probe matters.
  float seenOf(std::size_t probe, std::size_t channel) const {
    return probes_.countOf(probe, channel, *groups_[channel]);
  }

  const KernelSet& kernels_;
  Probes probes_;
  float enough_;
  double wide_ = 1;
  std::array<const ChannelGroup*, kMaxChannels> groups_{};  // [C] of each channel
  std::vector<std::size_t> tangents_;                       // first channels of tangent groups
  std::vector<std::uint8_t> uncovered_;                     // [probes]
  std::vector<std::uint32_t> considered_;                   // [kernels] number among those, or kNone
  std::vector<std::uint32_t> begin_;                        // [considered + 1] of each one's places
  std::vector<Place> places_;
};

/// Of the widest tenth of the kernels: -log(eps) h^2, to which the area that a kernel covers is proportional.
double wideArea(const KernelSet& kernels) {
  std::vector<double> areas(kernels.size());
  for (std::size_t i = 0; i < areas.size(); ++i) {
    const double length = kernels.lengths[i];
    areas[i] = -std::log(static_cast<double>(kernels.thresholds[i])) * length * length;
  }
  const auto wide = areas.begin() + static_cast<std::ptrdiff_t>(areas.size() - 1 - areas.size() / 10);
  std::nth_element(areas.begin(), wide, areas.end());
  return *wide;
}

std::size_t roomFor(const DensityOptions& options, std::size_t present) {
  return options.max_kernels - std::min(options.max_kernels, present);
}

/// The kernels that stay, by number: what would be missed least goes, unless it would be missed by coverage.
/// `places` is how many kernels covering needs.
std::vector<std::uint32_t> keptByCost(const TrainerState& state, const DensityOptions& options,
                                      std::size_t places, Rebalance what, Cover& cover) {
  const std::vector<double>& costs = state.statistics.costs;
  const std::size_t before = costs.size();
  const auto share = [&](double of) { return static_cast<std::size_t>(of * static_cast<double>(before)); };
  std::vector<double> sorted = costs;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(before / 2), sorted.end());
  const double limit = options.relocate_below * std::max(0.0, sorted[before / 2]);
  const std::vector<std::uint32_t> by_cost = orderedByFalling(costs);
  const std::size_t least = std::min(options.min_kernels, before);
  const std::size_t idle = what == Rebalance::kAll ? share(options.relocate_share) : 0;
  // Most of them turn out to be dispensable: an eighth of the kernels is enough, as a rule.
  const std::size_t at_once = std::max<std::size_t>(256, before / 8);
  std::vector<std::uint8_t> gone(before, 0);
  std::size_t removed = 0;
  for (std::size_t n = before; n > 0 && before - removed > least; --n) {
    const std::uint32_t k = by_cost[n - 1];
    const bool of_no_use = removed < idle && costs[k] <= limit;
    const bool in_the_way =
        roomFor(options, before - removed) < places && removed < idle + share(options.cover_share);
    if (!of_no_use && !in_the_way) break;
    if ((before - n) % at_once == 0) {
      const std::size_t now = std::min(at_once, n);
      cover.consider(std::span(by_cost).subspan(n - now, now));
    }
    if (!cover.remove(k)) continue;
    gone[k] = 1;
    ++removed;
  }
  std::vector<std::uint32_t> kept;
  for (std::uint32_t k = 0; k < before; ++k) {
    if (gone[k] == 0) kept.push_back(k);
  }
  return kept;
}

/// Up to `count` uncovered probes, by systematic draws: probes in the order of the surface, equal steps in
/// accumulated squared error, the first at `offset` (in [0, 1)) of a step. None twice, however large its
/// error.
std::vector<std::uint32_t> drawUncovered(const Cover& cover, const ChannelLayout& layout, std::size_t count,
                                         double offset) {
  const Probes& probes = cover.probes();
  std::array<float, kMaxChannels> weights{};
  for (std::size_t c = 0; c < layout.size(); ++c)
    weights[c] = static_cast<float>(layout.groupOf(c).weight);
  const auto need = [&](std::size_t i) {
    if (!cover.uncovered(i)) return 0.0;
    const float* errors = probes.errors.row(i);
    float sum = 0;
    for (std::size_t c = probes.errors.channels; c-- > 0;)
      sum = weights[c] * (errors[c] * errors[c]) + sum;
    return static_cast<double>(sum);
  };
  std::vector<std::uint32_t> drawn;
  if (count == 0) return drawn;
  double total = 0;
  for (std::size_t i = 0; i < probes.size(); ++i)
    total += need(i);
  const double stride = total / static_cast<double>(count);
  double target = stride * offset, sum = 0;
  for (std::size_t i = 0; i < probes.size() && drawn.size() < count; ++i) {
    sum += need(i);
    if (sum <= target) continue;
    while (target < sum)
      target += stride;
    drawn.push_back(static_cast<std::uint32_t>(i));
  }
  return drawn;
}

/// What inserted kernels take from those that are there.
struct NewKernelShape {
  explicit NewKernelShape(const KernelSet& kernels)
      : sharpness(
            static_cast<float>(std::accumulate(kernels.sharpnesses.begin(), kernels.sharpnesses.end(), 0.0) /
                               static_cast<double>(kernels.size()))),
        wide_area(wideArea(kernels)) {}

  float sharpness;   ///< the mean
  double wide_area;  ///< of the widest tenth
};

/// Adds a round kernel at a probe, coloured to mend the error around it.
void insertAt(TrainerState& state, std::size_t probe, const Probes& probes, const Cover::Surroundings& around,
              const NewKernelShape& shape, Lengths lengths, Rebalance what) {
  KernelSet& kernels = state.kernels;
  const std::size_t k = append(state, 0);
  kernels.positions[k] = probes.points[probe];
  // With f = 1 at its centre the sum there becomes sum + c, the weight + 1.
  const float weight = std::max(probes.weights[probe] + 1, 1.0f);
  for (std::size_t c = 0; c < kernels.layout.size(); ++c) {
    const float mean = kernels.mean[static_cast<Eigen::Index>(c)];
    kernels.channels.row(k)[c] = (around.target[c] - mean) * weight - probes.sums.row(probe)[c];
  }
  kernels.clampChannels(k);
  kernels.anisotropies[k] = KernelRanges::kMinAnisotropy;
  kernels.sharpnesses[k] = shape.sharpness;
  const double uncovered =
      what == Rebalance::kLast ? std::min(1.0, kOffCenter * around.uncovered) : around.uncovered;
  const double area = shape.wide_area * uncovered;
  if (lengths == Lengths::kSpacing) {
    kernels.thresholds[k] = kInsertedThreshold;
    kernels.lengths[k] = insideLength(std::sqrt(area / -std::log(static_cast<double>(kInsertedThreshold))));
  } else {
    kernels.thresholds[k] = insideThreshold(std::exp(-area));
    kernels.lengths[k] = 1;
  }
  state.statistics.hits[k] = state.statistics.contributions[k] = 0;
  if (what == Rebalance::kLast) state.statistics.costs[k] = std::numeric_limits<double>::max();
}

}  // namespace

void prune(TrainerState& state, const DensityOptions& options, double scale) {
  const double most = *std::max_element(state.statistics.hits.begin(), state.statistics.hits.end());
  std::vector<std::uint32_t> kept, weak;
  for (std::uint32_t i = 0; i < state.kernels.size(); ++i) {
    const bool drop = state.statistics.hits[i] < constants::kPruneHits * most ||
                      state.statistics.contributions[i] / scale < constants::kPruneContribution;
    (drop ? weak : kept).push_back(i);
  }
  // Never below the minimum: the strongest of the weak come back.
  std::stable_sort(weak.begin(), weak.end(), [&](std::uint32_t a, std::uint32_t b) {
    return state.statistics.contributions[a] > state.statistics.contributions[b];
  });
  for (std::size_t i = 0; i < weak.size() && kept.size() < options.min_kernels; ++i)
    kept.push_back(weak[i]);
  std::sort(kept.begin(), kept.end());
  if (kept.size() < state.kernels.size()) keep(state, kept);
  std::fill(state.statistics.hits.begin(), state.statistics.hits.end(), 0.0);
  std::fill(state.statistics.contributions.begin(), state.statistics.contributions.end(), 0.0);
}

void densify(TrainerState& state, const TrainOptions& options, const Walker& walker, double scale) {
  const DensityOptions& d = options.density;
  const std::size_t present = state.kernels.size();
  std::vector<std::uint32_t> candidates = orderedByFalling(state.statistics.errors);
  while (!candidates.empty() &&
         !(state.statistics.errors[candidates.back()] / scale > constants::kErrorThreshold))
    candidates.pop_back();
  const std::size_t grown = static_cast<std::size_t>(d.growth * static_cast<double>(present));
  const std::size_t count = std::min({candidates.size(), grown, roomFor(d, present)});
  for (std::size_t n = 0; n < count; ++n)
    multiply(state, candidates[n], options, walker);
  std::fill(state.statistics.errors.begin(), state.statistics.errors.end(), 0.0);
}

std::size_t rebalance(TrainerState& state, const TrainOptions& options, const Walker& walker, Probes probes,
                      Rebalance what) {
  const DensityOptions& d = options.density;
  const double probe_area =
      walker.surface().totalArea() / static_cast<double>(std::max<std::size_t>(probes.size(), 1));
  Cover cover(state.kernels, std::move(probes), constants::kCovered);
  const std::size_t before = state.kernels.size();
  std::size_t stretched = 0;
  if (what == Rebalance::kLast && options.lengths == Lengths::kSpacing)
    stretched = stretchOver(state.kernels, cover.probes(), cover.allUncovered());
  const std::size_t places = cover.placesNeeded(walker.surface(), probe_area);

  const std::vector<std::uint32_t> kept = keptByCost(state, d, places, what, cover);
  if (kept.size() < before) keep(state, kept);
  const std::size_t present = kept.size();

  const std::size_t grown = static_cast<std::size_t>(d.growth * static_cast<double>(present));
  const std::size_t adding = std::min(roomFor(d, present), std::max<std::size_t>(1, grown));
  const double inserted_share = what == Rebalance::kAll ? d.insert_share : 1;
  const std::size_t inserting =
      std::min(places, static_cast<std::size_t>(std::ceil(inserted_share * static_cast<double>(adding))));
  const RandomStream random(options.seed, streams::kSeeding + (static_cast<std::uint64_t>(state.step) << 8));
  const std::vector<std::uint32_t> drawn =
      drawUncovered(cover, state.kernels.layout, inserting, random.uniform(0));
  // Splitting is for the kernels that are there now: what is inserted knows no error yet.
  const std::vector<std::uint32_t> by_error = orderedByFalling(state.statistics.errors);
  const NewKernelShape shape(state.kernels);
  for (const std::uint32_t probe : drawn)
    insertAt(state, probe, cover.probes(), cover.around(probe, walker.surface(), probe_area), shape,
             options.lengths, what);
  if (what == Rebalance::kLast) return stretched + drawn.size();

  // What could not be inserted is made up for by splitting; a pass for coverage only gives back what it took.
  const std::size_t wanted = what == Rebalance::kAll ? adding : std::min(adding, before - present);
  const std::size_t splitting = std::min(wanted - std::min(wanted, drawn.size()), present);
  for (std::size_t n = 0; n < splitting; ++n)
    multiply(state, by_error[n], options, walker);
  std::fill(state.statistics.errors.begin(), state.statistics.errors.end(), 0.0);
  std::fill(state.statistics.costs.begin(), state.statistics.costs.end(), 0.0);
  return drawn.size();
}

}  // namespace heatskin
