#pragma once

// Which way a surface faces when it is lit: normals of vertices, interpolated, and what normal maps make of
// them; and directions of anisotropy, which are read in the same frames. All directions are unit vectors in
// the asset's axes, which are those of surface coordinates.
//
// - Vertex normals are the file's. A glTF primitive without any is flat (specification 3.7.2.1); OBJ and PLY
//   leave it to the program: creaseNormals().
// - They are turned to the outside of the surface: where the mean normal of a face's corners points inwards
//   (a file wound the wrong way), normals and mapped normals of that face are negated.
// - Instances transform normals by the inverse transpose and tangents by the matrix; a mirroring one mirrors
//   what the map shows, too.
// - Tangents are the file's, or MikkTSpace's for the texture coordinates of the normal texture after
//   KHR_texture_transform, so that a turned map stays lit from the right side. Stored tangents are used as
//   they are.
// - Maps of anisotropy have the tangents of the normal texture, as glTF wants it; where there is none, those
//   for coordinates of their own.
// - As MikkTSpace prescribes, interpolated normals and tangents are not normalised and the bitangent is made
//   of them at the point: n = normalise(x t + y b + z n0).

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "heatskin/appearance/slot_appearance.h"
#include "heatskin/base/channel_layout.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/asset.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Vertex normals of an asset at the corners of its surface's faces, as above; [F].
std::vector<std::array<Vec3f, 3>> cornerNormals(const Asset& asset, const Surface& surface);

/// The slot of normal maps, the one unless told otherwise.
inline constexpr std::size_t kNormalSlot = slotOf("normal");

/// The slot of the clearcoat's own normal maps.
inline constexpr std::size_t kCoatNormalSlot = slotOf("clearcoat_normal");

/// The slot of directions and strengths of anisotropy.
inline constexpr std::size_t kAnisotropySlot = slotOf("anisotropy");

/// See the head of the file. `slots` of its functions are those it was made with.
class ShadingNormals {
 public:
  /// `slot`: kNormalSlot, kCoatNormalSlot or kAnisotropySlot, whose maps this is about.
  ShadingNormals(const Asset& asset, const Surface& surface, const SlotAppearance& slots,
                 std::size_t slot = kNormalSlot);

  /// Vertex normals at corners; [F].
  std::span<const std::array<Vec3f, 3>> corners() const { return normals_; }

  /// True when the face has a map.
  bool faceMapped(std::uint32_t face, const SlotAppearance& slots) const;

  /// True when some face has one.
  bool mapped() const { return !tangents_.empty(); }

  /// n0, the interpolated vertex normal.
  Vec3 vertexNormal(const SurfacePoint& p) const;

  /// n, with the normal map; n0 where there is none. Not for anisotropy.
  Vec3 normal(const SurfacePoint& p, const SlotAppearance& slots, Filter filter = Filter::kAuto) const;

  /// The slope of n; 0 where there is no normal map. Not for anisotropy.
  Vec2 slope(const SurfacePoint& p, const SlotAppearance& slots, Filter filter = Filter::kAuto) const;

  /// The direction of anisotropy, as long as it is strong, in the plane that n0 is perpendicular to; 0 where
  /// there is no map. With kAnisotropySlot alone.
  Vec3 anisotropy(const SurfacePoint& p, const SlotAppearance& slots, Filter filter = Filter::kAuto) const;

  /// What the tangent group of the slot holds: slope(), or anisotropy() as it lies in the face
  /// (faceFromShaded()).
  Vec2 tangent(const SurfacePoint& p, const SlotAppearance& slots, Filter filter = Filter::kAuto) const;

 private:
  std::size_t slot_;
  std::vector<std::array<Vec3f, 3>> normals_;   // [F]
  std::vector<std::array<Vec4f, 3>> tangents_;  // [F] or empty: no normal maps; w: handedness in the asset
  std::vector<std::uint8_t> turned_;            // [F] or empty: the face's normals were negated
  std::vector<FaceFrame> frames_;               // [F] or empty: no normal maps
};

/// Slopes longer than this (63 degrees) are cut to it: what texture maps of bumps hardly ever have.
inline constexpr double kMaxSlope = 2;

/// The normal that a slope stands for: with the axes e1, e2 and the normal nf of the face's frame, nf + x e1
/// + y e2 as turned by the smallest rotation that takes nf to n0, normalised. A slope is a vector in face
/// coordinates; 0 is n0 itself. Where n0 = -nf, the rotation is the half turn around e1.
Vec3 normalFromSlope(const FaceFrame& frame, const Vec3& n0, const Vec2& slope);

/// The slope of a normal, the inverse of the above, at most kMaxSlope long: normals that point away from n0
/// get the largest slope in their direction.
Vec2 slopeFromNormal(const FaceFrame& frame, const Vec3& n0, const Vec3& normal);

/// A vector in face coordinates as it lies in the plane of shading: turned by the smallest rotation that
/// takes the frame's normal to n0, as normalFromSlope() does; and back.
Vec3 shadedFromFace(const FaceFrame& frame, const Vec3& n0, const Vec2& vector);
Vec2 faceFromShaded(const FaceFrame& frame, const Vec3& n0, const Vec3& vector);

/// True for channels whose values stand for normals: "normal", "object_normal", "clearcoat_normal".
bool isNormalChannel(std::string_view name);

/// The channels of a texture that stand for normals of the surface: "normal" (slopes) or "object_normal"
/// (what is added to the interpolated normal); or, with kCoatNormalSlot, for those of its clearcoat. The
/// layout must outlive it.
class NormalChannels {
 public:
  explicit NormalChannels(const ChannelLayout& layout, std::size_t slot = kNormalSlot)
      : slopes_(layout.find(kMaterialSlots[slot].channel)),
        residuals_(slot == kNormalSlot ? layout.find("object_normal") : nullptr) {}

  bool any() const { return slopes_ != nullptr || residuals_ != nullptr; }

  /// The shading normal, of the face's frame, the interpolated normal and the texture's values at the point
  /// ([C]).
  Vec3 normal(const FaceFrame& frame, const Vec3& n0, const float* values) const;

 private:
  const ChannelGroup* slopes_;
  const ChannelGroup* residuals_;
};

}  // namespace heatskin
