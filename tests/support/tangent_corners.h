#pragma once

// Corners of triangles for tests of tangents.

#include <tuple>
#include <vector>

#include "heatskin/appearance/tangent_space.h"
#include "heatskin/base/vec.h"

namespace heatskin::testing {

/// Corners of triangles.
struct TangentCorners {
  std::vector<Vec3> positions;
  std::vector<Vec3f> normals;
  std::vector<Vec2f> uvs;

  void add(const Vec3& position, const Vec3& normal, const Vec2& uv) {
    positions.push_back(position.cast<float>().cast<double>());
    normals.push_back(normal.cast<float>());
    uvs.push_back(uv.cast<float>());
  }
  std::vector<Vec4f> tangents() const { return mikkTangents(positions, normals, uvs); }
};

/// A grid of quads over [0, 1]^2: `at` maps a grid point to position, normal and texture coordinates.
template <class At>
TangentCorners gridOf(int columns, int rows, const At& at) {
  TangentCorners corners;
  const auto add = [&](int i, int j) {
    const auto [position, normal, uv] = at(static_cast<double>(i) / columns, static_cast<double>(j) / rows);
    corners.add(position, normal, uv);
  };
  for (int j = 0; j < rows; ++j) {
    for (int i = 0; i < columns; ++i) {
      add(i, j), add(i + 1, j), add(i + 1, j + 1);
      add(i, j), add(i + 1, j + 1), add(i, j + 1);
    }
  }
  return corners;
}

/// Position, normal, texture coordinates.
using TangentPoint = std::tuple<Vec3, Vec3, Vec2>;

}  // namespace heatskin::testing
