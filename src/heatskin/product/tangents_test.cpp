// Vectors of the tangent plane in products: they come back whatever the frames, mirrored instances included.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/asset_surface.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/product/kernel_columns.h"
#include "heatskin/product/product.h"
#include "heatskin/product/product_extension.h"
#include "heatskin/product/quantize.h"
#include "heatskin/product/source_triangles.h"
#include "heatskin/product/stored_kernels.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/texture/kernel_texture.h"

#include "support/products.h"

namespace heatskin {
namespace {

using namespace heatskin::testing;

constexpr std::size_t kVectors = 4;  // where they begin in vectorLayout()

Result<Product> decoded(const std::vector<std::uint8_t>& glb) {
  auto asset = readGltfBytes(glb, "product.glb");
  if (!asset) return asset.error();
  return decodeProduct(std::move(*asset));
}

Vec3 inSpace(const Surface& surface, const KernelSet& kernels, std::size_t i) {
  const float* v = kernels.channels.row(i) + kVectors;
  return surface.frames()[kernels.positions[i].face].directionFromFace(Vec2(v[0], v[1]));
}

TEST(ProductTangents, VectorsInSpaceComeBackInMirroredInstancesToo) {
  for (const Asset& asset : {mirroredInstances(), assetOf(cube(2))}) {
    const auto surface = buildSurface(asset);
    ASSERT_TRUE(surface);
    const KernelSet kernels = randomKernels(*surface, 300, 3, vectorLayout());
    const auto glb = encodeProduct(asset, *surface, kernels, {}, {});
    ASSERT_TRUE(glb) << glb.error().message;
    const auto product = decoded(*glb);
    ASSERT_TRUE(product) << product.error().message;
    ASSERT_TRUE(product->kernels.layout.sameChannels(vectorLayout()));
    std::size_t found = 0;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const Vec3 place = surface->position(kernels.positions[i]);
      for (std::size_t j = 0; j < product->kernels.size(); ++j) {
        const Vec3 there = product->surface->position(product->kernels.positions[j]);
        const bool same_color =
            std::abs(kernels.channels.row(i)[0] - product->kernels.channels.row(j)[0]) < 1e-3f &&
            std::abs(kernels.channels.row(i)[1] - product->kernels.channels.row(j)[1]) < 1e-3f;
        if (!same_color || (place - there).norm() > 0.05) continue;
        // Half a step of 13 bits in each component, 1 / 8190.
        EXPECT_LT((inSpace(*surface, kernels, i) - inSpace(*product->surface, product->kernels, j)).norm(),
                  3e-4);
        ++found;
      }
    }
    EXPECT_EQ(found, kernels.size());
  }
}

TEST(ProductTangents, WritingWhatWasReadChangesNoByte) {
  const Asset asset = mirroredInstances();
  const auto surface = buildSurface(asset);
  KernelSet kernels = randomKernels(*surface, 300, 3, vectorLayout());
  // As long as vectors can be: rounding makes some of them longer.
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    float* v = kernels.channels.row(i) + kVectors;
    v[0] = std::cos(static_cast<float>(i));
    v[1] = std::sin(static_cast<float>(i));
  }
  const auto first = encodeProduct(asset, *surface, kernels, {}, {});
  ASSERT_TRUE(first) << first.error().message;
  auto stored = readGltfBytes(*first, "product.glb");
  ASSERT_TRUE(stored);
  const RawExtension raw = stored->raw_extensions.at(0);
  const auto product = decoded(*first);
  ASSERT_TRUE(product) << product.error().message;
  const PackedKernels again = packKernels(product->kernels, product->asset, *product->surface, product->asset,
                                          *product->surface, product->options);
  EXPECT_EQ(again.bytes, raw.views.at(0).bytes);
}

