#pragma once

// Exact coverage, shared by the view and the atlas rasteriser. Private to rendering.
//
// Vertices are snapped to a grid of 2^-14 pixel and edge functions are evaluated in 64-bit integers with the
// top-left rule (Pineda, "A parallel algorithm for polygon rasterization", SIGGRAPH 1988): a sample on or
// near an edge shared by two triangles belongs to exactly one of them, whatever their shapes.
//
// The image is cut into tiles; triangles are sorted into tiles in face order and every tile is drawn by one
// thread, so the result does not depend on the number of threads.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"

namespace heatskin::raster {

inline constexpr int kSubpixelBits = 14;
inline constexpr std::int64_t kSubpixels = std::int64_t{1} << kSubpixelBits;

/// Vertices beyond are clipped first: snapped coordinates stay below 2^29 and edge functions below 2^61.
inline constexpr double kGuardLow = -16384;
inline constexpr double kGuardHigh = 32768;

/// The order of surfaces at a sample: `key` is affine in pixel coordinates and the largest key wins, then the
/// lowest face. Perspective views use 1 / depth. `low` and `high` bound the key on the face: on a face seen
/// edge-on the plane is meaningless outside of them.
struct KeyPlane {
  double dx = 0;
  double dy = 0;
  double constant = 0;
  double low = 0;
  double high = 0;

  double at(double x, double y) const {
    const double key = dx * x + dy * y + constant;
    return key > low ? (key < high ? key : high) : low;  // not-a-number becomes low
  }
};

/// A snapped triangle with positive area, ready to be drawn.
struct Item {
  std::array<std::int32_t, 3> x, y;               // 1/16384 pixel
  std::int32_t first_x, last_x, first_y, last_y;  // pixels whose sample can be inside
  std::uint32_t face;
  KeyPlane key;
};

/// Where to draw. All arrays are [height, width] and belong to the caller, who has filled `face` with the
/// background value and `key` with -infinity.
struct Target {
  int width = 0;
  int height = 0;
  std::int64_t sample_x = kSubpixels / 2;  ///< place of the sample in its pixel, in [0, kSubpixels)
  std::int64_t sample_y = kSubpixels / 2;
  std::uint32_t* face = nullptr;
  double* key = nullptr;
  std::uint32_t* coverage = nullptr;   ///< may be null: number of triangles over the sample
  const double* behind_key = nullptr;  ///< may be null: only what comes after (behind_key, behind_face) in
                                       ///< the order of KeyPlane is drawn, nothing at -infinity
  const std::uint32_t* behind_face = nullptr;
  std::uint32_t enough_coverage = 0;  ///< not 0: a tile is finished once every sample has this coverage (all
                                      ///< keys must be equal, so that later faces cannot win)
};

/// Receives the triangles of a block of faces.
class ItemSink {
 public:
  ItemSink(const Target& target, std::vector<Item>& items) : target_(target), items_(items) {}

  /// A triangle in homogeneous pixel coordinates (x w, y w, w), clipped to w >= min_w and the guard band.
  /// Returns what it became: nothing if it covers no sample. The caller sets the keys of these items.
  std::span<Item> add(std::uint32_t face, const std::array<Vec3, 3>& corners, double min_w);

  /// A triangle in snapped coordinates inside the guard band, with key 0.
  void addSnapped(std::uint32_t face, const std::array<std::int64_t, 3>& x,
                  const std::array<std::int64_t, 3>& y);

 private:
  const Target& target_;
  std::vector<Item>& items_;
};

/// Draws faces 0 .. face_count - 1. `setup(begin, end, sink)` is called concurrently for blocks of faces and
/// adds their triangles in face order.
void drawFaces(std::size_t face_count,
               const std::function<void(std::size_t begin, std::size_t end, ItemSink& sink)>& setup,
               const Target& target);

/// Pixel coordinate on the snapping grid.
inline std::int64_t snap(double pixels) {
  return static_cast<std::int64_t>(std::floor(pixels * static_cast<double>(kSubpixels) + 0.5));
}

/// True when the sample (snapped coordinates) is inside by the rule the rasteriser uses; any orientation.
bool covers(std::array<std::int64_t, 3> x, std::array<std::int64_t, 3> y, std::int64_t sample_x,
            std::int64_t sample_y);

/// Of the faces a picture shows, kNone where there is none: 255 where there is one and 0 elsewhere, and the
/// indices of the pixels that have one, ascending.
std::vector<std::uint8_t> maskOf(std::span<const std::uint32_t> face);
std::vector<std::size_t> pixelsWithFace(std::span<const std::uint32_t> face);

}  // namespace heatskin::raster
