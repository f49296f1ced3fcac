#include "heatskin/surface/ray_query.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"
#include "heatskin/surface/surface.h"

#include "support/sanitized.h"

namespace heatskin {
namespace {

/// A closed sphere of rings with coordinates that are no round numbers, and slivers at its poles.
Surface ringSphere(std::uint32_t rows, std::uint32_t columns) {
  std::vector<Vec3> positions;
  std::vector<std::array<std::uint32_t, 3>> faces;
  for (std::uint32_t j = 0; j <= rows; ++j) {
    for (std::uint32_t i = 0; i < columns; ++i) {
      const double theta = std::numbers::pi * j / rows, phi = 2 * std::numbers::pi * i / columns;
      const double ring = j == 0 || j == rows ? 0.0 : std::sin(theta);
      positions.emplace_back(ring * std::cos(phi), std::cos(theta), ring * std::sin(phi));
    }
  }
  for (std::uint32_t j = 0; j < rows; ++j) {
    for (std::uint32_t i = 0; i < columns; ++i) {
      const std::uint32_t a = j * columns + i, b = j * columns + (i + 1) % columns;
      faces.push_back({a, a + columns, b + columns});
      faces.push_back({a, b + columns, b});
    }
  }
  SurfaceOptions options;
  options.principal_axes = false;
  return std::move(Surface::build(positions, faces, options)).value();
}

/// The textbook intersection (Moeller and Trumbore, 1997), whose borders are decided by rounding.
std::optional<double> textbookHit(const Ray& ray, const Vec3& a, const Vec3& b, const Vec3& c) {
  const Vec3 e1 = b - a, e2 = c - a, p = ray.direction.cross(e2);
  const double det = e1.dot(p);
  if (det == 0) return std::nullopt;
  const Vec3 s = ray.origin - a;
  const double u = s.dot(p) / det, v = ray.direction.dot(s.cross(e1)) / det;
  if (!(u > 0 && v > 0 && u + v < 1)) return std::nullopt;
  const double t = e2.dot(s.cross(e1)) / det;
  if (!(t >= 0 && t <= ray.reach)) return std::nullopt;
  return t;
}

std::optional<double> textbookNearest(const Surface& surface, const Ray& ray) {
  std::optional<double> nearest;
  for (const auto& face : surface.faces()) {
    const auto t = textbookHit(ray, surface.positions()[face[0]], surface.positions()[face[1]],
                               surface.positions()[face[2]]);
    if (t && (!nearest || *t < *nearest)) nearest = t;
  }
  return nearest;
}

Vec3 randomVector(const RandomStream& random, std::uint64_t index) {
  const auto a = random.uniform2(2 * index), b = random.uniform2(2 * index + 1);
  return {2 * a[0] - 1, 2 * a[1] - 1, 2 * b[0] - 1};
}

TEST(RayQuery, EqualsTheBruteForceTwin) {
  const Surface surface = ringSphere(14, 23);
  const RayQuery query(surface);
  const RandomStream random(1, 1);
  int hits = 0;
  const auto count = testing::casesToTry<std::uint64_t>(3000, 300);
  for (std::uint64_t i = 0; i < count; ++i) {
    Ray ray{1.5 * randomVector(random, 2 * i), randomVector(random, 2 * i + 1)};
    if (i % 3 == 0) ray.reach = 1;
    const RayHit hit = query.nearest(ray);
    const auto expected = textbookNearest(surface, ray);
    ASSERT_EQ(hit.any(), expected.has_value()) << i;
    EXPECT_EQ(query.blocked(ray), hit.any());
    if (!hit.any()) continue;
    ++hits;
    EXPECT_NEAR(hit.t, *expected, 1e-12);
    EXPECT_NEAR(hit.point.barycentric.sum(), 1, 1e-14);
    EXPECT_GE(hit.point.barycentric.minCoeff(), 0);
    EXPECT_LT((surface.position(hit.point) - ray.origin - hit.t * ray.direction).norm(), 1e-12);
  }
  EXPECT_GT(hits, static_cast<int>(count / 8)) << "a fair share, of few rays as of many";
}

/// Rays from inside of a closed surface at its vertices and edges: every one must hit something.
std::vector<Ray> raysAtSeams(const Surface& surface) {
  const RandomStream random(2, 1);
  std::vector<Ray> rays;
  std::uint64_t n = 0;
  for (const auto& face : surface.faces()) {
    for (std::size_t e = 0; e < 3; ++e) {
      const Vec3 &a = surface.positions()[face[e]], &b = surface.positions()[face[(e + 1) % 3]];
      for (const double at : {0.0, 0.5, random.uniform(1000 + n)}) {
        const Vec3 origin = 0.3 * randomVector(random, n++);
        rays.push_back({origin, a + at * (b - a) - origin});
        rays.push_back({Vec3::Zero(), a + at * (b - a)});
      }
    }
  }
  return rays;
}

TEST(RayQuery, NoRayEscapesThroughAnEdgeOrAVertex) {
  const Surface surface = ringSphere(14, 23);
  const RayQuery query(surface);
  for (const Ray& ray : raysAtSeams(surface))
    ASSERT_TRUE(query.nearest(ray).any()) << ray.origin.transpose() << " to " << ray.direction.transpose();
}

TEST(RayQuery, TheseRaysFindTheLeaksOfTheTextbook) {
  const Surface surface = ringSphere(14, 23);
  const std::vector<Ray> rays = raysAtSeams(surface);
  std::size_t leaks = 0;
  for (const Ray& ray : rays)
    leaks += textbookNearest(surface, ray) ? 0 : 1;
  EXPECT_GT(leaks, rays.size() / 50);
}

TEST(RayQuery, RaysAlongTheAxesAndInTheBordersOfBoxesAreAnswered) {
  std::vector<Vec3> positions;
  std::vector<std::array<std::uint32_t, 3>> faces;
  constexpr std::uint32_t kSide = 8;
  for (std::uint32_t j = 0; j <= kSide; ++j) {
    for (std::uint32_t i = 0; i <= kSide; ++i)
      positions.emplace_back(i, j, 0);
  }
  for (std::uint32_t j = 0; j < kSide; ++j) {
    for (std::uint32_t i = 0; i < kSide; ++i) {
      const std::uint32_t a = j * (kSide + 1) + i;
      faces.push_back({a, a + 1, a + kSide + 2});
      faces.push_back({a, a + kSide + 2, a + kSide + 1});
    }
  }
  SurfaceOptions options;
  options.principal_axes = false;
  options.normalise = false;
  const Surface surface = std::move(Surface::build(positions, faces, options)).value();
  const RayQuery query(surface);
  for (const Vec3& at : surface.positions()) {
    for (const double side : {1.0, -1.0}) {
      const RayHit hit = query.nearest({at + Vec3(0, 0, side), {0, 0, -side}});
      ASSERT_TRUE(hit.any());
      EXPECT_EQ(hit.t, 1);
      EXPECT_LT((surface.position(hit.point) - at).norm(), 1e-14);
    }
  }
  // In the plane there is nothing to see: all faces are edge-on.
  EXPECT_FALSE(query.nearest({{-1, 3.5, 0}, {1, 0, 0}}).any());
  EXPECT_FALSE(query.nearest({{4, 4, 1}, {0, 0, 1}}).any());
}

TEST(RayQuery, OfFacesAtTheSameDistanceTheLowestAnswers) {
  const std::vector<Vec3> positions = {{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0}};
  SurfaceOptions options;
  options.principal_axes = false;
  const Surface surface =
      std::move(
          Surface::build(positions, std::vector<std::array<std::uint32_t, 3>>{{0, 1, 2}, {0, 2, 3}}, options))
          .value();
  const RayHit hit = RayQuery(surface).nearest({{0, 0, 3}, {0, 0, -1}});
  EXPECT_EQ(hit.point.face, 0u);
}

}  // namespace
}  // namespace heatskin
