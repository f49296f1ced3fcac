#pragma once

// Pictures of a surface: plain colours, normals, and a shaded mode for people.
//
// Where a Transparency is given, faces that let light through are drawn in front of what is behind them with
// the over operator (Porter and Duff, "Compositing digital images", SIGGRAPH 1984), in linear light, nearest
// first; the order is that of depth, then of face index, whatever the order in the file.
//
// Colours come from a ColorSource, so that the asset's own appearance and a fitted texture are drawn by the
// same code. Pictures are equal for any number of threads, to the bit.

#include <functional>
#include <span>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/image_f.h"
#include "heatskin/rendering/camera.h"
#include "heatskin/surface/crease_normals.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

struct Transparency;

/// sRGB colours of many surface points; the spans have equal length. Called from one thread at a time with
/// batches of up to kColorBatch points, and free to use threads itself.
using ColorSource = std::function<void(std::span<const SurfacePoint> points, std::span<Vec3f> colors)>;
inline constexpr std::size_t kColorBatch = 1 << 16;

/// The asset's own colours. `appearance` must outlive the source.
ColorSource appearanceColors(const Appearance& appearance, Filter filter = Filter::kBilinear);

/// One colour everywhere.
ColorSource constantColor(const Vec3f& srgb);

/// Scalars of many surface points, for error and coverage maps.
using ScalarSource = std::function<void(std::span<const SurfacePoint> points, std::span<float> values)>;

/// Scalars as colours, by a map such as those in colormap.h.
ColorSource scalarColors(ScalarSource scalars, std::function<Vec3f(float)> color);

/// A rendered picture. `image.mask` is nonzero where at least half of a pixel's samples meet the surface at a
/// point that is not wholly transparent.
struct Picture {
  ImageF image;
  std::vector<float> coverage;  // [height, width] alpha: how much of the pixel the surface hides, 0 .. 1
};

/// Called now and then with the part of the picture that is drawn, rising to 1.
using PartDone = std::function<void(double part)>;

/// Lines along the edges of faces.
struct WireOptions {
  float width = 0;  ///< pixels; 0: no lines
  Vec3f color = {0.1f, 0.1f, 0.1f};
};

struct RenderOptions {
  int supersampling = 1;  ///< n: n x n samples per pixel, averaged in linear light (box filter); 1 .. 8
  Vec3f background = {0.55f, 0.60f, 0.66f};  ///< sRGB; white, grey and black assets all stand out
  WireOptions wire;
  const Transparency* transparency = nullptr;  ///< null: opaque; [F] arrays fit the surface

  /// Unit normals at the corners of faces, on the outside, that are interpolated for shading:
  /// cornerNormals(). [F] or empty: creaseNormals().
  std::span<const std::array<Vec3f, 3>> normals;

  /// No background: the picture holds the surface's colours alone (not multiplied by alpha) and its mask is
  /// alpha, 0 to 255.
  bool transparent_background = false;

  PartDone progress;
};

/// Colours without light: METHOD section 10's albedo views. With one sample per pixel a pixel is exactly the
/// colour of the surface point under its centre. Sizes outside 1 .. kMaxImageSide give an empty picture.
Picture renderAlbedo(const Surface& surface, const Camera& camera, int width, int height,
                     const ColorSource& colors, const RenderOptions& options = {});

/// Unit normals of many surface points, on the outside; called as a ColorSource is.
using NormalSource = std::function<void(std::span<const SurfacePoint> points, std::span<Vec3f> normals)>;

/// Normals, turned towards the viewer, as colours 0.5 + 0.5 n in view coordinates (x right, y up, z to the
/// viewer): those of `source`, or without one the interpolated ones.
Picture renderNormals(const Surface& surface, const Camera& camera, int width, int height,
                      const RenderOptions& options = {}, const NormalSource& source = {});

/// Studio light for the shaded mode. Directions are relative to the camera's heading, so an object looks
/// lit the same way from all sides.
struct ShadedOptions {
  int supersampling = 3;
  int sky_directions = 72;  ///< soft light from above; each one casts a shadow
  int key_directions = 36;  ///< a large lamp, upper left of the camera
  int shadow_map_size = 384;
  bool ground_shadow = true;  ///< the object stands on an invisible floor; off when seen from below it
  double crease_angle = kCreaseAngle;             ///< without `normals`: edges sharper than this stay sharp
  std::span<const std::array<Vec3f, 3>> normals;  // [F] as in RenderOptions
  Vec3f background_top = {0.88f, 0.89f, 0.90f};   ///< sRGB
  Vec3f background_bottom = {0.70f, 0.71f, 0.73f};
  WireOptions wire;
  const Transparency* transparency = nullptr;  ///< as in RenderOptions; shadows are cut out and thinned too
  bool transparent_background = false;         ///< as in RenderOptions; also without a ground shadow
  PartDone progress;
};

/// A picture for people: soft shadows, a sky, a ground contact, smooth normals, both sides lit.
Picture renderShaded(const Surface& surface, const Camera& camera, int width, int height,
                     const ColorSource& colors, const ShadedOptions& options = {});

}  // namespace heatskin
