#pragma once

// The smooth pumpkin as a function of two coordinates. Internal to the demo module.
//
// `along` runs from the middle of the bottom over the body, up the stem to the middle of its cut end,
// measured along the middle line in units of the body's radius and restarted at 0 for each part. `around`
// counts the grooves between the ribs: 0..10 once around the axis, whole numbers in the grooves, from left to
// right for somebody in front of the face; the face looks at around = 2.

#include <array>
#include <cstdint>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/demo/noise.h"
#include "heatskin/demo/pumpkin.h"

namespace heatskin {

class PumpkinShape {
 public:
  static constexpr int kRibs = 10;
  /// Height of the stem's ridges in stem radii, away from its base.
  static constexpr double kStemRidge = 0.14;

  explicit PumpkinShape(std::uint64_t seed);

  /// Length of a part along its middle line; the cut end is measured as a share of its radius, 0 at the rim,
  /// 1 in the middle.
  double length(PumpkinPart part) const;

  /// Mean distance from the axis (of the body or of the stem) at `along`.
  double radius(PumpkinPart part, double along) const;

  /// The place, in units of the body's radius. At the border of two parts both formulas agree to rounding.
  Vec3 position(PumpkinPart part, double along, double around) const;

  /// Angle around the axis in turns, 0 at the front, rising to the right; monotone, turn(around + 10) =
  /// turn(around) + 1.
  double turn(double around) const;

  /// The inverse of `turn`.
  double around(double turn) const;

  /// 0 on the crest of a rib, 1 in a groove.
  static double grooveShare(double around);

  /// 1 on the ridges of the stem, -1 between them.
  static double stemRidge(double around);

 private:
  struct StemFrame {
    Vec3 center, x, z, tangent;
  };

  Vec3 bodyPosition(double along, double around) const;
  StemFrame stemFrame(double along) const;
  double stemRadius(double along) const;
  Vec3 stemPosition(double along, double around, double radius_share) const;

  LatticeNoise lumps_;
  std::array<double, kRibs> groove_turn_;   ///< angle of each groove
  std::array<double, kRibs> groove_depth_;  ///< relative depth, about 1
  std::array<double, kRibs> rib_bulge_;     ///< how far each rib stands out, in radii
  std::vector<Vec2> profile_;               ///< (distance from axis, height) at equal steps of `along`
  double body_length_ = 0;
  std::vector<StemFrame> stem_;  ///< at equal steps of `along`
};

}  // namespace heatskin
