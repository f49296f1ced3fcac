#pragma once

// The ground truth: what colour the asset has at a surface point (METHOD section 1).

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/io/asset.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// How a texture is read between texels.
enum class Filter {
  kNearest,   ///< METHOD section 1: x = round(u (W - 1)), y = round(v (H - 1)), then wrapped; the paper's
              ///< tables use it
  kBilinear,  ///< what a renderer does: texel centres at (i + 0.5) / W, blended in linear light
};

/// Colour at points of the surface that was built from the same asset. Holds copies of what it needs: asset
/// and surface may go away.
///
/// A colour is sRGB in [0, 1]. A plain textured point read with kNearest is texel / 255 to the bit; where a
/// factor or a vertex colour multiplies, it does so in linear light, and the product is converted back. Alpha
/// is reported but never composited, and it is 1 for materials whose alpha mode is opaque.
class Appearance {
 public:
  Appearance(const Asset& asset, const Surface& surface);

  /// sRGB colour at one point.
  Vec3f color(const SurfacePoint& p, Filter filter = Filter::kNearest) const;

  /// Alpha at one point: texture alpha x factor x vertex alpha.
  float alpha(const SurfacePoint& p, Filter filter = Filter::kNearest) const;

  /// Colours of many points, in parallel; `out` is [points.size()].
  void colors(std::span<const SurfacePoint> points, std::span<Vec3f> out,
              Filter filter = Filter::kNearest) const;

  /// Texture coordinates of a face's corners (KHR_texture_transform applied, v down); false when the face has
  /// none or its material no texture.
  bool faceUvs(std::uint32_t face, std::array<Vec2f, 3>& uvs) const;

  /// Index into Asset::materials of a face's material; -1: the default material.
  int faceMaterial(std::uint32_t face) const { return looks_[face_look_[face]].material; }

  /// Index into images() of a face's base colour texture; -1: none.
  int faceImage(std::uint32_t face) const { return looks_[face_look_[face]].image; }

  /// The asset's images.
  std::span<const Image> images() const { return images_; }

  /// Faces whose colour comes from a texture.
  std::size_t texturedFaces() const { return textured_faces_; }

  /// True when there is something to fit: a texture, vertex colours, or factors that differ between faces.
  bool hasColor() const { return has_color_; }

  /// True when some point may have alpha below 1.
  bool hasAlpha() const { return has_alpha_; }

 private:
  /// A material with everything resolved, for one kind of primitive (with or without usable texture
  /// coordinates).
  struct Look {
    int material = -1;
    int image = -1;
    int uv_set = -1;
    Wrap wrap_u = Wrap::kRepeat;
    Wrap wrap_v = Wrap::kRepeat;
    Vec4f factor = {1, 1, 1, 1};  ///< linear
    bool white = true;            ///< factor is (1, 1, 1): texels pass unchanged
    bool opaque = true;
  };

  Vec2 uvAt(const SurfacePoint& p) const;
  Vec4f linearTexel(const Look& look, const Vec2& uv, Filter filter) const;

  std::span<const Image> images_;
  std::vector<Look> looks_;
  std::vector<std::uint32_t> face_look_;   // [F] index into looks_
  std::vector<std::array<Vec2f, 3>> uvs_;  // [F] or empty when no face is textured
  std::vector<std::array<Vec4f, 3>>
      colors_;  // [F] linear RGBA, or empty when no primitive has vertex colours
  std::size_t textured_faces_ = 0;
  bool has_color_ = false;
  bool has_alpha_ = false;
};

}  // namespace heatskin
