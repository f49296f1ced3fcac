// heatskin eval and render on products, end to end.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "heatskin/base/files.h"
#include "heatskin/demo/pumpkin.h"
#include "heatskin/evaluation/test_textures.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/glb_writer.h"
#include "heatskin/io/image.h"
#include "heatskin/product/product.h"

#include "support/run_process.h"
#include "support/temporary_folder.h"

namespace heatskin {
namespace {

using testing::runHeatskin;

/// A small pumpkin and a product of it whose kernels nobody trained.
class EvalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PumpkinOptions options;
    options.resolution = 500;
    options.texture_size = 256;
    const auto glb = encodeGlb(makePumpkin(options));
    ASSERT_TRUE(glb);
    asset_ = folder_ / "pumpkin.glb";
    ASSERT_TRUE(writeFileAtomically(asset_, *glb));
    const auto asset = loadAsset(asset_);
    ASSERT_TRUE(asset);
    const auto surface = buildSurface(*asset);
    ASSERT_TRUE(surface);
    const auto product = encodeProduct(*asset, *surface, testing::someKernels(*surface, 300),
                                       EvaluatorOptions(), {"test", "draft", 7, 123});
    ASSERT_TRUE(product);
    product_ = folder_ / "fitted.glb";
    ASSERT_TRUE(writeFileAtomically(product_, *product));
  }

  testing::TemporaryFolder folder_;
  std::string asset_, product_;
};

