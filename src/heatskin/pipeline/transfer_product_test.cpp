#include "heatskin/pipeline/transfer_product.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/glb_writer.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/pipeline/edit_patch.h"
#include "heatskin/pipeline/edit_product.h"
#include "heatskin/pipeline/lod_product.h"
#include "heatskin/pipeline/test_jobs.h"
#include "heatskin/product/levels.h"
#include "heatskin/surface/sampling.h"

namespace heatskin::testing {
namespace {

/// A fitted sphere; made once.
const LoadedProduct& sphereProduct() {
  static const LoadedProduct product = [] {
    FitJob job = smallJob();
    job.config.train.steps = 60;
    setKernelBudget(job.config, 200);
    job.evaluate = false;
    const auto asset = openAssetToFit(coloredSphere(3), Method::kLocal, quietly());
    auto outcome = fitProduct(*asset, job);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return std::move(*outcome->stored);
  }();
  return product;
}

Asset bare(const Soup& soup) {
  Asset asset = assetOf(soup);
  asset.meshes[0].primitives[0].uv_sets.clear();
  return asset;
}

TransferOptions quickTransfer() {
  TransferOptions options;
  options.samples = 4000;
  options.refit_options = {30, 0.5};
  options.open = quietly();
  return options;
}

EditOptions quickEdit() {
  EditOptions options;
  options.samples = 4000;
  options.refit = {40, 0.8};
  options.open = quietly();
  return options;
}

TEST(TransferProduct, TheSameTrianglesKeepTheKernels) {
  TransferOptions options = quickTransfer();
  options.refit = false;
  const auto outcome = transferProduct(sphereProduct(), bare(bumpySphere(3, 0.2, 1)), options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->kernels_kept, sphereProduct().product.kernels.size());
  EXPECT_EQ(outcome->kernels_changed, 0u);
  EXPECT_EQ(outcome->unmatched_area, 0);
  EXPECT_GT(outcome->surface_psnr_source, 45);
}

TEST(TransferProduct, AnotherTessellationHasTheSameLook) {
  // Both spheres follow one bumpy shape; the finer one has four times the triangles.
  TransferOptions options = quickTransfer();
  options.refit = false;
  const auto plain = transferProduct(sphereProduct(), bare(bumpySphere(2, 0.2, 1)), options);
  ASSERT_TRUE(plain) << plain.error().message;
  const auto refitted = transferProduct(sphereProduct(), bare(bumpySphere(2, 0.2, 1)), quickTransfer());
  ASSERT_TRUE(refitted) << refitted.error().message;
  EXPECT_GT(refitted->surface_psnr_source, 30);
  EXPECT_GE(refitted->surface_psnr_source, plain->surface_psnr_source);
  EXPECT_GT(refitted->kernels_changed, 0u);
  EXPECT_EQ(refitted->kernels_changed + refitted->kernels_kept, refitted->stored->product.kernels.size());
  auto read = readGltfBytes(refitted->bytes, "t.glb");
  ASSERT_TRUE(read);
  EXPECT_TRUE(isProduct(*read));
}

TEST(TransferProduct, PartsWithoutACounterpartAreReportedAndFilled) {
  Soup soup = bumpySphere(3, 0.2, 1);
  const Soup ball = icosphere(1);
  const auto first = static_cast<std::uint32_t>(soup.positions.size());
  for (const Vec3& p : ball.positions)
    soup.positions.push_back(0.2 * p + Vec3(0, 0, 2));
  for (const auto& f : ball.faces)
    soup.faces.push_back({f[0] + first, f[1] + first, f[2] + first});
  const auto outcome = transferProduct(sphereProduct(), bare(soup), quickTransfer());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_GT(outcome->unmatched_area, 0.005);
  EXPECT_LT(outcome->unmatched_area, 0.2);
  EXPECT_GT(outcome->kernels_added, 0u);
  EXPECT_TRUE(std::any_of(outcome->notices.begin(), outcome->notices.end(),
                          [](const Notice& n) { return n.code == "unmatched_area"; }));
  EXPECT_GT(outcome->surface_psnr_source, 40) << "what has a counterpart is as it was";
}

TEST(TransferProduct, RefusesWhatHasNothingInCommon) {
  Soup sheet = flatGrid(6, 6);
  for (Vec3& p : sheet.positions)
    p = 0.3 * p + Vec3(50, 0, 0);
  const auto outcome = transferProduct(sphereProduct(), bare(sheet), quickTransfer());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kInput);
  EXPECT_NE(outcome.error().message.find("nothing in common"), std::string::npos);
}

TEST(TransferProduct, RefusesAMeshWithoutArea) {
  Asset flat = bare(flatGrid(1, 1));
  for (Vec3& p : flat.meshes[0].primitives[0].positions)
    p.setZero();
  const auto outcome = transferProduct(sphereProduct(), std::move(flat), quickTransfer());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kInput);
}

