#include "heatskin/surface/manifold.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace heatskin {
namespace {

using Triangle = std::array<std::uint32_t, 3>;

constexpr std::uint32_t next(std::uint32_t half_edge) {
  return half_edge % 3 == 2 ? half_edge - 2 : half_edge + 1;
}
constexpr std::uint32_t previous(std::uint32_t half_edge) {
  return half_edge % 3 == 0 ? half_edge + 2 : half_edge - 1;
}

/// Half-edges grouped by undirected edge: group g is members[offsets[g] .. offsets[g + 1]), ordered by
/// half-edge.
struct EdgeGroups {
  std::vector<std::uint32_t> members;
  std::vector<std::uint32_t> offsets = {0};

  std::size_t count() const { return offsets.size() - 1; }
  std::span<const std::uint32_t> group(std::size_t g) const {
    return std::span(members).subspan(offsets[g], offsets[g + 1] - offsets[g]);
  }
};

/// Buckets by the smaller vertex, then sorts each (small) bucket: linear time for ordinary meshes. Triangles
/// with a repeated vertex have no edges here.
EdgeGroups groupEdges(std::size_t vertex_count, std::span<const Triangle> triangles) {
  const auto isProper = [](const Triangle& t) { return t[0] != t[1] && t[1] != t[2] && t[2] != t[0]; };
  std::vector<std::uint32_t> start(vertex_count + 1, 0);
  for (const Triangle& t : triangles) {
    if (!isProper(t)) continue;
    for (std::size_t e = 0; e < 3; ++e)
      ++start[std::min(t[e], t[(e + 1) % 3]) + 1];
  }
  std::partial_sum(start.begin(), start.end(), start.begin());
  struct Entry {
    std::uint32_t other;
    std::uint32_t half_edge;
    bool operator<(const Entry& b) const {
      return std::tie(other, half_edge) < std::tie(b.other, b.half_edge);
    }
  };
  std::vector<Entry> entries(start.back());
  std::vector<std::uint32_t> fill(start.begin(), start.end() - 1);
  for (std::size_t f = 0; f < triangles.size(); ++f) {
    const Triangle& t = triangles[f];
    if (!isProper(t)) continue;
    for (std::size_t e = 0; e < 3; ++e) {
      const auto [low, high] = std::minmax(t[e], t[(e + 1) % 3]);
      entries[fill[low]++] = {high, static_cast<std::uint32_t>(3 * f + e)};
    }
  }
  EdgeGroups groups;
  groups.offsets.clear();
  groups.members.reserve(entries.size());
  groups.offsets.reserve(entries.size() / 2 + 1);
  for (std::size_t v = 0; v < vertex_count; ++v) {
    const auto begin = entries.begin() + start[v], end = entries.begin() + start[v + 1];
    std::sort(begin, end);
    for (auto entry = begin; entry != end; ++entry) {
      if (entry == begin || entry->other != (entry - 1)->other) {
        groups.offsets.push_back(static_cast<std::uint32_t>(groups.members.size()));
      }
      groups.members.push_back(entry->half_edge);
    }
  }
  groups.offsets.push_back(static_cast<std::uint32_t>(groups.members.size()));
  return groups;
}

class DisjointSets {
 public:
  explicit DisjointSets(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0u); }
  std::uint32_t find(std::uint32_t x) {
    while (parent_[x] != x)
      x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    a = find(a), b = find(b);
    if (a != b) parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::uint32_t> parent_;
};

/// The numbers of the asset manifest: what is there before anything is repaired. Gives the edges it counted.
EdgeGroups countRaw(std::size_t vertex_count, std::span<const Triangle> triangles, SurfaceReport& report) {
  report.faces = triangles.size();
  std::vector<std::uint8_t> used(vertex_count, 0);
  DisjointSets sets(vertex_count);
  for (const Triangle& t : triangles) {
    for (const std::uint32_t v : t)
      used[v] = 1;
    sets.join(t[0], t[1]);
    sets.join(t[1], t[2]);
  }
  for (std::uint32_t v = 0; v < vertex_count; ++v) {
    if (used[v] == 0) continue;
    ++report.vertices;
    if (sets.find(v) == v) ++report.components;
  }
  EdgeGroups edges = groupEdges(vertex_count, triangles);
  for (std::size_t g = 0; g < edges.count(); ++g) {
    const std::size_t size = edges.group(g).size();
    if (size == 1) ++report.boundary_edges;
    if (size >= 3) ++report.nonmanifold_edges;
  }
  return edges;
}

/// Height of a triangle over its longest edge, relative to that edge; 0 for coinciding corners.
double relativeHeight(const Vec3& a, const Vec3& b, const Vec3& c) {
  const double longest = std::max({(b - a).squaredNorm(), (c - b).squaredNorm(), (a - c).squaredNorm()});
  if (!(longest > 0)) return 0;
  return (b - a).cross(c - a).norm() / longest;
}

/// Indices of the triangles that stay.
std::vector<std::uint32_t> selectTriangles(std::span<const Vec3> positions,
                                           std::span<const Triangle> triangles, SurfaceReport& report) {
  std::vector<std::uint32_t> kept;
  kept.reserve(triangles.size());
  for (std::size_t f = 0; f < triangles.size(); ++f) {
    const Triangle& t = triangles[f];
    const double height = t[0] == t[1] || t[1] == t[2] || t[2] == t[0]
                              ? 0.0
                              : relativeHeight(positions[t[0]], positions[t[1]], positions[t[2]]);
    if (!(height >= kMinRelativeHeight)) {
      ++report.degenerate_faces;
      continue;
    }
    if (height < kSliverRelativeHeight) ++report.sliver_faces;
    kept.push_back(static_cast<std::uint32_t>(f));
  }

  // Duplicates have the same corners in the same cyclic order; bucket by the smallest corner.
  const auto rotated = [&](std::uint32_t f) {
    const Triangle& t = triangles[f];
    const auto first = static_cast<std::size_t>(std::min_element(t.begin(), t.end()) - t.begin());
    return Triangle{t[first], t[(first + 1) % 3], t[(first + 2) % 3]};
  };
  std::vector<std::uint32_t> start(positions.size() + 1, 0);
  for (const std::uint32_t f : kept)
    ++start[rotated(f)[0] + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<std::uint32_t> order(kept.size());
  std::vector<std::uint32_t> fill(start.begin(), start.end() - 1);
  for (const std::uint32_t f : kept)
    order[fill[rotated(f)[0]]++] = f;
  std::vector<std::uint8_t> drop(triangles.size(), 0);
  for (std::size_t v = 0; v + 1 < start.size(); ++v) {
    const auto begin = order.begin() + start[v], end = order.begin() + start[v + 1];
    if (end - begin < 2) continue;
    std::sort(begin, end, [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(rotated(a), a) < std::pair(rotated(b), b);
    });
    for (auto f = begin + 1; f < end; ++f) {
      if (rotated(*f) == rotated(*(f - 1))) drop[*f] = 1;
    }
  }
  std::erase_if(kept, [&](std::uint32_t f) { return drop[f] != 0; });
  report.duplicate_faces = static_cast<std::size_t>(std::count(drop.begin(), drop.end(), 1));
  return kept;
}

/// Joins faces across edges: partner[h] is the half-edge on the other side, or kNone.
class EdgeJoiner {
 public:
  EdgeJoiner(std::span<const Vec3> positions, std::span<const Triangle> faces)
      : positions_(positions), faces_(faces), partner_(3 * faces.size(), kNone) {}

  std::vector<std::uint32_t> join(const EdgeGroups& edges, SurfaceReport& report) {
    for (std::size_t g = 0; g < edges.count(); ++g) {
      const auto group = edges.group(g);
      if (group.size() == 2) {
        pair(group[0], group[1]);
      } else if (group.size() > 2) {
        ++report.cut_edges;
        joinBestPairs(group);
      }
    }
    return std::move(partner_);
  }

 private:
  // Above this number of faces at one edge no sensible surface passes through it; all are cut (and the
  // quadratic pairing below stays cheap on hostile files).
  static constexpr std::size_t kMaxFacesAtEdge = 64;

  void pair(std::uint32_t a, std::uint32_t b) {
    partner_[a] = b;
    partner_[b] = a;
  }

  std::uint32_t tail(std::uint32_t h) const { return faces_[h / 3][h % 3]; }

  /// Unit vector in the face's plane, perpendicular to the edge, pointing into the face.
  Vec3 inward(std::uint32_t h) const {
    const Vec3& a = positions_[tail(h)];
    const Vec3& b = positions_[tail(next(h))];
    const Vec3& c = positions_[tail(previous(h))];
    const Vec3 along = (b - a).normalized();
    const Vec3 to_apex = c - a;
    return (to_apex - along * along.dot(to_apex)).normalized();
  }

  void joinBestPairs(std::span<const std::uint32_t> group) {
    if (group.size() > kMaxFacesAtEdge) return;
    struct Candidate {
      bool inconsistent;  // both faces run along the edge in the same direction
      double fold;        // -1: flat continuation, +1: folded onto each other
      std::uint32_t a, b;
    };
    std::vector<Vec3> directions;
    for (const std::uint32_t h : group)
      directions.push_back(inward(h));
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < group.size(); ++i) {
      for (std::size_t j = i + 1; j < group.size(); ++j) {
        candidates.push_back(
            {tail(group[i]) == tail(group[j]), directions[i].dot(directions[j]), group[i], group[j]});
      }
    }
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& x, const Candidate& y) {
      return std::tie(x.inconsistent, x.fold, x.a, x.b) < std::tie(y.inconsistent, y.fold, y.a, y.b);
    });
    for (const Candidate& c : candidates) {
      if (partner_[c.a] == kNone && partner_[c.b] == kNone) pair(c.a, c.b);
    }
  }

  std::span<const Vec3> positions_;
  std::span<const Triangle> faces_;
  std::vector<std::uint32_t> partner_;
};

