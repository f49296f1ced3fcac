// Window propagation in the order of distance.
//
// Chen and Han, "Shortest paths on a polyhedron", SoCG 1990: light from the source is unfolded over sequences
// of faces; where it meets a vertex of positive excess (or a reflex boundary vertex), the vertex becomes a
// source of its own. Xin and Wang, "Improving Chen and Han's algorithm on the discrete geodesic problem", ACM
// TOG 2009: a priority queue and a filter that throws away windows which a vertex already beats.
//
// Differs from both: windows are not kept in a tree and a window that loses its vertex later is not called
// back; the filter, asked again when a window's turn comes, catches nearly all of them, and keeping too many
// windows costs time but never a wrong distance. Windows overlap by a tolerance instead of meeting exactly,
// so that no vertex falls between two of them.

#include "heatskin/geodesic/exact_geodesic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <queue>
#include <span>

#include "heatskin/surface/normals.h"

namespace heatskin {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = std::numbers::pi;

/// Total angles this far above flat make a vertex a source of its own. Below, its shadow is narrower than the
/// overlap of windows.
constexpr double kExcessTolerance = 1e-11;

/// Windows are wider by this fraction of the edge: a path that cuts a corner by so little is shorter by its
/// square.
constexpr double kOverlap = 1e-10;

/// A window is thrown away if something else is shorter by more than this fraction; ties are kept.
constexpr double kTie = 1e-13;

/// Images of the source this close to each other (relative to their distance) are the same: one that came by
/// other faces, which flat parts allow. Unfolding loses a few roundings with each of some thousand edges.
constexpr double kSameImage = 1e-11;

/// A source closer to an edge or vertex than this (barycentric) is on it.
constexpr double kSnap = 1e-12;

/// Light that enters `half_edge`'s face through that edge. Coordinates: x along the half-edge from its first
/// corner, y into the face; the image of the source is at (x, -depth).
struct Window {
  double begin, end;  ///< lit part of the edge
  double x, depth;    ///< image of the source, depth >= 0
  double offset;      ///< length of the path from the true source to the image
  std::uint32_t half_edge;
  std::uint32_t level;  ///< edges crossed

  double distanceAt(double at) const { return offset + std::hypot(at - x, depth); }
  double nearest() const { return distanceAt(std::clamp(x, begin, end)); }
};

/// Some milliseconds: asking whether to stop costs nothing then.
constexpr std::size_t kEventsBetweenLooks = 4096;

/// The face of a half-edge in the window's coordinates.
struct Layout {
  double length = 0;  ///< second corner of the half-edge at (length, 0)
  double apex_x = 0, apex_y = 0;
  double left = 0;   ///< length of the edge from the apex to the first corner
  double right = 0;  ///< and to the second
};

class Propagation {
 public:
  Propagation(const Surface& surface, const ExactGeodesicOptions& options)
      : surface_(surface), options_(options), distance_(surface.vertexCount(), kInfinity) {
    layouts_.resize(std::size_t{3} * surface.faceCount());
    best_at_apex_.resize(layouts_.size());
    lit_.resize(layouts_.size());
    std::vector<double> angle(surface.vertexCount(), 0.0);
    for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
      for (std::uint32_t e = 0; e < 3; ++e) {
        layouts_[3 * f + e] = layOut(f, e);
        angle[surface.faces()[f][e]] +=
            cornerAngle(position(f, e), position(f, (e + 1) % 3), position(f, (e + 2) % 3));
      }
    }
    spreads_.resize(surface.vertexCount());
    for (std::uint32_t v = 0; v < surface.vertexCount(); ++v) {
      spreads_[v] = angle[v] > (surface.isBoundaryVertex(v) ? kPi : 2 * kPi) + kExcessTolerance;
    }
  }

  ExactGeodesicOutcome run(const SurfacePoint& source) {
    ExactGeodesicOutcome outcome;
    if (source.face < surface_.faceCount() && source.barycentric.allFinite()) start(source);
    const std::size_t most = options_.max_windows_per_face * surface_.faceCount();
    for (std::size_t events = 0; !queue_.empty(); ++events) {
      if (options_.progress != nullptr && events % kEventsBetweenLooks == 0 &&
          options_.progress->cancelled()) {
        outcome.complete = false;
        outcome.cancelled = true;
        break;
      }
      const Event event = queue_.top();
      queue_.pop();
      if (event.distance > options_.radius) break;
      if (event.is_vertex) {
        // Overtaken entries stay in the queue and are recognised by their distance.
        if (event.distance <= distance_[event.index]) spreadFrom(event.index);
        continue;
      }
      Window window = windows_[event.index];
      free_.push_back(event.index);
      if (!takeNews(window)) continue;
      if (outcome.windows >= most) {
        outcome.complete = false;
        break;
      }
      ++outcome.windows;
      propagate(window);
    }
    for (double& d : distance_) {
      if (d > options_.radius) d = kInfinity;
    }
    outcome.distances = std::move(distance_);
    return outcome;
  }

