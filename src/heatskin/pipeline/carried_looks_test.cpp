// Material variants through transfers, levels of detail and edits.

#include "heatskin/pipeline/carried_looks.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/gltf_reader.h"
#include "heatskin/pipeline/edit_patch.h"
#include "heatskin/pipeline/edit_product.h"
#include "heatskin/pipeline/lod_product.h"
#include "heatskin/pipeline/test_jobs.h"
#include "heatskin/pipeline/transfer_product.h"
#include "heatskin/surface/sampling.h"

#include "support/variant_file.h"

namespace heatskin::testing {
namespace {

const char* const kVariantNames[] = {"", "stripes", "plain", "usual"};

LoadedProduct inVariant(const std::vector<std::uint8_t>& bytes, const std::string& variant) {
  auto asset = readGltfBytes(bytes, "product.glb");
  EXPECT_TRUE(asset);
  OpenOptions options = quietly();
  options.variant = variant;
  auto product = openProduct(std::move(*asset), options);
  EXPECT_TRUE(product) << variant << ": " << (product ? "" : product.error().message);
  return std::move(*product);
}

/// Two squares with variants (support/variant_file.h), fitted once.
const LoadedProduct& squares() {
  static const LoadedProduct product = [] {
    auto asset = readGltfBytes(variantFile().glb(), "variants.glb");
    auto loaded = openAssetToFit(std::move(*asset), Method::kLocal, quietly());
    FitJob job = smallJob();
    job.config.train.steps = 120;
    setKernelBudget(job.config, 300);
    job.config.train.sampling.pool = 0;
    job.evaluate = false;
    job.layout = *fitChannels(*loaded);
    auto outcome = fitProduct(*loaded, job);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return std::move(*outcome->stored);
  }();
  return product;
}

/// The squares with other triangles and nothing else, as an asset or with a bump on the right one.
Asset plainSquares(int cells, double bump = 0) {
  Asset asset;
  asset.format = "arrays";
  for (int i = 0; i < 2; ++i) {
    Primitive primitive;
    for (int v = 0; v <= cells; ++v) {
      for (int u = 0; u <= cells; ++u) {
        const bool moved = i == 1 && u == cells / 2 && v == cells / 2;
        primitive.positions.emplace_back(1.5 * i + static_cast<double>(u) / cells,
                                         static_cast<double>(v) / cells, moved ? bump : 0);
      }
    }
    for (int v = 0; v < cells; ++v) {
      for (int u = 0; u < cells; ++u) {
        const int at = v * (cells + 1) + u;
        for (const int corner : {at, at + 1, at + cells + 2, at, at + cells + 2, at + cells + 1})
          primitive.triangles.push_back(static_cast<std::uint32_t>(corner));
      }
    }
    asset.meshes.emplace_back().primitives.push_back(std::move(primitive));
    asset.instances.emplace_back().mesh = i;
  }
  return asset;
}

/// Root mean square difference of two products' base colours in a variant, on the left or the right square.
double colorDifference(const LoadedProduct& a, const LoadedProduct& b, int square) {
  std::vector<Vec3> places;
  const SurfacePointFinder here(a.product.asset, *a.product.surface);
  const SurfacePointFinder there(b.product.asset, *b.product.surface);
  for (const Vec3& p : here.toPositions(sampleSurface(*a.product.surface, 3000, 3))) {
    if ((p.x() > 1.25) == (square == 1)) places.push_back(p);
  }
  const auto mine = here.fromPositions(places), theirs = there.fromPositions(places);
  EXPECT_TRUE(mine && theirs);
  std::vector<Vec3f> x(places.size()), y(places.size());
  a.texture.colors(mine->points, x);
  b.texture.colors(theirs->points, y);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += static_cast<double>((x[i] - y[i]).squaredNorm());
  return std::sqrt(sum / static_cast<double>(3 * x.size()));
}

/// The same for all variants, against the given product.
void expectTheSameLooks(const std::vector<std::uint8_t>& bytes, double most) {
  for (const std::string name : kVariantNames) {
    const LoadedProduct before = inVariant(*squares().product.asset.file, name);
    const LoadedProduct after = inVariant(bytes, name);
    for (int square = 0; square < 2; ++square)
      EXPECT_LT(colorDifference(before, after, square), most) << name << ", square " << square;
  }
}

TransferOptions squareTransfer() {
  TransferOptions options;
  options.samples = 3000;
  options.refit_options = {60, 0.5};
  options.open = quietly();
  return options;
}

EditOptions squareEdit() {
  EditOptions options;
  options.samples = 3000;
  options.refit = {40, 0.8};
  options.open = quietly();
  return options;
}

TEST(CarriedLooks, TheChecksNoticeAnotherVariant) {
  const LoadedProduct usual = inVariant(*squares().product.asset.file, "usual");
  const LoadedProduct stripes = inVariant(*squares().product.asset.file, "stripes");
  EXPECT_GT(colorDifference(usual, stripes, 0), 0.2);
  EXPECT_LT(colorDifference(usual, stripes, 1), 0.02);
}

TEST(CarriedLooks, AProductKnowsItsLooks) {
  const auto looks = productLooks(squares().product);
  ASSERT_TRUE(looks) << looks.error().message;
  ASSERT_EQ(looks->size(), 2u) << "one of them looks as usual";
  EXPECT_EQ((*looks)[0].look.names, std::vector<std::string>{"stripes"});
  EXPECT_EQ((*looks)[1].look.names, std::vector<std::string>{"plain"});
  EXPECT_EQ((*looks)[0].kernels.channels.values,
            inVariant(*squares().product.asset.file, "stripes").product.kernels.channels.values);
  EXPECT_TRUE(productLooks(inVariant(*squares().product.asset.file, "stripes").product)->empty());
}

TEST(CarriedLooks, ATransferHasThemOnAMeshWithoutVariants) {
  const auto outcome = transferProduct(squares(), plainSquares(7), squareTransfer());
  ASSERT_TRUE(outcome) << outcome.error().message;
  expectTheSameLooks(outcome->bytes, 0.03);
  ASSERT_EQ(outcome->variants.size(), 2u);
  EXPECT_EQ(outcome->variants[0].names, std::vector<std::string>{"stripes"});
  for (const LookFigure& figure : outcome->variants)
    EXPECT_GT(figure.surface_psnr_source, 30) << figure.names[0];
}

TEST(CarriedLooks, ATransferKeepsTheMappingsOfAMeshThatHasVariants) {
  const auto asset = readGltfBytes(variantFile().glb(), "mesh.glb");
  const auto outcome = transferProduct(squares(), *asset, squareTransfer());
  ASSERT_TRUE(outcome) << outcome.error().message;
  expectTheSameLooks(outcome->bytes, 0.03);
  const auto read = readGltfBytes(outcome->bytes, "product.glb");
  EXPECT_EQ(read->variants, asset->variants);
  EXPECT_EQ(variantLooks(*read).size(), 2u) << "other programs still change materials";
}

TEST(CarriedLooks, ATransferFromTexturesSolvesForThem) {
  auto asset = readGltfBytes(variantFile().glb(), "variants.glb");
  const auto source = openAsset(std::move(*asset), quietly());
  FitConfig config = smallConfig();
  config.train.steps = 120;
  setKernelBudget(config, 300);
  config.train.sampling.pool = 0;
  const auto outcome =
      transferLook(*source, plainSquares(6), config, *fitChannels(*source), squareTransfer());
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_EQ(outcome->variants.size(), 2u);
  for (const LookFigure& figure : outcome->variants)
    EXPECT_GT(figure.surface_psnr_source, 20) << figure.names[0];
  expectTheSameLooks(outcome->bytes, 0.1);
}

TEST(CarriedLooks, LevelsOfDetailHaveThem) {
  LodOptions options;
  options.levels = 3;
  options.face_ratio = 0.7;
  options.samples = 3000;
  options.open = quietly();
  const auto outcome = lodProduct(squares(), options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  expectTheSameLooks(outcome->levels[1].bytes, 0.03);
  expectTheSameLooks(outcome->levels[2].bytes, 0.08);
  EXPECT_EQ(outcome->levels[2].variants.size(), 2u);
}

TEST(CarriedLooks, AMeshEditKeepsThemAndSolvesWhereItChanged) {
  const auto outcome = editMesh(squares(), plainSquares(4, 0.1), squareEdit());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_GT(outcome->kernels_changed, 0u);
  EXPECT_GT(outcome->kernels_kept, 0u);
  expectTheSameLooks(outcome->bytes, 0.03);
  ASSERT_EQ(outcome->variants.size(), 2u);
}

Result<std::vector<EditOperation>> redDot(const std::string& variants) {
  return parseEdits(
      R"({"strokes": [{"at": [0.5, 0.5, 0], "radius": 0.3, "values": {"base_color": [1, 0, 0]})" +
          (variants.empty() ? "" : R"(, "variants": )" + variants) + "}]}",
      EditFile::kStrokes, "s.json", squares());
}

/// How red the middle of the left square is in a variant: red minus green.
float redness(const std::vector<std::uint8_t>& bytes, const std::string& name) {
  const LoadedProduct product = inVariant(bytes, name);
  const SurfacePointFinder finder(product.product.asset, *product.product.surface);
  const Vec3 middle(0.5, 0.5, 0);
  Vec3f color;
  product.texture.colors(finder.fromPositions({&middle, 1})->points, {&color, 1});
  return color[0] - color[1];
}

TEST(CarriedLooks, StrokesChangeAllVariantsByDefault) {
  EditPatch patch;
  const auto outcome = editLook(squares(), *redDot(""), squareEdit(), &patch);
  ASSERT_TRUE(outcome) << outcome.error().message;
  for (const std::string name : {"", "stripes", "usual"})
    EXPECT_GT(redness(outcome->bytes, name), 0.8f) << name;
  const auto read = parsePatch(patchJson(patch), "patch.json", *outcome->stored, true);
  ASSERT_TRUE(read) << read.error().message;
  const auto back = undoEdit(*outcome->stored, *read, squareEdit());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->bytes, *squares().product.asset.file);
}

TEST(CarriedLooks, StrokesChangeTheVariantsTheyName) {
  EditPatch patch;
  const auto outcome = editLook(squares(), *redDot(R"(["stripes"])"), squareEdit(), &patch);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_GT(redness(outcome->bytes, "stripes"), 0.8f);
  for (const std::string name : {"", "plain", "usual"}) {
    const LoadedProduct before = inVariant(*squares().product.asset.file, name);
    EXPECT_LT(colorDifference(before, inVariant(outcome->bytes, name), 0), 0.03) << name;
  }
  const auto read = parsePatch(patchJson(patch), "patch.json", *outcome->stored, true);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(read->operations[0].variants);
  EXPECT_EQ(*read->operations[0].variants, std::vector<std::string>{"stripes"});
  const auto back = undoEdit(*outcome->stored, *read, squareEdit());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->bytes, *squares().product.asset.file);
}

TEST(CarriedLooks, AVariantThatLookedAsUsualCanBeTakenApart) {
  EditPatch patch;
  const auto outcome = editLook(squares(), *redDot(R"(["usual"])"), squareEdit(), &patch);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_GT(redness(outcome->bytes, "usual"), 0.8f);
  EXPECT_LT(redness(outcome->bytes, ""), 0.3f);
  const auto by_default = editLook(squares(), *redDot("[null]"), squareEdit());
  ASSERT_TRUE(by_default) << by_default.error().message;
  EXPECT_GT(redness(by_default->bytes, ""), 0.8f);
  EXPECT_LT(redness(by_default->bytes, "usual"), 0.3f);
  const auto back = undoEdit(*outcome->stored, patch, squareEdit());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->bytes, *squares().product.asset.file);
}

TEST(CarriedLooks, RefusesVariantsThatAreNot) {
  for (const char* const variants : {R"(["glitter"])", "[]", "3", R"("stripes")", "[3]"}) {
    const auto parsed = redDot(variants);
    ASSERT_FALSE(parsed) << variants;
    EXPECT_EQ(parsed.error().kind, ErrorKind::kInput);
    EXPECT_EQ(parsed.error().message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace heatskin::testing
