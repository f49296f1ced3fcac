#include "heatskin/rendering/visibility.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/rendering/raster_core.h"
#include "heatskin/rendering/test_meshes.h"
#include "heatskin/rendering/test_views.h"

namespace heatskin {
namespace {

using testing::TriangleMesh;

/// The slow, obvious twin: the first face a ray through (x, y) hits at or beyond the near plane.
std::uint32_t castRay(const TriangleMesh& mesh, const Projection& projection, double x, double y) {
  const Vec3 ray = projection.viewRay(x, y);
  double nearest = std::numeric_limits<double>::infinity();
  std::uint32_t hit = kNone;
  for (std::uint32_t f = 0; f < mesh.faces.size(); ++f) {
    Mat3 corners;
    for (int c = 0; c < 3; ++c)
      corners.col(c) = projection.viewFromSurface(mesh.positions[mesh.faces[f][static_cast<std::size_t>(c)]]);
    const Vec3 normal = (corners.col(1) - corners.col(0)).cross(Vec3(corners.col(2) - corners.col(0)));
    const double depth = normal.dot(corners.col(0)) / normal.dot(ray);
    if (!(depth >= projection.nearDistance()) || !(depth < nearest)) continue;
    const Vec3 p = depth * ray;
    bool inside = true;
    for (int c = 0; c < 3 && inside; ++c) {
      const Vec3 a = corners.col(c), b = corners.col((c + 1) % 3);
      inside = (b - a).cross(p - a).dot(normal) >= 0;
    }
    if (!inside) continue;
    nearest = depth;
    hit = f;
  }
  return hit;
}

struct RayComparison {
  std::size_t pixels = 0;      ///< whose answer does not change within testing::kEdgeBand
  std::size_t mismatches = 0;  ///< among them
  std::size_t foreground = 0;  ///< among them
};

RayComparison compareWithRays(const TriangleMesh& mesh, const Camera& camera, int width, int height,
                              const VisibilityBuffer& buffer, const Vec2& sample = {0.5, 0.5}) {
  const Projection projection(camera, width, height);
  RayComparison result;
  for (int j = 0; j < height; ++j) {
    for (int i = 0; i < width; ++i) {
      const double x = i + sample.x(), y = j + sample.y();
      const std::uint32_t expected = castRay(mesh, projection, x, y);
      bool safe = true;
      for (const Vec2& d : {Vec2(1, 0), Vec2(-1, 0), Vec2(0, 1), Vec2(0, -1), Vec2(1, 1), Vec2(-1, -1)})
        safe = safe && castRay(mesh, projection, x + testing::kEdgeBand * d.x(),
                               y + testing::kEdgeBand * d.y()) == expected;
      if (!safe) continue;
      ++result.pixels;
      result.foreground += expected != kNone;
      result.mismatches += buffer.face[buffer.index(i, j)] != expected;
    }
  }
  return result;
}

Camera cameraAt(const Vec3& eye, double fov_degrees = 40) {
  Camera camera;
  camera.eye = eye;
  camera.vertical_fov = fov_degrees * kDegree;
  return camera;
}

/// A camera for which surface (x, y, 0) is pixel (x, height - y) exactly: focal length = distance.
Camera pixelCamera(int width, int height) {
  Camera camera;
  camera.target = {0.5 * width, 0.5 * height, 0};
  camera.eye = {0.5 * width, 0.5 * height, 0.5 * height};
  camera.vertical_fov = 90 * kDegree;
  return camera;
}

TEST(Rasterise, AgreesWithRayCasting) {
  struct Case {
    const char* name;
    TriangleMesh mesh;
    Camera camera;
    int width, height;
  };
  Camera inside = cameraAt({0.1, 0.2, 0.3}, 100);
  inside.target = {1, 0.3, -0.4};
  const std::vector<Case> cases = {
      {"icosphere", testing::icosphere(2), cameraAt({0.3, 0.8, 3.2}), 64, 64},
      {"torus", testing::torus(16, 9), cameraAt({1.0, 2.0, 1.5}), 70, 50},
      {"soup", testing::soup(3, 60, 1.0), cameraAt({2.5, 1.0, 2.0}), 64, 64},
      {"camera inside a sphere", testing::icosphere(1), inside, 64, 48},
      {"soup around the camera, near plane cuts faces", testing::soup(4, 60, 3.0), inside, 64, 48},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const VisibilityBuffer buffer = rasterise(c.mesh.positions, c.mesh.faces, c.camera, c.width, c.height);
    const RayComparison result = compareWithRays(c.mesh, c.camera, c.width, c.height, buffer);
    EXPECT_EQ(result.mismatches, 0u);
    EXPECT_GT(result.pixels, 95u * static_cast<std::size_t>(c.width * c.height) / 100);
    EXPECT_GT(result.foreground, 100u);
  }
}

TEST(Rasterise, TheComparisonSeesPlantedErrors) {
  const TriangleMesh mesh = testing::icosphere(2);
  const Camera camera = cameraAt({0.3, 0.8, 3.2});
  RasterOptions shifted;
  shifted.sample = {0.6, 0.5};  // a tenth of a pixel
  EXPECT_GT(
      compareWithRays(mesh, camera, 64, 64, rasterise(mesh.positions, mesh.faces, camera, 64, 64, shifted))
          .mismatches,
      10u);
  VisibilityBuffer wrong_face = rasterise(mesh.positions, mesh.faces, camera, 64, 64);
  wrong_face.face[wrong_face.index(32, 32)] ^= 1;
  EXPECT_EQ(compareWithRays(mesh, camera, 64, 64, wrong_face).mismatches, 1u);
}

TEST(Rasterise, SamplePlaceMovesTheRay) {
  const TriangleMesh mesh = testing::icosphere(2);
  const Camera camera = cameraAt({0.3, 0.8, 3.2});
  RasterOptions options;
  options.sample = {1.0 / 3, 0.125};
  const VisibilityBuffer buffer = rasterise(mesh.positions, mesh.faces, camera, 64, 64, options);
  EXPECT_NEAR(buffer.sample.x(), 1.0 / 3, 0.5 / 16384);
  EXPECT_EQ(buffer.sample.y(), 0.125);
  EXPECT_EQ(compareWithRays(mesh, camera, 64, 64, buffer, buffer.sample).mismatches, 0u);
}

// A rectangle broken into random triangles covers every sample exactly once: no cracks, no double hits.
TEST(Rasterise, SharedEdgesCoverEverySampleOnce) {
  RasterOptions options;
  options.count_coverage = true;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TriangleMesh mesh = testing::shatteredRectangle(seed, 400, -10, -10, 90, 80);
    if (seed % 2 == 1) {
      // Corners on pixel centres and corners, where edges and samples meet exactly.
      for (Vec3& x : mesh.positions)
        x = (2 * x).array().round() / 2;
    }
    const VisibilityBuffer buffer =
        rasterise(mesh.positions, mesh.faces, pixelCamera(80, 70), 80, 70, options);
    std::size_t not_once = 0;
    for (std::uint32_t count : buffer.coverage)
      not_once += count != 1;
    if (seed % 2 == 0) {
      EXPECT_EQ(not_once, 0u) << "seed " << seed;
    } else {
      // Rounding folds some slivers over their neighbours: covered more than once, but never not at all.
      EXPECT_EQ(std::count(buffer.coverage.begin(), buffer.coverage.end(), 0u), 0) << "seed " << seed;
    }
  }
}

// Fans around points on the sampling grid: many edges meet in one sample.
TEST(Rasterise, FansCoverTheirCentreOnce) {
  RasterOptions options;
  options.count_coverage = true;
  for (std::uint32_t spokes = 3; spokes < 40; ++spokes) {
    TriangleMesh mesh;
    mesh.positions.push_back({20.5, 20.5, 0});
    for (std::uint32_t i = 0; i < spokes; ++i) {
      const double angle = 2 * std::numbers::pi * i / spokes;
      mesh.positions.push_back({20.5 + 100 * std::cos(angle), 20.5 + 100 * std::sin(angle), 0});
      mesh.faces.push_back({0, 1 + i, 1 + (i + 1) % spokes});
    }
    const VisibilityBuffer buffer =
        rasterise(mesh.positions, mesh.faces, pixelCamera(41, 41), 41, 41, options);
    EXPECT_EQ(std::count(buffer.coverage.begin(), buffer.coverage.end(), 1u), 41 * 41) << spokes << " spokes";
  }
}

// From outside, a closed surface is crossed an even number of times, everywhere.
TEST(Rasterise, ClosedSurfacesAreCrossedEvenly) {
  RasterOptions options;
  options.count_coverage = true;
  for (const TriangleMesh& mesh : {testing::icosphere(4), testing::torus(60, 40)}) {
    const VisibilityBuffer buffer =
        rasterise(mesh.positions, mesh.faces, cameraAt({0.7, 1.9, 2.2}), 301, 299, options);
    for (std::uint32_t count : buffer.coverage)
      ASSERT_EQ(count % 2, 0u);
    // With one side only, every crossing pair is halved.
    RasterOptions culled = options;
    culled.cull_back_faces = true;
    const VisibilityBuffer front =
        rasterise(mesh.positions, mesh.faces, cameraAt({0.7, 1.9, 2.2}), 301, 299, culled);
    EXPECT_EQ(front.face, buffer.face);
  }
}

TEST(Rasterise, PointsLieOnTheirRays) {
  const TriangleMesh mesh = testing::torus(24, 16);
  const Camera camera = cameraAt({1.0, 2.0, 1.5});
  const int width = 200, height = 150;
  const Projection projection(camera, width, height);
  const VisibilityBuffer buffer = rasterise(mesh.positions, mesh.faces, camera, width, height);
  double worst_inside = 0, worst_edge = 0;
  for (int j = 0; j < height; ++j) {
    for (int i = 0; i < width; ++i) {
      if (!buffer.foreground(i, j)) continue;
      const std::size_t pixel = buffer.index(i, j);
      const Vec3 b = buffer.barycentric[pixel];
      ASSERT_GE(b.minCoeff(), 0);
      ASSERT_NEAR(b.sum(), 1, 1e-15 * 4);
      const auto& f = mesh.faces[buffer.face[pixel]];
      const Vec3 x = b[0] * mesh.positions[f[0]] + b[1] * mesh.positions[f[1]] + b[2] * mesh.positions[f[2]];
      const double distance = (projection.pixelFromSurface(x) - Vec2(i + 0.5, j + 0.5)).norm();
      double& worst = b.minCoeff() > 0 ? worst_inside : worst_edge;
      worst = std::max(worst, distance);
      ASSERT_NEAR(buffer.depth[pixel], projection.viewFromSurface(x).z(), 1e-12);
    }
  }
  EXPECT_LT(worst_inside, 1e-9);              // pixels; rounding only
  EXPECT_LT(worst_edge, testing::kEdgeBand);  // moved to the edge that snapping let it miss
}

TEST(Rasterise, PerspectiveInterpolationOfATiltedPlane) {
  // The floor seen at a grazing angle: affine interpolation would be off by many cells.
  TriangleMesh mesh;
  mesh.positions = {{-5, 0, 5}, {5, 0, 5}, {5, 0, -45}, {-5, 0, -45}};
  mesh.faces = {{0, 1, 2}, {0, 2, 3}};
  Camera camera = cameraAt({0, 1, 6}, 60);
  camera.target = {0, 0.5, 0};
  const Projection projection(camera, 160, 120);
  const VisibilityBuffer buffer = rasterise(mesh.positions, mesh.faces, camera, 160, 120);
  std::size_t seen = 0;
  for (int j = 0; j < 120; ++j) {
    for (int i = 0; i < 160; ++i) {
      if (!buffer.foreground(i, j)) continue;
      const Vec3 direction = projection.surfaceDirectionFromView(projection.viewRay(i + 0.5, j + 0.5));
      const Vec3 expected = camera.eye - (camera.eye.y() / direction.y()) * direction;
      const std::size_t pixel = buffer.index(i, j);
      const Vec3 b = buffer.barycentric[pixel];
      if (b.minCoeff() == 0) continue;
      const auto& f = mesh.faces[buffer.face[pixel]];
      const Vec3 x = b[0] * mesh.positions[f[0]] + b[1] * mesh.positions[f[1]] + b[2] * mesh.positions[f[2]];
      ASSERT_LT((x - expected).norm(), 1e-9);
      ++seen;
    }
  }
  EXPECT_GT(seen, 3000u);
}

TEST(Rasterise, SquareHasItsProjectedArea) {
  // A square of side 1 at distance 2 with focal length 100 pixels: 50 x 50 pixels, borders between samples.
  TriangleMesh mesh;
  mesh.positions = {{-0.5, -0.5, 0}, {0.5, -0.5, 0}, {0.5, 0.5, 0}, {-0.5, 0.5, 0}};
  mesh.faces = {{0, 1, 2}, {0, 2, 3}};
  const VisibilityBuffer buffer = rasterise(mesh.positions, mesh.faces, cameraAt({0, 0, 2}, 90), 200, 200);
  EXPECT_EQ(buffer.foregroundPixels().size(), 2500u);
  for (int j = 0; j < 200; ++j) {
    for (int i = 0; i < 200; ++i)
      ASSERT_EQ(buffer.foreground(i, j), i >= 75 && i < 125 && j >= 75 && j < 125);
  }
  // y is up: the first corner of face 0 is at the lower left.
  EXPECT_GT(buffer.barycentric[buffer.index(76, 123)][0], 0.9);
  EXPECT_EQ(buffer.mask()[buffer.index(75, 75)], 255);
  EXPECT_EQ(buffer.mask()[buffer.index(74, 75)], 0);
  EXPECT_EQ(buffer.depth[buffer.index(0, 0)], std::numeric_limits<double>::infinity());
}

TEST(Rasterise, TopLeftRule) {
  using raster::covers;
  constexpr std::int64_t kUnit = raster::kSubpixels;
  // The unit square as two triangles; samples on its border belong to it on the left and top only.
  const std::array<std::int64_t, 3> x1 = {0, kUnit, kUnit}, y1 = {0, 0, kUnit};
  const std::array<std::int64_t, 3> x2 = {0, kUnit, 0}, y2 = {0, kUnit, kUnit};
  const auto count = [&](std::int64_t x, std::int64_t y) {
    return static_cast<int>(covers(x1, y1, x, y)) + static_cast<int>(covers(x2, y2, x, y));
  };
  for (std::int64_t t = 1; t < kUnit; t += 37) {
    EXPECT_EQ(count(t, 0), 1);
    EXPECT_EQ(count(0, t), 1);
    EXPECT_EQ(count(t, kUnit), 0);
    EXPECT_EQ(count(kUnit, t), 0);
    EXPECT_EQ(count(t, t), 1);
  }
  EXPECT_EQ(count(0, 0), 1);
  EXPECT_EQ(count(kUnit, 0), 0);
  EXPECT_EQ(count(0, kUnit), 0);
  EXPECT_EQ(count(kUnit, kUnit), 0);
}

TEST(Rasterise, EqualDepthGoesToTheLowerFace) {
  TriangleMesh mesh;
  mesh.positions = {{-1, -1, 0}, {1, -1, 0}, {0, 1, 0}};
  mesh.faces = {{0, 1, 2}, {0, 1, 2}, {0, 1, 2}};
  const VisibilityBuffer buffer = rasterise(mesh.positions, mesh.faces, cameraAt({0, 0, 4}), 40, 40);
  for (std::size_t pixel : buffer.foregroundPixels())
    ASSERT_EQ(buffer.face[pixel], 0u);
  EXPECT_FALSE(buffer.foregroundPixels().empty());
}

TEST(Rasterise, NearPlaneCutsExactly) {
  // A floor under the camera reaches behind it; only what is beyond the near plane is drawn.
  TriangleMesh mesh;
  mesh.positions = {{-100, 0, 100}, {100, 0, 100}, {100, 0, -60}, {-100, 0, -60}};
  mesh.faces = {{0, 1, 2}, {0, 2, 3}};
  Camera camera;
  camera.eye = {0, 1, 0};
  camera.target = {0, 1, -1};
  camera.vertical_fov = 90 * kDegree;
  camera.near_distance = 2;
  // Row y below the horizon sees depth 1 / tan = 50 / (y - 50): beyond 2 for y < 75.
  const VisibilityBuffer buffer = rasterise(mesh.positions, mesh.faces, camera, 100, 100);
  for (int j = 0; j < 100; ++j)
    EXPECT_EQ(buffer.foreground(50, j), j >= 51 && j < 75) << j;  // row 50: depth 100, beyond the far border
  camera.near_distance = 1e-3;
  const VisibilityBuffer all = rasterise(mesh.positions, mesh.faces, camera, 100, 100);
  for (int j = 0; j < 100; ++j)
    EXPECT_EQ(all.foreground(50, j), j >= 51) << j;
}

TEST(Rasterise, DisastersDrawNothingAndDoNotCrash) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  TriangleMesh mesh;
  mesh.positions = {{0, 0, 0},      {1, 0, 0},     {0, 1, 0},   {nan, 0, 0},         {inf, 0, 0},
                    {1e300, 0, -1}, {0, 1e300, 0}, {0, 0, 100}, {-1e300, -1e300, 0}, {1e-300, 0, 0}};
  mesh.faces = {{0, 0, 0}, {0, 1, 3}, {0, 1, 4}, {7, 7, 7}, {0, 1, 999}, {0, 9, 0}};
  const VisibilityBuffer nothing = rasterise(mesh.positions, mesh.faces, cameraAt({0, 0, 4}), 50, 50);
  EXPECT_TRUE(nothing.foregroundPixels().empty());