 private:
  struct Event {
    double distance;
    std::uint32_t index;  ///< a vertex, or a place in windows_
    bool is_vertex;
    // Nearest first; the index makes the order, and with it every rounding, the same each time.
    bool operator<(const Event& other) const {
      if (distance != other.distance) return distance > other.distance;
      if (is_vertex != other.is_vertex) return !is_vertex;
      return index > other.index;
    }
  };

  const Vec3& position(std::uint32_t face, std::uint32_t k) const {
    return surface_.positions()[surface_.faces()[face][k]];
  }

  Layout layOut(std::uint32_t face, std::uint32_t e) const {
    const Vec3 a = position(face, e), b = position(face, (e + 1) % 3), c = position(face, (e + 2) % 3);
    Layout layout;
    layout.length = (b - a).norm();
    layout.left = (c - a).norm();
    layout.right = (c - b).norm();
    layout.apex_x = (c - a).dot(b - a) / layout.length;
    layout.apex_y = (b - a).cross(c - a).norm() / layout.length;
    return layout;
  }

  void reach(std::uint32_t vertex, double distance) {
    if (!(distance < distance_[vertex])) return;
    distance_[vertex] = distance;
    if (spreads_[vertex]) queue_.push({distance, vertex, true});
  }

  void start(const SurfacePoint& source) {
    Vec3 barycentric = source.barycentric.cwiseMax(0.0);
    if (!(barycentric.sum() > 0)) return;
    barycentric /= barycentric.sum();
    const auto& face = surface_.faces()[source.face];
    for (std::uint32_t k = 0; k < 3; ++k) {
      if (barycentric[k] < 1 - kSnap) continue;
      distance_[face[k]] = 0;
      spreadFrom(face[k]);
      return;
    }
    lightFace(source.face, barycentric);
    for (std::uint32_t e = 0; e < 3; ++e) {
      if (barycentric[(e + 2) % 3] >= kSnap) continue;
      // On edge e: the face on the other side is lit from within, too.
      const std::uint32_t twin = surface_.twins()[source.face][e];
      if (twin == kNone) continue;
      Vec3 there = Vec3::Zero();
      there[twin % 3] = barycentric[(e + 1) % 3];
      there[(twin % 3 + 1) % 3] = barycentric[e];
      lightFace(twin / 3, there);
    }
  }

  void lightFace(std::uint32_t face, const Vec3& barycentric) {
    const Vec3 p = barycentric[0] * position(face, 0) + barycentric[1] * position(face, 1) +
                   barycentric[2] * position(face, 2);
    for (std::uint32_t e = 0; e < 3; ++e) {
      reach(surface_.faces()[face][e], (p - position(face, e)).norm());
      const std::uint32_t twin = surface_.twins()[face][e];
      if (twin == kNone || barycentric[(e + 2) % 3] < kSnap) continue;
      const Layout& layout = layouts_[3 * face + e];
      const double along = (p - position(face, e)).dot(position(face, (e + 1) % 3) - position(face, e));
      push({0, layout.length, layout.length - along / layout.length, barycentric[(e + 2) % 3] * layout.apex_y,
            0, twin, 0});
    }
  }

  /// The vertex as a source: the edges of its faces, and through their opposite edges all round.
  void spreadFrom(std::uint32_t vertex) {
    const std::uint32_t first = surface_.vertexHalfEdge()[vertex];
    std::uint32_t half_edge = first;
    const double offset = distance_[vertex];
    do {
      const std::uint32_t face = half_edge / 3, k = half_edge % 3;
      const auto& corners = surface_.faces()[face];
      const Layout& opposite = layouts_[3 * face + (k + 1) % 3];  // its apex is the vertex
      reach(corners[(k + 1) % 3], offset + opposite.left);
      reach(corners[(k + 2) % 3], offset + opposite.right);
      const std::uint32_t twin = surface_.twins()[face][(k + 1) % 3];
      if (twin != kNone) {
        push({0, opposite.length, opposite.length - opposite.apex_x, opposite.apex_y, offset, twin, 0});
      }
      half_edge = surface_.twins()[face][(k + 2) % 3];
    } while (half_edge != kNone && half_edge != first);
  }

