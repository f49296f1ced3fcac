#include "heatskin/demo/portable_math.h"

#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/demo/noise.h"

namespace heatskin {
namespace {

constexpr double kStatedError = 1e-12;

TEST(PortableMath, SineAndCosineKeepTheirStatedError) {
  for (int i = -4000; i <= 4000; ++i) {
    const double x = i * 0.000731;
    EXPECT_NEAR(sinTurns(x), std::sin(kTau * x), kStatedError) << x;
    EXPECT_NEAR(cosTurns(x), std::cos(kTau * x), kStatedError) << x;
  }
  EXPECT_NEAR(sinTurns(999.125), std::sqrt(0.5), kStatedError);
}

TEST(PortableMath, AngleKeepsItsStatedError) {
  for (int i = -499; i <= 499; ++i) {
    const double turns = i * 0.001;
    for (const double length : {1e-6, 1.0, 1e6}) {
      const double x = length * std::cos(kTau * turns), y = length * std::sin(kTau * turns);
      EXPECT_NEAR(angleTurns(y, x), turns, kStatedError) << turns;
    }
  }
  EXPECT_EQ(angleTurns(0, 0), 0);
  EXPECT_EQ(angleTurns(0, 2), 0);
  EXPECT_NEAR(std::abs(angleTurns(0, -2)), 0.5, kStatedError);
  EXPECT_NEAR(angleTurns(3, 0), 0.25, kStatedError);
}

TEST(PortableMath, SmoothStepRisesAndFalls) {
  EXPECT_EQ(smoothStep(1, 3, 0), 0);
  EXPECT_EQ(smoothStep(1, 3, 2), 0.5);
  EXPECT_EQ(smoothStep(1, 3, 4), 1);
  EXPECT_EQ(smoothStep(3, 1, 0), 1);
  EXPECT_EQ(smoothStep(3, 1, 4), 0);
}

TEST(LatticeNoise, IsSmoothBoundedAndZeroOnTheLattice) {
  const LatticeNoise noise(5, 1);
  double low = 0, high = 0;
  for (int i = 0; i < 20000; ++i) {
    const Vec3 p(0.0137 * i, 0.0271 * i - 90, 0.0091 * i);
    const double here = noise.at(p);
    low = std::min(low, here);
    high = std::max(high, here);
    // The gradient of one cell is at most sqrt(2) long, the fading adds at most 15/8 of the difference.
    EXPECT_LT(std::abs(noise.at(p + Vec3(1e-4, 0, 0)) - here), 1e-3);
  }
  EXPECT_LT(low, -0.5);
  EXPECT_GT(high, 0.5);
  EXPECT_GE(low, -1.5);
  EXPECT_LE(high, 1.5);
  for (int i = -5; i < 5; ++i)
    EXPECT_EQ(noise.at(Vec3(i, 2 * i, 7 - i)), 0);
}

TEST(LatticeNoise, RepeatsAfterItsPeriodOnly) {
  const LatticeNoise noise(5, 1);
  double difference = 0;
  for (int i = 0; i < 300; ++i) {
    const double x = 0.731 * i - 100, y = 0.137 * i - 20;
    EXPECT_NEAR(noise.at(x, y, 410), noise.at(x + 410, y, 410), 1e-10);
    difference += std::abs(noise.at(x, y, 410) - noise.at(x + 256, y, 410));
  }
  EXPECT_GT(difference / 300, 0.1);
}

TEST(Dots, CoverTheExpectedShareAndStayInTheirCells) {
  const LatticeNoise noise(9, 2);
  // Radius r in a share of cells: the covered share of the plane is density x mean of pi r^2.
  const double density = 0.4, radius = 0.3;
  int inside = 0;
  constexpr int kSide = 600;
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j) {
      const double x = 120.0 * i / kSide, y = 120.0 * j / kSide;
      if (dotAt(noise, x, y, 1000, density, radius, radius).distance < 1) ++inside;
    }
    // On the border of a cell there is never a dot: it would be cut off.
    EXPECT_GE(dotAt(noise, 5, 0.123 * i, 1000, 1, 0.1, 0.45).distance, 1 - 1e-9);
  }
  const double share = static_cast<double>(inside) / (kSide * kSide);
  // 14,400 cells: the number of dots has a standard deviation of 1 %.
  EXPECT_NEAR(share, density * kTau / 2 * radius * radius, 0.05 * share);
}

}  // namespace
}  // namespace heatskin
