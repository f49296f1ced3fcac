#include "heatskin/rendering/lit.h"

#include <algorithm>
#include <vector>

#include "heatskin/base/parallel.h"
#include "heatskin/rendering/environment.h"
#include "heatskin/rendering/image_based_light.h"
#include "heatskin/rendering/photograph.h"
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
  const ImageBasedLight light(studioEnvironment(heading.up, heading.towards_viewer, heading.right));
  const Vec3f top = raster::linearColor(options.background_top);
  const Vec3f bottom = raster::linearColor(options.background_bottom);
  const Vec3f wire_color = raster::linearColor(options.wire.color);

  std::vector<SurfaceMaterial> found;
  raster::PassOptions passes;
  passes.supersampling = n;
  passes.transparency = options.transparency;
  passes.progress = options.progress;
  passes.shade = [&](const raster::Pass& pass, const raster::Fragments& fragments, std::span<Vec3f> out) {
    found.assign(out.size(), {});
    materials(fragments.points, found);
    parallelFor(out.size(), kLitPixels, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const SurfacePoint& p = fragments.points[i];
        const Vec3 to_viewer = (projection.eye() - surface.position(p)).normalized();
        if (options.wire.width > 0) {
          found[i].base_color += raster::wireAmount(surface, projection, p.face,
                                                    pass.place(fragments.pixels[i]), options.wire.width) *
                                 (wire_color - found[i].base_color);
        }
        out[i] = light.leaving(found[i], surface.frames()[p.face].normal(), to_viewer);
      }
    });
  };
  if (!options.transparent_background) {
    passes.background = [&](const raster::Pass&, const Vec2& place) {
      const float t = static_cast<float>(place.y()) / static_cast<float>(height);
      return Vec3f(top + t * (bottom - top));
    };
  }
  const raster::Accumulated sums = raster::drawPasses(surface, camera, width, height, passes);
  return raster::resolve(sums, n * n, Vec3f::Zero(), options.transparent_background, neutralTone);
}

}  // namespace heatskin
