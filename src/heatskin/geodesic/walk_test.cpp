#include "heatskin/geodesic/walk.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/geodesic/walk_checker.h"
#include "heatskin/surface/sampling.h"

#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

using namespace heatskin::testing;

SurfacePoint corner(std::uint32_t face, std::uint32_t k) {
  SurfacePoint p{face, Vec3::Zero()};
  p.barycentric[k] = 1;
  return p;
}

SurfacePoint onEdge(std::uint32_t face, std::uint32_t e, double t) {
  SurfacePoint p{face, Vec3::Zero()};
  p.barycentric[e] = 1 - t;
  p.barycentric[(e + 1) % 3] = t;
  return p;
}

Vec2 polar(double length, double angle) {
  return {length * std::cos(angle), length * std::sin(angle)};
}

/// Tangent vector of the end in space that the transport makes of `v`.
Vec3 transported(const Surface& surface, const WalkOutcome& outcome, const Vec2& v) {
  return surface.frames()[outcome.end.face].directionFromFace(outcome.end_from_start.rotate(v));
}

/// The axis-aligned rectangle of a flat grid in surface coordinates.
struct Rectangle {
  Vec3 low, high;
  explicit Rectangle(const Surface& surface) : low(surface.positions()[0]), high(low) {
    for (const Vec3& p : surface.positions())
      low = low.cwiseMin(p), high = high.cwiseMax(p);
  }
  /// How far one gets from p in direction d (unit).
  double room(const Vec3& p, const Vec3& d) const {
    double room = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 2; ++i) {
      if (d[i] > 0) room = std::min(room, (high[i] - p[i]) / d[i]);
      if (d[i] < 0) room = std::min(room, (low[i] - p[i]) / d[i]);
    }
    return room;
  }
};

TEST(Walk, OnAFlatGridIsTheStraightLine) {
  const Surface surface = build(flatGrid(9, 7));
  const Rectangle rectangle(surface);
  const auto starts = sampleSurface(surface, 20'000, 3);
  const RandomStream random(5, 0);
  int stopped = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto [u, v] = random.uniform2(i);
    const Vec2 direction = polar(1.5 * v, 2 * std::numbers::pi * u);
    const Vec3 from = surface.position(starts[i]);
    const Vec3 way = surface.frames()[starts[i].face].directionFromFace(direction);
    const double room = rectangle.room(from, way.normalized());
    const double length = std::min(way.norm(), room);
    const WalkOutcome outcome = walk(surface, starts[i], direction);
    const double rounding = walkRounding(outcome, direction.norm());
    ASSERT_EQ(outcome.stop, way.norm() <= room ? WalkStop::kComplete : WalkStop::kBoundary);
    ASSERT_NEAR(outcome.length, length, rounding);
    ASSERT_LT((surface.position(outcome.end) - (from + length * way.normalized())).norm(), rounding);
    ASSERT_LT((transported(surface, outcome, direction) - way).norm(), rounding);
    stopped += outcome.stop == WalkStop::kBoundary;
  }
  EXPECT_GT(stopped, 1000);
}

TEST(Walk, FromAVertexInAllDirectionsOfAFlatGrid) {
  const Surface surface = build(flatGrid(6, 6));
  for (std::uint32_t face = 0; face < surface.faceCount(); ++face) {
    for (std::uint32_t k = 0; k < 3; ++k) {
      if (surface.isBoundaryVertex(surface.faces()[face][k])) continue;
      for (int a = 0; a < 48; ++a) {  // multiples of 45 degrees run along edges and through vertices
        const Vec2 x_axis = surface.frames()[face].directionToFace({1, 0, 0});
        const double angle = std::atan2(x_axis.y(), x_axis.x()) + 2 * std::numbers::pi * a / 48;
        const Vec2 direction = polar(0.3, angle);
        const WalkOutcome outcome = walk(surface, corner(face, k), direction);
        const Vec3 way = surface.frames()[face].directionFromFace(direction);
        const Vec3 expected = surface.positions()[surface.faces()[face][k]] + way;
        ASSERT_EQ(outcome.stop, WalkStop::kComplete);
        ASSERT_LT((surface.position(outcome.end) - expected).norm(), walkRounding(outcome, 0.3));
        ASSERT_LT((transported(surface, outcome, direction) - way).norm(), walkRounding(outcome, 0.3));
      }
    }
  }
}

