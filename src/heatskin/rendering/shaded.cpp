// The shaded mode. Light comes from directions with shadow maps (shadow_lights.h): a sky over the upper
// hemisphere, whose shadows are ambient occlusion, and a lamp that is a cone of directions.

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "heatskin/base/parallel.h"
#include "heatskin/rendering/render.h"
#include "heatskin/rendering/shadow_lights.h"
#include "heatskin/rendering/supersampling.h"

namespace heatskin {
namespace {

constexpr std::size_t kShadedPixels = 4096;

// Radiance of the lights; a white wall facing the lamp comes out just below white.
constexpr double kSkyLight = 0.50;
constexpr double kKeyLight = 0.66;
constexpr double kBounceLight = 0.20;  // from the floor, without shadow
constexpr double kFillLight = 0.07;    // from the camera, without shadow
constexpr double kRimLight = 0.16;     // along the silhouette, scaled by what the point sees of the sky
constexpr double kGloss = 0.10;        // white highlight of the lamp

constexpr double kKeyHalfAngle = 14 * kDegree;

constexpr double kFloorDarkness = 0.9;  // of the full loss of light

/// Above, linear values are bent towards 1 instead of clipped.
constexpr float kShoulder = 0.8f;

struct Studio {
  std::vector<ShadowLight> sky, key;
  Vec3 up;
  std::optional<ShadowFloor> floor;
};

Studio buildStudio(const Surface& surface, const Camera& camera, const Projection& projection,
                   const ShadedOptions& options, double progress_part) {
  Studio studio;
  const double up_length = camera.up.norm();
  studio.up = up_length > 0 && std::isfinite(up_length) ? Vec3(camera.up / up_length) : Vec3(0, 1, 0);
  Vec3 towards_viewer = -projection.forward() + projection.forward().dot(studio.up) * studio.up;
  towards_viewer = towards_viewer.norm() > 1e-6 ? towards_viewer.normalized() : -projection.up();
  const Vec3 key = (-0.60 * projection.right() + 0.85 * studio.up + 0.70 * towards_viewer).normalized();

  const BoundingSphere sphere = boundingSphere(surface);
  const int size = std::clamp(options.shadow_map_size, 16, 2048);
  const std::vector<Vec3> sky_directions =
      capDirections(std::clamp(options.sky_directions, 1, 1024), studio.up, 90 * kDegree);
  const std::vector<Vec3> key_directions =
      capDirections(std::clamp(options.key_directions, 1, 1024), key, kKeyHalfAngle);
  std::size_t done = 0;
  const std::size_t total = sky_directions.size() + key_directions.size();
  const auto one_done = [&] {
    ++done;
    if (options.progress)
      options.progress(progress_part * static_cast<double>(done) / static_cast<double>(total));
  };
  studio.sky = shadowLights(surface, sphere, sky_directions, size, options.transparency, one_done);
  studio.key = shadowLights(surface, sphere, key_directions, size, options.transparency, one_done);
  if (options.ground_shadow) studio.floor = ShadowFloor(surface, sphere, studio.up);
  return studio;
}

/// x^32: the lobe of a satin highlight.
double lobe(double x) {
  x = x * x * x * x;
  x = x * x;
  x = x * x;
  return x * x;
}

/// Calls visit(light, weight) for the lights of one pass; weights of a kind sum to 1.
template <class Visit>
void forLights(const std::vector<ShadowLight>& lights, int pass, int passes, const Visit& visit) {
  forLightsOfPass(lights.size(), pass, passes,
                  [&](std::size_t light, double weight) { visit(lights[light], weight); });
}

/// Light leaving a point towards the viewer, linear.
Vec3f shadePoint(const Studio& studio, int pass, int passes, const Vec3& x, const Vec3& normal,
                 const Vec3& face_normal, const Vec3& to_viewer, const Vec3f& albedo) {
  double diffuse = 0, gloss = 0, open_sky = 0;
  forLights(studio.sky, pass, passes, [&](const ShadowLight& light, double weight) {
    const double cosine = light.direction.dot(normal);
    if (cosine <= 0 || !light.reaches(x, face_normal)) return;
    // Mean of 2 cos over the hemisphere is 1: a floor under an open sky receives kSkyLight.
    diffuse += kSkyLight * 2 * weight * cosine;
    open_sky += 2 * weight * cosine;
  });
  forLights(studio.key, pass, passes, [&](const ShadowLight& light, double weight) {
    const double cosine = light.direction.dot(normal);
    if (cosine <= 0 || !light.reaches(x, face_normal)) return;
    diffuse += kKeyLight * weight * cosine;
    const double half = std::max(0.0, (light.direction + to_viewer).normalized().dot(normal));
    gloss += kGloss * weight * lobe(half);
  });
  const double facing = std::clamp(normal.dot(to_viewer), 0.0, 1.0);
  diffuse += kBounceLight * (0.5 - 0.5 * normal.dot(studio.up)) + kFillLight * facing;
  const double edge = 1 - facing;
  gloss += kRimLight * open_sky * edge * edge * edge;
  return static_cast<float>(diffuse) * albedo + Vec3f::Constant(static_cast<float>(gloss));
}

/// Part of the light an open floor would get at a background sample; 1 where there is no floor.
double floorLight(const Studio& studio, int pass, int passes, const Vec3& eye, const Vec3& direction) {
  const auto place = studio.floor ? studio.floor->seen(eye, direction) : std::nullopt;
  if (!place) return 1;
  double open = 0, seen = 0;
  const auto gather = [&](double strength) {
    return [&, strength](const ShadowLight& light, double weight) {
      const double amount = strength * weight * std::max(0.0, light.direction.dot(studio.up));
      open += amount;
      if (light.reaches(place->position)) seen += amount;
    };
  };
  forLights(studio.sky, pass, passes, gather(2 * kSkyLight));
  forLights(studio.key, pass, passes, gather(kKeyLight));
  const double lost = open > 0 ? 1 - seen / open : 0;
  return 1 - kFloorDarkness * lost * place->strength;
}

float bend(float linear) {
  if (linear <= kShoulder) return linear;
  return kShoulder + (1 - kShoulder) * (1 - std::exp(-(linear - kShoulder) / (1 - kShoulder)));
}

}  // namespace

Picture renderShaded(const Surface& surface, const Camera& camera, int width, int height,
                     const ColorSource& colors, const ShadedOptions& options) {
  if (width < 1 || height < 1 || width > kMaxImageSide || height > kMaxImageSide) return {};
  constexpr double kLightsPart = 0.2;  // of the time, about
  const int n = std::clamp(options.supersampling, 1, raster::kMaxSupersampling);
  const Projection projection(camera, width, height);
  const Studio studio = buildStudio(surface, camera, projection, options, kLightsPart);
  std::vector<std::array<Vec3f, 3>> own;
  if (options.normals.empty()) own = creaseNormals(surface, options.crease_angle);
  const auto normals = own.empty() ? options.normals : std::span<const std::array<Vec3f, 3>>(own);
  const Vec3f top = raster::linearColor(options.background_top);
  const Vec3f bottom = raster::linearColor(options.background_bottom);
  const Vec3f wire_color = raster::linearColor(options.wire.color);

  raster::PassOptions passes;
  passes.supersampling = n;
  passes.transparency = options.transparency;
  passes.progress = options.progress;
  passes.progress_begin = kLightsPart;
  passes.shade = [&](const raster::Pass& pass, const raster::Fragments& fragments, std::span<Vec3f> out) {
    colors(fragments.points, out);
    parallelFor(out.size(), kShadedPixels, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const SurfacePoint& p = fragments.points[i];
        const Vec3 x = surface.position(p);
        const Vec3 to_viewer = (projection.eye() - x).normalized();
        Vec3 face_normal = surface.frames()[p.face].normal();
        Vec3 normal = interpolatedNormal(normals[p.face], p.barycentric, face_normal);
        if (face_normal.dot(to_viewer) < 0) {
          face_normal = -face_normal;
          normal = -normal;
        }
        Vec3f base = raster::linearColor(out[i]);
        if (options.wire.width > 0) {
          base += raster::wireAmount(surface, projection, p.face, pass.place(fragments.pixels[i]),
                                     options.wire.width) *
                  (wire_color - base);
        }
        out[i] = shadePoint(studio, pass.index, pass.count, x, normal, face_normal, to_viewer, base);
      }
    });
  };
  if (!options.transparent_background) {
    passes.background = [&](const raster::Pass& pass, const Vec2& place) {
      const Vec3 direction = projection.surfaceDirectionFromView(projection.viewRay(place.x(), place.y()));
      const double light = floorLight(studio, pass.index, pass.count, projection.eye(), direction);
      const float t = static_cast<float>(place.y()) / static_cast<float>(height);
      return Vec3f(static_cast<float>(light) * (top + t * (bottom - top)));
    };
  }
  const raster::Accumulated sums = raster::drawPasses(surface, camera, width, height, passes);
  return raster::resolve(sums, n * n, Vec3f::Zero(), options.transparent_background,
                         [](const Vec3f& light) { return Vec3f(light.unaryExpr(&bend)); });
}

}  // namespace heatskin
