#pragma once

// Charts of a new texture atlas: patches of a few dozen faces laid out in the plane without distortion. A
// face is attached to one that is there already, across the edge they share, at its true shape; it is left to
// another chart where it would cover a face of this one or turns too far away. Nothing is solved, nothing can
// fail: a triangle that is attached to nothing is a chart, one without area a point.
//
// Texture coordinates of an unfolded patch and the surface differ by a rigid motion, so texels are of one
// size everywhere. Where a patch is not flat, its unfolding has gaps: both of their sides are one edge of the
// surface.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Any triangles. Corners and neighbours may be wrong in every way but for indices beyond the arrays:
/// triangles with corners that are not finite are points, and neighbours that do not name each other are not
/// followed.
struct AtlasMesh {
  std::vector<std::array<Vec3, 3>> corners;            // [T]
  std::vector<std::array<std::uint32_t, 3>> across;    // [T] 3 * neighbour + its edge, or kNone; edge e runs
                                                       // from corner e to corner (e + 1) % 3
  std::vector<std::array<std::uint32_t, 3>> vertices;  // [T] equal numbers: one point of the surface

  std::size_t size() const { return corners.size(); }
};

/// Faces of a surface (each at most once) as such a mesh, in their order and in surface coordinates; edges to
/// other faces, and between faces of different `parts`, are borders. `parts` is [faces] or empty: one.
AtlasMesh atlasMesh(const Surface& surface, std::span<const std::uint32_t> faces,
                    std::span<const std::uint32_t> parts = {});

struct ChartOptions {
  std::size_t max_faces = 96;  ///< of a chart
  double max_turn = 60;        ///< degrees between the normals of a chart's first face and any other
};

/// Charts and where their faces are in them. A chart lies in [0, size.x] x [0, size.y], x to the right and y
/// up, the longer side along x, turned so that its bounding rectangle is the smallest; faces are
/// counter-clockwise. Lengths are those of the mesh.
struct AtlasCharts {
  std::vector<std::uint32_t> chart_of;       // [T]
  std::vector<std::array<Vec2, 3>> corners;  // [T] in the chart
  std::vector<Vec2> sizes;                   // [charts]; 0: a point
  std::vector<double> areas;                 // [charts] of their faces
  std::size_t overlap_tests = 0;             ///< pairs of faces that were looked at: bounds the time

  std::size_t size() const { return sizes.size(); }
  double totalArea() const;
};

/// Takes time and memory in proportion to the triangles, whatever they are: a face is compared with the at
/// most ChartOptions::max_faces faces of a chart whenever that chart reaches one of its three edges, and a
/// chart is cut in half a few times at most.
AtlasCharts growCharts(const AtlasMesh& mesh, const ChartOptions& options = {});

}  // namespace heatskin
