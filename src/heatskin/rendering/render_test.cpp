#include "heatskin/rendering/render.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/rendering/test_meshes.h"
#include "heatskin/rendering/test_views.h"
#include "heatskin/rendering/visibility.h"

namespace heatskin {
namespace {

/// The square [-1, 1]^2 at z = 0: normalisation leaves it where it is.
testing::TriangleMesh square() {
  return {{{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0}}, {{0, 1, 2}, {0, 2, 3}}};
}

/// Colours that tell the place: (x, y, face) in 0 .. 1.
ColorSource placeColors(const Surface& surface) {
  return [&surface](std::span<const SurfacePoint> points, std::span<Vec3f> colors) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Vec3 x = surface.position(points[i]);
      colors[i] = Vec3(0.5 + 0.5 * x.x(), 0.5 + 0.5 * x.y(), 0.25).cast<float>();
    }
  };
}

TEST(RenderAlbedo, PixelsAreTheColoursUnderTheirCentres) {
  const Surface surface = testing::surfaceOf(square());
  const Picture picture =
      renderAlbedo(surface, testing::fiftyPixelsPerUnit(), 200, 200, placeColors(surface), {});
  ASSERT_EQ(picture.image.rgb.size(), 3u * 200 * 200);
  for (int j = 0; j < 200; ++j) {
    for (int i = 0; i < 200; ++i) {
      const bool inside = i >= 50 && i < 150 && j >= 50 && j < 150;
      const std::size_t pixel = picture.image.index(i, j);
      ASSERT_EQ(picture.image.mask[pixel] != 0, inside);
      ASSERT_EQ(picture.coverage[pixel], inside ? 1.0f : 0.0f);
      const float* rgb = picture.image.pixel(i, j);
      if (!inside) {
        ASSERT_EQ(rgb[0], RenderOptions{}.background.x());
        continue;
      }
      // Float colours of positions exact to rounding; rows run down while y runs up.
      ASSERT_NEAR(rgb[0], (i + 0.5 - 50) / 100, 1e-6);
      ASSERT_NEAR(rgb[1], (150 - (j + 0.5)) / 100, 1e-6);
      ASSERT_EQ(rgb[2], 0.25f);
    }
  }
}

TEST(RenderAlbedo, BatchesAreBoundedAndComplete) {
  const Surface surface = testing::surfaceOf(square());
  std::size_t asked = 0, largest = 0;
  const Picture picture = renderAlbedo(surface, testing::fiftyPixelsPerUnit(), 700, 700,
                                       [&](std::span<const SurfacePoint> points, std::span<Vec3f> colors) {
                                         ASSERT_EQ(points.size(), colors.size());
                                         asked += points.size();
                                         largest = std::max(largest, points.size());
                                         std::fill(colors.begin(), colors.end(), Vec3f(1, 0, 0));
                                       });
  EXPECT_EQ(asked, 350u * 350u);
  EXPECT_LE(largest, kColorBatch);
  EXPECT_EQ(picture.image.pixel(350, 350)[0], 1.0f);
}

// The share of samples over a half plane is its share of the pixel's area, up to one row of samples.
TEST(RenderAlbedo, AntialiasingApproximatesCoverage) {
  const Surface surface = testing::surfaceOf(square());
  for (int n : {2, 3, 4, 8}) {
    RenderOptions options;
    options.supersampling = n;
    options.background = {0, 0, 0};
    for (double shift = 0; shift < 1; shift += 0.07) {
      // The left border x = -1 comes to pixel coordinate 50 - shift.
      const Camera camera = testing::fiftyPixelsPerUnit(shift / 50, 0);
      const Picture picture = renderAlbedo(surface, camera, 200, 200, constantColor({1, 1, 1}), options);
      const std::size_t pixel = picture.image.index(49, 100);
      // No two samples share a column of the n^2 columns: the error is below one of n^2 levels.
      ASSERT_NEAR(picture.coverage[pixel], shift, 1.0 / (n * n)) << n << " " << shift;
      // White over black averages to the coverage in linear light, not in sRGB.
      const double coverage = static_cast<double>(picture.coverage[pixel]);
      const double srgb =
          coverage <= 0.0031308 ? 12.92 * coverage : 1.055 * std::pow(coverage, 1 / 2.4) - 0.055;
      ASSERT_NEAR(picture.image.pixel(49, 100)[0], srgb, 1e-5);
      ASSERT_EQ(picture.image.mask[pixel] != 0, picture.coverage[pixel] >= 0.5f);
    }
  }
}

