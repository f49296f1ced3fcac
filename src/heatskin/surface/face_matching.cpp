#include "heatskin/surface/face_matching.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/plural.h"

namespace heatskin {
namespace {

/// The longest side of a surface.
constexpr double kExtent = 2;

/// Distances that are looked at one after the other: near pairs are made before there is much to choose from.
constexpr double kFirstReach = 1e-7, kReachStep = 4, kLastReach = kMostRounding * kExtent;

/// Positions of float32 that were transformed and rounded again differ by this much in surface coordinates.
constexpr double kFloatRounding = 4e-6;

/// Rounding to a grid of step s moves the farthest of three corners by 0.62 s in the median and by 0.87 s at
/// most.
constexpr double kMostToMedian = 2;

/// A triangle lower than this many tolerances may have lost its area, or gained one.
constexpr double kThinInTolerances = 4;

/// Pairs of triangles that may be compared, for each triangle there is.
constexpr std::size_t kMostComparisons = 1024;

using Corners = std::array<Vec3, 3>;
using Order = std::array<std::uint8_t, 3>;
/// The first three keep the direction of rotation.
constexpr std::array<Order, 6> kOrders = {Order{0, 1, 2}, Order{1, 2, 0}, Order{2, 0, 1},
                                          Order{0, 2, 1}, Order{2, 1, 0}, Order{1, 0, 2}};

Corners cornersOf(const Surface& surface, std::uint32_t face) {
  const auto& f = surface.faces()[face];
  return {surface.positions()[f[0]], surface.positions()[f[1]], surface.positions()[f[2]]};
}

double heightOf(const Surface& surface, std::uint32_t face) {
  const auto& c = surface.corners()[face];
  const double longest = std::max({(c[1] - c[0]).norm(), (c[2] - c[1]).norm(), (c[0] - c[2]).norm()});
  return longest > 0 ? 2 * surface.areas()[face] / longest : 0;
}

/// A pair of faces that could be the same; ordered from the best.
struct Pair {
  double move;  ///< of the corner that is farthest off
  bool turned;  ///< they face opposite ways
  std::uint32_t from, to;
  Order order;

  bool operator<(const Pair& other) const {
    return std::tie(move, turned, from, to) < std::tie(other.move, other.turned, other.from, other.to);
  }
};

/// Faces of a surface by the cell their centroid is in.
class Cells {
 public:
  Cells(const Surface& surface, const std::vector<std::uint32_t>& faces, double size) : size_(size) {
    cells_.reserve(faces.size());
    for (const std::uint32_t f : faces)
      cells_[key(cell(surface.frames()[f].origin))].push_back(f);
  }

  template <class Visit>
  bool around(const Vec3& x, const Visit& visit) const {
    const std::array<std::int64_t, 3> at = cell(x);
    for (std::int64_t i = -1; i <= 1; ++i) {
      for (std::int64_t j = -1; j <= 1; ++j) {
        for (std::int64_t k = -1; k <= 1; ++k) {
          const auto found = cells_.find(key({at[0] + i, at[1] + j, at[2] + k}));
          if (found == cells_.end()) continue;
          for (const std::uint32_t f : found->second) {
            if (!visit(f)) return false;
          }
        }
      }
    }
    return true;
  }

 private:
  std::array<std::int64_t, 3> cell(const Vec3& x) const {
    const auto index = [&](double v) { return static_cast<std::int64_t>(std::floor(v / size_)); };
    return {index(x[0]), index(x[1]), index(x[2])};
  }
  /// Surface coordinates lie within a few units: 21 bits and a sign do for cells of kFirstReach, and cells
  /// that share a key by accident only cost comparisons.
  static std::uint64_t key(const std::array<std::int64_t, 3>& c) {
    std::uint64_t hash = 0;
    for (const std::int64_t v : c)
      hash = (hash ^ static_cast<std::uint64_t>(v)) * 0x9E3779B97F4A7C15ull + (hash >> 29);
    return hash;
  }

  double size_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> cells_;
};

class Matcher {
 public:
  Matcher(const Surface& from, const Surface& to) : from_(from), to_(to), to_taken_(to.faceCount(), 0) {
    out_.face.assign(from.faceCount(), kNone);
    out_.corners.assign(from.faceCount(), Order{0, 1, 2});
    move_.assign(from.faceCount(), 0);
    comparisons_left_ = kMostComparisons * (std::size_t{from.faceCount()} + to.faceCount());
  }

  Result<FaceMatching> run() {
    for (double reach = kFirstReach;; reach = std::min(kReachStep * reach, kLastReach)) {
      if (!matchWithin(reach)) {
        return inputError(
            "the triangles cannot be told apart: too many of them are at the same place, compared with the "
            "size of the whole");
      }
      if (reach >= kLastReach) break;
    }
    release();
    return finish();
  }

