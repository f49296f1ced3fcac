#include "heatskin/evaluators/local/edge_window.h"

#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"

namespace heatskin::local {
namespace {

// The source below, looking up at an edge from the left to the right, one unit above it.
constexpr Point kSource{0, -2};
constexpr Segment kEdge{{-1, -1}, {2, 0}};

/// A visible part of an edge half way up, by the places on kEdge that its ends point at.
Visible throughTo(float low, float high) {
  const auto halfWay = [](float w) {
    const Point end = kEdge.at(w);
    return Point{0.5f * (kSource.x + end.x), 0.5f * (kSource.y + end.y)};
  };
  return {halfWay(low), halfWay(high)};
}

TEST(EdgeWindow, IsWhereTheRaysMeetTheEdge) {
  const RandomStream random(1, 2);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto u = random.uniform2(i);
    const auto low = static_cast<float>(std::min(u[0], u[1]) * 1.4 - 0.2),
               high = static_cast<float>(std::max(u[0], u[1]) * 1.4 - 0.2);
    const Window window = windowOnEdge(kEdge, kSource, throughTo(low, high));
    EXPECT_NEAR(window.low, std::clamp(low, 0.0f, 1.0f), 1e-5f);
    EXPECT_NEAR(window.high, std::clamp(high, 0.0f, 1.0f), 1e-5f);
    if (low < 0.99f && high > 0.01f) {
      EXPECT_EQ(window.missed, 0);
    }
  }
}

TEST(EdgeWindow, WhatIsHiddenHasTheNearestEndAndTheDistanceToIt) {
  // Everything visible lies to the right of the edge: its end (1, -1) misses the left ray.
  const Window right = windowOnEdge(kEdge, kSource, throughTo(1.5f, 1.8f));
  EXPECT_EQ(right.low, 1);
  EXPECT_EQ(right.high, 1);
  // The ray through (2, -1) from (0, -2): the distance of (1, -1) from it is 1 / sqrt(5).
  EXPECT_NEAR(right.missed, 1 / std::sqrt(5.0f), 1e-6f);
  const Window left = windowOnEdge(kEdge, kSource, throughTo(-0.8f, -0.5f));
  EXPECT_EQ(left.low, 0);
  EXPECT_EQ(left.high, 0);
  EXPECT_NEAR(left.missed, 1 / std::sqrt(5.0f), 1e-6f);
}

TEST(EdgeWindow, APointAtTheSourceSaysNothing) {
  const Window window = windowOnEdge(kEdge, kSource, {kSource, kSource});
  EXPECT_EQ(window.low, 0);
  EXPECT_EQ(window.high, 1);
  EXPECT_EQ(window.missed, 0);
}

TEST(EdgeWindow, PathsAreStraightWhereTheyCanBe) {
  const float squared = dot(kSource, kSource);
  EXPECT_NEAR(pathLength(kEdge, kSource, {0, 1, 0}, 0.5f, squared), 2, 1e-6f);
  // Through the right quarter: over (0.5, -1), and a tenth of the detour more.
  const float bent = 2 * std::sqrt(1.25f);
  EXPECT_NEAR(pathLength(kEdge, kSource, {0.75f, 1, 0}, 0.5f, squared), bent + 0.1f * (bent - 2), 1e-6f);
  // A closed window costs, but no more than the edge is long.
  EXPECT_NEAR(pathLength(kEdge, kSource, {0.5f, 0.5f, 0.01f}, 0.5f, squared), 2.2f, 1e-6f);
  EXPECT_NEAR(pathLength(kEdge, kSource, {0.5f, 0.5f, 5}, 0.5f, squared), 4, 1e-6f);
}

TEST(EdgeWindow, DistancesToSegmentsAreThoseOfTheNearestOfManyPoints) {
  const RandomStream random(3, 4);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto u = random.uniform2(3 * i), v = random.uniform2(3 * i + 1), w = random.uniform2(3 * i + 2);
    const auto point = [](const auto& x) {
      return Point{static_cast<float>(x[0]), static_cast<float>(x[1])};
    };
    const Point p = point(u), a = point(v), b = point(w);
    float nearest = 1e9f;
    for (int k = 0; k <= 1000; ++k) {
      const Point to = Segment{a, b - a}.at(static_cast<float>(k) / 1000) - p;
      nearest = std::min(nearest, dot(to, to));
    }
    EXPECT_NEAR(std::sqrt(squaredToSegment(p, a, b)), std::sqrt(nearest), 1e-3f);
    EXPECT_LE(squaredToSegment(p, a, b), nearest + 1e-6f);
  }
  EXPECT_EQ(squaredToSegment({3, 4}, {0, 0}, {0, 0}), 25) << "a segment without length is a point";
}

}  // namespace
}  // namespace heatskin::local
