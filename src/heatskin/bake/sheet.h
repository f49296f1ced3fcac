#pragma once

// A sheet: faces of a surface with texture coordinates, one image of texels (or several of one size). This
// file finds the surface points that texels stand for and the means of what is there, in bands of rows, so
// that no array is as large as the image.
//
// A texel at the border of a chart is not cut off there: what bilinear filtering reads beyond the border is
// what lies beyond it on the surface. Its points go on from the nearest face straight across the border
// (geodesic/walk.h); where the surface ends, they stay at its edge. Both sides of a border then show the
// same, up to the error of interpolation.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

struct SheetFaces {
  std::vector<std::uint32_t> faces;       // [N] of the surface
  std::vector<std::array<Vec2f, 3>> uvs;  // [N] of the face's corners, v down; repeated beyond [0, 1]
};

/// R numbers for each of many points, such that their mean stands for a texel; called with at most
/// kColorBatch points.
using SheetValues = std::function<void(std::span<const SurfacePoint> points, std::span<float> values)>;

struct SheetOptions {
  int width = 1024, height = 1024;
  int supersampling = 2;  ///< n: n x n points in a texel
};

/// Some rows of the image.
struct SheetBand {
  int first_row = 0, rows = 0, width = 0;
  std::vector<std::uint8_t> filled;   // [rows, width] 1: in a chart, or beside one
  std::vector<float> values;          // [rows, width, R] means; 0 where nothing is
  std::vector<SurfacePoint> centers;  // [rows, width] where filled: the point of the chart next to the centre
};

struct SheetCounts {
  std::size_t covered_texels = 0;     ///< with their centre in a chart
  std::size_t overlapped_texels = 0;  ///< in several faces
};

/// Calls `take` with band after band, from top to bottom. Equal for any number of threads. Stops when
/// `progress` is cancelled (error_code::kCancelled).
Result<SheetCounts> sampleSheet(const Surface& surface, const SheetFaces& faces, std::size_t numbers,
                                const SheetValues& values, const SheetOptions& options,
                                const std::function<void(SheetBand& band)>& take,
                                Progress& progress = silentProgress());

}  // namespace heatskin
