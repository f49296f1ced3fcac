#include "heatskin/pipeline/rate_distortion.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include "heatskin/evaluation/color_comparison.h"
#include "heatskin/evaluation/evaluate.h"
#include "heatskin/metrics/psnr.h"
#include "heatskin/pipeline/compressed_stream.h"
#include "heatskin/pipeline/test_jobs.h"
#include "heatskin/pipeline/uv_textures.h"

#include "support/products.h"
#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

using testing::coloredSphere;
using testing::quietly;

/// A flat square of two triangles whose texture fills it: coordinates are 0 and 1, which 16 bits hold
/// exactly.
Asset texturedSquare(int texels) {
  Asset asset = testing::assetOf(testing::flatGrid(1, 1));
  asset.images.push_back(std::make_shared<const Image>(testing::patternImage(texels, false)));
  asset.textures.push_back({0, Wrap::kClampToEdge, Wrap::kClampToEdge});
  asset.materials.emplace_back();
  asset.materials[0].base_color.texture = 0;
  Primitive& primitive = asset.meshes[0].primitives[0];
  primitive.material = 0;
  for (std::size_t v = 0; v < primitive.positions.size(); ++v)
    primitive.uv_sets[0][v] = primitive.positions[v].head<2>().cast<float>();
  return asset;
}

RateDistortionJob smallRateJob() {
  static PreprocessingCache none;
  RateDistortionJob job;
  job.config = testing::smallConfig();
  job.budgets = {120, 60};
  job.evaluation.surface_samples = 3000;
  job.evaluation.view_size = 48;
  job.cache = &none;
  job.smallest_image = 8;
  job.max_vertex_bytes = 4000;
  return job;
}

const RateRow* find(const RateDistortion& outcome, RateKind kind, int width, int quality) {
  for (const RateRow& row : outcome.rows) {
    if (row.kind == kind && row.width == width && row.quality == quality) return &row;
  }
  return nullptr;
}

TEST(UvTextures, LosslessAtFullSizeIsTheAsset) {
  const auto asset = openAssetToFit(texturedSquare(32), Method::kLocal, quietly());
  ASSERT_TRUE(asset);
  const UvTextures textures(*asset);
  ASSERT_FALSE(textures.empty());
  EXPECT_EQ(textures.coordinates().vertices, 4u);
  EXPECT_EQ(textures.coordinates().seam_vertices, 0u);
  EXPECT_EQ(textures.coordinates().raw_bytes, 16u);
  const auto comparison =
      ColorComparison::create(*asset->surface, asset->appearance, {.surface_samples = 2000, .view_size = 0});
  ASSERT_TRUE(comparison);
  for (const ImageFormat format : {ImageFormat::kPng, ImageFormat::kWebp}) {
    const auto coded = textures.code(textures.halved(0), {format, 0});
    ASSERT_TRUE(coded);
    const auto quality = comparison->measure(appearanceColors(coded->appearance, Filter::kAuto));
    ASSERT_TRUE(quality);
    EXPECT_TRUE(std::isinf(quality->surface_psnr));
  }
  // A planted error: one texel one level off is a finite, and known, PSNR.
  std::vector<Image> planted = textures.halved(0);
  planted[0].rgba[4 * (32 * 7 + 9)] ^= 1;
  const auto coded = textures.code(planted, {});
  ASSERT_TRUE(coded);
  const auto quality = comparison->measure(appearanceColors(coded->appearance, Filter::kAuto));
  ASSERT_TRUE(quality);
  EXPECT_FALSE(std::isinf(quality->surface_psnr));
  EXPECT_GT(quality->surface_psnr, psnrFromMse(4.0 / (3 * 32 * 32 * 255 * 255)));
}

