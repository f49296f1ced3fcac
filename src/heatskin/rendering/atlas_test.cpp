#include "heatskin/rendering/atlas.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/rendering/test_meshes.h"

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

/// Distance in texels from an edge below which the snapped and the exact triangle may differ.
constexpr double kEdgeBand = 2.0 * 1.4143 / 16384;

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
        if (std::abs(inside) < kEdgeBand) sure = false;
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
  EXPECT_LT(worst, kEdgeBand);  // texels
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
  EXPECT_EQ(atlas.faces_cut, 1u);
  EXPECT_EQ(atlas.covered_texels, 32u * 32u);
  AtlasOptions empty;
  empty.width = 0;
  EXPECT_EQ(rasteriseAtlas(
                1, [](std::uint32_t, std::array<Vec2f, 3>&) { return false; }, empty)
                .width,
            0);
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