TEST(Walk, AlongEdgesOfAFlatGridPassesVertex) {
  const Surface surface = build(flatGrid(8, 8));
  const double cell = 2.0 / 8;
  for (std::uint32_t face = 0; face < surface.faceCount(); ++face) {
    for (std::uint32_t e = 0; e < 3; ++e) {
      const auto& f = surface.faces()[face];
      const Vec3 a = surface.positions()[f[e]];
      const Vec3 way = surface.positions()[f[(e + 1) % 3]] - a;
      if (surface.isBoundaryVertex(f[(e + 1) % 3])) continue;
      for (const double t : {0.0, 0.25}) {
        const Vec2 direction = surface.frames()[face].directionToFace(way);
        const WalkOutcome outcome = walk(surface, onEdge(face, e, t), direction * (1.25 - t));
        ASSERT_EQ(outcome.stop, WalkStop::kComplete);
        ASSERT_GE(outcome.vertices, 1u);
        // Rounding decides on which side of the edge the path runs; it may change sides once per edge.
        ASSERT_LE(outcome.crossings, 2u);
        ASSERT_LT((surface.position(outcome.end) - (a + 1.25 * way)).norm(), walkRounding(outcome, 2 * cell));
      }
    }
  }
}

TEST(Walk, OnACylinderUnrolls) {
  constexpr std::uint32_t kSectors = 12;
  const Surface surface = build(cylinderBand(kSectors, 5));
  // Rounds: normalisation moves and scales; the axis stays z.
  const double scale = surface.surfaceFromAsset().scale;
  const double side = scale * 2 * std::sin(std::numbers::pi / kSectors), round = kSectors * side;
  const auto unrolled = [&](const Vec3& p) {
    const Vec3 q = surface.assetFromSurface()(p);
    const double angle = std::atan2(q.y(), q.x()) + 2 * std::numbers::pi;
    const double sector = std::floor(angle / (2 * std::numbers::pi / kSectors));
    const double middle = (sector + 0.5) * 2 * std::numbers::pi / kSectors;
    const double along = std::cos(std::numbers::pi / kSectors) * std::tan(angle - middle) * scale;
    return Vec2((sector + 0.5) * side + along, scale * q.z());
  };
  const auto starts = sampleSurface(surface, 5'000, 4);
  const RandomStream random(6, 0);
  int complete = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto [u, v] = random.uniform2(i);
    const Vec3 from = surface.position(starts[i]);
    const FaceFrame& frame = surface.frames()[starts[i].face];
    const Vec3 tangent = Vec3(0, 0, 1).cross(frame.normal());  // round the axis, counter-clockwise
    const Vec2 rise = polar(3 * v, 2 * std::numbers::pi * u);
    const Vec2 direction = frame.directionToFace(rise.x() * tangent + rise.y() * Vec3(0, 0, 1));
    const WalkOutcome outcome = walk(surface, starts[i], direction);
    if (outcome.stop != WalkStop::kComplete) continue;
    ++complete;
    const Vec2 difference = unrolled(surface.position(outcome.end)) - unrolled(from) - rise;
    const double rounding = walkRounding(outcome, 3);
    ASSERT_LT(std::abs(std::remainder(difference.x(), round)), rounding);
    ASSERT_LT(std::abs(difference.y()), rounding);
  }
  EXPECT_GT(complete, 1000);
}

