#include "heatskin/training/start.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>
#include <utility>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/geodesic/walk.h"
#include "heatskin/surface/farthest_points.h"
#include "heatskin/surface/point_spacing.h"
#include "heatskin/training/constants.h"
#include "heatskin/training/streams.h"
#include "heatskin/training/visible_samples.h"

namespace heatskin {
namespace {

std::vector<SurfacePoint> spreadPoints(const Surface& surface, const FitTarget& target, std::size_t count,
                                       std::uint64_t seed) {
  const std::size_t candidates = std::max<std::size_t>(3 * count, 10'000);
  const std::vector<SurfacePoint> points =
      sampleVisible(surface, target, candidates, seed, streams::kStartPositions);
  count = std::min(count, points.size());
  std::vector<Vec3> places;
  places.reserve(points.size());
  for (const SurfacePoint& p : points)
    places.push_back(surface.position(p));
  std::vector<SurfacePoint> chosen;
  for (const std::uint32_t i : farthestPoints(places, count, closestToOrigin(places)))
    chosen.push_back(points[i]);
  return chosen;
}

/// The squared difference of two rows of values that are seen by `seen`, as the loss weights it.
/// `left_out` are bits of channels that do not count.
float difference(const ChannelLayout& layout, const float* a, const float* b, float seen,
                 std::uint32_t left_out) {
  std::array<float, kMaxChannels> visible{}, anywhere{};
  for (const ChannelGroup& group : layout.groups()) {
    const auto root = static_cast<float>(std::sqrt(group.weight));
    for (std::size_t c = group.first; c < group.first + group.count; ++c)
      (group.everywhere ? anywhere : visible)[c] = (left_out >> c & 1) != 0 ? 0.0f : root * (b[c] - a[c]);
  }
  return seen * sumOfSquares(visible.data(), layout.size()) + sumOfSquares(anywhere.data(), layout.size());
}

/// Carries the vectors of a row of values (parts of ranges) along a walk.
void carryUnitTangents(const ChannelLayout& layout, float* values, const Rigid2& motion) {
  for (const ChannelGroup& group : layout.groups()) {
    if (!group.isTangent()) continue;
    const auto zero = static_cast<double>(kTangentZero);
    const Vec2 turned = motion.rotate({values[group.first] - zero, values[group.first + 1] - zero});
    values[group.first] = static_cast<float>(zero + turned.x());
    values[group.first + 1] = static_cast<float>(zero + turned.y());
  }
}

/// Points where values change: drawn from `candidates` by the squared difference to the values a short walk
/// away. Works for whatever gives the target its values, with or without UVs, and across UV seams.
std::vector<SurfacePoint> detailPoints(const Surface& surface, const FitTarget& target, std::size_t count,
                                       std::uint64_t seed) {
  constexpr double kReach = 0.01;  // of a surface of size 2: a few texels of a usual texture
  constexpr std::size_t kDirections = 4;
  constexpr std::size_t kPointsAtOnce = 1 << 14;  // values are asked for in batches of moderate size
  const std::vector<SurfacePoint> points =
      sampleVisible(surface, target, std::max<std::size_t>(20 * count, 20'000), seed, streams::kDetail);
  count = std::min(count, points.size());
  if (count == 0) return {};
  const Walker walker(surface);
  const RandomStream random(seed, streams::kDetail + 256);
  std::vector<double> sums(points.size());
  const ChannelLayout& layout = target.layout();
  const std::size_t channels = layout.size();
  const bool tangents = layout.hasTangents();
  std::vector<SurfacePoint> ends;  // [points at once, directions]
  std::vector<Rigid2> walked;      // [points at once, directions] with tangent groups: starts from ends
  std::vector<float> here, there;  // [points at once, C], [points at once, directions, C]
  std::vector<float> from, seen;   // visibilities: [points at once], [points at once, directions]
  for (std::size_t first = 0; first < points.size(); first += kPointsAtOnce) {
    const std::size_t batch = std::min(kPointsAtOnce, points.size() - first);
    ends.resize(kDirections * batch);
    walked.resize(tangents ? ends.size() : 0);
    parallelFor(batch, 1024, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const double turn = random.uniform(first + i);
        for (std::size_t n = 0; n < kDirections; ++n) {
          const double angle = 2 * std::numbers::pi * (turn + static_cast<double>(n)) / kDirections;
          const WalkOutcome outcome =
              walker.walk(points[first + i], kReach * Vec2(std::cos(angle), std::sin(angle)));
          ends[kDirections * i + n] = outcome.end;
          if (tangents) walked[kDirections * i + n] = outcome.end_from_start.inverse();
        }
      }
    });
    here.resize(batch * channels);
    there.resize(ends.size() * channels);
    from.assign(batch, 1.0f);
    seen.resize(ends.size());
    const auto starts = std::span(points).subspan(first, batch);
    unitValues(target, starts, here);
    unitValues(target, ends, there);
    for (std::size_t e = 0; e < walked.size(); ++e)
      carryUnitTangents(layout, there.data() + e * channels, walked[e]);
    target.visibilities(ends, seen);
    if (layout.everywhere()) target.visibilities(starts, from);  // otherwise they were drawn by it
    const bool partial = target.partlyConstant();
    for (std::size_t i = 0; i < batch; ++i) {
      const std::uint32_t left_out = partial ? constantChannels(target, starts[i].face) : 0;
      for (std::size_t e = kDirections * i; e < kDirections * (i + 1); ++e) {
        // The rim of a cut-out and the border to another material's one colour are no detail to resolve.
        if (target.faceConstant(ends[e].face)) continue;
        const std::uint32_t there_left_out = partial ? constantChannels(target, ends[e].face) : 0;
        sums[first + i] +=
            static_cast<double>(difference(layout, here.data() + i * channels, there.data() + e * channels,
                                           from[i] * seen[e], left_out | there_left_out));
      }
    }
  }
  std::partial_sum(sums.begin(), sums.end(), sums.begin());
  std::vector<SurfacePoint> chosen;
  // A surface of one colour has no detail: spread what was asked for.
  if (!(sums.back() > 0)) return {points.begin(), points.begin() + static_cast<std::ptrdiff_t>(count)};
  for (std::size_t n = 0; n < count; ++n) {
    const double drawn = sums.back() * (static_cast<double>(n) + random.uniform(points.size() + n)) /
                         static_cast<double>(count);
    const auto found = std::upper_bound(sums.begin(), sums.end() - 1, drawn);
    chosen.push_back(points[static_cast<std::size_t>(found - sums.begin())]);
  }
  return chosen;
}

/// From the distances between kernels. The first `spread` of them cover: those at details are not among their
/// neighbours.
std::vector<float> startLengths(const Surface& surface, std::span<const SurfacePoint> positions,
                                std::size_t spread, double scale) {
  std::vector<Vec3> places(positions.size());
  std::transform(positions.begin(), positions.end(), places.begin(),
                 [&](const SurfacePoint& p) { return surface.position(p); });
  std::vector<double> spacing = pointSpacing(places, constants::kSpacingNeighbours);
  const std::vector<double> wide =
      pointSpacing(std::span(places).first(spread), constants::kSpacingNeighbours);
  std::copy(wide.begin(), wide.end(), spacing.begin());
  std::vector<float> lengths(positions.size());
  std::transform(spacing.begin(), spacing.end(), lengths.begin(), [&](double s) {
    return std::clamp(static_cast<float>(scale * s / constants::kReferenceSpacing), KernelRanges::kMinLength,
                      KernelRanges::kMaxLength);
  });
  return lengths;
}

}  // namespace

KernelSet startKernels(const Surface& surface, const FitTarget& target, const TrainOptions& train,
                       const ChannelValues& surface_mean) {
  const StartOptions& options = train.start;
  const std::uint64_t seed = train.seed;
  KernelSet kernels(target.layout());
  const auto detailed = static_cast<std::size_t>(options.detail_share * static_cast<double>(options.kernels));
  std::vector<SurfacePoint> positions = spreadPoints(surface, target, options.kernels - detailed, seed);
  if (detailed > 0) {
    const auto details = detailPoints(surface, target, detailed, seed);
    positions.insert(positions.end(), details.begin(), details.end());
  }
  kernels.resize(positions.size());
  kernels.positions = std::move(positions);
  if (train.lengths == Lengths::kSpacing)
    kernels.lengths =
        startLengths(surface, kernels.positions, options.kernels - detailed, options.length_scale);
  const RandomStream random(seed, streams::kStartParameters);
  if (options.texture_aware) unitValues(target, kernels.positions, kernels.channels.values);
  // Channels after the fourth have draws of their own, so that they do not change those of the others.
  const RandomStream more(seed, streams::kStartParameters + 256);
  const std::size_t channels = kernels.layout.size();
  std::array<double, kMaxChannels> sums{};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto a = random.uniform2(4 * i), b = random.uniform2(4 * i + 1), c = random.uniform2(4 * i + 2),
               e = random.uniform2(4 * i + 3);
    kernels.angles[i] = static_cast<float>(std::numbers::pi * a[0]);
    kernels.anisotropies[i] = static_cast<float>(1 + 99 * a[1]);
    kernels.sharpnesses[i] = static_cast<float>(10 + 40 * std::sqrt(b[0]));
    kernels.thresholds[i] =
        std::min(static_cast<float>(0.3 + (0.7 - 1e-8) * std::pow(b[1], 0.7)), KernelRanges::kMaxThreshold);
    float* values = kernels.channels.row(i);
    if (!options.texture_aware) {
      const std::array<double, 4> first = {c[0], c[1], e[0], e[1]};
      for (std::size_t n = 0; n < channels; ++n) {
        const double u = n < first.size() ? first[n] : more.uniform(kMaxChannels * i + n);
        // Vectors anywhere in their range, of which 0 is the middle.
        values[n] = static_cast<float>(kernels.layout.groupOf(n).isTangent() ? u : 2 * u - 1);
      }
    }
    for (std::size_t n = 0; n < channels; ++n)
      sums[n] += values[n];
  }
  ChannelValues mean = surface_mean;
  for (std::size_t n = 0; n < channels && options.mean == StartMean::kKernels; ++n) {
    mean[static_cast<Eigen::Index>(n)] =
        static_cast<float>(sums[n] / static_cast<double>(std::max<std::size_t>(kernels.size(), 1)));
  }
  // Averaging vectors over faces means nothing: 0 is the only one that does not depend on frames.
  for (const ChannelGroup& group : kernels.layout.groups()) {
    if (group.isTangent()) mean.segment<2>(static_cast<Eigen::Index>(group.first)).setConstant(kTangentZero);
  }
  kernels.mean = mean.cwiseMax(0.0f).cwiseMin(1.0f);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    kernels.channels[i] -= mean;
    kernels.clampChannels(i);
    // What a material says itself is none of the kernels' business, also where they reach another one.
    if (!target.partlyConstant()) continue;
    const std::uint32_t left_out = constantChannels(target, kernels.positions[i].face);
    for (std::size_t c = 0; c < channels; ++c) {
      if ((left_out >> c & 1) != 0) kernels.channels.row(i)[c] = 0;
    }
  }
  return kernels;
}

}  // namespace heatskin
