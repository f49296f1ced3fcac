// What programs that do not know the extension see of a product: geometry, materials, vertex colours.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/asset.h"
#include "heatskin/io/color_space.h"
#include "heatskin/product/test_fitted.h"
#include "heatskin/surface/sampling.h"

#include "support/products.h"

namespace heatskin::testing::product {
namespace {

TEST(Product, TheFileHoldsTheGeometryAsItCame) {
  const Fitted f = fitted(manyMaterials());
  const auto product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  const Asset& out = product->asset;
  ASSERT_EQ(out.meshes.size(), f.asset.meshes.size());
  ASSERT_EQ(out.instances.size(), f.asset.instances.size());
  for (std::size_t m = 0; m < out.meshes.size(); ++m) {
    EXPECT_EQ(out.meshes[m].name, f.asset.meshes[m].name);
    EXPECT_EQ(out.instances[m].name, f.asset.instances[m].name);
    EXPECT_EQ(out.instances[m].asset_from_mesh.matrix(), f.asset.instances[m].asset_from_mesh.matrix());
    for (std::size_t p = 0; p < out.meshes[m].primitives.size(); ++p) {
      const Primitive &a = out.meshes[m].primitives[p], &b = f.asset.meshes[m].primitives[p];
      EXPECT_EQ(a.triangles, b.triangles);
      EXPECT_EQ(a.uv_sets, b.uv_sets);
      ASSERT_EQ(a.positions.size(), b.positions.size());
      for (std::size_t v = 0; v < a.positions.size(); ++v)
        EXPECT_EQ(a.positions[v], b.positions[v].cast<float>().cast<double>());
    }
  }
}

TEST(Product, MaterialsLoseTheirColourAndKeepTheRest) {
  const Fitted f = fitted(manyMaterials());
  const auto product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  const std::vector<Material>& materials = product->asset.materials;
  ASSERT_EQ(materials.size(), 3u);
  EXPECT_EQ(materials[0].name, "textured");
  EXPECT_TRUE(materials[0].double_sided);
  EXPECT_EQ(materials[0].base_color.texture, -1) << "kernels take the texture's place";
  EXPECT_EQ(materials[1].base_color_factor, Vec4f(0.8f, 0.1f, 0.1f, 0.5f)) << "one colour needs no kernels";
  EXPECT_EQ(materials[1].alpha_mode, AlphaMode::kBlend);
  EXPECT_EQ(materials[2].alpha_mode, AlphaMode::kMask);
  EXPECT_EQ(materials[2].alpha_cutoff, 0.4f);
  ASSERT_EQ(materials[2].base_color.texture, 0) << "the cut-out keeps its holes";
  ASSERT_EQ(product->asset.images.size(), 1u);
  const Image &white = *product->asset.images[0], &original = *f.asset.images[1];
  for (std::size_t i = 0; i < white.rgba.size(); ++i)
    EXPECT_EQ(white.rgba[i], i % 4 == 3 ? original.rgba[i] : 255);
  for (const Vec4f& color : product->asset.meshes[0].primitives[2].colors)
    EXPECT_NEAR(color[3], 0.75f, 0.501 / 255) << "alpha of vertex colours stays";
}

/// Kernels so small that the surface has its mean colour everywhere.
KernelSet plainKernels(const Surface& surface, const Vec3f& mean) {
  KernelSet kernels = randomKernels(surface, 1);
  kernels.thresholds[0] = KernelRanges::kMaxThreshold;
  kernels.sharpnesses[0] = KernelRanges::kMaxSharpness;
  kernels.mean = mean;
  return kernels;
}

TEST(Product, FallbackColoursAreTheTexturesInLinearLight) {
  Fitted f = fitted(assetOf(cube(4)));
  f.kernels = plainKernels(*f.surface, {0.25f, 0.5f, 1.0f});
  auto product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  for (const Vec4f& color : product->asset.meshes[0].primitives[0].colors) {
    // Eight bits: none of the three is so dark that it would need more.
    EXPECT_NEAR(color[0], linearFromSrgb(0.25f), 0.501 / 255);
    EXPECT_NEAR(color[1], linearFromSrgb(0.5f), 0.501 / 255);
    EXPECT_EQ(color[2], 1);
    EXPECT_EQ(color[3], 1);
  }

  // One large kernel: vertices at its centre have its colour, those on the other side the mean.
  f = fitted(assetOf(icosphere(4)), 1);
  f.kernels.mean = Vec3f(0.5f, 0.5f, 0.5f);
  f.kernels.channels[0] = Vec3f(0.5f, -0.5f, 0.0f);
  f.kernels.anisotropies[0] = 1;
  f.kernels.thresholds[0] = 0.3f;
  f.kernels.sharpnesses[0] = 200;
  product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  const Vec3 center = f.surface->position(f.kernels.positions[0]).normalized();
  const Primitive& primitive = product->asset.meshes[0].primitives[0];
  std::size_t near = 0;
  for (std::size_t v = 0; v < primitive.positions.size(); ++v) {
    const double distance = (primitive.positions[v].normalized() - center).norm();
    if (distance < 0.05) {
      ++near;
      EXPECT_NEAR(primitive.colors[v][0], 1, 0.02);
      EXPECT_NEAR(primitive.colors[v][1], 0, 0.02);
    }
    if (distance > 0.4) {
      EXPECT_NEAR(primitive.colors[v][0], linearFromSrgb(0.5f), 0.501 / 255);
    }
  }
  EXPECT_GT(near, 0u);
}

TEST(Product, SeamsOfTheFallbackAreInvisible) {
  // A cube's sides share positions but no vertices.
  const Fitted f = fitted(assetOf(cube(4)));
  const auto product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  const Primitive& primitive = product->asset.meshes[0].primitives[0];
  std::size_t pairs = 0;
  for (std::size_t a = 0; a < primitive.positions.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (primitive.positions[a] != primitive.positions[b]) continue;
      ++pairs;
      EXPECT_LT((primitive.colors[a] - primitive.colors[b]).norm(), 1e-6f);
    }
  }
  EXPECT_GT(pairs, 20u);
}

TEST(Product, DoubledFacesLookLikeTheOnesTheyRepeat) {
  Soup sheet = flatGrid(3, 3);
  const std::size_t front = sheet.positions.size();
  const auto copy = sheet.positions;
  sheet.positions.insert(sheet.positions.end(), copy.begin(), copy.end());
  const auto faces = sheet.faces;
  for (const auto& [a, b, c] : faces) {
    const auto shift = static_cast<std::uint32_t>(front);
    sheet.faces.push_back({a + shift, b + shift, c + shift});
  }
  const Fitted f = fitted(assetOf(sheet), 50);
  EXPECT_EQ(f.surface->report().duplicate_faces, faces.size());
  const auto product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  const auto& colors = product->asset.meshes[0].primitives[0].colors;
  for (std::size_t v = 0; v < front; ++v)
    EXPECT_EQ(colors[v], colors[v + front]);
}

/// Mean squared difference between what the file shows without kernels and the kernels' colours.
double fallbackError(const Fitted& f) {
  const auto product = decoded(encoded(f));
  EXPECT_TRUE(product) << product.error().message;
  const std::vector<SurfacePoint> points = sampleSurface(*product->surface, 4000, 2);
  std::vector<Vec3f> shown(points.size()), kernels(points.size());
  Appearance(product->asset, *product->surface).colors(points, shown);
  KernelTexture::create(product->surface, product->kernels, product->options)->colors(points, kernels);
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i)
    sum += static_cast<double>((shown[i] - kernels[i]).squaredNorm());
  return sum / static_cast<double>(points.size());
}

TEST(Product, CornersThatAreSeparateHaveTheirOwnFallbackColours) {
  const Asset shared = assetOf(bumpySphere(1, 0.2, 1));
  Asset split = shared;
  Primitive& primitive = split.meshes[0].primitives[0];
  const Primitive before = primitive;
  primitive.positions.clear();
  primitive.uv_sets[0].clear();
  for (std::size_t c = 0; c < before.triangles.size(); ++c) {
    primitive.positions.push_back(before.positions[before.triangles[c]]);
    primitive.uv_sets[0].push_back(before.uv_sets[0][before.triangles[c]]);
    primitive.triangles[c] = static_cast<std::uint32_t>(c);
  }
  Fitted one = fitted(shared), other = fitted(split);
  // Both have the same faces, so the same kernels are the same texture.
  other.kernels = one.kernels;
  EXPECT_LT(fallbackError(other), 0.9 * fallbackError(one));
}

}  // namespace
}  // namespace heatskin::testing::product
