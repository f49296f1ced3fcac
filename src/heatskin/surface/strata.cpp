#include "heatskin/surface/strata.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "heatskin/base/hilbert.h"

namespace heatskin {
namespace {

/// The Sierpinski curve of a triangle goes from its first corner to its second and stays in halves of halves:
/// the triangle is halved from its third corner to the middle of the side between the first two; each half is
/// entered and left by the ends of that cut and of the side. Whatever the shape, halves have half the area.
///
/// The half of the half ... that a place of the curve lies in after kBits halvings is an affine image of the
/// triangle, and so on: three look-ups make 24 halvings, down to a four-thousandth of the triangle's size.
constexpr int kBits = 8, kLookups = 3;

/// Steps for each entry of the guide: as many as lie in a cache line.
constexpr std::size_t kGuided = 4;

/// Faces are fewer than half-edges, which have numbers of 32 bits.
constexpr int kFaceBits = 30;

/// The barycentric coordinates of the first two corners of the whole from those of a part.
struct Part {
  double xx, xy, yx, yy, x, y;
};

std::array<Part, 1 << kBits> makeParts() {
  std::array<Part, 1 << kBits> parts;
  for (unsigned k = 0; k < parts.size(); ++k) {
    Vec2 entry(1, 0), exit(0, 1), apex(0, 0);
    for (int bit = kBits - 1; bit >= 0; --bit) {
      const Vec2 middle = 0.5 * (entry + exit);
      ((k >> bit & 1) == 0 ? exit : entry) = apex;
      apex = middle;
    }
    const Vec2 x = entry - apex, y = exit - apex;
    parts[k] = {x.x(), y.x(), x.y(), y.y(), apex.x(), apex.y()};
  }
  return parts;
}

/// Barycentric coordinates of the point at `place`, in [0, 1], of the curve.
Vec3 alongTriangle(double place) {
  static const std::array<Part, 1 << kBits> kParts = makeParts();
  constexpr std::uint32_t kCells = std::uint32_t{1} << (kBits * kLookups);
  const auto cell = std::min(static_cast<std::uint32_t>(place * kCells), kCells - 1);
  double x = 1.0 / 3, y = 1.0 / 3;
  for (int n = 0; n < kLookups; ++n) {
    const Part& part = kParts[cell >> (kBits * n) & ((1u << kBits) - 1)];
    const double inner = x;
    x = part.xx * inner + part.xy * y + part.x;
    y = part.yx * inner + part.yy * y + part.y;
  }
  return {x, y, std::max(0.0, 1 - x - y)};
}

}  // namespace

SurfaceStrata::SurfaceStrata(const Surface& surface, std::span<const double> face_weights) {
  std::vector<std::uint32_t> order;
  {
    std::vector<Vec3> origins(surface.faceCount());
    std::transform(surface.frames().begin(), surface.frames().end(), origins.begin(),
                   [](const FaceFrame& frame) { return frame.origin; });
    order = hilbertOrder(origins);
  }
  std::erase_if(order, [&](std::uint32_t face) { return !(face_weights[face] > 0); });
  faces_ = std::move(order);
  before_.resize(faces_.size() + 1);
  before_[0] = 0;
  for (std::size_t i = 0; i < faces_.size(); ++i) {
    const std::uint32_t face = faces_[i];
    const auto& corners = surface.corners()[face];
    std::uint32_t longest = 0;
    double length = -1;
    for (std::uint32_t e = 0; e < 3; ++e) {
      const double squared = (corners[(e + 1) % 3] - corners[e]).squaredNorm();
      if (squared > length) {
        length = squared;
        longest = e;
      }
    }
    faces_[i] = longest << kFaceBits | face;
    before_[i + 1] = before_[i] + face_weights[face];
  }
  const std::size_t buckets = (faces_.size() + kGuided - 1) / kGuided;
  guide_.resize(buckets + 1);
  std::size_t at = 0;
  for (std::size_t g = 0; g <= buckets; ++g) {
    const double target = before_.back() * static_cast<double>(g) / static_cast<double>(buckets);
    while (at + 1 < faces_.size() && before_[at + 1] <= target)
      ++at;
    guide_[g] = static_cast<std::uint32_t>(at);
  }
}

SurfacePoint SurfaceStrata::at(double place) const {
  const double target = place * before_.back();
  const auto bucket =
      std::min(static_cast<std::size_t>(place * static_cast<double>(guide_.size() - 1)), guide_.size() - 2);
  // One step back: rounding of `target` and of the guide's targets may differ by an ulp.
  std::size_t at = guide_[bucket] - (guide_[bucket] > 0 ? 1 : 0);
  while (at + 1 < faces_.size() && before_[at + 1] <= target)
    ++at;
  // A face so small beside the sum before it that adding it changes nothing is never found.
  const double weight = before_[at + 1] - before_[at];
  const Vec3 inside = alongTriangle(weight > 0 ? std::clamp((target - before_[at]) / weight, 0.0, 1.0) : 0.5);
  const std::uint32_t first = faces_[at] >> kFaceBits;
  SurfacePoint point;
  point.face = faces_[at] & ((1u << kFaceBits) - 1);
  point.barycentric[first] = inside[0];
  point.barycentric[(first + 1) % 3] = inside[1];
  point.barycentric[(first + 2) % 3] = inside[2];
  return point;
}

}  // namespace heatskin
