#include "heatskin/evaluators/local/supports.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "heatskin/base/parallel.h"
#include "heatskin/evaluators/local/edge_window.h"

namespace heatskin::local {
namespace {

/// Blocks of sources: enough for balance, few enough that the per-block face histograms stay small.
constexpr std::size_t kBlocks = 16, kLeastBlock = 16;

/// Sources are propagated in so many rounds, of no fewer than so many.
constexpr std::size_t kRounds = 8, kLeastRound = 16384;

/// Twice the area between a centre and an edge, relative to the squared edge length, that is float rounding.
constexpr double kBehindSlack = 1e-6;

/// A face whose longest edge is this many times its height is a needle. The circle around its centroid, by
/// which others are tested, is then almost empty: in a fan of 20,000 triangles every kernel would reach all
/// of them. Needles are tested by their distance instead. (On spot no face is one: at most 6.5.)
constexpr double kNeedle = 10;

/// A coordinate no support reaches; puts missing neighbours out of every radius, and its square is finite.
constexpr float kNowhere = 1e15f;

/// Four floats side by side (a language extension of GCC and Clang on every processor).
using Lanes = float __attribute__((vector_size(16)));

Lanes lanes(const float (&values)[4]) {
  Lanes v;
  std::memcpy(&v, values, sizeof(v));
  return v;
}

/// How often a face may pass on what it sees. With carried sight a second arrival often sees faces the first
/// one cannot; a third gained nothing on spot (docs/results/geometry.md).
template <Sight kSight>
constexpr std::uint32_t kVisits = kSight == Sight::kCarried ? 2 : 1;

/// Two places of a vertex are one when they are no farther from each other than this, in distances from the
/// source (squared): 60 degrees.
constexpr float kJoinable = 1.0f;

/// Differences of a vertex's places up to this, in surface units, are float rounding.
constexpr float kSamePlace = 1e-6f;

/// Faces with less area than this, relative to their squared edges, keep their own development: a linear map
/// between corners that lie on a line is rounding and nothing else.
constexpr float kSliver = 1e-5f;

std::uint64_t nextBuilder() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace

/// A face, and how it was reached.
struct SupportBuilder::Arrival {
  std::uint32_t face;
  Development development;
  Point center;
};

/// An arrival that knows what is visible of the edge it came through, in the face's coordinates.
struct SupportBuilder::SeenArrival : Arrival {
  Visible visible;
};

/// The steps across a face's three edges at once, in the coordinates of the neighbours.
struct SupportBuilder::Steps {
  Lanes x, y;          ///< the developed centre S
  Lanes squared;       ///< |S|^2; the origin is the neighbour's centroid
  Lanes slope, along;  ///< the line from S to the origin meets the edge's at along / slope edge lengths
  decltype(Lanes() < Lanes()) passes;  ///< nonzero: within reach, and through the edge

  Steps(const Hinges& hinges, const Point& center, float radius, float tolerance) {
    const Lanes cosine = lanes(hinges.cosine), sine = lanes(hinges.sine);
    x = cosine * center.x - sine * center.y + lanes(hinges.x);
    y = sine * center.x + cosine * center.y + lanes(hinges.y);
    squared = x * x + y * y;
    // The line from S to the origin meets the edge a + w (b - a) where cross(a + w (b - a), S) = 0.
    slope = lanes(hinges.ex) * y - lanes(hinges.ey) * x;
    along = lanes(hinges.ay) * x - lanes(hinges.ax) * y;
    const Lanes reach = lanes(hinges.radius) + radius;
    const Lanes one_end = -tolerance * slope, other_end = (1 + tolerance) * slope;
    const Lanes low = one_end < other_end ? one_end : other_end;
    const Lanes high = one_end < other_end ? other_end : one_end;
    passes = (squared < reach * reach) & (along >= low) & (along <= high) & (slope <= lanes(hinges.behind));
  }
};

/// Places of a vertex, as the faces around it see them.
struct SupportBuilder::JoinedVertex {
  std::uint32_t stamp = 0, count = 0;
  std::uint32_t last_corner = kNone;  ///< the corners form a list
  float x = 0, y = 0;                 ///< sums
  float low_x = 0, low_y = 0, high_x = 0, high_y = 0;
};

/// A thread's memory for one propagation after another.
struct SupportBuilder::Scratch {
  std::vector<Arrival> arrivals;  // in the order they were found
  std::vector<SeenArrival> seen_arrivals;
  /// Length and arrival in one number, so that the heap moves eight bytes: bits of a non-negative
  /// float sort like the float, and equal lengths go by arrival.
  std::vector<std::uint64_t> heap;
  std::vector<std::uint32_t> stamps;  // [F] epoch + visits; epoch or less: none
  std::uint32_t epoch = 0;