  void push(const Window& window) {
    if (window.level > surface_.faceCount()) return;  // a shortest path meets a face once
    const double nearest = window.nearest();
    if (!(nearest <= options_.radius) || beaten(window)) return;
    std::uint32_t place;
    if (free_.empty()) {
      place = static_cast<std::uint32_t>(windows_.size());
      windows_.push_back(window);
    } else {
      place = free_.back();
      free_.pop_back();
      windows_[place] = window;
    }
    queue_.push({nearest, place, false});
  }

  /// Xin and Wang's filter: the path from an end of the edge along the edge, or from the vertex behind it to
  /// the near end of the window, crosses all rays of the window; if it is shorter where it ends, it is
  /// everywhere.
  bool beaten(const Window& window) const {
    const std::uint32_t face = window.half_edge / 3, e = window.half_edge % 3;
    const auto& corners = surface_.faces()[face];
    const double length = layouts_[window.half_edge].length;
    const double to_begin = window.distanceAt(window.begin) * (1 - kTie);
    const double to_end = window.distanceAt(window.end) * (1 - kTie);
    if (distance_[corners[e]] + window.end < to_end) return true;
    if (distance_[corners[(e + 1) % 3]] + (length - window.begin) < to_begin) return true;
    if (window.level == 0) return false;  // straight from a source in the face behind
    const std::uint32_t twin = surface_.twins()[face][e];
    const Layout& behind = layouts_[twin];
    const double distance = distance_[surface_.faces()[twin / 3][(twin % 3 + 2) % 3]];
    // The vertex behind is at (length - apex_x, -apex_y); it lies to the left or to the right of the light.
    const double x = length - behind.apex_x;
    const double near_begin = std::hypot(x - window.begin, behind.apex_y);
    const double near_end = std::hypot(x - window.end, behind.apex_y);
    const auto side = [&](double at) {  // of the ray through `at`: positive when the vertex is to its right
      return (x - window.x) * window.depth - (at - window.x) * (window.depth - behind.apex_y);
    };
    if (side(window.end) >= 0 && distance + near_begin < to_begin) return true;
    return side(window.begin) <= 0 && distance + near_end < to_end;
  }

  /// Cuts off the part of the window through which the same light has gone already; false if nothing is left.
  /// Where rays meet vertices exactly, as in flat regular grids, both windows beside the vertex overlap by a
  /// sliver, which would double at every further vertex.
  bool takeNews(Window& window) {
    Lit& lit = lit_[window.half_edge];
    const double length = layouts_[window.half_edge].length;
    const double same = kSameImage * (window.offset + std::abs(window.x) + window.depth + length);
    if (std::abs(window.x - lit.x) > same || std::abs(window.depth - lit.depth) > same ||
        std::abs(window.offset - lit.offset) > same) {
      // Other light: the wider window is the one that slivers will follow.
      if (window.end - window.begin > lit.end - lit.begin)
        lit = {window.begin, window.end, window.x, window.depth, window.offset};
      return true;
    }
    const double slack = kOverlap * length;
    if (window.begin > lit.end + slack || window.end < lit.begin - slack) return true;  // apart
    const bool before = window.begin<lit.begin - slack, after = window.end> lit.end + slack;
    if (!before && !after) return false;
    const double first = lit.begin, last = lit.end;
    lit.begin = std::min(lit.begin, window.begin);
    lit.end = std::max(lit.end, window.end);
    if (!before) window.begin = std::max(window.begin, last - slack);
    if (!after) window.end = std::min(window.end, first + slack);
    return true;
  }

  void propagate(const Window& window) {
    if (beaten(window)) return;
    const Layout& layout = layouts_[window.half_edge];
    const std::uint32_t face = window.half_edge / 3, e = window.half_edge % 3;
    const double height = window.depth + layout.apex_y;
    if (!(height > 0)) return;
    // Where the ray to the apex crosses the edge.
    const double through = window.x + (layout.apex_x - window.x) * (window.depth / height);
    const double slack = kOverlap * layout.length;
    bool to_left = window.begin<through, to_right = window.end> through;
    if (through >= window.begin - slack && through <= window.end + slack) {
      const double distance = window.offset + std::hypot(layout.apex_x - window.x, height);
      reach(surface_.faces()[face][(e + 2) % 3], distance);
      // One angle, one split: of the windows that see the apex through this edge only the nearest goes on to
      // both sides; another one is shorter nowhere beyond the nearest one's ray.
      Best& best = best_at_apex_[window.half_edge];
      if (distance < best.distance) {
        best = {distance, through};
      } else if (std::abs(through - best.through) > slack) {
        (through < best.through ? to_right : to_left) = false;
      }
    }
    if (to_left) pass(window, layout, true, through);
    if (to_right) pass(window, layout, false, through);
  }

