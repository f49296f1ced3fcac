#include "heatskin/rendering/vertex_colors.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/color_space.h"
#include "heatskin/rendering/test_meshes.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

/// A sphere with bumps: no face is like another.
Surface bumpy(int level = 1) {
  testing::TriangleMesh mesh = testing::icosphere(level);
  for (Vec3& p : mesh.positions)
    p *= 1 + 0.2 * std::sin(3 * p.x() + 2 * p.y()) * std::cos(4 * p.z());
  SurfaceOptions options;
  options.principal_axes = false;
  auto built = Surface::build(mesh.positions, mesh.faces, options);
  EXPECT_TRUE(built);
  return std::move(*built);
}

/// Linear light that is linear in space.
ColorSource linearField(const Surface& surface) {
  return [&surface](std::span<const SurfacePoint> points, std::span<Vec3f> out) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Vec3 p = surface.position(points[i]);
      for (int c = 0; c < 3; ++c)
        out[i][c] = srgbFromLinear(static_cast<float>(0.5 + 0.3 * p[c]));
    }
  };
}

float largestError(const Surface& surface, const VertexColors& colors, const ColorSource& truth) {
  const auto points = sampleSurface(surface, 5000, 3);
  std::vector<Vec3f> expected(points.size()), got(points.size());
  truth(points, expected);
  colors.at(points, got);
  float largest = 0;
  for (std::size_t i = 0; i < points.size(); ++i)
    largest = std::max(largest, (expected[i] - got[i]).cwiseAbs().maxCoeff());
  return largest;
}

TEST(VertexColors, CountVerticesAsEulerDoes) {
  const Surface surface = bumpy();
  // A closed surface of genus 0 has V - E + F = 2 and 3 F = 2 E, at every level.
  for (int level = 0; level <= 4; ++level) {
    const std::size_t faces = std::size_t{surface.faceCount()} << (2 * level);
    EXPECT_EQ(subdividedVertices(surface, level), faces / 2 + 2) << level;
  }
}

