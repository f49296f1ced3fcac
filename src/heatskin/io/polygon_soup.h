#pragma once

// Faces with any number of corners, as OBJ and PLY store them, and their way into a Mesh.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/asset.h"

namespace heatskin {

/// Corners refer to positions and, separately, to texture coordinates and normals. All indices are in range.
struct PolygonSoup {
  static constexpr std::uint32_t kNoUv = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t kNoNormal = kNoUv;

  struct Face {
    std::uint32_t first_corner = 0;  ///< its corners end where the next face's begin
    std::int32_t material = -1;      ///< index into Asset::materials
    std::uint32_t part = 0;          ///< index into `parts`
  };

  std::vector<Vec3> positions;                 // [V] finite
  std::vector<Vec4f> colors;                   // [V] linear RGBA, or empty
  std::vector<Vec2f> uvs;                      // finite, v down
  std::vector<std::uint32_t> corner_position;  // [C]
  std::vector<std::uint32_t> corner_uv;        // [C] or kNoUv; may be empty when no corner has one
  std::vector<Vec3f> normals;                  // unit, or zero: none
  std::vector<std::uint32_t> corner_normal;    // [C] or kNoNormal; may be empty when no corner has one
  std::vector<Face> faces;                     // [F], each with at least 3 corners
  std::vector<std::string> parts;              // names, numbered by first use; empty: one, without a name

  std::size_t faceEnd(std::size_t face) const {
    return face + 1 < faces.size() ? faces[face + 1].first_corner : corner_position.size();
  }
};

/// Appends one mesh and one instance to `asset` for every part, of its name or else of `name`, with one
/// primitive per (material, has texture coordinates) in the order of first use. A vertex is a position with
/// one texture coordinate and one normal: equal ones share one vertex. Polygons are cut into triangles
/// (triangulate.h). A face counts as having texture coordinates when all its corners do. Vertex colours are
/// left out of primitives with a texture. Notices tell about faces whose texture cannot be used, vertices in
/// no face and polygons that cross themselves. Refuses more than `options` allows.
Result<void> appendMesh(Asset& asset, const PolygonSoup& soup, const std::string& name,
                        const LoadOptions& options);

}  // namespace heatskin