  mesh.faces = {{5, 6, 8}, {0, 5, 6}, {1, 2, 8}};
  for (const Vec3& eye : {Vec3(0, 0, 4), Vec3(0, 0, 0), Vec3(nan, 0, 0), Vec3(1e300, 0, 0), Vec3(0, 5, 0)}) {
    for (double fov : {40.0, 0.0, 500.0, nan}) {
      const VisibilityBuffer buffer = rasterise(mesh.positions, mesh.faces, cameraAt(eye, fov), 50, 50);
      for (std::size_t pixel : buffer.foregroundPixels()) {
        ASSERT_LT(buffer.face[pixel], 3u);
        ASSERT_GE(buffer.barycentric[pixel].minCoeff(), 0);
      }
    }
  }
  EXPECT_EQ(rasterise(mesh.positions, mesh.faces, cameraAt({0, 0, 4}), 0, 50).width, 0);
  EXPECT_EQ(rasterise(mesh.positions, mesh.faces, cameraAt({0, 0, 4}), 50, kMaxImageSide + 1).width, 0);
  EXPECT_EQ(rasterise({}, {}, cameraAt({0, 0, 4}), 3, 2).face.size(), 6u);
}

// Coordinates far beyond the image are clipped to the guard band without moving the visible part.
TEST(Rasterise, HugeTrianglesKeepTheirEdges) {
  RasterOptions options;
  options.count_coverage = true;
  for (double size : {1e2, 1e4, 1e6, 1e9}) {
    TriangleMesh mesh;
    mesh.positions = {{0, 0, 0},
                      {size, 0.31 * size, 0},
                      {-0.2 * size, size, 0},
                      {-size, -0.7 * size, 0},
                      {0.4 * size, -size, 0}};
    mesh.faces = {{0, 1, 2}, {0, 2, 3}, {0, 3, 4}, {0, 4, 1}};
    Camera camera = pixelCamera(64, 64);
    camera.eye -= Vec3(32.25, 31.75, 0);
    camera.target -= Vec3(32.25, 31.75, 0);
    const VisibilityBuffer buffer = rasterise(mesh.positions, mesh.faces, camera, 64, 64, options);
    EXPECT_EQ(std::count(buffer.coverage.begin(), buffer.coverage.end(), 1u), 64 * 64) << size;
    EXPECT_EQ(compareWithRays(mesh, camera, 64, 64, buffer).mismatches, 0u) << size;
  }
}

