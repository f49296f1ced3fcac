#include "heatskin/evaluators/local/supports.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <new>

#include "heatskin/base/parallel.h"

namespace heatskin::local {
namespace {

/// Sources per block: enough blocks for balance, few enough that the per-block face histograms stay small.
constexpr std::size_t kBlocks = 16;

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

/// Vector loads may read this far past the last pair.
constexpr std::size_t kPadding = 64;

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

/// Squared distance of a point from the segment a b.
float squaredToSegment(float px, float py, float ax, float ay, float bx, float by) {
  const float ex = bx - ax, ey = by - ay, length2 = ex * ex + ey * ey;
  const float w = length2 > 0 ? std::clamp(((px - ax) * ex + (py - ay) * ey) / length2, 0.0f, 1.0f) : 0.0f;
  const float dx = ax + w * ex - px, dy = ay + w * ey - py;
  return dx * dx + dy * dy;
}

/// What a path through a closed window is taken to be longer, in lengths of the edge.
constexpr float kClosedDetour = 1;

/// A part of an edge, by the places of its ends along the edge; 0 and 1 are the corners.
struct Window {
  float low, high;
  bool closed;
};

/// A point this close to the developed centre (squared, surface units) says nothing about directions: float
/// developments are off by 1e-8, so angles would be by more than 1e-4.
constexpr float kBlind = 1e-8f;

/// The part of the edge a + w (ex, ey) that is seen from (sx, sy) between the points (lx, ly) and (hx, hy),
/// which lie on an edge passed before. Where nothing is seen, the end nearest to it.
Window windowOnEdge(float ax, float ay, float ex, float ey, float sx, float sy, float lx, float ly, float hx,
                    float hy) {
  // The ray through (px, py) meets the edge's line at w, in front of the centre or behind it.
  const auto cut = [&](float px, float py, float& w) {
    const float rx = px - sx, ry = py - sy, across = ex * ry - ey * rx;
    if (across == 0 || rx * rx + ry * ry < kBlind) return false;
    w = ((sx - ax) * ry - (sy - ay) * rx) / across;
    return (ax + w * ex - sx) * rx + (ay + w * ey - sy) * ry > 0;
  };
  float low = 0, high = 1;
  const bool low_meets = cut(lx, ly, low), high_meets = cut(hx, hy, high);
  const float from = low_meets ? std::max(0.0f, low) : 0.0f, to = high_meets ? std::min(1.0f, high) : 1.0f;
  if (from <= to) return {from, to, false};
  const float end = from >= 1 ? 1.0f : (to <= 0 ? 0.0f : std::clamp(0.5f * (from + to), 0.0f, 1.0f));
  return {end, end, true};
}

}  // namespace

/// A face, and how it was reached.
struct SupportBuilder::Arrival {
  std::uint32_t face;
  Development development;
  float center_x, center_y;
};

/// An arrival that knows the ends of what is visible of the edge it came through, in the face's coordinates.
struct SupportBuilder::SeenArrival : Arrival {
  float low_x, low_y, high_x, high_y;
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

