#pragma once

// What every Surface promises, checked from outside: the slow, obvious reading of the header.

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "heatskin/surface/surface.h"

namespace heatskin::testing {

/// Copies of a surface's arrays, so that a test can also damage them.
struct SurfaceArrays {
  std::vector<Vec3> positions;
  std::vector<std::array<std::uint32_t, 3>> faces, twins;
  std::vector<std::array<Vec2, 3>> corners;
  std::vector<FaceFrame> frames;
  std::vector<std::uint32_t> components, vertex_half_edge;

  explicit SurfaceArrays(const Surface& s)
      : positions(s.positions().begin(), s.positions().end()),
        faces(s.faces().begin(), s.faces().end()),
        twins(s.twins().begin(), s.twins().end()),
        corners(s.corners().begin(), s.corners().end()),
        frames(s.frames().begin(), s.frames().end()),
        components(s.components().begin(), s.components().end()),
        vertex_half_edge(s.vertexHalfEdge().begin(), s.vertexHalfEdge().end()) {}

  /// The first broken promise, or an empty string.
  std::string check() const {
    for (std::size_t f = 0; f < faces.size(); ++f) {
      const std::string where = " at face " + std::to_string(f);
      if (const std::string message = checkFrame(f); !message.empty()) return message + where;
      for (std::size_t e = 0; e < 3; ++e) {
        const std::uint32_t t = twins[f][e];
        if (t == kNone) continue;
        if (t >= 3 * faces.size()) return "twin out of range" + where;
        if (twins[t / 3][t % 3] != 3 * f + e) return "the twin's twin is another half-edge" + where;
        if (faces[t / 3][t % 3] != faces[f][(e + 1) % 3] || faces[t / 3][(t % 3 + 1) % 3] != faces[f][e]) {
          return "twins do not run against each other along one edge" + where;
        }
        if (components[t / 3] != components[f]) return "neighbours in different components" + where;
      }
    }
    return checkFans();
  }

 private:
  std::string checkFrame(std::size_t f) const {
    // Positions are of size 1: a few dozen roundings.
    constexpr double kRounding = 1e-13;
    const FaceFrame& frame = frames[f];
    if (!(std::abs(frame.x_axis.norm() - 1) < kRounding && std::abs(frame.y_axis.norm() - 1) < kRounding &&
          std::abs(frame.x_axis.dot(frame.y_axis)) < kRounding)) {
      return "frame not orthonormal";
    }
    std::array<Vec3, 3> x;
    double longest = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      if (faces[f][c] >= positions.size()) return "vertex out of range";
      x[c] = positions[faces[f][c]];
    }
    for (std::size_t c = 0; c < 3; ++c) {
      longest = std::max(longest, (x[(c + 1) % 3] - x[c]).norm());
      // A sliver's plane is known to rounding over its height only, hence the generous bound for distances
      // from it.
      if (!((frame.fromFace(corners[f][c]) - x[c]).norm() < 1e-8 * longest + kRounding))
        return "corner off its place";
    }
    for (std::size_t c = 0; c < 3; ++c) {
      const double in_space = (x[(c + 1) % 3] - x[c]).norm();
      const double in_face = (corners[f][(c + 1) % 3] - corners[f][c]).norm();
      if (!(std::abs(in_space - in_face) < 1e-8 * longest + kRounding))
        return "edge length differs in the frame";
    }
    if (!(cross2(corners[f][1] - corners[f][0], corners[f][2] - corners[f][0]) > 0))
      return "corners not counter-clockwise";
    return "";
  }

  /// Every corner of the mesh is reached exactly once by going around the vertices.
  std::string checkFans() const {
    std::vector<int> reached(3 * faces.size(), 0);
    for (std::size_t v = 0; v < positions.size(); ++v) {
      const std::uint32_t first = vertex_half_edge[v];
      if (first >= 3 * faces.size()) return "vertex " + std::to_string(v) + " has no half-edge";
      std::uint32_t h = first;
      for (std::size_t turns = 0;; ++turns) {
        if (faces[h / 3][h % 3] != v) return "fan of vertex " + std::to_string(v) + " leaves the vertex";
        if (turns > 3 * faces.size()) return "fan of vertex " + std::to_string(v) + " does not close";
        ++reached[h];
        h = twins[h / 3][(h % 3 + 2) % 3];
        if (h == kNone || h == first) break;
      }
      if (h == kNone && twins[first / 3][first % 3] != kNone) {
        return "fan of boundary vertex " + std::to_string(v) + " does not begin at the boundary";
      }
    }
    const auto wrong = std::find_if(reached.begin(), reached.end(), [](int n) { return n != 1; });
    if (wrong == reached.end()) return "";
    return "corner " + std::to_string(wrong - reached.begin()) + " belongs to " + std::to_string(*wrong) +
           " fans";
  }
};

/// The first broken promise of a surface, or an empty string.
inline std::string checkSurface(const Surface& s) {
  if (std::string message = SurfaceArrays(s).check(); !message.empty()) return message;
  std::size_t boundary = 0, in_loops = 0;
  for (const auto& twins : s.twins())
    boundary += static_cast<std::size_t>(std::count(twins.begin(), twins.end(), kNone));
  for (const auto& loop : s.boundaryLoops()) {
    in_loops += loop.size();
    for (std::size_t i = 0; i < loop.size(); ++i) {
      const std::uint32_t h = loop[i], g = loop[(i + 1) % loop.size()];
      if (s.faces()[h / 3][(h % 3 + 1) % 3] != s.faces()[g / 3][g % 3])
        return "boundary loop is not connected";
      if (!s.isBoundaryVertex(s.faces()[h / 3][h % 3])) return "boundary vertex not marked";
    }
  }
  return boundary == in_loops ? "" : "boundary loops do not hold every boundary edge once";
}

}  // namespace heatskin::testing