TEST_F(EvalTest, FiveFramesAreMeasuredWhenAskedFor) {
  const auto run = runHeatskin({"eval", product_, "--reference", asset_, "--samples", "1000", "--five-frame",
                                "--five-frame-samples", "1", "--json", folder_ / "five.json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("equivalent"), std::string::npos) << run.out;
  const auto json = nlohmann::json::parse(folder_.read("five.json"));
  EXPECT_GT(json["five_frame_psnr"], 5);
  EXPECT_LT(json["five_frame_psnr"], 60);
  EXPECT_GT(json["five_frame_ssim"], 0);
  EXPECT_GT(json["five_frame_ms_ssim"], 0);
  EXPECT_EQ(json["five_frame_samples"], 1);
  EXPECT_EQ(runHeatskin({"eval", product_, "--reference", asset_, "--five-frame-samples", "4"}).exit_code, 2);
}

TEST_F(EvalTest, ProductsAndAssetsCanBePathTraced) {
  for (const std::string& file : {asset_, product_}) {
    const std::string picture = folder_ / "photo.png";
    const auto run = runHeatskin(
        {"render", file, "-o", picture, "--path-traced", "--samples", "2", "--size", "48", "--json", "-"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(nlohmann::json::parse(run.out)["path_traced"], true);
    EXPECT_TRUE(std::filesystem::exists(picture));
  }
  const std::vector<std::vector<std::string>> idle = {{"--samples", "4"},
                                                      {"--path-traced", "--aa", "2"},
                                                      {"--path-traced", "--wire", "1"},
                                                      {"--path-traced", "--mode", "albedo"},
                                                      {"--path-traced", "--atlas"}};
  for (const std::vector<std::string>& options : idle) {
    std::vector<std::string> command = {"render", asset_, "-o", folder_ / "idle.png"};
    command.insert(command.end(), options.begin(), options.end());
    EXPECT_EQ(runHeatskin(command).exit_code, 2) << options.back();
  }
}

TEST_F(EvalTest, WritesTheKeysOfTheDesignAndAReport) {
  const auto run = runHeatskin({"eval", product_, "--reference", asset_, "--samples", "5000", "--json",
                                folder_ / "out.json", "--report", folder_ / "report"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err.find("warning"), std::string::npos) << run.err;
  const auto json = nlohmann::json::parse(folder_.read("out.json"));
  for (const char* key : {"surface_psnr", "view_psnr", "view_ssim", "atlas_psnr", "coverage_below_half",
                          "coverage_defect", "seam_jump_p99", "seam_jump_max", "reference_seam_jump_p99",
                          "kernels", "peak_rss_mb", "query_mpoints_s", "model_bytes", "bytes_per_kernel",
                          "seed", "threads", "vertices", "faces", "fallback_psnr"}) {
    ASSERT_TRUE(json.contains(key)) << key;
    EXPECT_TRUE(json[key].is_number()) << key;
  }
  for (const char* key : {"init_s", "preprocess_s", "optimise_s", "median_step_ms", "five_frame_psnr"})
    EXPECT_TRUE(json.contains(key) && json[key].is_null()) << key;
  EXPECT_EQ(json["method"], "local");
  EXPECT_EQ(json["preset"], "draft");
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["kernels"], 300);
  EXPECT_EQ(json["filter"], "bilinear") << "what the asset's sampler says";
  EXPECT_EQ(json["materials"].size(), 1u);
  EXPECT_EQ(json["mapped_reference"], false);
  const auto has = [&](const char* list, const char* word) {
    return std::find(json[list].begin(), json[list].end(), word) != json[list].end();
  };
  EXPECT_TRUE(has("kept", "normals")) << json["kept"];
  EXPECT_TRUE(has("dropped", "baseColorTexture")) << json["dropped"];
  EXPECT_EQ(json["views"].size(), 8u);
  EXPECT_GT(json["surface_psnr"], 2);
  EXPECT_LT(json["surface_psnr"], 30);

  const std::string page = folder_.read("report/report.html");
  EXPECT_NE(page.find("fitted.glb"), std::string::npos);
  EXPECT_NE(page.find("8-bit levels"), std::string::npos) << "the error map's scale is not in words";
  for (const char* name : {"views", "error", "worst", "coverage", "atlas"})
    EXPECT_TRUE(readImage(folder_ / ("report/" + std::string(name) + ".png"))) << name;
}

TEST_F(EvalTest, TheFallbackIsWhatItIsCalled) {
  double psnr_of_vertices = 0;
  for (const std::string fallback : {"vertex", "texture", "original", "none"}) {
    const std::string out = folder_ / (fallback + ".glb");
    const auto fit = runHeatskin({"fit", asset_, "-o", out, "--kernels", "400", "--steps", "30", "--fallback",
                                  fallback, "--json", "-"});
    ASSERT_EQ(fit.exit_code, 0) << fit.err;
    const auto fitted = nlohmann::json::parse(fit.out);
    EXPECT_EQ(fitted["fallback"], fallback);
    const auto eval = runHeatskin({"eval", out, "--reference", asset_, "--json", "-"});
    ASSERT_EQ(eval.exit_code, 0) << eval.err;
    const auto json = nlohmann::json::parse(eval.out);
    if (fallback == "original") {
      EXPECT_TRUE(json["fallback_psnr"].is_null()) << "infinite: it is the asset";
      EXPECT_TRUE(fitted["fallback_psnr"].is_null());
    } else {
      EXPECT_NEAR(json["fallback_psnr"].get<double>(), fitted["fallback_psnr"].get<double>(), 1e-6)
          << fallback;
    }
    const auto asset = loadAsset(out);
    ASSERT_TRUE(asset);
    const Primitive& primitive = asset->meshes[0].primitives[0];
    EXPECT_EQ(primitive.colors.empty(), fallback != "vertex") << fallback;
    EXPECT_EQ(asset->images.empty(), fallback == "vertex" || fallback == "none") << fallback;
    if (fallback == "vertex") psnr_of_vertices = json["fallback_psnr"];
    if (fallback == "texture") {
      EXPECT_GT(json["fallback_psnr"].get<double>(), psnr_of_vertices + 1);
      // An image within 38 dB of the kernels, which are no nearer to the asset than that.
      EXPECT_NEAR(json["fallback_psnr"].get<double>(), json["surface_psnr_filtered"].get<double>(), 1.5);
    }
    if (fallback == "none") {
      EXPECT_LT(json["fallback_psnr"].get<double>(), psnr_of_vertices);
    }
  }
}

TEST_F(EvalTest, KernelsCanBeAttachedToTheirMeshAgain) {
  const std::string sidecar = folder_ / "kernels.glb", out = folder_ / "again.glb";
  ASSERT_EQ(runHeatskin({"export", "--sidecar", product_, "-o", sidecar, "--quiet"}).exit_code, 0);
  const auto run = runHeatskin({"attach", sidecar, "--to", asset_, "-o", out, "--extras", "--json", "-"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["kernels"], 300);
  EXPECT_EQ(json["lost_triangles"], 0);
  EXPECT_LT(json["largest_difference"].get<double>(), 0.5);
  EXPECT_EQ(runHeatskin({"eval", out, "--reference", asset_, "--samples", "2000", "--quiet"}).exit_code, 0);

  // Another mesh is refused with a word about why, and nothing is written.
  const std::string other = folder_ / "other.glb", refused = folder_ / "refused.glb";
  ASSERT_EQ(runHeatskin({"demo-asset", "-o", other, "--resolution", "800", "--quiet"}).exit_code, 0);
  const auto bad = runHeatskin({"attach", product_, "--to", other, "-o", refused});
  EXPECT_EQ(bad.exit_code, 3);
  EXPECT_NE(bad.err.find("the shape differs"), std::string::npos) << bad.err;
  EXPECT_FALSE(std::filesystem::exists(refused));
  EXPECT_EQ(runHeatskin({"attach", asset_, "--to", other, "-o", refused}).exit_code, 3) << "has no kernels";
}

TEST_F(EvalTest, NamesTheFilterAndReportsBoth) {
  const auto figures = [&](std::vector<std::string> more) {
    std::vector<std::string> command = {"eval",      product_, "--reference", asset_,
                                        "--samples", "2000",   "--json",      folder_ / "filter.json"};
    command.insert(command.end(), more.begin(), more.end());
    const auto run = runHeatskin(command, {.time_limit_s = 600});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return nlohmann::json::parse(folder_.read("filter.json"));
  };
  const auto paper = figures({"--filter", "paper"}), bilinear = figures({"--filter", "bilinear"});
  EXPECT_EQ(paper["filter"], "paper");
  EXPECT_EQ(bilinear["filter"], "bilinear");
  EXPECT_NE(paper["surface_psnr"], bilinear["surface_psnr"]);
  const auto both = figures({"--filter", "both"});
  EXPECT_EQ(both["by_filter"]["paper"]["surface_psnr"], paper["surface_psnr"]);
  EXPECT_EQ(both["by_filter"]["bilinear"]["surface_psnr"], bilinear["surface_psnr"]);
  // On the terminal, figures that depend on the filter stand together, before those that do not.
  const auto shown = runHeatskin({"eval", product_, "--reference", asset_, "--filter", "both"}).out;
  EXPECT_LT(shown.find("surface, paper"), shown.find("uncovered")) << shown;
  EXPECT_EQ(runHeatskin({"eval", product_, "--reference", asset_, "--filter", "cubic"}).exit_code, 2);
}

TEST_F(EvalTest, RefusesWhatIsNotAProductOrNotItsAsset) {
  const auto plain = runHeatskin({"eval", asset_, "--reference", asset_});
  EXPECT_EQ(plain.exit_code, 3);
  const auto other = encodeGlb(testing::flatAsset(testing::cube(3), {1, 0, 0, 1}));
  ASSERT_TRUE(other);
  ASSERT_TRUE(writeFileAtomically(folder_ / "cube.glb", *other));
  const auto wrong = runHeatskin({"eval", product_, "--reference", folder_ / "cube.glb"});
  EXPECT_EQ(wrong.exit_code, 3);
  EXPECT_NE(wrong.err.find("cube.glb"), std::string::npos) << wrong.err;
  EXPECT_EQ(runHeatskin({"eval", product_}).exit_code, 2);
}

TEST_F(EvalTest, RenderDrawsProductsAndTheirMaps) {
  const auto draw = [&](const std::string& name, std::vector<std::string> arguments) {
    std::vector<std::string> command = {"render", product_, "-o", folder_ / name, "--size", "200"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const auto run = runHeatskin(command);
    EXPECT_EQ(run.exit_code, 0) << name << ": " << run.err;
    auto image = readImage(folder_ / name);
    EXPECT_TRUE(image) << name;
    return image ? std::move(*image) : Image();
  };
  const Image plain = draw("albedo.png", {});
  // An elevation alone is used, and the labels of a sheet of 8 stand under four columns.
  EXPECT_NE(draw("high.png", {"--elevation", "60"}).rgba, plain.rgba);
  const Image sheet = draw("sheet.png", {"--views", "8", "--sheet", "--mode", "albedo"});
  EXPECT_GT(sheet.width, 4 * 200);
  EXPECT_LT(sheet.height, 3 * 200);
  EXPECT_EQ(plain.height, 200);
  const Image coverage = draw("coverage.png", {"--mode", "coverage"});
  EXPECT_EQ(coverage.width, 200);
  EXPECT_GT(coverage.height, 200) << "the scale is missing";
  EXPECT_EQ(draw("bare.png", {"--mode", "coverage", "--no-legend"}).height, 200);
  EXPECT_GT(draw("error.png", {"--mode", "error", "--reference", asset_}).height, 200);
  EXPECT_GT(draw("sheet.png", {"--mode", "error", "--reference", asset_, "--views", "2", "--sheet"}).width,
            400);
  draw("atlas.png", {"--atlas"});

  // A product shows its kernels, not the asset's texture.
  const auto run = runHeatskin({"render", asset_, "-o", folder_ / "asset.png", "--size", "200"});
  EXPECT_EQ(run.exit_code, 0);
  const auto original = readImage(folder_ / "asset.png");
  ASSERT_TRUE(original);
  EXPECT_NE(original->rgba, plain.rgba);

  EXPECT_EQ(runHeatskin({"render", product_, "-o", folder_ / "x.png", "--mode", "error"}).exit_code, 2);
  EXPECT_EQ(runHeatskin({"render", asset_, "-o", folder_ / "x.png", "--mode", "coverage"}).exit_code, 3);
}

}  // namespace
}  // namespace heatskin
