#include "heatskin/appearance/appearance.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/io/color_space.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

/// A unit square in the xy plane, uv = (x, 1 - y), with a width x height texture whose texel (x, y) is (x, y,
/// 0) * 10.
Asset square(int width, int height) {
  Asset asset;
  Image image;
  image.width = width;
  image.height = height;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (const int value : {10 * x, 10 * y, 0, 255})
        image.rgba.push_back(static_cast<std::uint8_t>(value));
    }
  }
  asset.images.push_back(std::make_shared<const Image>(std::move(image)));
  asset.textures.push_back({0});
  Material material;
  material.base_color.texture = 0;
  asset.materials.push_back(material);
  Primitive primitive;
  primitive.positions = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
  primitive.uv_sets = {{{0, 1}, {1, 1}, {1, 0}, {0, 0}}};
  primitive.triangles = {0, 1, 2, 0, 2, 3};
  primitive.material = 0;
  asset.meshes.push_back({"square", {primitive}});
  Instance instance;
  instance.mesh = 0;
  asset.instances.push_back(instance);
  return asset;
}

struct Scene {
  Asset asset;
  Surface surface;
  Appearance appearance;
  explicit Scene(Asset a)
      : asset(std::move(a)), surface(std::move(*Surface::build(asset))), appearance(asset, surface) {}

  /// Colour where the texture coordinate of the untransformed square is (u, v).
  Vec3f at(double u, double v, Filter filter = Filter::kPaper) const {
    return appearance.color(point(u, v), filter);
  }

  SurfacePoint point(double u, double v) const {
    const double x = u, y = 1 - v;  // triangle 0 below the diagonal: corners (0,0), (1,0), (1,1)
    if (y <= x) return {0, {1 - x, x - y, y}};
    return {1, {1 - y, x, y - x}};  // corners (0,0), (1,1), (0,1)
  }
};

TEST(Appearance, PaperFilterIsTheFormulaOfTheMethod) {
  const Scene scene(square(20, 10));
  for (const auto& [u, v] :
       {std::pair(0.0, 0.0), std::pair(1.0, 1.0), std::pair(0.31, 0.77), std::pair(0.5, 0.2)}) {
    const Vec3f expected =
        Vec3f(static_cast<float>(10 * std::round(u * 19)), static_cast<float>(10 * std::round(v * 9)), 0) /
        255.0f;
    EXPECT_EQ(scene.at(u, v), expected) << u << " " << v;
  }
  EXPECT_TRUE(scene.appearance.hasColor());
  EXPECT_FALSE(scene.appearance.hasAlpha());
}

TEST(Appearance, PaperFilterWrapsAfterRounding) {
  Asset asset = square(20, 10);
  for (Vec2f& uv : asset.meshes[0].primitives[0].uv_sets[0])
    uv += Vec2f(1, -1);  // u in [1, 2], v in [-1, 0]
  asset.textures[0].wrap_u = Wrap::kRepeat;
  asset.textures[0].wrap_v = Wrap::kRepeat;
  const float w = 255;
  {
    const Scene scene(asset);
    // u = 1.4: round(26.6) = 27 -> 7; v = -0.8: round(-7.2) = -7 -> 3
    EXPECT_EQ(scene.at(0.4, 0.2), Vec3f(70, 30, 0) / w);
  }
  asset.textures[0].wrap_u = Wrap::kMirroredRepeat;
  asset.textures[0].wrap_v = Wrap::kClampToEdge;
  {
    const Scene scene(asset);
    EXPECT_EQ(scene.at(0.4, 0.2), Vec3f(10 * (39 - 27), 0, 0) / w);
  }
}

TEST(Appearance, BilinearIsExactAtTexelCentresAndBlendsInLinearLight) {
  const Scene scene(square(20, 10));
  for (int x = 0; x < 20; ++x) {
    const Vec3f c = scene.at((x + 0.5) / 20, 3.5 / 10, Filter::kBilinear);
    EXPECT_NEAR(c.x(), static_cast<float>(10 * x) / 255, 2e-6f);  // through linear light and back in float
    EXPECT_NEAR(c.y(), 30.0f / 255, 2e-6f);
  }
  const float middle = scene.at(6.0 / 20, 3.5 / 10, Filter::kBilinear).x();
  EXPECT_NEAR(linearFromSrgb(middle), 0.5f * (linearFromSrgb8[50] + linearFromSrgb8[60]), 1e-6f);
}

TEST(Appearance, FactorsAndVertexColoursMultiplyInLinearLight) {
  Asset asset = square(20, 10);
  asset.materials[0].base_color_factor = {0.5f, 1, 1, 0.25f};
  asset.materials[0].alpha_mode = AlphaMode::kBlend;
  asset.meshes[0].primitives[0].colors.assign(4, Vec4f(1, 0.25f, 1, 0.5f));
  const Scene scene(asset);
  const Vec3f c = scene.at(1, 1);
  EXPECT_NEAR(linearFromSrgb(c.x()), 0.5f * linearFromSrgb8[190], 1e-6f);
  EXPECT_NEAR(linearFromSrgb(c.y()), 0.25f * linearFromSrgb8[90], 1e-6f);
  EXPECT_FLOAT_EQ(scene.appearance.alpha(scene.point(1, 1)), 0.125f);
  EXPECT_FLOAT_EQ(scene.appearance.visibility(scene.point(1, 1)), 0.125f);
  EXPECT_TRUE(scene.appearance.hasAlpha());
}

