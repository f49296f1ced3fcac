#include "heatskin/product/neighbours.h"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>
#include <unordered_map>

#include "heatskin/surface/manifold.h"

namespace heatskin {
namespace {

using FilePosition = std::array<float, 3>;
using FileTriangle = std::array<std::uint32_t, 3>;

struct FilePositionHash {
  std::size_t operator()(const FilePosition& x) const {
    std::uint64_t h = 0x9E3779B97F4A7C15u;
    for (const float v : x) {
      h = (h ^ std::bit_cast<std::uint32_t>(v)) * 0xBF58476D1CE4E5B9u;
      h ^= h >> 29;
    }
    return h ^ h >> 32;
  }
};

/// The triangles of a scene by the numbers of their vertices.
struct FileMesh {
  std::vector<FileTriangle> triangles;
  std::vector<Vec3> positions;  // of the vertices, where they were met first
};

FileMesh fileMesh(const Asset& asset) {
  FileMesh mesh;
  std::unordered_map<FilePosition, std::uint32_t, FilePositionHash> numbers;
  std::vector<std::uint32_t> vertex_of_position;
  for (const Instance& instance : asset.instances) {
    if (instance.mesh < 0) continue;
    for (const Primitive& primitive : asset.meshes[static_cast<std::size_t>(instance.mesh)].primitives) {
      vertex_of_position.resize(primitive.positions.size());
      for (std::size_t i = 0; i < primitive.positions.size(); ++i) {
        const Vec3 x = instance.asset_from_mesh * primitive.positions[i];
        FilePosition key;
        for (std::size_t c = 0; c < 3; ++c)
          key[c] = static_cast<float>(x[static_cast<Eigen::Index>(c)]) + 0.0f;  // -0 is 0
        const auto [at, added] = numbers.try_emplace(key, static_cast<std::uint32_t>(mesh.positions.size()));
        if (added) mesh.positions.push_back(x);
        vertex_of_position[i] = at->second;
      }
      for (std::size_t t = 0; t < primitive.triangleCount(); ++t) {
        FileTriangle& triangle = mesh.triangles.emplace_back();
        for (std::size_t c = 0; c < 3; ++c)
          triangle[c] = vertex_of_position[primitive.triangles[3 * t + c]];
      }
    }
  }
  return mesh;
}

bool hasArea(const FileMesh& mesh, const FileTriangle& t) {
  if (t[0] == t[1] || t[1] == t[2] || t[2] == t[0]) return false;
  const Vec3 &a = mesh.positions[t[0]], &b = mesh.positions[t[1]], &c = mesh.positions[t[2]];
  const double longest = std::max({(b - a).squaredNorm(), (c - b).squaredNorm(), (a - c).squaredNorm()});
  return (b - a).cross(c - a).norm() >= kMinRelativeHeight * longest;
}

/// The same for all triangles with the same corners in the same direction.
FileTriangle rotatedToLeast(const FileTriangle& t) {
  const auto first = static_cast<std::size_t>(std::min_element(t.begin(), t.end()) - t.begin());
  return {t[first], t[(first + 1) % 3], t[(first + 2) % 3]};
}

}  // namespace

Neighbours neighboursByRule(const Asset& asset) {
  const FileMesh mesh = fileMesh(asset);
  std::vector<std::pair<FileTriangle, std::uint32_t>> proper;
  for (std::uint32_t t = 0; t < mesh.triangles.size(); ++t) {
    if (hasArea(mesh, mesh.triangles[t])) proper.emplace_back(rotatedToLeast(mesh.triangles[t]), t);
  }
  std::sort(proper.begin(), proper.end());
  proper.erase(std::unique(proper.begin(), proper.end(),
                           [](const auto& a, const auto& b) { return a.first == b.first; }),
               proper.end());
  struct Edge {
    std::uint32_t low, high, half_edge;
    bool operator<(const Edge& other) const {
      return std::tie(low, high, half_edge) < std::tie(other.low, other.high, other.half_edge);
    }
    bool joins(const Edge& other) const { return low == other.low && high == other.high; }
  };
  std::vector<Edge> edges;
  edges.reserve(3 * proper.size());
  for (const auto& [key, t] : proper) {
    for (std::uint32_t e = 0; e < 3; ++e) {
      const auto [low, high] = std::minmax(mesh.triangles[t][e], mesh.triangles[t][(e + 1) % 3]);
      edges.push_back({low, high, 3 * t + e});
    }
  }
  std::sort(edges.begin(), edges.end());
  Neighbours neighbours(3 * mesh.triangles.size(), kNone);
  for (std::size_t i = 0; i < edges.size();) {
    std::size_t end = i + 1;
    while (end < edges.size() && edges[end].joins(edges[i]))
      ++end;
    if (end - i == 2) {
      neighbours[edges[i].half_edge] = edges[i + 1].half_edge;
      neighbours[edges[i + 1].half_edge] = edges[i].half_edge;
    }
    i = end;
  }
  return neighbours;
}

std::uint8_t edgeInTriangle(const FaceSource& source, std::size_t e) {
  const std::uint8_t a = source.corners[e], b = source.corners[(e + 1) % 3];
  return b == (a + 1) % 3 ? a : b;
}

std::uint8_t edgeInFace(const FaceSource& source, std::size_t e) {
  for (std::uint8_t i = 0; i < 3; ++i) {
    if (edgeInTriangle(source, i) == e) return i;
  }
  return 0;
}

Neighbours neighboursOnSurface(const SourceTriangles& triangles, const Surface& surface) {
  Neighbours neighbours(3 * triangles.size(), kNone);
  const auto half_edge = [&](std::uint32_t face, std::size_t e) {
    return 3 * triangles.triangleOf(face) + edgeInTriangle(surface.sources()[face], e);
  };
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    for (std::size_t e = 0; e < 3; ++e) {
      const std::uint32_t twin = surface.twins()[f][e];
      if (twin != kNone) neighbours[half_edge(f, e)] = half_edge(twin / 3, twin % 3);
    }
  }
  return neighbours;
}

NeighbourChanges differences(const Neighbours& rule, const Neighbours& wanted) {
  NeighbourChanges changes;
  for (std::uint32_t h = 0; h < rule.size(); ++h) {
    if (rule[h] != wanted[h]) changes.emplace_back(h, wanted[h]);
  }
  return changes;
}

}  // namespace heatskin
