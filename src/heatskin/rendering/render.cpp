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

/// Draws n x n passes. `shade(buffer, projection, pixels, colors)` gives the sRGB colours of the foreground
/// pixels of one pass.
template <class Shade>
Picture renderPasses(const Surface& surface, const Camera& camera, int width, int height,
                     const RenderOptions& options, const Shade& shade) {
  Picture picture;
  const int n = std::clamp(options.supersampling, 1, raster::kMaxSupersampling);
  const Projection projection(camera, width, height);
  std::vector<Vec3f> sum;  // linear light; unused with one sample, whose colour is kept to the bit
  std::vector<Vec3f> colors;
  for (int pass = 0; pass < n * n; ++pass) {
    RasterOptions raster_options;
    raster_options.sample = raster::samplePlace(pass, n);
    const VisibilityBuffer buffer = rasterise(surface, camera, width, height, raster_options);
    if (buffer.width == 0) return picture;
    if (pass == 0) {
      picture.image = {width, height, std::vector<float>(3 * buffer.face.size()),
                       std::vector<std::uint8_t>(buffer.face.size())};
      picture.coverage.assign(buffer.face.size(), 0.0f);
      sum.assign(buffer.face.size(), Vec3f::Zero());
    }
    const std::vector<std::size_t> pixels = buffer.foregroundPixels();
    colors.assign(pixels.size(), Vec3f::Zero());
    shade(buffer, projection, pixels, colors);

    const bool has_wire = options.wire.width > 0;
    const Vec3f wire_color = raster::linearColor(options.wire.color);
    parallelFor(pixels.size(), kPixelsPerBlock, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t pixel = pixels[i];
        picture.coverage[pixel] += 1.0f;
        if (n == 1 && !has_wire) {
          sum[pixel] = colors[i];
          continue;
        }
        Vec3f color = raster::linearColor(colors[i]);
        if (has_wire) {
          const Vec2 place(static_cast<double>(pixel % static_cast<std::size_t>(width)) + buffer.sample.x(),
                           static_cast<double>(pixel / static_cast<std::size_t>(width)) + buffer.sample.y());
          const float line =
              raster::wireAmount(surface, projection, buffer.face[pixel], place, options.wire.width);
          color += line * (wire_color - color);
        }
        sum[pixel] += color;
      }
    });
  }

  const float samples = static_cast<float>(n * n);
  const Vec3f background = raster::linearColor(options.background);
  const bool exact = n == 1 && !(options.wire.width > 0);
  parallelFor(sum.size(), kPixelsPerBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t pixel = begin; pixel < end; ++pixel) {
      const float hits = picture.coverage[pixel];
      Vec3f color = options.background;
      if (hits > 0 && exact) {
        color = sum[pixel];
      } else if (hits > 0) {
        color = raster::srgbColor((sum[pixel] + (samples - hits) * background) / samples);
      }
      for (std::size_t c = 0; c < 3; ++c)
        picture.image.rgb[3 * pixel + c] = color[static_cast<Eigen::Index>(c)];
      picture.coverage[pixel] = hits / samples;
      picture.image.mask[pixel] = 2 * hits >= samples ? 255 : 0;
    }
  });
  return picture;
}

}  // namespace

namespace raster {

void colorsOf(const ColorSource& source, const std::vector<SurfacePoint>& points,
              std::vector<Vec3f>& colors) {
  for (std::size_t begin = 0; begin < points.size(); begin += kColorBatch) {
    const std::size_t count = std::min(kColorBatch, points.size() - begin);
    source(std::span(points).subspan(begin, count), std::span(colors).subspan(begin, count));
  }
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
  return renderPasses(surface, camera, width, height, options,
                      [&](const VisibilityBuffer& buffer, const Projection&,
                          const std::vector<std::size_t>& pixels, std::vector<Vec3f>& out) {
                        std::vector<SurfacePoint> points(pixels.size());
                        for (std::size_t i = 0; i < pixels.size(); ++i)
                          points[i] = buffer.point(pixels[i]);
                        raster::colorsOf(colors, points, out);
                      });
}

Picture renderNormals(const Surface& surface, const Camera& camera, int width, int height,
                      const RenderOptions& options) {
  const auto normals = creaseNormals(surface, ShadedOptions{}.crease_angle);
  return renderPasses(
      surface, camera, width, height, options,
      [&](const VisibilityBuffer& buffer, const Projection& projection,
          const std::vector<std::size_t>& pixels, std::vector<Vec3f>& out) {
        for (std::size_t i = 0; i < pixels.size(); ++i) {
          const SurfacePoint p = buffer.point(pixels[i]);
          Vec3 n = Vec3::Zero();
          for (std::size_t c = 0; c < 3; ++c)
            n += p.barycentric[static_cast<Eigen::Index>(c)] * normals[p.face][c].cast<double>();
          n.normalize();
          if (n.dot(surface.position(p) - projection.eye()) > 0) n = -n;
          const Vec3 view(n.dot(projection.right()), n.dot(projection.up()), -n.dot(projection.forward()));
          out[i] = (Vec3::Constant(0.5) + 0.5 * view).cast<float>();
        }
      });
}

}  // namespace heatskin
