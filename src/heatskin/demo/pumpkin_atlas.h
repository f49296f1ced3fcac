#pragma once

// The texture layout of the pumpkin: five charts and the maps between them and the smooth surface, both ways.
// Internal to the demo module.
//
// The body is peeled into three gores (the sinusoidal projection: area-true, straight middle meridian); the
// front one holds the face and gets more texels. The stem is a strip with the most texels of all, its cut end
// a disc. Each chart owns a cell of the unit square and the cells tile it, so that every texel has a chart to
// continue when it lies outside of all of them.

#include <array>
#include <cstddef>

#include "heatskin/base/vec.h"
#include "heatskin/demo/pumpkin_shape.h"

namespace heatskin {

struct PumpkinPlace {
  PumpkinPart part = PumpkinPart::kBody;
  double along = 0;
  double around = 0;
  bool near = true;  ///< false: so far outside of the chart that no filter looks there
};

class PumpkinAtlas {
 public:
  static constexpr std::size_t kCharts = 5;
  enum Chart : std::size_t { kFront, kRight, kLeft, kStemStrip, kStemDisc };

  explicit PumpkinAtlas(const PumpkinShape& shape);

  /// The range of `around` that a chart covers; whole numbers of ribs.
  static std::array<int, 2> ribs(std::size_t chart);
  static PumpkinPart part(std::size_t chart);

  /// Texture coordinates (v down) of a place. `around` lies in the chart's range.
  Vec2 uv(std::size_t chart, double along, double around) const;

  /// The chart whose cell holds `uv`.
  std::size_t chartAt(const Vec2& uv) const;

  /// The inverse of `uv` inside the chart. In the gutter around it: the place where the surface continues
  /// beyond the seam, or the nearest place of the border at the ends of the parts.
  PumpkinPlace place(std::size_t chart, const Vec2& uv) const;

 private:
  /// chart coordinates (x right with `around`, y up with `along`, radii of the body) -> uv
  struct Cell {
    Vec2 low, high;       ///< the cell in the unit square
    Vec2 origin;          ///< uv of chart coordinates (0, 0)
    double scale = 1;     ///< uv per radius
    bool turned = false;  ///< by 90 degrees
  };

  Vec2 uvFromChart(const Cell& cell, const Vec2& p) const;
  Vec2 chartFromUv(const Cell& cell, const Vec2& uv) const;
  Vec2 chartPoint(std::size_t chart, double along, double around) const;

  const PumpkinShape& shape_;
  std::array<Cell, kCharts> cells_;
};

}  // namespace heatskin
