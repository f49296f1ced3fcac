// The shaded mode. Light comes from a fixed set of directions: a sky over the upper hemisphere and a lamp
// that is a cone of directions; every direction has a height map as its shadow map, so that many hard shadows
// add up to soft ones and the sky's give ambient occlusion. With several samples per pixel the directions are
// dealt out to the samples: each sample sees a part of the lights, their mean all of them.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "heatskin/base/parallel.h"
#include "heatskin/rendering/render.h"
#include "heatskin/rendering/supersampling.h"

namespace heatskin {
namespace {

constexpr std::size_t kPixelsPerBlock = 4096;
constexpr std::size_t kFacesPerBlock = 2048;

// Radiance of the lights; a white wall facing the lamp comes out just below white.
constexpr double kSkyLight = 0.50;
constexpr double kKeyLight = 0.66;
constexpr double kBounceLight = 0.20;  // from the floor, without shadow
constexpr double kFillLight = 0.07;    // from the camera, without shadow
constexpr double kRimLight = 0.16;     // along the silhouette, scaled by what the point sees of the sky
constexpr double kGloss = 0.10;        // white highlight of the lamp

constexpr double kKeyHalfAngle = 14 * kDegree;

/// Shadow test offset along the normal, in cells of the shadow map: the height of a plane changes by less
/// within a cell.
constexpr double kShadowOffset = 1.2;

constexpr double kFloorDarkness = 0.9;   // of the full loss of light
constexpr double kFloorFadeStart = 1.0;  // radii from the centre
constexpr double kFloorFadeEnd = 2.4;

/// Above, linear values are bent towards 1 instead of clipped.
constexpr float kShoulder = 0.8f;

struct Light {
  HeightMap shadow;
  Vec3 direction;
  bool key = false;

