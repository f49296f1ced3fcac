#include "heatskin/demo/pumpkin_atlas.h"

#include <algorithm>
#include <cmath>

#include "heatskin/demo/portable_math.h"

namespace heatskin {
namespace {

/// Texels per length relative to the back of the body.
constexpr double kFrontDensity = 1.22;
constexpr double kStemDensity = 3.3;
constexpr double kDiscDensity = 5.4;

/// Free border of every cell, as a share of the texture: 3 texels at the smallest size of 256.
constexpr double kPadding = 0.012;

/// How far the paint continues outside of a chart, as a share of the texture.
constexpr double kGutter = 0.010;

/// Nothing of the cut end's outline lies further from its centre than this many mean radii (ridges).
constexpr double kDiscReach = 1 + PumpkinShape::kStemRidge;

/// The strip of the stem is unrolled at this radius, between its thin middle and its flared base.
constexpr double kStripRadius = 0.072;

constexpr double density(std::size_t chart) {
  constexpr std::array<double, PumpkinAtlas::kCharts> kDensity = {kFrontDensity, 1, 1, kStemDensity,
                                                                  kDiscDensity};
  return kDensity[chart];
}

}  // namespace

PumpkinAtlas::PumpkinAtlas(const PumpkinShape& shape) : shape_(shape) {
  // Bounds of each chart in radii of the body, at density 1.
  std::array<Vec2, kCharts> low, high;
  constexpr int kSteps = 256;
  for (std::size_t chart = 0; chart < kCharts; ++chart) {
    low[chart].setConstant(1e9);
    high[chart].setConstant(-1e9);
    const auto [first, last] = ribs(chart);
    for (int i = 0; i <= kSteps; ++i) {
      const double along = shape.length(part(chart)) * i / kSteps;
      for (const int around : {first, last}) {
        const Vec2 p = chartPoint(chart, along, around);
        low[chart] = low[chart].cwiseMin(p);
        high[chart] = high[chart].cwiseMax(p);
      }
    }
    if (chart == kStemDisc) {
      const double reach = kDiscReach * shape.radius(PumpkinPart::kStem, shape.length(PumpkinPart::kStem));
      low[chart].setConstant(-reach);
      high[chart].setConstant(reach);
    }
  }
  const auto size = [&](std::size_t chart) { return Vec2((high[chart] - low[chart]) * density(chart)); };

  // Above: the front gore, beside it the strip over the disc. Below: the other gores, lying.
  const double side_width = std::max(size(kStemStrip).x(), size(kStemDisc).x());
  const double upper = std::max(size(kFront).y(), size(kStemStrip).y() + size(kStemDisc).y());
  const double lower = std::max(size(kRight).x(), size(kLeft).x());
  const double width = std::max(size(kFront).x() + side_width, size(kRight).y() + size(kLeft).y());
  const double scale = std::min((1 - 4 * kPadding) / width, (1 - 4 * kPadding) / (upper + lower));
  const double split_y = upper * scale + 2 * kPadding;
  const double split_x = size(kFront).x() * scale + 2 * kPadding +
                         0.5 * (1 - 4 * kPadding - (size(kFront).x() + side_width) * scale);
  const double split_lower = size(kRight).y() * scale + 2 * kPadding +
                             0.5 * (1 - 4 * kPadding - (size(kRight).y() + size(kLeft).y()) * scale);
  const double split_side =
      size(kStemStrip).y() * scale + 2 * kPadding +
      0.5 * (split_y - 4 * kPadding - (size(kStemStrip).y() + size(kStemDisc).y()) * scale);

  const auto set = [&](std::size_t chart, const Vec2& cell_low, const Vec2& cell_high, bool turned) {
    Cell& cell = cells_[chart];
    cell.low = cell_low;
    cell.high = cell_high;
    cell.turned = turned;
    cell.scale = scale * density(chart);
    cell.origin = Vec2::Zero();
    const Vec2 middle = uvFromChart(cell, 0.5 * (low[chart] + high[chart]));
    cell.origin = 0.5 * (cell_low + cell_high) - middle;
  };
  set(kFront, {0, 0}, {split_x, split_y}, false);
  set(kStemStrip, {split_x, 0}, {1, split_side}, false);
  set(kStemDisc, {split_x, split_side}, {1, split_y}, false);
  set(kRight, {0, split_y}, {split_lower, 1}, true);
  set(kLeft, {split_lower, split_y}, {1, 1}, true);
}

std::array<int, 2> PumpkinAtlas::ribs(std::size_t chart) {
  switch (chart) {
    case kFront:
      return {0, 4};
    case kRight:
      return {4, 7};
    case kLeft:
      return {7, 10};
    default:
      break;
  }
  // The seam of the stem looks to the back.
  return {7, 17};
}

PumpkinPart PumpkinAtlas::part(std::size_t chart) {
  if (chart == kStemStrip) return PumpkinPart::kStem;
  return chart == kStemDisc ? PumpkinPart::kStemEnd : PumpkinPart::kBody;
}

Vec2 PumpkinAtlas::chartPoint(std::size_t chart, double along, double around) const {
  const auto [first, last] = ribs(chart);
  const double turn = shape_.turn(around);
  if (chart == kStemDisc) {
    const double r = shape_.radius(PumpkinPart::kStemEnd, along) *
                     (1 + PumpkinShape::kStemRidge * PumpkinShape::stemRidge(around));
    // Mirrored against the strip, because here `along` runs inwards.
    return {r * sinTurns(turn), -r * cosTurns(turn)};
  }
  const double middle = 0.5 * (shape_.turn(first) + shape_.turn(last));
  const double radius = chart == kStemStrip ? kStripRadius : shape_.radius(PumpkinPart::kBody, along);
  return {kTau * radius * (turn - middle), along};
}

Vec2 PumpkinAtlas::uvFromChart(const Cell& cell, const Vec2& p) const {
  const Vec2 q = cell.scale * p;
  // v points down; the turned charts lie on their right side.
  return cell.origin + (cell.turned ? Vec2(q.y(), q.x()) : Vec2(q.x(), -q.y()));
}

Vec2 PumpkinAtlas::chartFromUv(const Cell& cell, const Vec2& uv) const {
  const Vec2 q = (uv - cell.origin) / cell.scale;
  return cell.turned ? Vec2(q.y(), q.x()) : Vec2(q.x(), -q.y());
}

Vec2 PumpkinAtlas::uv(std::size_t chart, double along, double around) const {
  return uvFromChart(cells_[chart], chartPoint(chart, along, around));
}

std::size_t PumpkinAtlas::chartAt(const Vec2& uv) const {
  for (std::size_t chart = 0; chart < kCharts; ++chart) {
    const Cell& cell = cells_[chart];
    if (uv.x() < cell.high.x() && uv.y() < cell.high.y() && uv.x() >= cell.low.x() &&
        uv.y() >= cell.low.y()) {
      return chart;
    }
  }
  return kFront;
}

PumpkinPlace PumpkinAtlas::place(std::size_t chart, const Vec2& uv) const {
  const Cell& cell = cells_[chart];
  const Vec2 p = chartFromUv(cell, uv);
  PumpkinPlace place;
  place.part = part(chart);
  const auto [first, last] = ribs(chart);
  const double gutter = kGutter / cell.scale;
  if (chart == kStemDisc) {
    // chartPoint puts (sin, -cos) of the turn there.
    place.around = shape_.around(angleTurns(p.x(), -p.y()));
    const double rim = shape_.radius(PumpkinPart::kStemEnd, 0) *
                       (1 + PumpkinShape::kStemRidge * PumpkinShape::stemRidge(place.around));
    place.near = p.norm() < rim + gutter;
    place.along = std::max(1 - p.norm() / rim, 0.0);
    return place;
  }
  const double length = shape_.length(place.part);
  place.along = std::clamp(p.y(), 0.0, length);
  // At the very tip of a gore the radius is zero and any direction will do.
  constexpr double kTipRadius = 1e-3;
  const double radius = chart == kStemStrip
                            ? kStripRadius
                            : std::max(shape_.radius(PumpkinPart::kBody, place.along), kTipRadius);
  const double left = shape_.turn(first), right = shape_.turn(last);
  const double turn = p.x() / (kTau * radius) + 0.5 * (left + right);
  // Not further over the seam than half a rib: next to the tips that is far around.
  const double beyond = std::min(gutter / (kTau * radius), 0.5 / PumpkinShape::kRibs);
  const double clamped = std::clamp(turn, left - beyond, right + beyond);
  place.near = std::abs(p.y() - place.along) < gutter && std::abs(turn - clamped) * kTau * radius < gutter;
  place.around = shape_.around(clamped);
  return place;
}

}  // namespace heatskin