  template <Sight kSight>
  auto& arrivalsOf() {
    if constexpr (kSight == Sight::kCarried) {
      return seen_arrivals;
    } else {
      return arrivals;
    }
  }

  /// No face has been visited. Returns the stamp of such faces; up to `visits` more may follow.
  std::uint32_t beginVisits(std::size_t faces, std::uint32_t visits) {
    if (stamps.size() != faces || epoch > kNone - 2 * visits) {
      stamps.assign(faces, 0);
      epoch = 0;
    }
    const std::uint32_t fresh = epoch;
    epoch += visits;
    return fresh;
  }

  /// For unfoldings that are known.
  std::vector<Arrival> followed;                             // of the steps
  std::vector<std::pair<float, std::uint32_t>> by_distance;  // steps that count
  std::vector<UnfoldStep> steps;
  std::vector<std::uint32_t> step_order;

  struct Corner {
    float x, y;              ///< where its face alone sees it
    float joint_x, joint_y;  ///< where it shall be
    std::uint32_t previous;  ///< corner at the same vertex, or kNone
  };
  std::vector<JoinedVertex> vertices;  // [V]
  std::vector<Corner> corners;         // [pair, 3]
  std::vector<std::uint32_t> reached_vertices, corners_left;
  std::vector<Reached> reached;
  std::uint32_t vertex_epoch = 0;
};

SupportBuilder::SupportBuilder(const Surface& surface, const LocalOptions& options)
    : hinges_(surface.faceCount()),
      triangles_(options.join_corners && !options.euclidean ? surface.faceCount() : 0),
      face_count_(surface.faceCount()),
      vertex_count_(surface.vertexCount()),
      sight_(options.sight),
      edge_tolerance_(static_cast<float>(options.edge_tolerance)),
      id_(nextBuilder()),
      scratch_(std::make_unique<PerThread<Scratch>>()) {
  parallelFor(surface.faceCount(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t f = begin; f < end; ++f) {
      Hinges& hinges = hinges_[f];
      hinges = {};
      std::uint32_t needles = 0;
      for (std::size_t e = 0; e < 4; ++e) {
        const std::uint32_t twin = e < 3 ? surface.twins()[f][e] : kNone;
        hinges.face[e] = twin == kNone ? kNone : twin / 3;
        if (twin == kNone) {
          hinges.x[e] = kNowhere;
          continue;
        }
        const Rigid2 motion = surface.neighbourFromFace(static_cast<std::uint32_t>(f), static_cast<int>(e));
        const auto& corners = surface.corners()[twin / 3];
        const Vec2 &a = corners[twin % 3], &b = corners[(twin % 3 + 1) % 3];
        const Vec2 edge = b - a;
        hinges.cosine[e] = static_cast<float>(motion.cosine);
        hinges.sine[e] = static_cast<float>(motion.sine);
        hinges.x[e] = static_cast<float>(motion.translation.x());
        hinges.y[e] = static_cast<float>(motion.translation.y());
        hinges.ax[e] = static_cast<float>(a.x());
        hinges.ay[e] = static_cast<float>(a.y());
        hinges.ex[e] = static_cast<float>(edge.x());
        hinges.ey[e] = static_cast<float>(edge.y());
        // Left of a -> b is the neighbour's inside; a centre on the edge itself counts as behind.
        hinges.behind[e] =
            static_cast<float>(edge.x() * a.y() - edge.y() * a.x() + kBehindSlack * edge.squaredNorm());
        hinges.radius[e] = static_cast<float>(std::sqrt(
            std::max({corners[0].squaredNorm(), corners[1].squaredNorm(), corners[2].squaredNorm()})));
        double longest2 = 0;
        for (std::size_t c = 0; c < 3; ++c)
          longest2 = std::max(longest2, (corners[(c + 1) % 3] - corners[c]).squaredNorm());
        if (longest2 > kNeedle * std::abs(cross2(corners[1] - corners[0], corners[2] - corners[0])))
          needles |= 1u << e;
      }
      hinges.face[kNeedles] = needles;
      if (triangles_.empty()) continue;
      for (std::size_t c = 0; c < 3; ++c) {
        triangles_[f].vertices[c] = surface.faces()[f][c];
        triangles_[f].x[c] = static_cast<float>(surface.corners()[f][c].x());
        triangles_[f].y[c] = static_cast<float>(surface.corners()[f][c].y());
      }
    }
  });
}

SupportBuilder::~SupportBuilder() = default;

void SupportBuilder::propagateInto(const SupportSource& source, Scratch& scratch,
                                   std::vector<Reached>& out) const {
  if (sight_ == Sight::kCarried) {
    propagateSeeing<Sight::kCarried>(source, scratch, out);
  } else {
    propagateSeeing<Sight::kLastEdge>(source, scratch, out);
  }
}

/// The centroid of the neighbour is the origin, and of its corners two are the ends of the edge.
inline bool SupportBuilder::reachesNeedle(const Hinges& hinges, int edge, const Point& center, float radius) {
  const Segment shared = hinges.edge(edge);
  const Point a = shared.start, b = shared.start + shared.along, c = Point{0, 0} - a - b;
  const float nearest = std::min(
      {squaredToSegment(center, a, b), squaredToSegment(center, b, c), squaredToSegment(center, c, a)});
  return !(nearest > radius * radius);
}

/// The development goes on over the edge; `center` is the source's in the neighbour's coordinates.
inline SupportBuilder::Arrival SupportBuilder::arriveAcross(const Hinges& hinges, int edge,
                                                            const Development& from, const Point& center) {
  const float c = hinges.cosine[edge], n = hinges.sine[edge];
  const Point moved = hinges.moved(edge, {from.x, from.y});
  return {hinges.face[edge],
          {from.cosine * c - from.sine * n, from.sine * c + from.cosine * n, moved.x, moved.y},
          center};
}

template <Sight kSight, class Out>
void SupportBuilder::propagateSeeing(const SupportSource& source, Scratch& scratch,
                                     std::vector<Out>& out) const {
  constexpr bool kCarried = kSight == Sight::kCarried, kTraced = std::is_same_v<Out, Visit>;
  const std::uint32_t fresh = scratch.beginVisits(face_count_, kVisits<kSight>),
                      done = fresh + kVisits<kSight>;
  auto& stamps = scratch.stamps;
  auto& heap = scratch.heap;
  auto& arrivals = scratch.arrivalsOf<kSight>();
  heap.clear();
  arrivals.clear();
  static_cast<Arrival&>(arrivals.emplace_back()) = {
      source.face, {1, 0, 0, 0}, {source.center.x(), source.center.y()}};
  heap.push_back(0);
  [[maybe_unused]] std::vector<std::pair<std::uint32_t, std::uint8_t>> ways = {{kNone, 0}};  // of arrivals
  while (!heap.empty()) {
    const std::uint32_t index = heap.front() & 0xFFFFFFFFu;
    const auto entry = arrivals[index];
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    std::uint32_t& stamp = stamps[entry.face];
    if (stamp == done) continue;
    if constexpr (kTraced) {
      out.push_back({entry.face, ways[index].first, ways[index].second, stamp <= fresh, entry.development});
    }
    if (stamp <= fresh) {
      if constexpr (!kTraced) out.push_back({entry.face, entry.development});
      stamp = fresh;
    }
    ++stamp;
    const Hinges& hinges = hinges_[entry.face];
    const Steps steps(hinges, entry.center, source.radius, edge_tolerance_);
    for (int e = 0; e < 3; ++e) {
      if (!steps.passes[e] || stamps[hinges.face[e]] == done) continue;
      const Point center{steps.x[e], steps.y[e]};
      if (hinges.isNeedle(e) && !reachesNeedle(hinges, e, center, source.radius)) continue;
      const std::uint64_t arrival = arrivals.size();
      auto& next = arrivals.emplace_back();
      static_cast<Arrival&>(next) = arriveAcross(hinges, e, entry.development, center);
      if constexpr (kTraced)
        ways.emplace_back(static_cast<std::uint32_t>(out.size() - 1), static_cast<std::uint8_t>(e));
      float length = steps.squared[e];
      if constexpr (kCarried) {
        const Segment edge = hinges.edge(e);
        Window window{0, 1, 0};
        if (index != 0) {  // inside its own face a source sees everything
          window = windowOnEdge(edge, center,
                                {hinges.moved(e, entry.visible.left), hinges.moved(e, entry.visible.right)});
        }
        next.visible = {edge.at(window.low), edge.at(window.high)};
        const float straight = steps.slope[e] != 0 ? steps.along[e] / steps.slope[e] : 0.5f;
        length = pathLength(edge, center, window, straight, steps.squared[e]);
      }
      heap.push_back(std::uint64_t{std::bit_cast<std::uint32_t>(length)} << 32 | arrival);
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
  }
}

std::vector<SupportBuilder::Reached> SupportBuilder::propagate(const SupportSource& source) const {
  Scratch scratch;
  std::vector<Reached> out;
  propagateInto(source, scratch, out);
  return out;
}

void SupportBuilder::followInto(const SupportSource& source, std::span<const UnfoldStep> steps,
                                std::span<const std::uint32_t> order, Scratch& scratch,
                                std::vector<Reached>& out) const {
  auto& arrivals = scratch.followed;
  auto& counted = scratch.by_distance;
  arrivals.assign(1, {source.face, {1, 0, 0, 0}, {source.center.x(), source.center.y()}});
  counted.assign(1, {-1.0f, 0});  // before all others
  for (std::uint32_t i = 1; i < steps.size(); ++i) {
    const Arrival& from = arrivals[steps[i].parent];
    const Hinges& hinges = hinges_[from.face];
    const Point center = hinges.moved(steps[i].edge, from.center);
    arrivals.push_back(arriveAcross(hinges, steps[i].edge, from.development, center));
    if (steps[i].counts) counted.emplace_back(dot(center, center), i);
  }
  const auto reach = [&](const std::pair<float, std::uint32_t>& step) {
    out.push_back({arrivals[step.second].face, arrivals[step.second].development});
  };
  if (order.empty()) {
    std::sort(counted.begin(), counted.end());
    std::for_each(counted.begin(), counted.end(), reach);
  } else {
    for (const std::uint32_t i : order)
      reach(counted[i]);
  }
}

std::vector<SupportBuilder::Reached> SupportBuilder::follow(const SupportSource& source,
                                                            std::span<const UnfoldStep> steps,
                                                            std::span<const std::uint32_t> order) const {
  Scratch& scratch = scratch_->mine();
  std::vector<Reached> out;
  followInto(source, steps, order, scratch, out);
  return out;
}

std::vector<SupportBuilder::Visit> SupportBuilder::trace(const SupportSource& source) const {
  Scratch& scratch = scratch_->mine();
  std::vector<Visit> out;
  if (sight_ == Sight::kCarried) {
    propagateSeeing<Sight::kCarried>(source, scratch, out);
  } else {
    propagateSeeing<Sight::kLastEdge>(source, scratch, out);
  }
  return out;
}

std::vector<Chart> SupportBuilder::joinCorners(const SupportSource& source,
                                               std::span<const Reached> pairs) const {
  Scratch& scratch = scratch_->mine();
  std::vector<Chart> out;
  joinCornersInto(source, pairs, scratch, out);
  return out;
}

/// Gives the corners at a vertex their joint places: one mean for all, unless they lie too far apart as seen
/// from `center`. Then the first one, which is the nearest on the surface, takes with it those near it, and
/// so on with the rest.
void SupportBuilder::joinPlaces(const JoinedVertex& v, const Vec2f& center, Scratch& scratch) {
  const float width = v.high_x - v.low_x, height = v.high_y - v.low_y;
  if (width <= kSamePlace && height <= kSamePlace) return;
  auto& corners = scratch.corners;
  const auto squared = [&](float x, float y) {
    return (x - center.x()) * (x - center.x()) + (y - center.y()) * (y - center.y());
  };
  // No place is nearer to the source than their box.
  const float nearest =
      squared(std::clamp(center.x(), v.low_x, v.high_x), std::clamp(center.y(), v.low_y, v.high_y));
  if (width * width + height * height <= kJoinable * nearest) {
    const auto count = static_cast<float>(v.count);
    for (std::uint32_t i = v.last_corner; i != kNone; i = corners[i].previous) {
      corners[i].joint_x = v.x / count;
      corners[i].joint_y = v.y / count;
    }
    return;
  }
  auto& left = scratch.corners_left;
  left.clear();
  for (std::uint32_t i = v.last_corner; i != kNone; i = corners[i].previous)
    left.push_back(i);
  std::reverse(left.begin(), left.end());
  while (!left.empty()) {
    const Scratch::Corner first = corners[left.front()];
    const float limit = kJoinable * squared(first.x, first.y);
    const auto others = std::stable_partition(left.begin() + 1, left.end(), [&](std::uint32_t i) {
      const float dx = corners[i].x - first.x, dy = corners[i].y - first.y;
      return dx * dx + dy * dy <= limit;
    });
    Vec2f mean = Vec2f::Zero();
    for (auto i = left.begin(); i != others; ++i)
      mean += Vec2f(corners[*i].x, corners[*i].y);
    mean /= static_cast<float>(others - left.begin());
    for (auto i = left.begin(); i != others; ++i) {
      corners[*i].joint_x = mean.x();
      corners[*i].joint_y = mean.y();
    }
    left.erase(left.begin(), others);
  }
}

void SupportBuilder::joinCornersInto(const SupportSource& source, std::span<const Reached> pairs,
                                     Scratch& scratch, std::vector<Chart>& out) const {
  auto& vertices = scratch.vertices;
  if (vertices.size() != vertex_count_ || scratch.vertex_epoch == kNone) {
    vertices.assign(vertex_count_, {});
    scratch.vertex_epoch = 0;
  }
  const std::uint32_t stamp = ++scratch.vertex_epoch;
  auto& corners = scratch.corners;
  corners.clear();
  scratch.reached_vertices.clear();
  for (const Reached& pair : pairs) {
    const Triangle& triangle = triangles_[pair.face];
    const auto [c, n, x, y] = pair.development;
    for (std::size_t i = 0; i < 3; ++i) {
      const float px = triangle.x[i] - x, py = triangle.y[i] - y;
      const float ux = c * px + n * py, uy = c * py - n * px;
      JoinedVertex& v = vertices[triangle.vertices[i]];
      if (v.stamp != stamp) {
        v = {stamp, 0, kNone, 0, 0, ux, uy, ux, uy};
        scratch.reached_vertices.push_back(triangle.vertices[i]);
      }
      const auto corner = static_cast<std::uint32_t>(corners.size());
      corners.push_back({ux, uy, ux, uy, v.last_corner});
      v.last_corner = corner;
      ++v.count;
      v.x += ux;
      v.y += uy;
      v.low_x = std::min(v.low_x, ux);
      v.low_y = std::min(v.low_y, uy);
      v.high_x = std::max(v.high_x, ux);
      v.high_y = std::max(v.high_y, uy);
    }
  }
  for (const std::uint32_t v : scratch.reached_vertices)
    joinPlaces(vertices[v], source.center, scratch);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const Triangle& triangle = triangles_[pairs[p].face];
    const auto [c, n, x, y] = pairs[p].development;
    float dx[3], dy[3];
    bool moved = false;
    for (std::size_t i = 0; i < 3; ++i) {
      const Scratch::Corner& corner = corners[3 * p + i];
      dx[i] = corner.joint_x - corner.x;
      dy[i] = corner.joint_y - corner.y;
      moved = moved || dx[i] != 0 || dy[i] != 0;
    }
    Chart chart{c, n, -n, c, -(c * x + n * y), n * x - c * y};
    const float ex = triangle.x[1] - triangle.x[0], ey = triangle.y[1] - triangle.y[0];
    const float fx = triangle.x[2] - triangle.x[0], fy = triangle.y[2] - triangle.y[0];
    const float area = ex * fy - ey * fx;
    if (moved && area > kSliver * (ex * ex + ey * ey + fx * fx + fy * fy)) {
      // The correction is linear over the face: its values at the corners decide.
      const float ax = (dx[1] - dx[0]) / area, bx = (dx[2] - dx[0]) / area;
      const float ay = (dy[1] - dy[0]) / area, by = (dy[2] - dy[0]) / area;
      const float xx = ax * fy - bx * ey, xy = bx * ex - ax * fx;
      const float yx = ay * fy - by * ey, yy = by * ex - ay * fx;
      chart.xx += xx;
      chart.xy += xy;
      chart.yx += yx;
      chart.yy += yy;
      chart.x += dx[0] - xx * triangle.x[0] - xy * triangle.y[0];
      chart.y += dy[0] - yx * triangle.x[0] - yy * triangle.y[0];
    }
    out.push_back(chart);
  }
}

namespace {

std::uint64_t hashOf(const SupportSource& source) {
  const auto bits = [](float x) { return std::uint64_t{std::bit_cast<std::uint32_t>(x)}; };
  std::uint64_t h = (bits(source.center.x()) << 32 | bits(source.center.y())) * 0x9E3779B97F4A7C15u;
  h ^= h >> 29;
  h = (h ^ (bits(source.radius) << 32 | source.face)) * 0xBF58476D1CE4E5B9u;
  return h ^ h >> 32;
}

/// Finds sources by what they are; only those that `wanted` names.
class SourceIndex {
 public:
  template <class Wanted>
  SourceIndex(std::span<const SupportSource> sources, const Wanted& wanted) : sources_(sources) {
    places_.assign(std::bit_ceil(2 * sources.size() + 1), kNone);
    for (std::uint32_t i = 0; i < sources.size(); ++i) {
      if (!wanted(i)) continue;
      std::size_t at = hashOf(sources[i]) & mask();
      while (places_[at] != kNone)
        at = (at + 1) & mask();
      places_[at] = i;
    }
  }

