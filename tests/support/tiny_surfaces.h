#pragma once

// Small meshes with known answers, and dirty ones with none. All are made by code, the same on every machine.
// Surface::build normalises: compare with surface.positions(), not with the positions here.

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"
#include "heatskin/surface/surface.h"

namespace heatskin::testing {

/// Triangles before they become a Surface.
struct Soup {
  std::string name;
  std::vector<Vec3> positions;
  std::vector<std::array<std::uint32_t, 3>> faces;
};

/// The surface of a soup that must be usable. First axes are edge directions unless asked otherwise.
inline Surface build(const Soup& soup, bool principal_axes = false) {
  SurfaceOptions options;
  options.principal_axes = principal_axes;
  auto surface = Surface::build(soup.positions, soup.faces, options);
  if (!surface) {
    ADD_FAILURE() << soup.name << ": " << surface.error().message;
    return Surface();
  }
  return std::move(*surface);
}

/// [0, nx] x [0, ny] in the plane z = 0, two triangles per cell with alternating diagonals, so that vertices
/// have valence 4 and 8.
inline Soup flatGrid(std::uint32_t nx, std::uint32_t ny) {
  Soup soup{"flat grid", {}, {}};
  for (std::uint32_t y = 0; y <= ny; ++y) {
    for (std::uint32_t x = 0; x <= nx; ++x)
      soup.positions.emplace_back(x, y, 0);
  }
  const auto id = [&](std::uint32_t x, std::uint32_t y) { return y * (nx + 1) + x; };
  for (std::uint32_t y = 0; y < ny; ++y) {
    for (std::uint32_t x = 0; x < nx; ++x) {
      const std::uint32_t a = id(x, y), b = id(x + 1, y), c = id(x + 1, y + 1), d = id(x, y + 1);
      if ((x + y) % 2 == 0) {
        soup.faces.push_back({a, b, c});
        soup.faces.push_back({a, c, d});
      } else {
        soup.faces.push_back({a, b, d});
        soup.faces.push_back({b, c, d});
      }
    }
  }
  return soup;
}

/// Regular tetrahedron with edge length 2 sqrt 2.
inline Soup tetrahedron() {
  return {"tetrahedron",
          {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}},
          {{0, 1, 2}, {0, 3, 1}, {0, 2, 3}, {1, 3, 2}}};
}

/// [-1, 1]^3, every side n x n cells of two triangles.
inline Soup cube(std::uint32_t n = 1) {
  Soup soup{"cube", {}, {}};
  // Sides as (origin, u, v) with u x v pointing outwards; Surface welds equal positions.
  const std::array<std::array<Vec3, 3>, 6> sides = {{
      {Vec3(-1, -1, 1), Vec3(2, 0, 0), Vec3(0, 2, 0)},
      {Vec3(-1, 1, -1), Vec3(2, 0, 0), Vec3(0, -2, 0)},
      {Vec3(1, -1, 1), Vec3(0, 0, -2), Vec3(0, 2, 0)},
      {Vec3(-1, -1, -1), Vec3(0, 0, 2), Vec3(0, 2, 0)},
      {Vec3(-1, 1, 1), Vec3(2, 0, 0), Vec3(0, 0, -2)},
      {Vec3(-1, -1, -1), Vec3(2, 0, 0), Vec3(0, 0, 2)},
  }};
  for (const auto& [origin, u, v] : sides) {
    const auto first = static_cast<std::uint32_t>(soup.positions.size());
    for (std::uint32_t y = 0; y <= n; ++y) {
      for (std::uint32_t x = 0; x <= n; ++x) {
        soup.positions.push_back(origin + (static_cast<double>(x) / n) * u +
                                 (static_cast<double>(y) / n) * v);
      }
    }
    for (std::uint32_t y = 0; y < n; ++y) {
      for (std::uint32_t x = 0; x < n; ++x) {
        const std::uint32_t a = first + y * (n + 1) + x, b = a + 1, d = a + n + 1, c = d + 1;
        soup.faces.push_back({a, b, c});
        soup.faces.push_back({a, c, d});
      }
    }
  }
  return soup;
}

