#include "heatskin/training/visible_samples.h"

#include "heatskin/base/rng.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/training/streams.h"

namespace heatskin {
namespace {

/// Points that are drawn for one that is kept, at most: with less than a 64th of the area visible there are
/// fewer points than asked for.
constexpr std::uint64_t kMostRounds = 64;

}  // namespace

std::vector<SurfacePoint> sampleVisible(const Surface& surface, const FitTarget& target, std::size_t count,
                                        std::uint64_t seed, std::uint64_t stream) {
  std::vector<double> weights(surface.areas().begin(), surface.areas().end());
  if (target.hasColor()) {
    for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
      if (target.faceConstant(f)) weights[f] = 0;
    }
  }
  const SurfaceSampler sampler(weights);
  std::vector<SurfacePoint> points(count);
  if (!target.hasAlpha() || target.layout().everywhere()) {
    sampler.sample(seed, stream, 0, points);
    return points;
  }

  const RandomStream chance(seed, stream + streams::kVisibility);
  std::vector<SurfacePoint> kept;
  std::vector<float> visible(count);
  for (std::uint64_t round = 0; round < kMostRounds && kept.size() < count; ++round) {
    const std::uint64_t first = round * count;
    sampler.sample(seed, stream, first, points);
    target.visibilities(points, visible);
    for (std::size_t i = 0; i < count && kept.size() < count; ++i) {
      if (chance.uniform(first + i) < static_cast<double>(visible[i])) kept.push_back(points[i]);
    }
  }
  return kept;
}

}  // namespace heatskin
