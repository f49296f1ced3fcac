#include "heatskin/evaluators/local/supports.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/surface/closest_point.h"
#include "heatskin/surface/sampling.h"

#include "support/tiny_surfaces.h"

namespace heatskin::local {
namespace {

/// The paper's rule and ours: everything here holds for both.
class Supports : public ::testing::TestWithParam<Sight> {
 protected:
  Supports() {
    options_.sight = GetParam();
    if (options_.sight == Sight::kCarried) options_.edge_tolerance = 0.5;
  }

  LocalOptions options_;
};

std::vector<SupportSource> sourcesOn(const Surface& surface, std::size_t count, float radius) {
  std::vector<SupportSource> sources;
  for (const SurfacePoint& p : sampleSurface(surface, count, 1)) {
    sources.push_back({p.face, surface.faceCoordinates(p).cast<float>(), radius});
  }
  return sources;
}

void expectEqual(const SupportTable& a, const SupportTable& b) {
  ASSERT_EQ(a.faceCount(), b.faceCount());
  for (std::uint32_t f = 0; f < a.faceCount(); ++f) {
    const FacePairs x = a.of(f), y = b.of(f);
    ASSERT_EQ(x.count, y.count) << f;
    for (std::uint32_t i = 0; i < x.count; ++i) {
      ASSERT_EQ(x.kernels[i], y.kernels[i]) << f << " " << i;
      if (a.joined()) {
        ASSERT_EQ(x.charts[i], y.charts[i]) << f << " " << i;
      } else {
        ASSERT_EQ(x.developments[i], y.developments[i]) << f << " " << i;
      }
    }
  }
}

TEST_P(Supports, OnAPlaneTheDevelopmentIsThePlaneItself) {
  const Surface surface = testing::build(testing::flatGrid(12, 12));
  const SupportBuilder builder(surface, options_);
  for (const SupportSource& source : sourcesOn(surface, 50, 0.4f)) {
    const Vec3 center = surface.frames()[source.face].fromFace(source.center.cast<double>());
    std::set<std::uint32_t> reached;
    for (const auto& pair : builder.propagate(source)) {
      EXPECT_TRUE(reached.insert(pair.face).second) << "each pair is finalised once";
      const auto [c, s, x, y] = pair.development;
      const Rigid2 development{c, s, {x, y}};
      const Vec2 developed = development(source.center.cast<double>());
      // Float motions across up to a dozen hinges.
      EXPECT_LT((surface.frames()[pair.face].fromFace(developed) - center).norm(), 1e-5);
    }
    // Nothing within the radius is missed: on a convex plane every straight line stays inside.
    for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
      if ((surface.frames()[f].origin - center).norm() < 0.4) {
        EXPECT_EQ(reached.count(f), 1u);
      }
    }
  }
}

TEST_P(Supports, NoPairComesTwiceAndAllAreWithinReach) {
  const Surface surface = testing::build(testing::bumpySphere(3, 0.2, 5));
  const SupportBuilder builder(surface, options_);
  for (const SupportSource& source : sourcesOn(surface, 100, 0.6f)) {
    std::set<std::uint32_t> reached;
    for (const auto& pair : builder.propagate(source)) {
      EXPECT_TRUE(reached.insert(pair.face).second);
      const auto [c, s, x, y] = pair.development;
      const Rigid2 development{c, s, {x, y}};
      const auto& corners = surface.corners()[pair.face];
      double radius = 0;
      for (const Vec2& corner : corners)
        radius = std::max(radius, corner.norm());
      EXPECT_LT(development(source.center.cast<double>()).norm(), 0.6 + radius + 1e-5);
    }
    EXPECT_GT(reached.size(), 20u);
  }
}

/// Where a chart puts a corner of its face.
Vec2f placeOf(const Chart& c, const Vec2& corner) {
  const Vec2f p = corner.cast<float>();
  return {c.xx * p.x() + c.xy * p.y() + c.x, c.yx * p.x() + c.yy * p.y() + c.y};
}

TEST_P(Supports, JoinedCornersLieAtOnePlaceForAllTheirFaces) {
  options_.join_corners = true;
  for (const double bumps : {0.0, 0.03, 0.4}) {
    const Surface surface = testing::build(testing::bumpySphere(2, bumps, 5));
    const SupportBuilder builder(surface, options_);
    std::size_t moved = 0, corners = 0, places_left = 0, vertices = 0;
    for (const SupportSource& source : sourcesOn(surface, 100, 0.6f)) {
      const auto pairs = builder.propagate(source);
      const auto charts = builder.joinCorners(source, pairs);
      ASSERT_EQ(charts.size(), pairs.size());
      std::map<std::uint32_t, std::vector<Vec2f>> places;  // of a vertex, different ones
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const auto [c, s, x, y] = pairs[i].development;
        const Rigid2 alone = Rigid2{c, s, {x, y}}.inverse();
        for (std::size_t corner = 0; corner < 3; ++corner) {
          const Vec2& at = surface.corners()[pairs[i].face][corner];
          const Vec2f place = placeOf(charts[i], at);
          moved += (place - alone(at).cast<float>()).norm() > 1e-4f;
          ++corners;
          auto& list = places[surface.faces()[pairs[i].face][corner]];
          // Float maps of faces with corners 0.3 apart.
          const auto same = [&](const Vec2f& other) { return (place - other).norm() < 1e-5f; };
          if (std::none_of(list.begin(), list.end(), same)) list.push_back(place);
        }
      }
      vertices += places.size();
      for (const auto& [vertex, list] : places)
        places_left += list.size();
    }
    EXPECT_GT(moved, corners / 50)
        << "a sphere is not flat: developments disagree, so the test tests something";
    // On a ball without sharp bumps nothing is far apart; on the wildest a vertex may be seen two ways.
    EXPECT_LE(places_left, bumps < 0.1 ? vertices : vertices + vertices / 3) << bumps;
  }
}

