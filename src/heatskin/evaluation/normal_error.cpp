#include "heatskin/evaluation/normal_error.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "heatskin/appearance/shading_normals.h"

namespace heatskin {
namespace {

/// atan2 keeps small angles accurate.
double degreesBetween(const Vec3& a, const Vec3& b) {
  return std::atan2(a.cross(b).norm(), a.dot(b)) * 180 / std::numbers::pi;
}

}  // namespace

std::optional<NormalError> normalError(const KernelTexture& texture, const Reference& reference,
                                       std::span<const SurfacePoint> points, std::span<const float> values,
                                       std::span<const float> visible, Filter filter) {
  const NormalChannels channels(texture.layout());
  if (!channels.any() || reference.appearance().normals() == nullptr) return std::nullopt;
  std::vector<Vec3> vertex_normals(points.size()), normals(points.size());
  std::vector<std::uint8_t> mapped(points.size());
  reference.normals(points, vertex_normals, normals, mapped, filter);

  struct Weighted {
    double degrees, weight;
  };
  std::vector<Weighted> errors;
  double sum = 0, total = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (mapped[i] == 0 || !(visible[i] > 0)) continue;
    const Vec3 found = channels.normal(texture.surface().frames()[points[i].face], vertex_normals[i],
                                       values.data() + i * texture.layout().size());
    const double weight = static_cast<double>(visible[i]);
    errors.push_back({degreesBetween(found, normals[i]), weight});
    sum += weight * errors.back().degrees;
    total += weight;
  }
  if (errors.empty()) return std::nullopt;
  std::sort(errors.begin(), errors.end(),
            [](const Weighted& a, const Weighted& b) { return a.degrees < b.degrees; });
  NormalError result{sum / total, errors.back().degrees};
  double below = 0;
  for (const Weighted& error : errors) {
    below += error.weight;
    if (below < 0.95 * total) continue;
    result.p95_deg = error.degrees;
    break;
  }
  return result;
}

}  // namespace heatskin