  /// The number of an equal source that is still free, or kNone.
  template <class Free>
  std::uint32_t find(const SupportSource& source, const Free& free) const {
    for (std::size_t at = hashOf(source) & mask(); places_[at] != kNone; at = (at + 1) & mask()) {
      if (sources_[places_[at]] == source && free(places_[at])) return places_[at];
    }
    return kNone;
  }

 private:
  std::size_t mask() const { return places_.size() - 1; }

  std::span<const SupportSource> sources_;
  std::vector<std::uint32_t> places_;
};

}  // namespace

bool SupportBuilder::Matching::sameNumbers() const {
  for (std::uint32_t i = 0; i < renamed.size(); ++i) {
    if (renamed[i] != i) return false;
  }
  return true;
}

/// Most kernels are where they were, under the number they had. When many are not, some of them may have got
/// another number.
SupportBuilder::Matching SupportBuilder::match(std::span<const SupportSource> last,
                                               std::span<const SupportSource> sources) {
  Matching m;
  m.renamed.assign(last.size(), kNone);
  m.known.assign(sources.size(), 0);
  m.unknown = sources.size();
  const auto pair = [&](std::uint32_t then, std::uint32_t now) {
    m.renamed[then] = now;
    m.known[now] = 1;
    --m.unknown;
  };
  for (std::uint32_t i = 0; i < last.size() && i < sources.size(); ++i) {
    if (last[i] == sources[i]) pair(i, i);
  }
  if (last.empty() || m.unknown <= sources.size() / 4) return m;
  const auto free = [&](std::uint32_t i) { return m.renamed[i] == kNone; };
  const SourceIndex index(last, free);
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    if (m.known[i] != 0) continue;
    if (const std::uint32_t then = index.find(sources[i], free); then != kNone) pair(then, i);
  }
  return m;
}

