#include "heatskin/training/start.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "heatskin/base/rng.h"
#include "heatskin/surface/farthest_points.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/training/streams.h"

namespace heatskin {
namespace {

std::vector<SurfacePoint> spreadPoints(const Surface& surface, std::size_t count, std::uint64_t seed) {
  const std::size_t candidates = std::max<std::size_t>(3 * count, 10'000);
  const std::vector<SurfacePoint> points = sampleSurface(surface, candidates, seed, streams::kStartPositions);
  std::vector<Vec3> places;
  places.reserve(points.size());
  for (const SurfacePoint& p : points)
    places.push_back(surface.position(p));
  std::vector<SurfacePoint> chosen;
  for (const std::uint32_t i : farthestPoints(places, count, closestToOrigin(places)))
    chosen.push_back(points[i]);
  return chosen;
}

}  // namespace

KernelSet startKernels(const Surface& surface, const Appearance& appearance, const StartOptions& options,
                       std::uint64_t seed) {
  KernelSet kernels;
  kernels.resize(options.kernels);
  kernels.positions = spreadPoints(surface, options.kernels, seed);
  const RandomStream random(seed, streams::kStartParameters);
  Vec3 sum = Vec3::Zero();
  for (std::size_t i = 0; i < options.kernels; ++i) {
    const auto a = random.uniform2(4 * i), b = random.uniform2(4 * i + 1), c = random.uniform2(4 * i + 2),
               e = random.uniform2(4 * i + 3);
    kernels.angles[i] = static_cast<float>(std::numbers::pi * a[0]);
    kernels.anisotropies[i] = static_cast<float>(1 + 99 * a[1]);
    kernels.sharpnesses[i] = static_cast<float>(10 + 40 * std::sqrt(b[0]));
    kernels.thresholds[i] =
        std::min(static_cast<float>(0.3 + (0.7 - 1e-8) * std::pow(b[1], 0.7)), KernelRanges::kMaxThreshold);
    kernels.colors[i] = options.texture_aware
                            ? appearance.color(kernels.positions[i])
                            : Vec3f((2 * Vec3(c[0], c[1], e[0]) - Vec3::Ones()).cast<float>());
    sum += kernels.colors[i].cast<double>();
  }
  const Vec3 mean = sum / static_cast<double>(std::max<std::size_t>(options.kernels, 1));
  kernels.mean_color = mean.cast<float>().cwiseMax(0.0f).cwiseMin(1.0f);
  for (Vec3f& c : kernels.colors)
    c = (c - mean.cast<float>()).cwiseMax(-1.0f).cwiseMin(1.0f);
  return kernels;
}

}  // namespace heatskin
