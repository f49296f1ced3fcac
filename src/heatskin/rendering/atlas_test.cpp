#include "heatskin/rendering/atlas.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/rendering/test_meshes.h"
#include "heatskin/rendering/test_views.h"

namespace heatskin {
namespace {

using UvFaces = std::vector<std::array<Vec2f, 3>>;

AtlasBuffer draw(const UvFaces& faces, int width, int height) {
  AtlasOptions options;
  options.width = width;
  options.height = height;
  return rasteriseAtlas(
      static_cast<std::uint32_t>(faces.size()),
      [&](std::uint32_t f, std::array<Vec2f, 3>& uvs) {
        uvs = faces[f];
        return true;
      },
      options);
}

/// A shattered rectangle as charts.
UvFaces shattered(std::uint64_t seed, int splits, double u0, double v0, double u1, double v1) {
  const testing::TriangleMesh mesh = testing::shatteredRectangle(seed, splits, u0, v0, u1, v1);
  UvFaces faces;
  for (const auto& f : mesh.faces) {
    faces.emplace_back();
    for (std::size_t c = 0; c < 3; ++c)
      faces.back()[c] = mesh.positions[f[c]].head<2>().cast<float>();
  }
  return faces;
}

/// The slow twin: the lowest face that holds the texel centre, in any unit square, by point-in-triangle;
/// `sure` is false when some edge is closer than the band.
std::uint32_t lowestFaceAt(const UvFaces& faces, int x, int y, int width, int height, bool& sure) {
  std::uint32_t found = kNone;
  sure = true;
  for (std::uint32_t f = 0; f < faces.size(); ++f) {
    for (int v = -2; v <= 2; ++v) {
      for (int u = -2; u <= 2; ++u) {
        const Vec2 p((u + (x + 0.5) / width) * width, (v + (y + 0.5) / height) * height);
        std::array<Vec2, 3> c;
        for (std::size_t i = 0; i < 3; ++i)
          c[i] = Vec2(static_cast<double>(faces[f][i].x()) * width,
                      static_cast<double>(faces[f][i].y()) * height);
        if (cross2(c[1] - c[0], c[2] - c[0]) < 0) std::swap(c[1], c[2]);
        double inside = std::numeric_limits<double>::infinity();
        for (std::size_t e = 0; e < 3; ++e) {
          const Vec2 way = c[(e + 1) % 3] - c[e];
          inside = std::min(inside, cross2(way, p - c[e]) / way.norm());
        }
        if (std::abs(inside) < testing::kEdgeBand) sure = false;
        if (inside >= 0 && found == kNone) found = f;
      }
    }
  }
  return found;
}

struct Comparison {
  int sure = 0;
  int mismatches = 0;
};

Comparison compareWithTwin(const UvFaces& faces, const AtlasBuffer& atlas) {
  Comparison result;
  for (int y = 0; y < atlas.height; ++y) {
    for (int x = 0; x < atlas.width; ++x) {
      bool sure = false;
      const std::uint32_t expected = lowestFaceAt(faces, x, y, atlas.width, atlas.height, sure);
      if (!sure) continue;
      ++result.sure;
      result.mismatches += atlas.face[static_cast<std::size_t>(y * atlas.width + x)] != expected;
    }
  }
  return result;
}

UvFaces randomCharts(std::uint64_t seed, std::size_t count, double low, double high, double size) {
  const RandomStream random(seed, 5);
  UvFaces faces(count);
  std::uint64_t n = 0;
  for (auto& face : faces) {
    const auto at = random.uniform2(n++);
    for (Vec2f& corner : face) {
      const auto d = random.uniform2(n++);
      corner = Vec2(low + (high - low) * at[0] + size * d[0], low + (high - low) * at[1] + size * d[1])
                   .cast<float>();
    }
  }
  return faces;
}

TEST(Atlas, AgreesWithPointInTriangle) {
  for (const UvFaces& faces : {shattered(1, 30, 0.1, 0.2, 0.9, 0.8), randomCharts(2, 25, 0, 1, 0.4),
                               randomCharts(3, 25, -1, 1, 0.7)}) {
    const AtlasBuffer atlas = draw(faces, 60, 44);
    const Comparison result = compareWithTwin(faces, atlas);
    EXPECT_EQ(result.mismatches, 0);
    EXPECT_GT(result.sure, 60 * 44 * 95 / 100);
  }
}

TEST(Atlas, TheComparisonSeesPlantedErrors) {
  const UvFaces faces = shattered(1, 30, 0.1, 0.2, 0.9, 0.8);
  UvFaces flipped = faces;  // v up instead of v down
  for (auto& face : flipped) {
    for (Vec2f& corner : face)
      corner.y() = 1 - corner.y();
  }
  EXPECT_GT(compareWithTwin(faces, draw(flipped, 60, 44)).mismatches, 100);
  UvFaces shifted = faces;  // texel corners instead of texel centres
  for (auto& face : shifted) {
    for (Vec2f& corner : face)
      corner.x() += 0.5f / 60;
  }
  EXPECT_GT(compareWithTwin(faces, draw(shifted, 60, 44)).mismatches, 10);
}

TEST(Atlas, FullSquareIsCoveredOnceWithoutOverlap) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const AtlasBuffer atlas = draw(shattered(seed, 200, 0, 0, 1, 1), 128, 100);
    EXPECT_EQ(atlas.covered_texels, 128u * 100u);
    EXPECT_EQ(atlas.overlapped_texels, 0u);
  }
}