TEST(ProductTangents, TheFrameOfATriangleIsItsFirstEdgeAndItsThirdCorner) {
  const Asset asset = mirroredInstances();
  const auto surface = buildSurface(asset);
  const SourceTriangles triangles(asset, *surface);
  for (std::uint32_t f = 0; f < surface->faceCount(); f += 37) {
    const std::uint32_t triangle = triangles.toTriangle({f}).triangle;
    Vec3 corner[3];
    for (Eigen::Index c = 0; c < 3; ++c)
      corner[c] = surface->surfaceFromAsset()(triangles.assetPosition({triangle, Vec3::Unit(c)}));
    // By the words of docs/format.md, in space.
    const Vec3 x = (corner[1] - corner[0]).normalized();
    const Vec3 up = corner[2] - corner[0], y = (up - up.dot(x) * x).normalized();
    const Vec2 stored(0.3, -0.7), in_face = triangles.vectorInFace(f, stored);
    EXPECT_LT((surface->frames()[f].directionFromFace(in_face) - (0.3 * x - 0.7 * y)).norm(), 1e-9);
    EXPECT_LT((triangles.vectorInTriangle(f, in_face) - stored).norm(), 1e-12);
  }
}

TEST(ProductTangents, VectorsThatAreTooLongAreRefused) {
  const Asset asset = assetOf(cube(1));
  const auto surface = buildSurface(asset);
  KernelSet kernels = randomKernels(*surface, 4, 1, vectorLayout());
  ProductExtension extension;
  extension.layout = vectorLayout();
  extension.kernels = 1;
  extension.triangles = countTriangles(asset);
  extension.scales.channel_bits = defaultChannelBits(extension.layout);
  extension.mean = kernels.mean;
  const auto problemOf = [&](float x, float y) -> std::string {
    StoredKernel kernel;
    kernel.channels = ChannelValues::Zero(6);
    kernel.channels[4] = x;
    kernel.channels[5] = y;
    std::vector<KernelCodes> codes = {encodeKernel(kernel, extension.scales)};
    const auto bytes = packColumns(codes, extension.scales);
    const auto read = unpackKernels(extension, bytes, asset, *surface);
    return read ? "" : read.error().message;
  };
  EXPECT_EQ(problemOf(0.6f, 0.8f), "");
  EXPECT_EQ(problemOf(1, 0), "");
  EXPECT_EQ(problemOf(-std::sqrt(0.5f), std::sqrt(0.5f)), "");
  EXPECT_NE(problemOf(0.8f, 0.7f).find("vectors is longer than 1"), std::string::npos)
      << problemOf(0.8f, 0.7f);
  EXPECT_NE(problemOf(1, 1), "");
}

TEST(ProductTangents, TexturesGiveVectorsInSpaceThatNeedNoFrame) {
  const Asset asset = mirroredInstances();
  const auto surface = std::make_shared<const Surface>(std::move(*buildSurface(asset)));
  const KernelSet kernels = randomKernels(*surface, 300, 3, vectorLayout());
  const auto texture = KernelTexture::create(surface, kernels, EvaluatorOptions());
  ASSERT_TRUE(texture) << texture.error().message;
  const auto points = sampleSurface(*surface, 500, 4);
  ASSERT_EQ(texture->layout().spaceSize(), 7u);
  std::vector<float> values(6 * points.size()), space(7 * points.size()), weights(points.size());
  texture->values(points, values);
  texture->valuesInSpace(points, space, weights);
  double longest = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t c = 0; c < 4; ++c)
      EXPECT_EQ(space[7 * i + c], values[6 * i + c]);
    const FaceFrame& frame = surface->frames()[points[i].face];
    const Vec3 v(space[7 * i + 4], space[7 * i + 5], space[7 * i + 6]);
    EXPECT_NEAR(v.dot(frame.normal()), 0, 1e-6);
    const Vec2 in_face = frame.directionToFace(v);
    EXPECT_NEAR(in_face.x(), values[6 * i + 4], 1e-6);
    EXPECT_NEAR(in_face.y(), values[6 * i + 5], 1e-6);
    EXPECT_LE(v.norm(), 3 * (1 + 1e-6)) << "the range";
    longest = std::max(longest, v.norm());
  }
  EXPECT_GT(longest, 0.5);

  // Other methods have no transport.
  for (const Method method : {Method::kThermal, Method::kSpectral}) {
    const auto refused = KernelTexture::create(surface, kernels, defaultOptions(method));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, error_code::kOtherMethod);
  }
}

}  // namespace
}  // namespace heatskin
