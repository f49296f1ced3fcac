#include "heatskin/transfer/merge_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "heatskin/base/hilbert.h"
#include "heatskin/geodesic/walk.h"

namespace heatskin {
namespace {

/// Neighbours along the curve that a kernel may be merged with.
constexpr std::size_t kWindow = 12;

/// What a difference of all values costs, in squared distances relative to the kernels' sizes.
constexpr double kColorCost = 40;

struct Pair {
  double cost;
  std::uint32_t a, b;
};

/// How far a kernel reaches, about: x falls to eps at a distance proportional to this.
double sizeOf(const KernelSet& kernels, std::size_t i) {
  const auto eps = static_cast<double>(kernels.thresholds[i]);
  return static_cast<double>(kernels.lengths[i]) * std::sqrt(std::max(-std::log(eps), 1e-3));
}

/// Kernel `a` becomes one that covers both.
void mergeInto(const Surface& surface, const Walker& walker, std::size_t a, std::size_t b, bool has_lengths,
               KernelSet& kernels) {
  const double size_a = sizeOf(kernels, a), size_b = sizeOf(kernels, b);
  const double area_a = size_a * size_a, area_b = size_b * size_b;
  const double part = area_b / (area_a + area_b);
  const auto blend = [&](float& to, float from) {
    to = static_cast<float>((1 - part) * static_cast<double>(to) + part * static_cast<double>(from));
  };
  float *values = kernels.channels.row(a), *others = kernels.channels.row(b);
  for (const ChannelGroup& group : kernels.layout.groups()) {
    if (group.isTangent()) continue;  // vectors of another face: the refit finds them
    for (std::size_t c = group.first; c < group.first + group.count; ++c)
      blend(values[c], others[c]);
  }
  // Less elongated than both: they point different ways, and lie side by side.
  const auto log_mean = [&](float x, float y) {
    return std::exp((1 - part) * std::log(static_cast<double>(x)) + part * std::log(static_cast<double>(y)));
  };
  kernels.anisotropies[a] = static_cast<float>(
      std::max(1.0, std::sqrt(log_mean(kernels.anisotropies[a], kernels.anisotropies[b]))));
  kernels.sharpnesses[a] =
      std::clamp(static_cast<float>(log_mean(kernels.sharpnesses[a], kernels.sharpnesses[b])),
                 KernelRanges::kMinSharpness, KernelRanges::kMaxSharpness);
  const double grown = std::sqrt((area_a + area_b) / area_a);
  if (has_lengths) {
    kernels.lengths[a] = std::clamp(static_cast<float>(static_cast<double>(kernels.lengths[a]) * grown),
                                    KernelRanges::kMinLength, KernelRanges::kMaxLength);
  }
  // Towards the other one, along the surface.
  const FaceFrame& frame = surface.frames()[kernels.positions[a].face];
  const Vec2 step = part * frame.directionToFace(surface.position(kernels.positions[b]) -
                                                 surface.position(kernels.positions[a]));
  const WalkOutcome walked = walker.walk(kernels.positions[a], step);
  const auto angle = static_cast<double>(kernels.angles[a]);
  const Vec2 axis = walked.end_from_start.rotate({std::cos(angle), std::sin(angle)});
  double turned = std::atan2(axis.y(), axis.x());
  if (turned < 0) turned += std::acos(-1.0);
  kernels.angles[a] = std::min(static_cast<float>(turned), KernelRanges::kMaxAngle);
  kernels.carryTangents(a, walked.end_from_start);
  kernels.positions[a] = walked.end;
}

}  // namespace

KernelSet mergedKernels(const KernelSet& given, const Surface& surface, std::size_t wanted,
                        bool has_lengths) {
  KernelSet kernels = given;
  wanted = std::max<std::size_t>(wanted, 1);
  const Walker walker(surface);
  while (kernels.size() > wanted) {
    const std::size_t count = kernels.size(), channels = kernels.layout.size();
    std::vector<Vec3> places(count);
    for (std::size_t i = 0; i < count; ++i)
      places[i] = surface.position(kernels.positions[i]);
    const std::vector<std::uint32_t> order = hilbertOrder(places);
    std::vector<Pair> pairs;
    pairs.reserve(count * kWindow);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < std::min(count, i + 1 + kWindow); ++j) {
        const std::uint32_t a = std::min(order[i], order[j]), b = std::max(order[i], order[j]);
        const std::uint32_t face_a = kernels.positions[a].face, face_b = kernels.positions[b].face;
        if (surface.components()[face_a] != surface.components()[face_b]) continue;
        if (!(surface.frames()[face_a].normal().dot(surface.frames()[face_b].normal()) > 0)) continue;
        const double size = sizeOf(kernels, a) * sizeOf(kernels, a) + sizeOf(kernels, b) * sizeOf(kernels, b);
        double color = 0;
        for (std::size_t c = 0; c < channels; ++c) {
          const auto d = static_cast<double>(kernels.channels.row(a)[c] - kernels.channels.row(b)[c]);
          color += d * d;
        }
        // Small kernels first: those are the detail that is no longer seen.
        pairs.push_back({((places[a] - places[b]).squaredNorm() + size) * (1 + kColorCost * color), a, b});
      }
    }
    if (pairs.empty()) break;
    std::sort(pairs.begin(), pairs.end(), [](const Pair& x, const Pair& y) {
      return x.cost != y.cost ? x.cost < y.cost : x.a != y.a ? x.a < y.a : x.b < y.b;
    });
    std::vector<std::uint8_t> used(count, 0), gone(count, 0);
    std::size_t left = count;
    // A third at most in one round: the next one chooses among what has become of them.
    const std::size_t least = std::max(wanted, count - count / 3);
    for (const Pair& pair : pairs) {
      if (left <= least) break;
      if (used[pair.a] != 0 || used[pair.b] != 0) continue;
      used[pair.a] = used[pair.b] = 1;
      const bool first = sizeOf(kernels, pair.a) >= sizeOf(kernels, pair.b);
      const std::uint32_t stays = first ? pair.a : pair.b, goes = first ? pair.b : pair.a;
      mergeInto(surface, walker, stays, goes, has_lengths, kernels);
      gone[goes] = 1;
      --left;
    }
    if (left == count) break;
    std::vector<std::uint32_t> kept;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (gone[i] == 0) kept.push_back(i);
    }
    kernels.select(kept);
  }
  return kernels;
}

}  // namespace heatskin
