#include "heatskin/training/visible_samples.h"

#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include <gtest/gtest.h>

#include "heatskin/appearance/appearance_target.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/training/pool.h"
#include "heatskin/training/test_fits.h"

namespace heatskin {
namespace {

/// Two unit squares side by side in one plane: the left one with a texture whose alpha grows from left to
/// right (64 columns), the right one with a factor only.
Asset fadingCard(AlphaMode mode, bool second_square) {
  Asset asset;
  Image image;
  image.width = 64;
  image.height = 1;
  for (int x = 0; x < 64; ++x) {
    for (const int value : {4 * x, 255 - 4 * x, 128, 4 * x})
      image.rgba.push_back(static_cast<std::uint8_t>(value));
  }
  asset.images.push_back(std::make_shared<const Image>(std::move(image)));
  asset.textures.push_back({0, Wrap::kClampToEdge, Wrap::kClampToEdge, TexelFilter::kNearest});
  Material card, plain;
  card.base_color.texture = 0;
  card.alpha_mode = mode;
  plain.base_color_factor = {0.9f, 0.1f, 0.1f, 1};
  asset.materials = {card, plain};
  Primitive primitive;
  primitive.positions = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
  primitive.uv_sets = {{{0, 1}, {1, 1}, {1, 0}, {0, 0}}};
  primitive.triangles = {0, 1, 2, 0, 2, 3};
  primitive.material = 0;
  asset.meshes.push_back({"cards", {primitive}});
  if (second_square) {
    for (Vec3& x : primitive.positions)
      x += Vec3(2, 0, 0);
    primitive.material = 1;
    asset.meshes[0].primitives.push_back(primitive);
  }
  Instance instance;
  instance.mesh = 0;
  asset.instances.push_back(instance);
  return asset;
}

struct Scene {
  Asset asset;
  Surface surface;
  Appearance appearance;
  explicit Scene(Asset a)
      : asset(std::move(a)), surface(std::move(*buildSurface(asset))), appearance(asset, surface) {}
};

/// All samples of a pool, once.
struct Drawn {
  std::vector<std::uint32_t> indices;
  std::vector<SurfacePoint> points;
  std::vector<float> values, visibilities;