TEST(Walk, OnAConeIsAStraightLineInTheDevelopedSector) {
  for (const double total : {1.2, 3.0, 5.5}) {
    constexpr std::uint32_t kSectors = 9;
    const Surface surface = build(cone(total, kSectors, 4));
    const Vec3 apex = surface.positions()[0];
    // Slant radius and developed angle of a point on one of the flat sectors.
    const auto developed = [&](const SurfacePoint& p) {
      const Vec3 q = surface.position(p) - apex;
      const double around = std::atan2(q.y(), q.x());
      const double sector = std::floor(around / (2 * std::numbers::pi / kSectors));
      const double middle = (sector + 0.5) * 2 * std::numbers::pi / kSectors;
      const Vec3 left(std::sin(middle), -std::cos(middle), 0);  // across the sector, clockwise
      return Vec2(q.norm(), (sector + 0.5) * total / kSectors + std::asin(-q.dot(left) / q.norm()));
    };
    const auto starts = sampleSurface(surface, 3'000, 8);
    const RandomStream random(7, 0);
    int complete = 0;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const auto [u, v] = random.uniform2(i);
      const FaceFrame& frame = surface.frames()[starts[i].face];
      const Vec3 outward = (surface.position(starts[i]) - apex).normalized();
      const Vec3 round = frame.normal().cross(outward);
      const Vec2 way = polar(v, 2 * std::numbers::pi * u);
      const WalkOutcome outcome =
          walk(surface, starts[i], frame.directionToFace(way.x() * outward + way.y() * round));
      if (outcome.stop != WalkStop::kComplete) continue;
      ++complete;
      const Vec2 from = developed(starts[i]), to = developed(outcome.end);
      const Vec2 line = Vec2(from.x(), 0) + way;
      // Passing the apex closely magnifies the angle, not the place.
      const double rounding = walkRounding(outcome, 1);
      ASSERT_NEAR(to.x(), line.norm(), rounding);
      const double angle = std::remainder(to.y() - from.y() - std::atan2(line.y(), line.x()), total);
      ASSERT_LT(std::abs(angle) * to.x(), 20 * rounding);
    }
    EXPECT_GT(complete, 300) << total;
  }
}

TEST(Walk, RoundAnIcosphereNearlyCloses) {
  const Surface surface = build(icosphere(5));
  const double radius = surface.surfaceFromAsset().scale;
  const auto starts = sampleSurface(surface, 200, 1);
  const RandomStream random(1, 0);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const Vec2 direction = polar(2 * std::numbers::pi * radius, 2 * std::numbers::pi * random.uniform(i));
    const WalkOutcome outcome = walk(surface, starts[i], direction);
    ASSERT_EQ(outcome.stop, WalkStop::kComplete);
    // Faces of size h follow the sphere to h^2 but turn it at random by a little at each of 200 crossings.
    EXPECT_LT((surface.position(outcome.end) - surface.position(starts[i])).norm(), 0.1 * radius);
  }
}

/// Angle of the tangent direction from vertex v towards `p` (in one of its faces), counted counter-clockwise
/// from the first edge of the vertex's fan, and the total angle.
std::pair<double, double> fanAngle(const Surface& surface, std::uint32_t v, const SurfacePoint& p) {
  const std::uint32_t first = surface.vertexHalfEdge()[v];
  std::uint32_t half_edge = first;
  double total = 0, found = -1;
  do {
    const std::uint32_t face = half_edge / 3, k = half_edge % 3;
    const auto& f = surface.faces()[face];
    EXPECT_EQ(f[k], v);
    const Vec3 a = surface.positions()[f[(k + 1) % 3]] - surface.positions()[v];
    const Vec3 b = surface.positions()[f[(k + 2) % 3]] - surface.positions()[v];
    if (face == p.face) {
      const Vec3 q = surface.position(p) - surface.positions()[v];
      found = total + std::atan2(a.cross(q).norm(), a.dot(q));
    }
    total += std::atan2(a.cross(b).norm(), a.dot(b));
    half_edge = surface.twins()[face][(k + 2) % 3];
  } while (half_edge != first && half_edge != kNone);
  return {found, total};
}