TEST(TransferLook, FromVertexColorsToKernelsOnAnotherMesh) {
  const auto source = openAsset(coloredSphere(3), quietly());
  ASSERT_TRUE(source);
  FitConfig config = smallConfig();
  config.train.steps = 60;
  setKernelBudget(config, 150);
  const auto layout = fitChannels(*source);
  ASSERT_TRUE(layout);
  const auto outcome = transferLook(*source, bare(bumpySphere(2, 0.2, 1)), config, *layout, quickTransfer());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_GT(outcome->surface_psnr_source, 30);
  EXPECT_EQ(outcome->kernels_changed, outcome->stored->product.kernels.size());
}

TEST(TransferLook, RefusesASourceOfOneColor) {
  const auto source = openAsset(bare(icosphere(2)), quietly());
  ASSERT_TRUE(source);
  const auto outcome = transferLook(*source, bare(icosphere(1)), smallConfig(), {}, quickTransfer());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, error_code::kNothingToFit);
}

TEST(LodProduct, LevelsHaveFewerTrianglesAndKernels) {
  LodOptions options;
  options.levels = 3;
  options.face_ratio = 0.4;
  options.merge_from = 2;
  options.samples = 4000;
  options.open = quietly();
  const auto outcome = lodProduct(sphereProduct(), options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_EQ(outcome->levels.size(), 3u);
  const auto& levels = outcome->levels;
  EXPECT_EQ(levels[0].bytes, *sphereProduct().product.asset.file);
  EXPECT_EQ(levels[1].kernels, levels[0].kernels) << "the same kernels on near levels";
  EXPECT_NEAR(static_cast<double>(levels[2].kernels), 0.5 * static_cast<double>(levels[0].kernels), 2);
  for (std::size_t l = 1; l < 3; ++l) {
    EXPECT_LT(levels[l].triangles, levels[l - 1].triangles * 6 / 10);
    EXPECT_GT(levels[l].pixels, levels[l - 1].pixels);
    EXPECT_GT(levels[l].switch_distance, 0);
    EXPECT_GT(levels[l].surface_psnr_source, 25);
    auto read = readGltfBytes(levels[l].bytes, "level.glb");
    ASSERT_TRUE(read);
    EXPECT_TRUE(openProduct(std::move(*read), quietly()));
  }
  const auto joined = joinLevels(*outcome);
  ASSERT_TRUE(joined) << joined.error().message;
  auto read = readGltfBytes(*joined, "joined.glb");
  ASSERT_TRUE(read) << read.error().message;
  const auto product = openProduct(std::move(*read), quietly());
  ASSERT_TRUE(product) << product.error().message;
  EXPECT_EQ(product->product.kernels.size(), levels[0].kernels);
  EXPECT_EQ(product->product.surface->faceCount(), levels[0].triangles)
      << "only the first level is in the scene";
  const std::string text(joined->begin(), joined->end());
  EXPECT_NE(text.find("MSFT_lod"), std::string::npos);

  // Every level is the separate file's, to the bit.
  for (std::size_t l = 1; l < 3; ++l) {
    auto file = readGltfBytes(*joined, "joined.glb");
    ASSERT_TRUE(file);
    EXPECT_EQ(*levelCount(*file), 3u);
    OpenOptions chosen = quietly();
    chosen.level = l;
    const auto level = openProduct(std::move(*file), chosen);
    ASSERT_TRUE(level) << level.error().message;
    EXPECT_EQ(level->product.surface->faceCount(), levels[l].triangles);
    const LoadedProduct& separate = *levels[l].stored;
    EXPECT_EQ(level->product.kernels.channels.values, separate.product.kernels.channels.values);
    EXPECT_GT(level->product.chart_bytes, 0u);
    const std::vector<SurfacePoint> points = sampleSurface(*separate.product.surface, 500, 2);
    std::vector<Vec3f> a(points.size()), b(points.size());
    level->texture.colors(points, a);
    separate.texture.colors(points, b);
    for (std::size_t i = 0; i < points.size(); ++i)
      EXPECT_LT((a[i] - b[i]).cwiseAbs().maxCoeff(), 1e-3f / 255);
  }
  OpenOptions none = quietly();
  none.level = 3;
  const auto missing = openProduct(*readGltfBytes(*joined, "joined.glb"), none);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kUsage);
  const auto plain = openProduct(*readGltfBytes(levels[1].bytes, "level.glb"), none);
  ASSERT_FALSE(plain);
  EXPECT_NE(plain.error().message.find("no levels"), std::string::npos);
}

