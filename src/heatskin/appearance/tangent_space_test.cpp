#include "heatskin/appearance/tangent_space.h"

#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "support/tangent_corners.h"

namespace heatskin {
namespace {

using testing::gridOf;
using Corners = testing::TangentCorners;
using Point = testing::TangentPoint;

void expectTangent(const Vec4f& found, const Vec3& tangent, float w, const char* what) {
  EXPECT_LT((found.head<3>().cast<double>() - tangent).norm(), 1e-6) << what << ": " << found.transpose();
  EXPECT_EQ(found.w(), w) << what;
}

TEST(TangentSpace, OnAPlaneTangentsFollowUHoweverTheTextureLies) {
  // u along `turn`, v across; v down in the image means that w = 1 where u, v and the normal are left-handed.
  for (const double turn : {0.0, 0.3, 2.0, -1.2}) {
    for (const double sense : {1.0, -1.0}) {
      const Vec3 u_axis(std::cos(turn), std::sin(turn), 0), v_axis = sense * Vec3(0, 0, 1).cross(u_axis);
      const Corners corners = gridOf(3, 2, [&](double x, double y) {
        const Vec3 p(2 * x, y, 0);
        return Point(p, Vec3(0, 0, 1), Vec2(3 * p.dot(u_axis) + 0.2, 0.5 * p.dot(v_axis)));
      });
      for (const Vec4f& tangent : corners.tangents())
        expectTangent(tangent, u_axis, sense > 0 ? -1.0f : 1.0f, "plane");
    }
  }
}

TEST(TangentSpace, MirroredHalvesHaveTangentsOfTheirOwn) {
  // The left half shows the texture's mirror image: u = |x|, v down = -y.
  const Corners corners = gridOf(4, 2, [&](double x, double y) {
    const Vec3 p(2 * x - 1, y, 0);
    return Point(p, Vec3(0, 0, 1), Vec2(std::abs(p.x()), 1 - p.y()));
  });
  const std::vector<Vec4f> tangents = corners.tangents();
  for (std::size_t t = 0; t < tangents.size() / 3; ++t) {
    const double center =
        (corners.positions[3 * t].x() + corners.positions[3 * t + 1].x() + corners.positions[3 * t + 2].x()) /
        3;
    for (std::size_t c = 3 * t; c < 3 * t + 3; ++c)
      expectTangent(tangents[c], Vec3(center < 0 ? -1 : 1, 0, 0), center < 0 ? -1.0f : 1.0f, "half");
  }
}

TEST(TangentSpace, OnACylinderTangentsGoAround) {
  constexpr int kAround = 24;
  const Corners corners = gridOf(kAround, 3, [&](double x, double y) {
    const double turn = 2 * std::numbers::pi * x;
    const Vec3 normal(std::cos(turn), 0, -std::sin(turn));
    return Point(normal + Vec3(0, y, 0), normal, Vec2(x, 1 - y));
  });
  const std::vector<Vec4f> tangents = corners.tangents();
  int inside = 0;
  for (std::size_t c = 0; c < tangents.size(); ++c) {
    const float u = corners.uvs[c].x(), v = corners.uvs[c].y();
    EXPECT_EQ(tangents[c].w(), 1.0f);
    EXPECT_NEAR(tangents[c].head<3>().dot(corners.normals[c]), 0, 1e-6f);
    // Where the same faces lie on both sides, their directions of u balance; at the rims of the chart,
    // the seam among them, they need not.
    if (u <= 0 || u >= 1 || v <= 0 || v >= 1) continue;
    const double turn = 2 * std::numbers::pi * static_cast<double>(u);
    const Vec3 around(-std::sin(turn), 0, -std::cos(turn));
    EXPECT_GT(tangents[c].head<3>().cast<double>().dot(around), 0.99999);
    ++inside;
  }
  EXPECT_GT(inside, 100);
}

TEST(TangentSpace, FacesWithoutAreaInTheTextureTakeTheirNeighboursTangents) {
  Corners corners;
  const Vec3 z(0, 0, 1);
  // A good triangle, then one across its diagonal whose corners have texture coordinates on a line.
  corners.add({0, 0, 0}, z, {0, 1}), corners.add({1, 0, 0}, z, {1, 1}), corners.add({1, 1, 0}, z, {1, 0});
  corners.add({0, 0, 0}, z, {0, 1}), corners.add({1, 1, 0}, z, {1, 0}), corners.add({0, 1, 0}, z, {0.5, 0.5});
  // One alone, with the same coordinates everywhere, and one with two corners at one place.
  corners.add({5, 0, 0}, z, {0.5, 0.5}), corners.add({6, 0, 0}, z, {0.5, 0.5}),
      corners.add({5, 1, 0}, z, {0.5, 0.5});
  corners.add({0, 0, 0}, z, {0, 1}), corners.add({0, 0, 0}, z, {0, 1}), corners.add({1, 0, 0}, z, {1, 1});
  const std::vector<Vec4f> tangents = corners.tangents();
  for (const std::size_t c : {0, 1, 2, 3, 4, 9, 10, 11})
    expectTangent(tangents[c], Vec3(1, 0, 0), 1, "shared");
  for (const Vec4f& tangent : tangents) {
    EXPECT_NEAR(tangent.head<3>().norm(), 1, 1e-6f);
    EXPECT_NEAR(tangent.z(), 0, 1e-6f);
    EXPECT_EQ(std::abs(tangent.w()), 1.0f);
  }
}

TEST(TangentSpace, ManyTrianglesAroundOneVertexTakeNoSquareOfTime) {
  constexpr int kFan = 200000;
  Corners corners;
  const Vec3 z(0, 0, 1);
  for (int i = 0; i < kFan; ++i) {
    corners.add({0, 0, 0}, z, {0, 0});
    for (const int k : {i, i + 1}) {
      const double turn = 2 * std::numbers::pi * k / kFan;
      corners.add({std::cos(turn), std::sin(turn), 0}, z, {std::cos(turn), -std::sin(turn)});
    }
  }
  const std::vector<Vec4f> tangents = corners.tangents();
  expectTangent(tangents[0], Vec3(1, 0, 0), 1, "centre");
}

}  // namespace
}  // namespace heatskin
