#include "heatskin/rendering/visibility.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "heatskin/base/parallel.h"
#include "heatskin/rendering/raster_core.h"

namespace heatskin {
namespace {

constexpr double kFarAway = std::numeric_limits<double>::infinity();
constexpr std::size_t kVerticesPerBlock = 4096;
constexpr std::size_t kRowsPerBlock = 8;

/// 1 / depth as an affine function of pixel coordinates: a view point x on the plane n . x = n . a with
/// x = depth * ray(pixel) has 1 / depth = n . ray(pixel) / (n . a).
raster::KeyPlane inverseDepth(const std::array<Vec3, 3>& view, const Projection& projection) {
  raster::KeyPlane key;
  const double near = projection.nearDistance();
  const auto [min_z, max_z] = std::minmax({view[0].z(), view[1].z(), view[2].z()});
  key.low = 1 / std::max(max_z, near);
  key.high = 1 / std::max(min_z, near);
  const Vec3 normal = (view[1] - view[0]).cross(view[2] - view[0]);
  const Vec3 scaled = normal / normal.dot(view[0]);
  if (!scaled.allFinite()) {
    key.constant = 0.5 * (key.low + key.high);
    return key;
  }
  const Vec3 origin = projection.viewRay(0, 0);
  key.dx = scaled.dot(projection.viewRay(1, 0) - origin);
  key.dy = scaled.dot(projection.viewRay(0, 1) - origin);
  key.constant = scaled.dot(origin);
  return key;
}

/// The point of the face's edges that looks nearest to the ray. Snapping lets a face cover a sample its exact
/// shape misses by less than a subpixel; there the plane of a face seen edge-on is met far away from it.
Vec3 nearestOnEdges(const std::array<Vec3, 3>& view, const Vec3& ray, double near) {
  const Vec3 direction = ray.normalized();
  const auto across = [&](const Vec3& x) { return Vec3(x - x.dot(direction) * direction); };
  double best = kFarAway;
  Vec3 barycentric(1, 0, 0);
  for (std::size_t e = 0; e < 3; ++e) {
    const std::size_t f = (e + 1) % 3;
    const Vec3 &a = view[e], &b = view[f];
    double low = 0, high = 1;
    if (a.z() < near && b.z() < near) continue;
    if (a.z() < near) low = (near - a.z()) / (b.z() - a.z());
    if (b.z() < near) high = (near - a.z()) / (b.z() - a.z());
    const Vec3 start = across(a), way = across(b) - start;
    const double length2 = way.squaredNorm();
    double s = length2 > 0 ? -start.dot(way) / length2 : 0;
    s = std::clamp(std::isfinite(s) ? s : low, low, std::max(low, high));
    const double z = a.z() + s * (b.z() - a.z());
    const double distance = (start + s * way).squaredNorm() / (z * z);
    if (distance < best) {
      best = distance;
      barycentric = Vec3::Zero();
      barycentric[static_cast<Eigen::Index>(e)] = 1 - s;
      barycentric[static_cast<Eigen::Index>(f)] = s;
    }
  }
  return barycentric;
}

/// Where the view ray meets the face. Moeller and Trumbore, "Fast, minimum storage ray-triangle
/// intersection", 1997: differences of corners keep small faces accurate.
Vec3 rayBarycentric(const std::array<Vec3, 3>& view, const Vec3& ray, double near) {
  const Vec3 edge1 = view[1] - view[0], edge2 = view[2] - view[0];
  const Vec3 p = ray.cross(edge2);
  const Vec3 q = -view[0].cross(edge1);
  const double determinant = edge1.dot(p);
  const double b1 = -view[0].dot(p) / determinant;
  const double b2 = ray.dot(q) / determinant;
  const double b0 = 1 - b1 - b2;
  if (b0 >= 0 && b1 >= 0 && b2 >= 0) return {b0, b1, b2};
  return nearestOnEdges(view, ray, near);
}

bool validIndices(const std::array<std::uint32_t, 3>& face, std::size_t vertices) {
  return face[0] < vertices && face[1] < vertices && face[2] < vertices;
}

}  // namespace

std::vector<std::uint8_t> VisibilityBuffer::mask() const {
  return raster::maskOf(face);
}

std::vector<std::size_t> VisibilityBuffer::foregroundPixels() const {
  return raster::pixelsWithFace(face);
}

VisibilityBuffer rasterise(std::span<const Vec3> positions,
                           std::span<const std::array<std::uint32_t, 3>> faces, const Camera& camera,
                           int width, int height, const RasterOptions& options) {
  VisibilityBuffer buffer;
  if (width < 1 || height < 1 || width > kMaxImageSide || height > kMaxImageSide) return buffer;
  const std::size_t pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  buffer.width = width;
  buffer.height = height;
  buffer.face.assign(pixels, kNone);
  buffer.depth.assign(pixels, -kFarAway);  // holds 1 / depth until the end
  buffer.barycentric.assign(pixels, Vec3::Zero());
  if (options.count_coverage) buffer.coverage.assign(pixels, 0);

  raster::Target target;
  target.width = width;
  target.height = height;
  const auto place = [](double offset) {
    return std::clamp<std::int64_t>(std::isfinite(offset) ? raster::snap(std::clamp(offset, 0.0, 1.0)) : 0, 0,
                                    raster::kSubpixels - 1);
  };
  target.sample_x = place(options.sample.x());
  target.sample_y = place(options.sample.y());
  buffer.sample = Vec2(static_cast<double>(target.sample_x), static_cast<double>(target.sample_y)) /
                  static_cast<double>(raster::kSubpixels);
  target.face = buffer.face.data();
  target.key = buffer.depth.data();
  target.coverage = options.count_coverage ? buffer.coverage.data() : nullptr;
  if (options.behind_key.size() == pixels && options.behind_face.size() == pixels) {
    target.behind_key = options.behind_key.data();
    target.behind_face = options.behind_face.data();
  }

  const Projection projection(camera, width, height);
  std::vector<Vec3> view(positions.size());
  parallelFor(positions.size(), kVerticesPerBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v)
      view[v] = projection.viewFromSurface(positions[v]);
  });

  const auto corners = [&](std::size_t f) {
    return std::array<Vec3, 3>{view[faces[f][0]], view[faces[f][1]], view[faces[f][2]]};
  };
  raster::drawFaces(
      faces.size(),
      [&](std::size_t begin, std::size_t end, raster::ItemSink& sink) {
        for (std::size_t f = begin; f < end; ++f) {
          if (!validIndices(faces[f], view.size())) continue;
          const std::array<Vec3, 3> c = corners(f);
          const bool one_sided =
              options.cull_back_faces || (!options.one_sided.empty() && options.one_sided[f] != 0);
          if (one_sided && (c[1] - c[0]).cross(c[2] - c[0]).dot(c[0]) <= 0) continue;
          const std::span<raster::Item> items =
              sink.add(static_cast<std::uint32_t>(f),
                       {projection.homogeneousPixelFromView(c[0]), projection.homogeneousPixelFromView(c[1]),
                        projection.homogeneousPixelFromView(c[2])},
                       projection.nearDistance());
          if (items.empty()) continue;
          const raster::KeyPlane key = inverseDepth(c, projection);
          for (raster::Item& item : items)
            item.key = key;
        }
      },
      target);

  if (options.keep_keys) buffer.key = buffer.depth;
  parallelFor(static_cast<std::size_t>(height), kRowsPerBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t y = begin; y < end; ++y) {
      for (std::size_t x = 0; x < static_cast<std::size_t>(width); ++x) {
        const std::size_t pixel = y * static_cast<std::size_t>(width) + x;
        if (buffer.face[pixel] == kNone) {
          buffer.depth[pixel] = kFarAway;
          continue;
        }
        const std::array<Vec3, 3> c = corners(buffer.face[pixel]);
        const Vec3 ray = projection.viewRay(static_cast<double>(x) + buffer.sample.x(),
                                            static_cast<double>(y) + buffer.sample.y());
        const Vec3 b = rayBarycentric(c, ray, projection.nearDistance());
        buffer.barycentric[pixel] = b;
        buffer.depth[pixel] = b[0] * c[0].z() + b[1] * c[1].z() + b[2] * c[2].z();
      }
    }
  });
  return buffer;
}