TEST(Walk, ThroughAVertexLeavesEqualAnglesOnBothSides) {
  const std::vector<Surface> surfaces = [] {
    std::vector<Surface> list;
    list.push_back(build(tetrahedron()));
    list.push_back(build(cube(2)));
    list.push_back(build(saddle()));
    list.push_back(build(cone(2.0, 7, 2)));
    list.push_back(build(torus(7, 11)));
    list.push_back(build(bumpySphere(2, 0.3, 4)));
    return list;
  }();
  const RandomStream random(2, 0);
  std::uint64_t index = 0;
  int passed = 0;
  for (const Surface& surface : surfaces) {
    for (std::uint32_t face = 0; face < surface.faceCount(); ++face) {
      for (std::uint32_t k = 0; k < 3; ++k) {
        const std::uint32_t v = surface.faces()[face][k];
        if (surface.isBoundaryVertex(v)) continue;
        const auto [a, b] = random.uniform2(index++);
        SurfacePoint start{face, {}};
        start.barycentric[k] = 0.9;
        start.barycentric[(k + 1) % 3] = 0.1 * a;
        start.barycentric[(k + 2) % 3] = 0.1 * (1 - a);
        const Vec2 to_vertex = surface.corners()[face][k] - surface.faceCoordinates(start);
        const Vec2 direction = to_vertex * (1 + 0.01 * (1 + b));
        const WalkOutcome outcome = walk(surface, start, direction);
        ASSERT_EQ(outcome.stop, WalkStop::kComplete);
        ASSERT_EQ(outcome.vertices, 1u);
        ASSERT_EQ(outcome.crossings, 0u);
        const auto [in, total] = fanAngle(surface, v, start);
        const auto [out, same_total] = fanAngle(surface, v, outcome.end);
        ASSERT_GE(out, 0);
        const double left = std::fmod(out - in + total, total);
        // The end is 1 % of the way past the vertex: angles seen from there lose two digits.
        ASSERT_NEAR(left, total / 2, 1e4 * kEps * (1 + total)) << surface.faceCount();
        // Transport keeps the angle to the path: the direction still points away from the vertex.
        const Vec3 away = surface.position(outcome.end) - surface.positions()[v];
        const Vec3 carried = transported(surface, outcome, direction);
        ASSERT_LT((carried.normalized() - away.normalized()).norm(), 1e4 * kEps);
        ++passed;
      }
    }
  }
  EXPECT_GT(passed, 1000);
}

TEST(Walk, StartsOnAnEdgeLikeJustInside) {
  const Surface surface = build(bumpySphere(2, 0.3, 1));
  const RandomStream random(11, 0);
  for (std::uint32_t face = 0; face < surface.faceCount(); ++face) {
    for (std::uint32_t e = 0; e < 3; ++e) {
      const auto [t, u] = random.uniform2(3 * face + e);
      const std::uint32_t twin = surface.twins()[face][e];
      const Vec2 direction = polar(0.3, 2 * std::numbers::pi * u);
      const WalkOutcome here = walk(surface, onEdge(face, e, t), direction);
      const Rigid2 hinge = surface.neighbourFromFace(face, static_cast<int>(e));
      const WalkOutcome there = walk(surface, onEdge(twin / 3, twin % 3, 1 - t), hinge.rotate(direction));
      SurfacePoint inside = onEdge(face, e, t);
      inside.barycentric = 0.999999 * inside.barycentric + Vec3::Constant(0.000001 / 3);
      const WalkOutcome near = walk(surface, inside, direction);
      const Vec3 end = surface.position(here.end);
      ASSERT_LT((end - surface.position(there.end)).norm(),
                walkRounding(here, 0.3) + walkRounding(there, 0.3));
      // A vertex between the two paths would part them; none is, for these seeds.
      ASSERT_LT((end - surface.position(near.end)).norm(), 1e-5);
    }
  }
}