/// Unit icosahedron with every face split in four `levels` times, vertices on the unit sphere.
inline Soup icosphere(int levels) {
  const double g = std::numbers::phi;
  Soup soup{"icosphere",
            {{-1, g, 0},
             {1, g, 0},
             {-1, -g, 0},
             {1, -g, 0},
             {0, -1, g},
             {0, 1, g},
             {0, -1, -g},
             {0, 1, -g},
             {g, 0, -1},
             {g, 0, 1},
             {-g, 0, -1},
             {-g, 0, 1}},
            {{0, 11, 5},  {0, 5, 1},  {0, 1, 7},  {0, 7, 10}, {0, 10, 11}, {1, 5, 9}, {5, 11, 4},
             {11, 10, 2}, {10, 7, 6}, {7, 1, 8},  {3, 9, 4},  {3, 4, 2},   {3, 2, 6}, {3, 6, 8},
             {3, 8, 9},   {4, 9, 5},  {2, 4, 11}, {6, 2, 10}, {8, 6, 7},   {9, 8, 1}}};
  for (int level = 0; level < levels; ++level) {
    std::vector<std::array<std::uint32_t, 3>> finer;
    for (const auto& [a, b, c] : soup.faces) {
      // Midpoints come out twice with equal bits because a + b == b + a; Surface welds them.
      const auto first = static_cast<std::uint32_t>(soup.positions.size());
      soup.positions.push_back(0.5 * (soup.positions[a] + soup.positions[b]));
      soup.positions.push_back(0.5 * (soup.positions[b] + soup.positions[c]));
      soup.positions.push_back(0.5 * (soup.positions[c] + soup.positions[a]));
      finer.push_back({a, first, first + 2});
      finer.push_back({first, b, first + 1});
      finer.push_back({first + 2, first + 1, c});
      finer.push_back({first, first + 1, first + 2});
    }
    soup.faces = std::move(finer);
  }
  for (Vec3& p : soup.positions)
    p.normalize();
  return soup;
}

/// A cone whose apex (vertex 0) has the given total angle below 2 pi, open at slant height 1: `sectors` faces
/// round the apex, `rings` rings.
inline Soup cone(double total_angle, std::uint32_t sectors, std::uint32_t rings) {
  Soup soup{"cone", {}, {}};
  // Sectors are flat: the apex angle of each is total_angle / sectors exactly.
  const double chord = 2 * std::sin(total_angle / (2 * sectors));
  const double radius = chord / (2 * std::sin(std::numbers::pi / sectors));
  const double height = std::sqrt(1 - radius * radius);
  soup.positions.emplace_back(0, 0, 0);
  for (std::uint32_t r = 1; r <= rings; ++r) {
    for (std::uint32_t s = 0; s < sectors; ++s) {
      const double angle = 2 * std::numbers::pi * s / sectors, scale = static_cast<double>(r) / rings;
      soup.positions.emplace_back(scale * radius * std::cos(angle), scale * radius * std::sin(angle),
                                  -scale * height);
    }
  }
  const auto id = [&](std::uint32_t r, std::uint32_t s) { return 1 + (r - 1) * sectors + s % sectors; };
  for (std::uint32_t s = 0; s < sectors; ++s) {
    soup.faces.push_back({0, id(1, s), id(1, s + 1)});
    for (std::uint32_t r = 1; r < rings; ++r) {
      soup.faces.push_back({id(r, s), id(r + 1, s), id(r + 1, s + 1)});
      soup.faces.push_back({id(r, s), id(r + 1, s + 1), id(r, s + 1)});
    }
  }
  return soup;
}