TEST(Atlas, WrappedSquareIsCoveredOnceWithoutOverlap) {
  // The unit square moved by a fraction: every face is cut by the border or moved by whole units.
  for (const Vec2& move : {Vec2(0.3, 0.7), Vec2(-0.05, 0), Vec2(-7.5, 12.25), Vec2(3, -2)}) {
    UvFaces faces = shattered(4, 100, move.x(), move.y(), move.x() + 1, move.y() + 1);
    const AtlasBuffer atlas = draw(faces, 96, 96);
    // Corners at move + 1 are rounded to float: at most a line of texels is touched twice or not at all.
    EXPECT_NEAR(static_cast<double>(atlas.covered_texels), 96 * 96, 2 * 96);
    EXPECT_LE(atlas.overlapped_texels, 2u * 96u);
    EXPECT_EQ(atlas.faces_cut, 0u);
  }
  // Dyadic move: no rounding, exact.
  const AtlasBuffer exact = draw({{Vec2f(-0.5f, 0.25f), Vec2f(0.5f, 0.25f), Vec2f(0.5f, 1.25f)},
                                  {Vec2f(-0.5f, 0.25f), Vec2f(0.5f, 1.25f), Vec2f(-0.5f, 1.25f)}},
                                 96, 96);
  EXPECT_EQ(exact.covered_texels, 96u * 96u);
  EXPECT_EQ(exact.overlapped_texels, 0u);
}

TEST(Atlas, BarycentricsGiveBackTheTexelCentre) {
  const UvFaces faces = randomCharts(7, 40, -1.5, 2, 0.9);
  const AtlasBuffer atlas = draw(faces, 80, 64);
  double worst = 0;
  for (std::size_t texel : atlas.coveredTexels()) {
    const SurfacePoint p = atlas.point(texel);
    ASSERT_GE(p.barycentric.minCoeff(), 0);
    ASSERT_NEAR(p.barycentric.sum(), 1, 4e-15);
    Vec2 uv = Vec2::Zero();
    for (std::size_t c = 0; c < 3; ++c)
      uv += p.barycentric[static_cast<Eigen::Index>(c)] * faces[p.face][c].cast<double>();
    const Vec2 centre((static_cast<double>(texel % 80) + 0.5) / 80,
                      (static_cast<double>(texel / 80) + 0.5) / 64);
    const Vec2 difference = uv - centre;
    const Vec2 wrapped = difference - Vec2(difference.array().round());
    worst = std::max(worst, (wrapped.array() * Eigen::Array2d(80, 64)).matrix().norm());
  }
  EXPECT_LT(worst, testing::kEdgeBand);  // texels
  EXPECT_GT(atlas.covered_texels, 1000u);
}

