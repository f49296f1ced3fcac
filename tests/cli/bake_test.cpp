// heatskin bake and the exports that bake, end to end.

#include <algorithm>
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
#include "heatskin/pipeline/export_usdz.h"
#include "heatskin/product/product.h"

#include "support/paths.h"
#include "support/run_process.h"
#include "support/temporary_folder.h"

namespace heatskin {
namespace {

using testing::runHeatskin;

/// A small pumpkin with kernels nobody trained.
class BakeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PumpkinOptions options;
    options.resolution = 500;
    options.texture_size = 64;
    const auto glb = encodeGlb(makePumpkin(options));
    ASSERT_TRUE(glb);
    mesh_ = folder_ / "pumpkin.glb";
    ASSERT_TRUE(writeFileAtomically(mesh_, *glb));
    const auto asset = loadAsset(mesh_);
    ASSERT_TRUE(asset);
    const auto surface = buildSurface(*asset);
    ASSERT_TRUE(surface);
    const auto product = encodeProduct(*asset, *surface, testing::someKernels(*surface, 200),
                                       EvaluatorOptions(), {"test", "paper", 7, 123});
    ASSERT_TRUE(product);
    product_ = folder_ / "fitted.glb";
    ASSERT_TRUE(writeFileAtomically(product_, *product));
  }

  void expectRefused(const std::vector<std::string>& command, int code, const std::string& says) {
    const auto run = runHeatskin(command);
    EXPECT_EQ(run.exit_code, code) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_NE(run.err.find(says), std::string::npos) << run.err;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out.glb"));
  }

  testing::TemporaryFolder folder_;
  std::string mesh_, product_;
};

