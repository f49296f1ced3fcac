#include "heatskin/appearance/appearance.h"

#include <cmath>
#include <memory>
#include <numbers>
#include <utility>

#include <gtest/gtest.h>

#include "heatskin/appearance/appearance_target.h"
#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/color_space.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/surface/sampling.h"

#include "support/assets.h"

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
      : asset(std::move(a)), surface(std::move(*buildSurface(asset))), appearance(asset, surface) {}

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

// ---- sampling as glTF does it, against loops that spell it out ----

/// A square whose texture coordinates run from `low` to `high` in both directions, with a random texture.
Asset card(int width, int height, double low, double high, Wrap wrap_u, Wrap wrap_v) {
  Asset asset = square(width, height);
  Image image = *asset.images[0];
  const RandomStream random(7, 0);
  for (std::size_t i = 0; i < image.rgba.size(); ++i) {
    if (i % 4 != 3) image.rgba[i] = static_cast<std::uint8_t>(255.99 * random.uniform(i));
  }
  asset.images[0] = std::make_shared<const Image>(std::move(image));
  for (Vec2f& uv : asset.meshes[0].primitives[0].uv_sets[0])
    uv = (uv.cast<double>() * (high - low) + Vec2::Constant(low)).cast<float>();
  asset.textures[0].wrap_u = wrap_u;
  asset.textures[0].wrap_v = wrap_v;
  return asset;
}

/// Texel index of an integer index on the endless line of texels, step by step.
int walkedIndex(int index, int size, Wrap wrap) {
  if (wrap == Wrap::kClampToEdge) return index < 0 ? 0 : index >= size ? size - 1 : index;
  int tile = 0;
  while (index < 0) {
    index += size;
    --tile;
  }
  while (index >= size) {
    index -= size;
    ++tile;
  }
  const bool turned = wrap == Wrap::kMirroredRepeat && tile % 2 != 0;
  return turned ? size - 1 - index : index;
}

Vec3f linearOf(const Image& image, int x, int y) {
  const std::uint8_t* t = image.texel(x, y);
  return {linearFromSrgb8[t[0]], linearFromSrgb8[t[1]], linearFromSrgb8[t[2]]};
}

constexpr Wrap kWraps[] = {Wrap::kRepeat, Wrap::kMirroredRepeat, Wrap::kClampToEdge};

TEST(Appearance, NearestAndBilinearCardsEqualPicturesByHand) {
  constexpr int kWidth = 8, kHeight = 5;
  for (const auto& [low, high] : {std::pair(-2.0, 3.0), std::pair(30.0, 34.0), std::pair(-7.0, -5.5)}) {
    for (const Wrap wrap_u : kWraps) {
      for (const Wrap wrap_v : kWraps) {
        const Scene scene(card(kWidth, kHeight, low, high, wrap_u, wrap_v));
        const Image& image = *scene.asset.images[0];
        const RandomStream random(3, 0);
        for (std::uint64_t i = 0; i < 400; ++i) {
          const auto [a, b] = std::pair(random.uniform(2 * i), random.uniform(2 * i + 1));
          const double u = low + (high - low) * a, v = low + (high - low) * b;
          // Endless texels: number i covers [i / W, (i + 1) / W).
          const int x = walkedIndex(static_cast<int>(std::floor(u * kWidth)), kWidth, wrap_u);
          const int y = walkedIndex(static_cast<int>(std::floor(v * kHeight)), kHeight, wrap_v);
          const std::uint8_t* texel = image.texel(x, y);
          ASSERT_EQ(scene.at(a, b, Filter::kNearest), Vec3f(texel[0], texel[1], texel[2]) / 255.0f)
              << u << " " << v;
          // The four texels whose centres surround the point.
          const double cx = u * kWidth - 0.5, cy = v * kHeight - 0.5;
          const int x0 = static_cast<int>(std::floor(cx)), y0 = static_cast<int>(std::floor(cy));
          Vec3f sum = Vec3f::Zero();
          for (int dy = 0; dy < 2; ++dy) {
            for (int dx = 0; dx < 2; ++dx) {
              const double weight = (dx == 1 ? cx - x0 : 1 - (cx - x0)) * (dy == 1 ? cy - y0 : 1 - (cy - y0));
              sum += static_cast<float>(weight) * linearOf(image, walkedIndex(x0 + dx, kWidth, wrap_u),
                                                           walkedIndex(y0 + dy, kHeight, wrap_v));
            }
          }
          const Vec3f color = scene.at(a, b, Filter::kBilinear);
          for (Eigen::Index c = 0; c < 3; ++c)
            ASSERT_NEAR(color[c], srgbFromLinear(sum[c]), 2e-4f) << u << " " << v;
        }
      }
    }
  }
}

