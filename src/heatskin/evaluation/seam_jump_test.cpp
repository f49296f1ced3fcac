#include "heatskin/evaluation/seam_jump.h"

#include <gtest/gtest.h>

#include "heatskin/evaluation/pictures.h"
#include "heatskin/evaluation/test_textures.h"

namespace heatskin {
namespace {

using testing::build;

TEST(SampleEdges, BothFacesSeeTheSamePlace) {
  const Surface surface = build(testing::icosphere(2));
  for (const EdgePoint& p : sampleEdges(surface, 2000, 5)) {
    EXPECT_NE(p.first.face, p.second.face);
    EXPECT_LT((surface.position(p.first) - surface.position(p.second)).norm(), 1e-14);
    EXPECT_EQ(p.first.barycentric.minCoeff(), 0);
    EXPECT_NEAR(p.first.barycentric.sum(), 1, 1e-15);
  }
}

TEST(SampleEdges, IsUniformInLengthAndLeavesBoundariesOut) {
  // A 1 x 2 grid: interior edges are two diagonals of sqrt 2 and one side of 1.
  const Surface surface = build(testing::flatGrid(1, 2));
  std::size_t straight = 0;
  constexpr std::size_t kCount = 40'000;
  for (const EdgePoint& p : sampleEdges(surface, kCount, 1)) {
    const auto& face = surface.faces()[p.first.face];
    Vec3 from = Vec3::Zero(), to = Vec3::Zero();
    int seen = 0;
    for (int c = 0; c < 3; ++c) {
      if (p.first.barycentric[c] == 0) continue;
      (seen++ == 0 ? from : to) = surface.positions()[face[static_cast<std::size_t>(c)]];
    }
    const Vec3 edge = to - from;
    straight += std::min(std::abs(edge.x()), std::abs(edge.y())) < 1e-9 ? 1 : 0;
  }
  const double expected = 1 / (1 + 2 * std::sqrt(2.0));
  EXPECT_NEAR(static_cast<double>(straight) / kCount, expected, 0.01);
}

TEST(SampleEdges, IsEmptyWithoutInteriorEdges) {
  testing::Soup one{"triangle", {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, {{0, 1, 2}}};
  EXPECT_TRUE(sampleEdges(build(one), 100, 1).empty());
  EXPECT_EQ(seamJump(build(one), constantColor({1, 0, 0}), 100, 1).points, 0u);
}

TEST(SeamJump, IsZeroForColoursThatDependOnThePlace) {
  const Surface surface = build(testing::icosphere(2));
  const ColorSource smooth = [&](std::span<const SurfacePoint> points, std::span<Vec3f> out) {
    for (std::size_t i = 0; i < points.size(); ++i)
      out[i] = (0.5 * surface.position(points[i]) + Vec3::Constant(0.5)).cast<float>();
  };
  const SeamJump jump = seamJump(surface, smooth, 5000, 2);
  EXPECT_EQ(jump.points, 5000u);
  EXPECT_LT(jump.maximum, 1e-4);
  EXPECT_EQ(jump.above_one, 0);
}

// A planted seam: one face of the 320 is 10 levels brighter in green, 4 darker in blue.
TEST(SeamJump, FindsAPlantedSeam) {
  const Surface surface = build(testing::icosphere(2));
  const std::uint32_t odd = 17;
  const ColorSource planted = [&](std::span<const SurfacePoint> points, std::span<Vec3f> out) {
    for (std::size_t i = 0; i < points.size(); ++i)
      out[i] = points[i].face == odd ? Vec3f(0.5f, 0.5f + 10 / 255.0f, 0.5f - 4 / 255.0f)
                                     : Vec3f(0.5f, 0.5f, 0.5f);
  };
  constexpr std::size_t kCount = 100'000;
  const SeamJump jump = seamJump(surface, planted, kCount, 3);
  EXPECT_NEAR(jump.maximum, 10, 1e-4);
  EXPECT_EQ(jump.median, 0);
  double all = 0, touched = 0;
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    for (std::size_t e = 0; e < 3; ++e) {
      const double length = (surface.corners()[f][(e + 1) % 3] - surface.corners()[f][e]).norm();
      all += length / 2;
      if (f == odd) touched += length;
    }
  }
  // Three standard deviations of a binomial share.
  const double share = touched / all;
  EXPECT_NEAR(jump.above_one, share, 3 * std::sqrt(share / kCount));
}

TEST(SeamJump, OfAFlatTextureIsWhatTheRimOfASupportLeaves) {
  // In the plane every development is exact: faces differ only where a kernel ends at one of them.
  const KernelTexture texture = testing::makeTexture(testing::flatGrid(6, 6), 60);
  const SeamJump jump = seamJump(texture.surface(), textureColors(texture), 5000, 2);
  constexpr double kRim_levels = 0.01 * 0.4 * 255;  // tail of the support times the largest colour
  EXPECT_LT(jump.p99, kRim_levels);
  EXPECT_LT(jump.median, 1e-3);
}

}  // namespace
}  // namespace heatskin