TEST(Atlas, LowestFaceKeepsAnOverlap) {
  const std::array<Vec2f, 3> lower = {Vec2f(0, 0), Vec2f(1, 0), Vec2f(0, 1)};
  const AtlasBuffer atlas = draw({lower, lower}, 16, 16);
  for (std::size_t texel : atlas.coveredTexels())
    EXPECT_EQ(atlas.face[texel], 0u);
  EXPECT_EQ(atlas.overlapped_texels, atlas.covered_texels);
  EXPECT_NEAR(static_cast<double>(atlas.covered_texels), 128, 8);  // the diagonal: all or none of 16 texels
}

TEST(Atlas, BadFacesAreCountedAndSkipped) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const AtlasBuffer atlas = draw({{Vec2f(0, 0), Vec2f(0.5f, 0.5f), Vec2f(1, 1)},
                                  {Vec2f(0.5f, 0.5f), Vec2f(0.5f, 0.5f), Vec2f(0.5f, 0.5f)},
                                  {Vec2f(nan, 0), Vec2f(1, 0), Vec2f(0, 1)},
                                  {Vec2f(inf, 0), Vec2f(1, 0), Vec2f(0, 1)},
                                  {Vec2f(3e38f, 0), Vec2f(1, -3e38f), Vec2f(0, 1)},
                                  {Vec2f(0, 0), Vec2f(1e6f, 0), Vec2f(0, 1e6f)}},
                                 32, 32);
  EXPECT_EQ(atlas.faces_without_area, 2u);
  EXPECT_EQ(atlas.faces_without_uvs, 3u);
  EXPECT_EQ(atlas.faces_drawn, 1u);
  EXPECT_EQ(atlas.faces_cut, 0u);  // covers every texel
  EXPECT_EQ(atlas.covered_texels, 32u * 32u);
  AtlasOptions empty;
  empty.width = 0;
  EXPECT_EQ(rasteriseAtlas(
                1, [](std::uint32_t, std::array<Vec2f, 3>&) { return false; }, empty)
                .width,
            0);
}

/// Texels that the face covers somewhere, by point-in-triangle over all unit squares it touches; `sure` as
/// above.
bool coveredSomewhere(const std::array<Vec2f, 3>& face, int x, int y, int width, int height, bool& sure) {
  std::array<Vec2, 3> c;
  for (std::size_t i = 0; i < 3; ++i)
    c[i] = Vec2(static_cast<double>(face[i].x()) * width, static_cast<double>(face[i].y()) * height);
  if (cross2(c[1] - c[0], c[2] - c[0]) < 0) std::swap(c[1], c[2]);
  const Vec2 low = c[0].cwiseMin(c[1]).cwiseMin(c[2]), high = c[0].cwiseMax(c[1]).cwiseMax(c[2]);
  sure = true;
  for (double v = std::floor(low.y() / height); v <= high.y() / height; ++v) {
    for (double u = std::floor(low.x() / width); u <= high.x() / width; ++u) {
      const Vec2 p(u * width + x + 0.5, v * height + y + 0.5);
      double inside = std::numeric_limits<double>::infinity();
      for (std::size_t e = 0; e < 3; ++e) {
        const Vec2 way = c[(e + 1) % 3] - c[e];
        inside = std::min(inside, cross2(way, p - c[e]) / way.norm());
      }
      if (inside > testing::kEdgeBand) return sure = true;
      if (std::abs(inside) <= testing::kEdgeBand) sure = false;
    }
  }
  return false;
}

