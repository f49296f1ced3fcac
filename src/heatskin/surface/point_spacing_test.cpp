#include "heatskin/surface/point_spacing.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"

namespace heatskin {
namespace {

std::vector<Vec3> randomPoints(std::size_t count) {
  const RandomStream random(5, 1);
  std::vector<Vec3> points(count);
  for (std::size_t i = 0; i < count; ++i)
    points[i] = Vec3(random.uniform(3 * i), random.uniform(3 * i + 1), 0.1 * random.uniform(3 * i + 2));
  return points;
}

TEST(PointSpacing, AgreesWithAllDistances) {
  for (const std::size_t count : {2u, 9u, 17u, 18u, 400u}) {
    const auto points = randomPoints(count);
    const auto spacing = pointSpacing(points, 8);
    const std::size_t known = std::min<std::size_t>(8, count - 1);
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<double> squared;
      for (const Vec3& p : points)
        squared.push_back((p - points[i]).squaredNorm());
      std::sort(squared.begin(), squared.end());
      EXPECT_DOUBLE_EQ(spacing[i], std::sqrt(std::numbers::pi * squared[known] / static_cast<double>(known)));
    }
  }
}

TEST(PointSpacing, IsTheSideOfASquareOnALattice) {
  std::vector<Vec3> points;
  for (int x = 0; x < 41; ++x) {
    for (int y = 0; y < 41; ++y)
      points.emplace_back(0.1 * x, 0.1 * y, 0);
  }
  // The disc to the 80th neighbour of a lattice point holds 81 points on as many squares.
  const auto spacing = pointSpacing(points, 80);
  EXPECT_NEAR(spacing[20 * 41 + 20], 0.1, 0.002);
}

TEST(PointSpacing, FewAndEqualPoints) {
  EXPECT_TRUE(pointSpacing({}, 8).empty());
  const std::vector<Vec3> one(1, Vec3(1, 2, 3)), same(100, Vec3(1, 2, 3));
  EXPECT_EQ(pointSpacing(one, 8), std::vector<double>(1, 0.0));
  EXPECT_EQ(pointSpacing(same, 8), std::vector<double>(100, 0.0));
}

}  // namespace
}  // namespace heatskin