VisibilityBuffer rasterise(const Surface& surface, const Camera& camera, int width, int height,
                           const RasterOptions& options) {
  return rasterise(surface.positions(), surface.faces(), camera, width, height, options);
}

float HeightMap::at(const Vec3& x) const {
  const Vec3 offset = x - center;
  const double i = 0.5 * size + cells_per_unit * x_axis.dot(offset);
  const double j = 0.5 * size + cells_per_unit * y_axis.dot(offset);
  if (!(i >= 0 && j >= 0 && i < size && j < size)) return -std::numeric_limits<float>::infinity();
  return height[static_cast<std::size_t>(j) * static_cast<std::size_t>(size) + static_cast<std::size_t>(i)];
}

HeightMap rasteriseHeights(std::span<const Vec3> positions,
                           std::span<const std::array<std::uint32_t, 3>> faces, const BoundingSphere& sphere,
                           const Vec3& direction, int size, std::span<const std::uint8_t> see_through,
                           const StopsLight& stops) {
  HeightMap map;
  if (size < 1 || size > kMaxImageSide) return map;
  map.size = size;
  map.direction = direction;
  map.center = sphere.center;
  map.x_axis = direction.unitOrthogonal();
  map.y_axis = direction.cross(map.x_axis);
  // One cell of margin on every side.
  map.cells_per_unit = (0.5 * size - 1) / std::max(sphere.radius, 1e-300);
  const auto cell = [&](const Vec3& x) {
    const Vec3 offset = x - map.center;
    return Vec3(0.5 * size + map.cells_per_unit * map.x_axis.dot(offset),
                0.5 * size + map.cells_per_unit * map.y_axis.dot(offset), 1);
  };

  const std::size_t cells = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  std::vector<std::uint32_t> face(cells, kNone);
  std::vector<double> key(cells, -kFarAway);
  raster::Target target;
  target.width = size;
  target.height = size;
  target.face = face.data();
  target.key = key.data();
  const auto draw = [&] {
    raster::drawFaces(
        faces.size(),
        [&](std::size_t begin, std::size_t end, raster::ItemSink& sink) {
          for (std::size_t f = begin; f < end; ++f) {
            if (!validIndices(faces[f], positions.size())) continue;
            std::array<Vec3, 3> corners;
            std::array<double, 3> heights;
            for (std::size_t c = 0; c < 3; ++c) {
              corners[c] = cell(positions[faces[f][c]]);
              heights[c] = direction.dot(positions[faces[f][c]] - map.center);
            }
            const std::span<raster::Item> items = sink.add(static_cast<std::uint32_t>(f), corners, 0.5);
            if (items.empty()) continue;
            raster::KeyPlane plane;
            const auto [low, high] = std::minmax({heights[0], heights[1], heights[2]});
            plane.low = low;
            plane.high = high;
            const Vec2 u = (corners[1] - corners[0]).head<2>(), v = (corners[2] - corners[0]).head<2>();
            const double area = cross2(u, v);
            const double du = heights[1] - heights[0], dv = heights[2] - heights[0];
            plane.dx = (du * v.y() - dv * u.y()) / area;
            plane.dy = (dv * u.x() - du * v.x()) / area;
            plane.constant = heights[0] - plane.dx * corners[0].x() - plane.dy * corners[0].y();
            if (!std::isfinite(plane.constant)) plane.dx = plane.dy = 0, plane.constant = high;
            for (raster::Item& item : items)
              item.key = plane;
          }
        },
        target);
  };
  draw();
  map.height.resize(cells);
  const auto store = [&](std::size_t i) { map.height[i] = static_cast<float>(key[i]); };
  if (see_through.empty() || !stops) {
    for (std::size_t i = 0; i < cells; ++i)
      store(i);
    return map;
  }

  std::vector<double> behind_key(cells, -kFarAway);
  std::vector<std::uint32_t> behind_face(cells, kNone);
  std::vector<std::size_t> open;
  std::vector<SurfacePoint> points;
  std::vector<std::uint8_t> stopped;
  std::vector<std::uint8_t> finished(cells, 0);
  for (int layer = 0;; ++layer) {
    open.clear();
    points.clear();
    for (std::size_t i = 0; i < cells; ++i) {
      if (finished[i] != 0) continue;
      if (face[i] == kNone || see_through[face[i]] == 0 || layer + 1 >= kMaxLayers) {
        store(i);
        finished[i] = 1;
        continue;
      }
      const auto& corner = faces[face[i]];
      const Vec2 a = cell(positions[corner[0]]).head<2>(), b = cell(positions[corner[1]]).head<2>(),
                 c = cell(positions[corner[2]]).head<2>();
      const Vec2 p(static_cast<double>(i % static_cast<std::size_t>(size)) + 0.5,
                   static_cast<double>(i / static_cast<std::size_t>(size)) + 0.5);
      const double area = cross2(Vec2(b - a), Vec2(c - a));
      Vec3 at(cross2(Vec2(b - p), Vec2(c - p)), cross2(Vec2(c - p), Vec2(a - p)), 0);
      at /= area;
      at.z() = 1 - at.x() - at.y();
      at = at.cwiseMax(0.0);  // snapping lets a face cover a cell whose centre it just misses
      at = at.allFinite() && at.sum() > 0 ? Vec3(at / at.sum()) : Vec3(Vec3::Constant(1.0 / 3));
      open.push_back(i);
      points.push_back({face[i], at});
    }
    if (open.empty()) return map;
    stopped.assign(open.size(), 1);
    stops(points, stopped);
    std::fill(behind_key.begin(), behind_key.end(), -kFarAway);
    for (std::size_t k = 0; k < open.size(); ++k) {
      const std::size_t i = open[k];
      if (stopped[k] != 0) {
        store(i);
        finished[i] = 1;
        continue;
      }
      behind_key[i] = key[i];
      behind_face[i] = face[i];
      face[i] = kNone;
      key[i] = -kFarAway;
    }
    target.behind_key = behind_key.data();
    target.behind_face = behind_face.data();
    draw();
  }
}

}  // namespace heatskin
