#include "heatskin/surface/strata.h"

#include <algorithm>
#include <array>
#include <cmath>

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
  const std::vector<std::uint32_t> order =
      hilbertOrder(surface.faceCount(), [&](std::size_t f) { return surface.frames()[f].origin; });
  const auto weighty = [&](std::uint32_t face) { return face_weights[face] > 0; };
  steps_.reserve(static_cast<std::size_t>(std::count_if(order.begin(), order.end(), weighty)) + 1);
  for (const std::uint32_t face : order) {
    if (!weighty(face)) continue;
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
    steps_.push_back({total_, face, longest});
    total_ += face_weights[face];
  }
  steps_.push_back({total_, 0, 0});
  // The search looks at some steps in a row, which is a cache line or two.
  constexpr std::size_t kStepsPerBucket = 2;
  const std::size_t buckets = (steps_.size() + kStepsPerBucket - 1) / kStepsPerBucket;
  guide_.resize(buckets + 1);
  std::size_t at = 0;
  for (std::size_t g = 0; g <= buckets; ++g) {
    const double target = total_ * static_cast<double>(g) / static_cast<double>(buckets);
    while (at + 2 < steps_.size() && steps_[at + 1].before <= target)
      ++at;
    // One step back: rounding of these targets and of those of places may differ by an ulp.
    guide_[g] = static_cast<std::uint32_t>(at - (at > 0 ? 1 : 0));
  }
}

std::size_t SurfaceStrata::bucketOf(double place) const {
  return std::min(static_cast<std::size_t>(place * static_cast<double>(guide_.size() - 1)),
                  guide_.size() - 2);
}

SurfacePoint SurfaceStrata::at(double place) const {
  return from(guide_[bucketOf(place)], place);
}

void SurfaceStrata::at(std::span<const double> places, std::span<SurfacePoint> out) const {
  // The tables of a fine mesh do not fit into the cache: what a few places need is asked for at once.
  constexpr std::size_t kAtOnce = 64;
  for (std::size_t first = 0; first < places.size(); first += kAtOnce) {
    const std::size_t last = std::min(first + kAtOnce, places.size());
    std::uint32_t begin[kAtOnce];
    for (std::size_t i = first; i < last; ++i)
      __builtin_prefetch(&guide_[bucketOf(places[i])]);
    for (std::size_t i = first; i < last; ++i) {
      begin[i - first] = guide_[bucketOf(places[i])];
      __builtin_prefetch(&steps_[begin[i - first] + 1]);
    }
    for (std::size_t i = first; i < last; ++i)
      out[i] = from(begin[i - first], places[i]);
  }
}

/// The point at a place, whose step is this one or one behind it.
SurfacePoint SurfaceStrata::from(std::size_t at, double place) const {
  const double target = place * total_;
  while (at + 2 < steps_.size() && steps_[at + 1].before <= target)
    ++at;
  const Step& step = steps_[at];
  // A weight may be too small for the sum to see it.
  const double weight = steps_[at + 1].before - step.before;
  const Vec3 inside = alongTriangle(weight > 0 ? std::clamp((target - step.before) / weight, 0.0, 1.0) : 0.5);
  SurfacePoint point;
  point.face = step.face;
  point.barycentric[step.first] = inside[0];
  point.barycentric[(step.first + 1) % 3] = inside[1];
  point.barycentric[(step.first + 2) % 3] = inside[2];
  return point;
}

}  // namespace heatskin
