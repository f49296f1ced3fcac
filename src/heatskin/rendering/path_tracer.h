#pragma once

// Pictures with the light that bounces between surface and floor: unidirectional path tracing (Kajiya, "The
// rendering equation", SIGGRAPH 1986). Softboxes are found both by drawing them and by drawing reflections,
// combined by the balance heuristic (Veach and Guibas, SIGGRAPH 1995); everything else by reflections alone.
//
// Paths do not depend on base colours. Several colour sources are drawn along the same paths, with the same
// random numbers, at the cost of one: what two pictures differ in is then due to their colours. Paths advance
// together, bounce by bounce, so that sources are queried with many points at once.
//
// Equal for any number of threads, to the bit.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/rendering/camera.h"
#include "heatskin/rendering/environment.h"
#include "heatskin/rendering/principled.h"
#include "heatskin/rendering/render.h"
#include "heatskin/rendering/surface_material.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// A Lambert floor: a square, seen and lit from above; from below it is black.
struct Floor {
  Vec3 center = {0, -1, 0};
  double half_side = 10;  ///< along the two axes perpendicular to `up`; infinity: everywhere
  float albedo = 0.3f;
};

/// What the camera sees where it does not see the surface.
enum class Surroundings {
  kScene,     ///< floor and environment
  kBackdrop,  ///< nothing, or the shadow on the floor: TracedPicture::backdrop
};

struct PathOptions {
  int samples = 64;     ///< per pixel, 1 .. kMaxPathSamples; powers of two spread best
  int max_bounces = 8;  ///< light that was reflected more often is not seen
  std::uint64_t seed = 1;
  PrincipledOptions material;  ///< of all points, unless `materials` knows better

  /// Metallic, roughness, emissive and normals of points; null: `material` everywhere. Base colours
  /// are those of the colour sources. Occlusion is left out: light that bounces has it.
  MaterialSource materials;

  bool one_sided = false;          ///< true: the backs of faces are black; false: as their fronts
  bool colors_are_linear = false;  ///< true: colours count as reflectances as they are; false: as sRGB
  double crease_angle = 0;         ///< radians; edges less sharp than this are shaded smoothly; 0: none
  std::span<const std::array<Vec3f, 3>> normals;  // [F] instead of these: as in RenderOptions; or empty
  Environment environment;
  bool has_floor = false;
  Floor floor;
  Surroundings surroundings = Surroundings::kScene;
  const Transparency* transparency = nullptr;  ///< null: opaque. Light passes by chance, 1 - alpha of it
  PartDone progress;
};
inline constexpr int kMaxPathSamples = 65536;

/// Means over a pixel's samples, linear.
struct TracedPicture {
  int width = 0;
  int height = 0;
  std::vector<Vec3f> light;  // [height, width] radiance; of the surface alone (times coverage) with kBackdrop
  std::vector<float> coverage;  // [height, width] part of the samples that meet the surface
  std::vector<Vec3f> backdrop;  // [height, width] with kBackdrop: over samples that miss the surface, the
                                // light on the floor relative to an empty one; 1 where there is no floor
};

/// One picture per source. `colors` has 1 .. kMaxPathSources. Sizes outside 1 .. kMaxImageSide give nothing.
inline constexpr std::size_t kMaxPathSources = 2;
std::vector<TracedPicture> tracePaths(const Surface& surface, const Camera& camera, int width, int height,
                                      std::span<const ColorSource> colors, const PathOptions& options);

}  // namespace heatskin
