#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/files.h"
#include "heatskin/base/result.h"
#include "heatskin/evaluators/method_traits.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/pipeline/evaluate_product.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/pipeline/test_jobs.h"
#include "heatskin/product/product_writer.h"

#include "support/temporary_folder.h"

namespace heatskin {
namespace {

using testing::coloredSphere;
using testing::quietly;
using testing::smallJob;
using testing::TemporaryFolder;

/// Wants to stop after so many updates of the phase "fitting".
class StopsAfter : public Progress {
 public:
  explicit StopsAfter(int updates) : left_(updates) {}
  void begin(std::string_view phase, std::size_t) override { fitting_ = phase == "fitting"; }
  void update(std::size_t, std::string_view) override { left_ -= fitting_ ? 1 : 0; }
  void end() override {}
  bool cancelled() const override { return left_ <= 0; }

 private:
  int left_;
  bool fitting_ = false;
};

std::vector<std::uint8_t> fileBytes(const std::filesystem::path& path) {
  auto bytes = readFile(path);
  EXPECT_TRUE(bytes) << bytes.error().message;
  return bytes ? std::move(*bytes) : std::vector<std::uint8_t>();
}

class FitProductMethod : public ::testing::TestWithParam<Method> {};

/// Evaluators for the figures of a product that was read back: supports are those of its charts then.
std::size_t ofCharts(Method method) {
  return method == Method::kLocal ? 1 : 0;
}

// What a fit prepares it prepares once, from the file to the figures of the product that was read back.
TEST_P(FitProductMethod, BuildsOneSurfaceAndOneEvaluator) {
  const TemporaryFolder folder;
  const std::size_t surfaces = surfacesBuilt(), evaluators = evaluatorsMade();
  const auto asset = openAssetToFit(coloredSphere(), GetParam(), quietly());
  ASSERT_TRUE(asset) << asset.error().message;
  FitJob job = smallJob(GetParam());
  job.output = folder / "out.glb";
  job.resolved = folder / "out.toml";
  job.control.checkpoint = folder / "out.checkpoint";
  const auto outcome = fitProduct(*asset, job);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_TRUE(outcome->evaluation);
  EXPECT_EQ(surfacesBuilt() - surfaces, 1u);
  EXPECT_EQ(evaluatorsMade() - evaluators, 1 + ofCharts(GetParam()));
  EXPECT_EQ(folder.names(), (std::set<std::string>{"out.glb", "out.toml"}));
  EXPECT_EQ(fileBytes(job.output), outcome->bytes);
  EXPECT_EQ(folder.read("out.toml"), configToml(outcome->config));

  // The figures are those of the file, and the texture is the one a stranger finds in it: to the bit, or,
  // where he follows charts instead of searching, to the last digits of single precision.
  const auto opened = openProduct(job.output, quietly());
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(surfacesBuilt() - surfaces, 2u);
  EXPECT_EQ(evaluatorsMade() - evaluators, 2 + ofCharts(GetParam()));
  const auto figures = evaluateProduct(*opened, *asset, job.evaluation);
  ASSERT_TRUE(figures) << figures.error().message;
  const double digits = GetParam() == Method::kLocal ? 1e-4 : 0;
  EXPECT_NEAR(figures->surface_psnr, outcome->evaluation->surface_psnr, digits);
  EXPECT_NEAR(figures->view_mean.psnr, outcome->evaluation->view_mean.psnr, digits);
  EXPECT_NEAR(figures->coverage_mean, outcome->evaluation->coverage_mean, digits);
  ASSERT_TRUE(figures->seam && outcome->evaluation->seam);
  EXPECT_NEAR(figures->seam->maximum, outcome->evaluation->seam->maximum, 100 * digits);
  EXPECT_GT(figures->surface_psnr, 10);
  EXPECT_LT(std::abs(outcome->quantisation_loss_db), 1);
}

// An asset at positions that no file holds: the product has a surface and an evaluator of its own, and
// figures are still those of the file.
TEST_P(FitProductMethod, OtherGeometryHasASurfaceOfItsOwn) {
  const std::size_t surfaces = surfacesBuilt(), evaluators = evaluatorsMade();
  const auto asset = openAsset(coloredSphere(), quietly());
  ASSERT_TRUE(asset) << asset.error().message;
  const FitJob job = smallJob(GetParam());
  const auto outcome = fitProduct(*asset, job);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(surfacesBuilt() - surfaces, 2u);
  EXPECT_EQ(evaluatorsMade() - evaluators, 2 + ofCharts(GetParam()));
  auto read = readGltfBytes(outcome->bytes, "memory.glb");
  ASSERT_TRUE(read) << read.error().message;
  const auto opened = openProduct(std::move(*read), quietly());
  ASSERT_TRUE(opened) << opened.error().message;
  const auto figures = evaluateProduct(*opened, *asset, job.evaluation);
  ASSERT_TRUE(figures) << figures.error().message;
  EXPECT_NEAR(figures->surface_psnr, outcome->evaluation->surface_psnr,
              GetParam() == Method::kLocal ? 1e-4 : 0);
}

TEST_P(FitProductMethod, CancelledFitResumesToTheSameBytes) {
  const TemporaryFolder folder;
  const auto asset = openAssetToFit(coloredSphere(), GetParam(), quietly());
  ASSERT_TRUE(asset) << asset.error().message;
  FitJob job = smallJob(GetParam());
  job.evaluate = false;
  const auto whole = fitProduct(*asset, job);
  ASSERT_TRUE(whole) << whole.error().message;

  StopsAfter stops(7);
  job.output = folder / "out.glb";
  job.control.checkpoint = folder / "out.checkpoint";
  job.control.progress = &stops;
  const auto cancelled = fitProduct(*asset, job);
  ASSERT_TRUE(cancelled) << cancelled.error().message;
  EXPECT_FALSE(cancelled->fit.complete);
  EXPECT_FALSE(cancelled->stored);
  EXPECT_EQ(folder.names(), std::set<std::string>{"out.checkpoint"});

  job.control.progress = nullptr;
  job.control.resume = Resume::kMustBeThere;
  const auto resumed = fitProduct(*asset, job);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_GT(resumed->fit.resumed_at, 0);
  EXPECT_EQ(resumed->bytes, whole->bytes);
  EXPECT_EQ(folder.names(), std::set<std::string>{"out.glb"});
}

INSTANTIATE_TEST_SUITE_P(Methods, FitProductMethod, ::testing::ValuesIn(kMethods),
                         [](const auto& tested) { return std::string(methodName(tested.param)); });

// All steps are done when the wish to stop comes: there is a product, without figures.
TEST(FitProduct, CancelledAfterTheLastStepStillMakesAProduct) {
  const auto asset = openAssetToFit(coloredSphere(), Method::kLocal, quietly());
  ASSERT_TRUE(asset) << asset.error().message;
  FitJob job = smallJob();
  StopsAfter stops(job.config.train.steps);
  job.control.progress = &stops;
  const auto outcome = fitProduct(*asset, job);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->fit.complete);
  EXPECT_TRUE(outcome->stored);
  EXPECT_FALSE(outcome->evaluation);
}

TEST(FitProduct, AFitHasAsManyBitsAsItsQualityNeeds) {
  // Colours that 60 kernels show, and others at every vertex, which they cannot.
  Asset noisy = coloredSphere(3);
  std::uint32_t noise = 1;
  for (Vec4f& color : noisy.meshes[0].primitives[0].colors) {
    for (Eigen::Index c = 0; c < 3; ++c) {
      noise = noise * 1664525u + 1013904223u;
      color[c] = static_cast<float>(noise >> 31);
    }
  }
  FitJob job = smallJob();
  job.evaluation.surface_samples = 20'000;
  std::vector<int> coarser;
  for (const Asset& asset : {coloredSphere(3), noisy}) {
    const auto opened = openAssetToFit(asset, Method::kLocal, quietly());
    ASSERT_TRUE(opened) << opened.error().message;
    const auto outcome = fitProduct(*opened, job);
    ASSERT_TRUE(outcome) << outcome.error().message;
    coarser.push_back(outcome->stored->product.rounding.coarser);
    // Twice what is allowed at the points that decide: these are others.
    if (coarser.back() > 0) {
      EXPECT_LT(outcome->quantisation_loss_db, 0.03);
    }
  }
  EXPECT_LT(coarser[0], coarser[1]);
}

TEST(FitProduct, RefusalsHaveCodes) {
  const TemporaryFolder folder;
  FitJob job = smallJob();
  job.evaluate = false;
  job.output = folder / "out.glb";

  const auto plain = openAssetToFit(testing::assetOf(testing::bumpySphere(1, 0.2, 1)), Method::kLocal);
  ASSERT_TRUE(plain);
  const auto nothing = fitProduct(*plain, job);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, error_code::kNothingToFit);
  EXPECT_EQ(nothing.error().kind, ErrorKind::kInput);

