#include "heatskin/surface/strata.h"

#include <algorithm>
#include <cmath>

#include "heatskin/base/hilbert.h"

namespace heatskin {
namespace {

/// Halvings of a triangle: what is left is a ten-thousandth of its size.
constexpr int kHalvings = 26;

/// The point at `place` (in [0, 1]) of the Sierpinski curve of a triangle, which goes from corner 0 to corner 1
/// and stays in halves of halves: the triangle is halved from its third corner to the middle of the side
/// between the first two, and each half is entered and left by the ends of its longest side if the triangle
/// is right-angled and isosceles. Whatever its shape, halves have half the area.
Vec3 alongTriangle(double place) {
  // Barycentric coordinates of entry, exit and the third corner.
  Vec3 entry(1, 0, 0), exit(0, 1, 0), apex(0, 0, 1);
  for (int i = 0; i < kHalvings; ++i) {
    const Vec3 middle = 0.5 * (entry + exit);
    place *= 2;
    if (place < 1) {
      exit = apex;
    } else {
      place -= 1;
      entry = apex;
    }
    apex = middle;
  }
  return (entry + exit + apex) / 3;
}

}  // namespace

SurfaceStrata::SurfaceStrata(const Surface& surface, std::span<const double> face_weights) {
  std::vector<Vec3> origins(surface.faceCount());
  std::transform(surface.frames().begin(), surface.frames().end(), origins.begin(),
                 [](const FaceFrame& frame) { return frame.origin; });
  for (const std::uint32_t face : hilbertOrder(origins)) {
    if (!(face_weights[face] > 0)) continue;
    const auto& corners = surface.corners()[face];
    std::uint8_t longest = 0;
    double length = -1;
    for (std::uint8_t e = 0; e < 3; ++e) {
      const double squared = (corners[(e + 1u) % 3] - corners[e]).squaredNorm();
      if (squared > length) {
        length = squared;
        longest = e;
      }
    }
    steps_.push_back({total_, 1 / face_weights[face], face, longest});
    total_ += face_weights[face];
  }
  // As many entries as steps: the search looks at about one step on average.
  const std::size_t buckets = steps_.size();
  guide_.resize(buckets + 1);
  std::size_t at = 0;
  for (std::size_t g = 0; g <= buckets; ++g) {
    const double target = total_ * static_cast<double>(g) / static_cast<double>(buckets);
    while (at + 1 < steps_.size() && steps_[at + 1].before <= target)
      ++at;
    guide_[g] = static_cast<std::uint32_t>(at);
  }
}

SurfacePoint SurfaceStrata::at(double place) const {
  const double target = place * total_;
  const auto bucket = std::min(static_cast<std::size_t>(place * static_cast<double>(guide_.size() - 1)),
                               guide_.size() - 2);
  // One step back: rounding of `target` and of the guide's targets may differ by an ulp.
  std::size_t at = guide_[bucket] - (guide_[bucket] > 0 ? 1 : 0);
  while (at + 1 < steps_.size() && steps_[at + 1].before <= target)
    ++at;
  const Step& step = steps_[at];
  const Vec3 inside = alongTriangle(std::clamp((target - step.before) * step.inverse, 0.0, 1.0));
  SurfacePoint point;
  point.face = step.face;
  point.barycentric[step.first] = inside[0];
  point.barycentric[(step.first + 1) % 3] = inside[1];
  point.barycentric[(step.first + 2) % 3] = inside[2];
  return point;
}

}  // namespace heatskin
