#include "heatskin/bake/atlas_charts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace heatskin {
namespace {

/// Faces of a chart may cover each other by this part of the smaller one's size: rounding, and the slight
/// overlap of faces around a vertex with a little too much angle, which are neighbours on the surface anyway.
constexpr double kOverlapTolerance = 1e-3;

/// Corners of one vertex that come out this near to each other, as part of the face's size, are one: around a
/// flat vertex, the way left and the way right lead to the same place.
constexpr double kSamePlace = 1e-6;

/// Gap between faces of a chart that are no neighbours, as part of the square root of the whole area: two
/// texels of an image of 1024 x 1024 that is half used.
constexpr double kGap = 0.003;

/// And as part of the size of the smaller face: in a fine mesh the second next face is nearer than kGap.
constexpr double kFineGap = 0.25;

/// A chart that fills less of its rectangle than kLeastFill is cut to its first half, unless it has no more
/// than kFewFaces: arcs and stars leave room that nobody can use.
constexpr double kLeastFill = 0.5;
constexpr std::size_t kFewFaces = 6;

/// A triangle narrower than this part of its longest edge is a point.
constexpr double kLeastHeight = 1e-9;

/// A triangle of the plane with its bounding box.
struct PlaneFace {
  std::uint32_t face = 0;
  std::array<Vec2, 3> corners;
  Vec2 low, high;
  double size = 0;  ///< square root of the area

  void finish(double area) {
    low = corners[0].cwiseMin(corners[1]).cwiseMin(corners[2]);
    high = corners[0].cwiseMax(corners[1]).cwiseMax(corners[2]);
    size = std::sqrt(area);
  }
};

/// The smallest depth of a line's separation: how far b reaches over the edges of a; negative: apart.
double depthOver(const std::array<Vec2, 3>& a, const std::array<Vec2, 3>& b) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t e = 0; e < 3; ++e) {
    const Vec2 way = a[(e + 1) % 3] - a[e];
    const double length = way.norm();
    if (!(length > 0)) continue;
    const Vec2 inwards = perp(way) / length;  // faces are counter-clockwise
    double deepest = -std::numeric_limits<double>::infinity();
    for (const Vec2& corner : b)
      deepest = std::max(deepest, inwards.dot(corner - a[e]));
    least = std::min(least, deepest);
  }
  return least;
}

/// Faces that share no vertex keep apart by `gap`: filters would mix what has nothing to do with each other.
/// Those that share one may touch: both sides of the gap between them are one edge, or begin at one vertex.
bool overlap(const PlaneFace& a, const PlaneFace& b, bool share_vertex, double gap) {
  const double smaller = std::min(a.size, b.size);
  const double tolerance = share_vertex ? kOverlapTolerance * smaller : -std::min(gap, kFineGap * smaller);
  for (int c = 0; c < 2; ++c) {
    if (a.low[c] + tolerance >= b.high[c] || b.low[c] + tolerance >= a.high[c]) return false;
  }
  return depthOver(a.corners, b.corners) > tolerance && depthOver(b.corners, a.corners) > tolerance;
}

/// Twice the area vector of a triangle; not finite if a corner is not.
Vec3 doubleArea(const std::array<Vec3, 3>& corners) {
  return (corners[1] - corners[0]).cross(corners[2] - corners[0]);
}

bool hasShape(const std::array<Vec3, 3>& corners) {
  double longest2 = 0;
  for (std::size_t e = 0; e < 3; ++e)
    longest2 = std::max(longest2, (corners[(e + 1) % 3] - corners[e]).squaredNorm());
  const double area2 = doubleArea(corners).norm();
  return std::isfinite(longest2) && std::isfinite(area2) && longest2 > 0 && area2 > kLeastHeight * longest2;
}

/// The corner of a triangle opposite edge e, when the edge lies from p to q, to the left of it.
Vec2 apexOf(const std::array<Vec3, 3>& corners, std::size_t e, const Vec2& p, const Vec2& q) {
  const Vec3 way = corners[(e + 1) % 3] - corners[e], to_apex = corners[(e + 2) % 3] - corners[e];
  const double length2 = way.squaredNorm();
  const double along = to_apex.dot(way) / length2, height = way.cross(to_apex).norm() / length2;
  return p + along * (q - p) + height * perp(Vec2(q - p));
}

/// Grows one chart after the other; arrays are made once.
class ChartGrower {
 public:
  ChartGrower(const AtlasMesh& mesh, const ChartOptions& options)
      : mesh_(mesh),
        least_cosine_(std::cos(options.max_turn * std::numbers::pi / 180)),
        most_(std::max<std::size_t>(options.max_faces, 1)) {
    double total = 0;
    for (const auto& corners : mesh.corners) {
      if (hasShape(corners)) total += 0.5 * doubleArea(corners).norm();
    }
    gap_ = kGap * std::sqrt(total);
    charts_.chart_of.assign(mesh.size(), kNone);
    charts_.corners.assign(mesh.size(), {Vec2::Zero(), Vec2::Zero(), Vec2::Zero()});
  }