TEST(Appearance, FarRepeatsLookLikeTheFirstOnes) {
  const Scene near(card(64, 64, 0, 4, Wrap::kRepeat, Wrap::kRepeat));
  for (const double shift : {30.0, -30.0, 1024.0, 1'000'000.0}) {
    const Scene far(card(64, 64, shift, shift + 4, Wrap::kRepeat, Wrap::kRepeat));
    int different_from_paper = 0;
    for (int y = 0; y < 256; ++y) {
      for (int x = 0; x < 256; ++x) {
        // Texel centres, which the corners' float32 coordinates represent exactly.
        const double a = (x + 0.5) / 256, b = (y + 0.5) / 256;
        ASSERT_EQ(far.at(a, b, Filter::kNearest), near.at(a, b, Filter::kNearest)) << shift << " " << x;
        ASSERT_LT((far.at(a, b, Filter::kBilinear) - near.at(a, b, Filter::kBilinear)).norm(), 1e-5f);
        const std::uint8_t* texel = near.asset.images[0]->texel(x % 64, y % 64);
        ASSERT_EQ(far.at(a, b, Filter::kNearest), Vec3f(texel[0], texel[1], texel[2]) / 255.0f);
        different_from_paper += far.at(a, b, Filter::kPaper) != near.at(a, b, Filter::kNearest) ? 1 : 0;
      }
    }
    EXPECT_GT(different_from_paper, 256 * 256 / 2) << "the paper's formula is not for repeats";
  }
}

TEST(Appearance, AutoFollowsTheSampler) {
  Asset asset = card(8, 8, 0, 1, Wrap::kRepeat, Wrap::kRepeat);
  for (const bool nearest : {true, false}) {
    asset.textures[0].filter = nearest ? TexelFilter::kNearest : TexelFilter::kLinear;
    const Scene scene(asset);
    EXPECT_EQ(scene.at(0.3, 0.41, Filter::kAuto),
              scene.at(0.3, 0.41, nearest ? Filter::kNearest : Filter::kBilinear));
    EXPECT_NE(scene.at(0.3, 0.41, Filter::kNearest), scene.at(0.3, 0.41, Filter::kBilinear));
  }
}

// ---- visibility ----

/// A 2 x 1 texture: left white and seen, right black and not.
Asset halfCard(AlphaMode mode) {
  Asset asset = square(2, 1);
  Image image = *asset.images[0];
  image.rgba = {255, 255, 255, 255, 0, 0, 0, 0};
  asset.images[0] = std::make_shared<const Image>(std::move(image));
  asset.textures[0].wrap_u = asset.textures[0].wrap_v = Wrap::kClampToEdge;
  asset.materials[0].alpha_mode = mode;
  return asset;
}

TEST(Appearance, AlphaModesDecideAboutVisibility) {
  {
    const Scene scene(halfCard(AlphaMode::kOpaque));
    EXPECT_FALSE(scene.appearance.hasAlpha());
    EXPECT_EQ(scene.appearance.visibility(scene.point(0.9, 0.5)), 1);
    EXPECT_EQ(visibleShare(scene.surface, scene.appearance), 1);
    EXPECT_LT(scene.at(0.6, 0.5, Filter::kBilinear).x(), 0.9f) << "an opaque material's alpha means nothing";
  }
  {
    Asset asset = halfCard(AlphaMode::kMask);
    asset.materials[0].alpha_cutoff = 0.25f;
    const Scene scene(asset);
    EXPECT_TRUE(scene.appearance.hasAlpha());
    EXPECT_EQ(scene.appearance.faceAlphaMode(0), AlphaMode::kMask);
    // Between the centres at 0.25 and 0.75 alpha falls linearly: 0.25 at u = 0.625.
    EXPECT_EQ(scene.appearance.visibility(scene.point(0.62, 0.5), Filter::kBilinear), 1);
    EXPECT_EQ(scene.appearance.visibility(scene.point(0.63, 0.5), Filter::kBilinear), 0);
    EXPECT_EQ(scene.appearance.visibility(scene.point(0.49, 0.5), Filter::kNearest), 1);
    EXPECT_EQ(scene.appearance.visibility(scene.point(0.51, 0.5), Filter::kNearest), 0);
    EXPECT_NEAR(visibleShare(scene.surface, scene.appearance), 0.625, 0.01);
  }
  {
    Asset asset = halfCard(AlphaMode::kBlend);
    asset.materials[0].base_color_factor.w() = 0.5f;
    const Scene scene(asset);
    EXPECT_NEAR(scene.appearance.visibility(scene.point(0.5, 0.5), Filter::kBilinear), 0.25f, 1e-6f);
    EXPECT_NEAR(visibleShare(scene.surface, scene.appearance), 0.25, 0.01);
  }
  {
    Asset asset = halfCard(AlphaMode::kBlend);
    asset.materials[0].base_color_factor.w() = 0;
    const Scene scene(asset);
    EXPECT_EQ(visibleShare(scene.surface, scene.appearance), 0);
  }
  {
    Asset asset = halfCard(AlphaMode::kMask);
    asset.materials[0].alpha_cutoff = 0;
    EXPECT_FALSE(Scene(asset).appearance.hasAlpha()) << "nothing lies below the cutoff";
  }
}

