// Damaged products: whatever the damage, a value or an error, never a crash, and nothing that cannot be
// computed with.

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/asset_surface.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/product/kernel_columns.h"
#include "heatskin/product/product.h"
#include "heatskin/product/product_extension.h"
#include "heatskin/texture/kernel_texture.h"

#include "support/kernel_buffers.h"
#include "support/mutations.h"
#include "support/products.h"

namespace heatskin {
namespace {

using namespace heatskin::testing;

/// What decodeProduct() promises, and colours that are colours.
void expectUsable(const Product& product) {
  const KernelSet& k = product.kernels;
  ASSERT_GT(k.size(), 0u);
  for (std::size_t i = 0; i < k.size(); ++i) {
    ASSERT_LT(k.positions[i].face, product.surface->faceCount());
    ASSERT_GE(k.positions[i].barycentric.minCoeff(), 0);
    ASSERT_NEAR(k.positions[i].barycentric.sum(), 1, 1e-9);
    ASSERT_TRUE(k.angles[i] >= KernelRanges::kMinAngle && k.angles[i] <= KernelRanges::kMaxAngle);
    ASSERT_TRUE(k.anisotropies[i] >= KernelRanges::kMinAnisotropy &&
                k.anisotropies[i] <= KernelRanges::kMaxAnisotropy);
    ASSERT_TRUE(k.thresholds[i] >= KernelRanges::kMinThreshold &&
                k.thresholds[i] <= KernelRanges::kMaxThreshold);
    ASSERT_TRUE(k.sharpnesses[i] >= KernelRanges::kMinSharpness &&
                k.sharpnesses[i] <= KernelRanges::kMaxSharpness);
    ASSERT_TRUE(k.lengths[i] >= KernelRanges::kMinLength && k.lengths[i] <= KernelRanges::kMaxLength);
    for (const ChannelGroup& group : k.layout.groups()) {
      const auto values = k.channels[i].segment(static_cast<Eigen::Index>(group.first),
                                                static_cast<Eigen::Index>(group.count));
      if (group.isTangent()) {
        ASSERT_LE(values.norm(), 2 * KernelRanges::kMaxResidual)
            << "a step of two bits is as long as a vector";
      } else {
        ASSERT_LE(values.cwiseAbs().maxCoeff(), KernelRanges::kMaxResidual);
      }
    }
  }
  const std::vector<SurfacePoint> points = sampleSurface(*product.surface, 16, 3);
  std::vector<Vec3f> colors(points.size());
  Preparation preparation;
  preparation.supports = product.supports;
  const auto texture = KernelTexture::create(product.surface, product.kernels, product.options, preparation);
  if (!texture) {
    ASSERT_NE(methodOf(product.options), Method::kLocal) << "nothing to prepare";
    ASSERT_FALSE(texture.error().message.empty());
    ASSERT_EQ(texture.error().message.find('\n'), std::string::npos) << texture.error().message;
    return;
  }
  texture->colors(points, colors);
  for (const Vec3f& color : colors) {
    ASSERT_TRUE(color.allFinite());
    ASSERT_TRUE(color.minCoeff() >= 0 && color.maxCoeff() <= 1);
  }
  const ChannelLayout& layout = texture->layout();
  std::vector<float> values(points.size() * layout.size());
  texture->values(points, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& range = layout.groupOf(i % layout.size()).range;
    ASSERT_TRUE(values[i] >= range[0] && values[i] <= range[1]) << values[i];
  }
}

void expectOneLine(const Error& error) {
  ASSERT_FALSE(error.message.empty());
  ASSERT_EQ(error.message.find('\n'), std::string::npos) << error.message;
  ASSERT_EQ(error.kind, ErrorKind::kInput) << error.message;
}

std::string seedProduct(std::string_view method = "local", const ChannelLayout& layout = {}) {
  const Asset asset = assetOf(cube(1));
  const auto surface = buildSurface(asset);
  MethodChoice options;
  options.method = *methodNamed(method);
  options.thermal.rank = options.spectral.modes = 16;
  options.thermal.routing_dimensions = 8;
  const auto glb = encodeProduct(asset, *surface, randomKernels(*surface, 6, 1, layout), options.options(),
                                 {"test", "draft", 1, 2});
  EXPECT_TRUE(glb) << glb.error().message;
  return {glb->begin(), glb->end()};
}

void expectRefusedOrUsable(Asset asset, std::size_t& read, std::size_t& refused) {
  const auto product = decodeProduct(std::move(asset));
  if (product) {
    ++read;
    expectUsable(*product);
  } else {
    ++refused;
    expectOneLine(product.error());
  }
}

TEST(ProductMutation, DamagedFilesAreRefusedOrUsable) {
  std::size_t read = 0, refused = 0;
  forEachMutation(seedProduct(), 4000, [&](std::string_view file) {
    LoadOptions options;
    options.max_vertices = options.max_triangles = 10000;
    auto asset =
        readGltfBytes({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}, "a.glb", options);
    if (!asset) return expectOneLine(asset.error());
    expectRefusedOrUsable(std::move(*asset), read, refused);
  });
  // Both happen, or the damage is too small or too great to tell anything.
  EXPECT_GT(read, 50u);
  EXPECT_GT(refused, 50u);
}

class ProductMutationOf : public ::testing::TestWithParam<ChannelLayout> {};
INSTANTIATE_TEST_SUITE_P(
    Channels, ProductMutationOf,
    ::testing::Values(ChannelLayout(),
                      *ChannelLayout::make({{"base_color", 3}, {"alpha", 1}, {"glow", 7, 0, {-3, 40}}}),
                      vectorLayout()),
    [](const auto& layout) { return std::to_string(layout.param.size()); });

TEST_P(ProductMutationOf, DamagedExtensionsAreRefusedOrUsable) {
  const std::string file = seedProduct("local", GetParam());
  auto good = readGltfBytes({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}, "a.glb");
  ASSERT_TRUE(good) << good.error().message;
  std::size_t read = 0, refused = 0;
  const auto check = [&](const RawExtension& raw) {
    Asset asset = *good;
    asset.raw_extensions = {raw};
    expectRefusedOrUsable(std::move(asset), read, refused);
  };
  const RawExtension whole = good->raw_extensions.at(0);
  forEachMutation(whole.json, 4000, [&](std::string_view json) {
    RawExtension raw = whole;
    raw.json = json;
    check(raw);
  });
  const std::vector<std::uint8_t>& bytes = whole.views.at(0).bytes;
  const auto checkBytes = [&](std::span<const std::uint8_t> damaged) {
    RawExtension raw = whole;
    raw.views[0].bytes.assign(damaged.begin(), damaged.end());
    check(raw);
  };
  forEachMutation({bytes.begin(), bytes.end()}, 2000, [&](std::string_view damaged) {
    checkBytes({reinterpret_cast<const std::uint8_t*>(damaged.data()), damaged.size()});
  });
  // Every byte by itself.
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const unsigned mask : {0x01u, 0x10u, 0x80u, 0xFFu}) {
      std::vector<std::uint8_t> flipped = bytes;
      flipped[at] = static_cast<std::uint8_t>(flipped[at] ^ mask);
      checkBytes(flipped);
    }
  }
  EXPECT_GT(read, 20u);
  EXPECT_GT(refused, 1000u);

