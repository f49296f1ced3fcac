#pragma once

// The ground truth: what the asset shows at a surface point, colour and visibility (METHOD section 1).

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heatskin/appearance/slot_appearance.h"
#include "heatskin/base/channel_layout.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/asset.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

class ShadingNormals;

/// Colour and visibility at points of the surface that was built from the same asset. Holds what it needs
/// (images are shared with the asset): asset and surface may go away.
///
/// A colour is sRGB in [0, 1]. A plain textured point that is read without blending is texel / 255 to the
/// bit; where a factor or a vertex colour multiplies, it does so in linear light, and the product is
/// converted back. Texels of materials that are not opaque are blended by their alpha, so that what nobody
/// sees (often black) does not leak into the rim of a cut-out; where all of them are invisible, plainly.
class Appearance {
 public:
  Appearance(const Asset& asset, const Surface& surface);

  /// The same with other images instead of the asset's, as many and in the same order: compressed or resized
  /// ones.
  Appearance(const Asset& asset, const Surface& surface, std::vector<std::shared_ptr<const Image>> images);

  /// sRGB colour at one point.
  Vec3f color(const SurfacePoint& p, Filter filter = Filter::kAuto) const;

  /// Alpha at one point, texture alpha x factor x vertex alpha, whatever the cutoff; 1 for opaque materials.
  float alpha(const SurfacePoint& p, Filter filter = Filter::kAuto) const;

  /// How much of the point is seen: 1 for opaque materials, 0 or 1 by the cutoff for MASK, alpha for BLEND.
  float visibility(const SurfacePoint& p, Filter filter = Filter::kAuto) const;

  /// Colours of many points, in parallel; `out` is [points.size()].
  void colors(std::span<const SurfacePoint> points, std::span<Vec3f> out,
              Filter filter = Filter::kAuto) const;

  /// Colours and visibilities of many points, in parallel; both spans are [points.size()].
  void colors(std::span<const SurfacePoint> points, std::span<Vec3f> colors, std::span<float> visibilities,
              Filter filter = Filter::kAuto) const;

  /// The other slots of the materials: metallic, roughness, ...
  const SlotAppearance& slots() const { return slots_; }

  /// Normals of an asset that has normal maps; null without.
  const ShadingNormals* normals() const { return normals_.get(); }

  /// The same for another slot of directions (shading_normals.h): kNormalSlot, kCoatNormalSlot or
  /// kAnisotropySlot.
  const ShadingNormals* directions(std::size_t slot) const;

  /// The group of a channel with the range that this asset gives it: base_color, alpha, or one of
  /// kMaterialSlots. Nothing for names that values() has no answer for. Normal maps are the group "normal"
  /// (slopes in face coordinates, see normalFromSlope()) or "object_normal" (what the map adds to the
  /// interpolated normal, in the asset's axes: n - n0), those of the clearcoat "clearcoat_normal" (slopes);
  /// "anisotropy" has directions as long as they are strong (shadedFromFace()).
  std::optional<ChannelGroup> group(std::string_view name) const;

  /// True when the face has one value in a channel of that name, which its material says: no texture (and
  /// for base_color and alpha no vertex colours).
  bool faceConstant(std::uint32_t face, std::string_view channel) const;

  /// True when an asset has a value for every channel of the layout: base_color, alpha and the slots of
  /// materials.
  static bool knows(const ChannelLayout& layout);

  /// Values of the channels of a layout that knows() is true for, in one pass and in parallel; `out` is
  /// [points, C].
  void values(std::span<const SurfacePoint> points, const ChannelLayout& layout, std::span<float> out,
              Filter filter = Filter::kAuto) const;

  /// Visibilities alone, for whoever has colours from elsewhere (a product); `out` is [points.size()].
  void visibilities(std::span<const SurfacePoint> points, std::span<float> out,
                    Filter filter = Filter::kAuto) const;

  /// Texture coordinates of a face's corners (KHR_texture_transform applied, v down); false when the face has
  /// none or its material no texture.
  bool faceUvs(std::uint32_t face, std::array<Vec2f, 3>& uvs) const;

  /// Index into Asset::materials of a face's material; -1: the default material.
  int faceMaterial(std::uint32_t face) const { return lookOf(face).material; }