/// One interior vertex (vertex 0) with total angle above 2 pi: a fan whose rim goes up and down.
inline Soup saddle(std::uint32_t sectors = 8, double height = 0.8) {
  Soup soup{"saddle", {{0, 0, 0}}, {}};
  for (std::uint32_t s = 0; s < sectors; ++s) {
    const double angle = 2 * std::numbers::pi * s / sectors;
    soup.positions.emplace_back(std::cos(angle), std::sin(angle), s % 2 == 0 ? height : -height);
    soup.faces.push_back({0, 1 + s, 1 + (s + 1) % sectors});
  }
  return soup;
}

/// An open prism with `sectors` flat sides, radius 1, height 2 in `rings` rings: unrolls to a rectangle.
inline Soup cylinderBand(std::uint32_t sectors, std::uint32_t rings) {
  Soup soup{"cylinder band", {}, {}};
  for (std::uint32_t r = 0; r <= rings; ++r) {
    for (std::uint32_t s = 0; s < sectors; ++s) {
      const double angle = 2 * std::numbers::pi * s / sectors;
      soup.positions.emplace_back(std::cos(angle), std::sin(angle), 2.0 * r / rings - 1);
    }
  }
  const auto id = [&](std::uint32_t r, std::uint32_t s) { return r * sectors + s % sectors; };
  for (std::uint32_t r = 0; r < rings; ++r) {
    for (std::uint32_t s = 0; s < sectors; ++s) {
      soup.faces.push_back({id(r, s), id(r, s + 1), id(r + 1, s + 1)});
      soup.faces.push_back({id(r, s), id(r + 1, s + 1), id(r + 1, s)});
    }
  }
  return soup;
}

/// A Moebius band of `segments` quads: no consistent orientation exists.
inline Soup moebius(std::uint32_t segments) {
  Soup soup{"Moebius band", {}, {}};
  for (std::uint32_t s = 0; s < segments; ++s) {
    const double angle = 2 * std::numbers::pi * s / segments;
    for (const double side : {-0.4, 0.4}) {
      const double r = 1 + side * std::cos(angle / 2);
      soup.positions.emplace_back(r * std::cos(angle), r * std::sin(angle), side * std::sin(angle / 2));
    }
  }
  for (std::uint32_t s = 0; s < segments; ++s) {
    const bool last = s + 1 == segments;
    const std::uint32_t a = 2 * s, b = 2 * s + 1, c = last ? 1 : a + 2, d = last ? 0 : b + 2;
    soup.faces.push_back({a, c, b});
    soup.faces.push_back({b, c, d});
  }
  return soup;
}

/// A closed torus, `around` x `along` quads: vertices of both signs of curvature, genus 1.
inline Soup torus(std::uint32_t around, std::uint32_t along, double thickness = 0.4) {
  Soup soup{"torus", {}, {}};
  for (std::uint32_t i = 0; i < along; ++i) {
    for (std::uint32_t j = 0; j < around; ++j) {
      const double u = 2 * std::numbers::pi * i / along, v = 2 * std::numbers::pi * j / around;
      const double r = 1 + thickness * std::cos(v);
      soup.positions.emplace_back(r * std::cos(u), r * std::sin(u), thickness * std::sin(v));
    }
  }
  const auto id = [&](std::uint32_t i, std::uint32_t j) { return (i % along) * around + j % around; };
  for (std::uint32_t i = 0; i < along; ++i) {
    for (std::uint32_t j = 0; j < around; ++j) {
      soup.faces.push_back({id(i, j), id(i + 1, j), id(i + 1, j + 1)});
      soup.faces.push_back({id(i, j), id(i + 1, j + 1), id(i, j + 1)});
    }
  }
  return soup;
}

/// A flat strip of triangles with height `height` and unit-length bases: slivers side by side, closed by one
/// row of well-shaped triangles on each side.
inline Soup sliverStrip(std::uint32_t count, double height) {
  Soup soup{"sliver strip", {}, {}};
  const std::array<double, 4> levels = {-1, 0, height, 1 + height};
  for (const double y : levels) {
    for (std::uint32_t x = 0; x <= count; ++x)
      soup.positions.emplace_back(x, y, 0.1 * y * y);
  }
  const auto id = [&](std::uint32_t x, std::uint32_t row) { return row * (count + 1) + x; };
  for (std::uint32_t row = 0; row < 3; ++row) {
    for (std::uint32_t x = 0; x < count; ++x) {
      soup.faces.push_back({id(x, row), id(x + 1, row), id(x + 1, row + 1)});
      soup.faces.push_back({id(x, row), id(x + 1, row + 1), id(x, row + 1)});
    }
  }
  return soup;
}