  // The checksum keeps such damage from what comes after it; damage to the planes comes through.
  read = refused = 0;
  const auto extension = readExtension(whole.json);
  ASSERT_TRUE(extension) << extension.error().message;
  const auto planes = inflated(bytes, 6 * planeBytes(extension->scales));
  forEachMutation({planes.begin(), planes.end()}, 4000, [&](std::string_view damaged) {
    checkBytes(deflated({reinterpret_cast<const std::uint8_t*>(damaged.data()), damaged.size()}));
  });
  EXPECT_GT(read, 200u);
  EXPECT_GT(refused, 1000u);
}

TEST(ProductMutation, DamagedVersionOneIsRefusedOrUsable) {
  const Asset asset = assetOf(cube(1));
  const auto surface = buildSurface(asset);
  const Asset good = versionOneProduct(asset, *surface, randomKernels(*surface, 6), {});
  const RawExtension whole = good.raw_extensions.at(0);
  std::size_t read = 0, refused = 0;
  const std::vector<std::uint8_t>& bytes = whole.views.at(0).bytes;
  forEachMutation({bytes.begin(), bytes.end()}, 2000, [&](std::string_view damaged) {
    Asset bad = good;
    bad.raw_extensions[0].views[0].bytes.assign(damaged.begin(), damaged.end());
    expectRefusedOrUsable(std::move(bad), read, refused);
  });
  forEachMutation(whole.json, 2000, [&](std::string_view json) {
    Asset bad = good;
    bad.raw_extensions[0].json = json;
    expectRefusedOrUsable(std::move(bad), read, refused);
  });
  EXPECT_GT(read, 100u);
  EXPECT_GT(refused, 500u);
}

// Preparing takes longer with these methods: less damage, and only to what they read.
TEST(ProductMutation, DamagedOptionsOfEveryMethodAreRefusedOrUsable) {
  for (const std::string_view method : {"thermal", "spectral"}) {
    const std::string file = seedProduct(method);
    auto good = readGltfBytes({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}, "a.glb");
    ASSERT_TRUE(good) << good.error().message;
    const RawExtension whole = good->raw_extensions.at(0);
    std::size_t read = 0, refused = 0;
    forEachMutation(whole.json, 400, [&](std::string_view json) {
      Asset asset = *good;
      asset.raw_extensions = {whole};
      asset.raw_extensions[0].json = json;
      expectRefusedOrUsable(std::move(asset), read, refused);
    });
    EXPECT_GT(read, 2u) << method;
    EXPECT_GT(refused, 100u) << method;
  }
}

}  // namespace
}  // namespace heatskin
