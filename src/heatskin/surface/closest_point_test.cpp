#include "heatskin/surface/closest_point.h"

#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

using Triangle = std::array<std::uint32_t, 3>;

Surface bumpySphere(std::uint32_t kRows = 24, std::uint32_t kColumns = 40) {
  std::vector<Vec3> positions;
  std::vector<Triangle> faces;
  for (std::uint32_t j = 0; j <= kRows; ++j) {
    for (std::uint32_t i = 0; i < kColumns; ++i) {
      const double theta = std::numbers::pi * j / kRows, phi = 2 * std::numbers::pi * i / kColumns;
      const double ring = j == 0 || j == kRows ? 0.0 : std::sin(theta);
      const double r = 1 + 0.2 * ring * std::cos(5 * phi);
      positions.emplace_back(r * ring * std::cos(phi), r * ring * std::sin(phi), r * std::cos(theta));
    }
  }
  for (std::uint32_t j = 0; j < kRows; ++j) {
    for (std::uint32_t i = 0; i < kColumns; ++i) {
      const std::uint32_t a = j * kColumns + i, b = j * kColumns + (i + 1) % kColumns;
      faces.push_back({a, a + kColumns, b + kColumns});
      faces.push_back({a, b + kColumns, b});
    }
  }
  Result<Surface> s = Surface::build(positions, faces);
  EXPECT_TRUE(s);
  return std::move(*s);
}

ClosestPoint closestBruteForce(const Surface& s, const Vec3& x) {
  ClosestPoint best{{}, std::numeric_limits<double>::infinity()};
  for (std::uint32_t f = 0; f < s.faceCount(); ++f) {
    const auto& t = s.faces()[f];
    const Vec3 b = closestBarycentric(x, s.positions()[t[0]], s.positions()[t[1]], s.positions()[t[2]]);
    const SurfacePoint p{f, b};
    const double d = (s.position(p) - x).norm();
    if (d < best.distance) best = {p, d};
  }
  return best;
}

TEST(ClosestPoint, EqualsTheBruteForceTwin) {
  const Surface s = bumpySphere();
  const ClosestPointQuery query(s);
  const RandomStream random(1, 1);
  for (const double reach : {0.5, 2.0, 100.0}) {
    for (std::uint64_t i = 0; i < 1000; ++i) {
      const auto a = random.uniform2(2 * i), b = random.uniform2(2 * i + 1);
      const Vec3 x = reach * (2 * Vec3(a[0], a[1], b[0]) - Vec3::Ones());
      const ClosestPoint found = query(x), expected = closestBruteForce(s, x);
      EXPECT_NEAR(found.distance, expected.distance, 1e-14 * (1 + reach));
      EXPECT_LT((s.position(found.point) - s.position(expected.point)).norm(), 1e-6) << i;
    }
  }
}

TEST(ClosestPoint, OfALargeSurfaceEqualsTheBruteForceTwin) {
  const Surface s = bumpySphere(150, 200);  // large enough to be built in parts
  for (const int threads : {1, 3}) {
    setThreadCount(threads);
    const ClosestPointQuery query(s);
    const RandomStream random(2, 1);
    for (std::uint64_t i = 0; i < 50; ++i) {
      const auto a = random.uniform2(2 * i), b = random.uniform2(2 * i + 1);
      const Vec3 x = 2 * Vec3(a[0], a[1], b[0]) - Vec3::Ones();
      EXPECT_NEAR(query(x).distance, closestBruteForce(s, x).distance, 1e-14) << i;
    }
  }
  setThreadCount(0);
}

