#pragma once

// Small meshes for the tests of this folder.

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include "heatskin/base/rng.h"
#include "heatskin/base/vec.h"

namespace heatskin::testing {

struct TriangleMesh {
  std::vector<Vec3> positions;
  std::vector<std::array<std::uint32_t, 3>> faces;
};

/// Unit sphere with 20 * 4^levels faces.
inline TriangleMesh icosphere(int levels) {
  const double t = std::numbers::phi;
  TriangleMesh mesh;
  for (const Vec3& v :
       {Vec3(-1, t, 0), Vec3(1, t, 0), Vec3(-1, -t, 0), Vec3(1, -t, 0), Vec3(0, -1, t), Vec3(0, 1, t),
        Vec3(0, -1, -t), Vec3(0, 1, -t), Vec3(t, 0, -1), Vec3(t, 0, 1), Vec3(-t, 0, -1), Vec3(-t, 0, 1)})
    mesh.positions.push_back(v.normalized());
  mesh.faces = {{0, 11, 5},  {0, 5, 1},  {0, 1, 7},  {0, 7, 10}, {0, 10, 11}, {1, 5, 9}, {5, 11, 4},
                {11, 10, 2}, {10, 7, 6}, {7, 1, 8},  {3, 9, 4},  {3, 4, 2},   {3, 2, 6}, {3, 6, 8},
                {3, 8, 9},   {4, 9, 5},  {2, 4, 11}, {6, 2, 10}, {8, 6, 7},   {9, 8, 1}};
  for (int level = 0; level < levels; ++level) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> middle;
    const auto split = [&](std::uint32_t a, std::uint32_t b) {
      const auto key = std::minmax(a, b);
      const auto [entry, added] = middle.try_emplace(key, static_cast<std::uint32_t>(mesh.positions.size()));
      if (added) mesh.positions.push_back((mesh.positions[a] + mesh.positions[b]).normalized());
      return entry->second;
    };
    std::vector<std::array<std::uint32_t, 3>> next;
    for (const auto& [a, b, c] : mesh.faces) {
      const std::uint32_t ab = split(a, b), bc = split(b, c), ca = split(c, a);
      next.insert(next.end(), {{a, ab, ca}, {b, bc, ab}, {c, ca, bc}, {ab, bc, ca}});
    }
    mesh.faces = std::move(next);
  }
  return mesh;
}

inline TriangleMesh torus(std::uint32_t around, std::uint32_t across, double radius = 0.7,
                          double tube = 0.3) {
  TriangleMesh mesh;
  for (std::uint32_t i = 0; i < around; ++i) {
    for (std::uint32_t j = 0; j < across; ++j) {
      const double a = 2 * std::numbers::pi * i / around, b = 2 * std::numbers::pi * j / across;
      const double r = radius + tube * std::cos(b);
      mesh.positions.push_back({r * std::cos(a), tube * std::sin(b), -r * std::sin(a)});
    }
  }
  for (std::uint32_t i = 0; i < around; ++i) {
    for (std::uint32_t j = 0; j < across; ++j) {
      const std::uint32_t k = (i + 1) % around, l = (j + 1) % across;
      const std::uint32_t a = i * across + j, b = k * across + j, c = k * across + l, d = i * across + l;
      mesh.faces.push_back({a, b, c});
      mesh.faces.push_back({a, c, d});
    }
  }
  return mesh;
}

/// Unconnected random triangles in the cube of half side `extent`.
inline TriangleMesh soup(std::uint64_t seed, std::uint32_t count, double extent) {
  TriangleMesh mesh;
  const RandomStream random(seed, 1);
  std::uint64_t n = 0;
  for (std::uint32_t f = 0; f < count; ++f) {
    for (int c = 0; c < 3; ++c) {
      const auto ab = random.uniform2(n++), cd = random.uniform2(n++);
      mesh.positions.push_back(extent * Vec3(2 * ab[0] - 1, 2 * ab[1] - 1, 2 * cd[0] - 1));
    }
    mesh.faces.push_back({3 * f, 3 * f + 1, 3 * f + 2});
  }
  return mesh;
}

/// The rectangle [x0, x1] x [y0, y1] in the plane z = 0, split `splits` times: a random face is divided at a
/// random point into three, which soon makes long slivers. Every point is covered once.
inline TriangleMesh shatteredRectangle(std::uint64_t seed, int splits, double x0, double y0, double x1,
                                       double y1) {
  TriangleMesh mesh;
  mesh.positions = {{x0, y0, 0}, {x1, y0, 0}, {x1, y1, 0}, {x0, y1, 0}};
  mesh.faces = {{0, 1, 2}, {0, 2, 3}};
  const RandomStream random(seed, 2);
  for (int i = 0; i < splits; ++i) {
    const auto uv = random.uniform2(2 * static_cast<std::uint64_t>(i));
    const std::size_t f =
        static_cast<std::size_t>(random.below(2 * static_cast<std::uint64_t>(i) + 1, mesh.faces.size()));
    const auto [a, b, c] = mesh.faces[f];
    const double s = std::sqrt(uv[0]);
    mesh.positions.push_back((1 - s) * mesh.positions[a] + s * (1 - uv[1]) * mesh.positions[b] +
                             s * uv[1] * mesh.positions[c]);
    const auto d = static_cast<std::uint32_t>(mesh.positions.size() - 1);
    mesh.faces[f] = {a, b, d};
    mesh.faces.push_back({b, c, d});
    mesh.faces.push_back({c, a, d});
  }
  return mesh;
}

}  // namespace heatskin::testing