TEST(UvTextures, QuantisedCoordinatesCostWhatTheySay) {
  // A grid's inner coordinates are thirds, which 16 bits have exactly, and sevenths, which they do not.
  for (const std::uint32_t cells : {3u, 7u}) {
    Asset source = texturedSquare(32);
    source.meshes[0].primitives[0] = testing::primitiveOf(testing::flatGrid(cells, cells), 0);
    Primitive& primitive = source.meshes[0].primitives[0];
    for (std::size_t v = 0; v < primitive.positions.size(); ++v)
      primitive.uv_sets[0][v] = (primitive.positions[v].head<2>() / cells).cast<float>();
    const auto asset = openAssetToFit(std::move(source), Method::kLocal, quietly());
    ASSERT_TRUE(asset);
    const UvTextures textures(*asset);
    EXPECT_EQ(textures.coordinates().vertices, (cells + 1) * (cells + 1));
    const auto coded = textures.code(textures.halved(0), {});
    ASSERT_TRUE(coded);
    float largest = 0;
    for (std::uint32_t f = 0; f < asset->surface->faceCount(); ++f) {
      std::array<Vec2f, 3> before, after;
      ASSERT_TRUE(asset->appearance.faceUvs(f, before));
      ASSERT_TRUE(coded->appearance.faceUvs(f, after));
      for (std::size_t c = 0; c < 3; ++c)
        largest = std::max(largest, (before[c] - after[c]).cwiseAbs().maxCoeff());
    }
    EXPECT_LE(largest, 0.51f / 65535) << "half a step";
    if (cells == 7) {
      EXPECT_GT(largest, 0.0f);
    }
  }
  // A texture that repeats a thousand times keeps floats.
  Asset repeated = texturedSquare(32);
  for (Vec2f& uv : repeated.meshes[0].primitives[0].uv_sets[0])
    uv *= 1000;
  const auto asset = openAssetToFit(std::move(repeated), Method::kLocal, quietly());
  ASSERT_TRUE(asset);
  EXPECT_EQ(UvTextures(*asset).coordinates().raw_bytes, 4 * 8u);
}

TEST(UvTextures, SeamsAddVertices) {
  // Both triangles of the square with corners of their own: four of six positions, two more at the seam.
  Asset source = texturedSquare(32);
  Primitive& primitive = source.meshes[0].primitives[0];
  Primitive apart;
  apart.material = 0;
  apart.uv_sets.emplace_back();
  for (std::size_t i = 0; i < primitive.triangles.size(); ++i) {
    const std::uint32_t v = primitive.triangles[i];
    apart.positions.push_back(primitive.positions[v]);
    const Vec2f shift(i < 3 ? 0.0f : 0.125f, 0.0f);
    apart.uv_sets[0].push_back(0.5f * primitive.uv_sets[0][v] + shift);
    apart.triangles.push_back(static_cast<std::uint32_t>(i));
  }
  primitive = apart;
  const auto asset = openAssetToFit(std::move(source), Method::kLocal, quietly());
  ASSERT_TRUE(asset);
  const UvCost cost = UvTextures(*asset).coordinates();
  EXPECT_EQ(cost.vertices, 6u);
  EXPECT_EQ(cost.seam_vertices, 2u);
}