TEST(ClosestPoint, OfFacesAtTheSameDistanceTheLowestAnswers) {
  // Triangles that rise from one corner, which is the nearest point of all of them.
  std::vector<Vec3> positions;
  std::vector<Triangle> faces;
  for (std::uint32_t i = 0; i < 40; ++i) {
    const auto n = static_cast<std::uint32_t>(positions.size());
    positions.insert(positions.end(), {{0, 0, 1}, {1, 0, 2.0 + i}, {0, 1, 2.0 + i}});
    faces.push_back({n, n + 1, n + 2});
  }
  SurfaceOptions options;
  options.normalise = false;
  options.principal_axes = false;
  const Result<Surface> s = Surface::build(positions, faces, options);
  ASSERT_TRUE(s);
  ASSERT_EQ(s->faceCount(), 40u);
  const ClosestPointQuery query(*s);
  const ClosestPoint found = query({0, 0, 0});  // all are 1 away
  EXPECT_NEAR(found.distance, 1, 1e-12);
  EXPECT_EQ(found.point.face, 0u);
  // With handicaps, too; an infinite one rules a face out.
  const auto later = [](std::uint32_t face) {
    return face < 7 ? std::numeric_limits<double>::infinity() : face < 11 ? 2.0 : 1.0;
  };
  EXPECT_EQ(query.find({0, 0, 0}, later).point.face, 11u);
}

TEST(ClosestPoint, HandicapsEqualTheBruteForceTwin) {
  const Surface s = bumpySphere();
  const ClosestPointQuery query(s);
  const auto handicap = [](std::uint32_t face) {
    return face % 3 == 0 ? std::numeric_limits<double>::infinity() : face % 3 == 1 ? 4.0 : 1.0;
  };
  const RandomStream random(3, 1);
  for (std::uint64_t i = 0; i < 300; ++i) {
    const auto a = random.uniform2(2 * i), b = random.uniform2(2 * i + 1);
    const Vec3 x = 2 * Vec3(a[0], a[1], b[0]) - Vec3::Ones();
    double best = std::numeric_limits<double>::infinity();
    for (std::uint32_t f = 0; f < s.faceCount(); ++f) {
      const auto& t = s.faces()[f];
      const SurfacePoint p{
          f, closestBarycentric(x, s.positions()[t[0]], s.positions()[t[1]], s.positions()[t[2]])};
      best = std::min(best, handicap(f) * (s.position(p) - x).norm());
    }
    const ClosestPoint found = query.find(x, handicap);
    EXPECT_NEAR(found.distance * handicap(found.point.face), best, 1e-14) << i;
    EXPECT_NEAR(found.distance, (s.position(found.point) - x).norm(), 1e-14) << i;
  }
}

TEST(ClosestPoint, PointsOnTheSurfaceFindThemselves) {
  const Surface s = bumpySphere();
  const ClosestPointQuery query(s);
  std::vector<Vec3> x;
  for (const SurfacePoint& p : sampleSurface(s, 5000, 2))
    x.push_back(s.position(p));
  for (std::uint32_t v = 0; v < s.vertexCount(); ++v)
    x.push_back(s.positions()[v]);
  std::vector<ClosestPoint> out(x.size());
  setThreadCount(3);
  query.find(x, out);
  setThreadCount(0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_LT(out[i].distance, 1e-15);
    EXPECT_GE(out[i].point.barycentric.minCoeff(), 0);
    EXPECT_NEAR(out[i].point.barycentric.sum(), 1, 1e-15);
  }
}

TEST(ClosestPoint, TriangleRegions) {
  const Vec3 a(0, 0, 0), b(1, 0, 0), c(0, 1, 0);
  EXPECT_EQ(closestBarycentric({-1, -1, 5}, a, b, c), Vec3(1, 0, 0));
  EXPECT_EQ(closestBarycentric({3, -1, 0}, a, b, c), Vec3(0, 1, 0));
  EXPECT_EQ(closestBarycentric({-1, 3, 0}, a, b, c), Vec3(0, 0, 1));
  EXPECT_EQ(closestBarycentric({0.25, -2, 1}, a, b, c), Vec3(0.75, 0.25, 0));
  EXPECT_EQ(closestBarycentric({-2, 0.25, 1}, a, b, c), Vec3(0.75, 0, 0.25));
  EXPECT_EQ(closestBarycentric({1, 1, 0}, a, b, c), Vec3(0, 0.5, 0.5));
  EXPECT_EQ(closestBarycentric({0.25, 0.25, -3}, a, b, c), Vec3(0.5, 0.25, 0.25));
}

}  // namespace
}  // namespace heatskin
