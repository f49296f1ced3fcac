#include "heatskin/io/triangulate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"

namespace heatskin {
namespace {

using Triangles = std::vector<std::uint32_t>;

std::vector<Vec3> lift(const std::vector<Vec2>& outline, const Mat3& rotation = Mat3::Identity(),
                       const Vec3& shift = Vec3::Zero()) {
  std::vector<Vec3> polygon;
  for (const Vec2& p : outline)
    polygon.push_back(rotation * Vec3(p.x(), p.y(), 0) + shift);
  return polygon;
}

/// "" when the triangles tile the plane outline: right number, every one counter-clockwise or without area,
/// every border edge once and every inner edge twice in opposite directions. For a simple outline that
/// implies that none leaves it and none overlaps another (a locally injective map of a disc with a simple
/// border).
std::string whyNotATiling(const std::vector<Vec2>& outline, const Triangles& triangles,
                          bool allow_flat = false) {
  const std::size_t n = outline.size();
  if (triangles.size() != 3 * (n - 2)) return "wrong number of triangles";
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> edges;
  for (std::size_t t = 0; t < triangles.size(); t += 3) {
    const std::array<std::uint32_t, 3> c = {triangles[t], triangles[t + 1], triangles[t + 2]};
    for (const std::uint32_t corner : c) {
      if (corner >= n) return "corner out of range";
    }
    const int sign = orientation(outline[c[0]], outline[c[1]], outline[c[2]]);
    if (sign < 0 || (sign == 0 && !allow_flat)) return "a triangle is turned over or flat";
    for (std::size_t e = 0; e < 3; ++e)
      ++edges[{c[e], c[(e + 1) % 3]}];
  }
  for (const auto& [edge, count] : edges) {
    if (count != 1) return "an edge is used twice in the same direction";
    const bool border = (edge.first + 1) % n == edge.second;
    if (!border && !edges.contains({edge.second, edge.first})) return "an inner edge has one side only";
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    if (!edges.contains({i, static_cast<std::uint32_t>((i + 1) % n)})) return "a border edge is missing";
  }
  return "";
}

std::vector<Vec2> star(int points, double inner, double outer) {
  std::vector<Vec2> outline;
  for (int i = 0; i < 2 * points; ++i) {
    const double angle = std::numbers::pi * i / points;
    const double r = i % 2 == 0 ? outer : inner;
    outline.push_back({r * std::cos(angle), r * std::sin(angle)});
  }
  return outline;
}

TEST(Orientation, IsExactWherePlainDoubleIsNot) {
  // Points on the line y = x, far from the origin, one of them moved by one unit in the last place.
  const Vec2 a(0.5, 0.5), b(12, 12), c(24, 24);
  EXPECT_EQ(orientation(a, b, c), 0);
  const Vec2 up(0.5, std::nextafter(0.5, 1.0)), down(0.5, std::nextafter(0.5, 0.0));
  EXPECT_EQ(orientation(up, b, c), -orientation(down, b, c));
  EXPECT_NE(orientation(up, b, c), 0);
  EXPECT_EQ(orientation(b, c, up), orientation(up, b, c));
  EXPECT_EQ(orientation(c, b, up), -orientation(up, b, c));
  EXPECT_EQ(orientation({0, 0}, {1, 0}, {0, 1}), 1);
}

TEST(Triangulate, ConvexPolygonsBecomeAFanFromCornerZero) {
  std::vector<Vec2> outline;
  for (int i = 0; i < 7; ++i)
    outline.push_back({std::cos(0.9 * i), std::sin(0.9 * i)});
  Triangulator triangulator;
  Triangles triangles;
  EXPECT_EQ(triangulator.append(lift(outline), triangles), TriangulationKind::kFan);
  ASSERT_EQ(triangles.size(), 15u);
  for (std::uint32_t t = 0; t < 5; ++t) {
    EXPECT_EQ(triangles[3 * t], 0u);
    EXPECT_EQ(triangles[3 * t + 1], t + 1);
    EXPECT_EQ(triangles[3 * t + 2], t + 2);
  }
}

TEST(Triangulate, AConcavePentagonKeepsItsArea) {
  // A square with a notch; the outline has area 2.5, its convex hull 4.
  const std::vector<Vec2> outline = {{0, 0}, {2, 0}, {2, 2}, {1, 0.5}, {0, 2}};
  Triangulator triangulator;
  Triangles triangles;
  EXPECT_EQ(triangulator.append(lift(outline), triangles), TriangulationKind::kEars);
  EXPECT_EQ(whyNotATiling(outline, triangles), "");
  double area = 0;
  for (std::size_t t = 0; t < triangles.size(); t += 3) {
    const Vec2& a = outline[triangles[t]];
    area += 0.5 * std::abs(cross2(outline[triangles[t + 1]] - a, outline[triangles[t + 2]] - a));
  }
  EXPECT_DOUBLE_EQ(area, 2.5);
}

TEST(Triangulate, TheTilingCheckReportsAFanOverAConcaveOutline) {
  const std::vector<Vec2> outline = {{0, 0}, {2, 0}, {2, 2}, {1, 0.5}, {0, 2}};
  EXPECT_EQ(whyNotATiling(outline, {3, 4, 0, 3, 0, 1, 3, 1, 2}), "");
  EXPECT_NE(whyNotATiling(outline, {0, 1, 2, 0, 2, 3, 0, 3, 4}), "");
  EXPECT_NE(whyNotATiling(outline, {3, 4, 0, 3, 0, 1}), "");
}

TEST(Triangulate, StarsCombsAndSpiralsInAnyPlane) {
  std::vector<std::vector<Vec2>> outlines = {star(5, 0.2, 1), star(50, 0.9, 1), star(300, 0.1, 1)};
  std::vector<Vec2> comb;
  for (int i = 0; i < 40; ++i) {
    const double bend = 0.002 * (i - 20) * (i - 20);  // tips on a line would allow flat triangles
    comb.insert(comb.end(), {{2.0 * i, bend}, {2.0 * i + 1, 30 - bend}});
  }
  comb.insert(comb.end(), {{80, 31}, {-1, 31}});
  outlines.push_back(comb);
  std::vector<Vec2> spiral;
  for (int i = 0; i <= 400; ++i) {
    const double angle = 0.1 * i;
    spiral.push_back({(1 + angle) * std::cos(angle), (1 + angle) * std::sin(angle)});
  }
  for (int i = 400; i >= 0; --i) {
    const double angle = 0.1 * i;
    spiral.push_back({(0.5 + angle) * std::cos(angle), (0.5 + angle) * std::sin(angle)});
  }
  outlines.push_back(spiral);

  const Mat3 turned = (Eigen::AngleAxisd(1.1, Vec3(1, 2, 3).normalized())).toRotationMatrix();
  const Mat3 flipped = Eigen::AngleAxisd(std::numbers::pi, Vec3::UnitX()).toRotationMatrix();
  Triangulator triangulator;
  for (const auto& outline : outlines) {
    for (const Mat3& rotation : {Mat3(Mat3::Identity()), turned, flipped}) {
      Triangles triangles;
      EXPECT_EQ(triangulator.append(lift(outline, rotation, {5, -3, 2}), triangles),
                TriangulationKind::kEars);
      EXPECT_EQ(whyNotATiling(outline, triangles), "") << outline.size() << " corners";
    }
  }
}

TEST(Triangulate, RandomStarShapedOutlines) {
  const RandomStream random(7, 1);
  Triangulator triangulator;
  std::uint64_t index = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const auto n = static_cast<std::size_t>(4 + random.below(index++, 60));
    std::vector<Vec2> outline;
    for (std::size_t i = 0; i < n; ++i) {
      const double angle = 2 * std::numbers::pi * (static_cast<double>(i) + 0.9 * random.uniform(index++)) /
                           static_cast<double>(n);
      const double r = 0.05 + random.uniform(index++);
      outline.push_back({r * std::cos(angle), r * std::sin(angle)});
    }
    Triangles triangles;
    EXPECT_NE(triangulator.append(lift(outline), triangles), TriangulationKind::kBrokenFan);
    EXPECT_EQ(whyNotATiling(outline, triangles), "") << "trial " << trial;
  }
}

TEST(Triangulate, FlatCornersGiveNoFlatTriangles) {
  // A square with three extra points on each side: a fan from corner 0 would contain triangles without area.
  std::vector<Vec2> outline;
  for (int i = 0; i < 4; ++i)
    outline.push_back({i / 4.0, 0});
  for (int i = 0; i < 4; ++i)
    outline.push_back({1, i / 4.0});
  for (int i = 0; i < 4; ++i)
    outline.push_back({1 - i / 4.0, 1});
  for (int i = 0; i < 4; ++i)
    outline.push_back({0, 1 - i / 4.0});
  Triangulator triangulator;
  Triangles triangles;
  EXPECT_EQ(triangulator.append(lift(outline), triangles), TriangulationKind::kEars);
  EXPECT_EQ(whyNotATiling(outline, triangles), "");
}

TEST(Triangulate, NearlyFlatCornersInATiltedPlaneGiveNoSlivers) {
  std::vector<Vec2> outline;
  for (int i = 0; i < 10; ++i)
    outline.push_back({i / 10.0, 0});
  for (int i = 0; i < 10; ++i)
    outline.push_back({1, i / 10.0});
  outline.push_back({1, 1});
  outline.push_back({0.4, 0.5});
  outline.push_back({0, 1});
  Triangulator triangulator;
  for (int trial = 0; trial < 50; ++trial) {
    const Vec3 axis = Vec3(std::cos(trial), std::sin(trial), std::cos(3.0 * trial)).normalized();
    std::vector<Vec3> polygon = lift(outline, Eigen::AngleAxisd(0.1 + trial, axis).toRotationMatrix());
    for (Vec3& p : polygon)
      p = p.cast<float>().cast<double>();
    Triangles triangles;
    EXPECT_EQ(triangulator.append(polygon, triangles), TriangulationKind::kEars);
    for (std::size_t t = 0; t < triangles.size(); t += 3) {
      const Vec2& a = outline[triangles[t]];
      EXPECT_GT(cross2(outline[triangles[t + 1]] - a, outline[triangles[t + 2]] - a), 1e-3);
    }
  }
}

TEST(Triangulate, ABridgeToAHoleIsNotCrossed) {
  // A square ring as one outline: corners 0 and 4 are repeated by the bridge (a weakly simple polygon).
  const std::vector<Vec2> outline = {{0, 0}, {3, 0}, {3, 3}, {0, 3}, {0, 0},
                                     {1, 1}, {1, 2}, {2, 2}, {2, 1}, {1, 1}};
  Triangulator triangulator;
  Triangles triangles;
  EXPECT_EQ(triangulator.append(lift(outline), triangles), TriangulationKind::kEars);
  EXPECT_EQ(whyNotATiling(outline, triangles), "");
  for (std::size_t t = 0; t < triangles.size(); t += 3) {
    const Vec2 centre = (outline[triangles[t]] + outline[triangles[t + 1]] + outline[triangles[t + 2]]) / 3.0;
    EXPECT_FALSE(centre.x() > 1 && centre.x() < 2 && centre.y() > 1 && centre.y() < 2) << "in the hole";
  }
}

TEST(Triangulate, BigOutlines) {
  Triangulator triangulator;
  for (const int points : {1000, 50000}) {
    const auto outline = star(points, 0.97, 1);
    Triangles triangles;
    EXPECT_EQ(triangulator.append(lift(outline), triangles), TriangulationKind::kEars);
    EXPECT_EQ(whyNotATiling(outline, triangles), "");
  }
  // Rounded to six digits, a circle has corners that are flat or slightly concave.
  std::vector<Vec2> circle;
  for (int i = 0; i < 2000; ++i) {
    const double angle = 2 * std::numbers::pi * i / 2000;
    circle.push_back({std::round(1e6 * std::cos(angle)) / 1e6, std::round(1e6 * std::sin(angle)) / 1e6});
  }
  Triangles triangles;
  EXPECT_NE(triangulator.append(lift(circle), triangles), TriangulationKind::kBrokenFan);
  EXPECT_EQ(triangles.size(), 3u * 1998);
  EXPECT_EQ(whyNotATiling(circle, triangles), "");
}

TEST(Triangulate, AMillionNearlyFlatCornersAreCutInReasonableTime) {
  std::vector<Vec3> circle;
  constexpr int kCorners = 1000000;
  for (int i = 0; i < kCorners; ++i) {
    const double angle = 2 * std::numbers::pi * i / kCorners;
    circle.push_back({std::cos(angle), std::sin(angle), 0});
  }
  Triangulator triangulator;
  Triangles triangles;
  EXPECT_NE(triangulator.append(circle, triangles), TriangulationKind::kBrokenFan);
  EXPECT_EQ(triangles.size(), 3u * (kCorners - 2));
  // One point five thousand times, in a triangle: hopeless, but it ends.
  std::vector<Vec3> heap = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  heap.insert(heap.end(), 5000, Vec3(0.2, 0.2, 0));
  triangles.clear();
  triangulator.append(heap, triangles);
  EXPECT_EQ(triangles.size(), 3 * (heap.size() - 2));
}

TEST(Triangulate, BrokenOutlinesFallBackToAFan) {
  Triangulator triangulator;
  Triangles triangles;
  const auto kind = [&](const std::vector<Vec2>& outline) {
    triangles.clear();
    const TriangulationKind k = triangulator.append(lift(outline), triangles);
    EXPECT_EQ(triangles.size(), 3 * (outline.size() - 2));
    for (const std::uint32_t corner : triangles)
      EXPECT_LT(corner, outline.size());
    return k;
  };
  EXPECT_EQ(kind({{0, 0}, {1, 1}, {2, 2}, {3, 3}}), TriangulationKind::kBrokenFan);  // a line
  EXPECT_EQ(kind({{0, 0}, {0, 0}, {0, 0}, {0, 0}}), TriangulationKind::kBrokenFan);  // a point
  EXPECT_EQ(kind({{0, 0}, {1, 1}, {1, 0}, {0, 1}}), TriangulationKind::kBrokenFan);  // a bow tie without area
  // A pentagram turns left everywhere but goes around twice: not convex.
  std::vector<Vec2> pentagram;
  for (int i = 0; i < 5; ++i) {
    pentagram.push_back({std::cos(0.8 * std::numbers::pi * i), std::sin(0.8 * std::numbers::pi * i)});
  }
  EXPECT_NE(kind(pentagram), TriangulationKind::kFan);
  // Huge and tiny coordinates neither overflow nor vanish.
  EXPECT_EQ(kind({{0, 0}, {2e300, 0}, {2e300, 2e300}, {1e300, 0.5e300}, {0, 2e300}}),
            TriangulationKind::kEars);
  EXPECT_EQ(kind({{0, 0}, {2e-300, 0}, {2e-300, 2e-300}, {1e-300, 0.5e-300}, {0, 2e-300}}),
            TriangulationKind::kEars);
}

}  // namespace
}  // namespace heatskin