  AtlasCharts run() {
    // The next chart begins beside those that are there: fewer crumbs are left between charts.
    for (std::uint32_t first = 0; first < mesh_.size(); ++first) {
      seeds_.assign(1, first);
      for (std::size_t next = 0; next < seeds_.size(); ++next) {
        if (charts_.chart_of[seeds_[next]] == kNone) grow(seeds_[next]);
      }
    }
    return std::move(charts_);
  }

 private:
  void grow(std::uint32_t seed) {
    const auto chart = static_cast<std::uint32_t>(charts_.sizes.size());
    faces_.clear();
    if (!hasShape(mesh_.corners[seed])) {
      charts_.chart_of[seed] = chart;
      charts_.sizes.emplace_back(0, 0);
      charts_.areas.push_back(0);
      return;
    }
    const Vec3 axis = doubleArea(mesh_.corners[seed]).normalized();
    const double length = (mesh_.corners[seed][1] - mesh_.corners[seed][0]).norm();
    const Vec2 origin = Vec2::Zero(), end(length, 0);
    add(seed, chart, {origin, end, apexOf(mesh_.corners[seed], 0, origin, end)});
    for (std::size_t next = 0; next < faces_.size(); ++next) {
      const PlaneFace from = faces_[next];
      for (std::size_t e = 0; e < 3; ++e)
        tryAcross(from, e, chart, axis);
    }
    // Later faces are attached to earlier ones, never the other way round.
    Rectangle rectangle = smallestRectangle();
    while (faces_.size() > kFewFaces && area() < kLeastFill * rectangle.size.prod()) {
      const std::size_t kept = faces_.size() / 2;
      for (std::size_t i = kept; i < faces_.size(); ++i) {
        charts_.chart_of[faces_[i].face] = kNone;
        seeds_.push_back(faces_[i].face);
      }
      faces_.resize(kept);
      rectangle = smallestRectangle();
    }
    finish(rectangle);
  }

  bool shareVertex(std::uint32_t a, std::uint32_t b) const {
    for (const std::uint32_t v : mesh_.vertices[a]) {
      if (std::find(mesh_.vertices[b].begin(), mesh_.vertices[b].end(), v) != mesh_.vertices[b].end())
        return true;
    }
    return false;
  }

  double area() const {
    double sum = 0;
    for (const PlaneFace& face : faces_)
      sum += face.size * face.size;
    return sum;
  }

  void tryAcross(const PlaneFace& from, std::size_t e, std::uint32_t chart, const Vec3& axis) {
    const std::uint32_t twin = mesh_.across[from.face][e];
    if (twin == kNone || twin / 3 >= mesh_.size()) return;
    const std::uint32_t face = twin / 3;
    const std::size_t t = twin % 3;
    if (charts_.chart_of[face] != kNone || mesh_.across[face][t] != 3 * from.face + e) return;
    if (!hasShape(mesh_.corners[face])) return;
    PlaneFace added;
    added.face = face;
    added.corners[t] = from.corners[(e + 1) % 3];
    added.corners[(t + 1) % 3] = from.corners[e];
    added.corners[(t + 2) % 3] = apexOf(mesh_.corners[face], t, added.corners[t], added.corners[(t + 1) % 3]);
    const Vec3 area = 0.5 * doubleArea(mesh_.corners[face]);
    joinPlaces(added, (t + 2) % 3, std::sqrt(area.norm()));
    added.finish(area.norm());
    const bool fits = faces_.size() < most_ && area.dot(axis) >= least_cosine_ * area.norm() &&
                      std::none_of(faces_.begin(), faces_.end(), [&](const PlaneFace& other) {
                        if (other.face == from.face) return false;
                        ++charts_.overlap_tests;
                        return overlap(added, other, shareVertex(face, other.face), gap_);
                      });
    if (fits) {
      add(face, chart, added.corners);
    } else {
      seeds_.push_back(face);
    }
  }

  /// Moves a corner to where its vertex is in the chart already, if that is the same place.
  void joinPlaces(PlaneFace& added, std::size_t corner, double size) const {
    const std::uint32_t vertex = mesh_.vertices[added.face][corner];
    for (const PlaneFace& other : faces_) {
      for (std::size_t c = 0; c < 3; ++c) {
        if (mesh_.vertices[other.face][c] != vertex) continue;
        if ((other.corners[c] - added.corners[corner]).norm() <= kSamePlace * size) {
          added.corners[corner] = other.corners[c];
          return;
        }
      }
    }
  }

  void add(std::uint32_t face, std::uint32_t chart, const std::array<Vec2, 3>& corners) {
    PlaneFace added{face, corners, {}, {}, 0};
    added.finish(0.5 * doubleArea(mesh_.corners[face]).norm());
    faces_.push_back(added);
    charts_.chart_of[face] = chart;
  }

