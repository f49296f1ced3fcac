#include "heatskin/surface/fit_target.h"

#include <algorithm>
#include <array>
#include <vector>

#include "heatskin/base/fingerprint.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {

const ChannelLayout& FitTarget::layout() const {
  static const ChannelLayout base_color;
  return base_color;
}

void FitTarget::visibilities(std::span<const SurfacePoint> /*points*/, std::span<float> out) const {
  std::fill(out.begin(), out.end(), 1.0f);
}

void FitTarget::identify(const Surface& surface, Fingerprint& fingerprint) const {
  // Inside the face, so that no corner is shared; in pieces, so that a large mesh needs no large memory.
  constexpr std::uint32_t kFacesAtOnce = 1 << 16;
  std::vector<SurfacePoint> points;
  std::vector<float> channels, visible;
  for (std::uint32_t first = 0; first < surface.faceCount(); first += kFacesAtOnce) {
    points.clear();
    for (std::uint32_t f = first; f < std::min(first + kFacesAtOnce, surface.faceCount()); ++f) {
      points.push_back({f, {0.7, 0.15, 0.15}});
      points.push_back({f, {0.15, 0.7, 0.15}});
      points.push_back({f, {0.15, 0.15, 0.7}});
    }
    channels.resize(points.size() * layout().size());
    visible.resize(points.size());
    values(points, channels);
    visibilities(points, visible);
    fingerprint.add(std::span<const float>(channels));
    fingerprint.add(std::span<const float>(visible));
  }
}

void unitValues(const FitTarget& target, std::span<const SurfacePoint> points, std::span<float> out) {
  target.values(points, out);
  target.layout().toUnit(out);
}

std::uint32_t constantChannels(const FitTarget& target, std::uint32_t face) {
  static_assert(kMaxChannels <= 32);
  const std::uint32_t groups = target.constantGroups(face);
  std::uint32_t channels = 0, bit = 1;
  for (const ChannelGroup& group : target.layout().groups()) {
    for (std::size_t c = group.first; c < group.first + group.count && (groups & bit) != 0; ++c)
      channels |= std::uint32_t{1} << c;
    bit <<= 1;
  }
  return channels;
}

void identifyLayout(const ChannelLayout& layout, Fingerprint& fingerprint) {
  for (const ChannelGroup& group : layout.groups()) {
    const std::array<double, 5> numbers = {static_cast<double>(group.count),
                                           static_cast<double>(group.range[0]),
                                           static_cast<double>(group.range[1]), group.rate, group.weight};
    fingerprint.add(std::span<const char>(group.name));
    fingerprint.add(std::span<const double>(numbers));
    if (group.isTangent())
      fingerprint.add(std::span<const char>(kChannelKindNames[static_cast<std::size_t>(group.kind)]));
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