/// The kernel of `before` on the same triangle with all its numbers, up to the frame of the face.
std::size_t identical(const KernelSet& a, const KernelSet& b) {
  std::size_t same = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      if (a.anisotropies[i] == b.anisotropies[j] && a.thresholds[i] == b.thresholds[j] &&
          a.sharpnesses[i] == b.sharpnesses[j] && a.lengths[i] == b.lengths[j] &&
          a.channels[i] == b.channels[j] && a.positions[i].face == b.positions[j].face &&
          a.positions[i].barycentric == b.positions[j].barycentric) {
        ++same;
        break;
      }
    }
  }
  return same;
}

TEST(EditMesh, KeepsKernelsOutOfReachToTheBit) {
  // A vertex near the middle moves; the longest side stays.
  Soup soup = bumpySphere(3, 0.2, 1);
  std::size_t vertex = 0;
  for (std::size_t v = 0; v < soup.positions.size(); ++v) {
    const auto middle = [&](std::size_t n) {
      const Vec3 p = soup.positions[n];
      return std::abs(p.x() - p.y()) + std::abs(p.y() - p.z());
    };
    if (soup.positions[v].sum() > 0 && middle(v) < middle(vertex)) vertex = v;
  }
  soup.positions[vertex] *= 0.97;
  Asset changed = bare(soup);
  const auto outcome = editMesh(sphereProduct(), std::move(changed), quickEdit());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_GT(outcome->changed_triangles, 0u);
  EXPECT_LT(outcome->changed_area, 0.05);
  EXPECT_FALSE(outcome->look_of_mesh);
  EXPECT_GT(outcome->kernels_changed, 0u);
  EXPECT_GT(outcome->kernels_kept, outcome->kernels_changed);
  EXPECT_GE(identical(outcome->stored->product.kernels, sphereProduct().product.kernels),
            outcome->kernels_kept);
  EXPECT_GT(outcome->surface_psnr, 35);
}

TEST(EditMesh, NothingChangedKeepsEverything) {
  const auto outcome = editMesh(sphereProduct(), bare(bumpySphere(3, 0.2, 1)), quickEdit());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->kernels_changed, 0u);
  EXPECT_EQ(outcome->kernels_kept, sphereProduct().product.kernels.size());
  EXPECT_EQ(identical(outcome->stored->product.kernels, sphereProduct().product.kernels),
            outcome->kernels_kept);
}

TEST(EditMesh, RefusesAMeshWithoutACommonTriangle) {
  const auto outcome = editMesh(sphereProduct(), bare(cube(4)), quickEdit());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, error_code::kOtherShape);
}

std::vector<EditOperation> strokes(const std::string& text) {
  auto parsed = parseEdits(text, EditFile::kStrokes, "s.json", sphereProduct());
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? *parsed : std::vector<EditOperation>();
}

const char* const kRedDot =
    R"({"strokes": [{"at": [0, 0, 1], "radius": 0.3, "values": {"base_color": [1, 0, 0]}}]})";

