#pragma once

// Charts in an image: every chart gets a rectangle of texels of its own, its cell, with a gutter around the
// chart that belongs to it, too.
//
// Cells are whole multiples of `alignment` = 2 gutter texels and begin at such multiples. Hence
// - bilinear filtering reads texels of the chart's own cell only (the gutter is at least one texel), and
// - so do mip maps up to level log2(alignment): a texel of such a level lies in one cell, and the next one to
//   any point of the chart does, too, because the gutter is half as wide as such a texel.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "heatskin/bake/atlas_charts.h"
#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"

namespace heatskin {

struct PackOptions {
  int width = 1024, height = 1024;  ///< 1 .. kMaxImageSide
  int gutter = 2;                   ///< texels around a chart; a power of two, or 0
};

/// A rectangle of texels.
struct AtlasCell {
  int x = 0, y = 0, width = 0, height = 0;
};

struct PackedAtlas {
  int width = 0, height = 0;
  int gutter = 0;      ///< that of the options, or less where charts would get next to no room beside it
  double density = 0;  ///< texels for a unit of length, the same for all charts that fit into the image
  std::vector<std::array<Vec2f, 3>> uvs;  // [T] in [0, 1], v down
  std::vector<AtlasCell> cells;           // [charts]
  double area_used = 0;                   ///< of the image, by faces
  std::size_t shrunk_charts = 0;          ///< longer than the image at this density, and drawn smaller
  std::size_t rectangles_placed = 0;      ///< over all densities that were tried: bounds the time

  int alignment() const { return gutter > 0 ? 2 * gutter : 1; }
};

/// The largest density at which all cells fit, to a hundredth, in rows of falling height. Time in proportion
/// to charts and triangles. Fails if there are more charts than texels (error_code::kBadRequest).
Result<PackedAtlas> packCharts(const AtlasCharts& charts, const PackOptions& options = {});

/// The least side (a power of two) of a square image with room for some texels of every chart and their
/// gutters.
int leastAtlasSide(const AtlasCharts& charts, int gutter);

}  // namespace heatskin
