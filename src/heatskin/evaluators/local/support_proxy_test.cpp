#include "heatskin/evaluators/local/support_proxy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include <Eigen/Geometry>
#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/surface/closest_point.h"
#include "heatskin/surface/sampling.h"

#include "support/tiny_surfaces.h"

namespace heatskin::local {
namespace {

/// The quadric error is a root mean square over planes, not the largest distance: twice its limit, on a
/// surface of size 2.
constexpr double kMostDistance = 2 * 2 * static_cast<double>(SupportProxy::kMostError);

Vec3 onProxy(const SupportProxy& proxy, std::uint32_t face, const Vec3& x) {
  const SupportProxy::Place place = proxy.place(face, x.cast<float>());
  return proxy.surface().frames()[place.face].fromFace(place.x.cast<double>());
}

TEST(SupportProxy, IsOnlyMadeForMuchFinerSurfaces) {
  const Surface surface = testing::build(testing::bumpySphere(5, 0.1, 5));
  ASSERT_EQ(surface.faceCount(), 20480u);
  EXPECT_EQ(SupportProxy::build(surface, 0), nullptr);
  EXPECT_EQ(SupportProxy::build(surface, 20480), nullptr);
  EXPECT_EQ(SupportProxy::build(surface, 10240), nullptr);
  EXPECT_NE(SupportProxy::build(surface, 10000), nullptr);
}

TEST(SupportProxy, IsNullWhereSimplifyingWouldChangeTheShape) {
  // Every vertex of the bumps counts: half of the faces cannot be had within the error.
  const Surface surface = testing::build(testing::bumpySphere(3, 0.6, 5));
  EXPECT_EQ(SupportProxy::build(surface, 300), nullptr);
}

TEST(SupportProxy, LiesOnTheSurfaceInItsCoordinates) {
  const Surface surface = testing::build(testing::bumpySphere(5, 0.1, 5));  // 20,480 faces
  const auto proxy = SupportProxy::build(surface, 3000);
  ASSERT_NE(proxy, nullptr);
  EXPECT_LT(proxy->surface().faceCount(), 4000u);
  EXPECT_NEAR(proxy->surface().totalArea(), surface.totalArea(), 0.02 * surface.totalArea());
  for (const SurfacePoint& p : sampleSurface(surface, 500, 3)) {
    const Vec3 x = surface.position(p);
    const SupportProxy::Place place = proxy->place(p.face, x.cast<float>());
    EXPECT_LT((onProxy(*proxy, p.face, x) - x).norm(), kMostDistance);
    EXPECT_GT(proxy->surface().frames()[place.face].normal().dot(surface.frames()[p.face].normal()), 0);
    EXPECT_GE(proxy->surface().barycentric(place.face, place.x.cast<double>()).minCoeff(), -1e-5);
  }
}

// Spreading over the surface and lists of a few faces find what a search in space finds, where nothing else
// is near.
TEST(SupportProxy, PlacesAreTheNearestPoints) {
  const Surface surface = testing::build(testing::bumpySphere(5, 0.1, 5));
  for (const std::size_t faces : {500u, 3000u, 10000u}) {
    const auto proxy = SupportProxy::build(surface, faces);
    ASSERT_NE(proxy, nullptr);
    const ClosestPointQuery closest(proxy->surface());
    double worst = 0, sum = 0;
    const auto points = sampleSurface(surface, 3000, 5);
    for (const SurfacePoint& p : points) {
      const Vec3 x = surface.position(p);
      const double beyond = (onProxy(*proxy, p.face, x) - x).norm() - closest(x).distance;
      EXPECT_GT(beyond, -1e-6);
      worst = std::max(worst, beyond);
      sum += beyond;
    }
    EXPECT_LT(sum / static_cast<double>(points.size()), 1e-5) << faces;
    EXPECT_LT(worst, 0.25 * kMostDistance) << faces;
  }
}

/// The largest distance between the places of a point of an edge, as its two faces see it.
double largestGap(const Surface& surface, const SupportProxy& proxy) {
  double largest = 0;
  const RandomStream random(5, 1);
  for (std::uint32_t h = 0; h < 3 * surface.faceCount(); ++h) {
    const std::uint32_t twin = surface.twins()[h / 3][h % 3];
    if (twin == kNone || twin < h) continue;
    const auto& face = surface.faces()[h / 3];
    const double t = random.uniform2(h)[0];
    const Vec3 x =
        (1 - t) * surface.positions()[face[h % 3]] + t * surface.positions()[face[(h % 3 + 1) % 3]];
    largest = std::max(largest, (onProxy(proxy, h / 3, x) - onProxy(proxy, twin / 3, x)).norm());
  }
  return largest;
}

TEST(SupportProxy, FacesAgreeOnTheirCommonEdge) {
  const Surface surface = testing::build(testing::bumpySphere(5, 0.1, 5));
  for (const std::size_t faces : {500u, 3000u, 10000u}) {
    const auto proxy = SupportProxy::build(surface, faces);
    ASSERT_NE(proxy, nullptr);
    // Two points of a fold that are equally near, and slivers that no sample of a face has seen.
    EXPECT_LT(largestGap(surface, *proxy), 0.25 * kMostDistance) << faces;
  }
}

/// The smallest height of a triangle over its longest side, relative to that.
double flattest(const Surface& surface) {
  double least = 1;
  for (std::size_t f = 0; f < surface.faceCount(); ++f) {
    const auto& c = surface.corners()[f];
    double longest = 0;
    for (std::size_t e = 0; e < 3; ++e)
      longest = std::max(longest, (c[(e + 1) % 3] - c[e]).squaredNorm());
    least = std::min(least, 2 * surface.areas()[f] / longest);
  }
  return least;
}

// On plane parts every triangulation is as good as another to quadrics: the copy must not get holes or
// needles, which unfoldings do not pass.
TEST(SupportProxy, IsClosedAndWellShapedOnPlaneParts) {
  testing::Soup skew = testing::cube(40);
  Eigen::Matrix3d turn;
  turn = Eigen::AngleAxisd(0.7, Vec3(1, 2, 3).normalized());
  for (Vec3& x : skew.positions)
    x = (turn * x).cast<float>().cast<double>();  // coordinates of files: plane and straight up to rounding
  const Surface surface = testing::build(skew);
  for (const std::size_t faces : {200u, 1000u, 4000u}) {
    const auto proxy = SupportProxy::build(surface, faces);
    ASSERT_NE(proxy, nullptr);
    const SurfaceReport& report = proxy->surface().report();
    EXPECT_TRUE(proxy->surface().boundaryLoops().empty()) << faces;
    EXPECT_EQ(report.degenerate_faces, 0u) << faces;
    EXPECT_LE(report.nonmanifold_edges, 2u) << faces;  // larger pockets; they are cut off
    EXPECT_EQ(report.nonmanifold_vertices, 0u) << faces;
    EXPECT_EQ(report.duplicate_faces, 0u) << faces;
    EXPECT_EQ(proxy->surface().componentCount(), 1u) << faces;
    EXPECT_GT(flattest(proxy->surface()), 0.01) << faces;
  }
}

TEST(SupportProxy, KeepsTheSidesOfAThinPlateApart) {
  // A cube pressed flat: 0.002 thick, far thinner than the proxy's error. Once plane, once bent.
  for (const double bend : {0.0, 0.3}) {
    testing::Soup plate = testing::cube(30);
    for (Vec3& x : plate.positions) {
      x.z() *= 0.001;
      x.z() += bend * x.x() * x.x();
    }
    const Surface surface = testing::build(plate);
    const auto proxy = SupportProxy::build(surface, 1500);
    ASSERT_NE(proxy, nullptr);
    for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
      const Vec3 normal = surface.frames()[f].normal();
      if (std::abs(normal.z()) < 0.7) continue;  // the rim
      // The rim may serve the faces beside it.
      for (const std::uint32_t face : proxy->facesOf(f))
        ASSERT_GT(proxy->surface().frames()[face].normal().dot(normal), -0.3) << bend << " face " << f;
    }
  }
}

/// A carpet rolled up `turns` times, with layers `gap` apart that all look outwards.
testing::Soup scroll(std::uint32_t around, std::uint32_t across, double turns, double gap) {
  testing::Soup soup{"scroll", {}, {}};
  for (std::uint32_t i = 0; i <= around; ++i) {
    const double turn = turns * i / around, angle = 2 * std::numbers::pi * turn, radius = 0.3 + gap * turn;
    for (std::uint32_t j = 0; j <= across; ++j)
      soup.positions.emplace_back(radius * std::cos(angle), radius * std::sin(angle), 0.6 * j / across);
  }
  const auto id = [&](std::uint32_t i, std::uint32_t j) { return i * (across + 1) + j; };
  for (std::uint32_t i = 0; i < around; ++i) {
    for (std::uint32_t j = 0; j < across; ++j) {
      soup.faces.push_back({id(i, j), id(i + 1, j), id(i + 1, j + 1)});
      soup.faces.push_back({id(i, j), id(i + 1, j + 1), id(i, j + 1)});
    }
  }
  return soup;
}

// Layers of one component that look the same way: only the surface itself tells them apart.
TEST(SupportProxy, KeepsTheLayersOfAScrollApart) {
  constexpr std::uint32_t kAround = 1200, kAcross = 12;
  constexpr double kTurns = 6, kGap = 0.005;
  SurfaceOptions options;
  options.principal_axes = false;
  options.normalise = false;
  const testing::Soup soup = scroll(kAround, kAcross, kTurns, kGap);
  const auto surface = Surface::build(soup.positions, soup.faces, options);
  ASSERT_TRUE(surface);
  const auto proxy = SupportProxy::build(*surface, 1500);
  ASSERT_NE(proxy, nullptr);
  ASSERT_LT(proxy->surface().faceCount(), 3000u);
  // How far along the carpet a point of the scroll is, in turns, for a radius that belongs to it.
  const auto turnOf = [&](const Vec3& x) {
    const double part = std::atan2(x.y(), x.x()) / (2 * std::numbers::pi);
    return part + std::round((x.head<2>().norm() - 0.3) / kGap - part);
  };
  // The copy's corners are vertices of the surface, whose turns are known.
  std::map<std::array<double, 3>, double> turn_of;
  for (std::size_t v = 0; v < soup.positions.size(); ++v) {
    const Vec3& x = surface->positions()[v];
    turn_of[{x.x(), x.y(), x.z()}] = turnOf(x);
  }
  std::size_t seen = 0;
  for (std::uint32_t f = 0; f < surface->faceCount(); f += 7) {
    const double turn = turnOf(surface->positions()[surface->faces()[f][0]]);
    for (const std::uint32_t face : proxy->facesOf(f)) {
      const Vec3& corner = proxy->surface().positions()[proxy->surface().faces()[face][0]];
      const auto known = turn_of.lower_bound({corner.x() - 1e-9, -10, -10});
      for (auto i = known; i != turn_of.end() && i->first[0] < corner.x() + 1e-9; ++i) {
        if (std::abs(i->first[1] - corner.y()) > 1e-9 || std::abs(i->first[2] - corner.z()) > 1e-9) continue;
        EXPECT_LT(std::abs(i->second - turn), 0.5) << "face " << f;
        ++seen;
      }
    }
  }
  EXPECT_GT(seen, 1000u);
}

// Where two components touch, they stay two.
TEST(SupportProxy, DoesNotJoinWhatTheSurfaceKeepsApart) {
  // Three half planes at one edge: two of them are one surface, the third is cut off.
  constexpr std::uint32_t kSide = 24;
  testing::Soup soup{"three half planes", {}, {}};
  const Vec3 directions[] = {{1, 0, 0}, {-1, 0, 0.1}, {0, 0, 1}};
  for (const Vec3& direction : directions) {
    const auto first = static_cast<std::uint32_t>(soup.positions.size());
    for (std::uint32_t i = 0; i <= kSide; ++i) {
      for (std::uint32_t j = 0; j <= kSide; ++j)
        soup.positions.push_back(direction * i / kSide + Vec3(0, 1, 0) * j / kSide);
    }
    for (std::uint32_t i = 0; i < kSide; ++i) {
      for (std::uint32_t j = 0; j < kSide; ++j) {
        const std::uint32_t a = first + i * (kSide + 1) + j, b = a + kSide + 1;
        soup.faces.push_back({a, b, b + 1});
        soup.faces.push_back({a, b + 1, a + 1});
      }
    }
  }
  const Surface surface = testing::build(soup);
  ASSERT_EQ(surface.componentCount(), 2u);
  const auto proxy = SupportProxy::build(surface, 300);
  ASSERT_NE(proxy, nullptr);
  ASSERT_EQ(proxy->surface().componentCount(), 2u);
  std::map<std::uint32_t, std::uint32_t> component_of;
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    for (const std::uint32_t face : proxy->facesOf(f)) {
      const auto [entry, is_new] =
          component_of.try_emplace(proxy->surface().components()[face], surface.components()[f]);
      EXPECT_EQ(entry->second, surface.components()[f]);
    }
  }
}

TEST(SupportProxy, IsTheSameOnAnyNumberOfThreads) {
  const Surface surface = testing::build(testing::bumpySphere(5, 0.1, 5));
  setThreadCount(1);
  const auto one = SupportProxy::build(surface, 3000);
  setThreadCount(3);
  const auto three = SupportProxy::build(surface, 3000);
  setThreadCount(0);
  ASSERT_NE(one, nullptr);
  ASSERT_NE(three, nullptr);
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f)
    ASSERT_TRUE(std::ranges::equal(one->facesOf(f), three->facesOf(f))) << f;
}

}  // namespace
}  // namespace heatskin::local
