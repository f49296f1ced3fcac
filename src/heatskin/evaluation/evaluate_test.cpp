#include "heatskin/evaluation/evaluate.h"

#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/evaluation/pictures.h"
#include "heatskin/evaluation/test_textures.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/color_space.h"

namespace heatskin {
namespace {

EvaluationOptions quick() {
  EvaluationOptions options;
  options.surface_samples = 5000;
  options.seam_samples = 2000;
  options.view_size = 64;
  options.atlas_size = 64;
  options.query_runs = 1;
  return options;
}

/// A texture without kernels has the mean colour everywhere.
KernelTexture constantTexture(const Asset& asset, const Vec3f& color) {
  auto surface = std::make_shared<const Surface>(std::move(*buildSurface(asset)));
  KernelSet kernels;
  kernels.mean = color;
  return std::move(*KernelTexture::create(surface, kernels, EvaluatorOptions()));
}

TEST(Evaluate, AnIdenticalTextureIsInfinitelyGood) {
  const Asset asset = testing::flatAsset(testing::cube(2), {1, 1, 1, 1});
  const KernelTexture texture = constantTexture(asset, {1, 1, 1});
  const auto result = evaluate(texture, Appearance(asset, texture.surface()), quick());
  ASSERT_TRUE(result);
  EXPECT_TRUE(std::isinf(result->surface_psnr) && result->surface_psnr > 0);
  EXPECT_TRUE(std::isinf(result->view_mean.psnr));
  EXPECT_TRUE(std::isinf(result->view_psnr_pooled));
  EXPECT_DOUBLE_EQ(result->view_mean.ssim, 1);
  EXPECT_EQ(result->views.size(), 8u);
  EXPECT_EQ(result->surface_max_error, 0);
  EXPECT_FALSE(result->atlas);
  EXPECT_FALSE(result->atlas_missing.empty());
  ASSERT_TRUE(result->seam);
  EXPECT_EQ(result->seam->maximum, 0);
  ASSERT_TRUE(result->reference_seam);
  EXPECT_EQ(result->reference_seam->maximum, 0);
  // No kernel reaches any point.
  EXPECT_EQ(result->coverage_below_half, 1);
  EXPECT_EQ(result->coverage_defect, 0) << "the mean colour is right everywhere";
  EXPECT_EQ(result->coverage_mean, 0);
}

TEST(Evaluate, JumpsOfTheReferenceAreTold) {
  // Half of the cube's faces are white, the others black: no fault of a texture of one colour.
  Asset asset = testing::flatAsset(testing::cube(2), {1, 1, 1, 1});
  asset.materials.push_back(asset.materials[0]);
  asset.materials[1].base_color_factor = {0, 0, 0, 1};
  Primitive& white = asset.meshes[0].primitives[0];
  Primitive black = white;
  black.material = 1;
  const auto half = static_cast<std::ptrdiff_t>(white.triangles.size() / 2);
  white.triangles.erase(white.triangles.begin() + half, white.triangles.end());
  black.triangles.erase(black.triangles.begin(), black.triangles.begin() + half);
  asset.meshes[0].primitives.push_back(black);
  const KernelTexture texture = constantTexture(asset, {1, 1, 1});
  const auto result = evaluate(texture, Appearance(asset, texture.surface()), quick());
  ASSERT_TRUE(result && result->seam && result->reference_seam);
  EXPECT_EQ(result->seam->maximum, 0);
  EXPECT_NEAR(result->reference_seam->maximum, 255, 1e-4);
  EXPECT_EQ(result->reference_seam->median, 0) << "most edges lie inside one half";
}

TEST(Evaluate, EveryGroupOfChannelsHasFiguresOfItsOwn) {
  Asset asset = testing::flatAsset(testing::cube(2), {1, 1, 1, 0.25f});
  asset.materials[0].alpha_mode = AlphaMode::kBlend;
  auto surface = std::make_shared<const Surface>(std::move(*buildSurface(asset)));
  const Appearance appearance(asset, *surface);
  // Nobody but the texture knows the height: there is nothing to compare.
  KernelSet kernels(*ChannelLayout::make({{"base_color", 3}, {"height", 1, 0, {-5, 5}}, {"alpha", 1}}));
  kernels.mean << 0.9f, 1.0f, 1.0f, 0.3f, 0.5f;
  const auto texture = KernelTexture::create(surface, kernels, EvaluatorOptions());
  ASSERT_TRUE(texture);
  const auto result = evaluate(*texture, appearance, quick());
  ASSERT_TRUE(result);
  ASSERT_EQ(result->channels.size(), 2u);
  EXPECT_EQ(result->channels[0].name, "base_color");
  EXPECT_NEAR(result->channels[0].psnr, -10 * std::log10(0.01 / 3), 1e-4);
  EXPECT_NEAR(result->channels[0].psnr, result->surface_psnr, 1e-9);
  EXPECT_NEAR(result->channels[0].max_error, 0.1, 1e-6);
  EXPECT_EQ(result->channels[1].name, "alpha");
  EXPECT_NEAR(result->channels[1].psnr, -20 * std::log10(0.25), 1e-4);
  EXPECT_NEAR(result->channels[1].max_error, 0.25, 1e-6);

  const auto heights =
      KernelTexture::create(surface, KernelSet(*ChannelLayout::make({{"height", 4}})), EvaluatorOptions());
  ASSERT_TRUE(heights);
  EXPECT_FALSE(evaluate(*heights, appearance, quick()));

  const KernelTexture plain = constantTexture(asset, {0.9f, 1, 1});
  const auto one = evaluate(plain, Appearance(asset, plain.surface()), quick());
  ASSERT_TRUE(one);
  ASSERT_EQ(one->channels.size(), 1u);
  EXPECT_EQ(one->channels[0].psnr, one->surface_psnr);
}

TEST(Evaluate, AConstantErrorHasItsKnownDecibels) {
  const Asset asset = testing::flatAsset(testing::cube(2), {1, 1, 1, 1});
  const KernelTexture texture = constantTexture(asset, {0.9f, 1, 1});
  const auto result = evaluate(texture, Appearance(asset, texture.surface()), quick());
  ASSERT_TRUE(result);
  const double expected = 10 * std::log10(3 / 0.01);  // one channel of three is off by 0.1
  EXPECT_NEAR(result->surface_psnr, expected, 1e-5);
  EXPECT_NEAR(result->view_mean.psnr, expected, 1e-5);
  EXPECT_NEAR(result->view_psnr_pooled, expected, 1e-5);
  EXPECT_NEAR(result->surface_max_error, 0.1, 1e-6);
  EXPECT_EQ(result->coverage_defect, 1);
}

TEST(Evaluate, WhatNobodySeesDoesNotCount) {
  // One half of the cube has the texture's colour and is seen by a quarter, the other is wrong and cut away.
  Asset asset = testing::flatAsset(testing::cube(2), {1, 1, 1, 0.25f});
  asset.materials[0].alpha_mode = AlphaMode::kBlend;
  asset.materials.push_back(asset.materials[0]);
  asset.materials[1].base_color_factor = {0, 0, 0, 0.25f};
  asset.materials[1].alpha_mode = AlphaMode::kMask;
  Primitive& seen = asset.meshes[0].primitives[0];
  Primitive cut = seen;
  cut.material = 1;
  const auto half = static_cast<std::ptrdiff_t>(seen.triangles.size() / 2);
  seen.triangles.erase(seen.triangles.begin() + half, seen.triangles.end());
  cut.triangles.erase(cut.triangles.begin(), cut.triangles.begin() + half);
  asset.meshes[0].primitives.push_back(cut);
  const KernelTexture texture = constantTexture(asset, {0.9f, 1, 1});
  EvaluationOptions options = quick();
  options.view_size = 0;
  const auto result = evaluate(texture, Appearance(asset, texture.surface()), options);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_NEAR(result->surface_psnr, 10 * std::log10(3 / 0.01), 1e-5);
  EXPECT_NEAR(result->surface_max_error, 0.1, 1e-6);
  EXPECT_NEAR(result->visible_share, 0.125, 0.01);
  ASSERT_EQ(result->materials.size(), 1u);
  EXPECT_EQ(result->materials[0].material, 0);
  EXPECT_NEAR(result->materials[0].share, 1, 1e-12);

  asset.materials[0].base_color_factor.w() = 0;
  const auto nothing = evaluate(texture, Appearance(asset, texture.surface()), options);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind, ErrorKind::kInput);
}

TEST(Evaluate, MaterialsHaveFiguresOfTheirOwn) {
  // A quarter of the faces is off by 0.1 in one channel, half by 0.2, a quarter is right.
  Asset asset = testing::flatAsset(testing::cube(2), {1, 1, 1, 1});
  const Primitive whole = asset.meshes[0].primitives[0];
  asset.meshes[0].primitives.clear();
  const auto quarter = static_cast<std::ptrdiff_t>(whole.triangles.size() / 4);
  const float values[] = {0.9f, 0.8f, 1.0f};
  const std::ptrdiff_t ends[] = {0, quarter, 3 * quarter, 4 * quarter};
  asset.materials.resize(3);
  for (std::size_t m = 0; m < 3; ++m) {
    asset.materials[m].base_color_factor = {linearFromSrgb(values[m]), 1, 1, 1};
    Primitive part = whole;
    part.triangles.assign(whole.triangles.begin() + ends[m], whole.triangles.begin() + ends[m + 1]);
    part.material = static_cast<int>(m);
    asset.meshes[0].primitives.push_back(part);
  }
  const KernelTexture texture = constantTexture(asset, {1, 1, 1});
  const auto result = evaluate(texture, Appearance(asset, texture.surface()), quick());
  ASSERT_TRUE(result);
  ASSERT_EQ(result->materials.size(), 3u);
  const double shares[] = {0.25, 0.5, 0.25};
  double squares = 0, sum = 0;
  for (std::size_t m = 0; m < 3; ++m) {
    const MaterialQuality& quality = result->materials[m];
    EXPECT_EQ(quality.material, static_cast<int>(m));
    EXPECT_NEAR(quality.share, shares[m], 0.02);
    EXPECT_EQ(quality.uncovered, 1) << "no kernel reaches any point";
    sum += quality.share;
    squares += quality.share * std::pow(10, -quality.psnr / 10);
  }
  EXPECT_NEAR(result->materials[0].psnr, 10 * std::log10(3 / 0.01), 1e-3);
  EXPECT_NEAR(result->materials[1].psnr, 10 * std::log10(3 / 0.04), 1e-3);
  EXPECT_GT(result->materials[2].psnr, 100);
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_NEAR(-10 * std::log10(squares), result->surface_psnr, 1e-6) << "the parts make up the whole";
}

TEST(Evaluate, AgreesWithASlowTwin) {
  const KernelTexture texture = testing::makeTexture(testing::bumpySphere(2, 0.2, 1), 80);
  const Asset asset = testing::flatAsset(testing::bumpySphere(2, 0.2, 1), {0.3f, 0.3f, 0.3f, 1});
  const Appearance appearance(asset, texture.surface());
  const EvaluationOptions options = quick();
  const auto result = evaluate(texture, appearance, options);
  ASSERT_TRUE(result);

  // One point at a time, on other points: the two estimates of the same quantities must agree.
  const auto points = sampleSurface(texture.surface(), 20'000, 99);
  double squares = 0, below = 0, wrong = 0;
  for (const SurfacePoint& p : points) {
    Vec3f color;
    float weight = 0;
    texture.colors({&p, 1}, {&color, 1}, {&weight, 1});
    squares += static_cast<double>((color - appearance.color(p, Filter::kPaper)).squaredNorm()) / 3;
    below += weight < 0.5f ? 1 : 0;
    wrong += weight < 0.5f && (color - appearance.color(p)).cwiseAbs().maxCoeff() > 2.0f / 255 ? 1 : 0;
  }
  const auto count = static_cast<double>(points.size());
  EXPECT_NEAR(result->surface_psnr, 10 * std::log10(count / squares), 0.2);
  EXPECT_NEAR(result->coverage_below_half, below / count, 0.02);
  EXPECT_NEAR(result->coverage_defect, wrong / count, 0.02);
  EXPECT_GT(result->coverage_below_half, 0.02);
  EXPECT_LT(result->coverage_below_half, 0.98);
  EXPECT_GT(result->query_mpoints_s, 0);

  double sum = 0;
  for (const PictureQuality& view : result->views)
    sum += view.psnr;
  EXPECT_NEAR(result->view_mean.psnr, sum / 8, 1e-12);
}

TEST(Evaluate, DoesNotDependOnThreads) {
  const KernelTexture texture = testing::makeTexture(testing::icosphere(2), 60);
  const Asset asset = testing::flatAsset(testing::icosphere(2), {0.3f, 0.5f, 0.1f, 1});
  const Appearance appearance(asset, texture.surface());
  const int before = threadCount();
  setThreadCount(1);
  const auto one = evaluate(texture, appearance, quick());
  setThreadCount(3);
  const auto three = evaluate(texture, appearance, quick());
  setThreadCount(before);
  ASSERT_TRUE(one && three);
  EXPECT_EQ(one->surface_psnr, three->surface_psnr);
  EXPECT_EQ(one->view_mean.ssim, three->view_mean.ssim);
  EXPECT_EQ(one->seam->p99, three->seam->p99);
  EXPECT_EQ(one->coverage_mean, three->coverage_mean);
}

TEST(Reference, TheSameFacesPassUnchanged) {
  const Asset asset = testing::flatAsset(testing::icosphere(1), {1, 1, 1, 1});
  const auto a = buildSurface(asset), b = buildSurface(asset);
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(sameFaces(*a, *b));
  const Appearance appearance(asset, *b);
  const auto reference = Reference::match(*a, *b, appearance, "twin");
  ASSERT_TRUE(reference);
  EXPECT_FALSE(reference->mapped());
  EXPECT_TRUE(reference->notices().empty());
}

TEST(Reference, ANoticeOfEqualCountsDoesNotContradictItself) {
  const Asset asset = testing::flatAsset(testing::cube(2), {1, 1, 1, 1});
  Asset moved = asset;
  moved.meshes[0].primitives[0].positions[0] *= 0.999;
  const auto a = buildSurface(asset), b = buildSurface(moved);
  ASSERT_TRUE(a && b);
  const Appearance appearance(moved, *b);
  const auto reference = Reference::match(*a, *b, appearance, "moved");
  ASSERT_TRUE(reference);
  ASSERT_EQ(reference->notices().size(), 1u);
  const std::string& message = reference->notices()[0].message;
  EXPECT_NE(message.find("(also 48 faces, but different ones)"), std::string::npos) << message;
  EXPECT_EQ(message.find("e-"), std::string::npos) << "no exponents: " << message;
}

// Another mesh of the same cube: colours must be found by place, not by face.
TEST(Reference, AnotherMeshIsMappedByPlace) {
  const testing::Soup coarse = testing::cube(1), fine = testing::cube(3);
  Asset painted = testing::flatAsset(fine, {1, 1, 1, 1}, 10);
  Primitive& primitive = painted.meshes[0].primitives[0];
  for (const Vec3& p : primitive.positions) {
    const Vec3 c = 0.5 * (p / 10 + Vec3::Constant(1));
    primitive.colors.emplace_back(static_cast<float>(c.x()), static_cast<float>(c.y()),
                                  static_cast<float>(c.z()), 1.0f);
  }
  const Asset plain = testing::flatAsset(coarse, {1, 1, 1, 1}, 10);
  const auto texture_surface = buildSurface(plain), reference_surface = buildSurface(painted);
  ASSERT_TRUE(texture_surface && reference_surface);
  const Appearance appearance(painted, *reference_surface);
  const auto reference = Reference::match(*texture_surface, *reference_surface, appearance, "fine");
  ASSERT_TRUE(reference);
  EXPECT_TRUE(reference->mapped());
  ASSERT_EQ(reference->notices().size(), 1u);

  const auto points = sampleSurface(*texture_surface, 500, 4);
  std::vector<Vec3f> colors(points.size());
  reference->colors(points, colors, Filter::kPaper);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Vec3 place = texture_surface->assetFromSurface()(texture_surface->position(points[i]));
    for (int c = 0; c < 3; ++c) {
      const float linear = static_cast<float>(0.5 * (place[c] / 10 + 1));
      EXPECT_NEAR(linearFromSrgb(colors[i][c]), linear, 1e-4);
    }
  }
  std::vector<SurfacePoint> there = sampleSurface(*reference_surface, 100, 5), back(100);
  reference->toTexture(there, back);
  for (std::size_t i = 0; i < there.size(); ++i) {
    EXPECT_LT((texture_surface->position(back[i]) - reference_surface->position(there[i])).norm(), 1e-6);
  }
}

TEST(Reference, AnotherObjectIsRefused) {
  const Asset sphere = testing::flatAsset(testing::icosphere(2), {1, 1, 1, 1});
  const Asset cube = testing::flatAsset(testing::cube(2), {1, 1, 1, 1});
  const Asset large = testing::flatAsset(testing::icosphere(2), {1, 1, 1, 1}, 1.1);
  const auto a = buildSurface(sphere);
  for (const Asset* other : {&cube, &large}) {
    const auto b = buildSurface(*other);
    const Appearance appearance(*other, *b);
    const auto reference = Reference::match(*a, *b, appearance, "other.glb");
    ASSERT_FALSE(reference);
    EXPECT_EQ(reference.error().kind, ErrorKind::kInput);
    EXPECT_NE(reference.error().message.find("other.glb"), std::string::npos);
  }
}

TEST(Pictures, TheWorstPlaceLooksAtThePlantedError) {
  const KernelTexture texture = testing::makeTexture(testing::icosphere(3), 10);
  const Surface& surface = texture.surface();
  const Vec3 spot = Vec3(0.5, 0.3, 0.6).normalized();
  PictureSources sources;
  sources.surface = &surface;
  sources.reference = constantColor({0.5f, 0.5f, 0.5f});
  sources.fitted = [&](std::span<const SurfacePoint> points, std::span<Vec3f> out) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool wrong = (surface.position(points[i]).normalized() - spot).norm() < 0.25;
      out[i] = wrong ? Vec3f(0.5f, 0.7f, 0.5f) : Vec3f(0.5f, 0.5f, 0.5f);
    }
  };
  const WorstPlace worst = worstPlace(sources);
  EXPECT_LT((worst.camera.target.normalized() - spot).norm(), 0.25);
  EXPECT_NEAR(worst.error_levels, 0.2 * 255, 1);
}

TEST(Pictures, AMapCarriesItsScale) {
  const KernelTexture texture = testing::makeTexture(testing::icosphere(2), 40);
  const Asset asset = testing::flatAsset(testing::icosphere(2), {1, 1, 1, 1});
  const Appearance appearance(asset, texture.surface());
  const Reference reference(texture.surface(), appearance);
  const PictureSources sources = pictureSources(texture, reference);
  const ImageF views = comparisonSheet(sources, 48), errors = errorSheet(sources, 48);
  EXPECT_EQ(views.width, errors.width);
  // Both sheets have rows of views; the map has half of them and a legend.
  EXPECT_GT(2 * errors.height, views.height);
  const ImageF legend = errorLegend(300, 32);
  bool brightest = false;
  for (std::size_t i = 0; i < legend.pixelCount(); ++i) {
    const float* p = legend.rgb.data() + 3 * i;
    brightest = brightest || (p[0] > 0.9f && p[1] > 0.9f && p[2] < 0.75f);
  }
  EXPECT_TRUE(brightest);
  EXPECT_EQ(errorLegend(1, 32).width, 160);
  EXPECT_FALSE(atlasPictures(texture, reference));
}

}  // namespace
}  // namespace heatskin
