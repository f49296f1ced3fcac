#include "heatskin/product/asset_constants.h"

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "heatskin/io/asset_surface.h"
#include "heatskin/io/color_space.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/product/product.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/texture/kernel_texture.h"

#include "support/products.h"

namespace heatskin {
namespace {

using testing::manyMaterials;
using testing::randomKernels;

TEST(ConstantFaces, AreThoseOfTheAppearance) {
  const Asset asset = manyMaterials();
  const Surface surface = std::move(*buildSurface(asset));
  const Appearance appearance(asset, surface);
  const ConstantFaces constants = constantFaces(appearance);
  std::size_t found = 0;
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    const FaceSource& source = surface.sources()[f];
    const auto mesh = static_cast<std::size_t>(asset.instances[source.instance].mesh);
    EXPECT_EQ(constantGroups(asset, asset.meshes[mesh].primitives[source.primitive], {}) != 0,
              appearance.faceConstant(f));
    EXPECT_EQ(constants.find(f) != nullptr, appearance.faceConstant(f));
    if (constants.find(f) == nullptr) continue;
    ++found;
    EXPECT_EQ(Vec3f(constants.find(f)), appearance.color({f, {0.2, 0.3, 0.5}}));
  }
  EXPECT_GT(found, 0u);
  EXPECT_LT(found, surface.faceCount());
}

TEST(ConstantFaces, NoneWhereThereIsNothingElse) {
  Asset asset = testing::assetOf(testing::cube(2));
  const Surface surface = std::move(*buildSurface(asset));
  EXPECT_TRUE(constantFaces(Appearance(asset, surface)).empty());
}

/// A product returns the colour of factor-only materials to the bit, whatever kernels lie around, keeps it in
/// the material for every other viewer, and gives these primitives no vertex colours.
TEST(ConstantFaces, ProductsReturnThemExactly) {
  const Asset asset = manyMaterials();
  const auto surface = std::make_shared<const Surface>(std::move(*buildSurface(asset)));
  const auto glb = encodeProduct(asset, *surface, randomKernels(*surface, 300), {}, {"test", "draft", 1, 2});
  ASSERT_TRUE(glb) << glb.error().message;
  auto read = readGltfBytes(*glb, "product.glb");
  ASSERT_TRUE(read) << read.error().message;
  const auto product = decodeProduct(std::move(*read));
  ASSERT_TRUE(product) << product.error().message;
  const auto texture =
      KernelTexture::create(product->surface, product->kernels, product->options, {}, product->constants);
  ASSERT_TRUE(texture);
  const Appearance appearance(asset, *surface);
  ASSERT_EQ(product->surface->faceCount(), surface->faceCount());
  const auto points = sampleSurface(*product->surface, 4000, 1);
  std::vector<Vec3f> colors(points.size());
  std::vector<float> weights(points.size());
  texture->colors(points, colors, weights);
  std::size_t constant = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!appearance.faceConstant(points[i].face)) continue;
    ++constant;
    EXPECT_LT((colors[i] - appearance.color(points[i])).cwiseAbs().maxCoeff(), 1e-6f);
    EXPECT_EQ(weights[i], 1);
  }
  EXPECT_GT(constant, 100u);
  for (const Mesh& mesh : product->asset.meshes) {
    for (const Primitive& primitive : mesh.primitives) {
      const Material* material =
          primitive.material < 0 ? nullptr
                                 : &product->asset.materials[static_cast<std::size_t>(primitive.material)];
      const bool red = material != nullptr && material->name == "red glass";
      EXPECT_EQ(primitive.colors.empty(), red);
      if (red) {
        EXPECT_EQ(material->base_color_factor, asset.materials[1].base_color_factor);
      }
    }
  }
}

/// One material, used with and without vertex colours and by a primitive without coordinates for its texture.
TEST(ConstantFaces, AMaterialMayBeConstantInSomePlacesOnly) {
  Asset asset = manyMaterials();
  Mesh& box = asset.meshes[0];
  box.primitives[2].material = 1;  // vertex colours and the red factor
  box.primitives[0].uv_sets.clear();
  const auto surface = std::make_shared<const Surface>(std::move(*buildSurface(asset)));
  const auto glb = encodeProduct(asset, *surface, randomKernels(*surface, 300), {}, {"test", "draft", 1, 2});
  ASSERT_TRUE(glb) << glb.error().message;
  auto read = readGltfBytes(*glb, "product.glb");
  ASSERT_TRUE(read) << read.error().message;
  const auto product = decodeProduct(std::move(*read));
  ASSERT_TRUE(product) << product.error().message;
  const Appearance appearance(asset, *surface);
  for (std::uint32_t f = 0; f < surface->faceCount(); ++f) {
    const float* constant = product->constants.find(f);
    ASSERT_EQ(constant != nullptr, appearance.faceConstant(f)) << f;
    if (constant == nullptr) continue;
    EXPECT_LT((Vec3f(constant) - appearance.color({f, {0.2, 0.3, 0.5}})).cwiseAbs().maxCoeff(), 1e-6f);
  }
}

/// What is seen of a product is what is seen of its asset.
TEST(ConstantFaces, ProductsKeepVisibility) {
  const Asset asset = manyMaterials();
  const auto surface = std::make_shared<const Surface>(std::move(*buildSurface(asset)));
  const auto glb = encodeProduct(asset, *surface, randomKernels(*surface, 300), {}, {"test", "draft", 1, 2});
  ASSERT_TRUE(glb) << glb.error().message;
  auto read = readGltfBytes(*glb, "product.glb");
  ASSERT_TRUE(read) << read.error().message;
  const auto product = decodeProduct(std::move(*read));
  ASSERT_TRUE(product) << product.error().message;
  const Appearance before(asset, *surface), after(product->asset, *product->surface);
  EXPECT_TRUE(after.hasAlpha());
  for (const SurfacePoint& p : sampleSurface(*surface, 4000, 1)) {
    ASSERT_EQ(after.faceAlphaMode(p.face), before.faceAlphaMode(p.face));
    ASSERT_NEAR(after.visibility(p), before.visibility(p), 1e-6f);
  }
}

}  // namespace
}  // namespace heatskin