/// Decides for every face whether to flip it; cuts partners where no orientation fits.
std::vector<std::uint8_t> orient(std::span<const Vec3> positions, std::span<const Triangle> faces,
                                 std::vector<std::uint32_t>& partner, SurfaceReport& report) {
  constexpr std::uint8_t kUnseen = 2;
  std::vector<std::uint8_t> flip(faces.size(), kUnseen);
  std::vector<std::uint32_t> queue;
  for (std::uint32_t seed = 0; seed < faces.size(); ++seed) {
    if (flip[seed] != kUnseen) continue;
    queue.assign(1, seed);
    flip[seed] = 0;
    bool contradiction = false;
    double flipped_area = 0, kept_area = 0;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const std::uint32_t f = queue[i];
      const Triangle& t = faces[f];
      (flip[f] != 0 ? flipped_area : kept_area) +=
          (positions[t[1]] - positions[t[0]]).cross(positions[t[2]] - positions[t[0]]).norm();
      for (std::uint32_t h = 3 * f; h < 3 * f + 3; ++h) {
        const std::uint32_t p = partner[h];
        if (p == kNone) continue;
        const bool same_direction = faces[p / 3][p % 3] == faces[f][h % 3];
        const auto wanted = static_cast<std::uint8_t>(same_direction ? 1 - flip[f] : flip[f]);
        if (flip[p / 3] == kUnseen) {
          flip[p / 3] = wanted;
          queue.push_back(p / 3);
        } else if (flip[p / 3] != wanted) {
          contradiction = true;
          partner[h] = partner[p] = kNone;
        }
      }
    }
    if (contradiction) ++report.nonorientable_components;
    // Half of the area on either side is a tie; the first face then stays as it is.
    if (flipped_area > kept_area) {
      for (const std::uint32_t f : queue)
        flip[f] = static_cast<std::uint8_t>(1 - flip[f]);
    }
    for (const std::uint32_t f : queue)
      report.flipped_faces += flip[f];
  }
  return flip;
}

