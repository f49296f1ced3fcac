#include "heatskin/bake/pack_charts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "heatskin/base/plural.h"
#include "heatskin/rendering/visibility.h"

namespace heatskin {
namespace {

/// Densities are found to this precision; a hundredth of a texel's side is nothing to see.
constexpr double kDensityPrecision = 1.01;

/// A narrower gutter is tried where faces use less of the image than this, and taken if the density grows by
/// this factor.
constexpr double kEnoughUsed = 0.1;
constexpr double kWorthIt = 1.5;

/// Charts that a row may leave to the next one before it is closed.
constexpr int kMostWaiting = 32;

/// Cells of one density and one gutter.
class CellRows {
 public:
  CellRows(const AtlasCharts& charts, int width, int height, int gutter)
      : charts_(charts),
        quantum_(gutter > 0 ? 2 * gutter : 1),
        margin_(gutter > 0 ? gutter : 0.5),
        columns_(width / quantum_),
        rows_(height / quantum_) {}

  bool hasRoom() const { return columns_ > 0 && rows_ > 0; }

  /// How much smaller than the others a chart has to be drawn to fit into the image at all.
  double shrinking(std::size_t chart, double density) const {
    const Vec2 most(columns_ * quantum_ - 2 * margin_, rows_ * quantum_ - 2 * margin_);
    const Vec2 size = density * charts_.sizes[chart];
    double factor = 1;
    for (int c = 0; c < 2; ++c) {
      if (size[c] > most[c]) factor = std::min(factor, std::max(most[c], 0.0) / size[c]);
    }
    return factor;
  }

  /// Places all cells in rows, the highest first; false if they do not fit. Heights are whole quanta, so
  /// sorting is counting.
  bool place(double density) {
    const std::size_t count = charts_.size();
    sizes_.resize(count);
    starts_.assign(static_cast<std::size_t>(rows_) + 2, 0);
    for (std::size_t i = 0; i < count; ++i) {
      const Vec2 size = shrinking(i, density) * density * charts_.sizes[i];
      for (int c = 0; c < 2; ++c) {
        // A quantum is as wide as both margins, so that rounding down a hair cannot harm.
        const double quanta = std::ceil((size[c] + 2 * margin_) / quantum_ - 1e-9);
        sizes_[i][static_cast<std::size_t>(c)] =
            static_cast<int>(std::clamp(quanta, 1.0, static_cast<double>(c == 0 ? columns_ : rows_)));
      }
      ++starts_[static_cast<std::size_t>(rows_ - sizes_[i][1]) + 1];
    }
    for (std::size_t h = 1; h < starts_.size(); ++h)
      starts_[h] += starts_[h - 1];
    order_.resize(count);
    for (std::size_t i = 0; i < count; ++i)
      order_[starts_[static_cast<std::size_t>(rows_ - sizes_[i][1])]++] = static_cast<std::uint32_t>(i);
    cells_.resize(count);
    // What does not fit at the end of a row waits for the next one while those after it fill the gap.
    next_.resize(count + 1);
    for (std::size_t i = 0; i <= count; ++i)
      next_[i] = static_cast<std::uint32_t>(i);
    for (int y = 0; next_[0] < count;) {
      const int row = sizes_[order_[next_[0]]][1];
      if (y + row > rows_) return false;
      int x = 0;
      std::size_t before = 0;  // place in next_
      for (int waiting = 0; next_[before] < count && waiting < kMostWaiting;) {
        const std::uint32_t place = next_[before], i = order_[place];
        if (x + sizes_[i][0] > columns_) {
          before = place + 1;
          ++waiting;
          continue;
        }
        cells_[i] = {x * quantum_, y * quantum_, sizes_[i][0] * quantum_, sizes_[i][1] * quantum_};
        x += sizes_[i][0];
        next_[before] = next_[place + 1];
      }
      y += row;
    }
    return true;
  }

  double margin() const { return margin_; }
  std::vector<AtlasCell>& cells() { return cells_; }

