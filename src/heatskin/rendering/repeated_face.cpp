#include "heatskin/rendering/repeated_face.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "heatskin/rendering/atlas.h"

namespace heatskin::raster {
namespace {

/// The first texel centre (n + 0.5) that is not below `x`: an interval [a, b) holds the centres of
/// centreFrom(a) .. centreFrom(b) - 1, which is the top-left rule.
std::int64_t centreFrom(double x) {
  return static_cast<std::int64_t>(std::ceil(x - 0.5));
}

/// Where the line y meets the edge, computed alike from both sides.
double crossing(Vec2 a, Vec2 b, double y) {
  if (b.y() < a.y()) std::swap(a, b);
  return a.x() + (y - a.y()) * ((b.x() - a.x()) / (b.y() - a.y()));
}

}  // namespace

RepeatedFace::RepeatedFace(std::uint32_t face, const std::array<Vec2, 3>& corners, int width, int height)
    : face_(face), corners_(corners), along_(width), across_(height) {
  const auto span = [&](Eigen::Index axis) {
    const auto [low, high] = std::minmax({corners[0][axis], corners[1][axis], corners[2][axis]});
    return high - low;
  };
  // Lines along the side with more repeats are fewer and longer. Where both sides have very many, rows.
  columns_ = span(0) / width < span(1) / height && span(0) <= kMaxAtlasRepeats * static_cast<double>(width);
  if (columns_) {
    std::swap(along_, across_);
    for (Vec2& corner : corners_)
      std::swap(corner.x(), corner.y());
  }
  const auto [low, high] = std::minmax({corners_[0].y(), corners_[1].y(), corners_[2].y()});
  first_line_ = centreFrom(low);
  last_line_ = centreFrom(high) - 1;
  const double middle = (corners_[0].y() + corners_[1].y() + corners_[2].y()) / 3;
  middle_line_ = std::clamp(static_cast<std::int64_t>(std::floor(middle)), first_line_,
                            std::max(first_line_, last_line_));
  const std::int64_t most = kMaxAtlasRepeats * across_;
  if (last_line_ - first_line_ + 1 > most) {
    first_line_ = std::clamp(middle_line_ - most / 2, first_line_, last_line_ - most + 1);
    last_line_ = first_line_ + most - 1;
    // A section is at least as long as the shorter of two around it: lines within half a repeat of the
    // centroid meet every row.
    for (const std::int64_t line : {middle_line_ - across_ / 2 - 1, middle_line_ + across_ / 2 + 1}) {
      const Section s = section(line);
      cut_ = cut_ || s.last - s.first + 1 < along_;
    }
  }
}

RepeatedFace::Section RepeatedFace::section(std::int64_t line) const {
  const double y = static_cast<double>(line) + 0.5;
  double low = 0, high = 0;
  int met = 0;
  for (std::size_t e = 0; e < 3; ++e) {
    const Vec2 &a = corners_[e], &b = corners_[(e + 1) % 3];
    if ((a.y() <= y) == (b.y() <= y)) continue;
    const double x = crossing(a, b, y);
    low = met == 0 ? x : std::min(low, x);
    high = met == 0 ? x : std::max(high, x);
    ++met;
  }
  if (met < 2) return {0, -1};
  return {centreFrom(low), centreFrom(high) - 1};
}

std::optional<Vec2> RepeatedFace::place(int x, int y) const {
  const std::int64_t row = columns_ ? x : y, texel = columns_ ? y : x;
  std::optional<Vec2> found;
  std::int64_t found_distance = 0;
  for (std::int64_t line = first_line_ + wrapped(row - first_line_, across_); line <= last_line_;
       line += across_) {
    const std::int64_t distance = std::abs(line - middle_line_);
    if (found && distance >= found_distance) continue;
    const Section s = section(line);
    const std::int64_t first = s.first + wrapped(texel - s.first, along_);
    if (first > s.last) continue;
    const std::int64_t at = first + (s.last - first) / along_ / 2 * along_;
    found_distance = distance;
    found = Vec2(static_cast<double>(at) + 0.5, static_cast<double>(line) + 0.5);
    if (columns_) std::swap(found->x(), found->y());
  }
  return found;
}

}  // namespace heatskin::raster