TEST(Appearance, InvisibleTexelsDoNotLeakIntoVisibleOnes) {
  for (const AlphaMode mode : {AlphaMode::kMask, AlphaMode::kBlend}) {
    const Scene scene(halfCard(mode));
    for (const double u : {0.1, 0.3, 0.5, 0.6, 0.74})
      EXPECT_NEAR(scene.at(u, 0.5, Filter::kBilinear).x(), 1, 1e-6f) << "no black rim at " << u;
    EXPECT_EQ(scene.at(0.9, 0.5, Filter::kBilinear).x(), 0) << "all texels invisible: as they are";
  }
}

TEST(Appearance, FacesWithOnlyAFactorAreConstant) {
  Asset asset = square(4, 4);
  Primitive plain = asset.meshes[0].primitives[0];
  for (Vec3& x : plain.positions)
    x += Vec3(2, 0, 0);
  plain.uv_sets.clear();  // the material's texture cannot be used here
  Primitive colored = plain;
  for (Vec3& x : colored.positions)
    x += Vec3(2, 0, 0);
  colored.colors.assign(4, Vec4f(1, 0.5f, 1, 1));
  asset.meshes[0].primitives.push_back(plain);
  asset.meshes[0].primitives.push_back(colored);
  const Scene scene(asset);
  EXPECT_FALSE(scene.appearance.faceConstant(0));
  EXPECT_TRUE(scene.appearance.faceConstant(2));
  EXPECT_FALSE(scene.appearance.faceConstant(4));
  EXPECT_EQ(scene.appearance.constantFaces(), 2u);
  EXPECT_TRUE(scene.appearance.hasColor());
}

TEST(Appearance, OutlivesAssetAndSurface) {
  auto asset = std::make_unique<Asset>(square(20, 10));
  auto surface = std::make_unique<Surface>(std::move(*buildSurface(*asset)));
  const Appearance appearance(*asset, *surface);
  const SurfacePoint p{0, {0.2, 0.5, 0.3}};
  const Vec3f before = appearance.color(p);
  const std::weak_ptr<const Image> image = asset->images[0];
  surface.reset();
  asset.reset();  // under ASan, a view into the asset would be found here
  EXPECT_FALSE(image.expired());
  EXPECT_EQ(appearance.color(p), before);
  EXPECT_EQ(appearance.images()[0]->width, 20);
}

