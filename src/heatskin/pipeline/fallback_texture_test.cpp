#include "heatskin/pipeline/fallback_texture.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/asset_surface.h"
#include "heatskin/io/glb_writer.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/io/image.h"
#include "heatskin/pipeline/fallback_atlas.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/pipeline/test_jobs.h"
#include "heatskin/product/test_fitted.h"

namespace heatskin::testing {
namespace {

/// A square of `cells` x `cells` cells that shows an image `repeats` times along each side.
Asset tiledSquare(int cells, float repeats) {
  Asset asset;
  asset.format = "glb";
  Image image;
  image.width = image.height = 256;
  image.rgba.assign(std::size_t{4} * 256 * 256, 255);
  asset.images.push_back(std::make_shared<const Image>(std::move(image)));
  asset.textures.push_back({0, Wrap::kRepeat, Wrap::kRepeat});
  Material material;
  material.slots = standardSlots();
  material.base_color.texture = 0;
  asset.materials.push_back(material);
  Primitive primitive;
  primitive.material = 0;
  primitive.uv_sets.resize(1);
  for (int j = 0; j <= cells; ++j) {
    for (int i = 0; i <= cells; ++i) {
      const double x = static_cast<double>(i) / cells, y = static_cast<double>(j) / cells;
      primitive.positions.emplace_back(x, y, 0);
      primitive.uv_sets[0].push_back(repeats * Vec2(x, 1 - y).cast<float>());
    }
  }
  for (int j = 0; j < cells; ++j) {
    for (int i = 0; i < cells; ++i) {
      const auto a = static_cast<std::uint32_t>(j * (cells + 1) + i), b = a + 1;
      const auto c = a + static_cast<std::uint32_t>(cells) + 1, d = c + 1;
      for (const std::uint32_t corner : {a, b, d, a, d, c})
        primitive.triangles.push_back(corner);
    }
  }
  asset.meshes.push_back({"square", {primitive}});
  asset.instances.push_back({"square", 0, Affine3::Identity()});
  return asset;
}

/// The image for the kernels of a square.
FallbackImage imageFor(int cells, float repeats) {
  const product::Fitted f = product::fitted(tiledSquare(cells, repeats), 12);
  const auto texture = KernelTexture::create(f.surface, f.kernels, f.options, {}, {});
  EXPECT_TRUE(texture) << texture.error().message;
  FallbackRequest request;
  request.primitives = {{0, 0}};
  request.width = request.height = 256;
  const auto images = bakeFallback(*texture, f.asset, std::vector{request});
  EXPECT_TRUE(images) << images.error().message;
  EXPECT_EQ(images->size(), 1u);
  return images->at(0);
}

TEST(FallbackTexture, CoordinatesOfTheirOwnGetAnImage) {
  const FallbackImage image = imageFor(4, 1);
  ASSERT_FALSE(image.bytes.empty()) << "25 vertices are too few for 12 kernels";
  const auto decoded = decodeImage(image.bytes, "image");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_GE(decoded->width, kSmallestFallback);
}

TEST(FallbackTexture, AnImageThatRepeatsIsNoPictureOfWhatDoesNot) {
  // Kernels vary from one end of the square to the other; an image that is repeated thirty times cannot.
  EXPECT_TRUE(imageFor(40, 30).bytes.empty());
}

/// Stripes on a coarse square whose vertex colours shade them: a texture alone does not say what it shows.
Asset shadedStripes() {
  Asset asset = tiledSquare(4, 1);
  Image stripes;
  stripes.width = stripes.height = 256;
  for (int j = 0; j < 256; ++j) {
    for (int i = 0; i < 256; ++i) {
      const auto level = static_cast<std::uint8_t>((i / 16) % 2 == 0 ? 230 : 60);
      stripes.rgba.insert(stripes.rgba.end(), {level, 120, static_cast<std::uint8_t>(j), 255});
    }
  }
  asset.images[0] = std::make_shared<const Image>(std::move(stripes));
  Primitive& primitive = asset.meshes[0].primitives[0];
  for (const Vec3& p : primitive.positions) {
    primitive.normals.emplace_back(0, 0, 1);
    const auto shade = static_cast<float>(0.4 + 0.6 * p.y());
    primitive.colors.emplace_back(shade, shade, shade, 1.0f);
  }
  return asset;
}

/// The same as a glTF file.
Asset asFile(const Asset& asset) {
  const auto glb = encodeGlb(asset);
  EXPECT_TRUE(glb);
  auto read = readGltfBytes(*glb, "square.glb");
  EXPECT_TRUE(read) << read.error().message;
  return std::move(*read);
}

TEST(FallbackAtlas, SplitsVerticesAndNothingElse) {
  for (const bool file : {false, true}) {
    Asset asset = shadedStripes();
    if (file) asset = asFile(asset);
    const auto surface = buildSurface(asset);
    ASSERT_TRUE(surface);
    const auto atlased = fallbackAtlas(asset, *surface, ChannelLayout(), ConstantFaces());
    ASSERT_TRUE(atlased) << atlased.error().message;
    ASSERT_TRUE(*atlased);
    const Primitive &before = asset.meshes[0].primitives[0], &after = (*atlased)->meshes[0].primitives[0];
    ASSERT_EQ(after.triangles.size(), before.triangles.size());
    ASSERT_EQ(after.uv_sets.size(), 2u);
    double area = 0;
    for (std::size_t c = 0; c < before.triangles.size(); ++c) {
      const std::uint32_t a = after.triangles[c], b = before.triangles[c];
      EXPECT_EQ(after.positions[a], before.positions[b]);
      EXPECT_EQ(after.normals[a], before.normals[b]);
      EXPECT_EQ(after.uv_sets[0][a], before.uv_sets[0][b]);
      EXPECT_GE(after.uv_sets[1][a].minCoeff(), 0);
      EXPECT_LE(after.uv_sets[1][a].maxCoeff(), 1);
      if (c % 3 != 2) continue;
      const auto& uv = after.uv_sets[1];
      const std::uint32_t i = after.triangles[c - 2], j = after.triangles[c - 1];
      area += 0.5 * std::abs(cross2((uv[j] - uv[i]).cast<double>(), (uv[a] - uv[i]).cast<double>()));
    }
    EXPECT_GT(area, 0.3) << "a square is not hard to pack";
    EXPECT_TRUE(after.colors.empty());
    const Material& material = (*atlased)->materials[static_cast<std::size_t>(after.material)];
    EXPECT_GE(material.base_color.texture, 0);
    EXPECT_EQ(material.base_color.uv_set, 1);
    if (file) {
      EXPECT_EQ((*atlased)->materials.size(), 1u) << "a copy would keep the old texture alive";
      EXPECT_EQ((*atlased)->images.size(), 1u);
    }
  }
}

TEST(FallbackAtlas, WhatIsSeenThroughKeepsWhatItHas) {
  Asset asset = shadedStripes();
  asset.materials[0].alpha_mode = AlphaMode::kMask;
  const auto surface = buildSurface(asset);
  ASSERT_TRUE(surface);
  const auto atlased = fallbackAtlas(asset, *surface, ChannelLayout(), ConstantFaces());
  ASSERT_TRUE(atlased);
  EXPECT_FALSE(*atlased);
}

/// A fit whose vertices are too few for its colours.
FitOutcome fitStripes(Asset asset, Fallback fallback) {
  auto loaded = openAssetToFit(std::move(asset), Method::kLocal, quietly());
  EXPECT_TRUE(loaded) << loaded.error().message;
  FitJob job = smallJob();
  setKernelBudget(job.config, 300);
  job.config.train.steps = 60;
  job.fallback = fallback;
  auto outcome = fitProduct(*loaded, job);
  EXPECT_TRUE(outcome) << outcome.error().message;
  return std::move(*outcome);
}

TEST(FallbackAtlas, IsTakenWhereVertexColoursWouldBeFarOff) {
  const Asset asset = asFile(shadedStripes());
  const FitOutcome vertex = fitStripes(asset, Fallback::kVertex),
                   image = fitStripes(asset, Fallback::kTexture);
  EXPECT_EQ(image.fallback, Fallback::kTexture);
  ASSERT_TRUE(vertex.fallback_psnr && image.fallback_psnr && image.evaluation);
  EXPECT_GT(*image.fallback_psnr, *vertex.fallback_psnr + kAtlasGain);
  EXPECT_GT(*image.fallback_psnr, image.evaluation->surface_psnr - 2);
  // Kernels are the same, and so is what they show: faces are addressed as before.
  EXPECT_EQ(image.fit.kernels.angles, vertex.fit.kernels.angles);
  EXPECT_NEAR(image.evaluation->surface_psnr, vertex.evaluation->surface_psnr, 1e-6);
  ASSERT_TRUE(image.stored);
  EXPECT_NE(image.stored->product.supports, nullptr) << "charts are for these triangles, too";
}

}  // namespace
}  // namespace heatskin::testing
