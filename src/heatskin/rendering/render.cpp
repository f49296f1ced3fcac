#include "heatskin/rendering/render.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "heatskin/base/parallel.h"
#include "heatskin/io/color_space.h"
#include "heatskin/rendering/supersampling.h"

namespace heatskin {
namespace {

constexpr std::size_t kPixelsPerBlock = 8192;

/// Light that still passes through the layers drawn so far, below which the rest is invisible in 8 bits.
constexpr float kNegligible = 1.0f / 2048;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Options of albedo and normals; `shade` gives sRGB.
Picture renderPlain(
    const Surface& surface, const Camera& camera, int width, int height, const RenderOptions& options,
    const std::function<void(const raster::Pass&, const raster::Fragments&, std::span<Vec3f>)>& shade) {
  const int n = std::clamp(options.supersampling, 1, raster::kMaxSupersampling);
  const bool has_wire = options.wire.width > 0;
  raster::PassOptions passes;
  passes.supersampling = n;
  passes.transparency = options.transparency;
  passes.progress = options.progress;
  passes.srgb = !has_wire;
  passes.shade = shade;
  if (has_wire) {
    const Vec3f wire_color = raster::linearColor(options.wire.color);
    passes.shade = [&, wire_color](const raster::Pass& pass, const raster::Fragments& fragments,
                                   std::span<Vec3f> colors) {
      shade(pass, fragments, colors);
      parallelFor(colors.size(), kPixelsPerBlock, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          const float line = raster::wireAmount(surface, pass.projection, fragments.points[i].face,
                                                pass.place(fragments.pixels[i]), options.wire.width);
          const Vec3f color = raster::linearColor(colors[i]);
          colors[i] = color + line * (wire_color - color);
        }
      });
    };
  }
  const raster::Accumulated sums = raster::drawPasses(surface, camera, width, height, passes);
  return raster::resolve(sums, n * n, options.background, options.transparent_background);
}

}  // namespace