  const auto asset = openAssetToFit(coloredSphere(), Method::kLocal);
  ASSERT_TRUE(asset);
  job.control.checkpoint = folder / "missing";
  job.control.resume = Resume::kMustBeThere;
  const auto missing = fitProduct(*asset, job);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, error_code::kNoCheckpoint);
  job.control.resume = Resume::kNo;

  job.guard = [](const std::function<Result<void>()>&) -> Result<void> { return failure("no room"); };
  job.control.checkpoint_interval_s = 0;
  const auto unsaved = fitProduct(*asset, job);
  ASSERT_FALSE(unsaved);
  EXPECT_EQ(unsaved.error().code, error_code::kNotSaved);
  EXPECT_EQ(folder.names(), std::set<std::string>{"missing"}) << "the state outlives the product";
  job.guard = {};

  ASSERT_TRUE(fitProduct(*asset, job));
  const auto again = fitProduct(std::filesystem::path(job.output), job);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, error_code::kAlreadyFitted);
  EXPECT_TRUE(again.error().message.starts_with(displayPath(job.output)));
}

/// So many spheres beside each other.
Asset manyParts(int count) {
  Asset asset = coloredSphere(0);
  const Instance first = asset.instances[0];
  for (int i = 1; i < count; ++i) {
    Instance next = first;
    next.asset_from_mesh.translate(Vec3(3.0 * i, 0, 0));
    asset.instances.push_back(next);
  }
  return asset;
}

