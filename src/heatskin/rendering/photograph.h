#pragma once

// Pictures for people that look like photographs: a studio with soft lamps, light that bounces, a soft shadow
// on an invisible floor, and a tone curve.

#include <cstdint>

#include "heatskin/base/vec.h"
#include "heatskin/rendering/camera.h"
#include "heatskin/rendering/render.h"
#include "heatskin/rendering/surface_material.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// The camera's heading: up, towards the viewer and right, orthonormal.
struct Heading {
  Vec3 up, towards_viewer, right;

  Heading(const Camera& camera, const Projection& projection);
};

struct PhotographOptions {
  int samples = 64;  ///< per pixel; noise halves with four times as many
  std::uint64_t seed = 1;
  bool floor_shadow = true;                       ///< off when seen from below the floor
  double crease_angle = kCreaseAngle;             ///< without `normals`: edges sharper than this stay sharp
  std::span<const std::array<Vec3f, 3>> normals;  // [F] corners' normals, on the outside; or empty
  MaterialSource materials;                       ///< everything but colours; null: a satin plastic
  Vec3f background_top = {0.95f, 0.95f, 0.96f};   ///< sRGB
  Vec3f background_bottom = {0.84f, 0.85f, 0.86f};
  const Transparency* transparency = nullptr;
  bool transparent_background = false;  ///< as in RenderOptions; also without a shadow
  PartDone progress;
};

/// Both sides of faces are lit. Lamps stand relative to the camera's heading, so that an object looks lit the
/// same way from all sides. Sizes outside 1 .. kMaxImageSide give an empty picture.
Picture renderPhotograph(const Surface& surface, const Camera& camera, int width, int height,
                         const ColorSource& colors, const PhotographOptions& options = {});

/// Linear light of any strength to 0 .. 1, also linear: the neutral tone mapper of the Khronos Group
/// ("Khronos PBR neutral tone mapper", 2024). Up to about 0.8 colours only lose the 0.04 that a dielectric
/// reflects head-on; what is brighter is compressed and fades to white.
Vec3f neutralTone(const Vec3f& light);

}  // namespace heatskin