namespace raster {

Accumulated drawPasses(const Surface& surface, const Camera& camera, int width, int height,
                       const PassOptions& options) {
  Accumulated sums;
  if (width < 1 || height < 1 || width > kMaxImageSide || height > kMaxImageSide) return sums;
  const int n = std::clamp(options.supersampling, 1, kMaxSupersampling);
  const std::size_t pixel_count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  const Projection projection(camera, width, height);
  const bool transparent = options.transparency != nullptr && !options.transparency->opaque();
  const bool keeps_exact = options.srgb && n == 1;
  sums.width = width;
  sums.height = height;
  sums.color.assign(pixel_count, Vec3f::Zero());
  sums.cover.assign(pixel_count, 0.0f);
  sums.hits.assign(pixel_count, 0.0f);
  if (keeps_exact) sums.exact.assign(pixel_count, 0);
  if (options.background) sums.behind.assign(pixel_count, Vec3f::Zero());

  std::vector<float> open;  // [pixel] light that passes through the layers so far
  std::vector<double> behind_key;
  std::vector<std::uint32_t> behind_face;
  Fragments fragments, asked;
  std::vector<std::size_t> asked_index;
  std::vector<float> alpha, asked_alpha, weight, first_layer;
  std::vector<Vec3f> colors;
  for (int index = 0; index < n * n; ++index) {
    RasterOptions raster_options;
    raster_options.sample = samplePlace(index, n);
    raster_options.keep_keys = transparent;
    if (transparent) raster_options.one_sided = options.transparency->one_sided;
    open.assign(pixel_count, 1.0f);
    Pass pass{projection, index, n * n, raster_options.sample, width};
    for (int layer = 0; layer < (transparent ? kMaxLayers : 1); ++layer) {
      const VisibilityBuffer buffer = rasterise(surface, camera, width, height, raster_options);
      pass.sample = buffer.sample;
      const std::vector<std::size_t> pixels = buffer.foregroundPixels();
      if (pixels.empty()) break;
      if (transparent) {
        behind_key.assign(pixel_count, -kInfinity);
        behind_face.assign(pixel_count, kNone);
      }
      bool goes_on = false;
      for (std::size_t begin = 0; begin < pixels.size(); begin += kColorBatch) {
        const std::size_t count = std::min(kColorBatch, pixels.size() - begin);
        alpha.assign(count, 1.0f);
        if (transparent) {
          asked.points.clear();
          asked_index.clear();
          for (std::size_t i = 0; i < count; ++i) {
            const SurfacePoint point = buffer.point(pixels[begin + i]);
            if (!options.transparency->maySeeThrough(point.face)) continue;
            asked.points.push_back(point);
            asked_index.push_back(i);
          }
          asked_alpha.assign(asked.points.size(), 1.0f);
          if (!asked.points.empty()) options.transparency->alpha(asked.points, asked_alpha);
          for (std::size_t k = 0; k < asked_index.size(); ++k)
            alpha[asked_index[k]] = std::clamp(asked_alpha[k], 0.0f, 1.0f);
        }
        fragments.pixels.clear();
        fragments.points.clear();
        weight.clear();
        first_layer.clear();
        for (std::size_t i = 0; i < count; ++i) {
          const std::size_t pixel = pixels[begin + i];
          if (alpha[i] > 0) {
            fragments.pixels.push_back(pixel);
            fragments.points.push_back(buffer.point(pixel));
            weight.push_back(open[pixel] * alpha[i]);
            first_layer.push_back(open[pixel] == 1 ? 1.0f : 0.0f);
          }
          open[pixel] *= 1 - alpha[i];
          if (transparent && open[pixel] > kNegligible) {
            behind_key[pixel] = buffer.key[pixel];
            behind_face[pixel] = buffer.face[pixel];
            goes_on = true;
          }
        }
        colors.assign(fragments.pixels.size(), Vec3f::Zero());
        if (!colors.empty()) options.shade(pass, fragments, colors);
        parallelFor(colors.size(), kPixelsPerBlock, [&](std::size_t first, std::size_t last) {
          for (std::size_t i = first; i < last; ++i) {
            const std::size_t pixel = fragments.pixels[i];
            sums.hits[pixel] += first_layer[i];
            sums.cover[pixel] += weight[i];
            if (keeps_exact && weight[i] == 1) {
              sums.color[pixel] = colors[i];
              sums.exact[pixel] = 1;
              continue;
            }
            sums.color[pixel] += weight[i] * (options.srgb ? linearColor(colors[i]) : colors[i]);
          }
        });
        if (options.progress && layer == 0) {
          const double in_pass = static_cast<double>(begin + count) / static_cast<double>(pixels.size());
          options.progress(options.progress_begin +
                           (1 - options.progress_begin) * (index + 0.95 * in_pass) / (n * n));
        }
      }
      if (!goes_on) break;
      raster_options.behind_key = behind_key;
      raster_options.behind_face = behind_face;
    }
    if (options.background) {
      parallelFor(pixel_count, kPixelsPerBlock, [&](std::size_t begin, std::size_t end) {
        for (std::size_t pixel = begin; pixel < end; ++pixel) {
          if (open[pixel] <= 0) continue;
          sums.behind[pixel] += open[pixel] * options.background(pass, pass.place(pixel));
        }
      });
    }
  }
  if (options.progress) options.progress(1);
  return sums;
}

Picture resolve(const Accumulated& sums, int samples, const Vec3f& background, bool transparent_background,
                const std::function<Vec3f(const Vec3f&)>& surface_light) {
  Picture picture;
  if (sums.width == 0) return picture;
  const std::size_t pixel_count = sums.cover.size();
  const auto all = static_cast<float>(samples);
  picture.image = {sums.width, sums.height, std::vector<float>(3 * pixel_count),
                   std::vector<std::uint8_t>(pixel_count)};
  picture.coverage.assign(pixel_count, 0.0f);
  const Vec3f background_light = linearColor(background);
  parallelFor(pixel_count, kPixelsPerBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t pixel = begin; pixel < end; ++pixel) {
      const float cover = std::min(sums.cover[pixel], all);
      const float part = cover / all;
      Vec3f color = transparent_background ? Vec3f(Vec3f::Zero()) : background;
      if (!sums.exact.empty() && sums.exact[pixel] != 0) {
        color = sums.color[pixel];
      } else {
        Vec3f mean = cover > 0 ? Vec3f(sums.color[pixel] / cover) : Vec3f(Vec3f::Zero());
        if (surface_light) mean = surface_light(mean);
        if (transparent_background) {
          color = srgbColor(mean);
        } else if (!sums.behind.empty()) {
          color = srgbColor(part * mean + sums.behind[pixel] / all);
        } else if (cover > 0) {
          color = srgbColor(part * mean + (1 - part) * background_light);
        }
        if (cover > 0 || !sums.behind.empty()) color = color.cwiseMax(0.0f).cwiseMin(1.0f);
      }
      for (std::size_t c = 0; c < 3; ++c)
        picture.image.rgb[3 * pixel + c] = color[static_cast<Eigen::Index>(c)];
      picture.coverage[pixel] = part;
      picture.image.mask[pixel] = transparent_background        ? toByte(part)
                                  : 2 * sums.hits[pixel] >= all ? 255
                                                                : 0;
    }
  });
  return picture;
}