TEST(Walk, StartsAtAVertexLikeJustInside) {
  for (const Soup& soup : {bumpySphere(2, 0.3, 2), cube(2), saddle(), cone(2.5, 6, 3)}) {
    const Surface surface = build(soup);
    for (std::uint32_t face = 0; face < surface.faceCount(); ++face) {
      for (std::uint32_t k = 0; k < 3; ++k) {
        // Directions up to a quarter turn to either side of the face: beyond, the two ways round differ.
        const auto& c = surface.corners()[face];
        const Vec2 into = ((c[(k + 1) % 3] - c[k]).normalized() + (c[(k + 2) % 3] - c[k]).normalized());
        for (int a = -7; a <= 7; ++a) {
          const double angle = std::atan2(into.y(), into.x()) + 0.0123 + a * std::numbers::pi / 16;
          const Vec2 direction = polar(0.05, angle);
          SurfacePoint inside = corner(face, k);
          inside.barycentric = (1 - 1e-7) * inside.barycentric + Vec3::Constant(1e-7 / 3);
          const WalkOutcome at = walk(surface, corner(face, k), direction);
          const WalkOutcome near = walk(surface, inside, direction);
          ASSERT_EQ(at.stop, near.stop) << soup.name;
          // A start 1e-7 away from a boundary that is met at a small angle stops a little further on.
          const double apart = at.stop == WalkStop::kBoundary ? 1e-4 : 1e-6;
          ASSERT_LT((surface.position(at.end) - surface.position(near.end)).norm(), apart) << soup.name;
          ASSERT_LT((transported(surface, at, direction) - transported(surface, near, direction)).norm(),
                    1e-6);
        }
      }
    }
  }
}

TEST(Walk, InTwoPartsIsTheSameWalk) {
  const Surface surface = build(bumpySphere(3, 0.3, 3));
  const auto starts = sampleSurface(surface, 5'000, 2);
  const RandomStream random(3, 0);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto [u, v] = random.uniform2(i);
    const Vec2 direction = polar(1, 2 * std::numbers::pi * u);
    const WalkOutcome whole = walk(surface, starts[i], direction);
    const WalkOutcome first = walk(surface, starts[i], v * direction);
    const WalkOutcome second = walk(surface, first.end, (1 - v) * first.end_from_start.rotate(direction));
    const double rounding = 2 * walkRounding(whole, 1);
    ASSERT_LT((surface.position(whole.end) - surface.position(second.end)).norm(), rounding);
    if (whole.end.face != second.end.face) continue;
    const Rigid2 composed = second.end_from_start * first.end_from_start;
    ASSERT_NEAR(composed.cosine, whole.end_from_start.cosine, rounding);
    ASSERT_NEAR(composed.sine, whole.end_from_start.sine, rounding);
    ASSERT_LT((composed.translation - whole.end_from_start.translation).norm(), rounding);
  }
}

