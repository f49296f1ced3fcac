#include "heatskin/appearance/tangent_space.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>

namespace heatskin {
namespace {

constexpr std::uint32_t kNoCorner = std::numeric_limits<std::uint32_t>::max();

/// Lengths and areas at most this count as none: what single precision holds as zero.
constexpr double kNothing = std::numeric_limits<float>::min();

/// What the texture does on a triangle.
struct TriangleMap {
  Vec3 along_u = Vec3::Zero();  ///< direction of growing u, unit or zero
  bool keeps_sense = false;     ///< counter-clockwise in the texture, v up, as on the surface
  bool fits_any = true;         ///< no area in the texture: joins groups of either sense
  bool degenerate = false;      ///< two corners at one place
};

struct Edge {
  std::uint32_t low, high;  ///< vertices
  std::uint32_t corner;     ///< where it starts: the edge of its triangle with this number
  std::uint32_t from;       ///< the vertex where it starts
};

Vec3 tangential(const Vec3& v, const Vec3& normal) {
  const Vec3 flat = v - v.dot(normal) * normal;
  const double length = flat.norm();
  return length > kNothing ? Vec3(flat / length) : Vec3(Vec3::Zero());
}

class TangentBuilder {
 public:
  TangentBuilder(std::span<const Vec3> positions, std::span<const Vec3f> normals, std::span<const Vec2f> uvs)
      : positions_(positions), normals_(normals), uvs_(uvs) {}

  std::vector<Vec4f> run() {
    tangents_.assign(positions_.size(), Vec4f::Zero());
    weld();
    mapTriangles();
    findNeighbours();
    formGroups();
    copyToDegenerate();
    for (std::size_t c = 0; c < tangents_.size(); ++c) {
      if (tangents_[c].head<3>().squaredNorm() > 0) continue;
      const Vec3 normal = normals_[c].cast<double>();
      const Vec3 any = normal.squaredNorm() > 0 ? Vec3(normal.unitOrthogonal()) : Vec3(1, 0, 0);
      tangents_[c].head<3>() = any.cast<float>();
      if (tangents_[c].w() == 0) tangents_[c].w() = 1;
    }
    return std::move(tangents_);
  }

 private:
  static std::uint32_t next(std::uint32_t corner) { return corner % 3 == 2 ? corner - 2 : corner + 1; }
  static std::uint32_t previous(std::uint32_t corner) { return corner % 3 == 0 ? corner + 2 : corner - 1; }

  /// Texture coordinates with v up.
  Vec2 uvUp(std::size_t corner) const {
    return {static_cast<double>(uvs_[corner].x()), -static_cast<double>(uvs_[corner].y())};
  }

  /// Numbers vertices by their first corner.
  void weld() {
    const auto key = [&](std::uint32_t c) {
      const Vec3& p = positions_[c];
      const Vec3f& n = normals_[c];
      const Vec2f& t = uvs_[c];
      return std::tuple(p.x(), p.y(), p.z(), n.x(), n.y(), n.z(), t.x(), t.y());
    };
    std::vector<std::uint32_t> order(positions_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const auto ka = key(a), kb = key(b);
      return ka != kb ? ka < kb : a < b;
    });
    vertex_.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      vertex_[order[i]] = i > 0 && key(order[i - 1]) == key(order[i]) ? vertex_[order[i - 1]] : order[i];
  }

  void mapTriangles() {
    maps_.resize(positions_.size() / 3);
    for (std::size_t t = 0; t < maps_.size(); ++t) {
      TriangleMap& map = maps_[t];
      const Vec3 &p0 = positions_[3 * t], &p1 = positions_[3 * t + 1], &p2 = positions_[3 * t + 2];
      map.degenerate = p0 == p1 || p1 == p2 || p2 == p0;
      const Vec2 t1 = uvUp(3 * t + 1) - uvUp(3 * t), t2 = uvUp(3 * t + 2) - uvUp(3 * t);
      const double area = cross2(t1, t2);
      map.keeps_sense = area > 0;
      if (!(std::abs(area) > kNothing)) continue;
      const Vec3 along_u = t2.y() * (p1 - p0) - t1.y() * (p2 - p0);
      const Vec3 along_v = t1.x() * (p2 - p0) - t2.x() * (p1 - p0);
      const double length = along_u.norm();
      if (length > kNothing) map.along_u = (map.keeps_sense ? 1.0 : -1.0) / length * along_u;
      map.fits_any = !(length / std::abs(area) > kNothing && along_v.norm() / std::abs(area) > kNothing);
    }
  }

