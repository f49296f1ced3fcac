#include "heatskin/transfer/correspondence.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/transfer/carried_target.h"
#include "heatskin/transfer/carry_kernels.h"

#include "support/products.h"
#include "support/tiny_surfaces.h"

namespace heatskin::testing {
namespace {

/// Two sheets, the lower one facing down: a wall of this thickness.
Soup wall(std::uint32_t n, double thickness) {
  Soup soup = flatGrid(n, n);
  const auto count = static_cast<std::uint32_t>(soup.positions.size());
  const std::size_t faces = soup.faces.size();
  for (std::uint32_t v = 0; v < count; ++v)
    soup.positions.push_back(soup.positions[v] - Vec3(0, 0, thickness));
  for (std::size_t f = 0; f < faces; ++f) {
    const auto t = soup.faces[f];
    soup.faces.push_back({t[0] + count, t[2] + count, t[1] + count});
  }
  return soup;
}

TEST(Correspondence, FindsTheSamePlaceOnAnotherTessellation) {
  const Surface coarse = build(icosphere(3)), fine = build(icosphere(4));
  const Correspondence there(coarse, fine);
  EXPECT_GT(there.matchedShare(), 0.999);
  for (const SurfacePoint& p : sampleSurface(coarse, 500, 1)) {
    const Counterpart found = there.find(p);
    EXPECT_TRUE(found.matched);
    EXPECT_LT((fine.position(found.point) - there.toFromFrom()(coarse.position(p))).norm(), 0.02);
  }
}

TEST(Correspondence, NeverGoesThroughAThinWall) {
  // The sheets are nearer to each other than the two tessellations are to themselves.
  Soup moved = wall(7, 0.004);
  for (Vec3& p : moved.positions)
    p.z() -= 0.003;
  const Surface from = build(wall(5, 0.004)), to = build(moved);
  const Correspondence there(from, to);
  std::size_t nearest_is_other = 0;
  for (const SurfacePoint& p : sampleSurface(from, 500, 1)) {
    const Counterpart found = there.find(p);
    ASSERT_TRUE(found.matched);
    const double up = from.frames()[p.face].normal().z();
    EXPECT_GT(up * to.frames()[found.point.face].normal().z(), 0);
    nearest_is_other += up < 0 ? 1 : 0;
  }
  EXPECT_GT(nearest_is_other, 100u) << "the test tests something";
}

TEST(Correspondence, KnowsPartsThatAreWoundTheOtherWayRound) {
  Soup turned = icosphere(3);
  for (auto& face : turned.faces)
    std::swap(face[1], face[2]);
  const Surface from = build(turned), to = build(icosphere(3));
  EXPECT_GT(Correspondence(from, to).matchedShare(), 0.99);
}

TEST(Correspondence, FindsAnObjectThatWasMovedAndScaled) {
  Soup moved = bumpySphere(3, 0.2, 1);
  for (Vec3& p : moved.positions)
    p = 100 * p + Vec3(5000, 0, 0);
  const Surface from = build(bumpySphere(3, 0.2, 1)), to = build(moved);
  EXPECT_GT(Correspondence(from, to).matchedShare(), 0.99);
}

TEST(Correspondence, SaysWhatHasNothingInCommon) {
  Soup far = flatGrid(4, 4);
  for (Vec3& p : far.positions)
    p *= 1.0;
  const Surface a = build(icosphere(2)), b = build(far);
  EXPECT_LT(Correspondence(a, b).matchedShare(), 0.1);
}

TEST(Correspondence, CarriesDirectionsAsRotations) {
  const Surface coarse = build(icosphere(2)), fine = build(icosphere(3));
  const Correspondence there(coarse, fine);
  for (const SurfacePoint& p : sampleSurface(coarse, 200, 1)) {
    const Counterpart found = there.find(p);
    const Vec2 x = there.carry(p.face, found.point.face, {1, 0}),
               y = there.carry(p.face, found.point.face, {0, 1});
    EXPECT_NEAR(x.norm(), 1, 1e-9);
    EXPECT_NEAR(x.dot(y), 0, 1e-9);
    EXPECT_NEAR(cross2(x, y), 1, 1e-9) << "not mirrored";
    const Vec3 before = coarse.frames()[p.face].directionFromFace({1, 0});
    EXPECT_GT(before.dot(fine.frames()[found.point.face].directionFromFace(x)), 0.9);
  }
}

TEST(CarriedTarget, HasTheValuesOfTheOtherSurface) {
  const Surface coarse = build(icosphere(3)), fine = build(icosphere(4));
  const FunctionTarget look(fine, [](const Vec3& p, std::span<float> values) {
    for (int c = 0; c < 3; ++c)
      values[static_cast<std::size_t>(c)] = static_cast<float>(0.5 + 0.4 * p.normalized()[c]);
  });
  const Correspondence back(coarse, fine);
  const CarriedTarget target(look, back);
  EXPECT_EQ(target.unmatchedArea(), 0);
  const std::vector<SurfacePoint> points = sampleSurface(coarse, 200, 1);
  std::vector<float> values(3 * points.size());
  target.values(points, values);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Vec3 p = coarse.position(points[i]).normalized();
    for (int c = 0; c < 3; ++c)
      EXPECT_NEAR(values[3 * i + static_cast<std::size_t>(c)], 0.5 + 0.4 * p[c], 0.02);
  }
}

TEST(CarriedTarget, FillsWhatHasNoCounterpartFromItsSurroundings) {
  // A sheet of one colour with a piece that the source does not have.
  const Surface source = build(flatGrid(10, 10)), whole = [] {
    Soup soup = flatGrid(20, 10);
    return build(soup);
  }();
  const FunctionTarget look([](const SurfacePoint&, std::span<float> values) {
    values[0] = 0.25f;
    values[1] = 0.5f;
    values[2] = 0.75f;
  });
  const Correspondence back(whole, source);
  const CarriedTarget target(look, back);
  EXPECT_NEAR(target.unmatchedArea(), 0.5, 0.06);
  const std::vector<SurfacePoint> points = sampleSurface(whole, 300, 1);
  std::vector<float> values(3 * points.size());
  target.values(points, values);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_NEAR(values[3 * i], 0.25f, 1e-5);
    EXPECT_NEAR(values[3 * i + 2], 0.75f, 1e-5);
  }
}