/// Random triangles over few random vertices: non-manifold edges and vertices, duplicates, degenerate faces,
/// slivers, several components, no orientation. About half of the vertices are pushed to a coarse lattice so
/// that different indices share positions, and some triangles are squeezed to slivers.
inline Soup dirtySoup(std::uint64_t seed, std::uint32_t vertices, std::uint32_t triangles) {
  Soup soup{"dirty soup " + std::to_string(seed), {}, {}};
  const RandomStream random(seed, 77);
  std::uint64_t index = 0;
  for (std::uint32_t v = 0; v < vertices; ++v) {
    const auto [x, y] = random.uniform2(index++);
    const auto [z, kind] = random.uniform2(index++);
    Vec3 p(x, y, z);
    if (kind < 0.3) p = (3 * p).array().round() / 3;
    if (kind > 0.9 && v > 1) p = 0.5 * (soup.positions[v - 1] + soup.positions[v - 2]) + 1e-7 * p;
    soup.positions.push_back(p);
  }
  for (std::uint32_t t = 0; t < triangles; ++t) {
    std::array<std::uint32_t, 3> face;
    const bool grow = t > 0 && random.uniform(index++) < 0.8;
    for (std::uint32_t k = 0; k < 3; ++k) {
      face[k] = static_cast<std::uint32_t>(random.below(index++, vertices));
    }
    if (grow) {  // share an edge with an earlier triangle, in either orientation
      const auto& old = soup.faces[random.below(index++, soup.faces.size())];
      const auto e = random.below(index++, 3);
      face[0] = old[e];
      face[1] = old[(e + 1) % 3];
    }
    soup.faces.push_back(face);
  }
  return soup;
}

/// A bumpy sphere with accidents: faces missing, doubled, turned over; vertices moved, some onto a neighbour
/// (degenerate faces, non-manifold edges) and some almost onto one (slivers).
inline Soup damagedSphere(std::uint64_t seed, int levels = 3);

/// A bumpy closed surface: an icosphere with its vertices moved in and out by up to `amplitude`.
inline Soup bumpySphere(int levels, double amplitude, std::uint64_t seed) {
  Soup soup = icosphere(levels);
  soup.name = "bumpy sphere " + std::to_string(seed);
  for (Vec3& p : soup.positions) {
    // From the position, not the index: equal positions must stay equal.
    const Vec3 wave = (7.0 * p + Vec3::Constant(static_cast<double>(seed))).array().sin();
    p *= 1 + amplitude * wave.x() * wave.y() * wave.z() * 2;
  }
  return soup;
}

inline Soup damagedSphere(std::uint64_t seed, int levels) {
  Soup soup = bumpySphere(levels, 0.3, seed);
  soup.name = "damaged sphere " + std::to_string(seed);
  const RandomStream random(seed, 78);
  std::uint64_t index = 0;
  std::vector<std::array<std::uint32_t, 3>> faces;
  for (auto face : soup.faces) {
    const auto [what, where] = random.uniform2(index++);
    if (what < 0.02) continue;
    if (what < 0.04) std::swap(face[0], face[1]);
    if (what < 0.06) faces.push_back(face);
    faces.push_back(face);
    if (what > 0.97) {
      const Vec3 from = soup.positions[face[0]];
      const double t = what > 0.98 ? 1 - 1e-6 * where : 1;
      const Vec3 to = from + t * (soup.positions[face[1]] - from);
      for (Vec3& p : soup.positions) {
        if (p == from) p = to;
      }
    }
  }
  soup.faces = std::move(faces);
  return soup;
}

}  // namespace heatskin::testing
