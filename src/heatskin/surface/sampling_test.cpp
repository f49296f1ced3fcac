#include "heatskin/surface/sampling.h"

#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/surface/farthest_points.h"

namespace heatskin {
namespace {

using Triangle = std::array<std::uint32_t, 3>;

/// Two triangles with areas 1 : 3 and a far smaller one.
Surface unevenSurface() {
  const std::vector<Vec3> positions = {{0, 0, 0}, {1, 0, 0},     {0, 1, 0},
                                       {0, 3, 0}, {-0.01, 0, 0}, {0, -0.01, 0}};
  const std::vector<Triangle> faces = {{0, 1, 2}, {1, 3, 2}, {0, 4, 5}};
  Result<Surface> s = Surface::build(positions, faces);
  EXPECT_TRUE(s);
  return std::move(*s);
}

TEST(Sampling, FacesAreDrawnByArea) {
  const Surface s = unevenSurface();
  constexpr std::size_t kCount = 1'000'000;
  std::vector<double> hits(s.faceCount(), 0);
  for (const SurfacePoint& p : sampleSurface(s, kCount, 7))
    hits[p.face] += 1;
  for (std::uint32_t f = 0; f < s.faceCount(); ++f) {
    const double expected = kCount * s.areas()[f] / s.totalArea();
    // Five standard deviations of a Poisson count.
    EXPECT_NEAR(hits[f], expected, 5 * std::sqrt(expected)) << f;
  }
}

TEST(Sampling, PointsAreUniformInsideAFace) {
  const Surface s = unevenSurface();
  const std::vector<SurfacePoint> points = sampleSurface(s, 300'000, 3);
  Vec3 mean = Vec3::Zero(), square = Vec3::Zero();
  double count = 0;
  for (const SurfacePoint& p : points) {
    ASSERT_GE(p.barycentric.minCoeff(), 0);
    ASSERT_NEAR(p.barycentric.sum(), 1, 1e-15);
    if (p.face != 1) continue;
    mean += p.barycentric;
    square += p.barycentric.cwiseProduct(p.barycentric);
    count += 1;
  }
  // Uniform over a triangle: E[b] = 1/3, E[b^2] = 1/6; their standard deviations are 0.236 and 0.211 per
  // sample.
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(mean[i] / count, 1.0 / 3, 5 * 0.236 / std::sqrt(count));
    EXPECT_NEAR(square[i] / count, 1.0 / 6, 5 * 0.211 / std::sqrt(count));
  }
}

TEST(Sampling, AnyThreadCountAndAnyPartGiveTheSamePoints) {
  const Surface s = unevenSurface();
  const SurfaceSampler sampler(s);
  setThreadCount(1);
  std::vector<SurfacePoint> whole(50'000);
  sampler.sample(11, 2, 0, whole);
  for (const int threads : {2, 3, 8}) {
    setThreadCount(threads);
    std::vector<SurfacePoint> part(12'345);
    sampler.sample(11, 2, 20'000, part);
    for (std::size_t i = 0; i < part.size(); ++i) {
      ASSERT_EQ(part[i].face, whole[20'000 + i].face);
      ASSERT_EQ(part[i].barycentric, whole[20'000 + i].barycentric);
    }
  }
  setThreadCount(0);
}

TEST(Sampling, BordersOfTheUnitIntervalAreValid) {
  const Surface s = unevenSurface();
  const SurfaceSampler sampler(s);
  constexpr double kLast = 1 - 0x1.0p-53;
  for (const double u : {0.0, 0.25, kLast}) {
    const SurfacePoint p = sampler.point(u, kLast, kLast);
    EXPECT_LT(p.face, s.faceCount());
    EXPECT_GE(p.barycentric.minCoeff(), 0);
  }
}

std::vector<std::uint32_t> farthestPointsBruteForce(std::span<const Vec3> points, std::size_t count,
                                                    std::uint32_t start) {
  std::vector<double> distance(points.size(), std::numeric_limits<double>::infinity());
  std::vector<std::uint32_t> chosen = {start};
  while (chosen.size() < count) {
    std::uint32_t farthest = 0;
    for (std::uint32_t i = 0; i < points.size(); ++i) {
      distance[i] = std::min(distance[i], (points[i] - points[chosen.back()]).squaredNorm());
      if (distance[i] > distance[farthest]) farthest = i;
    }
    chosen.push_back(farthest);
  }
  return chosen;
}

TEST(FarthestPoints, EqualTheBruteForceTwin) {
  const RandomStream random(5, 0);
  for (const bool lattice : {false, true}) {  // a lattice is full of ties
    std::vector<Vec3> points;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const auto a = random.uniform2(2 * i), b = random.uniform2(2 * i + 1);
      points.emplace_back(a[0], a[1], b[0]);
      if (lattice) points.back() = (points.back() * 40).array().floor() / 8;
    }
    const std::uint32_t start = closestToOrigin(points);
    EXPECT_EQ(farthestPoints(points, 400, start), farthestPointsBruteForce(points, 400, start));
  }
}

TEST(FarthestPoints, MorePointsThanPlacesStillGivesDistinctIndices) {
  const std::vector<Vec3> points = {{0, 0, 0}, {1, 0, 0}, {0, 0, 0}, {1, 0, 0}, {2, 0, 0}};
  std::vector<std::uint32_t> chosen = farthestPoints(points, 10, 0);
  EXPECT_EQ(chosen, (std::vector<std::uint32_t>{0, 4, 1, 2, 3}));
  EXPECT_TRUE(farthestPoints(std::vector<Vec3>{}, 3, 0).empty());
}

}  // namespace
}  // namespace heatskin