TEST(CompressedStream, IsSmallForSmoothDataAndNotForNoise) {
  std::vector<std::uint8_t> smooth, noise;
  std::uint32_t state = 1;
  for (int i = 0; i < 40'000; ++i) {
    smooth.push_back(static_cast<std::uint8_t>(i / 400));
    state = state * 1664525u + 1013904223u;
    noise.push_back(static_cast<std::uint8_t>(state >> 24));
  }
  EXPECT_LT(compressedStreamBytes(smooth, 4), 2000u);
  EXPECT_GT(compressedStreamBytes(noise, 4), 39'000u);
  EXPECT_EQ(compressedStreamBytes({}, 4), 0u);
}

TEST(ColorComparison, AgreesWithTheEvaluation) {
  const auto asset = openAssetToFit(coloredSphere(), Method::kLocal, quietly());
  ASSERT_TRUE(asset);
  FitJob job = testing::smallJob();
  job.evaluation.flip = true;
  const auto fitted = fitProduct(*asset, job);
  ASSERT_TRUE(fitted);
  ASSERT_TRUE(fitted->evaluation);
  const auto comparison = ColorComparison::create(*asset->surface, asset->appearance, job.evaluation);
  ASSERT_TRUE(comparison);
  const auto quality = comparison->measure([&](std::span<const SurfacePoint> points, std::span<Vec3f> out) {
    fitted->stored->texture.colors(points, out);
  });
  ASSERT_TRUE(quality);
  EXPECT_NEAR(quality->surface_psnr, fitted->evaluation->surface_psnr_filtered, 1e-6);
  EXPECT_NEAR(quality->views.psnr, fitted->evaluation->view_mean.psnr, 1e-6);
  EXPECT_NEAR(quality->views.ssim, fitted->evaluation->view_mean.ssim, 1e-9);
  EXPECT_NEAR(*quality->views.flip, *fitted->evaluation->view_mean.flip, 1e-9);
  EXPECT_EQ(quality->views.pixels, fitted->evaluation->view_mean.pixels);
}

TEST(RateDistortion, MeasuresEveryKind) {
  const auto asset = openAssetToFit(texturedSquare(32), Method::kLocal, quietly());
  ASSERT_TRUE(asset);
  RateDistortionJob job = smallRateJob();
  const auto outcome = measureRateDistortion(*asset, job);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->images_missing.empty());
  EXPECT_TRUE(outcome->left_out.empty());
  EXPECT_EQ(outcome->images, 1u);
  // In order of budget, whatever order was given.
  ASSERT_GE(outcome->rows.size(), 2u);
  EXPECT_EQ(outcome->rows[0].budget, 60u);
  EXPECT_EQ(outcome->rows[1].budget, 120u);
  EXPECT_LT(outcome->rows[0].bytes, outcome->rows[1].bytes);
  // 32, 16 and 8 texels, in eleven codings.
  EXPECT_EQ(std::count_if(outcome->rows.begin(), outcome->rows.end(),
                          [](const RateRow& row) { return isImage(row.kind); }),
            3 * 11);
  const RateRow* exact = find(*outcome, RateKind::kPng, 32, 0);
  ASSERT_NE(exact, nullptr);
  EXPECT_TRUE(std::isinf(exact->surface_psnr));
  EXPECT_EQ(exact->view_flip, 0);
  EXPECT_EQ(exact->view_ssim, 1);
  const RateRow *webp = find(*outcome, RateKind::kWebp, 32, 0),
                *jpeg = find(*outcome, RateKind::kJpeg, 32, 25),
                *half = find(*outcome, RateKind::kPng, 16, 0);
  ASSERT_TRUE(webp != nullptr && jpeg != nullptr && half != nullptr);
  EXPECT_TRUE(std::isinf(webp->surface_psnr));
  EXPECT_LT(jpeg->surface_psnr, 40);
  EXPECT_LT(half->surface_psnr, 40);
  EXPECT_GT(half->bytes, outcome->coordinates.bytes);
  EXPECT_EQ(half->raw_bytes - half->bytes, outcome->coordinates.raw_bytes - outcome->coordinates.bytes);

  // 4 vertices, then 9, 25, 81, 289, 1,089; the next would take more than 4,000 bytes.
  std::vector<std::size_t> vertices;
  double before = 0;
  for (const RateRow& row : outcome->rows) {
    if (row.kind != RateKind::kVertexColors) continue;
    vertices.push_back(row.vertices);
    EXPECT_EQ(row.raw_bytes, 3 * row.vertices);
    EXPECT_LE(row.bytes, row.raw_bytes);
    EXPECT_GE(row.surface_psnr, before);
    before = row.surface_psnr;
  }
  EXPECT_EQ(vertices, (std::vector<std::size_t>{4, 9, 25, 81, 289, 1089}));

  // The best image within its own bytes is not beaten by a smaller one.
  const RateRow* best = outcome->bestWithin(1e9, isImage);
  ASSERT_NE(best, nullptr);
  EXPECT_TRUE(std::isinf(best->surface_psnr));
  EXPECT_EQ(best->bytes, std::min(exact->bytes, webp->bytes));
  EXPECT_EQ(outcome->bestWithin(1, isImage), nullptr);
  EXPECT_EQ(outcome->imageCurve().points().back().psnr, kPerfectPsnr);
}