  explicit Drawn(const SamplePool& pool)
      : indices(pool.size()),
        points(pool.size()),
        values(pool.size() * pool.layout().size()),
        visibilities(pool.samples().masked() ? pool.size() : 0) {
    std::iota(indices.begin(), indices.end(), 0u);
    pool.samples().points(0, 0, indices, points);
    pool.samples().values(indices, points, values, visibilities);
  }
};

TEST(VisibleSamples, ATargetWithAlphaIsSampledEverywhereAndColoursCountAsFarAsTheyAreSeen) {
  const Scene scene(fadingCard(AlphaMode::kBlend, false));
  const auto layout = *ChannelLayout::ofNames({"base_color", "alpha"});
  const AppearanceTarget both(scene.appearance, Filter::kAuto, layout);
  SamplingOptions options;
  options.pool = 40'000;
  const SamplePool pool(scene.surface, both, options, 1);
  ASSERT_TRUE(pool.samples().masked());
  const Drawn drawn(pool);
  double seen = 0, red = 0;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    const float alpha = scene.appearance.alpha(drawn.points[i]);
    const float* values = drawn.values.data() + 4 * i;
    ASSERT_EQ(drawn.visibilities[i], alpha);
    ASSERT_EQ(values[3], alpha);
    ASSERT_EQ(Vec3f(values), scene.appearance.color(drawn.points[i]));
    seen += static_cast<double>(alpha);
    red += static_cast<double>(alpha * values[0]);
  }
  // Alpha 4 x / 255 over 64 columns has the mean 126 / 255; one standard deviation is 0.0015.
  EXPECT_NEAR(seen / 40'000, 126.0 / 255, 0.006);
  EXPECT_NEAR(pool.mean()[3], seen / 40'000, 1e-6);
  EXPECT_NEAR(pool.mean()[0], red / seen, 1e-6);
  EXPECT_GT(pool.mean()[0], 0.6) << "red grows with alpha: what is hardly seen hardly counts";

  // Without alpha as a channel density follows visibility, and nothing more is to be done.
  const AppearanceTarget colors(scene.appearance, Filter::kAuto);
  const SamplePool visible(scene.surface, colors, options, 1);
  EXPECT_FALSE(visible.samples().masked());
  EXPECT_NEAR(visible.mean()[0], pool.mean()[0], 0.01);
}

/// A loss that depends on the place, for expectations.
double someLoss(const Vec3f& color) {
  return static_cast<double>(color.x() * color.x() + 0.1f);
}

TEST(VisibleSamples, OpaqueSurfacesAreSampledAsEver) {
  const Scene scene(testing::colourfulRing());
  const auto points =
      sampleVisible(scene.surface, AppearanceTarget(scene.appearance, Filter::kAuto), 3000, 5, 1);
  const auto plain = sampleSurface(scene.surface, 3000, 5, 1);
  ASSERT_EQ(points.size(), plain.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    ASSERT_EQ(points[i].face, plain[i].face);
    ASSERT_EQ(points[i].barycentric, plain[i].barycentric);
  }
}

TEST(VisibleSamples, MeansAreMeansWeightedByAlpha) {
  const Scene scene(fadingCard(AlphaMode::kBlend, true));
  const auto points =
      sampleVisible(scene.surface, AppearanceTarget(scene.appearance, Filter::kAuto), 40'000, 1, 1);
  ASSERT_EQ(points.size(), 40'000u);
  double mean = 0;
  for (const SurfacePoint& p : points) {
    ASSERT_EQ(scene.appearance.faceMaterial(p.face), 0) << "a face of one colour has nothing to fit";
    ASSERT_GT(scene.appearance.visibility(p), 0);
    mean += someLoss(scene.appearance.color(p)) / 40'000;
  }
  // Column by column: alpha 4 x / 255, red 4 x / 255.
  double weighted = 0, weights = 0;
  for (int x = 0; x < 64; ++x) {
    const double alpha = 4 * x / 255.0;
    weighted += alpha * someLoss(Vec3f(static_cast<float>(4 * x) / 255, 0, 0));
    weights += alpha;
  }
  EXPECT_NEAR(mean, weighted / weights, 0.005);
}

TEST(VisibleSamples, ImportanceSamplingKeepsTheAlphaWeightedMean) {
  const Scene scene(fadingCard(AlphaMode::kBlend, true));
  SamplingOptions options;
  options.pool = 20'000;
  options.rule = Sampling::kStratified;
  options.error_power = 0.5;
  options.error_floor = 1e-4;
  options.correction = 1;
  const AppearanceTarget target(scene.appearance, Filter::kAuto);
  SamplePool pool(scene.surface, target, options, 3);
  ASSERT_LE(pool.size(), 20'000u) << "parts that nobody sees have no samples";
  ASSERT_TRUE(pool.samples().masked());
  const Drawn drawn(pool);
  std::vector<float> losses(pool.size());
  for (std::uint32_t i = 0; i < pool.size(); ++i)
    losses[i] = drawn.visibilities[i] * static_cast<float>(someLoss(Vec3f(drawn.values.data() + 3 * i)));
  pool.visit(drawn.indices, losses);
  double estimate = 0;
  constexpr int kSteps = 20;
  constexpr std::size_t kBatch = 1000;
  std::vector<std::uint32_t> batch(kBatch);
  for (int step = 0; step < kSteps; ++step) {
    pool.prepareDraw(step, false, kBatch);
    pool.draw(0, batch);
    std::vector<SurfacePoint> points(kBatch);
    pool.samples().points(static_cast<std::uint64_t>(step), 0, batch, points);
    std::vector<float> values(3 * kBatch), seen(kBatch);
    pool.samples().values(batch, points, values, seen);
    for (std::size_t i = 0; i < kBatch; ++i) {
      estimate += pool.inverseProbabilityWeight(batch[i]) * static_cast<double>(seen[i]) *
                  someLoss(Vec3f(values.data() + 3 * i)) / (kSteps * kBatch);
    }
  }
  double weighted = 0, weights = 0;
  for (const SurfacePoint& p : sampleSurface(scene.surface, 100'000, 77)) {
    if (scene.appearance.faceConstant(p.face)) continue;
    const auto alpha = static_cast<double>(scene.appearance.visibility(p));
    weighted += alpha * someLoss(scene.appearance.color(p));
    weights += alpha;
  }
  EXPECT_NEAR(estimate, weighted / weights, 0.01);
}

TEST(VisibleSamples, CutOutsAreNeverDrawn) {
  const Scene scene(fadingCard(AlphaMode::kMask, false));
  for (const SurfacePoint& p :
       sampleVisible(scene.surface, AppearanceTarget(scene.appearance, Filter::kAuto), 5000, 1, 1))
    ASSERT_EQ(scene.appearance.visibility(p), 1);
}

TEST(VisibleSamples, NothingVisibleGivesNothing) {
  Asset asset = fadingCard(AlphaMode::kBlend, false);
  asset.materials[0].base_color_factor.w() = 0;
  const Scene scene(asset);
  EXPECT_TRUE(
      sampleVisible(scene.surface, AppearanceTarget(scene.appearance, Filter::kAuto), 100, 1, 1).empty());
}

TEST(VisibleSamples, FacesWithoutWeightAreNeverDrawn) {
  const std::vector<double> weights = {0, 0, 3, 0, 1, 0, 0};
  const SurfaceSampler sampler(weights);
  std::vector<SurfacePoint> points(20'000);
  sampler.sample(1, 2, 0, points);
  double third = 0;
  for (const SurfacePoint& p : points) {
    ASSERT_TRUE(p.face == 2 || p.face == 4);
    third += p.face == 2 ? 1 : 0;
  }
  EXPECT_NEAR(third / 20'000, 0.75, 0.02);
  EXPECT_EQ(sampler.point(std::nextafter(1.0, 0.0), 0.5, 0.5).face, 4u);
}

}  // namespace
}  // namespace heatskin
