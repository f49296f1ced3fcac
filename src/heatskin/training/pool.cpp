#include "heatskin/training/pool.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/training/constants.h"
#include "heatskin/training/streams.h"

namespace heatskin {
namespace {

/// Weights are summed in blocks, blocks in groups: draws in increasing order go from group to group, and find
/// their block and their sample as one of sixteen.
constexpr std::size_t kSumBlock = 16, kGroup = 16;

/// Draws whose weights are on their way from memory at the same time.
constexpr std::size_t kDrawsAtOnce = 256;

/// Samples for the mean: its error is a thousandth of the spread.
constexpr std::size_t kMeanSamples = std::size_t{1} << 20;

/// In place of the weight of a sample that no batch has had yet.
constexpr float kUnvisited = -1;

/// Sorts numbers that are spread evenly over [0, 1): one bucket per number, then almost nothing is left to
/// do.
void sortUniform(std::vector<double>& values) {
  const std::size_t count = values.size();
  std::vector<std::uint32_t> starts(count + 1, 0);
  const auto bucket = [&](double x) {
    // The product may round up to the count itself.
    return std::min(static_cast<std::size_t>(x * static_cast<double>(count)), count - 1);
  };
  for (const double x : values)
    ++starts[bucket(x) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<double> sorted(count);
  for (const double x : values)
    sorted[starts[bucket(x)]++] = x;
  for (std::size_t i = 1; i < count; ++i) {
    const double x = sorted[i];
    std::size_t at = i;
    for (; at > 0 && sorted[at - 1] > x; --at)
      sorted[at] = sorted[at - 1];
    sorted[at] = x;
  }
  values.swap(sorted);
}

/// The first of some weights at which their running sum exceeds `rest`, or the last one; `rest` loses the
/// weights before it. Sixteen are found without branches and with short chains of sums: as fours, and then as
/// one of four.
template <class Weight>
std::size_t passed(const Weight* weights, std::size_t count, double& rest) {
  static_assert(kSumBlock == 16 && kGroup == 16);
  const auto one = [&](std::size_t i) { return static_cast<double>(weights[i]); };
  if (count < 16) {
    std::size_t at = 0;
    for (; at + 1 < count && one(at) <= rest; ++at)
      rest -= one(at);
    return at;
  }
  const auto oneOfFour = [&](double first, double second, double third) {
    const double sums[4] = {0, first, first + second, first + second + third};
    const std::size_t at = static_cast<std::size_t>(sums[1] <= rest) +
                           static_cast<std::size_t>(sums[2] <= rest) +
                           static_cast<std::size_t>(sums[3] <= rest);
    rest -= sums[at];
    return at;
  };
  const auto four = [&](std::size_t i) { return (one(i) + one(i + 1)) + (one(i + 2) + one(i + 3)); };
  const std::size_t begin = 4 * oneOfFour(four(0), four(4), four(8));
  return begin + oneOfFour(one(begin), one(begin + 1), one(begin + 2));
}

/// The mean of the weights that are known.
std::optional<float> knownMean(std::span<const float> weights) {
  double sum = 0;
  std::size_t known = 0;
  for (const float weight : weights) {
    if (weight == kUnvisited) continue;
    sum += weight;
    ++known;
  }
  if (known == 0) return std::nullopt;
  return static_cast<float>(sum / static_cast<double>(known));
}

/// Gives samples that no batch has had the mean weight of those near them. With a large weight instead, draws
/// would first go through the whole pool once, wherever the error is: most of a short run.
void guessUnvisited(std::span<float> weights) {
  const float anywhere = knownMean(weights).value_or(1.0f);
  for (std::size_t begin = 0; begin < weights.size(); begin += kSumBlock) {
    const auto block = weights.subspan(begin, std::min(kSumBlock, weights.size() - begin));
    const float near = knownMean(block).value_or(anywhere);
    std::replace(block.begin(), block.end(), kUnvisited, near);
  }
}

}  // namespace

SamplePool::SamplePool(const Surface& surface, const FitTarget& target, const SamplingOptions& options,
                       std::uint64_t seed)
    : options_(options),
      seed_(seed),
      samples_(makeSamples(surface, target, options, seed)),
      layout_(target.layout()),
      errors_(samples_->size(),
              static_cast<float>(options.rule == Sampling::kPaper ? constants::kUnseenError : kUnvisited)) {
  if (!target.partlyConstant()) return;
  left_out_.resize(surface.faceCount());
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f)
    left_out_[f] = constantChannels(target, f);
}

void SamplePool::beginFollowing() {
  if (options_.rule == Sampling::kStratified) guessUnvisited(errors_);
  sums_.resize(blockCount(size(), kSumBlock));
  for (std::size_t b = 0; b < sums_.size(); ++b)
    renewSum(b);
}

void SamplePool::renewSum(std::size_t block) {
  const std::size_t begin = block * kSumBlock, end = std::min(begin + kSumBlock, errors_.size());
  // In float: blocks are small and weights positive, so the sum is good to a few roundings.
  sums_[block] =
      Eigen::Map<const Eigen::ArrayXf>(errors_.data() + begin, static_cast<Eigen::Index>(end - begin)).sum();
}

ChannelValues SamplePool::mean() const {
  const std::size_t channels = layout_.size(), count = std::min(size(), kMeanSamples);
  std::vector<std::uint32_t> indices(count);
  for (std::size_t i = 0; i < count; ++i)
    indices[i] = static_cast<std::uint32_t>(i * size() / count);
  std::vector<SurfacePoint> points(count);
  samples_->points(streams::kMeanDraw, 0, indices, points);
  std::vector<float> values(count * channels), seen(samples_->masked() ? count : 0);
  samples_->values(indices, points, values, seen);
  ChannelValues mean(static_cast<Eigen::Index>(channels));
  for (const ChannelGroup& group : layout_.groups()) {
    const bool seen_only = !seen.empty() && !group.everywhere;
    for (std::size_t c = group.first; c < group.first + group.count; ++c) {
      double sum = 0, weight = 0;
      for (std::size_t i = 0; i < count; ++i) {
        if (partial() && (leftOut(points[i].face) >> c & 1) != 0) continue;
        const double counts = seen_only ? static_cast<double>(seen[i]) : 1.0;
        sum += counts * static_cast<double>(values[i * channels + c]);
        weight += counts;
      }
      mean[static_cast<Eigen::Index>(c)] = static_cast<float>(weight > 0 ? sum / weight : 0.0);
    }
  }
  return mean;
}

void SamplePool::prepareDraw(int step, bool uniform, std::size_t count) {
  const RandomStream random(seed_, streams::kBatch + (static_cast<std::uint64_t>(step) << 8));
  const bool stratified = options_.rule == Sampling::kStratified;
  uniform_ = uniform;
  draws_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double u = random.uniform(i);
    draws_[i] = stratified ? (static_cast<double>(i) + u) / static_cast<double>(count) : u;
  }
  if (!stratified) sortUniform(draws_);
  if (uniform) return;
  if (sums_.empty()) beginFollowing();
  const std::size_t groups = blockCount(sums_.size(), kGroup);
  before_.resize(groups + 1);
  before_[0] = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t begin = g * kGroup, size = std::min(kGroup, sums_.size() - begin);
    before_[g + 1] =
        before_[g] +
        Eigen::Map<const Eigen::ArrayXd>(sums_.data() + begin, static_cast<Eigen::Index>(size)).sum();
  }
  if (!(before_.back() > 0)) uniform_ = true;  // no error left to follow
  mean_weight_ = before_.back() / static_cast<double>(size());
}