TEST_P(Supports, OnAPlaneChartsAreTheDevelopments) {
  options_.join_corners = true;
  const Surface surface = testing::build(testing::flatGrid(12, 12));
  const SupportBuilder builder(surface, options_);
  for (const SupportSource& source : sourcesOn(surface, 20, 0.4f)) {
    const auto pairs = builder.propagate(source);
    const auto charts = builder.joinCorners(source, pairs);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto [c, s, x, y] = pairs[i].development;
      const Rigid2 alone = Rigid2{c, s, {x, y}}.inverse();
      for (const Vec2& corner : surface.corners()[pairs[i].face])
        EXPECT_LT((placeOf(charts[i], corner) - alone(corner).cast<float>()).norm(), 2e-6f);
    }
  }
}

TEST_P(Supports, TheTableHoldsTheSinglePropagationsForAnyThreadCount) {
  const Surface surface = testing::build(testing::torus(24, 40));
  for (const bool joined : {false, true}) {
    options_.join_corners = joined;
    SupportBuilder builder(surface, options_);
    const auto sources = sourcesOn(surface, 300, 0.3f);
    std::vector<std::uint32_t> order(sources.size()), rank(sources.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      order[i] = (i * 7 + 3) % 300;
      rank[order[i]] = i;
    }
    SupportTable expected;
    setThreadCount(1);
    builder.build(sources, order, expected);
    std::size_t pairs = 0;
    for (std::uint32_t i = 0; i < sources.size(); ++i) {
      const auto reached = builder.propagate(sources[i]);
      const auto charts = joined ? builder.joinCorners(sources[i], reached) : std::vector<Chart>();
      std::size_t n = 0;
      for (const auto& pair : reached) {
        ++pairs;
        const FacePairs there = expected.of(pair.face);
        const auto end = there.kernels + there.count;
        const auto found =
            std::lower_bound(there.kernels, end, i, [&](auto a, auto b) { return rank[a] < rank[b]; });
        ASSERT_TRUE(found != end && *found == i) << "in the order given, within the face";
        const auto at = static_cast<std::size_t>(found - there.kernels);
        if (joined) {
          EXPECT_EQ(there.charts[at], charts[n++]);
        } else {
          EXPECT_EQ(there.developments[at], pair.development);
        }
      }
    }
    EXPECT_EQ(pairs, expected.pairCount());
    for (const int threads : {2, 3, 8}) {
      setThreadCount(threads);
      SupportTable table;
      SupportBuilder(surface, options_).build(sources, order, table);
      expectEqual(table, expected);
    }
    setThreadCount(0);
  }
}

TEST_P(Supports, WhatIsKeptFromTheLastCallChangesNothing) {
  // More kernels than go in one round, small ones.
  const Surface surface = testing::build(testing::torus(24, 40));
  options_.join_corners = true;
  SupportBuilder builder(surface, options_);
  constexpr std::size_t kMany = 40'000;
  auto sources = sourcesOn(surface, kMany, 0.02f);
  SupportTable kept;
  for (const std::size_t count : {kMany, kMany, kMany - 500, kMany - 300}) {
    // Some move, some grow, some go and come, one is there twice; the others were there the last time. At
    // last all have other numbers.
    for (std::size_t i = count % 7; i < count; i += 5)
      sources[i].radius *= 0.9f;
    for (std::size_t i = 3; i < count; i += 11)
      sources[i].center *= 0.5f;
    sources[1] = sources[0];
    if (count == kMany - 300) std::reverse(sources.begin(), sources.end());
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count % 1000), order.end());
    std::swap(order[5], order[count - 7]);
    const std::vector<SupportSource> now(sources.begin(),
                                         sources.begin() + static_cast<std::ptrdiff_t>(count));
    SupportTable fresh;
    builder.build(now, order, kept);
    SupportBuilder(surface, options_).build(now, order, fresh);
    expectEqual(kept, fresh);
    builder.build(now, order, kept);
    expectEqual(kept, fresh);
  }
}

