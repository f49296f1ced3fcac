// How precisely kernels come back: steps of the codes, lengths, channels.

#include "heatskin/product/stored_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/product/product.h"
#include "heatskin/product/product_extension.h"
#include "heatskin/product/product_writer.h"
#include "heatskin/product/quantize.h"
#include "heatskin/product/source_triangles.h"
#include "heatskin/product/test_fitted.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/texture/kernel_texture.h"

#include "support/products.h"

namespace heatskin::testing::product {
namespace {

TEST(Product, AnyChannelsComeBackWithinTheStepsOfTheCodes) {
  for (const auto& layout :
       {*ChannelLayout::ofNames({"base_color", "alpha"}),
        *ChannelLayout::make({{"base_color", 3}, {"height", 2, 0, {-2, 6}}, {"glow", 11, 0, {0, 100}}})}) {
    for (const Asset& asset : {assetOf(bumpySphere(2, 0.2, 3)), manyMaterials()}) {
      Fitted f = fitted(asset, 0);
      f.kernels = randomKernels(*f.surface, 200, 4, layout);
      const auto glb = encodeProduct(f.asset, *f.surface, f.kernels, f.options, kInfo);
      ASSERT_TRUE(glb) << glb.error().message;
      const auto product = decoded(*glb);
      ASSERT_TRUE(product) << product.error().message;
      EXPECT_EQ(product->kernels.layout, layout);
      EXPECT_EQ(product->kernels.mean, f.kernels.mean);
      const std::vector<std::uint32_t> order = orderOf(product->kernels, f);
      for (std::size_t i = 0; i < f.kernels.size(); ++i) {
        for (std::size_t c = 0; c < layout.size(); ++c) {
          const double step = 1 / (std::exp2(c < 3 ? kColorBits - 1 : kOtherChannelBits - 1) - 1);
          ASSERT_NEAR(product->kernels.channels.row(i)[c], f.kernels.channels.row(order[i])[c], 0.501 * step);
        }
      }
      // Reading and writing again changes nothing.
      const auto again =
          encodeProduct(product->asset, *product->surface, product->kernels, product->options, product->info);
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(*again, *glb);
      // Faces whose material says everything have its colour and alpha; where there are other channels,
      // no material does.
      EXPECT_EQ(product->constants.empty(), asset.materials.empty() || !layout.find("alpha"));
      const auto texture =
          KernelTexture::create(product->surface, product->kernels, product->options, {}, product->constants);
      ASSERT_TRUE(texture);
      const auto points = sampleSurface(*product->surface, 2000, 1);
      std::vector<float> values(points.size() * layout.size()), weights(points.size());
      std::vector<Vec3f> colors(points.size());
      texture->values(points, values, weights);
      texture->colors(points, colors);
      const Appearance appearance(product->asset, *product->surface);
      for (std::size_t i = 0; i < points.size(); ++i) {
        const float* row = values.data() + i * layout.size();
        ASSERT_EQ(colors[i], Vec3f(row));
        for (const ChannelGroup& group : layout.groups()) {
          for (std::size_t c = group.first; c < group.first + group.count; ++c)
            ASSERT_TRUE(row[c] >= group.range[0] && row[c] <= group.range[1]);
        }
        const std::uint32_t constant = product->constants.channelsOf(points[i].face);
        if (constant == 0) continue;
        ASSERT_EQ(constant >> 3 & 1, 1u)
            << "whose colour is constant has a constant alpha, and so has what is opaque";
        ASSERT_EQ(row[3], appearance.alpha(points[i]));
        if ((constant & 1) == 0) continue;
        ASSERT_EQ(weights[i], 1);
        ASSERT_EQ(colors[i], appearance.color(points[i]));
      }
    }
  }
}

TEST(Product, ABaseColourIsStoredTheSameWhateverComesAfterIt) {
  Fitted f = fitted(assetOf(bumpySphere(2, 0.2, 3)), 50);
  const auto plain = decoded(*encodeProduct(f.asset, *f.surface, f.kernels, f.options, kInfo));
  KernelSet more(*ChannelLayout::ofNames({"base_color", "alpha"}));
  more.resize(50);
  more.positions = f.kernels.positions;
  more.angles = f.kernels.angles;
  more.anisotropies = f.kernels.anisotropies;
  more.thresholds = f.kernels.thresholds;
  more.sharpnesses = f.kernels.sharpnesses;
  more.lengths = f.kernels.lengths;
  more.mean.head<3>() = f.kernels.mean;
  for (std::size_t i = 0; i < 50; ++i)
    std::copy_n(f.kernels.channels.row(i), 3, more.channels.row(i));
  const auto both = decoded(*encodeProduct(f.asset, *f.surface, more, f.options, kInfo));
  ASSERT_TRUE(plain && both);
  const auto points = sampleSurface(*plain->surface, 500, 2);
  std::vector<Vec3f> a(500), b(500);
  KernelTexture::create(plain->surface, plain->kernels, plain->options)->colors(points, a);
  KernelTexture::create(both->surface, both->kernels, both->options)->colors(points, b);
  // Sums of four channels may be added in another order than those of three.
  for (std::size_t i = 0; i < points.size(); ++i)
    ASSERT_LE((a[i] - b[i]).cwiseAbs().maxCoeff(), 1e-6f);
}

TEST(Product, KernelsComeBackSortedAndWithinTheStepsOfTheCodes) {
  const Fitted f = fitted(mirroredInstances());
  const auto product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  const SourceTriangles triangles(product->asset, *product->surface);
  const std::vector<std::uint32_t> order = orderOf(product->kernels, f);
  const KernelBits bits;
  std::uint32_t last = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t triangle = triangles.toTriangle(product->kernels.positions[i]).triangle;
    EXPECT_GE(triangle, last);
    last = triangle;
    const std::size_t j = order[i];
    const Vec3 moved = product->surface->position(product->kernels.positions[i]) -
                       f.surface->position(f.kernels.positions[j]);
    EXPECT_LT(moved.norm(), 1e-3);
    const auto expectNear = [](float a, float b, double range, int n) {
      EXPECT_NEAR(std::log(static_cast<double>(a) / b), 0, 0.501 * std::log(range) / (std::exp2(n) - 1));
    };
    expectNear(product->kernels.lengths[i], f.kernels.lengths[j], 0x1p14, bits.length);
    expectNear(product->kernels.anisotropies[i], f.kernels.anisotropies[j], 200, bits.anisotropy);
    expectNear(product->kernels.sharpnesses[i], f.kernels.sharpnesses[j], 20, bits.sharpness);
    expectNear(1 - product->kernels.thresholds[i], 1 - f.kernels.thresholds[j], 0.7 / 0x1p-24,
               bits.threshold);
  }
}

TEST(Product, PositionsAreFinerWhereTrianglesAreLargeForTheirKernels) {
  const auto bitsOf = [](const Asset& asset, float length) {
    Fitted f = fitted(asset, 200);
    std::fill(f.kernels.lengths.begin(), f.kernels.lengths.end(), length);
    const auto read = readGltfBytes(encoded(f), "product.glb");
    return readExtension(read->raw_extensions[0].json)->scales.bits.barycentric;
  };
  // Edges of half the length take a bit less, kernels of half the length a bit more.
  const int coarse = bitsOf(assetOf(cube(2)), 0.5f);
  EXPECT_EQ(bitsOf(assetOf(cube(4)), 0.5f), coarse - 1);
  EXPECT_EQ(bitsOf(assetOf(cube(2)), 0.25f), coarse + 1);
  EXPECT_EQ(bitsOf(assetOf(cube(2)), 0x1p-10f), 16) << "the finest there is";
}

TEST(Product, CoarserCodesTakeLessRoomAndStayWhenTheyAreWrittenAgain) {
  for (const std::string_view method : {"local", "spectral"}) {
    const Fitted f = fittedWith(method, assetOf(bumpySphere(2, 0.2, 1)), 300);
    std::size_t before = std::numeric_limits<std::size_t>::max();
    for (int coarser = 0; coarser <= kMostCoarser; ++coarser) {
      const auto write = [&](const Asset& asset, std::shared_ptr<const Surface> surface,
                             const KernelSet& kernels, const Rounding& rounding) {
        const auto writer = ProductWriter::create(asset, std::move(surface), true, kernels, f.options, kInfo,
                                                  ProductFile(Fallback::kPlain), rounding);
        return writer ? *writer->finishPlain() : std::vector<std::uint8_t>();
      };
      const auto product = decoded(write(f.asset, f.surface, f.kernels, {0, coarser}));
      ASSERT_TRUE(product) << product.error().message;
      EXPECT_EQ(product->rounding.coarser, coarser);
      EXPECT_LT(product->model_bytes, before);
      before = product->model_bytes;
      const auto again =
          decoded(write(product->asset, product->surface, product->kernels, product->rounding));
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(again->kernels.sharpnesses, product->kernels.sharpnesses);
      EXPECT_EQ(again->kernels.angles, product->kernels.angles);
      EXPECT_EQ(again->kernels.channels.values, product->kernels.channels.values);
      EXPECT_EQ(again->model_bytes, product->model_bytes);
      // What it takes on its own is finer, and would move them.
      if (coarser > 0) {
        const auto finer = decoded(write(product->asset, product->surface, product->kernels, {}));
        ASSERT_TRUE(finer) << finer.error().message;
        EXPECT_NE(finer->kernels.channels.values, product->kernels.channels.values);
      }
      // The same without a file.
      const KernelSet rounded = *roundedKernels(f.kernels, f.asset, *f.surface, f.options, {0, coarser});
      EXPECT_EQ(rounded.channels.values, product->kernels.channels.values);
      EXPECT_EQ(rounded.thresholds, product->kernels.thresholds);
    }
  }
}

TEST(Product, LengthsOfOneStayExact) {
  for (const std::string_view method : {"local", "thermal"}) {
    Fitted f = fittedWith(method, assetOf(bumpySphere(2, 0.2, 1)), 50);
    if (method == "local") std::fill(f.kernels.lengths.begin(), f.kernels.lengths.end(), 1.0f);
    const auto product = decoded(encoded(f));
    ASSERT_TRUE(product) << product.error().message;
    EXPECT_EQ(product->kernels.lengths, std::vector<float>(50, 1.0f));
  }
}

}  // namespace
}  // namespace heatskin::testing::product