/// Gives every fan of faces around a vertex its own vertex.
void splitFans(std::size_t vertex_count, std::span<const std::uint8_t> on_cut_edge, Manifold& m,
               SurfaceReport& report) {
  constexpr std::uint32_t kUnassigned = kNone;
  struct Fan {
    std::uint32_t vertex;  // input vertex
    std::uint32_t half_edge;
  };
  // The fan of every half-edge's tail; fans are found in face order, then numbered in input-vertex order.
  std::vector<std::uint32_t> fan_of(3 * m.faces.size(), kUnassigned);
  std::vector<Fan> fans;
  for (std::uint32_t h = 0; h < fan_of.size(); ++h) {
    if (fan_of[h] != kUnassigned) continue;
    std::uint32_t first = h;
    for (std::uint32_t twin = m.twins[first / 3][first % 3]; twin != kNone;
         twin = m.twins[first / 3][first % 3]) {
      first = next(twin);  // clockwise
      if (first == h) break;
    }
    const auto fan = static_cast<std::uint32_t>(fans.size());
    fans.push_back({m.faces[h / 3][h % 3], first});
    for (std::uint32_t g = first;;) {
      fan_of[g] = fan;
      const std::uint32_t before = previous(g);
      g = m.twins[before / 3][before % 3];  // counter-clockwise
      if (g == kNone || g == first) break;
    }
  }

  std::vector<std::uint32_t> start(vertex_count + 1, 0);
  for (const Fan& fan : fans)
    ++start[fan.vertex + 1];
  for (std::size_t v = 0; v < vertex_count; ++v) {
    if (start[v + 1] > 1) {
      report.duplicated_vertices += start[v + 1] - 1;
      if (on_cut_edge[v] == 0) ++report.nonmanifold_vertices;
    }
  }
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<std::uint32_t> number(fans.size());
  m.input_vertex.resize(fans.size());
  m.vertex_half_edge.resize(fans.size());
  for (std::size_t i = 0; i < fans.size(); ++i) {
    number[i] = start[fans[i].vertex]++;
    m.input_vertex[number[i]] = fans[i].vertex;
    m.vertex_half_edge[number[i]] = fans[i].half_edge;
  }
  for (std::uint32_t h = 0; h < fan_of.size(); ++h)
    m.faces[h / 3][h % 3] = number[fan_of[h]];
}

}  // namespace

