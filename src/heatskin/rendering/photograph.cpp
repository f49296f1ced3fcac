#include "heatskin/rendering/photograph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "heatskin/base/parallel.h"
#include "heatskin/io/color_space.h"
#include "heatskin/rendering/path_tracer.h"
#include "heatskin/rendering/supersampling.h"

namespace heatskin {
namespace {

/// What the object sees of the floor: light cardboard.
constexpr float kFloorAlbedo = 0.55f;

constexpr int kPhotographBounces = 8;

/// The lightest a shadow lets a background become, and how much of it is drawn: a backdrop is lit by itself,
/// too.
constexpr float kShadowStrength = 0.85f;

}  // namespace

Heading::Heading(const Camera& camera, const Projection& projection) {
  const double length = camera.up.norm();
  up = length > 0 && std::isfinite(length) ? Vec3(camera.up / length) : Vec3(0, 1, 0);
  const Vec3 level = -projection.forward() + projection.forward().dot(up) * up;
  // Straight from above or below, the top of the picture is behind the object.
  towards_viewer = level.norm() > 1e-6 ? level.normalized() : Vec3(-projection.up());
  right = up.cross(towards_viewer).normalized();
}

Vec3f neutralTone(const Vec3f& light) {
  constexpr float kHeadOn = 0.04f;  // reflected by a dielectric of index 1.5
  constexpr float kShoulder = 0.8f - kHeadOn;
  constexpr float kDesaturation = 0.15f;
  const Vec3f positive = light.cwiseMax(0.0f);
  // The toe: the smallest channel goes to zero smoothly instead of below it.
  const float least = positive.minCoeff();
  const float toe = least < 2 * kHeadOn ? least - least * least / (4 * kHeadOn) : kHeadOn;
  const Vec3f color = positive - Vec3f::Constant(toe);
  const float peak = color.maxCoeff();
  if (peak < kShoulder) return color;
  constexpr float kRoom = 1 - kShoulder;
  const float compressed = 1 - kRoom * kRoom / (peak + kRoom - kShoulder);
  const float white = 1 - 1 / (kDesaturation * (peak - compressed) + 1);
  return (1 - white) * (compressed / peak) * color + Vec3f::Constant(white * compressed);
}

Picture renderPhotograph(const Surface& surface, const Camera& camera, int width, int height,
                         const ColorSource& colors, const PhotographOptions& options) {
  const Projection projection(camera, std::max(width, 1), std::max(height, 1));
  const Heading heading(camera, projection);
  PathOptions scene;
  scene.samples = options.samples;
  scene.max_bounces = kPhotographBounces;
  scene.seed = options.seed;
  scene.crease_angle = options.crease_angle;
  scene.normals = options.normals;
  scene.materials = options.materials;
  scene.environment = studioEnvironment(heading.up, heading.towards_viewer, heading.right);
  scene.surroundings = Surroundings::kBackdrop;
  scene.transparency = options.transparency;
  scene.progress = options.progress;
  double lowest = std::numeric_limits<double>::infinity();
  for (const Vec3& x : surface.positions())
    lowest = std::min(lowest, heading.up.dot(x));
  scene.has_floor = options.floor_shadow && heading.up.dot(camera.eye) > lowest;
  scene.floor = {lowest * heading.up, std::numeric_limits<double>::infinity(), kFloorAlbedo};

  const std::array<ColorSource, 1> sources = {colors};
  const auto traced = tracePaths(surface, camera, width, height, sources, scene);
  if (traced.empty()) return {};
  const TracedPicture& found = traced[0];

  Picture picture;
  picture.image = {width, height, {}, {}};
  const std::size_t pixels = picture.image.pixelCount();
  picture.image.rgb.resize(3 * pixels);
  picture.image.mask.resize(pixels);
  picture.coverage = found.coverage;
  const Vec3f top = raster::linearColor(options.background_top);
  const Vec3f bottom = raster::linearColor(options.background_bottom);
  parallelFor(pixels, 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const float alpha = found.coverage[i];
      Vec3f shown = alpha > 0 ? neutralTone(found.light[i] / alpha) : Vec3f::Zero();
      if (!options.transparent_background) {
        // The background is what it is asked to be, untouched by the tone curve.
        const float y =
            (static_cast<float>(i / static_cast<std::size_t>(width)) + 0.5f) / static_cast<float>(height);
        Vec3f kept = Vec3f::Ones() + kShadowStrength * (found.backdrop[i] - Vec3f::Ones());
        // Lamps that polished metal throws onto the floor are found too rarely: specks instead of light.
        if (options.materials) kept = kept.cwiseMin(1.0f);
        const Vec3f behind = (top + y * (bottom - top)).cwiseProduct(kept.cwiseMax(0.0f));
        shown = alpha * shown + (1 - alpha) * behind;
      }
      for (std::size_t c = 0; c < 3; ++c) {
        picture.image.rgb[3 * i + c] =
            srgbFromLinear(std::clamp(shown[static_cast<Eigen::Index>(c)], 0.0f, 1.0f));
      }
      picture.image.mask[i] = options.transparent_background ? toByte(alpha) : alpha >= 0.5f ? 255 : 0;
    }
  });
  return picture;
}

}  // namespace heatskin
