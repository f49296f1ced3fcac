#include "heatskin/surface/fit_target.h"

#include <algorithm>
#include <vector>

#include "heatskin/surface/sampling.h"

namespace heatskin {

void FitTarget::visibilities(std::span<const SurfacePoint> /*points*/, std::span<float> out) const {
  std::fill(out.begin(), out.end(), 1.0f);
}

void FitTarget::identify(const Surface& surface, Fingerprint& fingerprint) const {
  // Inside the face, so that no corner is shared; in pieces, so that a large mesh needs no large memory.
  constexpr std::uint32_t kFacesAtOnce = 1 << 16;
  std::vector<SurfacePoint> points;
  std::vector<Vec3f> values;
  std::vector<float> visible;
  for (std::uint32_t first = 0; first < surface.faceCount(); first += kFacesAtOnce) {
    points.clear();
    for (std::uint32_t f = first; f < std::min(first + kFacesAtOnce, surface.faceCount()); ++f) {
      points.push_back({f, {0.7, 0.15, 0.15}});
      points.push_back({f, {0.15, 0.7, 0.15}});
      points.push_back({f, {0.15, 0.15, 0.7}});
    }
    values.resize(points.size());
    visible.resize(points.size());
    colors(points, values);
    visibilities(points, visible);
    fingerprint.add(std::span<const Vec3f>(values));
    fingerprint.add(std::span<const float>(visible));
  }
}

double visibleShare(const Surface& surface, const FitTarget& target) {
  if (!target.hasAlpha()) return 1;
  constexpr std::size_t kSamples = 100'000;  // a visible thousandth of the area is missed once in e^100 cases
  const std::vector<SurfacePoint> points = sampleSurface(surface, kSamples, 0);
  std::vector<float> seen(points.size());
  target.visibilities(points, seen);
  double sum = 0;
  for (const float v : seen)
    sum += static_cast<double>(v);
  return sum / static_cast<double>(seen.size());
}

}  // namespace heatskin