TEST(RenderAlbedo, AntialiasingKeepsFlatColours) {
  const Surface surface = testing::surfaceOf(square());
  RenderOptions options;
  options.supersampling = 3;
  const Picture picture = renderAlbedo(surface, testing::fiftyPixelsPerUnit(), 200, 200,
                                       constantColor({0.2f, 0.5f, 0.9f}), options);
  EXPECT_NEAR(picture.image.pixel(100, 100)[0], 0.2f, 1e-5f);
  EXPECT_NEAR(picture.image.pixel(100, 100)[2], 0.9f, 1e-5f);
}

TEST(RenderAlbedo, BadSizesGiveNoPicture) {
  const Surface surface = testing::surfaceOf(square());
  for (const auto& [width, height] : {std::pair{0, 5}, {5, -1}, {kMaxImageSide + 1, 5}}) {
    EXPECT_EQ(renderAlbedo(surface, {}, width, height, constantColor({1, 1, 1})).image.width, 0);
    EXPECT_EQ(renderShaded(surface, {}, width, height, constantColor({1, 1, 1})).image.width, 0);
  }
}

TEST(RenderAlbedo, WireIsDrawnAlongEdgesOnly) {
  const Surface surface = testing::surfaceOf(square());
  RenderOptions options;
  options.wire.width = 2;
  options.wire.color = {0, 0, 0};
  const Picture picture =
      renderAlbedo(surface, testing::fiftyPixelsPerUnit(), 200, 200, constantColor({1, 1, 1}), options);
  EXPECT_LT(picture.image.pixel(50, 100)[0], 0.05f);         // left border
  EXPECT_LT(picture.image.pixel(100, 99)[0], 0.3f);          // diagonal
  EXPECT_NEAR(picture.image.pixel(75, 70)[0], 1.0f, 1e-6f);  // inside
}

TEST(RenderNormals, AreTurnedTowardsTheViewer) {
  const Surface surface = testing::surfaceOf(square());
  for (double side : {2.0, -2.0}) {
    Camera camera = testing::fiftyPixelsPerUnit();
    camera.eye.z() = side;
    const Picture picture = renderNormals(surface, camera, 200, 200);
    EXPECT_NEAR(picture.image.pixel(100, 100)[0], 0.5f, 1e-6f);
    EXPECT_NEAR(picture.image.pixel(100, 100)[1], 0.5f, 1e-6f);
    EXPECT_NEAR(picture.image.pixel(100, 100)[2], 1.0f, 1e-6f);
  }
}

TEST(CreaseNormals, SmoothOnASphereAndSharpOnABox) {
  const Surface sphere = testing::surfaceOf(testing::icosphere(3));
  const auto smooth = creaseNormals(sphere, 35 * kDegree);
  for (std::size_t f = 0; f < smooth.size(); ++f) {
    for (std::size_t c = 0; c < 3; ++c) {
      const Vec3 radial = sphere.positions()[sphere.faces()[f][c]].normalized();
      ASSERT_GT(smooth[f][c].cast<double>().dot(radial), std::cos(1 * kDegree));
    }
  }
  testing::TriangleMesh box;
  for (int i = 0; i < 8; ++i)
    box.positions.push_back({i & 1 ? 1.0 : -1.0, i & 2 ? 1.0 : -1.0, i & 4 ? 1.0 : -1.0});
  box.faces = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4},
               {2, 6, 7}, {2, 7, 3}, {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
  const Surface cube = testing::surfaceOf(box);
  const auto sharp = creaseNormals(cube, 35 * kDegree);
  const auto round = creaseNormals(cube, 180 * kDegree);
  for (std::size_t f = 0; f < sharp.size(); ++f) {
    for (std::size_t c = 0; c < 3; ++c) {
      ASSERT_LT((sharp[f][c].cast<double>() - cube.frames()[f].normal()).norm(), 1e-6);
      // Angle-weighted: the corner of a cube points along its diagonal however the squares are split.
      ASSERT_LT((round[f][c].cast<double>() - cube.positions()[cube.faces()[f][c]].normalized()).norm(),
                1e-6);
    }
  }
}

