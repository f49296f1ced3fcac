#include "heatskin/rendering/lit.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "heatskin/base/parallel.h"
#include "heatskin/rendering/environment.h"
#include "heatskin/rendering/image_based_light.h"
#include "heatskin/rendering/photograph.h"
#include "heatskin/rendering/studio_shadows.h"
#include "heatskin/rendering/supersampling.h"

namespace heatskin {
namespace {

constexpr std::size_t kLitPixels = 2048;  // per block

}  // namespace

Picture renderLit(const Surface& surface, const Camera& camera, int width, int height,
                  const MaterialSource& materials, const LitOptions& options) {
  if (width < 1 || height < 1 || width > kMaxImageSide || height > kMaxImageSide) return {};
  const int n = std::clamp(options.supersampling, 1, raster::kMaxSupersampling);
  const Projection projection(camera, width, height);
  const Heading heading(camera, projection);
  const Environment environment = studioEnvironment(heading.up, heading.towards_viewer, heading.right);
  const ImageBasedLight light(environment);
  const Vec3f top = raster::linearColor(options.background_top);
  const Vec3f bottom = raster::linearColor(options.background_bottom);
  const Vec3f wire_color = raster::linearColor(options.wire.color);

  constexpr double kShadowsPart = 0.2;  // of the time, about
  std::optional<StudioShadows> shadows;
  if (options.shadows) {
    StudioShadowOptions wanted;
    wanted.floor = options.ground_shadow;
    wanted.transparency = options.transparency;
    if (options.progress) wanted.progress = [&](double part) { options.progress(kShadowsPart * part); };
    shadows.emplace(surface, environment, wanted);
  }

  std::vector<SurfaceMaterial> found;
  raster::PassOptions passes;
  passes.supersampling = n;
  passes.transparency = options.transparency;
  passes.progress = options.progress;
  passes.progress_begin = options.shadows ? kShadowsPart : 0;
  passes.shade = [&](const raster::Pass& pass, const raster::Fragments& fragments, std::span<Vec3f> out) {
    found.assign(out.size(), {});
    materials(fragments.points, found);
    parallelFor(out.size(), kLitPixels, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const SurfacePoint& p = fragments.points[i];
        const Vec3 x = surface.position(p), to_viewer = (projection.eye() - x).normalized();
        const Vec3 face_normal = surface.frames()[p.face].normal();
        if (options.wire.width > 0) {
          found[i].base_color += raster::wireAmount(surface, projection, p.face,
                                                    pass.place(fragments.pixels[i]), options.wire.width) *
                                 (wire_color - found[i].base_color);
        }
        SeenLight seen;
        if (shadows) {
          const double side = face_normal.dot(to_viewer) < 0 ? -1.0 : 1.0;
          seen = shadows->at({pass.index, pass.count}, x, side * found[i].normal.cast<double>(),
                             side * face_normal);
        }
        out[i] = light.leaving(found[i], face_normal, to_viewer, seen);
      }
    });
  };
  if (!options.transparent_background) {
    passes.background = [&](const raster::Pass& pass, const Vec2& place) {
      const float t = static_cast<float>(place.y()) / static_cast<float>(height);
      const Vec3 direction = projection.surfaceDirectionFromView(projection.viewRay(place.x(), place.y()));
      const double light_left =
          shadows ? shadows->onFloor({pass.index, pass.count}, projection.eye(), direction) : 1;
      return Vec3f(static_cast<float>(light_left) * (top + t * (bottom - top)));
    };
  }
  const raster::Accumulated sums = raster::drawPasses(surface, camera, width, height, passes);
  return raster::resolve(sums, n * n, Vec3f::Zero(), options.transparent_background, neutralTone);
}

}  // namespace heatskin