TEST_P(Supports, ATableOfAnotherBuilderOrWithFewerPairsIsMadeAnew) {
  const Surface surface = testing::build(testing::torus(24, 40)),
                other = testing::build(testing::torus(20, 30));
  const auto sources = sourcesOn(other, 300, 0.3f);
  std::vector<std::uint32_t> order(sources.size());
  std::iota(order.begin(), order.end(), 0u);
  SupportTable table, expected;
  SupportBuilder(surface, options_).build(sources, order, table);
  SupportBuilder builder(other, options_);
  builder.build(sources, order, expected);
  builder.build(sources, order, table);
  expectEqual(table, expected);
  const std::uint32_t first = 0;
  table.keepOnly(sources[0].face, std::span(&first, 1));
  EXPECT_EQ(table.of(sources[0].face).count, 1u);
  builder.build(sources, order, table);
  expectEqual(table, expected);
}

TEST(RotationOf, AChartTurnsAsItsDevelopmentDoesAndHardlyOtherwise) {
  for (const float angle : {-3.0f, -1.0f, 0.0f, 0.4f, 2.5f}) {
    const float c = std::cos(angle), n = std::sin(angle);
    // As supports make charts of developments: the inverse motion.
    const Chart plain{c, n, -n, c, 0.3f, -0.2f};
    EXPECT_LT((rotationOf(plain) - Vec2f(c, n)).norm(), 1e-6f);
    // A stretch along the source's axes before it is no rotation.
    const Chart stretched{1.1f * c, 1.1f * n, -0.9f * n, 0.9f * c, 0, 0};
    const Vec2f turned = rotationOf(stretched);
    EXPECT_NEAR(turned.norm(), 1, 1e-6);
    EXPECT_GT(turned.dot(Vec2f(c, n)), 0.99f);
  }
  EXPECT_EQ(rotationOf(Chart{0, 0, 0, 0, 0, 0}), Vec2f(1, 0));
}

TEST_P(Supports, StayInsideTheirComponentAndStopAtBoundaries) {
  testing::Soup two = testing::flatGrid(4, 4);
  const auto count = static_cast<std::uint32_t>(two.positions.size());
  const std::size_t faces = two.faces.size();
  for (std::uint32_t v = 0; v < count; ++v)
    two.positions.push_back(two.positions[v] + Vec3(0, 0, 0.01));
  for (std::size_t f = 0; f < faces; ++f) {
    two.faces.push_back({two.faces[f][0] + count, two.faces[f][1] + count, two.faces[f][2] + count});
  }
  const Surface surface = testing::build(two);
  ASSERT_EQ(surface.componentCount(), 2u);
  const SupportBuilder builder(surface, options_);
  for (const SupportSource& source : sourcesOn(surface, 20, 5.0f)) {
    const auto reached = builder.propagate(source);
    EXPECT_EQ(reached.size(), faces);
    for (const auto& pair : reached)
      EXPECT_EQ(surface.components()[pair.face], surface.components()[source.face]);
  }
}

TEST_P(Supports, InAFanNeedlesCountByTheirDistance) {
  // A flat disc of needles: the disc around a centre and the needles it meets, by brute force.
  constexpr std::uint32_t kSides = 3000;
  testing::Soup fan;
  fan.positions.emplace_back(0, 0, 0);
  for (std::uint32_t i = 0; i < kSides; ++i) {
    const double angle = 2 * std::numbers::pi * i / kSides;
    fan.positions.emplace_back(std::cos(angle), std::sin(angle), 0);
    fan.faces.push_back({0, i + 1, (i + 1) % kSides + 1});
  }
  const Surface surface = testing::build(fan);
  const SupportBuilder builder(surface, options_);
  constexpr float kRadius = 0.06f;
  std::size_t pairs = 0;
  for (const SupportSource& source : sourcesOn(surface, 60, kRadius)) {
    const Vec3 center = surface.frames()[source.face].fromFace(source.center.cast<double>());
    std::vector<std::uint8_t> reached(surface.faceCount(), 0);
    for (const auto& pair : builder.propagate(source)) {
      reached[pair.face] = 1;
      ++pairs;
    }
    std::size_t wrong = 0;
    for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
      const auto& t = surface.faces()[f];
      const Vec3 weights = closestBarycentric(center, surface.positions()[t[0]], surface.positions()[t[1]],
                                              surface.positions()[t[2]]);
      const double distance = (surface.position({f, weights}) - center).norm();
      // Float motions across up to 3,000 hinges.
      if (std::abs(distance - static_cast<double>(kRadius)) < 1e-4) continue;
      wrong += (distance < static_cast<double>(kRadius)) != (reached[f] != 0);
    }
    EXPECT_EQ(wrong, 0u) << center.transpose();
  }
  // By circles around centroids each source reached nearly all 3,000.
  EXPECT_LT(pairs / 60, 400u);
}

TEST_P(Supports, AroundAConePointNothingLoops) {
  const Surface surface = testing::build(testing::cone(1.0, 12, 6));
  const SupportBuilder builder(surface, options_);
  for (const SupportSource& source : sourcesOn(surface, 40, 10.0f)) {
    EXPECT_LE(builder.propagate(source).size(), surface.faceCount());
  }
}

INSTANTIATE_TEST_SUITE_P(EverySight, Supports, ::testing::Values(Sight::kLastEdge, Sight::kCarried),
                         [](const auto& test) {
                           return test.param == Sight::kCarried ? "Carried" : "LastEdge";
                         });

}  // namespace
}  // namespace heatskin::local
