#pragma once

// Any colours on a surface against an asset's own: kernels, re-encoded textures and vertex colours measured
// at the same points and in the same views. The truth is computed once.

#include <array>
#include <cstddef>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/base/result.h"
#include "heatskin/evaluation/evaluation.h"
#include "heatskin/io/image_f.h"
#include "heatskin/rendering/camera.h"
#include "heatskin/rendering/render.h"
#include "heatskin/rendering/transparency.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

struct ColorQuality {
  double surface_psnr =
      0;                 ///< dB over all points and channels, weighted by visibility; infinite if identical
  PictureQuality views;  ///< mean over the standard views, with FLIP
};

/// See the head of the file. Surface and appearance must outlive it.
class ColorComparison {
 public:
  /// Of the options, surface_samples, view_size (0: no views), filter and seed count; FLIP is always
  /// computed. The points are those of evaluate(). Fails if nothing of the asset is visible.
  static Result<ColorComparison> create(const Surface& surface, const Appearance& truth,
                                        EvaluationOptions options);

  /// Fails when cancelled.
  Result<ColorQuality> measure(const ColorSource& colors, Progress& progress = silentProgress()) const;

  /// What of the surface is visible, for pictures of any colours.
  const Transparency& transparency() const { return transparency_; }

 private:
  ColorComparison(const Surface& surface, const Appearance& truth, const EvaluationOptions& options);

  /// A view that shows something.
  struct View {
    Camera camera;
    std::array<int, 4> window;  ///< of the picture that is compared: x, y, width, height
    ImageF truth;
  };
  ImageF drawn(const Camera& camera, const ColorSource& colors) const;

  const Surface* surface_;
  EvaluationOptions options_;
  Transparency transparency_;
  std::vector<SurfacePoint> points_;  // [N] those that are visible
  std::vector<Vec3f> truth_;          // [N]
  std::vector<float> visible_;        // [N] above 0
  std::vector<View> views_;
};

}  // namespace heatskin
