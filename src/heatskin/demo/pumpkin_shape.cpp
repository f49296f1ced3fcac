#include "heatskin/demo/pumpkin_shape.h"

#include <cmath>
#include <cstddef>

#include "heatskin/base/rng.h"
#include "heatskin/demo/portable_math.h"

namespace heatskin {
namespace {

// All lengths in radii of the body.
constexpr double kHalfHeight = 0.80;
constexpr double kTopDimpleDepth = 0.34, kTopDimpleWidth = 0.62;
constexpr double kBottomDimpleDepth = 0.20, kBottomDimpleWidth = 0.60;
constexpr double kGrooveDepth = 0.108;
constexpr double kLumpHeight = 0.022;
constexpr double kCoreRadius = 0.42;

// Widest at the attachment: 2 x 0.098 x 1.18 = 0.23, a ninth of the body.
constexpr double kAttachRadius = 0.098;
constexpr double kStemRadius = 0.062;
constexpr double kStemEndRadius = 0.072;
constexpr double kStemLength = 0.72;
constexpr double kStemRidgeAtBase = 0.18;
constexpr double kStemBendTurns = 0.215;    ///< direction at the cut end, measured from the vertical
constexpr double kStemHeadingTurns = 0.17;  ///< it leans to the right and to the front
constexpr double kStemSwerveTurns = 0.10;   ///< change of heading on the way: the curve is not plane
constexpr double kStemTwistTurns = 0.16;    ///< how far the ridges wind around it
constexpr double kCutDepth = 0.014;         ///< the cut end is hollow: a rim stands

constexpr std::size_t kProfileSteps = 8192;  ///< linear interpolation is then exact to 1e-8 radii
constexpr std::size_t kStemSteps = 2048;

constexpr std::uint64_t kLumpStream = 0x70756d01, kRibStream = 0x70756d02;

/// The middle line of the body at latitude `turns` (-1/4 bottom, 1/4 top).
Vec2 profilePoint(double turns) {
  const double c = cosTurns(turns), s = sinTurns(turns);
  // Fuller than an ellipse at the shoulders.
  const double rho = c * (1 + 0.16 * s * s);
  double y = kHalfHeight * s;
  const auto dimple = [&](double depth, double width) {
    const double q = std::min(rho / width, 1.0);
    return depth * (1 - q * q) * (1 - q * q);
  };
  y += s > 0 ? -dimple(kTopDimpleDepth, kTopDimpleWidth) : dimple(kBottomDimpleDepth, kBottomDimpleWidth);
  return {rho, y};
}

template <class T>
T interpolate(const std::vector<T>& samples, double share) {
  const double x = clamp01(share) * static_cast<double>(samples.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(x), samples.size() - 2);
  const double t = x - static_cast<double>(i);
  return samples[i] * (1 - t) + samples[i + 1] * t;
}

int ribIndex(double around) {
  return static_cast<int>(std::floor(around));
}

std::size_t wrapRib(int rib) {
  const int r = rib % PumpkinShape::kRibs;
  return static_cast<std::size_t>(r < 0 ? r + PumpkinShape::kRibs : r);
}

}  // namespace

PumpkinShape::PumpkinShape(std::uint64_t seed)
    : lumps_(seed, kLumpStream), groove_turn_{}, groove_depth_{}, rib_bulge_{} {
  const RandomStream random(seed, kRibStream);
  for (std::size_t i = 0; i < kRibs; ++i) {
    const auto [a, b] = random.uniform2(2 * i);
    const double width = random.uniform(2 * i + 1);
    groove_turn_[i] = (static_cast<double>(i) - 2) / kRibs + 0.013 * (2 * width - 1);
    groove_depth_[i] = mix(0.82, 1.18, a);
    rib_bulge_[i] = mix(-0.022, 0.03, b);
  }

  // The latitude where the body reaches the attachment, by bisection: the radius falls towards the top.
  double low = 0, high = 0.25;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (profilePoint(middle).x() > kAttachRadius ? low : high) = middle;
  }
  const double top = low;
  const auto latitude = [&](std::size_t i) {
    return mix(-0.25, top, static_cast<double>(i) / static_cast<double>(kProfileSteps));
  };
  std::vector<Vec2> fine(kProfileSteps + 1);
  std::vector<double> arc(kProfileSteps + 1, 0.0);
  for (std::size_t i = 0; i <= kProfileSteps; ++i) {
    fine[i] = profilePoint(latitude(i));
    if (i > 0) arc[i] = arc[i - 1] + (fine[i] - fine[i - 1]).norm();
  }
  fine[0].x() = 0;
  fine[kProfileSteps].x() = kAttachRadius;
  body_length_ = arc.back();
  profile_.resize(kProfileSteps + 1);
  std::size_t j = 0;
  for (std::size_t i = 0; i <= kProfileSteps; ++i) {
    const double target = body_length_ * static_cast<double>(i) / static_cast<double>(kProfileSteps);
    while (j + 2 < arc.size() && arc[j + 1] < target)
      ++j;
    const double t = clamp01((target - arc[j]) / (arc[j + 1] - arc[j]));
    profile_[i] = fine[j] * (1 - t) + fine[j + 1] * t;
  }