TEST(Atlas, RepeatedFacesAgreeWithPointInTriangle) {
  const UvFaces faces = {
      {Vec2f(-0.3f, 0.2f), Vec2f(1.4f, 0.3f), Vec2f(0.2f, 1.1f)},         // little more than a square
      {Vec2f(2.2f, -3.1f), Vec2f(2.9f, 40.7f), Vec2f(2.5f, 3.0f)},        // high and narrow: columns
      {Vec2f(-40.2f, 0.1f), Vec2f(31.7f, 0.9f), Vec2f(3.0f, 0.35f)},      // wide and low: rows
      {Vec2f(0.1f, 0.1f), Vec2f(7.3f, 7.4f), Vec2f(7.25f, 7.45f)},        // a diagonal needle
      {Vec2f(5.0f, 1.0f), Vec2f(5.2f, 7.5f), Vec2f(5.1f, 7.9f)},          // clockwise
      {Vec2f(0.0f, 0.0f), Vec2f(300.0f, 0.0f), Vec2f(0.0f, 0.0015f)},     // a flat needle along a border
      {Vec2f(-2.0f, -2.0f), Vec2f(3.0f, -2.0f), Vec2f(-2.0f, 3.0f)},      // corners at squares' corners
      {Vec2f(1000.1f, 5.0f), Vec2f(1001.6f, 5.7f), Vec2f(1000.4f, 5.9f)}  // far away
  };
  for (const auto& face : faces) {
    const AtlasBuffer atlas = draw({face}, 60, 44);
    EXPECT_EQ(atlas.faces_cut, 0u);
    int sure_texels = 0;
    for (int y = 0; y < 44; ++y) {
      for (int x = 0; x < 60; ++x) {
        bool sure = false;
        const bool expected = coveredSomewhere(face, x, y, 60, 44, sure);
        const auto texel = static_cast<std::size_t>(y * 60 + x);
        if (sure) {
          ++sure_texels;
          ASSERT_EQ(atlas.face[texel] == 0, expected) << face[1].x() << " at " << x << ", " << y;
        }
        if (atlas.face[texel] != 0) continue;
        Vec2 uv = Vec2::Zero();
        const SurfacePoint p = atlas.point(texel);
        ASSERT_GE(p.barycentric.minCoeff(), 0);
        for (std::size_t c = 0; c < 3; ++c)
          uv += p.barycentric[static_cast<Eigen::Index>(c)] * face[c].cast<double>();
        const Vec2 off = uv - Vec2((x + 0.5) / 60, (y + 0.5) / 44);
        const Vec2 rest = off - Vec2(off.array().round());
        ASSERT_LT((rest.array() * Eigen::Array2d(60, 44)).matrix().norm(), testing::kEdgeBand);
      }
    }
    EXPECT_GT(sure_texels, 60 * 44 * 95 / 100);
  }
}

TEST(Atlas, RepeatedFacesKeepTheOrderOfFaces) {
  const std::array<Vec2f, 3> small = {Vec2f(0.1f, 0.1f), Vec2f(0.6f, 0.1f), Vec2f(0.1f, 0.6f)};
  const std::array<Vec2f, 3> large = {Vec2f(-9, -9), Vec2f(9, -9), Vec2f(-9, 9)};
  const AtlasBuffer small_first = draw({small, large}, 32, 32), large_first = draw({large, small}, 32, 32);
  EXPECT_EQ(small_first.covered_texels, 32u * 32u);
  EXPECT_EQ(std::count(small_first.face.begin(), small_first.face.end(), 0u),
            static_cast<std::ptrdiff_t>(draw({small}, 32, 32).covered_texels));
  EXPECT_EQ(std::count(large_first.face.begin(), large_first.face.end(), 0u), 32 * 32);
}