/// What the sources of `kernels` reach, in this order: by propagation, or as `stored` says.
void SupportBuilder::reach(std::span<const SupportSource> sources, std::span<const std::uint32_t> kernels,
                           const StoredSupports* stored, std::vector<SupportTable::Reached>& blocks) const {
  const std::size_t block_size = std::max(kLeastBlock, (kernels.size() + kBlocks - 1) / kBlocks);
  blocks.resize(blockCount(kernels.size(), block_size));
  std::atomic<std::size_t> all_pairs = 0;
  parallelBlocks(kernels.size(), block_size, [&](std::size_t block, std::size_t begin, std::size_t end) {
    Scratch& scratch = scratch_->mine();
    SupportTable::Reached& out = blocks[block];
    out.clear();
    for (std::size_t i = begin; i < end; ++i) {
      const SupportSource& source = sources[kernels[i]];
      scratch.reached.clear();
      if (stored != nullptr) {
        stored->stepsOf(kernels[i], scratch.steps, scratch.step_order);
        followInto(source, scratch.steps, scratch.step_order, scratch, scratch.reached);
      } else {
        propagateInto(source, scratch, scratch.reached);
      }
      for (const Reached& pair : scratch.reached) {
        out.faces.push_back(pair.face);
        out.kernels.push_back(kernels[i]);
        if (triangles_.empty()) out.developments.push_back(pair.development);
      }
      if (!triangles_.empty()) joinCornersInto(source, scratch.reached, scratch, out.charts);
      const std::size_t added = scratch.reached.size();
      if (all_pairs.fetch_add(added, std::memory_order_relaxed) + added > kMostPairs) throw std::bad_alloc();
    }
    out.sortByFace(face_count_);
  });
}

