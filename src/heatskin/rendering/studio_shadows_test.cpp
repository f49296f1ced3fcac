#include "heatskin/rendering/studio_shadows.h"

#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/surface/surface.h"

namespace heatskin {
namespace {

constexpr double kRadius = 1, kHeight = 0.8;

/// A small plate at the origin, facing +y, and above it, if asked for, a disc that faces it.
Surface plateBelowDisc(bool disc) {
  TriangleSoup soup;
  soup.positions = {{-0.2, 0, -0.2}, {-0.2, 0, 0.2}, {0.2, 0, 0.2}, {0.2, 0, -0.2}};
  soup.triangles = {{0, 1, 2}, {0, 2, 3}};
  if (disc) {
    constexpr std::uint32_t kCorners = 128;
    soup.positions.emplace_back(0, kHeight, 0);
    for (std::uint32_t i = 0; i < kCorners; ++i) {
      const double turn = 2 * std::numbers::pi * i / kCorners;
      soup.positions.emplace_back(kRadius * std::cos(turn), kHeight, kRadius * std::sin(turn));
      soup.triangles.push_back({4, 5 + i, 5 + (i + 1) % kCorners});
    }
  }
  SurfaceOptions options;
  options.normalise = false;
  auto surface = Surface::build(soup, options);
  EXPECT_TRUE(surface) << surface.error().message;
  return std::move(*surface);
}

/// A dome and two lamps: one straight above, one that shines in below the disc.
Environment twoLamps() {
  Environment environment;
  environment.up = Vec3(0, 1, 0);
  environment.zenith = environment.horizon = environment.nadir = Vec3f::Ones();
  environment.softboxes.push_back({Vec3(0, 1, 0), 0.2, Vec3f::Ones()});
  environment.softboxes.push_back({Vec3(1, 0.3, 0).normalized(), 0.1, Vec3f::Ones()});
  return environment;
}

TEST(StudioShadows, ADiscAboveAPointHidesItsFormFactor) {
  StudioShadowOptions options;
  options.dome_directions = 2000;
  options.map_size = 256;
  const Vec3 up(0, 1, 0), x = Vec3::Zero();
  const StudioShadows open(plateBelowDisc(false), twoLamps(), options);
  const SeenLight all = open.at({}, x, up, up);
  EXPECT_EQ(all.around, 1) << "nothing is lost without anything in the way";
  EXPECT_EQ(all.lamps[0], 1);
  EXPECT_EQ(all.lamps[1], 1);

  const StudioShadows shadows(plateBelowDisc(true), twoLamps(), options);
  const SeenLight seen = shadows.at({}, x, up, up);
  // Of the cosine-weighted hemisphere a parallel disc takes r^2 / (r^2 + h^2).
  const double hidden = kRadius * kRadius / (kRadius * kRadius + kHeight * kHeight);
  EXPECT_NEAR(seen.around, 1 - hidden, 0.02);
  EXPECT_EQ(seen.lamps[0], 0);
  EXPECT_EQ(seen.lamps[1], 1);

  // Passes share the directions out.
  double around = 0;
  constexpr int kPasses = 9;
  for (int pass = 0; pass < kPasses; ++pass)
    around += static_cast<double>(shadows.at({pass, kPasses}, x, up, up).around) / kPasses;
  EXPECT_NEAR(around, static_cast<double>(seen.around), 0.02);
}

TEST(StudioShadows, TiltedNormalsCastNoShadowsOnTheirOwnFace) {
  // A normal map tilts the normal towards a lamp that is below the horizon of the face.
  Environment environment = twoLamps();
  environment.softboxes[1].direction = Vec3(1, -0.2, 0).normalized();
  const StudioShadows shadows(plateBelowDisc(false), environment, {});
  const SeenLight seen = shadows.at({}, Vec3::Zero(), Vec3(1, 1, 0).normalized(), Vec3(0, 1, 0));
  EXPECT_EQ(seen.around, 1);
  EXPECT_EQ(seen.lamps[1], 1);
}

TEST(StudioShadows, TheFloorIsDarkBelowTheObjectAndOpenBesideIt) {
  StudioShadowOptions options;
  options.dome_directions = 500;
  const StudioShadows shadows(plateBelowDisc(true), twoLamps(), options);
  const Vec3 eye(0, 0.5, 0);
  const double below = shadows.onFloor({}, eye, Vec3(0.3, -0.5, 0).normalized());
  const double beside = shadows.onFloor({}, eye, Vec3(1.4, -0.5, 0).normalized());
  EXPECT_LT(below, 0.6);
  EXPECT_GT(beside, below + 0.2);
  EXPECT_EQ(shadows.onFloor({}, eye, Vec3(9, -0.5, 0).normalized()), 1) << "it has faded away";
  EXPECT_EQ(shadows.onFloor({}, eye, Vec3(0, 1, 0)), 1) << "no floor there";
  options.floor = false;
  EXPECT_EQ(StudioShadows(plateBelowDisc(true), twoLamps(), options).onFloor({}, eye, Vec3(0, -1, 0)), 1);
}

}  // namespace
}  // namespace heatskin
