// Files there and back: a product read again is what was written, for every kind of asset and every method.

#include "heatskin/product/product.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/io/asset.h"
#include "heatskin/product/test_fitted.h"

#include "support/assets.h"
#include "support/products.h"
#include "support/temporary_folder.h"

namespace heatskin::testing::product {
namespace {

TEST(Product, RoundTripOfAPlainMesh) {
  expectRoundTrip(fitted(assetOf(bumpySphere(3, 0.2, 1))));
}

class ProductMethod : public ::testing::TestWithParam<std::string_view> {};

TEST_P(ProductMethod, RoundTrip) {
  const Fitted f = fittedWith(GetParam(), assetOf(bumpySphere(2, 0.2, 1)));
  expectRoundTrip(f);
  const auto product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  EXPECT_EQ(methodName(product->options), GetParam());
  if (const auto* thermal = std::get_if<thermal::ThermalOptions>(&product->options)) {
    EXPECT_EQ(thermal->rank, 64u);
  }
  if (const auto* spectral = std::get_if<spectral::HktexOptions>(&product->options)) {
    EXPECT_EQ(spectral->modes, 60u);
  }
}

TEST_P(ProductMethod, RoundTripOfMirroredInstances) {
  expectRoundTrip(fittedWith(GetParam(), mirroredInstances(), 200));
}

// Preset `paper` clamps angles to [0, pi], and many kernels end there. The file's angles have period pi, but
// HKTex's aligned bases at 0 and 180 degrees differ.
TEST_P(ProductMethod, AnglesAtTheEndsOfTheirRangeStayThere) {
  Fitted f = fittedWith(GetParam(), assetOf(bumpySphere(2, 0.2, 1)));
  for (std::size_t i = 0; i < f.kernels.size(); ++i)
    f.kernels.angles[i] = i % 2 == 0 ? KernelRanges::kMinAngle : KernelRanges::kMaxAngle;
  expectRoundTrip(f);
}

TEST(Product, StoredGeometryIsThatOfTheProduct) {
  Soup far = bumpySphere(2, 0.2, 1);
  for (Vec3& p : far.positions)
    p += Vec3(4.5e6, 5.4e6, 300);
  for (Asset asset : {assetOf(bumpySphere(2, 0.2, 1)), manyMaterials(), mirroredInstances(), assetOf(far)}) {
    const auto moved = useStoredGeometry(asset);
    ASSERT_TRUE(moved) << moved.error().message;
    EXPECT_TRUE(*moved);
    const auto again = useStoredGeometry(asset);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_FALSE(*again) << "once is enough";
    const Fitted f = fitted(asset, 10);
    const auto product = decoded(encoded(f));
    ASSERT_TRUE(product) << product.error().message;
    ASSERT_EQ(product->surface->vertexCount(), f.surface->vertexCount());
    for (std::size_t v = 0; v < f.surface->vertexCount(); ++v)
      ASSERT_EQ(product->surface->positions()[v], f.surface->positions()[v]) << "to the bit";
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, ProductMethod, ::testing::Values("local", "thermal", "spectral"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Product, RoundTripOfManyMaterials) {
  expectRoundTrip(fitted(manyMaterials()));
}

TEST(Product, RoundTripOfMirroredInstances) {
  expectRoundTrip(fitted(mirroredInstances()));
}

TEST(Product, RoundTripOfADamagedMesh) {
  // Turned, doubled and degenerate faces: the surface swaps corners and drops triangles.
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Fitted f = fitted(assetOf(damagedSphere(seed, 2)));
    EXPECT_GT(f.surface->report().flipped_faces + f.surface->report().duplicate_faces, 0u);
    const auto product = decoded(encoded(f));
    ASSERT_TRUE(product) << product.error().message;
    EXPECT_EQ(product->kernels.size(), f.kernels.size());
  }
  Soup turned = bumpySphere(2, 0.2, 4);
  for (std::size_t i = 0; i < turned.faces.size(); i += 5)
    std::swap(turned.faces[i][0], turned.faces[i][1]);
  expectRoundTrip(fitted(assetOf(turned)));
}

TEST(Product, RoundTripOfFiles) {
  TemporaryFolder folder;
  // A pyramid over a square, as quads and triangles in OBJ and with vertex colours in PLY.
  folder.write("a.mtl", "newmtl a\nKd 1 0 0\nnewmtl b\nKd 0 0 1\n");
  const std::string obj =
      folder.write("a.obj",
                   "mtllib a.mtl\nv 0.1 0 0\nv 1 0.3 0\nv 1 1 0\nv 0 1 0.12345678901\n"
                   "v .5 .5 1\nusemtl a\nf 4 3 2 1\nf 1 2 5\nf 2 3 5\nusemtl b\nf 3 4 5\nf 4 1 5\n");
  const std::string ply = folder.write(
      "a.ply",
      "ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\nproperty float y\nproperty float z\n"
      "property uchar red\nproperty uchar green\nproperty uchar blue\nproperty uchar alpha\n"
      "element face 5\nproperty list uchar int vertex_indices\nend_header\n"
      "0 0 0 255 0 0 255\n1 0 0 0 255 0 255\n1 1 0 0 0 255 255\n0 1 0 9 9 9 255\n.5 .5 1 99 99 99 128\n"
      "4 3 2 1 0\n3 0 1 4\n3 1 2 4\n3 2 3 4\n3 3 0 4\n");
  for (const std::string& path : {obj, ply}) {
    auto asset = loadAsset(path);
    ASSERT_TRUE(asset) << asset.error().message;
    expectRoundTrip(fitted(std::move(*asset), 60));
  }
}

TEST(Product, FarFromTheOriginKernelsStayInPlace) {
  Soup soup = bumpySphere(3, 0.2, 1);
  for (Vec3& p : soup.positions)
    p += Vec3(4.5e6, 5.4e6, 300);
  const Fitted f = fitted(assetOf(soup));
  const auto product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  EXPECT_GT(agreement(f, *product), kSameColors);
}

TEST(Product, OptionsDecideColoursAndComeBack) {
  Fitted f = fitted(assetOf(bumpySphere(2, 0.2, 1)));
  auto& local = std::get<local::LocalOptions>(f.options);
  local.window_sigma = 0;
  local.diffusion_time = 0.02;
  local.isotropic = true;
  local.rule = local::CandidateRule::kPerFace;
  expectRoundTrip(f);
}

TEST(Product, TextsThatAreTooLongOrNotUtf8CanBeReadBack) {
  const Fitted f = fitted(assetOf(cube(1)), 3);
  const ProductInfo info = {std::string(1000, '\xFF'), std::string(1000, 'x'), 1, 2};
  const auto glb = encodeProduct(f.asset, *f.surface, f.kernels, f.options, info);
  ASSERT_TRUE(glb) << glb.error().message;
  const auto product = decoded(*glb);
  ASSERT_TRUE(product) << product.error().message;
  EXPECT_EQ(product->info.preset, std::string(85, 'x'));
}

TEST(Product, SameBytesOnAnyNumberOfThreads) {
  const Fitted f = fitted(mirroredInstances());
  setThreadCount(1);
  const auto one = encoded(f);
  setThreadCount(3);
  const auto three = encoded(f);
  setThreadCount(0);
  EXPECT_EQ(one, three);
}

TEST(Product, WhatCannotBeStoredIsRefused) {
  Fitted f = fitted(assetOf(cube(1)), 3);
  const auto refused = [&] { return !encodeProduct(f.asset, *f.surface, f.kernels, f.options, kInfo); };
  EXPECT_FALSE(refused());
  f.kernels.channels[1][0] = std::nanf("");
  EXPECT_TRUE(refused());
  f = fitted(assetOf(cube(1)), 3);
  f.kernels.positions[0].face = 10000;
  EXPECT_TRUE(refused());
  f.kernels.resize(0);
  EXPECT_TRUE(refused());
  f = fitted(assetOf(cube(1)), 3);
  std::get<local::LocalOptions>(f.options).max_radius = 0;
  EXPECT_TRUE(refused()) << "options no reader would take";
  f = fitted(assetOf(cube(1)), 3);
  f.kernels = randomKernels(*f.surface, 3, 1, *ChannelLayout::ofNames({"alpha", "base_color"}));
  const auto encoded = encodeProduct(f.asset, *f.surface, f.kernels, f.options, kInfo);
  ASSERT_FALSE(encoded);
  EXPECT_NE(encoded.error().message.find("must begin with base_color"), std::string::npos)
      << encoded.error().message;
}

TEST(Product, RoundTripOfSharedAssets) {
  HEATSKIN_REQUIRE_ASSETS();
  for (const char* name : {"spot/spot_triangulated.obj", "fox.glb"}) {
    auto asset = loadAsset(assetsFolder() / name);
    ASSERT_TRUE(asset) << asset.error().message;
    expectRoundTrip(fitted(std::move(*asset), 2000));
  }
}

}  // namespace
}  // namespace heatskin::testing::product