void SupportBuilder::build(std::vector<SupportSource> sources, std::span<const std::uint32_t> order,
                           SupportTable& table, const StoredSupports* stored) {
  if (!table.reusable_ || table.maker_ != id_) table.reset(face_count_, !triangles_.empty(), id_);
  table.reusable_ = false;  // what an exception leaves behind is not used again
  Matching matching = match(table.sources_, sources);
  if (matching.sameNumbers()) matching.renamed.clear();
  std::vector<std::uint32_t> rank(sources.size()), unknown;
  unknown.reserve(matching.unknown);
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
    if (matching.known[order[i]] == 0) unknown.push_back(order[i]);
  }
  // In rounds: what was reached is held twice until it is in the table, but only a part of it at a time.
  const std::size_t round = std::max(kLeastRound, (sources.size() + kRounds - 1) / kRounds);
  std::vector<SupportTable::Reached> reached;
  for (std::size_t begin = 0; begin == 0 || begin < unknown.size(); begin += round) {
    const auto now = std::span(unknown).subspan(begin, std::min(round, unknown.size() - begin));
    reach(sources, now, stored, reached);
    table.update({matching.renamed, rank, reached});
    matching.renamed.clear();  // done, and the table has the new numbers
    if (table.pairCount() > kMostPairs) throw std::bad_alloc();
  }
  table.sources_ = std::move(sources);
  table.reusable_ = true;
}

}  // namespace heatskin::local