  /// Pairs edges between the same vertices that run in opposite directions, in the order of triangles.
  void findNeighbours() {
    std::vector<Edge> edges;
    edges.reserve(positions_.size());
    for (std::uint32_t c = 0; c < positions_.size(); ++c) {
      if (maps_[c / 3].degenerate) continue;
      const std::uint32_t a = vertex_[c], b = vertex_[next(c)];
      edges.push_back({std::min(a, b), std::max(a, b), c, a});
    }
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
      return std::tie(a.low, a.high, a.corner) < std::tie(b.low, b.high, b.corner);
    });
    across_.assign(positions_.size(), kNoCorner);
    // Edges that still wait for a partner all run in one direction; they are served first come, first served.
    std::vector<std::uint32_t> waiting;
    std::size_t served = 0;
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const Edge& edge = edges[i];
      if (i == 0 || edges[i - 1].low != edge.low || edges[i - 1].high != edge.high) {
        waiting.clear();
        served = 0;
      }
      if (served < waiting.size() && vertex_[waiting[served]] != edge.from) {
        across_[edge.corner] = waiting[served];
        across_[waiting[served]] = edge.corner;
        ++served;
      } else {
        waiting.push_back(edge.corner);
      }
    }
  }

  void formGroups() {
    in_group_.assign(positions_.size(), 0);
    std::vector<std::uint32_t> group, pending;
    for (std::uint32_t c = 0; c < positions_.size(); ++c) {
      const TriangleMap& map = maps_[c / 3];
      if (map.degenerate || map.fits_any || in_group_[c] != 0) continue;
      const bool sense = map.keeps_sense;
      group.clear();
      pending.assign(1, c);
      while (!pending.empty()) {
        const std::uint32_t corner = pending.back();
        pending.pop_back();
        if (!join(corner, sense)) continue;
        group.push_back(corner);
        // The triangles across the two edges at this vertex; the one across the edge that starts here first.
        if (const std::uint32_t edge = across_[previous(corner)]; edge != kNoCorner) pending.push_back(edge);
        if (const std::uint32_t edge = across_[corner]; edge != kNoCorner) pending.push_back(next(edge));
      }
      const Vec3f tangent = meanTangent(group);
      for (const std::uint32_t corner : group)
        tangents_[corner] << tangent, sense ? 1.0f : -1.0f;
    }
  }

  /// Marks a corner as a member of the group that asks, unless it has one or maps with the other sense.
  bool join(std::uint32_t corner, bool sense) {
    if (in_group_[corner] != 0) return false;
    TriangleMap& map = maps_[corner / 3];
    const std::size_t first = corner - corner % 3;
    if (map.fits_any && in_group_[first] == 0 && in_group_[first + 1] == 0 && in_group_[first + 2] == 0)
      map.keeps_sense = sense;
    if (map.keeps_sense != sense) return false;
    in_group_[corner] = 1;
    return true;
  }

  Vec3f meanTangent(const std::vector<std::uint32_t>& group) const {
    Vec3 sum = Vec3::Zero();
    for (const std::uint32_t corner : group) {
      const TriangleMap& map = maps_[corner / 3];
      if (map.fits_any) continue;
      const Vec3 normal = normals_[corner].cast<double>();
      const Vec3& at = positions_[corner];
      const Vec3 to_next = tangential(positions_[next(corner)] - at, normal);
      const Vec3 to_previous = tangential(positions_[previous(corner)] - at, normal);
      const double angle = std::acos(std::clamp(to_next.dot(to_previous), -1.0, 1.0));
      sum += angle * tangential(map.along_u, normal);
    }
    const double length = sum.norm();
    return length > kNothing ? Vec3f((sum / length).cast<float>()) : Vec3f(Vec3f::Zero());
  }

  /// A triangle with two corners at one place has the tangents of others at the same vertices.
  void copyToDegenerate() {
    std::vector<std::uint32_t> source(positions_.size(), kNoCorner);  // by vertex
    for (std::uint32_t c = 0; c < positions_.size(); ++c) {
      if (!maps_[c / 3].degenerate && source[vertex_[c]] == kNoCorner) source[vertex_[c]] = c;
    }
    for (std::uint32_t c = 0; c < positions_.size(); ++c) {
      if (maps_[c / 3].degenerate && source[vertex_[c]] != kNoCorner)
        tangents_[c] = tangents_[source[vertex_[c]]];
    }
  }

  std::span<const Vec3> positions_;
  std::span<const Vec3f> normals_;
  std::span<const Vec2f> uvs_;
  std::vector<std::uint32_t> vertex_;   // [3 T] the first corner with the same values
  std::vector<TriangleMap> maps_;       // [T]
  std::vector<std::uint32_t> across_;   // [3 T] the corner where the neighbour's side of an edge starts
  std::vector<std::uint8_t> in_group_;  // [3 T]
  std::vector<Vec4f> tangents_;         // [3 T]
};

}  // namespace

std::vector<Vec4f> mikkTangents(std::span<const Vec3> positions, std::span<const Vec3f> normals,
                                std::span<const Vec2f> uvs) {
  return TangentBuilder(positions, normals, uvs).run();
}

}  // namespace heatskin