TEST(CarryKernels, KeepsPlaceDirectionAndLengthInSpace) {
  Soup scaled = icosphere(4);
  for (Vec3& p : scaled.positions)
    p *= 1.0;
  const Surface from = build(icosphere(3)), to = build(scaled);
  const KernelSet kernels = randomKernels(from, 200);
  const Correspondence there(from, to);
  const CarriedKernels carried = carryKernels(kernels, there);
  ASSERT_EQ(carried.kernels.size(), 200u);
  EXPECT_EQ(carried.dropped, 0u);
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_LT(
        (to.position(carried.kernels.positions[i]) - there.toFromFrom()(from.position(kernels.positions[i])))
            .norm(),
        0.02);
    const auto axis = [](const Surface& s, const KernelSet& k, std::size_t n) {
      return s.frames()[k.positions[n].face].directionFromFace(
          {std::cos(k.angles[n]), std::sin(k.angles[n])});
    };
    EXPECT_GT(std::abs(axis(from, kernels, i).dot(axis(to, carried.kernels, i))), 0.95);
    EXPECT_NEAR(carried.kernels.lengths[i], kernels.lengths[i] * there.toFromFrom().scale, 1e-4);
    EXPECT_EQ(carried.kernels.channels[i], kernels.channels[i]);
  }
}

TEST(CarryKernels, DropsThoseWithoutACounterpart) {
  const Surface from = build(flatGrid(20, 10)), to = build(flatGrid(10, 10));
  const KernelSet kernels = randomKernels(from, 400);
  const CarriedKernels carried = carryKernels(kernels, Correspondence(from, to));
  EXPECT_NEAR(static_cast<double>(carried.dropped), 200, 40);
  EXPECT_EQ(carried.kernels.size() + carried.dropped, 400u);
}

}  // namespace
}  // namespace heatskin::testing
