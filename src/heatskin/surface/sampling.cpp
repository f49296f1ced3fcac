#include "heatskin/surface/sampling.h"

#include <algorithm>
#include <cmath>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"

namespace heatskin {
namespace {

constexpr std::size_t kPointsPerBlock = 8192;

}  // namespace

SurfaceSampler::SurfaceSampler(const Surface& surface) : SurfaceSampler(surface.areas()) {}

SurfaceSampler::SurfaceSampler(std::span<const double> face_weights) {
  // Rounding may lead to the very end of the table, which must not be a face without weight.
  while (face_weights.size() > 1 && !(face_weights.back() > 0))
    face_weights = face_weights.first(face_weights.size() - 1);
  cumulative_.reserve(face_weights.size());
  double sum = 0;
  for (const double weight : face_weights)
    cumulative_.push_back(sum += weight);
  // As many guide entries as faces: the search below then looks at about one face on average.
  const std::size_t buckets = cumulative_.size();
  guide_.resize(buckets + 1);
  std::size_t face = 0;
  for (std::size_t g = 0; g <= buckets; ++g) {
    const double target = sum * static_cast<double>(g) / static_cast<double>(buckets);
    while (face + 1 < cumulative_.size() && cumulative_[face] <= target)
      ++face;
    guide_[g] = static_cast<std::uint32_t>(face);
  }
}

SurfacePoint SurfaceSampler::point(double u, double v, double w) const {
  const double target = u * cumulative_.back();
  const auto bucket = static_cast<std::size_t>(u * static_cast<double>(guide_.size() - 1));
  // One bucket of slack on either side: rounding of `target` and of the guide's targets may differ by an ulp.
  const auto begin = cumulative_.begin() + guide_[bucket > 0 ? bucket - 1 : 0];
  const auto end = cumulative_.begin() + guide_[std::min(bucket + 2, guide_.size() - 1)] + 1;
  const auto found = std::upper_bound(begin, std::min(end, cumulative_.end() - 1), target);
  const double root = std::sqrt(v);
  return {static_cast<std::uint32_t>(found - cumulative_.begin()), {1 - root, root * (1 - w), root * w}};
}

void SurfaceSampler::sample(std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                            std::span<SurfacePoint> out) const {
  // Two counters a point: four words are two uniforms, and a point needs three.
  const RandomStream random(seed, stream);
  parallelFor(out.size(), kPointsPerBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint64_t index = first + i;
      const auto a = random.uniform2(2 * index);
      out[i] = point(a[0], a[1], random.uniform(2 * index + 1));
    }
  });
}

std::vector<SurfacePoint> sampleSurface(const Surface& surface, std::size_t count, std::uint64_t seed,
                                        std::uint64_t stream) {
  std::vector<SurfacePoint> points(count);
  SurfaceSampler(surface).sample(seed, stream, 0, points);
  return points;
}

}  // namespace heatskin