TEST(Walk, NeverFailsOnOddInput) {
  const Surface surface = build(bumpySphere(2, 0.3, 5));
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const SurfacePoint start{3, {0.2, 0.3, 0.5}};
  for (const Vec2& direction : {Vec2(nan, 0), Vec2(0, nan), Vec2(inf, 1), Vec2(1, -inf), Vec2(nan, inf)}) {
    const WalkOutcome outcome = walk(surface, start, direction);
    EXPECT_EQ(outcome.stop, WalkStop::kBadInput);
    EXPECT_EQ(outcome.length, 0);
    EXPECT_EQ(outcome.end.face, start.face);
    EXPECT_EQ(outcome.end.barycentric, start.barycentric);
    EXPECT_EQ(outcome.end_from_start.cosine, 1);
  }
  EXPECT_EQ(walk(surface, start, {0, 0}).stop, WalkStop::kComplete);
  EXPECT_EQ(walk(surface, start, {0, 0}).length, 0);
  for (const double tiny : {1e-160, 1e-310, 5e-324}) {
    const WalkOutcome outcome = walk(surface, start, {tiny, tiny});
    EXPECT_EQ(outcome.stop, WalkStop::kComplete);
    EXPECT_LT((outcome.end.barycentric - start.barycentric).norm(), 1e-15);
  }
  for (const double huge : {1e6, 1e100, 1e200, 1.7e308}) {
    const WalkOutcome outcome = walk(surface, start, {huge, huge});
    EXPECT_GE(outcome.end.barycentric.minCoeff(), 0);
    EXPECT_NEAR(outcome.end.barycentric.sum(), 1, 8 * kEps);
    EXPECT_EQ(outcome.stop, WalkStop::kMaxCrossings);
    EXPECT_LE(outcome.crossings, WalkOptions().max_crossings);
  }
  for (const Vec3& b : {Vec3(nan, nan, nan), Vec3(-1, -1, -1), Vec3(inf, 0, 0), Vec3(2, 3, 5), Vec3(0, 0, 0),
                        Vec3(1.5, -0.5, 0), Vec3(1e308, 1e308, 1e308)}) {
    const WalkOutcome outcome = walk(surface, {3, b}, {0.1, 0.1});
    EXPECT_EQ(outcome.stop, WalkStop::kComplete);
    EXPECT_GE(outcome.end.barycentric.minCoeff(), 0) << b.transpose();
    EXPECT_NEAR(outcome.end.barycentric.sum(), 1, 8 * kEps);
  }
  EXPECT_EQ(walk(surface, {surface.faceCount(), {1, 0, 0}}, {0.1, 0}).stop, WalkStop::kBadInput);
}

TEST(Walk, SlidesAlongTheBoundaryOfARectangle) {
  const Surface surface = build(flatGrid(8, 6));
  const Rectangle rectangle(surface);
  WalkOptions options;
  options.boundary = BoundaryRule::kSlide;
  const auto starts = sampleSurface(surface, 5'000, 3);
  const RandomStream random(5, 0);
  int slid = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto [u, v] = random.uniform2(i);
    const Vec2 direction = polar(2 * v, 2 * std::numbers::pi * u);
    const Vec3 from = surface.position(starts[i]);
    const Vec3 way = surface.frames()[starts[i].face].directionFromFace(direction);
    const WalkOutcome outcome = walk(surface, starts[i], direction, options);
    // Sliding with the tangential part and stopping at right-angled corners is the projection onto the
    // rectangle.
    const Vec3 expected = (from + way).cwiseMax(rectangle.low).cwiseMin(rectangle.high);
    const double rounding = walkRounding(outcome, 2);
    ASSERT_LT((surface.position(outcome.end) - expected).norm(), rounding);
    ASSERT_LT((transported(surface, outcome, direction) - way).norm(), rounding);
    // In the plane the developed start stays where it is, slide or not.
    const Vec2 developed = outcome.end_from_start(surface.faceCoordinates(starts[i]));
    ASSERT_LT((surface.frames()[outcome.end.face].fromFace(developed) - from).norm(), rounding);
    slid += outcome.stop == WalkStop::kSlid;
  }
  EXPECT_GT(slid, 1000);
}