TEST_F(BakeTest, WritesWhatItSays) {
  const std::string out = folder_ / "out.glb";
  for (const char* to : {"uv", "atlas", "vertex", "face"}) {
    const auto run = runHeatskin(
        {"bake", product_, "-o", out, "--to", to, "--size", "256", "--json", folder_ / "bake.json"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_NE(run.out.find("against the kernels"), std::string::npos) << run.out;
    const nlohmann::json report = nlohmann::json::parse(folder_.read("bake.json"));
    EXPECT_EQ(report["to"], to);
    EXPECT_GT(report["psnr"]["base_color"].get<double>(), 10);
    EXPECT_GE(report["seconds"].get<double>(), 0);
    const bool images = std::string(to) == "uv" || std::string(to) == "atlas";
    EXPECT_EQ(report["width"], images ? 256 : 0);
    EXPECT_EQ(report["height"], images ? 256 : 0);
    EXPECT_EQ(report["charts"].get<int>() > 0, std::string(to) == "atlas");
    EXPECT_EQ(report["area_used"].get<double>() > 0, images);
    // Not a product any more, and drawn by the program all the same.
    const auto eval = runHeatskin({"query", out, "--points", folder_.write("p.csv", "0,0,0\n")});
    EXPECT_EQ(eval.exit_code, 3);
    EXPECT_EQ(
        runHeatskin({"render", out, "-o", folder_ / "out.png", "--mode", "albedo", "--size", "64"}).exit_code,
        0);
  }
}

TEST_F(BakeTest, MistakesAreOneLine) {
  const std::string out = folder_ / "out.glb";
  expectRefused({"bake", mesh_, "-o", out}, 3, "fit");
  expectRefused({"bake", product_, "-o", out, "--to", "sculpture"}, 2, "--to");
  expectRefused({"bake", product_, "-o", out, "--size", "16385"}, 2, "--size");
  expectRefused({"bake", product_, "-o", out, "--max-error", "2"}, 2, "--to vertex");
  expectRefused({"bake", product_, "-o", out, "--to", "uv", "--atlas", "xatlas"}, 2, "--to atlas");
  expectRefused({"bake", product_, "-o", out, "--to", "atlas", "--gutter", "3"}, 2, "gutter");
  expectRefused({"bake", product_, "-o", out, "--to", "atlas", "--size", "2"}, 2, "charts");
  expectRefused({"bake", product_, "-o", out, "--to", "uv", "--uv-set", "5"}, 3, "TEXCOORD_5");
  expectRefused({"bake", product_, "-o", out, "--size", "16384", "--max-memory", "300M"}, 3, "--max-memory");
  expectRefused({"bake", product_, "-o", product_}, 2, "-o");
  expectRefused({"bake", product_, "-o", folder_ / "out.png"}, 2, ".glb");
  expectRefused({"export", product_, "-o", out}, 2, "--usdz");
  expectRefused({"export", "--ply", "--usdz", product_, "-o", folder_ / "x.ply"}, 2, "one of");
}

TEST_F(BakeTest, WithoutNodePackagesTheReasonIsSaid) {
  const std::string out = folder_ / "out.glb";
  // A folder without packages, nor any above it.
  const auto ktx2 =
      testing::runProcess({"/usr/bin/env", "-C", folder_.path().string(), "HEATSKIN_NODE_MODULES=/nowhere",
                           testing::heatskinBinary(), "bake", product_, "-o", out, "--to", "atlas", "--size",
                           "64", "--format", "ktx2"});
  EXPECT_EQ(ktx2.exit_code, 1);
  EXPECT_NE(ktx2.err.find("ktx2-encoder"), std::string::npos) << ktx2.err;
  const auto xatlas = testing::runProcess({"/usr/bin/env", "-C", folder_.path().string(),
                                           "HEATSKIN_NODE_MODULES=/nowhere", testing::heatskinBinary(),
                                           "bake", product_, "-o", out, "--atlas", "xatlas", "--size", "64"});
  EXPECT_EQ(xatlas.exit_code, 0);
  EXPECT_NE(xatlas.err.find("the atlas is ours"), std::string::npos) << xatlas.err;
}

TEST_F(BakeTest, NodePackagesAreUsedWhereTheyAre) {
  const std::string packages = testing::inBuild("bake_packages");
  const auto installed = testing::runProcess({"/bin/bash", testing::inSource("scripts/get_npm_packages.sh"),
                                              testing::inSource("tests/bake_packages"), packages});
  if (installed.exit_code == 77 || installed.timed_out) GTEST_SKIP() << installed.out;
  ASSERT_EQ(installed.exit_code, 0) << installed.out << installed.err;
  const std::string out = folder_ / "out.glb";
  const auto bake = [&](const std::vector<std::string>& options) {
    std::vector<std::string> command = {"/usr/bin/env",
                                        "HEATSKIN_NODE_MODULES=" + packages,
                                        testing::heatskinBinary(),
                                        "bake",
                                        product_,
                                        "-o",
                                        out,
                                        "--size",
                                        "64",
                                        "--json",
                                        folder_ / "bake.json"};
    command.insert(command.end(), options.begin(), options.end());
    return testing::runProcess(command);
  };
  const auto xatlas = bake({"--atlas", "xatlas"});
  ASSERT_EQ(xatlas.exit_code, 0) << xatlas.err;
  EXPECT_EQ(nlohmann::json::parse(folder_.read("bake.json"))["atlas"], "xatlas");
  const auto hurried = bake({"--atlas", "xatlas", "--atlas-seconds", "0.001"});
  ASSERT_EQ(hurried.exit_code, 0) << hurried.err;
  EXPECT_NE(hurried.err.find("longer than"), std::string::npos) << hurried.err;
  EXPECT_EQ(nlohmann::json::parse(folder_.read("bake.json"))["atlas"], "heatskin");
  const auto ktx2 = bake({"--to", "atlas", "--format", "ktx2"});
  ASSERT_EQ(ktx2.exit_code, 0) << ktx2.err;
  const nlohmann::json report = nlohmann::json::parse(folder_.read("bake.json"));
  EXPECT_EQ(report["images"][0]["type"], "image/ktx2");
  EXPECT_TRUE(report["psnr"].is_null());
  EXPECT_NE(folder_.read("out.glb").find("\xABKTX 20\xBB"), std::string::npos);
}

TEST_F(BakeTest, Exports) {
  const std::string usdz = folder_ / "out.usdz", ply = folder_ / "out.ply", npz = folder_ / "out.npz",
                    text = folder_ / "out.json";
  const auto run = runHeatskin({"export", "--usdz", product_, "-o", usdz, "--size", "64", "--json", "-"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_GT(nlohmann::json::parse(run.out)["images"].get<int>(), 0);
  const auto bytes = readFile(usdz);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(checkUsdz(*bytes), "");
  ASSERT_EQ(runHeatskin({"export", "--ply", product_, "-o", ply, "--quiet"}).exit_code, 0);
  const auto mesh = loadAsset(ply), before = loadAsset(mesh_);
  ASSERT_TRUE(mesh && before);
  EXPECT_EQ(mesh->meshes[0].primitives[0].colors.size(), mesh->meshes[0].primitives[0].positions.size());
  ASSERT_EQ(runHeatskin({"export", "--kernels", "npz", product_, "-o", npz, "--quiet"}).exit_code, 0);
  ASSERT_EQ(runHeatskin({"export", "--kernels", "json", product_, "-o", text, "--quiet"}).exit_code, 0);
  const nlohmann::json kernels = nlohmann::json::parse(folder_.read("out.json"));
  EXPECT_EQ(kernels["kernels"], 200);
  EXPECT_EQ(kernels["position"].size(), 200u);
  EXPECT_EQ(kernels["channel_base_color"][0].size(), 3u);
}

}  // namespace
}  // namespace heatskin