bool sameBytes(const VisibilityBuffer& a, const VisibilityBuffer& b) {
  return a.face == b.face && a.coverage == b.coverage &&
         std::memcmp(a.depth.data(), b.depth.data(), a.depth.size() * sizeof(double)) == 0 &&
         std::memcmp(a.barycentric.data(), b.barycentric.data(), a.barycentric.size() * sizeof(Vec3)) == 0;
}

TEST(Rasterise, SameBytesForAnyThreadCount) {
  const int before = threadCount();
  RasterOptions options;
  options.count_coverage = true;
  const TriangleMesh sphere = testing::icosphere(5), mess = testing::soup(9, 20000, 1.0);
  for (const TriangleMesh& mesh : {sphere, mess}) {
    setThreadCount(1);
    const VisibilityBuffer one =
        rasterise(mesh.positions, mesh.faces, cameraAt({1, 1, 3}), 257, 131, options);
    for (int threads : {2, 3, 8}) {
      setThreadCount(threads);
      EXPECT_TRUE(
          sameBytes(one, rasterise(mesh.positions, mesh.faces, cameraAt({1, 1, 3}), 257, 131, options)))
          << threads;
    }
  }
  setThreadCount(before);
}

TEST(HeightMapTest, SphereHasItsHeight) {
  const TriangleMesh mesh = testing::icosphere(5);
  const Vec3 direction = Vec3(1, 2, -1).normalized();
  const HeightMap map = rasteriseHeights(mesh.positions, mesh.faces, {Vec3::Zero(), 1}, direction, 128);
  EXPECT_NEAR(map.at(Vec3::Zero()), 1, 0.01);
  const Vec3 side = 0.6 * direction.unitOrthogonal();
  // Half a cell (1/126) at slope 0.75, and the facets' sagitta.
  EXPECT_NEAR(map.at(side - 5 * direction), 0.8, 0.012);
  EXPECT_EQ(map.at(1.2 * direction.unitOrthogonal()), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(map.at(0.99 * (map.x_axis + map.y_axis)), -std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace heatskin