 private:
  const AtlasCharts& charts_;
  int quantum_;
  double margin_;
  int columns_, rows_;  // of quanta
  std::vector<std::array<int, 2>> sizes_;
  std::vector<std::size_t> starts_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> next_;  // [n]: the next chart in order from place n on, with 0 for the first
  std::vector<AtlasCell> cells_;
};

/// The largest density that fits; 0 if none does.
double largestDensity(CellRows& rows, const AtlasCharts& charts, double texels, std::size_t& placed) {
  const auto fits = [&](double density) {
    placed += charts.size();
    return rows.place(density);
  };
  const double area = charts.totalArea();
  // Without area there is nothing to draw larger than a point.
  if (!(area > 0)) return fits(1) ? 1 : 0;
  double high = std::sqrt(texels / area), low = high;
  constexpr int kMostHalvings = 40;
  for (int i = 0; !fits(low); ++i) {
    if (i == kMostHalvings) return 0;
    high = low;
    low /= 2;
  }
  while (high > kDensityPrecision * low) {
    const double middle = std::sqrt(low * high);
    (fits(middle) ? low : high) = middle;
  }
  return fits(low) ? low : 0;
}

/// Gives the faces their coordinates: every chart in the middle of its cell.
void lay(const AtlasCharts& charts, CellRows& rows, double density, int gutter, PackedAtlas& atlas) {
  atlas.density = density;
  atlas.gutter = gutter;
  atlas.shrunk_charts = 0;
  double used = 0;
  std::vector<double> scales(charts.size());
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const double shrinking = rows.shrinking(i, density);
    atlas.shrunk_charts += shrinking < 1 ? 1 : 0;
    scales[i] = shrinking * density;
    used += scales[i] * scales[i] * charts.areas[i];
  }
  atlas.area_used = used / (static_cast<double>(atlas.width) * atlas.height);
  atlas.cells = std::move(rows.cells());
  atlas.uvs.resize(charts.corners.size());
  for (std::size_t t = 0; t < charts.corners.size(); ++t) {
    const std::size_t chart = charts.chart_of[t];
    const AtlasCell& cell = atlas.cells[chart];
    // y is up and v is down.
    const Vec2 size = scales[chart] * charts.sizes[chart];
    const Vec2 corner(cell.x + 0.5 * (cell.width - size.x()), cell.y + 0.5 * (cell.height - size.y()));
    for (std::size_t c = 0; c < 3; ++c) {
      const Vec2 p = scales[chart] * charts.corners[t][c];
      const Vec2 texel(corner.x() + p.x(), corner.y() + size.y() - p.y());
      atlas.uvs[t][c] = Vec2(texel.x() / atlas.width, texel.y() / atlas.height).cast<float>();
    }
  }
}

}  // namespace

Result<PackedAtlas> packCharts(const AtlasCharts& charts, const PackOptions& options) {
  PackedAtlas atlas;
  atlas.width = std::clamp(options.width, 1, kMaxImageSide);
  atlas.height = std::clamp(options.height, 1, kMaxImageSide);
  const double texels = static_cast<double>(atlas.width) * atlas.height;
  if (static_cast<double>(charts.size()) > texels) {
    return usageError(fmt::format("{} charts do not fit into {} x {} texels", grouped(charts.size()),
                                  atlas.width, atlas.height));
  }
  // Gutters are halved while charts get next to no room beside them, and left out if nothing else fits.
  for (int gutter = std::max(options.gutter, 0);; gutter /= 2) {
    if (gutter == 0 && atlas.density > 0) break;
    CellRows rows(charts, atlas.width, atlas.height, gutter);
    const double density = rows.hasRoom() ? largestDensity(rows, charts, texels, atlas.rectangles_placed) : 0;
    if (density > kWorthIt * atlas.density) lay(charts, rows, density, gutter, atlas);
    if (gutter == 0 || atlas.area_used >= kEnoughUsed) break;
  }
  if (atlas.density == 0) return failure("charts of one texel do not fit into as many texels");
  return atlas;
}

int leastAtlasSide(const AtlasCharts& charts, int gutter) {
  // Two quanta each way: a chart of some texels between two gutters, and rows that do not fill up.
  const double quantum = gutter > 0 ? 4.0 * gutter : 2.0;
  const double wanted = std::sqrt(static_cast<double>(charts.size())) * quantum;
  int side = 64;
  while (side < wanted && side < kMaxImageSide)
    side *= 2;
  return side;
}

}  // namespace heatskin