/// Every card of the asset shows the same picture as reading each texel by hand.
TEST(Appearance, TextureTransformTest) {
  HEATSKIN_REQUIRE_ASSETS();
  auto asset = readGltf(testing::assetsFolder() / "special" / "texture_transform_test.glb");
  ASSERT_TRUE(asset) << asset.error().message;
  const Scene scene(std::move(*asset));
  int transformed = 0;
  for (std::uint32_t f = 0; f < scene.surface.faceCount(); ++f) {
    const FaceSource& source = scene.surface.sources()[f];
    const auto mesh = static_cast<std::size_t>(scene.asset.instances[source.instance].mesh);
    const Primitive& primitive = scene.asset.meshes[mesh].primitives[source.primitive];
    if (primitive.material < 0) continue;
    const Material& material = scene.asset.materials[static_cast<std::size_t>(primitive.material)];
    if (material.base_color.texture < 0) continue;
    const Texture& texture = scene.asset.textures[static_cast<std::size_t>(material.base_color.texture)];
    const Image& image = *scene.asset.images[static_cast<std::size_t>(texture.image)];
    const TextureUse& use = material.base_color;
    transformed += use.scale != Vec2f::Ones() || use.rotation != 0 || use.offset != Vec2f::Zero() ? 1 : 0;
    const RandomStream random(f, 0);
    for (std::uint64_t i = 0; i < 200; ++i) {
      const double r = std::sqrt(random.uniform(2 * i)), w = random.uniform(2 * i + 1);
      const SurfacePoint p{f, {1 - r, r * (1 - w), r * w}};
      Vec2 uv = Vec2::Zero();
      for (int c = 0; c < 3; ++c) {
        const std::size_t vertex =
            primitive
                .triangles[3 * std::size_t{source.triangle} + source.corners[static_cast<std::size_t>(c)]];
        uv += p.barycentric[c] *
              primitive.uv_sets.at(static_cast<std::size_t>(use.uv_set))[vertex].cast<double>();
      }
      // The extension's matrices, multiplied out: translation * rotation * scale.
      const double cosine = std::cos(use.rotation), sine = std::sin(use.rotation);
      const double su = uv.x() * use.scale.x(), sv = uv.y() * use.scale.y();
      const double u = cosine * su + sine * sv + use.offset.x(),
                   v = -sine * su + cosine * sv + use.offset.y();
      const double tx = u * image.width, ty = v * image.height;
      // Not on the border between texels, where rounding decides.
      if (std::abs(tx - std::round(tx)) < 1e-3 || std::abs(ty - std::round(ty)) < 1e-3) continue;
      const std::uint8_t* texel =
          image.texel(walkedIndex(static_cast<int>(std::floor(tx)), image.width, texture.wrap_u),
                      walkedIndex(static_cast<int>(std::floor(ty)), image.height, texture.wrap_v));
      const Vec3f color = scene.appearance.color(p, Filter::kNearest);
      for (Eigen::Index c = 0; c < 3; ++c) {
        const float expected = srgbFromLinear(linearFromSrgb8[texel[c]] * material.base_color_factor[c]);
        ASSERT_NEAR(color[c], expected, 1e-5f) << "face " << f << " at " << u << " " << v;
      }
    }
  }
  EXPECT_GE(transformed, 10);
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

  const Scene cut(halfCard(AlphaMode::kMask));
  std::vector<Vec3f> both(points.size());
  std::vector<float> visible(points.size()), alone(points.size());
  cut.appearance.colors(points, both, visible);
  cut.appearance.visibilities(points, alone);
  for (std::size_t i = 0; i < points.size(); ++i) {
    ASSERT_EQ(both[i], cut.appearance.color(points[i]));
    ASSERT_EQ(visible[i], cut.appearance.visibility(points[i]));
    ASSERT_EQ(alone[i], visible[i]);
  }
}

TEST(Appearance, ChannelsComeInTheOrderOfTheLayout) {
  // Alpha is what the material says, whatever the cutoff makes of it.
  for (const AlphaMode mode : {AlphaMode::kOpaque, AlphaMode::kMask, AlphaMode::kBlend}) {
    const Scene scene(halfCard(mode));
    const auto points = sampleSurface(scene.surface, 5000, 1);
    for (const auto& layout :
         {ChannelLayout(), *ChannelLayout::ofNames({"base_color", "alpha"}),
          *ChannelLayout::ofNames({"alpha", "base_color"}), *ChannelLayout::ofNames({"alpha"})}) {
      ASSERT_TRUE(Appearance::knows(layout));
      const ChannelGroup *color = layout.find("base_color"), *alpha = layout.find("alpha");
      std::vector<float> values(layout.size() * points.size(), -1.0f);
      scene.appearance.values(points, layout, values);
      for (std::size_t i = 0; i < points.size(); ++i) {
        const float* row = values.data() + i * layout.size();
        if (color != nullptr) {
          ASSERT_EQ(Vec3f(row + color->first), scene.appearance.color(points[i]));
        }
        if (alpha != nullptr) {
          ASSERT_EQ(row[alpha->first], scene.appearance.alpha(points[i]));
        }
      }
    }
  }
  EXPECT_FALSE(Appearance::knows(*ChannelLayout::make({{"base_color", 3}, {"height", 1}})));
}

}  // namespace
}  // namespace heatskin
