// The strict reader: what it refuses and what it says, older versions, files that are no products.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/glb_writer.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/product/kernel_columns.h"
#include "heatskin/product/product.h"
#include "heatskin/product/product_extension.h"
#include "heatskin/product/test_fitted.h"
#include "heatskin/texture/kernel_texture.h"

#include "support/kernel_buffers.h"
#include "support/products.h"
#include "support/temporary_folder.h"

namespace heatskin::testing::product {
namespace {

/// Changes the first `from` in the file's JSON to `to`, of the same length.
std::string errorAfter(std::vector<std::uint8_t> glb, std::string_view from, std::string_view to) {
  EXPECT_EQ(from.size(), to.size());
  const auto at = std::search(glb.begin(), glb.end(), from.begin(), from.end());
  EXPECT_NE(at, glb.end()) << from;
  if (at == glb.end()) return "";
  std::copy(to.begin(), to.end(), at);
  const auto product = decoded(glb);
  if (product) return "";
  EXPECT_EQ(product.error().kind, ErrorKind::kInput) << product.error().message;
  EXPECT_EQ(product.error().message.find('\n'), std::string::npos);
  EXPECT_TRUE(product.error().message.starts_with("product.glb: ")) << product.error().message;
  return product.error().message;
}

TEST(ProductReader, SaysWhatIsWrong) {
  const Fitted f = fitted(assetOf(cube(1)), 3);
  const std::vector<std::uint8_t> glb = encoded(f);
  const auto contains = [&](std::string_view from, std::string_view to, std::string_view expected) {
    const std::string message = errorAfter(glb, from, to);
    EXPECT_NE(message.find(expected), std::string::npos) << from << " -> " << to << ": " << message;
  };
  contains("\"version\":\"2.1\",\"tri", "\"version\":\"3.1\",\"tri", "version 3.1 is not supported");
  contains("\"triangles\":12", "\"triangles\":13", "geometry was edited");
  contains("\"count\":3,\"bits", "\"count\":2,\"bits", "is not a zlib stream of 40 bytes, as 2 kernels have");
  contains("\"triangle\":", "\"triongle\":", "kernels.bits has no triangle");
  contains("\"bufferView\":5,\"count\":3", "\"bufferView\":9,\"count\":3", "bufferView 9 does not exist");
  contains("\"bufferView\":5,\"count\":3", "\"bufferView\":4,\"count\":3", "bufferView 4 must not have a ");
  contains("\"extensionsUsed\"", "\"extensionsUnus\"", "not listed in extensionsUsed");
  contains("\"isotropic\"", "\"euclidean\"", "twice");
  contains("\"channels\":", "\"chanells\":", "has no channels");
}

TEST(ProductReader, RefusesKernelsWithoutAPlace) {
  Soup soup = cube(1);
  soup.faces.push_back(soup.faces[0]);  // triangle 12 repeats triangle 0
  Fitted f = fitted(assetOf(soup), 3);
  auto asset = readGltfBytes(encoded(f), "product.glb");
  ASSERT_TRUE(asset) << asset.error().message;
  const auto extension = readExtension(asset->raw_extensions[0].json);
  ASSERT_TRUE(extension) << extension.error().message;
  const auto good = unpackColumns(asset->raw_extensions[0].views[0].bytes, 3, extension->scales);
  ASSERT_TRUE(good) << good.error().message;
  for (const auto& [triangle, expected] :
       {std::pair{12u, "repeats another"}, {13u, "does not exist"}, {0xFFFFFFFFu, "does not exist"}}) {
    Asset bad = *asset;
    ProductExtension changed = *extension;
    auto codes = *good;
    codes[2].triangle = triangle;
    changed.scales.bits.triangle = 32;
    bad.raw_extensions[0].json = writeExtension(changed);
    bad.raw_extensions[0].views[0].bytes = packColumns(codes, changed.scales);
    const auto product = decodeProduct(std::move(bad));
    ASSERT_FALSE(product);
    EXPECT_NE(product.error().message.find(expected), std::string::npos) << product.error().message;
    EXPECT_NE(product.error().message.find("kernel 2"), std::string::npos) << product.error().message;
  }
}

TEST(ProductReader, RefusesLengthsOfMethodsWithoutThem) {
  const Fitted f = fittedWith("thermal", assetOf(bumpySphere(2, 0.2, 1)), 3);
  auto asset = readGltfBytes(encoded(f), "product.glb");
  ASSERT_TRUE(asset) << asset.error().message;
  const auto extension = readExtension(asset->raw_extensions[0].json);
  auto codes = unpackColumns(asset->raw_extensions[0].views[0].bytes, 3, extension->scales);
  ASSERT_TRUE(codes) << codes.error().message;
  ++(*codes)[1].length;
  asset->raw_extensions[0].views[0].bytes = packColumns(*codes, extension->scales);
  const auto product = decodeProduct(std::move(*asset));
  ASSERT_FALSE(product);
  EXPECT_NE(product.error().message.find("kernel 1: its length is"), std::string::npos)
      << product.error().message;
}

TEST(ProductReader, ReadsVersionOne) {
  for (const Asset& source : {assetOf(bumpySphere(2, 0.2, 1)), mirroredInstances()}) {
    Asset asset = source;
    ASSERT_TRUE(useStoredGeometry(asset));
    Fitted f = fitted(std::move(asset), 200);
    std::fill(f.kernels.lengths.begin(), f.kernels.lengths.end(), 1.0f);
    Asset old = versionOneProduct(f.asset, *f.surface, f.kernels, f.options);
    const RawExtension raw = old.raw_extensions[0];
    const auto product = decodeProduct(std::move(old));
    ASSERT_TRUE(product) << product.error().message;
    EXPECT_EQ(product->model_bytes, 20u * 200);
    EXPECT_EQ(product->kernels.lengths, f.kernels.lengths);
    for (std::size_t i = 0; i < 200; ++i) {
      EXPECT_EQ(product->kernels.positions[i].face, f.kernels.positions[i].face)
          << "in the order of the file";
      EXPECT_LT((product->kernels.positions[i].barycentric - f.kernels.positions[i].barycentric).norm(),
                3e-5);
    }
    EXPECT_GT(agreement(f, *product), 65);
    // Written again it is a file of version 2, which stays as it is.
    const auto glb =
        encodeProduct(product->asset, *product->surface, product->kernels, product->options, product->info);
    ASSERT_TRUE(glb) << glb.error().message;
    const auto newer = decoded(*glb);
    ASSERT_TRUE(newer) << newer.error().message;
    EXPECT_LT(newer->model_bytes, product->model_bytes);
    EXPECT_GT(agreement(f, *newer), kSameColors);

    for (const auto& [bytes, expected] : {std::pair{3999u,
                                                    "4000 bytes are expected for 200 kernels, the "
                                                    "buffer view has 3999"},
                                          {4020u, "the buffer view has 4020"}}) {
      Asset wrong = f.asset;
      wrong.raw_extensions = {raw};
      wrong.raw_extensions[0].views[0].bytes.resize(bytes);
      const auto refused = decodeProduct(std::move(wrong));
      ASSERT_FALSE(refused);
      EXPECT_NE(refused.error().message.find(expected), std::string::npos) << refused.error().message;
    }
  }
}

TEST(Product, AsATextureIsRefusedIfKernelsReachEverything) {
  // 20,000 small kernels on 20,000 faces; a little change makes four hundred million pairs of a megabyte.
  Fitted f = fitted(assetOf(torus(100, 100)), 20000);
  std::fill(f.kernels.thresholds.begin(), f.kernels.thresholds.end(), 1 - 1e-6f);
  std::fill(f.kernels.sharpnesses.begin(), f.kernels.sharpnesses.end(), KernelRanges::kMaxSharpness);
  std::get<local::LocalOptions>(f.options).window_sigma = 0.01;
  const std::vector<std::uint8_t> glb = encoded(f);
  ASSERT_TRUE(decoded(glb)) << "with a window they reach little";
  std::vector<std::uint8_t> wide = glb;
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"\"windowSigma\":0.01", "\"windowSigma\":0.00"},
        {"\"maxRadius\":0.2", "\"maxRadius\":1.0"},
        {"\"diffusionTime\":0.0625", "\"diffusionTime\":9.0e02"}}) {
    const auto at = std::search(wide.begin(), wide.end(), from.begin(), from.end());
    ASSERT_NE(at, wide.end()) << from;
    std::copy(to.begin(), to.end(), at);
  }
  auto product = decoded(wide);
  ASSERT_TRUE(product) << "can be inspected";
  const auto texture = KernelTexture::create(product->surface, product->kernels, product->options);
  ASSERT_FALSE(texture);
  EXPECT_EQ(texture.error().kind, ErrorKind::kInput);
  EXPECT_NE(texture.error().message.find("reach about"), std::string::npos) << texture.error().message;
}

TEST(ProductReader, AnOrdinaryFileIsNoProduct) {
  const Asset asset = assetOf(cube(1));
  EXPECT_FALSE(isProduct(asset));
  const auto glb = encodeGlb(asset);
  ASSERT_TRUE(glb);
  const auto product = decoded(*glb);
  ASSERT_FALSE(product);
  EXPECT_EQ(product.error().kind, ErrorKind::kInput);
  EXPECT_EQ(product.error().code, error_code::kNoKernels);
  EXPECT_FALSE(loadProduct("/nonexistent.glb"));
}

TEST(ProductReader, AProductOpensAsAnOrdinaryAsset) {
  TemporaryFolder folder;
  const auto glb = encoded(fitted(mirroredInstances()));
  const std::string path = folder.write("a.glb", {reinterpret_cast<const char*>(glb.data()), glb.size()});
  const auto asset = loadAsset(path);
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_TRUE(isProduct(*asset));
  EXPECT_TRUE(asset->notices.empty());
  const auto product = loadProduct(path);
  ASSERT_TRUE(product) << product.error().message;
  EXPECT_EQ(product->kernels.size(), 400u);
}

}  // namespace
}  // namespace heatskin::testing::product