TEST(RateDistortion, IsTheSameOnceMore) {
  const auto asset = openAssetToFit(texturedSquare(16), Method::kLocal, quietly());
  ASSERT_TRUE(asset);
  RateDistortionJob job = smallRateJob();
  job.budgets = {60};
  job.jpeg_qualities = job.webp_qualities = {50};
  job.max_vertex_bytes = 300;
  job.picture_size = 24;
  const auto first = measureRateDistortion(*asset, job), second = measureRateDistortion(*asset, job);
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  ASSERT_EQ(first->rows.size(), second->rows.size());
  for (std::size_t i = 0; i < first->rows.size(); ++i) {
    EXPECT_EQ(first->rows[i].bytes, second->rows[i].bytes);
    EXPECT_EQ(first->rows[i].surface_psnr, second->rows[i].surface_psnr);
    EXPECT_EQ(first->rows[i].view_flip, second->rows[i].view_flip);
    ASSERT_EQ(first->rows[i].pictures.size(), 2u);
    EXPECT_EQ(first->rows[i].pictures[1].rgb, second->rows[i].pictures[1].rgb);
  }
  ASSERT_EQ(first->reference.size(), 2u);
}

TEST(RateDistortion, WithoutTexturesSaysSo) {
  const auto asset = openAssetToFit(coloredSphere(), Method::kLocal, quietly());
  ASSERT_TRUE(asset);
  RateDistortionJob job = smallRateJob();
  job.budgets = {60};
  const auto outcome = measureRateDistortion(*asset, job);
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->images_missing.empty());
  EXPECT_TRUE(outcome->imageCurve().empty());
  // The asset's own colours, rounded to 8 bits: no more than half a level off.
  const RateRow* own =
      outcome->bestWithin(1e9, [](RateKind kind) { return kind == RateKind::kVertexColors; });
  ASSERT_NE(own, nullptr);
  EXPECT_GT(own->surface_psnr, psnrFromMse(0.25 / (255.0 * 255)));

  job.max_vertex_bytes = 10;
  const auto without = measureRateDistortion(*asset, job);
  ASSERT_TRUE(without);
  EXPECT_TRUE(without->vertexColorCurve().empty());
  EXPECT_FALSE(without->vertex_colors_missing.empty());
}

TEST(RateDistortion, LeavesOutWhatWouldTakeTooLong) {
  const auto asset = openAssetToFit(coloredSphere(), Method::kLocal, quietly());
  ASSERT_TRUE(asset);
  RateDistortionJob job = smallRateJob();
  job.max_vertex_bytes = 10;
  job.max_seconds = 1e-9;
  const auto outcome = measureRateDistortion(*asset, job);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->left_out, std::vector<std::size_t>{120});
  EXPECT_EQ(outcome->kernelCurve().points().size(), 1u) << "the smallest is always tried";
}

TEST(RateDistortion, StopsWhenCancelled) {
  class Stop : public Progress {
   public:
    void begin(std::string_view, std::size_t) override {}
    void update(std::size_t, std::string_view) override {}
    void end() override {}
    bool cancelled() const override { return true; }
  } stop;
  const auto asset = openAssetToFit(coloredSphere(), Method::kLocal, quietly());
  ASSERT_TRUE(asset);
  RateDistortionJob job = smallRateJob();
  job.progress = &stop;
  const auto outcome = measureRateDistortion(*asset, job);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, "cancelled");
}

}  // namespace
}  // namespace heatskin
