#pragma once

// The physically based preview: glTF materials in a studio, without noise.

#include "heatskin/base/vec.h"
#include "heatskin/rendering/camera.h"
#include "heatskin/rendering/render.h"
#include "heatskin/rendering/surface_material.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

struct LitOptions {
  int supersampling = 3;

  /// Shadows of the lamps, and of the dome as ambient occlusion. Without them bumps of a normal map look as
  /// bumps of the shape do, in their hollows, too.
  bool shadows = true;
  bool ground_shadow = true;  ///< the object stands on an invisible floor; off when seen from below it

  Vec3f background_top = {0.95f, 0.95f, 0.96f};  ///< sRGB
  Vec3f background_bottom = {0.84f, 0.85f, 0.86f};
  WireOptions wire;
  const Transparency* transparency = nullptr;
  bool transparent_background = false;  ///< as in RenderOptions; also without a ground shadow
  PartDone progress;
};

/// Materials under the lamps of studioEnvironment(), which stand relative to the camera's heading, seen
/// through neutralTone(): the same light as renderPhotograph()'s, but for light that goes from one part of
/// the object to another. Both sides of faces are lit. Sizes outside 1 .. kMaxImageSide give an empty
/// picture.
Picture renderLit(const Surface& surface, const Camera& camera, int width, int height,
                  const MaterialSource& materials, const LitOptions& options = {});

}  // namespace heatskin