TEST(Walk, SlidesPastAReflexCornerStraightOn) {
  Soup soup = flatGrid(4, 4);  // without its upper right quarter: an L with a reflex corner in the middle
  std::erase_if(soup.faces, [&](const auto& f) {
    const Vec3 middle = (soup.positions[f[0]] + soup.positions[f[1]] + soup.positions[f[2]]) / 3;
    return middle.x() > 2 && middle.y() > 2;
  });
  const Surface surface = build(soup);
  WalkOptions options;
  options.boundary = BoundaryRule::kSlide;
  const auto& map = surface.surfaceFromAsset();
  // Up along x = 1.5, a little to the right: meets x = 2 at y = 2.5 ... on the way down it passes the corner.
  std::uint32_t start_face = kNone;
  const Vec3 from = map(Vec3(1.7, 3.4, 0));
  Vec3 barycentric;
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    barycentric = surface.barycentric(f, surface.frames()[f].toFace(from));
    if (barycentric.minCoeff() >= 0) {
      start_face = f;
      break;
    }
  }
  ASSERT_NE(start_face, kNone);
  const Vec3 way = map.scale * Vec3(1, -2, 0);  // meets x = 2 at y = 2.8, slides down 1.4, passes y = 2
  const WalkOutcome outcome =
      walk(surface, {start_face, barycentric}, surface.frames()[start_face].directionToFace(way), options);
  EXPECT_EQ(outcome.stop, WalkStop::kSlid);
  EXPECT_LT((surface.position(outcome.end) - map(Vec3(2, 1.4, 0))).norm(), walkRounding(outcome, 2));
}

TEST(Walk, SlidesRoundTheRimOfACone) {
  const Surface surface = build(cone(4.0, 12, 3));
  WalkOptions options;
  options.boundary = BoundaryRule::kSlide;
  const WalkChecker checker(surface);
  const auto starts = sampleSurface(surface, 2'000, 3);
  const RandomStream random(5, 0);
  int slid = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const Vec2 direction = polar(4, 2 * std::numbers::pi * random.uniform(i));
    const WalkOutcome outcome = walk(surface, starts[i], direction, options);
    ASSERT_LE(outcome.length, 4 + walkRounding(outcome, 4));
    ASSERT_GE(outcome.end.barycentric.minCoeff(), 0);
    ASSERT_TRUE(outcome.stop != WalkStop::kMaxCrossings);
    if (outcome.stop != WalkStop::kSlid) continue;
    ++slid;
    ASSERT_TRUE(checker.isOnBoundary(outcome.end));  // a convex rim is not left again
  }
  EXPECT_GT(slid, 500);
}

TEST(Walk, BatchAndWalkerGiveTheSameBitsOnAnyNumberOfThreads) {
  const Surface surface = build(bumpySphere(3, 0.3, 6));
  const auto starts = sampleSurface(surface, 3'001, 2);
  std::vector<Vec2> directions;
  const RandomStream random(3, 0);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto [u, v] = random.uniform2(i);
    directions.push_back(polar(v, 2 * std::numbers::pi * u));
  }
  const auto bits = [](const WalkOutcome& o) {
    std::vector<std::uint64_t> list = {o.end.face, o.crossings, o.vertices,
                                       static_cast<std::uint64_t>(o.stop)};
    for (const double x :
         {o.end.barycentric[0], o.end.barycentric[1], o.end.barycentric[2], o.length, o.end_from_start.cosine,
          o.end_from_start.sine, o.end_from_start.translation.x(), o.end_from_start.translation.y()}) {
      list.push_back(std::bit_cast<std::uint64_t>(x));
    }
    return list;
  };
  std::vector<std::vector<std::uint64_t>> reference;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    reference.push_back(bits(walk(surface, starts[i], directions[i])));
  }
  const int before = threadCount();
  for (const int threads : {1, 2, 3, 8}) {
    setThreadCount(threads);
    const Walker walker(surface);
    std::vector<WalkOutcome> outcomes(starts.size()), table_outcomes(starts.size());
    walk(surface, starts, directions, outcomes);
    walker.walk(starts, directions, table_outcomes);
    for (std::size_t i = 0; i < starts.size(); ++i) {
      ASSERT_EQ(bits(outcomes[i]), reference[i]) << threads;
      ASSERT_EQ(bits(table_outcomes[i]), reference[i]) << threads;
      ASSERT_EQ(bits(walker.walk(starts[i], directions[i])), reference[i]);
    }
  }
  setThreadCount(before);
}

}  // namespace
}  // namespace heatskin
