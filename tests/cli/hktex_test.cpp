// heatskin import and export, end to end.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>
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
#include "heatskin/pipeline/hktex_model.h"
#include "heatskin/product/product.h"

#include "support/run_process.h"
#include "support/temporary_folder.h"

namespace heatskin {
namespace {

using testing::runHeatskin;

/// A small pumpkin and a product of it whose kernels nobody trained.
class HktexTest : public ::testing::Test {
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

  void expectRefused(const std::vector<std::string>& command, const std::string& says) {
    const auto run = runHeatskin(command);
    EXPECT_EQ(run.exit_code, 3) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_NE(run.err.find(says), std::string::npos) << run.err;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out.glb"));
  }

  testing::TemporaryFolder folder_;
  std::string mesh_, product_;
};

TEST_F(HktexTest, GoesOutAndComesBack) {
  const std::string model = folder_ / "model.npz", again = folder_ / "again.npz", out = folder_ / "out.glb";
  const auto written = runHeatskin({"export", "--hktex", product_, "-o", model, "--json", "-"});
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_EQ(nlohmann::json::parse(written.out)["kernels"], 200);
  EXPECT_NE(written.err.find("spectral"), std::string::npos) << "these kernels are of another method";

  const auto read = runHeatskin({"import", "--hktex", model, "--mesh", mesh_, "-o", out, "--method", "local",
                                 "--json", folder_ / "i.json"});
  ASSERT_EQ(read.exit_code, 0) << read.err;
  EXPECT_NE(read.out.find("approximately"), std::string::npos) << read.out;
  const auto json = nlohmann::json::parse(folder_.read("i.json"));
  EXPECT_EQ(json["kernels"], 200);
  EXPECT_EQ(json["method"], "local");
  EXPECT_EQ(json["clamped_values"], 0);
  EXPECT_EQ(json["moved_positions"], 0);

  ASSERT_EQ(runHeatskin({"export", "--hktex", out, "-o", again, "--quiet"}).exit_code, 0);
  const auto first = readHktexModel(model), second = readHktexModel(again);
  ASSERT_TRUE(first && second);
  ASSERT_EQ(first->size(), second->size());
  // A product orders kernels by their places and has steps of its own: 9 bits of the angle, 8 of sharpness.
  for (std::size_t i = 0; i < first->size(); ++i) {
    EXPECT_EQ(first->faces[i], second->faces[i]);
    EXPECT_LT((first->barycentric[i] - second->barycentric[i]).norm(), 1e-3f);
    const float turn = std::abs(first->angles[i] - second->angles[i]);
    EXPECT_LT(std::min(turn, std::numbers::pi_v<float> - turn), 0.01f);
    EXPECT_NEAR(first->anisotropies[i], second->anisotropies[i], 0.02f * first->anisotropies[i]);
    EXPECT_NEAR(first->thresholds[i], second->thresholds[i], 0.005f);
    EXPECT_NEAR(first->sharpnesses[i], second->sharpnesses[i], 0.02f * first->sharpnesses[i]);
    EXPECT_LT((first->colors[i] - second->colors[i]).norm(), 0.004f);
  }
}

TEST_F(HktexTest, UnusableModelsAreOneLineAndCode3) {
  const std::string model = folder_ / "model.npz", out = folder_ / "out.glb";
  ASSERT_EQ(runHeatskin({"export", "--hktex", product_, "-o", model, "--quiet"}).exit_code, 0);
  const std::string bytes = folder_.read("model.npz");
  const std::string cut = folder_.write("cut.npz", bytes.substr(0, bytes.size() / 2));
  expectRefused({"import", "--hktex", cut, "--mesh", mesh_, "-o", out}, "cut.npz");
  expectRefused({"import", "--hktex", folder_.write("text.npz", "hello, world"), "--mesh", mesh_, "-o", out},
                "text.npz");
  expectRefused({"import", "--hktex", folder_ / "missing.npz", "--mesh", mesh_, "-o", out}, "missing.npz");
  const std::string small = folder_.write("small.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
  expectRefused({"import", "--hktex", model, "--mesh", small, "-o", out, "--method", "local"},
                "does not exist");
  expectRefused({"import", "--hktex", model, "--mesh", product_, "-o", out}, "fitted.glb");
  expectRefused({"export", "--hktex", mesh_, "-o", folder_ / "other.npz"}, "pumpkin.glb");
}

TEST_F(HktexTest, WrongUsageIsCode2) {
  EXPECT_EQ(runHeatskin({"export", product_, "-o", folder_ / "m.npz"}).exit_code, 2);
  EXPECT_EQ(runHeatskin({"export", "--hktex", product_, "-o", folder_ / "m.zip"}).exit_code, 2);
  EXPECT_EQ(runHeatskin({"import", "--mesh", mesh_, "-o", folder_ / "out.glb"}).exit_code, 2);
}

}  // namespace
}  // namespace heatskin