TEST(Atlas, TiledSquareHasNoGapsAndOverlapsWhatItShould) {
  // Two triangles that make a square of n x n tiles: every texel is covered n * n times, each triangle alone
  // leaves none out for n >= 2.
  for (const int n : {2, 3, 7, 1000, 1 << 20}) {
    const auto s = static_cast<float>(n);
    const AtlasBuffer atlas =
        draw({{Vec2f(0, 0), Vec2f(s, 0), Vec2f(s, s)}, {Vec2f(0, 0), Vec2f(s, s), Vec2f(0, s)}}, 48, 40);
    EXPECT_EQ(atlas.covered_texels, 48u * 40u) << n;
    EXPECT_EQ(atlas.overlapped_texels, 48u * 40u) << n;
    EXPECT_EQ(atlas.faces_cut, 0u) << n;
  }
  // A strip of 1 x n tiles split along its diagonal covers every texel n times; with n = 1.5 half of them
  // once.
  const AtlasBuffer strip = draw(
      {{Vec2f(0, 0), Vec2f(1.5f, 0), Vec2f(1.5f, 1)}, {Vec2f(0, 0), Vec2f(1.5f, 1), Vec2f(0, 1)}}, 48, 40);
  EXPECT_EQ(strip.covered_texels, 48u * 40u);
  EXPECT_EQ(strip.overlapped_texels, 24u * 40u);
}

TEST(Atlas, ManyHugeFacesTakeNoMoreThanTheTexture) {
  // Once 64 squares for each of these, in 1,024 tiles each: gigabytes. They cover all, or nothing but noise.
  const RandomStream random(5, 6);
  UvFaces faces(20'000);
  std::uint64_t n = 0;
  for (auto& face : faces) {
    for (Vec2f& corner : face) {
      const auto at = random.uniform2(n++);
      corner = Vec2(1e6 * (at[0] - 0.5), 1e6 * (at[1] - 0.5)).cast<float>();
    }
  }
  // Needles across a million squares cannot be drawn whole: they say so.
  faces[0] = {Vec2f(0, 0), Vec2f(1e6f, 1e6f), Vec2f(1e6f, 1e6f + 0.0625f)};
  const AtlasBuffer atlas = draw(faces, 1024, 1024);
  EXPECT_EQ(atlas.covered_texels, 1024u * 1024u);
  EXPECT_EQ(atlas.overlapped_texels, 1024u * 1024u);
  EXPECT_GE(atlas.faces_cut, 1u);
  EXPECT_LT(atlas.faces_cut, 20u);
}

TEST(Atlas, IncludeSelectsFaces) {
  const UvFaces faces = shattered(5, 20, 0, 0, 1, 1);
  AtlasOptions options;
  options.width = options.height = 64;
  options.include.assign(faces.size(), 0);
  options.include[3] = 1;
  const AtlasBuffer atlas = rasteriseAtlas(
      static_cast<std::uint32_t>(faces.size()),
      [&](std::uint32_t f, std::array<Vec2f, 3>& uvs) {
        uvs = faces[f];
        return true;
      },
      options);
  EXPECT_EQ(atlas.faces_drawn, 1u);
  for (std::size_t texel : atlas.coveredTexels())
    EXPECT_EQ(atlas.face[texel], 3u);
}

TEST(Atlas, SameBytesForAnyThreadCount) {
  const int before = threadCount();
  const UvFaces faces = randomCharts(11, 3000, -1, 2, 0.3);
  setThreadCount(1);
  const AtlasBuffer one = draw(faces, 200, 150);
  for (int threads : {2, 3, 8}) {
    setThreadCount(threads);
    const AtlasBuffer many = draw(faces, 200, 150);
    EXPECT_EQ(one.face, many.face);
    EXPECT_EQ(one.overlapped_texels, many.overlapped_texels);
    EXPECT_EQ(0, std::memcmp(one.barycentric.data(), many.barycentric.data(),
                             one.barycentric.size() * sizeof(Vec3)));
  }
  setThreadCount(before);
}

}  // namespace
}  // namespace heatskin
