#include "heatskin/training/pool.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/training/constants.h"
#include "heatskin/training/streams.h"

namespace heatskin {
namespace {

/// Weights are summed in blocks, blocks in groups: a draw finds its group by bisection and adds up half a
/// group and half a block on average.
constexpr std::size_t kSumBlock = 16, kGroup = 16;

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
}

void SamplePool::draw(std::size_t first, std::span<std::uint32_t> indices) const {
  if (uniform_) {
    const auto count = static_cast<double>(size());
    for (std::size_t i = 0; i < indices.size(); ++i) {
      indices[i] = static_cast<std::uint32_t>(std::min(draws_[first + i] * count, count - 1));
    }
    return;
  }
  const double total = before_.back();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const double target = draws_[first + i] * total;
    const std::size_t group = std::min<std::size_t>(
        static_cast<std::size_t>(std::upper_bound(before_.begin(), before_.end(), target) - before_.begin()) -
            1,
        before_.size() - 2);
    double before = before_[group];
    std::size_t block = group * kGroup;
    const std::size_t last_block = std::min(block + kGroup, sums_.size()) - 1;
    while (block < last_block && before + sums_[block] <= target)
      before += sums_[block++];
    std::size_t at = block * kSumBlock;
    const std::size_t last = std::min(at + kSumBlock, errors_.size()) - 1;
    while (at < last && before + errors_[at] <= target)
      before += errors_[at++];
    indices[i] = static_cast<std::uint32_t>(at);
  }
}

double SamplePool::inverseProbabilityWeight(std::uint32_t index) const {
  if (uniform_) return 1;
  return before_.back() / static_cast<double>(size()) / errors_[index];
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