TEST(VertexColors, AreExactForALinearField) {
  const Surface surface = bumpy();
  const ColorSource truth = linearField(surface);
  for (int level = 0; level <= 3; ++level) {
    const VertexColors colors = VertexColors::fit(surface, level, truth, {}, 20'000);
    EXPECT_EQ(colors.colors().size(), subdividedVertices(surface, level));
    // Half a step of 8 bits at each vertex, and what the solver leaves.
    EXPECT_LT(largestError(surface, colors, truth), 0.52f / 255) << level;
  }
}

TEST(VertexColors, ApproachAnyFieldAndNoticeAPlantedError) {
  const Surface surface = bumpy(2);
  const ColorSource truth = [&](std::span<const SurfacePoint> points, std::span<Vec3f> out) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Vec3 p = surface.position(points[i]);
      for (int c = 0; c < 3; ++c)
        out[i][c] = static_cast<float>(0.5 + 0.4 * std::sin(6 * p[c] + p[(c + 1) % 3]));
    }
  };
  float before = 1;
  for (int level = 0; level <= 3; ++level) {
    const float error = largestError(surface, VertexColors::fit(surface, level, truth, {}, 50'000), truth);
    EXPECT_LT(error, 0.45f * before) << level << ": errors of linear interpolation fall to a quarter";
    before = error;
  }
  // A field that jumps inside faces cannot be had; what we check above would see that.
  const ColorSource jump = [&](std::span<const SurfacePoint> points, std::span<Vec3f> out) {
    for (std::size_t i = 0; i < points.size(); ++i)
      out[i] = Vec3f::Constant(surface.position(points[i]).x() > 0.013 ? 1.0f : 0.0f);
  };
  EXPECT_GT(largestError(surface, VertexColors::fit(surface, 2, jump, {}, 50'000), jump), 0.3f);
}

TEST(VertexColors, AreBetterOnFinerMeshesAlsoAcrossEdgesFromBlackToWhite) {
  // Dark with bright stripes narrower than faces: where an error in linear light says little about sRGB.
  const Surface surface = bumpy(1);
  const ColorSource truth = [&](std::span<const SurfacePoint> points, std::span<Vec3f> out) {
    for (std::size_t i = 0; i < points.size(); ++i)
      out[i] = Vec3f::Constant(std::sin(25 * surface.position(points[i]).x()) > 0.6 ? 0.95f : 0.02f);
  };
  const auto points = sampleSurface(surface, 20'000, 3);
  std::vector<Vec3f> expected(points.size()), got(points.size());
  truth(points, expected);
  double mean = 0;
  for (const Vec3f& color : expected)
    mean += static_cast<double>(color[0]) / static_cast<double>(points.size());
  // One colour for everything, the mean of sRGB values, is the least that vertices can do.
  double before = 0;
  for (const Vec3f& color : expected)
    before += std::pow(static_cast<double>(color[0]) - mean, 2);
  for (int level = 0; level <= 4; ++level) {
    VertexColors::fit(surface, level, truth, {}, 100'000).at(points, got);
    double squared = 0;
    for (std::size_t i = 0; i < points.size(); ++i)
      squared += std::pow(static_cast<double>(got[i][0] - expected[i][0]), 2);
    EXPECT_LT(squared, before) << level;
    before = squared;
  }
}

TEST(VertexColors, AgreeFromBothSidesOfAnEdge) {
  const Surface surface = bumpy();
  const ColorSource truth = linearField(surface);
  const VertexColors colors = VertexColors::fit(surface, 2, truth, {}, 20'000);
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    for (std::size_t e = 0; e < 3; ++e) {
      const std::uint32_t twin = surface.twins()[f][e];
      for (const double t : {0.1, 0.25, 0.6}) {
        SurfacePoint here{f, Vec3::Zero()}, there{twin / 3, Vec3::Zero()};
        here.barycentric[static_cast<int>(e)] = 1 - t;
        here.barycentric[static_cast<int>((e + 1) % 3)] = t;
        there.barycentric[static_cast<int>(twin % 3)] = t;
        there.barycentric[static_cast<int>((twin % 3 + 1) % 3)] = 1 - t;
        Vec3f a, b;
        colors.at({&here, 1}, {&a, 1});
        colors.at({&there, 1}, {&b, 1});
        EXPECT_LT((a - b).cwiseAbs().maxCoeff(), 1e-5f) << f << " " << e << " " << t;
      }
    }
  }
}

TEST(VertexColors, WhatNobodySeesCountsForLittle) {
  const Surface surface = bumpy(2);
  // White where it is seen, black where not.
  const auto seen = [&](const SurfacePoint& p) { return surface.position(p).y() > 0.1; };
  const ColorSource truth = [&](std::span<const SurfacePoint> points, std::span<Vec3f> out) {
    for (std::size_t i = 0; i < points.size(); ++i)
      out[i] = Vec3f::Constant(seen(points[i]) ? 1.0f : 0.0f);
  };
  const AlphaSource alpha = [&](std::span<const SurfacePoint> points, std::span<float> out) {
    for (std::size_t i = 0; i < points.size(); ++i)
      out[i] = seen(points[i]) ? 1.0f : 0.0f;
  };
  const VertexColors colors = VertexColors::fit(surface, 0, truth, alpha, 50'000);
  auto points = sampleSurface(surface, 5000, 3);
  std::erase_if(points, [&](const SurfacePoint& p) { return !seen(p); });
  std::vector<Vec3f> got(points.size());
  colors.at(points, got);
  double sum = 0;
  for (const Vec3f& c : got)
    sum += static_cast<double>(c.sum()) / 3;
  EXPECT_GT(sum / static_cast<double>(got.size()), 0.97);
}

}  // namespace
}  // namespace heatskin
