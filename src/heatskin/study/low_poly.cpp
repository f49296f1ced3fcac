#include "heatskin/study/low_poly.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/evaluators/local/simplify.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/surface/closest_point.h"

namespace heatskin::study {
namespace {

using Triangle = std::array<std::uint32_t, 3>;

/// Texels between a triangle and the border of its place: bilinear reading reaches one beyond, rounding half
/// of one.
constexpr double kGutter = 2;

/// Fewer texels along a side would blur what the asset shows.
constexpr int kSmallestPlace = 8;

/// As much error as simplification may bring; it is asked for a number of triangles, not for accuracy.
constexpr float kAnyError = 1;

/// Faces of simplified closed surfaces are twice as many as their vertices.
std::vector<Triangle> simplified(const Surface& surface, std::size_t vertices) {
  std::vector<Triangle> faces(surface.faces().begin(), surface.faces().end());
  if (vertices >= surface.vertexCount()) return faces;
  // Open meshes and what simplification cannot reach need more than one attempt.
  std::size_t target = 2 * vertices;
  for (int attempt = 0; attempt < 6; ++attempt) {
    faces = local::simplify(surface.positions(), surface.vertexNormals(), surface.faces(),
                            surface.totalArea(), target, kAnyError);
    std::vector<std::uint8_t> used(surface.vertexCount(), 0);
    for (const Triangle& face : faces) {
      for (const std::uint32_t v : face)
        used[v] = 1;
    }
    const auto count = static_cast<double>(std::count(used.begin(), used.end(), 1));
    const double ratio = static_cast<double>(vertices) / std::max(1.0, count);
    if (std::abs(ratio - 1) < 0.03) break;
    target = std::max<std::size_t>(8, static_cast<std::size_t>(static_cast<double>(target) * ratio));
  }
  return faces;
}

/// Where a triangle's corners lie in the texture, in texels. Even triangles have the lower left half of a
/// square, odd ones the upper right half.
struct Places {
  int columns = 1;
  double side = 1;

  std::array<Vec2, 3> corners(std::size_t triangle) const {
    const std::size_t square = triangle / 2;
    const Vec2 origin(side * static_cast<double>(square % static_cast<std::size_t>(columns)),
                      side * static_cast<double>(square / static_cast<std::size_t>(columns)));
    const double near = kGutter, far = side - kGutter - kGutter * 1.5;
    if (triangle % 2 == 0)
      return {origin + Vec2(near, near), origin + Vec2(far, near), origin + Vec2(near, far)};
    const double a = side - near, b = side - far;
    return {origin + Vec2(a, a), origin + Vec2(b, a), origin + Vec2(a, b)};
  }
};

}  // namespace

Result<Asset> lowPoly(const Asset& asset, const LowPolyOptions& options) {
  SurfaceOptions plain;
  plain.principal_axes = false;
  const auto surface = buildSurface(asset, plain);
  if (!surface) return surface.error();
  const Appearance appearance(asset, *surface);
  const std::vector<Triangle> faces = simplified(*surface, options.vertices);

  Places places;
  const auto squares = static_cast<double>((faces.size() + 1) / 2);
  places.columns = std::max(1, static_cast<int>(std::ceil(std::sqrt(squares))));
  places.side = std::floor(static_cast<double>(options.texture_size) / places.columns);
  if (places.side < kSmallestPlace) {
    return inputError(fmt::format("{} triangles are too many for a texture with {} x {} texels", faces.size(),
                                  options.texture_size, options.texture_size));
  }

  const double size = options.texture_size;
  Primitive primitive;
  primitive.uv_sets.emplace_back();
  primitive.material = 0;
  const Similarity asset_from_surface = surface->assetFromSurface();
  for (std::size_t t = 0; t < faces.size(); ++t) {
    const auto corners = places.corners(t);
    for (std::size_t c = 0; c < 3; ++c) {
      primitive.triangles.push_back(static_cast<std::uint32_t>(primitive.positions.size()));
      // As floats, which files hold: corners of several triangles weld to the bit.
      primitive.positions.push_back(
          asset_from_surface(surface->positions()[faces[t][c]]).cast<float>().cast<double>());
      primitive.uv_sets[0].push_back((corners[c] / size).cast<float>());
    }
  }

  // Every texel of a square takes the colour of the point of its triangle's plane that maps there.
  const auto texels = static_cast<std::size_t>(options.texture_size);
  std::vector<Vec3> positions;
  std::vector<std::size_t> owners;
  for (std::size_t t = 0; t < faces.size(); ++t) {
    const auto corners = places.corners(t);
    const std::size_t square = t / 2;
    const auto x0 = static_cast<std::size_t>(places.side) *
                    (square % static_cast<std::size_t>(places.columns)),
               y0 = static_cast<std::size_t>(places.side) *
                    (square / static_cast<std::size_t>(places.columns));
    const auto side = static_cast<std::size_t>(places.side);
    Eigen::Matrix2d edges;
    edges.col(0) = corners[1] - corners[0];
    edges.col(1) = corners[2] - corners[0];
    const Eigen::Matrix2d inverse = edges.inverse();
    for (std::size_t y = 0; y < side; ++y) {
      for (std::size_t x = 0; x < side; ++x) {
        const bool upper = x + y >= side;
        if (upper != (t % 2 == 1)) continue;
        const Vec2 center(static_cast<double>(x0 + x) + 0.5, static_cast<double>(y0 + y) + 0.5);
        const Vec2 b = inverse * (center - corners[0]);
        // Beyond the triangle the gutter repeats its rim.
        Vec3 weights = Vec3(1 - b.x() - b.y(), b.x(), b.y()).cwiseMax(0);
        weights /= weights.sum();
        positions.push_back(weights[0] * surface->positions()[faces[t][0]] +
                            weights[1] * surface->positions()[faces[t][1]] +
                            weights[2] * surface->positions()[faces[t][2]]);
        owners.push_back((y0 + y) * texels + x0 + x);
      }
    }
  }
  std::vector<ClosestPoint> nearest(positions.size());
  ClosestPointQuery(*surface).find(positions, nearest);
  std::vector<SurfacePoint> points(positions.size());
  std::transform(nearest.begin(), nearest.end(), points.begin(),
                 [](const ClosestPoint& p) { return p.point; });
  std::vector<Vec3f> colors(points.size());
  appearance.colors(points, colors);

  auto image = std::make_shared<Image>();
  image->name = "colours";
  image->width = image->height = options.texture_size;
  image->stored_channels = 3;
  image->format = "png";
  image->rgba.assign(4 * texels * texels, 255);
  for (std::size_t i = 0; i < owners.size(); ++i) {
    for (std::size_t c = 0; c < 3; ++c)
      image->rgba[4 * owners[i] + c] = static_cast<std::uint8_t>(
          std::lround(255 * std::clamp(colors[i][static_cast<Eigen::Index>(c)], 0.0f, 1.0f)));
  }

  Asset result;
  result.path = asset.path;
  result.format = "glb";
  result.images.push_back(std::move(image));
  result.textures.push_back({0, Wrap::kClampToEdge, Wrap::kClampToEdge, TexelFilter::kLinear});
  Material material;
  material.name = "carried over";
  material.base_color.texture = 0;
  result.materials.push_back(std::move(material));
  result.stored_vertices = primitive.positions.size();
  Mesh mesh;
  mesh.name = "low poly";
  mesh.primitives.push_back(std::move(primitive));
  result.meshes.push_back(std::move(mesh));
  Instance instance;
  instance.mesh = 0;
  result.instances.push_back(std::move(instance));
  return result;
}

}  // namespace heatskin::study