TEST(Appearance, FactorOnlyMaterialsHaveAColour) {
  Asset asset = square(4, 4);
  asset.materials[0].base_color.texture = -1;
  asset.materials[0].base_color_factor = {0.2f, 0.4f, 0.6f, 1};
  {
    const Scene scene(asset);
    EXPECT_NEAR(scene.at(0.5, 0.5).y(), srgbFromLinear(0.4f), 1e-7f);
    EXPECT_FALSE(scene.appearance.hasColor()) << "one colour everywhere: nothing to fit";
    EXPECT_EQ(scene.appearance.texturedFaces(), 0u);
  }
  asset.meshes[0].primitives[0].colors = {{1, 0, 0, 1}, {1, 0, 0, 1}, {0, 1, 0, 1}, {0, 1, 0, 1}};
  EXPECT_TRUE(Scene(asset).appearance.hasColor());
}

TEST(Appearance, TextureTransformScalesRotatesThenMoves) {
  Asset asset = square(20, 20);
  TextureUse& use = asset.materials[0].base_color;
  use.scale = {0.5f, 0.25f};
  use.rotation = static_cast<float>(std::numbers::pi / 2);
  use.offset = {0.1f, 0.9f};
  const Scene scene(asset);
  std::array<Vec2f, 3> uvs;
  ASSERT_TRUE(scene.appearance.faceUvs(0, uvs));
  // Corner (1, 1) of the texture: scaled (0.5, 0.25), turned by the extension's matrix [c s; -s c] to (0.25,
  // -0.5).
  EXPECT_NEAR(uvs[1].x(), 0.35f, 1e-6f);
  EXPECT_NEAR(uvs[1].y(), 0.4f, 1e-6f);
}

TEST(Appearance, MaterialsAndUvSetsAreLookedUpPerPrimitive) {
  Asset asset = square(20, 20);
  Primitive second = asset.meshes[0].primitives[0];
  for (Vec3& x : second.positions)
    x += Vec3(2, 0, 0);
  second.uv_sets.insert(second.uv_sets.begin(), std::vector<Vec2f>(4, Vec2f::Zero()));
  second.material = 1;
  Material other = asset.materials[0];
  other.base_color.uv_set = 1;
  asset.materials.push_back(other);
  Primitive third = second;  // asks for a set that is not there
  for (Vec3& x : third.positions)
    x += Vec3(2, 0, 0);
  third.uv_sets.resize(1);
  asset.meshes[0].primitives.push_back(second);
  asset.meshes[0].primitives.push_back(third);
  const Scene scene(asset);
  EXPECT_EQ(scene.appearance.color({2, {0, 1, 0}}), scene.appearance.color({0, {0, 1, 0}}));
  EXPECT_EQ(scene.appearance.faceMaterial(2), 1);
  std::array<Vec2f, 3> uvs;
  EXPECT_FALSE(scene.appearance.faceUvs(4, uvs));
  EXPECT_EQ(scene.appearance.color({4, {0, 1, 0}}), Vec3f(1, 1, 1));
  EXPECT_EQ(scene.appearance.texturedFaces(), 4u);
}

TEST(Appearance, TurnedFacesKeepTheirTexture) {
  Asset asset = square(20, 20);
  const Scene plain(asset);
  std::swap(asset.meshes[0].primitives[0].triangles[4], asset.meshes[0].primitives[0].triangles[5]);
  Instance mirrored = asset.instances[0];
  const Scene turned(asset);
  EXPECT_EQ(turned.surface.report().flipped_faces, 1u);
  const SurfacePoint p = plain.point(0.2, 0.1);
  ASSERT_EQ(p.face, 1u);
  EXPECT_EQ(plain.appearance.color(p), turned.appearance.color(p)) << "corner order was restored";
  mirrored.asset_from_mesh.linear() = Vec3(-1, 1, 1).asDiagonal();
  asset = square(20, 20);
  asset.instances[0] = mirrored;
  const Scene mirror(asset);
  const SurfacePoint q{1, {p.barycentric[0], p.barycentric[2], p.barycentric[1]}};
  EXPECT_EQ(mirror.appearance.color(q), plain.appearance.color(p));
}

TEST(Appearance, HostileCoordinatesStayInsideTheImage) {
  Asset asset = square(20, 10);
  asset.meshes[0].primitives[0].uv_sets[0] = {{1e30f, -1e30f}, {-3e38f, 3e38f}, {0.5f, 1e9f}, {-1e-30f, 2}};
  for (const Wrap wrap : {Wrap::kRepeat, Wrap::kMirroredRepeat, Wrap::kClampToEdge}) {
    asset.textures[0].wrap_u = asset.textures[0].wrap_v = wrap;
    const Scene scene(asset);
    for (const SurfacePoint& p : sampleSurface(scene.surface, 500, 1)) {
      for (const Filter filter : {Filter::kAuto, Filter::kNearest, Filter::kBilinear, Filter::kPaper}) {
        const Vec3f c = scene.appearance.color(p, filter);
        EXPECT_TRUE(c.allFinite() && c.minCoeff() >= 0 && c.maxCoeff() <= 1);
      }
    }
  }
}

TEST(Appearance, ManyPointsEqualSinglePoints) {
  const Scene scene(square(20, 10));
  const auto points = sampleSurface(scene.surface, 10'000, 1);
  std::vector<Vec3f> colors(points.size());
  setThreadCount(3);
  scene.appearance.colors(points, colors);
  setThreadCount(0);
  for (std::size_t i = 0; i < points.size(); ++i)
    ASSERT_EQ(colors[i], scene.appearance.color(points[i]));
}

}  // namespace
}  // namespace heatskin
