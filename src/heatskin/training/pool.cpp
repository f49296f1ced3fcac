#include "heatskin/training/pool.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/training/streams.h"

namespace heatskin {
namespace {

/// Small blocks: a draw adds up half a block on average, and the list of blocks is walked once per batch.
constexpr std::size_t kSumBlock = 32;

/// Interleaves the low 10 bits of three coordinates (Morton order).
std::uint32_t morton(const Vec3& x) {
  std::uint32_t code = 0;
  for (int axis = 0; axis < 3; ++axis) {
    // Surface coordinates lie within [-2, 2].
    const double scaled = std::clamp((x[axis] + 2) / 4 * 1024, 0.0, 1023.0);
    const auto cell = static_cast<std::uint32_t>(scaled);
    for (std::uint32_t bit = 0; bit < 10; ++bit) {
      code |= ((cell >> bit) & 1u) << (3 * bit + static_cast<std::uint32_t>(axis));
    }
  }
  return code;
}

}  // namespace

SamplePool::SamplePool(const Surface& surface, const Appearance& appearance, const SamplingOptions& options,
                       std::uint64_t seed)
    : options_(options), seed_(seed) {
  const std::vector<SurfacePoint> drawn = sampleSurface(surface, options.pool, seed, streams::kPool);
  std::vector<std::uint32_t> codes(surface.faceCount()), faces(surface.faceCount());
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    codes[f] = morton(surface.frames()[f].origin);
    faces[f] = f;
  }
  std::sort(faces.begin(), faces.end(), [&](std::uint32_t a, std::uint32_t b) {
    return codes[a] != codes[b] ? codes[a] < codes[b] : a < b;
  });
  // Counting sort by the rank of the face.
  std::vector<std::uint32_t> start(surface.faceCount() + 1, 0), rank(surface.faceCount());
  for (std::uint32_t r = 0; r < faces.size(); ++r)
    rank[faces[r]] = r;
  for (const SurfacePoint& p : drawn)
    ++start[rank[p.face] + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  points_.resize(drawn.size());
  for (const SurfacePoint& p : drawn)
    points_[start[rank[p.face]]++] = p;

  colors_.resize(points_.size());
  appearance.colors(points_, colors_);
  errors_.assign(points_.size(),
                 static_cast<float>(options.rule == Sampling::kPaper ? options.initial_error : 1.0));
  sums_.resize(blockCount(points_.size(), kSumBlock));
  for (std::size_t b = 0; b < sums_.size(); ++b)
    renewSum(b);
}

void SamplePool::renewSum(std::size_t block) {
  const std::size_t begin = block * kSumBlock, end = std::min(begin + kSumBlock, errors_.size());
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i)
    sum += errors_[i];
  sums_[block] = sum;
}

void SamplePool::draw(int step, bool uniform, std::span<std::uint32_t> indices) {
  const RandomStream random(seed_, streams::kBatch + (static_cast<std::uint64_t>(step) << 8));
  const std::size_t count = indices.size();
  const bool stratified = options_.rule == Sampling::kStratified;
  std::vector<double> targets(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double u = random.uniform(i);
    targets[i] = stratified ? (static_cast<double>(i) + u) / static_cast<double>(count) : u;
  }
  if (!stratified) std::sort(targets.begin(), targets.end());
  if (uniform) {
    const auto size = static_cast<double>(points_.size());
    for (std::size_t i = 0; i < count; ++i) {
      indices[i] = static_cast<std::uint32_t>(std::min(targets[i] * size, size - 1));
    }
    return;
  }
  // Walk over the block sums and, within a block, over the weights: targets are increasing.
  const double total = std::accumulate(sums_.begin(), sums_.end(), 0.0);
  std::size_t block = 0, at = 0;
  double before_block = 0, before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double target = targets[i] * total;
    while (block + 1 < sums_.size() && before_block + sums_[block] <= target) {
      before_block += sums_[block++];
      at = block * kSumBlock;
      before = before_block;
    }
    const std::size_t end = std::min((block + 1) * kSumBlock, errors_.size()) - 1;
    while (at < end && before + errors_[at] <= target)
      before += errors_[at++];
    indices[i] = static_cast<std::uint32_t>(at);
  }
}

void SamplePool::visit(std::span<const std::uint32_t> indices, std::span<const float> losses) {
  std::size_t dirty = sums_.size();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    float& error = errors_[indices[i]];
    if (options_.rule == Sampling::kPaper) {
      constexpr double kFloor = 1e-6;
      error =
          static_cast<float>(options_.error_keep * error + (1 - options_.error_keep) * losses[i] + kFloor);
    } else {
      error = static_cast<float>(std::pow(losses[i] + options_.error_floor, options_.error_power));
    }
    const std::size_t block = indices[i] / kSumBlock;
    if (dirty != block && dirty != sums_.size()) renewSum(dirty);
    dirty = block;
  }
  if (dirty != sums_.size()) renewSum(dirty);
}

void SamplePool::restoreErrors(std::span<const float> errors) {
  std::copy(errors.begin(), errors.end(), errors_.begin());
  for (std::size_t b = 0; b < sums_.size(); ++b)
    renewSum(b);
}

}  // namespace heatskin