  /// True when nothing is above x; x is no point of the surface.
  bool reaches(const Vec3& x) const {
    return static_cast<double>(shadow.at(x)) <= direction.dot(x - shadow.center);
  }
  /// The same for a point of the surface.
  bool reaches(const Vec3& x, const Vec3& normal) const {
    const Vec3 from = x + (kShadowOffset / shadow.cells_per_unit) * normal;
    return reaches(from);
  }
};

struct Studio {
  std::vector<Light> sky, key;
  Vec3 up;
  BoundingSphere sphere;
  double floor = 0;  ///< height along `up`
  bool has_floor = false;
};

/// Evenly spread points on a spherical cap around `axis` (golden-angle spiral), equal solid angles.
std::vector<Vec3> capDirections(int count, const Vec3& axis, double half_angle) {
  const double golden = std::numbers::pi * (3 - std::sqrt(5.0));
  const Vec3 u = axis.unitOrthogonal(), v = axis.cross(u);
  std::vector<Vec3> directions;
  for (int i = 0; i < count; ++i) {
    const double z = 1 - (1 - std::cos(half_angle)) * (i + 0.5) / count;
    const double r = std::sqrt(std::max(0.0, 1 - z * z));
    directions.push_back(r * std::cos(golden * i) * u + r * std::sin(golden * i) * v + z * axis);
  }
  return directions;
}

Studio buildStudio(const Surface& surface, const Camera& camera, const Projection& projection,
                   const ShadedOptions& options) {
  Studio studio;
  const double up_length = camera.up.norm();
  studio.up = up_length > 0 && std::isfinite(up_length) ? Vec3(camera.up / up_length) : Vec3(0, 1, 0);
  Vec3 towards_viewer = -projection.forward() + projection.forward().dot(studio.up) * studio.up;
  towards_viewer = towards_viewer.norm() > 1e-6 ? towards_viewer.normalized() : -projection.up();
  const Vec3 key = (-0.60 * projection.right() + 0.85 * studio.up + 0.70 * towards_viewer).normalized();

  studio.sphere = boundingSphere(surface);
  const int size = std::clamp(options.shadow_map_size, 16, 2048);
  const auto light = [&](const Vec3& direction, bool is_key) {
    return Light{rasteriseHeights(surface.positions(), surface.faces(), studio.sphere, direction, size),
                 direction, is_key};
  };
  for (const Vec3& d : capDirections(std::clamp(options.sky_directions, 1, 1024), studio.up, 90 * kDegree))
    studio.sky.push_back(light(d, false));
  for (const Vec3& d : capDirections(std::clamp(options.key_directions, 1, 1024), key, kKeyHalfAngle))
    studio.key.push_back(light(d, true));

  studio.floor = std::numeric_limits<double>::infinity();
  for (const Vec3& x : surface.positions())
    studio.floor = std::min(studio.floor, studio.up.dot(x));
  studio.has_floor = options.ground_shadow && studio.up.dot(camera.eye) > studio.floor;
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
void forLights(const std::vector<Light>& lights, int pass, int passes, const Visit& visit) {
  const std::size_t count = lights.size();
  const auto step = static_cast<std::size_t>(passes);
  const std::size_t first = static_cast<std::size_t>(pass) % std::min(step, count);
  const std::size_t stride = std::min(step, count);
  const double weight = 1.0 / static_cast<double>((count - first + stride - 1) / stride);
  for (std::size_t i = first; i < count; i += stride)
    visit(lights[i], weight);
}

/// Light leaving a point towards the viewer, linear.
Vec3f shadePoint(const Studio& studio, int pass, int passes, const Vec3& x, const Vec3& normal,
                 const Vec3& face_normal, const Vec3& to_viewer, const Vec3f& albedo) {
  double diffuse = 0, gloss = 0, open_sky = 0;
  forLights(studio.sky, pass, passes, [&](const Light& light, double weight) {
    const double cosine = light.direction.dot(normal);
    if (cosine <= 0 || !light.reaches(x, face_normal)) return;
    // Mean of 2 cos over the hemisphere is 1: a floor under an open sky receives kSkyLight.
    diffuse += kSkyLight * 2 * weight * cosine;
    open_sky += 2 * weight * cosine;
  });
  forLights(studio.key, pass, passes, [&](const Light& light, double weight) {
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
  const double descent = -studio.up.dot(direction);
  if (!studio.has_floor || descent <= 0) return 1;
  const Vec3 x = eye + ((studio.up.dot(eye) - studio.floor) / descent) * direction;
  const Vec3 centre = studio.sphere.center + (studio.floor - studio.up.dot(studio.sphere.center)) * studio.up;
  const double distance = (x - centre).norm() / studio.sphere.radius;
  const double t = std::clamp((kFloorFadeEnd - distance) / (kFloorFadeEnd - kFloorFadeStart), 0.0, 1.0);
  if (t <= 0) return 1;
  double open = 0, seen = 0;
  const auto gather = [&](double strength) {
    return [&, strength](const Light& light, double weight) {
      const double amount = strength * weight * std::max(0.0, light.direction.dot(studio.up));
      open += amount;
      if (light.reaches(x)) seen += amount;
    };
  };
  forLights(studio.sky, pass, passes, gather(2 * kSkyLight));
  forLights(studio.key, pass, passes, gather(kKeyLight));
  const double lost = open > 0 ? 1 - seen / open : 0;
  return 1 - kFloorDarkness * lost * t * t * (3 - 2 * t);
}

float bend(float linear) {
  if (linear <= kShoulder) return linear;
  return kShoulder + (1 - kShoulder) * (1 - std::exp(-(linear - kShoulder) / (1 - kShoulder)));
}

}  // namespace

std::vector<std::array<Vec3f, 3>> creaseNormals(const Surface& surface, double crease_angle) {
  const auto faces = surface.faces();
  const auto positions = surface.positions();
  // Faces around each vertex, in index order.
  std::vector<std::uint32_t> begin(surface.vertexCount() + 1, 0);
  for (const auto& face : faces) {
    for (std::uint32_t v : face)
      ++begin[v + 1];
  }
  for (std::size_t v = 1; v < begin.size(); ++v)
    begin[v] += begin[v - 1];
  std::vector<std::uint32_t> cursor(begin.begin(), begin.end() - 1);
  std::vector<std::uint32_t> corner_at(3 * faces.size());
  for (std::uint32_t f = 0; f < faces.size(); ++f) {
    for (std::uint32_t c = 0; c < 3; ++c)
      corner_at[cursor[faces[f][c]]++] = 3 * f + c;
  }

  const auto normalOf = [&](std::size_t f) { return surface.frames()[f].normal(); };
  std::vector<double> angle(3 * faces.size());
  std::vector<std::array<Vec3f, 3>> normals(faces.size());
  parallelFor(faces.size(), kFacesPerBlock, [&](std::size_t first, std::size_t last) {
    for (std::size_t f = first; f < last; ++f) {
      for (std::size_t c = 0; c < 3; ++c) {
        const Vec3 a = positions[faces[f][(c + 1) % 3]] - positions[faces[f][c]];
        const Vec3 b = positions[faces[f][(c + 2) % 3]] - positions[faces[f][c]];
        angle[3 * f + c] = std::atan2(a.cross(b).norm(), a.dot(b));
      }
    }
  });
  const double limit = std::cos(crease_angle);
  parallelFor(faces.size(), kFacesPerBlock, [&](std::size_t first, std::size_t last) {
    for (std::size_t f = first; f < last; ++f) {
      const Vec3 own = normalOf(f);
      for (std::size_t c = 0; c < 3; ++c) {
        Vec3 sum = Vec3::Zero();
        const std::uint32_t v = faces[f][c];
        for (std::uint32_t i = begin[v]; i < begin[v + 1]; ++i) {
          const Vec3 other = normalOf(corner_at[i] / 3);
          if (other.dot(own) >= limit) sum += angle[corner_at[i]] * other;
        }
        const double length = sum.norm();
        normals[f][c] = (length > 0 ? Vec3(sum / length) : own).cast<float>();
      }
    }
  });
  return normals;
}

Picture renderShaded(const Surface& surface, const Camera& camera, int width, int height,
                     const ColorSource& colors, const ShadedOptions& options) {
  Picture picture;
  if (width < 1 || height < 1 || width > kMaxImageSide || height > kMaxImageSide) return picture;
  const int n = std::clamp(options.supersampling, 1, raster::kMaxSupersampling);
  const int passes = n * n;
  const Projection projection(camera, width, height);
  const Studio studio = buildStudio(surface, camera, projection, options);
  const auto normals = creaseNormals(surface, options.crease_angle);
  const Vec3f top = raster::linearColor(options.background_top);
  const Vec3f bottom = raster::linearColor(options.background_bottom);
  const Vec3f wire_color = raster::linearColor(options.wire.color);

  const std::size_t pixel_count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  std::vector<Vec3f> lit(pixel_count, Vec3f::Zero()), behind(pixel_count, Vec3f::Zero());  // linear sums
  picture.image = {width, height, std::vector<float>(3 * pixel_count),
                   std::vector<std::uint8_t>(pixel_count)};
  picture.coverage.assign(pixel_count, 0.0f);

  std::vector<SurfacePoint> points;
  std::vector<Vec3f> albedo;
  std::vector<std::uint32_t> slot(pixel_count);
  for (int pass = 0; pass < passes; ++pass) {
    RasterOptions raster_options;
    raster_options.sample = raster::samplePlace(pass, n);
    const VisibilityBuffer buffer = rasterise(surface, camera, width, height, raster_options);
    points.clear();
    for (std::size_t pixel = 0; pixel < pixel_count; ++pixel) {
      if (buffer.face[pixel] == kNone) continue;
      slot[pixel] = static_cast<std::uint32_t>(points.size());
      points.push_back(buffer.point(pixel));
    }
    albedo.assign(points.size(), Vec3f::Zero());
    raster::colorsOf(colors, points, albedo);

    parallelFor(pixel_count, kPixelsPerBlock, [&](std::size_t begin, std::size_t end) {
      for (std::size_t pixel = begin; pixel < end; ++pixel) {
        const Vec2 place(static_cast<double>(pixel % static_cast<std::size_t>(width)) + buffer.sample.x(),
                         static_cast<double>(pixel / static_cast<std::size_t>(width)) + buffer.sample.y());
        if (buffer.face[pixel] == kNone) {
          const Vec3 direction =
              projection.surfaceDirectionFromView(projection.viewRay(place.x(), place.y()));
          const double light = floorLight(studio, pass, passes, projection.eye(), direction);
          const float t = static_cast<float>(place.y()) / static_cast<float>(height);
          behind[pixel] += static_cast<float>(light) * (top + t * (bottom - top));
          continue;
        }
        const SurfacePoint& p = points[slot[pixel]];
        const Vec3 x = surface.position(p);
        const Vec3 to_viewer = (projection.eye() - x).normalized();
        Vec3 face_normal = surface.frames()[p.face].normal();
        Vec3 normal = Vec3::Zero();
        for (std::size_t c = 0; c < 3; ++c)
          normal += p.barycentric[static_cast<Eigen::Index>(c)] * normals[p.face][c].cast<double>();
        normal = normal.norm() > 0 ? normal.normalized() : face_normal;
        if (face_normal.dot(to_viewer) < 0) {
          face_normal = -face_normal;
          normal = -normal;
        }
        Vec3f base = raster::linearColor(albedo[slot[pixel]]);
        if (options.wire.width > 0) {
          base += raster::wireAmount(surface, projection, p.face, place, options.wire.width) *
                  (wire_color - base);
        }
        lit[pixel] += shadePoint(studio, pass, passes, x, normal, face_normal, to_viewer, base);
        picture.coverage[pixel] += 1.0f;
      }
    });
  }

  parallelFor(pixel_count, kPixelsPerBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t pixel = begin; pixel < end; ++pixel) {
      const float samples = static_cast<float>(passes), hits = picture.coverage[pixel];
      Vec3f linear = behind[pixel] / samples;
      if (hits > 0) linear += (hits / samples) * Vec3f((lit[pixel] / hits).unaryExpr(&bend));
      const Vec3f color = raster::srgbColor(linear).cwiseMax(0.0f).cwiseMin(1.0f);
      for (std::size_t c = 0; c < 3; ++c)
        picture.image.rgb[3 * pixel + c] = color[static_cast<Eigen::Index>(c)];
      picture.coverage[pixel] = hits / samples;
      picture.image.mask[pixel] = 2 * hits >= samples ? 255 : 0;
    }
  });
  return picture;
}

}  // namespace heatskin
