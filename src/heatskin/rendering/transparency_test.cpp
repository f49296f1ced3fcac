#include "heatskin/rendering/transparency.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/color_space.h"
#include "heatskin/rendering/render.h"
#include "heatskin/rendering/test_meshes.h"
#include "heatskin/rendering/test_views.h"
#include "heatskin/rendering/visibility.h"

namespace heatskin {
namespace {

/// Squares [-1, 1]^2 at the given heights z; faces 2 k and 2 k + 1 are those of square k.
testing::TriangleMesh squares(std::initializer_list<double> heights) {
  testing::TriangleMesh mesh;
  for (const double z : heights) {
    const auto first = static_cast<std::uint32_t>(mesh.positions.size());
    for (const auto& [x, y] : {std::pair{-1.0, -1.0}, {1.0, -1.0}, {1.0, 1.0}, {-1.0, 1.0}})
      mesh.positions.push_back({x, y, z});
    mesh.faces.push_back({first, first + 1, first + 2});
    mesh.faces.push_back({first, first + 2, first + 3});
  }
  return mesh;
}

/// Looks down on the squares; they fill the picture.
Camera fromAbove(double side = 1) {
  Camera camera;
  camera.eye = {0, 0, 4 * side};
  camera.vertical_fov = 20 * kDegree;
  return camera;
}

/// Colour and alpha per square.
struct Glass {
  Vec3f color;
  float alpha;
};

ColorSource colorsOf(std::vector<Glass> glasses) {
  return [glasses = std::move(glasses)](std::span<const SurfacePoint> points, std::span<Vec3f> out) {
    for (std::size_t i = 0; i < points.size(); ++i)
      out[i] = glasses[points[i].face / 2].color;
  };
}

Transparency alphaOf(std::vector<Glass> glasses) {
  Transparency result;
  result.alpha = [glasses = std::move(glasses)](std::span<const SurfacePoint> points, std::span<float> out) {
    for (std::size_t i = 0; i < points.size(); ++i)
      out[i] = glasses[points[i].face / 2].alpha;
  };
  return result;
}

double linear(float srgb) {
  return static_cast<double>(linearFromSrgb(srgb));
}

// A card whose left half is cut away: exactly the right half of its pixels is drawn.
TEST(Transparent, HalfACardIsDrawnHalf) {
  const Surface surface = testing::surfaceOf(squares({0}));
  Transparency half;
  half.alpha = [&](std::span<const SurfacePoint> points, std::span<float> out) {
    for (std::size_t i = 0; i < points.size(); ++i)
      out[i] = surface.position(points[i]).x() >= 0 ? 1.0f : 0.0f;
  };
  RenderOptions options;
  options.transparency = &half;
  for (const bool normals : {false, true}) {
    const Picture picture = normals ? renderNormals(surface, testing::fiftyPixelsPerUnit(), 200, 200, options)
                                    : renderAlbedo(surface, testing::fiftyPixelsPerUnit(), 200, 200,
                                                   constantColor({1, 0, 0}), options);
    for (int j = 0; j < 200; ++j) {
      for (int i = 0; i < 200; ++i) {
        const bool inside = i >= 100 && i < 150 && j >= 50 && j < 150;
        const std::size_t pixel = picture.image.index(i, j);
        ASSERT_EQ(picture.image.mask[pixel] != 0, inside) << i << " " << j;
        ASSERT_EQ(picture.coverage[pixel], inside ? 1.0f : 0.0f);
        if (inside && normals) continue;
        ASSERT_EQ(picture.image.pixel(i, j)[0], inside ? 1.0f : options.background.x());
      }
    }
  }
  ShadedOptions shaded;
  shaded.transparency = &half;
  const Picture picture =
      renderShaded(surface, testing::fiftyPixelsPerUnit(), 200, 200, constantColor({1, 0, 0}), shaded);
  const double covered = [&] {
    double sum = 0;
    for (const float c : picture.coverage)
      sum += static_cast<double>(c);
    return sum;
  }();
  EXPECT_EQ(covered, 50.0 * 100.0);
}

// The edge of a cut-out is as smooth as that of the mesh.
TEST(Transparent, CutOutsAreAntialiased) {
  const Surface surface = testing::surfaceOf(squares({0}));
  for (double edge = 0; edge < 0.02; edge += 0.0031) {  // within pixel 100
    Transparency cut;
    cut.alpha = [&](std::span<const SurfacePoint> points, std::span<float> out) {
      for (std::size_t i = 0; i < points.size(); ++i)
        out[i] = surface.position(points[i]).x() >= edge ? 1.0f : 0.0f;
    };
    RenderOptions options;
    options.supersampling = 4;
    options.transparency = &cut;
    const Picture picture =
        renderAlbedo(surface, testing::fiftyPixelsPerUnit(), 200, 200, constantColor({1, 1, 1}), options);
    EXPECT_NEAR(picture.coverage[picture.image.index(100, 100)], 1 - 50 * edge, 1.0 / 16 + 1e-6);
  }
}

// Three glasses over each other and over the background: the over operator in linear light.
TEST(Transparent, LayersFollowTheOverOperator) {
  const std::vector<Glass> glasses = {
      {{0.9f, 0.1f, 0.2f}, 0.25f}, {{0.1f, 0.8f, 0.3f}, 0.5f}, {{0.2f, 0.3f, 0.9f}, 0.7f}};
  const Surface surface = testing::surfaceOf(squares({-0.4, 0, 0.4}));
  const Transparency transparency = alphaOf(glasses);
  for (const int samples : {1, 3}) {
    for (const double side : {1.0, -1.0}) {
      RenderOptions options;
      options.supersampling = samples;
      options.transparency = &transparency;
      const Picture picture = renderAlbedo(surface, fromAbove(side), 20, 20, colorsOf(glasses), options);
      std::vector<Glass> back_to_front = glasses;
      if (side < 0) std::reverse(back_to_front.begin(), back_to_front.end());
      double open = 1;
      for (int c = 0; c < 3; ++c) {
        double light = linear(options.background[c]);
        open = 1;
        for (const Glass& glass : back_to_front) {
          const auto alpha = static_cast<double>(glass.alpha);
          light = alpha * linear(glass.color[c]) + (1 - alpha) * light;
          open *= 1 - alpha;
        }
        EXPECT_NEAR(linear(picture.image.pixel(10, 10)[c]), light, 1e-5) << side << " " << c;
      }
      EXPECT_NEAR(picture.coverage[210], 1 - open, 1e-6);
      EXPECT_NE(picture.image.mask[210], 0);
    }
  }
}

// What hides everything behind it keeps its colour to the bit, wherever it is in the file.
TEST(Transparent, OrderInTheFileDoesNotMatter) {
  const std::vector<Glass> glasses = {
      {{0.9f, 0.1f, 0.2f}, 0.25f}, {{0.1f, 0.8f, 0.3f}, 0.5f}, {{0.2f, 0.3f, 0.9f}, 1.0f}};
  const auto drawn = [&](std::array<std::size_t, 3> order) {
    std::vector<double> heights = {-0.4, 0.4, 0};
    std::vector<Glass> sorted;
    testing::TriangleMesh mesh;
    for (const std::size_t k : order) {
      const auto first = static_cast<std::uint32_t>(mesh.positions.size());
      testing::TriangleMesh one = squares({heights[k]});
      mesh.positions.insert(mesh.positions.end(), one.positions.begin(), one.positions.end());
      for (const auto& face : one.faces)
        mesh.faces.push_back({face[0] + first, face[1] + first, face[2] + first});
      sorted.push_back(glasses[k]);
    }
    const Surface surface = testing::surfaceOf(mesh);
    const Transparency transparency = alphaOf(sorted);
    RenderOptions options;
    options.transparency = &transparency;
    return renderAlbedo(surface, fromAbove(), 24, 24, colorsOf(sorted), options).image.rgb;
  };
  const auto expected = drawn({0, 1, 2});
  for (const auto& order : {std::array<std::size_t, 3>{2, 1, 0}, {1, 2, 0}, {2, 0, 1}})
    EXPECT_EQ(drawn(order), expected);
  // The opaque square at z = 0 hides the first; the second tints it.
  EXPECT_NEAR(linear(expected[0]), 0.5 * linear(0.1f) + 0.5 * linear(0.2f), 1e-5);
}

TEST(Transparent, SameBytesForAnyThreadCount) {
  const int before = threadCount();
  const Surface surface = testing::surfaceOf(testing::soup(5, 60, 1.0));
  Transparency transparency;
  transparency.alpha = [](std::span<const SurfacePoint> points, std::span<float> out) {
    for (std::size_t i = 0; i < points.size(); ++i)
      out[i] = points[i].face % 3 == 0 ? 1.0f : static_cast<float>(points[i].barycentric[0]);
  };
  RenderOptions plain;
  plain.supersampling = 2;
  plain.transparency = &transparency;
  ShadedOptions shaded;
  shaded.supersampling = 1;
  shaded.transparency = &transparency;
  const ColorSource colors = constantColor({0.7f, 0.4f, 0.2f});
  setThreadCount(1);
  const auto a = renderAlbedo(surface, defaultView(surface), 90, 70, colors, plain).image.rgb;
  const auto b = renderShaded(surface, defaultView(surface), 90, 70, colors, shaded).image.rgb;
  for (const int threads : {2, 5}) {
    setThreadCount(threads);
    EXPECT_EQ(renderAlbedo(surface, defaultView(surface), 90, 70, colors, plain).image.rgb, a);
    EXPECT_EQ(renderShaded(surface, defaultView(surface), 90, 70, colors, shaded).image.rgb, b);
  }
  setThreadCount(before);
}

// Alpha 1 everywhere changes nothing, to the bit.
TEST(Transparent, OpaqueAlphaIsNoAlpha) {
  const Surface surface = testing::surfaceOf(testing::torus(24, 12));
  Transparency transparency;
  transparency.alpha = [](std::span<const SurfacePoint> points, std::span<float> out) {
    std::fill_n(out.begin(), points.size(), 1.0f);
  };
  const ColorSource colors = constantColor({0.7f, 0.4f, 0.2f});
  ShadedOptions shaded;
  shaded.supersampling = 2;
  const auto expected = renderShaded(surface, defaultView(surface), 60, 60, colors, shaded).image.rgb;
  shaded.transparency = &transparency;
  EXPECT_EQ(renderShaded(surface, defaultView(surface), 60, 60, colors, shaded).image.rgb, expected);
}

// Without a background: the colour of the surface alone, not darkened by alpha, and alpha in the mask.
TEST(Transparent, NoBackgroundGivesStraightAlpha) {
  const std::vector<Glass> glasses = {{{0.2f, 0.3f, 0.9f}, 0.25f}, {{0.9f, 0.1f, 0.2f}, 0.5f}};
  const Surface surface = testing::surfaceOf(squares({0, 0.4}));
  const Transparency transparency = alphaOf(glasses);
  RenderOptions options;
  options.transparency = &transparency;
  options.transparent_background = true;
  const Picture picture =
      renderAlbedo(surface, testing::fiftyPixelsPerUnit(), 200, 200, colorsOf(glasses), options);
  const double alpha = 1 - 0.5 * 0.75;
  EXPECT_EQ(picture.image.mask[picture.image.index(100, 100)], std::lround(255 * alpha));
  for (int c = 0; c < 3; ++c) {
    const double light = 0.5 * linear(glasses[1].color[c]) + 0.5 * 0.25 * linear(glasses[0].color[c]);
    EXPECT_NEAR(linear(picture.image.pixel(100, 100)[c]), light / alpha, 1e-5);
  }
  EXPECT_EQ(picture.image.mask[picture.image.index(2, 2)], 0);
  // A pixel on the rim has the surface's colour, not a mixture with some background.
  const Surface white = testing::surfaceOf(squares({0}));
  RenderOptions smooth;
  smooth.supersampling = 4;
  smooth.transparent_background = true;
  Camera camera = testing::fiftyPixelsPerUnit();
  camera.eye.x() = camera.target.x() = 0.01;  // half a pixel
  const Picture rim = renderAlbedo(white, camera, 200, 200, constantColor({1, 1, 1}), smooth);
  EXPECT_EQ(rim.image.mask[rim.image.index(49, 100)], 128);
  EXPECT_NEAR(rim.image.pixel(49, 100)[0], 1.0f, 1e-5f);
}

// The floor under half a card is half in shadow; under glass the shadow is lighter.
TEST(Transparent, ShadowsAreCutOutAndThinned) {
  testing::TriangleMesh card = squares({0});
  for (Vec3& x : card.positions)
    x = Vec3(x.x(), 0, -x.y());
  const Surface surface = testing::surfaceOf(card);
  const Vec3 up(0, 1, 0);
  const BoundingSphere sphere = boundingSphere(surface);
  const std::vector<std::uint8_t> see_through(surface.faceCount(), 1);
  const HeightMap map =
      rasteriseHeights(surface.positions(), surface.faces(), sphere, up, 64, see_through,
                       [&](std::span<const SurfacePoint> points, std::span<std::uint8_t> stops) {
                         for (std::size_t i = 0; i < points.size(); ++i)
                           stops[i] = surface.position(points[i]).x() > 0 ? 1 : 0;
                       });
  EXPECT_EQ(map.at({0.5, 0, 0.3}), 0.0f);
  EXPECT_EQ(map.at({-0.5, 0, 0.3}), -std::numeric_limits<float>::infinity());

  Camera camera = orbitCamera(sphere, 0, 40 * kDegree);
  testing::TriangleMesh stand = card;  // a speck below makes the floor lie under the card
  stand.positions.insert(stand.positions.end(), {{0, -1, 0}, {0.001, -1, 0}, {0, -1, 0.001}});
  stand.faces.push_back({4, 5, 6});
  const Surface table = testing::surfaceOf(stand);
  camera = orbitCamera(boundingSphere(table), 0, 40 * kDegree);
  const auto light = [&](float alpha) {
    Transparency transparency;
    transparency.alpha = [alpha](std::span<const SurfacePoint> points, std::span<float> out) {
      std::fill_n(out.begin(), points.size(), alpha);
    };
    ShadedOptions options;
    options.transparency = &transparency;
    const Picture picture = renderShaded(table, camera, 64, 64, constantColor({0, 0, 0}), options);
    double sum = 0;
    for (int i = 0; i < 64; ++i) {
      if (picture.coverage[picture.image.index(i, 48)] == 0)
        sum += static_cast<double>(picture.image.pixel(i, 48)[0]);
    }
    return sum;
  };
  const double clear = light(0.0f), glass = light(0.4f), solid = light(1.0f);
  EXPECT_GT(clear, glass + 0.1);
  EXPECT_GT(glass, solid + 0.1);
}

// MASK compares with the cutoff, BLEND keeps alpha and hides its back unless double-sided.
TEST(TransparencyOf, FollowsTheMaterials) {
  Asset asset;
  asset.format = "glb";
  asset.meshes.push_back({"cards", {}});
  Instance instance;
  instance.mesh = 0;
  asset.instances.push_back(instance);
  const auto add = [&](AlphaMode mode, float alpha, bool double_sided, double z) {
    Material material;
    material.alpha_mode = mode;
    material.base_color_factor = {1, 1, 1, alpha};
    material.alpha_cutoff = 0.5f;
    material.double_sided = double_sided;
    asset.materials.push_back(material);
    Primitive primitive;
    primitive.positions = {{0, 0, z}, {1, 0, z}, {0, 1, z}};
    primitive.triangles = {0, 1, 2};
    primitive.material = static_cast<int>(asset.materials.size()) - 1;
    asset.meshes[0].primitives.push_back(primitive);
  };
  add(AlphaMode::kOpaque, 0.3f, false, 0);
  add(AlphaMode::kMask, 0.3f, false, 1);
  add(AlphaMode::kMask, 0.5f, false, 2);
  add(AlphaMode::kBlend, 0.3f, false, 3);
  add(AlphaMode::kBlend, 0.3f, true, 4);
  SurfaceOptions options;
  options.principal_axes = false;
  Result<Surface> surface = buildSurface(asset, options);
  ASSERT_TRUE(surface.ok());
  const Appearance appearance(asset, *surface);
  const Transparency transparency = transparencyOf(asset, appearance);
  ASSERT_FALSE(transparency.opaque());
  std::vector<SurfacePoint> points(5);
  for (std::uint32_t f = 0; f < 5; ++f)
    points[f].face = f;
  std::vector<float> alpha(5);
  transparency.alpha(points, alpha);
  EXPECT_EQ(alpha, (std::vector<float>{1, 0, 1, 0.3f, 0.3f}));
  // A mask whose alpha is the same everywhere and not below the cutoff hides nothing.
  EXPECT_EQ(transparency.see_through, (std::vector<std::uint8_t>{0, 1, 0, 1, 1}));
  EXPECT_EQ(transparency.one_sided, (std::vector<std::uint8_t>{0, 0, 0, 1, 0}));
}

TEST(TransparencyOf, OneSidedBacksAreNotDrawn) {
  const Surface surface = testing::surfaceOf(squares({0}));
  Transparency transparency;
  transparency.one_sided = {1, 1};
  transparency.alpha = [](std::span<const SurfacePoint> points, std::span<float> out) {
    std::fill_n(out.begin(), points.size(), 0.5f);
  };
  RenderOptions options;
  options.transparency = &transparency;
  for (const double side : {1.0, -1.0}) {
    const Picture picture = renderAlbedo(surface, fromAbove(side), 20, 20, constantColor({1, 1, 1}), options);
    EXPECT_EQ(picture.coverage[210], side > 0 ? 0.5f : 0.0f);
  }
}

}  // namespace
}  // namespace heatskin