TEST(EditLook, PaintsAndIsUndoneToTheBit) {
  const LoadedProduct& before = sphereProduct();
  EditPatch patch;
  const auto outcome = editLook(before, strokes(kRedDot), quickEdit(), &patch);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_GT(outcome->kernels_changed, 0u);
  EXPECT_GT(outcome->kernels_kept, outcome->kernels_changed) << "others keep their bytes";
  EXPECT_EQ(identical(before.product.kernels, outcome->stored->product.kernels), outcome->kernels_kept);
  SurfacePointFinder finder(before.product.asset, *before.product.surface);
  const Vec3 top(0, 0, 1);
  const auto found = finder.fromPositions({&top, 1});
  Vec3f color;
  outcome->stored->texture.colors(found->points, {&color, 1});
  EXPECT_GT(color[0], 0.85f);
  EXPECT_LT(color[1], 0.15f);
  EXPECT_GT(outcome->surface_psnr, 25);

  // Through the file, and back.
  const auto read = parsePatch(patchJson(patch), "patch.json", *outcome->stored, true);
  ASSERT_TRUE(read) << read.error().message;
  const auto back = undoEdit(*outcome->stored, *read, quickEdit());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(kernelFingerprint(back->stored->product.kernels), kernelFingerprint(before.product.kernels));

  // Not where it was not made.
  const auto wrong = undoEdit(before, *read, quickEdit());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::kInput);
}

TEST(EditLook, APatchAppliesToAnotherLevelOfDetail) {
  LodOptions options;
  options.levels = 2;
  options.samples = 1000;
  options.refit = false;
  options.open = quietly();
  const auto levels = lodProduct(sphereProduct(), options);
  ASSERT_TRUE(levels);
  const LoadedProduct& coarse = *levels->levels[1].stored;
  EditPatch patch;
  ASSERT_TRUE(editLook(sphereProduct(), strokes(kRedDot), quickEdit(), &patch));
  const auto read = parsePatch(patchJson(patch), "patch.json", coarse, false);
  ASSERT_TRUE(read) << read.error().message;
  const auto outcome = editLook(coarse, read->operations, quickEdit());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_GT(outcome->surface_psnr, 20);
}

TEST(EditLook, RecolorsARegion) {
  auto parsed = parseEdits(R"({"hue": 180, "include": [{"at": [0, 0, 1], "radius": 0.5}]})",
                           EditFile::kRecolor, "r.json", sphereProduct());
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto outcome = editLook(sphereProduct(), *parsed, quickEdit());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_GT(outcome->surface_psnr, 28);
  EXPECT_GT(outcome->kernels_kept, 0u);
}

/// Products of the other methods go the same ways: refits are with their evaluators.
class OtherMethods : public ::testing::TestWithParam<Method> {
 protected:
  static LoadedProduct product() {
    FitJob job = smallJob(GetParam());
    job.config.train.steps = 60;
    job.evaluate = false;
    const auto asset = openAssetToFit(coloredSphere(3), GetParam(), quietly());
    auto outcome = fitProduct(*asset, job);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return std::move(*outcome->stored);
  }
};

TEST_P(OtherMethods, AreTransferredSimplifiedAndEdited) {
  const LoadedProduct before = product();
  const auto moved = transferProduct(before, bare(bumpySphere(2, 0.2, 1)), quickTransfer());
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(methodOf(moved->stored->product.options), GetParam());
  // Their responses are approximations that depend on the mesh: 32 random vectors, 40 modes.
  EXPECT_GT(moved->surface_psnr_source, 20);
  EXPECT_GT(moved->refit.psnr_after, moved->refit.psnr_before);

  LodOptions options;
  options.levels = 2;
  options.samples = 4000;
  options.open = quietly();
  const auto levels = lodProduct(before, options);
  ASSERT_TRUE(levels) << levels.error().message;
  EXPECT_GT(levels->levels[1].surface_psnr_source, 20);
  const auto joined = joinLevels(*levels);
  ASSERT_TRUE(joined) << joined.error().message;
  OpenOptions chosen = quietly();
  chosen.level = 1;
  EXPECT_TRUE(openProduct(*readGltfBytes(*joined, "joined.glb"), chosen));

  Soup soup = bumpySphere(3, 0.2, 1);
  for (Vec3& p : soup.positions) {
    if ((p.normalized() - Vec3::Ones().normalized()).norm() < 0.2) p *= 0.97;
  }
  const auto edited = editMesh(before, bare(soup), quickEdit());
  ASSERT_TRUE(edited) << edited.error().message;
  EXPECT_GT(edited->changed_triangles, 0u);
  EXPECT_GT(edited->surface_psnr, 25);

  const auto painted = editLook(before, strokes(kRedDot), quickEdit());
  ASSERT_TRUE(painted) << painted.error().message;
  EXPECT_GT(painted->refit.psnr_after, painted->refit.psnr_before);
}

