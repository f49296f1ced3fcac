#pragma once

// The physically based preview: glTF materials in a studio, without noise and without cast shadows.

#include "heatskin/base/vec.h"
#include "heatskin/rendering/camera.h"
#include "heatskin/rendering/render.h"
#include "heatskin/rendering/surface_material.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

struct LitOptions {
  int supersampling = 3;
  Vec3f background_top = {0.95f, 0.95f, 0.96f};  ///< sRGB
  Vec3f background_bottom = {0.84f, 0.85f, 0.86f};
  WireOptions wire;
  const Transparency* transparency = nullptr;
  bool transparent_background = false;  ///< as in RenderOptions
  PartDone progress;
};

/// Materials under the lamps of studioEnvironment(), which stand relative to the camera's heading, seen
/// through neutralTone(): the same light as renderPhotograph()'s. Both sides of faces are lit. Sizes outside
/// 1 .. kMaxImageSide give an empty picture.
Picture renderLit(const Surface& surface, const Camera& camera, int width, int height,
                  const MaterialSource& materials, const LitOptions& options = {});

}  // namespace heatskin
