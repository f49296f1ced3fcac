#pragma once

// A ball with colours at its vertices, as a PLY file: for what takes very long on larger meshes, such as the
// preprocessing of the methods `thermal` and `spectral`.

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "support/tiny_surfaces.h"

namespace heatskin::testing {

/// The text of a PLY file of icosphere(level): 42, 162, 642, ... vertices.
inline std::string colouredBall(int level) {
  const Soup ball = icosphere(level);
  std::string ply = fmt::format(
      "ply\nformat ascii 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty float z\n"
      "property uchar red\nproperty uchar green\nproperty uchar blue\nelement face {}\n"
      "property list uchar int vertex_indices\nend_header\n",
      ball.positions.size(), ball.faces.size());
  const auto byte = [](double x) { return static_cast<int>(127 + 120 * std::sin(3 * x)); };
  for (const Vec3& p : ball.positions)
    ply += fmt::format("{} {} {} {} {} {}\n", p.x(), p.y(), p.z(), byte(p.x()), byte(p.y()), byte(p.z()));
  for (const auto& f : ball.faces)
    ply += fmt::format("3 {} {} {}\n", f[0], f[1], f[2]);
  return ply;
}

}  // namespace heatskin::testing