INSTANTIATE_TEST_SUITE_P(Methods, OtherMethods, ::testing::Values(Method::kThermal, Method::kSpectral));

TEST(EditLook, RefusesBadInput) {
  const auto refused = [](const std::string& text, EditFile kind = EditFile::kStrokes) {
    const auto parsed = parseEdits(text, kind, "s.json", sphereProduct());
    return !parsed && parsed.error().kind == ErrorKind::kInput &&
           parsed.error().message.find('\n') == std::string::npos;
  };
  EXPECT_TRUE(refused("not json"));
  EXPECT_TRUE(refused("{}"));
  EXPECT_TRUE(refused(R"({"strokes": []})"));
  EXPECT_TRUE(
      refused(R"({"strokes": [{"at": [0, NaN, 1], "radius": 1, "values": {"base_color": [1, 0, 0]}}]})"));
  EXPECT_TRUE(
      refused(R"({"strokes": [{"at": [0, 1e999, 1], "radius": 1, "values": {"base_color": [1, 0, 0]}}]})"));
  EXPECT_TRUE(
      refused(R"({"strokes": [{"at": [0, null, 1], "radius": 1, "values": {"base_color": [1, 0, 0]}}]})"));
  EXPECT_TRUE(
      refused(R"({"strokes": [{"at": [0, 0, 1], "radius": -1, "values": {"base_color": [1, 0, 0]}}]})"));
  EXPECT_TRUE(refused(R"({"strokes": [{"at": [0, 0, 1], "values": {"base_color": [1, 0, 0]}}]})"));
  EXPECT_TRUE(refused(R"({"strokes": [{"at": [0, 0, 1], "radius": 1}]})"));
  EXPECT_TRUE(refused(R"({"strokes": [{"at": [0, 0, 1], "radius": 1, "colour": 1, "values": {"a": 1}}]})"));
  EXPECT_TRUE(
      refused(R"({"strokes": [{"triangle": 4000000, "radius": 1, "values": {"base_color": [1, 0, 0]}}]})"));
  EXPECT_TRUE(refused(R"({"levels": [1, 0]})", EditFile::kRecolor));
  EXPECT_TRUE(refused(R"({"table": {"red": [1]}})", EditFile::kRecolor));
  EXPECT_TRUE(refused("{}", EditFile::kMask));
  EXPECT_FALSE(parsePatch("{}", "p.json", sphereProduct(), true));
  EXPECT_FALSE(parsePatch(R"({"heatskin_patch": 2, "operations": []})", "p.json", sphereProduct(), true));
  EXPECT_FALSE(parsePatch(R"({"heatskin_patch": 1, "operations": [{"kind": "sing"}]})", "p.json",
                          sphereProduct(), true));

  const auto far = editLook(
      sphereProduct(),
      strokes(R"({"strokes": [{"at": [99, 0, 0], "radius": 0.1, "values": {"base_color": [1, 0, 0]}}]})"),
      quickEdit());
  ASSERT_FALSE(far);
  EXPECT_EQ(far.error().kind, ErrorKind::kInput);
  const auto unknown = editLook(
      sphereProduct(),
      strokes(R"({"strokes": [{"at": [0, 0, 1], "radius": 0.3, "values": {"glitter": 1}}]})"), quickEdit());
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("glitter"), std::string::npos);
}

}  // namespace
}  // namespace heatskin::testing
