#include "heatskin/bake/atlas_charts.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "heatskin/bake/atlas_check.h"
#include "heatskin/bake/pack_charts.h"
#include "heatskin/base/rng.h"

#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

/// Triangles without neighbours, some of them broken.
AtlasMesh brokenSoup(std::size_t count, std::uint64_t seed) {
  AtlasMesh mesh;
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  const RandomStream random(seed, 0);
  const auto number = [&](std::size_t i) { return random.uniform(i); };
  for (std::size_t t = 0; t < count; ++t) {
    std::array<Vec3, 3> corners;
    const Vec3 at(number(12 * t), number(12 * t + 1), number(12 * t + 2));
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t k = 0; k < 3; ++k)
        corners[c][static_cast<Eigen::Index>(k)] =
            at[static_cast<Eigen::Index>(k)] + 0.02 * number(12 * t + 3 + 3 * c + k);
    }
    switch (t % 50) {
      case 7:
        corners[1] = corners[0];
        break;
      case 17:
        corners[2] = corners[0] + 2 * (corners[1] - corners[0]);
        break;
      case 27:
        corners[0].x() = nan;
        break;
      case 37:
        corners[2].y() = infinity;
        break;
      case 47:
        corners = {at, at + Vec3(9, 0, 0), at + Vec3(0, 1e-4, 0)};
        break;  // a needle
      default:
        break;
    }
    mesh.corners.push_back(corners);
    mesh.across.push_back({kNone, kNone, kNone});
    const auto v = static_cast<std::uint32_t>(3 * t);
    mesh.vertices.push_back({v, v + 1, v + 2});
  }
  return mesh;
}

AtlasMesh meshOf(const Surface& surface) {
  std::vector<std::uint32_t> faces(surface.faceCount());
  std::iota(faces.begin(), faces.end(), 0u);
  return atlasMesh(surface, faces);
}

PackedAtlas packed(const AtlasCharts& charts, int side, int gutter = 2) {
  PackOptions options;
  options.width = options.height = side;
  options.gutter = gutter;
  auto atlas = packCharts(charts, options);
  EXPECT_TRUE(atlas) << atlas.error().message;
  return atlas ? std::move(*atlas) : PackedAtlas();
}

TEST(AtlasChartsTest, FacesKeepTheirShape) {
  const Surface surface = testing::build(testing::icosphere(3));
  const AtlasMesh mesh = meshOf(surface);
  const AtlasCharts charts = growCharts(mesh);
  ASSERT_EQ(charts.chart_of.size(), surface.faceCount());
  for (std::size_t t = 0; t < mesh.size(); ++t) {
    ASSERT_LT(charts.chart_of[t], charts.size());
    const auto& p = charts.corners[t];
    for (std::size_t e = 0; e < 3; ++e) {
      const double length = (mesh.corners[t][(e + 1) % 3] - mesh.corners[t][e]).norm();
      EXPECT_NEAR((p[(e + 1) % 3] - p[e]).norm(), length, 1e-5 * length);
    }
    EXPECT_GT(cross2(p[1] - p[0], p[2] - p[0]), 0);
  }
  // Patches, not crumbs.
  EXPECT_LT(charts.size(), surface.faceCount() / 8);
}

TEST(AtlasChartsTest, AFlatGridIsOneChartWithoutSplitVertices) {
  const Surface surface = testing::build(testing::flatGrid(6, 6));
  const AtlasMesh mesh = meshOf(surface);
  const AtlasCharts charts = growCharts(mesh);
  ASSERT_EQ(charts.size(), 1u);
  std::vector<Vec2> place(surface.vertexCount(), Vec2::Constant(-1));
  for (std::size_t t = 0; t < mesh.size(); ++t) {
    for (std::size_t c = 0; c < 3; ++c) {
      Vec2& known = place[mesh.vertices[t][c]];
      if (known.x() < 0) known = charts.corners[t][c];
      EXPECT_EQ(known, charts.corners[t][c]);  // to the bit
    }
  }
  EXPECT_NEAR(charts.sizes[0].prod(), charts.areas[0], 1e-6 * charts.areas[0]);
}

TEST(AtlasChartsTest, NoTwoChartsNeedTheSameTexelAtAnyLevelPromised) {
  const Surface surface = testing::build(testing::icosphere(3));
  const AtlasCharts charts = growCharts(meshOf(surface));
  for (const int gutter : {1, 2, 4}) {
    const PackedAtlas atlas = packed(charts, 512, gutter);
    EXPECT_EQ(atlas.gutter, gutter);
    for (int level = 0; (1 << level) <= atlas.alignment(); ++level) {
      const AtlasCheck check = checkAtlas(atlas.uvs, charts.chart_of, 512, 512, level);
      EXPECT_EQ(check.shared_texels, 0u) << "gutter " << gutter << ", level " << level;
      EXPECT_EQ(check.outside_faces, 0u);
      EXPECT_EQ(check.flipped_faces, 0u);
      EXPECT_GT(check.owned_texels, 0u);
    }
  }
}

