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
  kBilinear,  ///< what a renderer does: texel centres at (i + 0.5) / W
};

/// Colour at surface points of the surface that was built from the same asset. Holds references to neither:
/// the asset and the surface may go away; images are shared by copy of the asset's vector.
///
/// A colour is sRGB in [0, 1]. A plain textured point is texel / 255 to the bit; where a factor or a vertex
/// colour multiplies, it does so in linear light, and the product is converted back.
class Appearance {
 public:
  Appearance(const Asset& asset, const Surface& surface);

  /// sRGB colour at one point.
  Vec3f color(const SurfacePoint& p, Filter filter = Filter::kNearest) const;

  /// Alpha at one point (texture alpha x factor x vertex alpha); reported, never composited.
  float alpha(const SurfacePoint& p, Filter filter = Filter::kNearest) const;

  /// Colours of many points, in parallel; `out` is [points.size()].
  void colors(std::span<const SurfacePoint> points, std::span<Vec3f> out,
              Filter filter = Filter::kNearest) const;

  /// Transformed texture coordinates of a face's corners (KHR_texture_transform applied, v down); false when
  /// the face has no usable texture coordinates.
  bool faceUvs(std::uint32_t face, std::array<Vec2f, 3>& uvs) const;

  bool hasUvs() const { return !uvs_.empty(); }

  /// True when some face has a texture, a vertex colour or a factor other than white: there is something to
  /// fit.
  bool hasColor() const { return has_color_; }

  /// True when some point has alpha below 1 (texture, factor or vertex colour).
  bool hasAlpha() const { return has_alpha_; }

 private:
  struct FaceLook {
    std::uint32_t material = 0;  ///< index into looks_
  };
  /// A material with everything resolved.
  struct Look {
    int image = -1;
    Wrap wrap_u = Wrap::kRepeat;
    Wrap wrap_v = Wrap::kRepeat;
    Vec4f factor = {1, 1, 1, 1};  ///< linear
    Vec3f factor_srgb = {1, 1, 1};
    bool white_factor = true;
  };

  Vec4f sampleRgba(const SurfacePoint& p, Filter filter, bool& exact) const;

  std::vector<Image> images_;
  std::vector<Look> looks_;
  std::vector<std::uint32_t> face_look_;      // [F]
  std::vector<std::array<Vec2f, 3>> uvs_;     // [F] or empty; NaN where the face has none
  std::vector<std::array<Vec4f, 3>> colors_;  // [F] or empty; linear
  bool has_color_ = false;
  bool has_alpha_ = false;
};

}  // namespace heatskin
