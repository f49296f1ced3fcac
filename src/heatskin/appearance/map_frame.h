#pragma once

// The frames that maps of directions are read in: what ShadingNormals uses, for those who write such maps.

#include <array>
#include <cstdint>
#include <vector>

#include "heatskin/appearance/slot_appearance.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/asset.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Tangents at the corners of faces that have a texture in a slot of SlotRule::kTangent, as the head of
/// shading_normals.h says.
struct MapTangents {
  std::vector<std::array<Vec4f, 3>> tangents;  // [F] w: handedness in the asset
  std::vector<std::uint8_t> turned;            // [F] nonzero: the face's normals were negated
};
MapTangents mapTangents(const Asset& asset, const Surface& surface, const SlotAppearance& slots,
                        std::size_t slot);

/// Tangent, bitangent and normal at a point, as the file has them.
struct MapFrame {
  Vec3 tangent, bitangent, normal;
  double side = 1;  ///< +1, or -1: normals point away from the file's

  /// The direction (x, y, z, a unit vector) that a texel of a map of scale 1 has to hold for the surface to
  /// face `wanted`. What leans back behind the interpolated normal is turned to its side.
  Vec3 direction(const Vec3& wanted) const;

  /// The numbers x and y of the vector x tangent + y bitangent that is nearest to `wanted`.
  Vec2 across(const Vec3& wanted) const;
};

/// `normals` are cornerNormals() of the point's face.
MapFrame mapFrame(const SurfacePoint& p, const std::array<Vec3f, 3>& normals,
                  const std::array<Vec4f, 3>& tangents, bool turned);

}  // namespace heatskin
