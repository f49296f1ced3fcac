#include "heatskin/evaluation/normal_error.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "heatskin/appearance/shading_normals.h"

namespace heatskin {
namespace {

/// atan2 keeps small angles accurate. `lines`: whichever way they point.
double degreesBetween(const Vec3& a, const Vec3& b, bool lines) {
  const double cosine = lines ? std::abs(a.dot(b)) : a.dot(b);
  return std::atan2(a.cross(b).norm(), cosine) * 180 / std::numbers::pi;
}

}  // namespace

std::optional<AngleError> angleError(const KernelTexture& texture, const Reference& reference,
                                     std::size_t slot, std::span<const SurfacePoint> points,
                                     std::span<const float> values, std::span<const float> visible,
                                     Filter filter) {
  const bool lines = slot == kAnisotropySlot;
  const NormalChannels channels(texture.layout(), slot);
  const ChannelGroup* vectors = lines ? texture.layout().find("anisotropy") : nullptr;
  if ((lines ? vectors == nullptr : !channels.any()) || reference.appearance().directions(slot) == nullptr)
    return std::nullopt;
  std::vector<Vec3> vertex_normals(points.size()), truth(points.size());
  std::vector<std::uint8_t> mapped(points.size());
  reference.directions(points, slot, vertex_normals, truth, mapped, filter);

  struct Weighted {
    double degrees, weight;
  };
  std::vector<Weighted> errors;
  double sum = 0, total = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (mapped[i] == 0 || !(visible[i] > 0)) continue;
    const FaceFrame& frame = texture.surface().frames()[points[i].face];
    const float* row = values.data() + i * texture.layout().size();
    const Vec3 found = vectors != nullptr ? shadedFromFace(frame, vertex_normals[i],
                                                           Vec2(row[vectors->first], row[vectors->first + 1]))
                                          : channels.normal(frame, vertex_normals[i], row);
    const double weight = static_cast<double>(visible[i]) * (lines ? truth[i].norm() : 1.0);
    if (!(weight > 0)) continue;
    errors.push_back({degreesBetween(found, truth[i], lines), weight});
    sum += weight * errors.back().degrees;
    total += weight;
  }
  if (errors.empty()) return std::nullopt;
  std::sort(errors.begin(), errors.end(),
            [](const Weighted& a, const Weighted& b) { return a.degrees < b.degrees; });
  AngleError result{sum / total, errors.back().degrees};
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