float wireAmount(const Surface& surface, const Projection& projection, std::uint32_t face, const Vec2& pixel,
                 float width) {
  double nearest = std::numeric_limits<double>::infinity();
  for (std::size_t e = 0; e < 3; ++e) {
    const Vec3 a = projection.viewFromSurface(surface.positions()[surface.faces()[face][e]]);
    const Vec3 b = projection.viewFromSurface(surface.positions()[surface.faces()[face][(e + 1) % 3]]);
    if (a.z() < projection.nearDistance() || b.z() < projection.nearDistance()) continue;
    const Vec2 start = projection.pixelFromView(a), way = projection.pixelFromView(b) - start;
    const double length = way.norm();
    if (!(length > 0)) continue;
    nearest = std::min(nearest, std::abs(cross2(way, pixel - start)) / length);
  }
  return static_cast<float>(std::clamp(0.5 * static_cast<double>(width) + 0.5 - nearest, 0.0, 1.0));
}

Vec3f linearColor(const Vec3f& srgb) {
  return {linearFromSrgb(srgb.x()), linearFromSrgb(srgb.y()), linearFromSrgb(srgb.z())};
}

Vec3f srgbColor(const Vec3f& linear) {
  return {srgbFromLinear(linear.x()), srgbFromLinear(linear.y()), srgbFromLinear(linear.z())};
}

}  // namespace raster

ColorSource appearanceColors(const Appearance& appearance, Filter filter) {
  return [&appearance, filter](std::span<const SurfacePoint> points, std::span<Vec3f> colors) {
    appearance.colors(points, colors, filter);
  };
}

ColorSource constantColor(const Vec3f& srgb) {
  return [srgb](std::span<const SurfacePoint>, std::span<Vec3f> colors) {
    std::fill(colors.begin(), colors.end(), srgb);
  };
}

ColorSource scalarColors(ScalarSource scalars, std::function<Vec3f(float)> color) {
  return [scalars = std::move(scalars), color = std::move(color)](std::span<const SurfacePoint> points,
                                                                  std::span<Vec3f> colors) {
    std::vector<float> values(points.size());
    scalars(points, values);
    for (std::size_t i = 0; i < values.size(); ++i)
      colors[i] = color(values[i]);
  };
}

Picture renderAlbedo(const Surface& surface, const Camera& camera, int width, int height,
                     const ColorSource& colors, const RenderOptions& options) {
  return renderPlain(surface, camera, width, height, options,
                     [&](const raster::Pass&, const raster::Fragments& fragments, std::span<Vec3f> out) {
                       colors(fragments.points, out);
                     });
}

Picture renderNormals(const Surface& surface, const Camera& camera, int width, int height,
                      const RenderOptions& options, const NormalSource& source) {
  std::vector<std::array<Vec3f, 3>> own;
  if (options.normals.empty() && !source) own = creaseNormals(surface, kCreaseAngle);
  const auto normals = own.empty() ? options.normals : std::span<const std::array<Vec3f, 3>>(own);
  return renderPlain(surface, camera, width, height, options,
                     [&](const raster::Pass& pass, const raster::Fragments& fragments, std::span<Vec3f> out) {
                       if (source) source(fragments.points, out);
                       parallelFor(out.size(), kPixelsPerBlock, [&](std::size_t begin, std::size_t end) {
                         for (std::size_t i = begin; i < end; ++i) {
                           const SurfacePoint& p = fragments.points[i];
                           const Vec3 face_normal = surface.frames()[p.face].normal();
                           Vec3 n = source ? Vec3(out[i].cast<double>())
                                           : interpolatedNormal(normals[p.face], p.barycentric, face_normal);
                           if (face_normal.dot(surface.position(p) - pass.projection.eye()) > 0) n = -n;
                           const Vec3 view(n.dot(pass.projection.right()), n.dot(pass.projection.up()),
                                           -n.dot(pass.projection.forward()));
                           out[i] = (Vec3::Constant(0.5) + 0.5 * view).cast<float>();
                         }
                       });
                     });
}

}  // namespace heatskin