void SamplePool::draw(std::size_t first, std::span<std::uint32_t> indices) const {
  if (uniform_) {
    const auto count = static_cast<double>(size());
    for (std::size_t i = 0; i < indices.size(); ++i) {
      indices[i] = static_cast<std::uint32_t>(std::min(draws_[first + i] * count, count - 1));
    }
    return;
  }
  for (std::size_t begin = 0; begin < indices.size(); begin += kDrawsAtOnce)
    drawFollowing(first + begin, indices.subspan(begin, std::min(kDrawsAtOnce, indices.size() - begin)));
}

/// Blocks first, then samples: the pool's weights are far away and come while other blocks are searched for.
void SamplePool::drawFollowing(std::size_t first, std::span<std::uint32_t> indices) const {
  const double total = before_.back();
  const auto last_group = before_.end() - 2;
  auto group = std::upper_bound(before_.begin(), last_group, draws_[first] * total);
  if (group != before_.begin()) --group;
  std::array<double, kDrawsAtOnce> rests;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const double target = draws_[first + i] * total;
    while (group != last_group && *(group + 1) <= target)
      ++group;
    rests[i] = target - *group;
    const std::size_t begin = static_cast<std::size_t>(group - before_.begin()) * kGroup;
    const std::size_t block =
        begin + passed(sums_.data() + begin, std::min(kGroup, sums_.size() - begin), rests[i]);
    indices[i] = static_cast<std::uint32_t>(block * kSumBlock);
    __builtin_prefetch(errors_.data() + indices[i]);
  }
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::size_t begin = indices[i];
    indices[i] += static_cast<std::uint32_t>(
        passed(errors_.data() + begin, std::min(kSumBlock, errors_.size() - begin), rests[i]));
  }
}

double SamplePool::inverseProbabilityWeight(std::uint32_t index) const {
  return uniform_ ? 1 : mean_weight_ / errors_[index];
}

float SamplePool::lossWeight(std::uint32_t index) const {
  // A sample that was almost never drawn would throw its kernels about.
  constexpr double kMost = 8;
  const double weight = inverseProbabilityWeight(index);
  return static_cast<float>(
      std::min(kMost, options_.correction == 1 ? weight : std::pow(weight, options_.correction)));
}

void SamplePool::visit(std::span<const std::uint32_t> indices, std::span<const float> losses) {
  std::size_t dirty = sums_.size();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    float& error = errors_[indices[i]];
    if (options_.rule == Sampling::kPaper) {
      constexpr double kFloor = 1e-6;
      error = static_cast<float>(constants::kErrorKept * error + (1 - constants::kErrorKept) * losses[i] +
                                 kFloor);
    } else {
      const double squared = losses[i] + options_.error_floor;
      error = static_cast<float>(options_.error_power == 0.5 ? std::sqrt(squared)
                                                             : std::pow(squared, options_.error_power));
    }
    if (sums_.empty()) continue;
    const std::size_t block = indices[i] / kSumBlock;
    if (dirty != block && dirty != sums_.size()) renewSum(dirty);
    dirty = block;
  }
  if (dirty != sums_.size()) renewSum(dirty);
}

void SamplePool::restoreErrors(std::span<const float> errors) {
  std::copy(errors.begin(), errors.end(), errors_.begin());
  sums_.clear();  // the next draw that follows errors makes them
}

}  // namespace heatskin