  /// The part of the light that leaves through the edge from the first corner to the apex (left), or from the
  /// apex to the second corner.
  void pass(const Window& window, const Layout& layout, bool left, double through) {
    const std::uint32_t face = window.half_edge / 3, e = window.half_edge % 3;
    const std::uint32_t out = left ? (e + 2) % 3 : (e + 1) % 3;
    const std::uint32_t twin = surface_.twins()[face][out];
    if (twin == kNone) return;
    // The twin runs from the first corner to the apex (left), or from the apex to the second corner.
    const double from_x = left ? 0 : layout.apex_x, from_y = left ? 0 : layout.apex_y;
    const double length = left ? layout.left : layout.right;
    const double unit_x = (left ? layout.apex_x : layout.length - layout.apex_x) / length;
    const double unit_y = (left ? layout.apex_y : -layout.apex_y) / length;
    const double dx = window.x - from_x, dy = -window.depth - from_y;
    Window next;
    next.x = dx * unit_x + dy * unit_y;
    next.depth = std::max(0.0, -(unit_x * dy - unit_y * dx));
    next.offset = window.offset;
    next.half_edge = twin;
    next.level = window.level + 1;
    const double begin = left ? window.begin : std::max(window.begin, through);
    const double end = left ? std::min(window.end, through) : window.end;
    const double slack = kOverlap * length;
    const double b = hit(window, begin, from_x, from_y, unit_x, unit_y, length);
    const double c = hit(window, end, from_x, from_y, unit_x, unit_y, length);
    // A corner of the window that is a corner of the face stays one, without rounding.
    next.begin = left ? (window.begin <= 0 ? 0 : b) : (window.begin <= through ? 0 : b);
    next.end = left ? (window.end >= through ? length : c) : (window.end >= layout.length ? length : c);
    next.begin = std::max(0.0, next.begin - slack);
    next.end = std::min(length, next.end + slack);
    if (!(next.begin < next.end)) return;
    push(next);
  }

  /// Where the ray through `at` on the edge meets the line from (from_x, from_y) in the unit direction.
  static double hit(const Window& window, double at, double from_x, double from_y, double unit_x,
                    double unit_y, double length) {
    const double ray_x = at - window.x, ray_y = window.depth;
    const double to_first = ray_x * from_y - ray_y * (from_x - at);
    const double speed = ray_x * unit_y - ray_y * unit_x;
    const double t = -to_first / speed;
    return std::isfinite(t) ? std::clamp(t, 0.0, length) : (to_first > 0 ? 0.0 : length);
  }

  struct Best {
    double distance = kInfinity;
    double through = 0;
  };

  /// The widest light that has gone through a half-edge.
  struct Lit {
    double begin = 0, end = 0;
    double x = kInfinity, depth = 0, offset = 0;
  };

  const Surface& surface_;
  const ExactGeodesicOptions& options_;
  std::vector<double> distance_;       // [V]
  std::vector<std::uint8_t> spreads_;  // [V]
  std::vector<Layout> layouts_;        // [3 F]
  std::vector<Best> best_at_apex_;     // [3 F]
  std::vector<Lit> lit_;               // [3 F]
  std::vector<Window> windows_;        // a pool; free_ lists the unused places
  std::vector<std::uint32_t> free_;
  std::priority_queue<Event> queue_;
};

}  // namespace

ExactGeodesicOutcome exactGeodesics(const Surface& surface, const SurfacePoint& source,
                                    const ExactGeodesicOptions& options) {
  return Propagation(surface, options).run(source);
}

ExactGeodesicOutcome exactGeodesics(const Surface& surface, std::uint32_t source_vertex,
                                    const ExactGeodesicOptions& options) {
  SurfacePoint source{kNone, Vec3::Zero()};
  if (source_vertex < surface.vertexCount() && surface.vertexHalfEdge()[source_vertex] != kNone) {
    const std::uint32_t half_edge = surface.vertexHalfEdge()[source_vertex];
    source.face = half_edge / 3;
    source.barycentric[half_edge % 3] = 1;
  }
  return exactGeodesics(surface, source, options);
}

}  // namespace heatskin
