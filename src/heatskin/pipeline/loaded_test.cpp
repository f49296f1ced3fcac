#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/files.h"
#include "heatskin/base/result.h"
#include "heatskin/io/glb_writer.h"
#include "heatskin/pipeline/loaded_file.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/pipeline/test_jobs.h"
#include "heatskin/surface/sampling.h"

#include "support/temporary_folder.h"

namespace heatskin {
namespace {

using testing::coloredSphere;
using testing::quietly;
using testing::TemporaryFolder;

TEST(Loaded, EitherKindOfFile) {
  const TemporaryFolder folder;
  const auto glb = encodeGlb(coloredSphere());
  ASSERT_TRUE(glb);
  ASSERT_TRUE(writeFileAtomically(folder / "asset.glb", *glb));
  FitJob job = testing::smallJob();
  job.evaluate = false;
  job.output = folder / "product.glb";
  const auto outcome = fitProduct(std::filesystem::path(folder / "asset.glb"), job);
  ASSERT_TRUE(outcome) << outcome.error().message;

  const auto asset = openFile(folder / "asset.glb", quietly());
  ASSERT_TRUE(asset) << asset.error().message;
  ASSERT_TRUE(asset->plain && !asset->fitted);
  const auto product = openFile(folder / "product.glb", quietly());
  ASSERT_TRUE(product) << product.error().message;
  ASSERT_TRUE(product->fitted && !product->plain);
  ASSERT_EQ(asset->surface().faceCount(), product->surface().faceCount());

  // Each is asked for its own colours.
  const auto points = sampleSurface(asset->surface(), 200, 1);
  std::vector<Vec3f> seen(points.size()), expected(points.size());
  asset->colors(Filter::kAuto)(points, seen);
  asset->plain->appearance.colors(points, expected);
  EXPECT_EQ(seen, expected);
  product->colors(Filter::kAuto)(points, seen);
  outcome->stored->texture.colors(points, expected);
  // The file's charts are followed in single precision: a thousandth of an 8-bit level.
  for (std::size_t i = 0; i < points.size(); ++i)
    EXPECT_LT((seen[i] - expected[i]).cwiseAbs().maxCoeff(), 1e-3f / 255) << i;
  EXPECT_TRUE(asset->transparency(Filter::kAuto).opaque());
  EXPECT_TRUE(product->transparency(Filter::kAuto).opaque());
}

TEST(Loaded, AFileWithoutKernelsIsNoProduct) {
  const TemporaryFolder folder;
  const auto glb = encodeGlb(coloredSphere(0));
  ASSERT_TRUE(glb);
  ASSERT_TRUE(writeFileAtomically(folder / "asset.glb", *glb));
  const auto product = openProduct(folder / "asset.glb");
  ASSERT_FALSE(product);
  EXPECT_EQ(product.error().code, error_code::kNoKernels);
  EXPECT_NE(product.error().message.find("asset.glb"), std::string::npos);
}

// Operators of thermal and spectral follow the principal directions, which a product of local does without.
TEST(Loaded, AnotherMethodGetsTheSurfaceItNeeds) {
  const auto asset = openAssetToFit(coloredSphere(), Method::kLocal);
  ASSERT_TRUE(asset);
  EXPECT_TRUE(asset->surface->principalDirections().empty());
  FitJob job = testing::smallJob();
  job.evaluate = false;
  const TemporaryFolder folder;
  job.output = folder / "local.glb";
  ASSERT_TRUE(fitProduct(*asset, job));
  OpenOptions options = quietly();
  const auto same = openProduct(job.output, options);
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->texture.surface().principalDirections().empty());
  options.method = Method::kSpectral;
  const auto other = openProduct(job.output, options);
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(methodOf(other->texture.options()), Method::kSpectral);
  EXPECT_EQ(other->texture.surface().principalDirections().size(), other->texture.surface().vertexCount());
}

}  // namespace
}  // namespace heatskin
