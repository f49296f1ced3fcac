#include "heatskin/surface/normals.h"

#include <array>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

TEST(Normals, AnglesAreThoseOfTheTriangleAlsoWhereItIsFlat) {
  const Vec3 a(1, 2, 3), b = a + Vec3(2, 0, 0), c = a + Vec3(1, std::sqrt(3.0), 0);
  EXPECT_NEAR(cornerAngle(a, b, c), std::numbers::pi / 3, 1e-15);
  const Vec3 tip = a + Vec3(1, 1e-12, 0);  // a needle: 1e-12 twice, and pi without both
  EXPECT_NEAR(cornerAngle(a, b, tip) / 1e-12, 1, 1e-3);
  EXPECT_NEAR(cornerAngle(tip, a, b), std::numbers::pi, 1e-11);
}

TEST(Normals, SumsDoNotDependOnTheTriangulationOfAFan) {
  // A quarter of a disc in the plane z = 0 and a wall of one triangle; the quarter as one corner and as ten.
  const Vec3 up = Vec3::UnitZ(), side = Vec3::UnitX();
  NormalSum one, ten;
  one.add(up, std::numbers::pi / 2);
  for (int i = 0; i < 10; ++i)
    ten.add(up, std::numbers::pi / 20);
  one.add(side, std::numbers::pi / 2);
  ten.add(side, std::numbers::pi / 2);
  EXPECT_LT((one.unit(up) - ten.unit(up)).norm(), 1e-14);
  EXPECT_LT((one.unit(up) - Vec3(1, 0, 1).normalized()).norm(), 1e-15);
}

TEST(Normals, WhatCancelsIsTold) {
  NormalSum folded;
  EXPECT_TRUE(folded.cancelled());
  const Vec3 n = Vec3(1, 2, 3).normalized();
  folded.add(n, 1);
  EXPECT_FALSE(folded.cancelled());
  folded.add(-n, 1 + 1e-14);
  EXPECT_TRUE(folded.cancelled());
  EXPECT_EQ(folded.unit(Vec3::UnitY()), Vec3(Vec3::UnitY()));
}

TEST(Normals, EveryCornerIsAtItsVertexOnceAndInOrder) {
  const testing::Soup soup = testing::icosphere(2);
  const std::span<const std::uint32_t> corners(soup.faces[0].data(), 3 * soup.faces.size());
  const CornersOfVertices around(soup.positions.size(), corners);
  std::size_t found = 0;
  for (std::size_t v = 0; v < soup.positions.size(); ++v) {
    for (std::size_t i = 0; i < around[v].size(); ++i, ++found) {
      EXPECT_EQ(corners[around[v][i]], v);
      EXPECT_TRUE(i == 0 || around[v][i - 1] < around[v][i]);
    }
  }
  EXPECT_EQ(found, corners.size());
}

}  // namespace
}  // namespace heatskin