Manifold makeManifold(std::span<const Vec3> positions, std::span<const Triangle> triangles,
                      SurfaceReport& report) {
  EdgeGroups edges = countRaw(positions.size(), triangles, report);
  Manifold m;
  m.input_face = selectTriangles(positions, triangles, report);
  m.faces.reserve(m.input_face.size());
  for (const std::uint32_t f : m.input_face)
    m.faces.push_back(triangles[f]);

  // Of a clean mesh every triangle stays, and so do the edges.
  if (m.faces.size() < triangles.size()) edges = groupEdges(positions.size(), m.faces);
  std::vector<std::uint32_t> partner = EdgeJoiner(positions, m.faces).join(edges, report);
  m.flipped = orient(positions, m.faces, partner, report);

  // Vertices at edges that were cut on purpose; other vertices with several fans are bow ties of the input.
  std::vector<std::uint8_t> on_cut_edge(positions.size(), 0);
  if (report.cut_edges > 0 || report.nonorientable_components > 0) {
    for (std::size_t g = 0; g < edges.count(); ++g) {
      const auto group = edges.group(g);
      const bool cut = group.size() > 2 || (group.size() == 2 && partner[group[0]] == kNone);
      if (!cut) continue;
      const std::uint32_t h = group[0];
      on_cut_edge[m.faces[h / 3][h % 3]] = 1;
      on_cut_edge[m.faces[h / 3][next(h) % 3]] = 1;
    }
  }

  edges = {};

  // Flipping swaps corners 1 and 2, which renames half-edges 0 -> 2, 1 -> 1, 2 -> 0.
  const auto renamed = [&](std::uint32_t h) { return m.flipped[h / 3] != 0 ? 3 * (h / 3) + (2 - h % 3) : h; };
  m.twins.assign(m.faces.size(), {kNone, kNone, kNone});
  for (std::uint32_t h = 0; h < partner.size(); ++h) {
    if (partner[h] == kNone) continue;
    const std::uint32_t r = renamed(h);
    m.twins[r / 3][r % 3] = renamed(partner[h]);
  }
  for (std::size_t f = 0; f < m.faces.size(); ++f) {
    if (m.flipped[f] != 0) std::swap(m.faces[f][1], m.faces[f][2]);
  }
  splitFans(positions.size(), on_cut_edge, m, report);
  return m;
}

}  // namespace heatskin