  /// A rectangle of the plane: coordinates along `axis` and to its left, from `low` on.
  struct Rectangle {
    Vec2 axis = {1, 0}, low = {0, 0}, size = {0, 0};
  };

  /// The smallest one around the chart. It has a side along an edge of the convex hull (Freeman and Shapira,
  /// "Determining the minimum-area encasing rectangle for an arbitrary closed curve", 1975).
  Rectangle smallestRectangle() {
    hull();
    Rectangle best;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < hull_.size(); ++i) {
      const Vec2 way = hull_[(i + 1) % hull_.size()] - hull_[i];
      const double length = way.norm();
      if (!(length > 0)) continue;
      const Vec2 axis = way / length;
      Vec2 low(std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity());
      Vec2 high = -low;
      for (const Vec2& p : hull_) {
        const Vec2 q(axis.dot(p), perp(axis).dot(p));
        low = low.cwiseMin(q);
        high = high.cwiseMax(q);
      }
      const Vec2 size = high - low;
      if (size.prod() >= least) continue;
      least = size.prod();
      best = {axis, low, size};
    }
    return best;
  }

  /// Turns the chart into its rectangle and stores it.
  void finish(const Rectangle& rectangle) {
    const bool upright = rectangle.size.y() > rectangle.size.x();
    for (const PlaneFace& face : faces_) {
      for (std::size_t c = 0; c < 3; ++c) {
        const Vec2& p = face.corners[c];
        Vec2 q = Vec2(rectangle.axis.dot(p), perp(rectangle.axis).dot(p)) - rectangle.low;
        if (upright) q = Vec2(q.y(), rectangle.size.x() - q.x());  // a quarter turn clockwise
        charts_.corners[face.face][c] = q;
      }
    }
    charts_.sizes.push_back(upright ? Vec2(rectangle.size.y(), rectangle.size.x()) : rectangle.size);
    charts_.areas.push_back(area());
  }

  /// The convex hull of the chart's corners, counter-clockwise (Andrew's monotone chain).
  void hull() {
    points_.clear();
    for (const PlaneFace& face : faces_)
      points_.insert(points_.end(), face.corners.begin(), face.corners.end());
    std::sort(points_.begin(), points_.end(),
              [](const Vec2& a, const Vec2& b) { return a.x() != b.x() ? a.x() < b.x() : a.y() < b.y(); });
    points_.erase(std::unique(points_.begin(), points_.end()), points_.end());
    hull_.clear();
    const auto extend = [&](const Vec2& p, std::size_t least) {
      while (hull_.size() >= least && cross2(hull_.back() - hull_[hull_.size() - 2], p - hull_.back()) <= 0)
        hull_.pop_back();
      hull_.push_back(p);
    };
    for (const Vec2& p : points_)
      extend(p, 2);
    const std::size_t lower = hull_.size() + 1;
    for (std::size_t i = points_.size(); i-- > 1;)
      extend(points_[i - 1], lower);
    if (hull_.size() > 1) hull_.pop_back();
  }

  const AtlasMesh& mesh_;
  double least_cosine_;
  double gap_ = 0;
  std::size_t most_;
  AtlasCharts charts_;
  std::vector<PlaneFace> faces_;      // of the chart that grows
  std::vector<std::uint32_t> seeds_;  // faces beside charts
  std::vector<Vec2> points_, hull_;
};

}  // namespace

AtlasMesh atlasMesh(const Surface& surface, std::span<const std::uint32_t> faces,
                    std::span<const std::uint32_t> parts) {
  AtlasMesh mesh;
  std::vector<std::uint32_t> place(surface.faceCount(), kNone);
  for (std::size_t i = 0; i < faces.size(); ++i)
    place[faces[i]] = static_cast<std::uint32_t>(i);
  for (std::size_t i = 0; i < faces.size(); ++i) {
    const std::uint32_t f = faces[i];
    auto& corners = mesh.corners.emplace_back();
    auto& across = mesh.across.emplace_back();
    mesh.vertices.push_back(surface.faces()[f]);
    for (std::size_t c = 0; c < 3; ++c) {
      corners[c] = surface.positions()[surface.faces()[f][c]];
      const std::uint32_t twin = surface.twins()[f][c];
      const std::uint32_t there = twin == kNone ? kNone : place[twin / 3];
      across[c] =
          there == kNone || (!parts.empty() && parts[there] != parts[i]) ? kNone : 3 * there + twin % 3;
    }
  }
  return mesh;
}

double AtlasCharts::totalArea() const {
  return std::accumulate(areas.begin(), areas.end(), 0.0);
}

AtlasCharts growCharts(const AtlasMesh& mesh, const ChartOptions& options) {
  return ChartGrower(mesh, options).run();
}

}  // namespace heatskin
