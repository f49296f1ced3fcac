// Everything that runs on several threads, once, small: fits with all methods, evaluation with views and
// atlas, queries, closest points, all kinds of pictures. Every test compares one thread with four to the bit;
// built with ThreadSanitizer (make tsan), it is what shows that they do not race. One file, so that `make
// test` can afford that build.

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/base/parallel.h"
#include "heatskin/evaluation/evaluate.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/product/fit_appearance.h"
#include "heatskin/product/product.h"
#include "heatskin/rendering/render.h"
#include "heatskin/surface/closest_point.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/texture/kernel_texture.h"
#include "heatskin/training/fit.h"
#include "heatskin/training/test_fits.h"

namespace heatskin {
namespace {

/// A ring with a texture, so that there is an atlas.
Asset texturedRing() {
  Asset asset = testing::colourfulRing(24, 6);
  Primitive& ring = asset.meshes[0].primitives[0];
  std::vector<Vec2f> coordinates;
  for (const Vec3& x : ring.positions) {
    const Vec3 n = x.normalized();
    coordinates.emplace_back(static_cast<float>(0.5 + 0.4 * n.x()), static_cast<float>(0.5 + 0.4 * n.y()));
  }
  ring.uv_sets = {coordinates};
  Image image;
  image.width = image.height = 16;
  for (int i = 0; i < 16 * 16; ++i) {
    for (const int c : {i * 7 % 256, i * 31 % 256, i * 63 % 256, 255})
      image.rgba.push_back(static_cast<std::uint8_t>(c));
  }
  asset.images.push_back(std::make_shared<const Image>(std::move(image)));
  asset.textures.push_back({.image = 0});
  Material material;
  material.base_color.texture = 0;
  asset.materials.push_back(material);
  ring.material = 0;
  return asset;
}

class Threads : public ::testing::Test {
 protected:
  ~Threads() override { setThreadCount(0); }

  /// What `work` gives on one thread, after it has given the same on four.
  template <class Work>
  auto onOneAndFour(const Work& work) {
    setThreadCount(1);
    auto one = work();
    setThreadCount(4);
    const auto four = work();
    EXPECT_TRUE(one == four) << "depends on the number of threads";
    return one;
  }

  FitConfig config(const std::string& method) const {
    FitConfig config = testing::tinyConfig(25);
    config.evaluator.method = *methodNamed(method);
    config.evaluator.thermal.rank = 24;
    config.evaluator.thermal.oversampling = 8;
    config.evaluator.thermal.routing_dimensions = 16;
    config.evaluator.spectral.modes = 24;
    return config;
  }

  KernelTexture texture(const std::string& method = "local") const {
    const FitConfig c = config(method);
    auto fitted = fit(*surface_, appearance_, c);
    return std::move(*KernelTexture::create(surface_, std::move(fitted->kernels), c.evaluator.options()));
  }

  Asset asset_ = texturedRing();
  std::shared_ptr<const Surface> surface_ = std::make_shared<Surface>(std::move(*buildSurface(asset_)));
  Appearance appearance_{asset_, *surface_};
};

TEST_F(Threads, FitsOfAllMethods) {
  for (const char* method : {"local", "thermal", "spectral"}) {
    SCOPED_TRACE(method);
    setThreadCount(1);
    const auto one = fit(*surface_, appearance_, config(method));
    setThreadCount(4);
    const auto four = fit(*surface_, appearance_, config(method));
    ASSERT_TRUE(one && four);
    EXPECT_TRUE(testing::sameKernels(one->kernels, four->kernels));
    EXPECT_EQ(one->history.losses, four->history.losses);
  }
}

TEST_F(Threads, QueriesOfAllMethods) {
  const auto points = sampleSurface(*surface_, 5'000, 3);
  for (const char* method : {"local", "thermal", "spectral"}) {
    SCOPED_TRACE(method);
    const KernelTexture texture = this->texture(method);
    onOneAndFour([&] {
      std::vector<Vec3f> colors(points.size());
      texture.colors(points, colors);
      return colors;
    });
  }
}

TEST_F(Threads, Evaluation) {
  const KernelTexture texture = this->texture();
  EvaluationOptions options;
  options.surface_samples = options.seam_samples = 5'000;
  options.atlas_size = options.view_size = 64;
  options.flip = true;
  options.query_runs = 1;
  onOneAndFour([&] {
    const auto result = evaluate(texture, appearance_, options);
    EXPECT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->atlas) << result->atlas_missing;
    std::vector<double> figures = {result->surface_psnr, result->coverage_mean, result->view_mean.psnr,
                                   result->view_mean.ssim, *result->view_mean.flip};
    if (result->atlas) figures.push_back(result->atlas->psnr);
    if (result->seam) figures.push_back(result->seam->p99);
    return figures;
  });
}

TEST_F(Threads, Pictures) {
  const Camera camera = defaultView(*surface_);
  const KernelTexture texture = this->texture();
  const ColorSource fitted = [&](auto points, auto colors) { texture.colors(points, colors); };
  ShadedOptions light;
  light.sky_directions = light.key_directions = 8;
  light.shadow_map_size = 64;
  for (const ColorSource& colors : {appearanceColors(appearance_), fitted}) {
    onOneAndFour([&] { return renderAlbedo(*surface_, camera, 90, 70, colors).image.rgb; });
    onOneAndFour([&] { return renderShaded(*surface_, camera, 90, 70, colors, light).image.rgb; });
  }
  onOneAndFour([&] { return renderNormals(*surface_, camera, 90, 70).image.rgb; });
}

TEST_F(Threads, ProductsAndClosestPoints) {
  const KernelTexture texture = this->texture();
  const auto bytes = onOneAndFour([&] {
    auto glb =
        encodeProduct(asset_, *surface_, texture.kernels(), texture.options(), {"test", "draft", 1, 2});
    EXPECT_TRUE(glb) << glb.error().message;
    return std::move(*glb);
  });
  EXPECT_FALSE(bytes.empty());
  onOneAndFour([&] {
    const ClosestPointQuery query(*surface_);
    std::vector<Vec3> positions;
    for (int i = 0; i < 2'000; ++i)
      positions.emplace_back(std::cos(0.01 * i), std::sin(0.03 * i), 0.2 * std::sin(0.01 * i));
    std::vector<ClosestPoint> nearest(positions.size());
    query.find(positions, nearest);
    std::vector<double> distances;
    for (const ClosestPoint& n : nearest)
      distances.push_back(n.distance);
    return distances;
  });
}

}  // namespace
}  // namespace heatskin