double brightness(const Picture& picture, int x, int y) {
  const float* rgb = picture.image.pixel(x, y);
  return static_cast<double>(rgb[0] + rgb[1] + rgb[2]) / 3;
}

TEST(RenderShaded, LightComesFromAboveAndShadowsFallOnTheFloor) {
  const Surface surface = testing::surfaceOf(testing::icosphere(4));
  const Camera camera = orbitCamera(boundingSphere(surface), 0, 20 * kDegree);
  ShadedOptions options;
  options.supersampling = 2;
  const ColorSource grey = constantColor({0.6f, 0.6f, 0.6f});
  const Picture picture = renderShaded(surface, camera, 160, 160, grey, options);
  // The lamp is at the upper left.
  EXPECT_GT(brightness(picture, 55, 45), brightness(picture, 105, 115) + 0.15);
  options.ground_shadow = false;
  const Picture floating = renderShaded(surface, camera, 160, 160, grey, options);
  std::size_t darker = 0;
  for (int j = 0; j < 160; ++j) {
    for (int i = 0; i < 160; ++i) {
      const std::size_t pixel = picture.image.index(i, j);
      ASSERT_EQ(picture.image.mask[pixel], floating.image.mask[pixel]);
      if (picture.coverage[pixel] == 1) {
        ASSERT_EQ(brightness(picture, i, j), brightness(floating, i, j));
      } else {
        // A shadow only takes light away.
        ASSERT_LE(brightness(picture, i, j), brightness(floating, i, j) + 1e-6);
        darker += brightness(picture, i, j) < brightness(floating, i, j) - 0.05;
      }
    }
  }
  EXPECT_GT(darker, 100u);
}

// Both sides of an open surface are lit by what they face: a sheet looks the same with its faces turned over.
TEST(RenderShaded, OrientationDoesNotMatter) {
  testing::TriangleMesh sheet = square();
  for (Vec3& x : sheet.positions)
    x = Vec3(x.x(), 0.1 * x.x() * x.y(), x.y());
  testing::TriangleMesh turned = sheet;
  for (auto& face : turned.faces)
    std::swap(face[1], face[2]);
  const Surface a = testing::surfaceOf(sheet), b = testing::surfaceOf(turned);
  const Camera camera = orbitCamera(boundingSphere(a), 0.3, 0.5);
  const ColorSource grey = constantColor({0.6f, 0.6f, 0.6f});
  ShadedOptions options;
  options.supersampling = 1;
  const Picture pa = renderShaded(a, camera, 96, 96, grey, options);
  const Picture pb = renderShaded(b, camera, 96, 96, grey, options);
  for (std::size_t i = 0; i < pa.image.rgb.size(); ++i)
    ASSERT_NEAR(pa.image.rgb[i], pb.image.rgb[i], 1e-4);
}

TEST(Render, SameBytesForAnyThreadCount) {
  const int before = threadCount();
  const Surface surface = testing::surfaceOf(testing::torus(40, 24));
  const Camera camera = defaultView(surface);
  ShadedOptions options;
  options.supersampling = 2;
  options.wire.width = 1;
  setThreadCount(1);
  const Picture shaded = renderShaded(surface, camera, 120, 90, placeColors(surface), options);
  RenderOptions plain;
  plain.supersampling = 2;
  const Picture albedo = renderAlbedo(surface, camera, 120, 90, placeColors(surface), plain);
  for (int threads : {2, 3, 8}) {
    setThreadCount(threads);
    EXPECT_EQ(shaded.image.rgb,
              renderShaded(surface, camera, 120, 90, placeColors(surface), options).image.rgb);
    EXPECT_EQ(albedo.image.rgb,
              renderAlbedo(surface, camera, 120, 90, placeColors(surface), plain).image.rgb);
  }
  setThreadCount(before);
}

}  // namespace
}  // namespace heatskin