TEST(AtlasChartsTest, TheCheckNoticesAPlantedOverlap) {
  const Surface surface = testing::build(testing::icosphere(2));
  const AtlasCharts charts = growCharts(meshOf(surface));
  PackedAtlas atlas = packed(charts, 256);
  ASSERT_GT(charts.size(), 1u);
  // A chart is moved onto the middle of another one.
  ASSERT_EQ(checkAtlas(atlas.uvs, charts.chart_of, 256, 256).shared_texels, 0u);
  const AtlasCell &from = atlas.cells[0], &onto = atlas.cells[1];
  const Vec2f shift(static_cast<float>(onto.x + onto.width / 2 - from.x - from.width / 2) / 256,
                    static_cast<float>(onto.y + onto.height / 2 - from.y - from.height / 2) / 256);
  for (std::size_t t = 0; t < atlas.uvs.size(); ++t) {
    for (Vec2f& uv : atlas.uvs[t]) {
      if (charts.chart_of[t] == 0) uv += shift;
    }
  }
  const AtlasCheck check = checkAtlas(atlas.uvs, charts.chart_of, 256, 256);
  EXPECT_GT(check.shared_texels, 0u);
}

TEST(AtlasChartsTest, ASoupWithBrokenTrianglesIsPacked) {
  const AtlasMesh mesh = brokenSoup(2000, 3);
  const AtlasCharts charts = growCharts(mesh);
  EXPECT_EQ(charts.size(), mesh.size());  // nothing is attached to anything
  const PackedAtlas atlas = packed(charts, 1024);
  EXPECT_EQ(atlas.gutter, 2);
  const AtlasCheck check = checkAtlas(atlas.uvs, charts.chart_of, 1024, 1024);
  EXPECT_EQ(check.shared_texels, 0u);
  EXPECT_EQ(check.outside_faces, 0u);
  // Needles are longer than the image at the density of the others; those are all of one.
  EXPECT_EQ(atlas.shrunk_charts, mesh.size() / 50);
  std::size_t points = 0;
  for (std::size_t t = 0; t < mesh.size(); ++t) {
    const auto& uv = atlas.uvs[t];
    if (charts.sizes[t].isZero()) {
      ++points;
      EXPECT_EQ(uv[0], uv[1]);
      EXPECT_EQ(uv[1], uv[2]);
      continue;
    }
    if (t % 50 == 47) continue;
    for (std::size_t e = 0; e < 3; ++e) {
      const double length = (mesh.corners[t][(e + 1) % 3] - mesh.corners[t][e]).norm();
      const double texels = 1024.0 * (uv[(e + 1) % 3] - uv[e]).cast<double>().norm();
      EXPECT_NEAR(texels, atlas.density * length, 0.01);
    }
  }
  EXPECT_EQ(points, 4 * mesh.size() / 50);
}

TEST(AtlasChartsTest, WhereRoomIsScarceGuttersGoFirst) {
  const AtlasMesh mesh = brokenSoup(1000, 5);
  const AtlasCharts charts = growCharts(mesh);
  EXPECT_EQ(packed(charts, 512).gutter, 2);
  EXPECT_EQ(packed(charts, 64).gutter, 1);  // 1000 cells of 2 x 2 texels
  const PackedAtlas tight = packed(charts, 32);
  EXPECT_EQ(tight.gutter, 0);  // 1000 charts, 1024 texels
  std::vector<std::uint8_t> taken(1024, 0);
  for (const AtlasCell& cell : tight.cells) {
    EXPECT_EQ(taken[static_cast<std::size_t>(32 * cell.y + cell.x)]++, 0);
  }
  PackOptions options;
  options.width = options.height = 31;
  const auto refused = packCharts(charts, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
}

TEST(AtlasChartsTest, TimeGrowsWithTheFaces) {
  std::vector<double> tests_per_face, placed_per_chart;
  for (const int level : {3, 4, 5}) {
    const Surface surface = testing::build(testing::icosphere(level));
    const AtlasCharts charts = growCharts(meshOf(surface));
    const PackedAtlas atlas = packed(charts, 1024);
    tests_per_face.push_back(static_cast<double>(charts.overlap_tests) / surface.faceCount());
    placed_per_chart.push_back(static_cast<double>(atlas.rectangles_placed) /
                               static_cast<double>(charts.size()));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_LT(tests_per_face[i], 3 * ChartOptions().max_faces);
    EXPECT_LT(placed_per_chart[i], 120);
  }
  EXPECT_LT(tests_per_face[2], 1.5 * tests_per_face[0]);
}

TEST(AtlasChartsTest, NeighboursThatDoNotNameEachOtherAreNotFollowed) {
  const Surface surface = testing::build(testing::flatGrid(4, 4));
  AtlasMesh mesh = meshOf(surface);
  for (auto& across : mesh.across)
    across = {0, 1, 4'000'000'000u};
  const AtlasCharts charts = growCharts(mesh);
  EXPECT_GE(charts.size(), mesh.size() - 1);
}

TEST(AtlasChartsTest, NothingIsAnAtlas) {
  const AtlasCharts charts = growCharts({});
  EXPECT_EQ(charts.size(), 0u);
  EXPECT_EQ(packed(charts, 64).uvs.size(), 0u);
}

}  // namespace
}  // namespace heatskin
