#pragma once

// Assets with kernels on them, their products, and whether both have the same colours.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/product/asset_constants.h"
#include "heatskin/product/product.h"
#include "heatskin/product/source_triangles.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/texture/kernel_texture.h"

#include "support/products.h"

namespace heatskin::testing::product {

inline const ProductInfo kInfo = {"heatskin test", "draft", 42, 200};

/// An asset with its surface and kernels on it.
struct Fitted {
  Asset asset;
  std::shared_ptr<const Surface> surface;
  KernelSet kernels;
  EvaluatorOptions options;
};

inline Fitted fitted(Asset asset, std::size_t count = 400) {
  Fitted out;
  out.asset = std::move(asset);
  auto surface = buildSurface(out.asset);
  if (!surface) {
    ADD_FAILURE() << surface.error().message;
    return out;
  }
  out.surface = std::make_shared<const Surface>(std::move(*surface));
  out.kernels = randomKernels(*out.surface, count);
  return out;
}

inline std::vector<std::uint8_t> encoded(const Fitted& f) {
  auto glb = encodeProduct(f.asset, *f.surface, f.kernels, f.options, kInfo);
  EXPECT_TRUE(glb) << glb.error().message;
  return glb ? std::move(*glb) : std::vector<std::uint8_t>();
}

inline Result<Product> decoded(const std::vector<std::uint8_t>& glb) {
  auto asset = readGltfBytes(glb, "product.glb");
  if (!asset) return asset.error();
  return decodeProduct(std::move(*asset));
}

/// 68 to 73 dB were measured for fits of spot. Random kernels have residuals all over [-1, 1], which costs 15
/// dB: 54 dB with 2,000 of them on spot.
inline constexpr double kSameColors = 50;  // dB

/// PSNR between the fitted set and the product at random points, both asked at the same places in space.
inline double agreement(const Fitted& f, const Product& product) {
  const std::vector<SurfacePoint> points = sampleSurface(*f.surface, 4000, 9);
  const SourceTriangles from(f.asset, *f.surface), to(product.asset, *product.surface);
  std::vector<SurfacePoint> there;
  for (const SurfacePoint& p : points) {
    const TrianglePoint t = from.toTriangle(p);
    EXPECT_NE(to.faceOf(t.triangle), kNone);
    there.push_back(to.toSurface(t));
    const Vec3 a = f.surface->assetFromSurface()(f.surface->position(p));
    const Vec3 b = product.surface->assetFromSurface()(product.surface->position(there.back()));
    // float32 positions: 6e-8 of the coordinates, here of size up to 4.
    EXPECT_LT((a - b).norm(), 1e-6 / f.surface->surfaceFromAsset().scale);
  }
  std::vector<Vec3f> expected(points.size()), colors(points.size());
  KernelTexture::create(f.surface, f.kernels, f.options, {}, constantFaces(Appearance(f.asset, *f.surface)))
      ->colors(points, expected);
  KernelTexture::create(product.surface, product.kernels, product.options, {}, product.constants)
      ->colors(there, colors);
  double error = 0;
  for (std::size_t i = 0; i < points.size(); ++i)
    error += static_cast<double>((colors[i] - expected[i]).squaredNorm()) / 3;
  return -10 * std::log10(error / static_cast<double>(points.size()) + 1e-12);
}

/// Which of the fitted kernels each kernel of a product was: the one with the nearest values.
inline std::vector<std::uint32_t> orderOf(const KernelSet& stored, const Fitted& f) {
  const KernelSet& k = f.kernels;
  std::vector<std::uint32_t> order(stored.size());
  std::set<std::uint32_t> used;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    double nearest = 1e300;
    for (std::uint32_t j = 0; j < k.size(); ++j) {
      const double distance = std::abs(std::log(stored.lengths[i] / k.lengths[j])) +
                              std::abs(std::log(stored.sharpnesses[i] / k.sharpnesses[j])) +
                              std::abs(std::log(stored.anisotropies[i] / k.anisotropies[j])) +
                              static_cast<double>((stored.channels[i] - k.channels[j]).cwiseAbs().sum());
      if (distance < nearest) nearest = distance, order[i] = j;
    }
    used.insert(order[i]);
  }
  EXPECT_EQ(used.size(), k.size()) << "every kernel is there once";
  return order;
}

inline void expectRoundTrip(const Fitted& f) {
  const std::vector<std::uint8_t> glb = encoded(f);
  auto product = decoded(glb);
  ASSERT_TRUE(product) << product.error().message;
  EXPECT_EQ(product->kernels.size(), f.kernels.size());
  EXPECT_EQ(product->kernels.mean, f.kernels.mean);
  EXPECT_LE(product->bytesPerKernel(), 20) << "what version 1 took";
  EXPECT_EQ(product->info.generator, kInfo.generator);
  EXPECT_EQ(product->info.seed, kInfo.seed);
  EXPECT_EQ(product->surface->faceCount(), f.surface->faceCount());
  EXPECT_GT(agreement(f, *product), kSameColors);
  const auto again =
      encodeProduct(product->asset, *product->surface, product->kernels, product->options, product->info);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, glb) << "reading and writing again changes nothing";
}

/// `method` with a preprocessing that takes little time.
inline Fitted fittedWith(std::string_view method, Asset asset, std::size_t count = 400) {
  // As `heatskin fit` does.
  const auto moved = useStoredGeometry(asset);
  EXPECT_TRUE(moved) << moved.error().message;
  Fitted f = fitted(std::move(asset), count);
  MethodChoice options;
  options.method = *methodNamed(method);
  options.thermal.rank = 64;
  options.thermal.oversampling = 32;
  options.thermal.seed = 5;
  options.spectral.modes = 60;
  f.options = options.options();
  return f;
}

}  // namespace heatskin::testing::product