TEST(FitProduct, ABudgetTooSmallToCoverIsRaisedOrTold) {
  const auto asset = openAssetToFit(manyParts(40), Method::kLocal);
  ASSERT_TRUE(asset) << asset.error().message;
  FitJob job = smallJob();
  job.evaluate = false;
  job.config.train.density.cover_spare = 1;
  setKernelBudget(job.config, 20);
  std::vector<Notice> heard;
  job.control.notify = [&](const Notice& notice) { heard.push_back(notice); };
  for (const bool keep : {true, false}) {
    heard.clear();
    job.keep_budget = keep;
    const auto outcome = fitProduct(*asset, job);
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_EQ(heard.size(), 1u);
    EXPECT_EQ(heard[0].code, keep ? "few_kernels" : "budget_raised");
    EXPECT_EQ(outcome->notices.size(), 1u);
    // One for every part, and half as many again.
    EXPECT_GE(outcome->config.train.density.max_kernels, keep ? 20u : 60u);
    EXPECT_EQ(outcome->config.train.density.max_kernels == 20, keep);
  }
}

// What is read back is compared with what was written, so figures cannot be those of something else.
TEST(FitProduct, ADifferenceBetweenWrittenAndReadIsNoticed) {
  const auto asset = openAssetToFit(coloredSphere(), Method::kLocal);
  ASSERT_TRUE(asset);
  const FitJob job = smallJob();
  const EvaluatorOptions options = job.config.evaluator.options();
  const auto writer = ProductWriter::create(asset->asset, asset->surface, true,
                                            testing::randomKernels(*asset->surface, 50), options, {});
  ASSERT_TRUE(writer) << writer.error().message;
  EXPECT_EQ(writer->surface(), asset->surface);
  const auto texture =
      KernelTexture::create(writer->surface(), writer->kernels(), options, {}, writer->constants());
  ASSERT_TRUE(texture);
  const auto bytes = writer->finish(*texture);
  ASSERT_TRUE(bytes);
  const auto read = readGltfBytes(*bytes, "x.glb");
  ASSERT_TRUE(read);
  EXPECT_TRUE(writer->readBack(*read));

  Asset other_kernels = *read;
  other_kernels.raw_extensions[0].views[0].bytes[16] ^= 1;  // a colour
  EXPECT_FALSE(writer->readBack(other_kernels));
  Asset moved = *read;
  moved.meshes[0].primitives[0].positions[3].x() += 1e-3;
  EXPECT_FALSE(writer->readBack(moved));
  Asset turned = *read;
  turned.instances[0].asset_from_mesh.translate(Vec3(1e-3, 0, 0));
  EXPECT_FALSE(writer->readBack(turned));
}

}  // namespace
}  // namespace heatskin
