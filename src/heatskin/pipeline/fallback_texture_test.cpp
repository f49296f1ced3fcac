#include "heatskin/pipeline/fallback_texture.h"

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/image.h"
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

}  // namespace
}  // namespace heatskin::testing