  stem_.resize(kStemSteps + 1);
  Vec3 center(0, profile_.back().y(), 0);
  Vec3 x(1, 0, 0);
  for (std::size_t i = 0; i <= kStemSteps; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(kStemSteps);
    // Upright at first, then over in a quick bend that runs out straight.
    const double bend = kStemBendTurns * smoothStep(0.02, 0.95, share);
    const double heading = kStemHeadingTurns + kStemSwerveTurns * share;
    const Vec3 tangent(sinTurns(bend) * sinTurns(heading), cosTurns(bend),
                       sinTurns(bend) * cosTurns(heading));
    // Projection keeps the frame from turning about the tangent: parallel transport in the limit of small
    // steps.
    x = (x - x.dot(tangent) * tangent).normalized();
    const Vec3 z = x.cross(tangent);
    stem_[i] = {center, x, z, tangent};
    center += tangent * (kStemLength / static_cast<double>(kStemSteps));
  }
}

double PumpkinShape::length(PumpkinPart part) const {
  switch (part) {
    case PumpkinPart::kBody:
      return body_length_;
    case PumpkinPart::kStem:
      return kStemLength;
    case PumpkinPart::kStemEnd:
      break;
  }
  return 1;
}

double PumpkinShape::radius(PumpkinPart part, double along) const {
  switch (part) {
    case PumpkinPart::kBody:
      return interpolate(profile_, along / body_length_).x();
    case PumpkinPart::kStem:
      return stemRadius(along);
    case PumpkinPart::kStemEnd:
      break;
  }
  return kStemEndRadius * (1 - along);
}

Vec3 PumpkinShape::position(PumpkinPart part, double along, double around) const {
  switch (part) {
    case PumpkinPart::kBody:
      return bodyPosition(along, around);
    case PumpkinPart::kStem:
      return stemPosition(along, around, 1);
    case PumpkinPart::kStemEnd:
      break;
  }
  const double share = 1 - along;
  const Vec3 inward = stemFrame(kStemLength).tangent * (-kCutDepth * (1 - share * share));
  return stemPosition(kStemLength, around, share) + inward;
}

double PumpkinShape::turn(double around) const {
  const int rib = ribIndex(around);
  const double lap = std::floor(static_cast<double>(rib) / kRibs);
  const std::size_t here = wrapRib(rib), next = wrapRib(rib + 1);
  const double a = groove_turn_[here], b = groove_turn_[next] + (next == 0 ? 1 : 0);
  return lap + mix(a, b, around - rib);
}