 private:
  /// False if that takes too many comparisons.
  bool matchWithin(double reach) {
    std::vector<std::uint32_t> from, to;
    for (std::uint32_t f = 0; f < from_.faceCount(); ++f) {
      if (out_.face[f] == kNone) from.push_back(f);
    }
    for (std::uint32_t f = 0; f < to_.faceCount(); ++f) {
      if (to_taken_[f] == 0) to.push_back(f);
    }
    if (from.empty() || to.empty()) return true;
    const Cells cells(to_, to, reach);
    std::vector<Pair> pairs;
    for (const std::uint32_t f : from) {
      const Corners corners = cornersOf(from_, f);
      const bool all = cells.around(from_.frames()[f].origin, [&](std::uint32_t g) {
        if (comparisons_left_ == 0) return false;
        --comparisons_left_;
        Pair pair = compare(corners, f, g);
        if (pair.move <= reach) pairs.push_back(pair);
        return true;
      });
      if (!all) return false;
    }
    std::sort(pairs.begin(), pairs.end());
    for (const Pair& pair : pairs) {
      if (out_.face[pair.from] != kNone || to_taken_[pair.to] != 0) continue;
      out_.face[pair.from] = pair.to;
      out_.corners[pair.from] = pair.order;
      move_[pair.from] = pair.move;
      to_taken_[pair.to] = 1;
    }
    return true;
  }

  Pair compare(const Corners& corners, std::uint32_t f, std::uint32_t g) const {
    const Corners others = cornersOf(to_, g);
    Pair best{std::numeric_limits<double>::infinity(), false, f, g, kOrders[0]};
    for (std::size_t o = 0; o < kOrders.size(); ++o) {
      double move = 0;
      for (std::size_t c = 0; c < 3; ++c)
        move = std::max(move, (corners[c] - others[kOrders[o][c]]).squaredNorm());
      if (move >= best.move) continue;
      best.move = move;
      best.turned = o >= 3;
      best.order = kOrders[o];
    }
    best.move = std::sqrt(best.move);
    return best;
  }

  /// Takes back the pairs that rounding does not explain, part by part of `to`: each has a grid of its own.
  void release() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> parts;
    for (std::uint32_t f = 0; f < from_.faceCount(); ++f) {
      if (out_.face[f] == kNone) continue;
      const FaceSource& source = to_.sources()[out_.face[f]];
      parts[{source.instance, source.primitive}].push_back(f);
    }
    for (const auto& [part, faces] : parts) {
      std::vector<double> moves;
      for (const std::uint32_t f : faces)
        moves.push_back(move_[f]);
      const auto middle = moves.begin() + static_cast<std::ptrdiff_t>(moves.size() / 2);
      std::nth_element(moves.begin(), middle, moves.end());
      const double tolerance = kMostToMedian * *middle + kFloatRounding;
      out_.tolerance = std::max(out_.tolerance, std::min(tolerance, kLastReach));
      for (const std::uint32_t f : faces) {
        if (move_[f] > tolerance) {
          to_taken_[out_.face[f]] = 0;
          out_.face[f] = kNone;
        } else {
          out_.largest_move = std::max(out_.largest_move, move_[f]);
        }
      }
    }
    if (parts.empty()) out_.tolerance = kLastReach;
  }

  Result<FaceMatching> finish() {
    const double thin = kThinInTolerances * out_.tolerance;
    std::size_t lost = 0, added = 0;  // that cannot be explained
    for (std::uint32_t f = 0; f < from_.faceCount(); ++f) {
      if (out_.face[f] != kNone) continue;
      heightOf(from_, f) <= thin ? ++out_.lost : ++lost;
    }
    for (std::uint32_t f = 0; f < to_.faceCount(); ++f) {
      if (to_taken_[f] != 0) continue;
      heightOf(to_, f) <= thin ? ++out_.added : ++added;
    }
    if (lost == 0 && added == 0 && out_.lost < from_.faceCount()) return std::move(out_);
    return inputError(
        fmt::format(
            "the shape differs: {} of {} of the kernels' mesh have no counterpart within {:.2g} of the "
            "longest side, and {} of {} of the other mesh are new",
            grouped(lost + out_.lost), plural(from_.faceCount(), "triangle", "triangles"),
            out_.tolerance / kExtent, grouped(added + out_.added),
            plural(to_.faceCount(), "triangle", "triangles")),
        error_code::kOtherShape);
  }

  const Surface& from_;
  const Surface& to_;
  FaceMatching out_;
  std::vector<double> move_;            // [F of from]
  std::vector<std::uint8_t> to_taken_;  // [F of to]
  std::size_t comparisons_left_ = 0;
};

}  // namespace

Result<FaceMatching> matchFaces(const Surface& from, const Surface& to) {
  return Matcher(from, to).run();
}

}  // namespace heatskin
