#include "heatskin/pipeline/stem.h"

#include <algorithm>
#include <vector>

#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

constexpr std::size_t kStemSamples = 400'000;  // of which a few thousand lie on the stem
constexpr double kStemShare = 0.17;            // of the height, from the top

double stemBegin(const Surface& surface) {
  double low = surface.positions()[0].y(), high = low;
  for (const Vec3& p : surface.positions()) {
    low = std::min(low, p.y());
    high = std::max(high, p.y());
  }
  return high - kStemShare * (high - low);
}

}  // namespace

BoundingSphere stemSphere(const Surface& surface) {
  const double from = stemBegin(surface);
  Vec3 box_low = Vec3::Constant(1e30), box_high = Vec3::Constant(-1e30);
  for (const Vec3& p : surface.positions()) {
    if (p.y() < from) continue;
    box_low = box_low.cwiseMin(p);
    box_high = box_high.cwiseMax(p);
  }
  return {0.5 * (box_low + box_high), 0.5 * (box_high - box_low).norm()};
}

double stemBelowHalf(const KernelTexture& texture, std::uint64_t seed) {
  const Surface& surface = texture.surface();
  const double from = stemBegin(surface);
  std::vector<SurfacePoint> points = sampleSurface(surface, kStemSamples, seed);
  std::erase_if(points, [&](const SurfacePoint& p) { return surface.position(p).y() < from; });
  std::vector<Vec3f> colors(points.size());
  std::vector<float> weights(points.size());
  texture.colors(points, colors, weights);
  const auto low = std::count_if(weights.begin(), weights.end(), [](float w) { return w < 0.5f; });
  return static_cast<double>(low) / static_cast<double>(std::max<std::size_t>(1, points.size()));
}

}  // namespace heatskin