double PumpkinShape::around(double turn) const {
  const double lap = std::floor(turn - groove_turn_[0]);
  const double t = turn - lap;
  for (std::size_t i = kRibs; i-- > 0;) {
    if (t < groove_turn_[i] && i > 0) continue;
    const double b = i + 1 < kRibs ? groove_turn_[i + 1] : groove_turn_[0] + 1;
    return lap * kRibs + static_cast<double>(i) + (t - groove_turn_[i]) / (b - groove_turn_[i]);
  }
  return 0;
}

double PumpkinShape::grooveShare(double around) {
  const double t = 2 * (around - std::floor(around)) - 1;
  const double q = t * t;
  return q * (0.42 + 0.58 * q);
}

double PumpkinShape::stemRidge(double around) {
  return cosTurns(0.5 * around);
}

Vec3 PumpkinShape::bodyPosition(double along, double around) const {
  const double share = along / body_length_;
  const Vec2 middle = interpolate(profile_, share);
  // Away from a ring inside the body. The normal would be the obvious choice, but the shoulders are rounder
  // than the grooves are deep, and displaced normals would cross.
  const Vec2 outwards = (middle - Vec2(kCoreRadius, 0)).normalized();

  const double rho = middle.x();
  const double angle = turn(around);
  const Vec3 outward(sinTurns(angle), 0, cosTurns(angle));
  const Vec3 up(0, 1, 0);

  const int rib = ribIndex(around);
  const double t = around - rib;
  const double depth = mix(groove_depth_[wrapRib(rib)], groove_depth_[wrapRib(rib + 1)], t);
  const double crest = 16 * t * t * (1 - t) * (1 - t);
  // Ribs run out at both ends: no cusp in the middle of the bottom, a round ring at the stem.
  const double wide = std::min(rho / 0.7, 1.0);
  const bool upper = share > 0.5;
  const double ends = upper ? smoothStep(kAttachRadius, 0.36, rho) : 1.0;
  const double amplitude = wide * (2 - wide) * ends;
  const double lump = lumps_.fractal(1.7 * (rho * outward + middle.y() * up), 2);
  const double height = amplitude * (rib_bulge_[wrapRib(rib)] * crest + kLumpHeight * lump -
                                     kGrooveDepth * depth * grooveShare(around));
  // Close to the stem the surface takes up its ridges, so that both meet in one ring.
  const double ridge =
      upper ? 1 + kStemRidgeAtBase * stemRidge(around) * smoothStep(0.24, kAttachRadius, rho) : 1;
  const Vec2 placed = middle + height * outwards;
  return placed.x() * ridge * outward + placed.y() * up;
}

PumpkinShape::StemFrame PumpkinShape::stemFrame(double along) const {
  const double x = clamp01(along / kStemLength) * static_cast<double>(kStemSteps);
  const auto i = std::min(static_cast<std::size_t>(x), kStemSteps - 1);
  const double t = x - static_cast<double>(i);
  const auto& a = stem_[i];
  const auto& b = stem_[i + 1];
  return {mix(a.center, b.center, t), mix(a.x, b.x, t), mix(a.z, b.z, t), mix(a.tangent, b.tangent, t)};
}

double PumpkinShape::stemRadius(double along) const {
  const double share = along / kStemLength;
  const double flare = std::max(1 - share / 0.34, 0.0);
  return kStemRadius + (kAttachRadius - kStemRadius) * flare * flare * (0.4 + 0.6 * flare) +
         (kStemEndRadius - kStemRadius) * smoothStep(0.62, 1, share);
}

Vec3 PumpkinShape::stemPosition(double along, double around, double radius_share) const {
  const StemFrame frame = stemFrame(along);
  const double share = along / kStemLength;
  const double ridge = mix(kStemRidge, kStemRidgeAtBase, smoothStep(0.3, 0, share));
  const double r = radius_share * stemRadius(along) * (1 + ridge * stemRidge(around));
  const double angle = turn(around) + kStemTwistTurns * share;
  return frame.center + r * (sinTurns(angle) * frame.x + cosTurns(angle) * frame.z);
}

}  // namespace heatskin