  struct Corner {
    float x, y;              ///< where its face alone sees it
    float joint_x, joint_y;  ///< where it shall be
    std::uint32_t previous;  ///< corner at the same vertex, or kNone
  };
  std::vector<JoinedVertex> vertices;  // [V]
  std::vector<Corner> corners;         // [pair, 3]
  std::vector<std::uint32_t> reached_vertices, corners_left;
  std::uint32_t vertex_epoch = 0;
};

SupportBuilder::SupportBuilder(const Surface& surface, const LocalOptions& options)
    : hinges_(surface.faceCount()),
      triangles_(options.join_corners && !options.euclidean ? surface.faceCount() : 0),
      face_count_(surface.faceCount()),
      vertex_count_(surface.vertexCount()),
      sight_(options.sight),
      edge_tolerance_(static_cast<float>(options.edge_tolerance)) {
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

void SupportBuilder::propagateInto(const SupportSource& source, Scratch& scratch,
                                   std::vector<Reached>& out) const {
  if (sight_ == Sight::kCarried) {
    propagateSeeing<Sight::kCarried>(source, scratch, out);
  } else {
    propagateSeeing<Sight::kLastEdge>(source, scratch, out);
  }
}

template <Sight kSight>
void SupportBuilder::propagateSeeing(const SupportSource& source, Scratch& scratch,
                                     std::vector<Reached>& out) const {
  constexpr bool kCarried = kSight == Sight::kCarried;
  if (scratch.stamps.size() != face_count_ || scratch.epoch > kNone - 2 * kVisits<kSight>) {
    scratch.stamps.assign(face_count_, 0);
    scratch.epoch = 0;
  }
  const std::uint32_t fresh = scratch.epoch, done = fresh + kVisits<kSight>;
  scratch.epoch = done;
  auto& stamps = scratch.stamps;
  auto& heap = scratch.heap;
  auto& arrivals = [&]() -> auto& {
    if constexpr (kCarried) {
      return scratch.seen_arrivals;
    } else {
      return scratch.arrivals;
    }
  }
  ();
  heap.clear();
  arrivals.clear();
  arrivals.emplace_back();
  static_cast<Arrival&>(arrivals.back()) = {source.face, {1, 0, 0, 0}, source.center.x(), source.center.y()};
  heap.push_back(0);
  while (!heap.empty()) {
    const std::uint32_t index = heap.front() & 0xFFFFFFFFu;
    const auto entry = arrivals[index];
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    std::uint32_t& stamp = stamps[entry.face];
    if (stamp == done) continue;
    if (stamp <= fresh) {
      out.push_back({entry.face, entry.development});
      stamp = fresh;
    }
    ++stamp;
    const Hinges& hinges = hinges_[entry.face];
    const Lanes cosine = lanes(hinges.cosine), sine = lanes(hinges.sine);
    const Lanes sx = cosine * entry.center_x - sine * entry.center_y + lanes(hinges.x);
    const Lanes sy = sine * entry.center_x + cosine * entry.center_y + lanes(hinges.y);
    // The neighbour's centroid is the origin of its coordinates: |S| is the distance to it.
    const Lanes squared = sx * sx + sy * sy, reach = lanes(hinges.radius) + source.radius;
    // The line from S to the origin meets the edge a + w (b - a) where cross(a + w (b - a), S) = 0.
    const Lanes slope = lanes(hinges.ex) * sy - lanes(hinges.ey) * sx;
    const Lanes along = lanes(hinges.ay) * sx - lanes(hinges.ax) * sy;
    const Lanes one_end = -edge_tolerance_ * slope, other_end = (1 + edge_tolerance_) * slope;
    const Lanes low = one_end < other_end ? one_end : other_end;
    const Lanes high = one_end < other_end ? other_end : one_end;
    const auto passes =
        (squared < reach * reach) & (along >= low) & (along <= high) & (slope <= lanes(hinges.behind));
    for (int e = 0; e < 3; ++e) {
      if (!passes[e]) continue;
      const std::uint32_t face = hinges.face[e];
      if (stamps[face] == done) continue;
      if ((hinges.face[kNeedles] >> e & 1) != 0) {
        const float ax = hinges.ax[e], ay = hinges.ay[e], bx = ax + hinges.ex[e], by = ay + hinges.ey[e];
        const float cx = -ax - bx, cy = -ay - by;  // the centroid is the origin
        const float x = sx[e], y = sy[e];
        const float nearest =
            std::min({squaredToSegment(x, y, ax, ay, bx, by), squaredToSegment(x, y, bx, by, cx, cy),
                      squaredToSegment(x, y, cx, cy, ax, ay)});
        if (nearest > source.radius * source.radius) continue;
      }
      const Development& from = entry.development;
      const std::uint64_t arrival = arrivals.size();
      const float c = hinges.cosine[e], n = hinges.sine[e];
      auto& next = arrivals.emplace_back();
      static_cast<Arrival&>(next) = {
          face,
          {from.cosine * c - from.sine * n, from.sine * c + from.cosine * n,
           c * from.x - n * from.y + hinges.x[e], n * from.x + c * from.y + hinges.y[e]},
          sx[e],
          sy[e]};
      float length = squared[e];
      if constexpr (kCarried) {
        const float ax = hinges.ax[e], ay = hinges.ay[e], ex = hinges.ex[e], ey = hinges.ey[e];
        Window window{0, 1, false};
        if (index != 0) {  // inside its own face a source sees everything
          window = windowOnEdge(ax, ay, ex, ey, sx[e], sy[e], c * entry.low_x - n * entry.low_y + hinges.x[e],
                                n * entry.low_x + c * entry.low_y + hinges.y[e],
                                c * entry.high_x - n * entry.high_y + hinges.x[e],
                                n * entry.high_x + c * entry.high_y + hinges.y[e]);
        }
        next.low_x = ax + window.low * ex;
        next.low_y = ay + window.low * ey;
        next.high_x = ax + window.high * ex;
        next.high_y = ay + window.high * ey;
        // To the origin, through the visible part of the edge.
        const float straight = slope[e] != 0 ? along[e] / slope[e] : 0.5f;
        const float place = std::clamp(straight, window.low, window.high);
        const float px = ax + place * ex, py = ay + place * ey;
        length = std::hypot(px - sx[e], py - sy[e]) + std::hypot(px, py);
        if (window.closed) length += kClosedDetour * std::hypot(ex, ey);
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

std::vector<Chart> SupportBuilder::joinCorners(const SupportSource& source,
                                               std::span<const Reached> pairs) const {
  Scratch scratch;
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

void SupportBuilder::build(std::span<const SupportSource> sources, std::span<const std::uint32_t> order,
                           SupportTable& table) {
  const std::size_t block_size = std::max<std::size_t>(1, (sources.size() + kBlocks - 1) / kBlocks);
  const std::size_t blocks = blockCount(sources.size(), block_size);
  block_pairs_.resize(std::max(block_pairs_.size(), blocks));
  block_charts_.resize(std::max(block_charts_.size(), blocks));
  block_sizes_.resize(std::max(block_sizes_.size(), blocks));
  block_offsets_.assign(blocks * face_count_, 0);
  std::atomic<std::size_t> all_pairs = 0;
  parallelBlocks(sources.size(), block_size, [&](std::size_t block, std::size_t begin, std::size_t end) {
    thread_local Scratch scratch;
    auto& pairs = block_pairs_[block];
    auto& charts = block_charts_[block];
    auto& sizes = block_sizes_[block];
    pairs.clear();
    charts.clear();
    sizes.clear();
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t before = pairs.size();
      propagateInto(sources[order[i]], scratch, pairs);
      if (!triangles_.empty()) {
        joinCornersInto(sources[order[i]], std::span(pairs).subspan(before), scratch, charts);
      }
      const std::size_t added = pairs.size() - before;
      sizes.push_back(static_cast<std::uint32_t>(added));
      if (all_pairs.fetch_add(added, std::memory_order_relaxed) + added > kMostPairs) throw std::bad_alloc();
    }
    std::uint32_t* counts = block_offsets_.data() + block * face_count_;
    for (const Reached& pair : pairs)
      ++counts[pair.face];
  });

  // Counts become positions: faces in order, within a face blocks in order, within a block sources in order.
  table.begin.resize(std::size_t{face_count_} + 1);
  std::uint32_t total = 0;
  for (std::size_t f = 0; f < face_count_; ++f) {
    table.begin[f] = total;
    for (std::size_t block = 0; block < blocks; ++block) {
      std::uint32_t& count = block_offsets_[block * face_count_ + f];
      const std::uint32_t here = total;
      total += count;
      count = here;
    }
  }
  table.begin[face_count_] = total;
  const std::size_t padded = total + kPadding;
  table.kernels.resize(padded);
  table.developments.resize(padded);
  table.charts.resize(triangles_.empty() ? 0 : padded);
  std::fill(table.kernels.begin() + total, table.kernels.end(), 0u);  // padding lanes read kernel 0
  parallelBlocks(sources.size(), block_size, [&](std::size_t block, std::size_t begin, std::size_t end) {
    std::uint32_t* positions = block_offsets_.data() + block * face_count_;
    const Reached* pair = block_pairs_[block].data();
    const Chart* chart = block_charts_[block].data();
    for (std::size_t i = begin; i < end; ++i) {
      for (std::uint32_t n = block_sizes_[block][i - begin]; n > 0; --n, ++pair) {
        const std::uint32_t at = positions[pair->face]++;
        table.kernels[at] = order[i];
        table.developments[at] = pair->development;
        if (!table.charts.empty()) table.charts[at] = *chart++;
      }
    }
  });
}

}  // namespace heatskin::local