  /// Index into images() of a face's base colour texture; -1: none.
  int faceImage(std::uint32_t face) const { return lookOf(face).image; }

  /// How a face's alpha decides about visibility.
  AlphaMode faceAlphaMode(std::uint32_t face) const { return lookOf(face).alpha_mode; }

  /// Alpha from which on points of a material are seen, if its mode is MASK; otherwise nothing.
  std::optional<float> maskCutoff(int material) const;

  /// True when every point of the face has visibility 1, whatever the texture's texels are.
  bool faceOpaque(std::uint32_t face) const { return lookOf(face).opaque; }

  /// True when the face has one colour: no texture and no vertex colours, only its material's factor.
  bool faceConstant(std::uint32_t face) const { return lookOf(face).constant(); }

  /// The asset's images.
  std::span<const std::shared_ptr<const Image>> images() const { return images_; }

  /// Those that values() of a layout reads on some face: increasing indices into images().
  std::vector<std::size_t> imagesOf(const ChannelLayout& layout) const;

  std::size_t faceCount() const { return face_look_.size(); }

  /// Faces whose colour comes from a texture.
  std::size_t texturedFaces() const { return textured_faces_; }

  /// Faces of one colour, see faceConstant().
  std::size_t constantFaces() const { return constant_faces_; }

  /// True when there is something to fit: a texture or vertex colours.
  bool hasColor() const { return constant_faces_ < face_look_.size(); }

  /// What `filter` comes down to here, for reports: "nearest", "bilinear", "paper", or "nearest and bilinear"
  /// where samplers differ.
  std::string filterUsed(Filter filter) const;

  /// True when some point may have a visibility below 1.
  bool hasAlpha() const { return has_alpha_; }

 private:
  /// A material with everything resolved, for one kind of primitive (with or without usable texture
  /// coordinates and vertex colours).
  struct Look {
    int material = -1;
    int image = -1;
    int uv_set = -1;
    Wrap wrap_u = Wrap::kRepeat;
    Wrap wrap_v = Wrap::kRepeat;
    Filter filter = Filter::kBilinear;  ///< the sampler's
    Vec4f factor = {1, 1, 1, 1};        ///< linear
    bool white = true;                  ///< factor is (1, 1, 1): texels pass unchanged
    bool colored = false;               ///< vertex colours multiply
    AlphaMode alpha_mode = AlphaMode::kOpaque;
    float cutoff = 0.5f;
    bool opaque = true;  ///< visibility is 1 everywhere

    bool constant() const { return image < 0 && !colored; }
    float visibility(float alpha) const;
  };

  const Look& lookOf(std::uint32_t face) const { return looks_[face_look_[face]]; }
  void prefetch(std::uint32_t face) const;
  Vec2 uvAt(const SurfacePoint& p) const;
  Vec4f vertexColorAt(const SurfacePoint& p) const;
  const std::uint8_t* texelAt(const Look& look, const Vec2& uv, Filter filter) const;
  Vec4f linearTexel(const Look& look, const Vec2& uv, Filter filter) const;
  /// sRGB colour and alpha.
  std::pair<Vec3f, float> at(const SurfacePoint& p, Filter filter) const;

  std::vector<std::shared_ptr<const Image>> images_;
  SlotAppearance slots_;
  std::shared_ptr<const ShadingNormals> normals_, coat_, anisotropy_;  ///< null: no such maps
  std::vector<Look> looks_;
  std::vector<std::uint32_t> face_look_;   // [F] index into looks_
  std::vector<std::array<Vec2f, 3>> uvs_;  // [F] or empty when no face is textured
  std::vector<std::array<Vec4f, 3>>
      colors_;  // [F] linear RGBA, or empty when no primitive has vertex colours
  std::size_t textured_faces_ = 0;
  std::size_t constant_faces_ = 0;
  bool has_alpha_ = false;
};

/// The groups that stand for maps of directions, see Appearance::group(): that of a slot of
/// SlotRule::kTangent, and the one that takes the place of "normal" where there are no tangent groups.
ChannelGroup tangentGroup(std::size_t slot);
ChannelGroup objectNormalGroup();

}  // namespace heatskin
