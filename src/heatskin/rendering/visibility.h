#pragma once

// What is seen where: for every pixel the nearest face and the point on it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/rendering/camera.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Longest side of an image the rasterisers draw.
inline constexpr int kMaxImageSide = 16384;

/// Faces seen through each other at one sample; what lies behind more is not drawn.
inline constexpr int kMaxLayers = 64;

struct RasterOptions {
  Vec2 sample = {0.5, 0.5};      ///< place of the sample in its pixel, [0, 1); rounded to 1/16384 pixel
  bool cull_back_faces = false;  ///< false: both sides are drawn, as open and double-sided assets need
  bool count_coverage = false;   ///< fill VisibilityBuffer::coverage
  bool keep_keys = false;        ///< fill VisibilityBuffer::key
  std::span<const std::uint8_t> one_sided;  // [F] nonzero: the face's back is not drawn; or empty

  /// Depth peeling (Everitt, "Interactive order-independent transparency", 2001): face and key of a buffer
  /// drawn before with the same camera and sample. What is drawn is the nearest face behind it; nothing where
  /// `behind_key` is -infinity. Both [height, width] or empty.
  std::span<const double> behind_key;
  std::span<const std::uint32_t> behind_face;
};

/// One sample per pixel, rows from top to bottom. Equal for any number of threads, to the bit.
struct VisibilityBuffer {
  int width = 0;
  int height = 0;
  Vec2 sample = {0.5, 0.5};         ///< as used, after rounding
  std::vector<std::uint32_t> face;  // [height, width]; kNone: background
  std::vector<Vec3> barycentric;    // [height, width]; perspective-correct, >= 0, sum 1; zero on background
  std::vector<double> depth;        // [height, width]; along the line of sight; infinity on background
  std::vector<double> key;  // [height, width] or empty: the order of faces at a sample, larger is nearer
  std::vector<std::uint32_t> coverage;  // [height, width] faces over the sample, seen or hidden; or empty

  std::size_t index(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x);
  }
  bool foreground(int x, int y) const { return face[index(x, y)] != kNone; }
  SurfacePoint point(std::size_t pixel) const { return {face[pixel], barycentric[pixel]}; }

  /// 255 on the foreground, 0 elsewhere; [height, width].
  std::vector<std::uint8_t> mask() const;

  /// Indices of the foreground pixels, ascending.
  std::vector<std::size_t> foregroundPixels() const;
};

/// Draws a triangle mesh; coordinates are those of the camera. The nearest face wins, among equally near ones
/// the one with the lowest index. A sample on an edge shared by two faces belongs to exactly one of them.
/// Faces behind the near plane are clipped; faces with coordinates that are not finite are not drawn.
/// `width` and `height` are 1 .. kMaxImageSide, otherwise the result is empty.
VisibilityBuffer rasterise(std::span<const Vec3> positions,                      // [V]
                           std::span<const std::array<std::uint32_t, 3>> faces,  // [F]
                           const Camera& camera, int width, int height, const RasterOptions& options = {});

VisibilityBuffer rasterise(const Surface& surface, const Camera& camera, int width, int height,
                           const RasterOptions& options = {});

/// A height field seen along parallel rays, for shadows: the largest `height` over each cell.
struct HeightMap {
  int size = 0;
  Vec3 x_axis, y_axis, direction;  ///< orthonormal; heights are along `direction`
  Vec3 center;
  double cells_per_unit = 1;
  std::vector<float> height;  // [size, size]; -infinity where nothing is

  /// Height at a point's cell, or -infinity outside of the map.
  float at(const Vec3& x) const;
};

/// True for the points that stop light; [points.size()], called from one thread at a time.
using StopsLight = std::function<void(std::span<const SurfacePoint> points, std::span<std::uint8_t> stops)>;

/// Draws the mesh from infinitely far away in `direction` (unit) into size x size cells that hold the sphere.
/// With `see_through` (nonzero: the face may let light through; [F]) the highest point that stops light is
/// taken, looking through at most kMaxLayers faces.
HeightMap rasteriseHeights(std::span<const Vec3> positions,
                           std::span<const std::array<std::uint32_t, 3>> faces, const BoundingSphere& sphere,
                           const Vec3& direction, int size, std::span<const std::uint8_t> see_through = {},
                           const StopsLight& stops = {});

}  // namespace heatskin
