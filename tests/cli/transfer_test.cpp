// heatskin transfer, lod and edit, with real processes: keys of --json, exit codes and one line of error.

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "heatskin/base/files.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/glb_writer.h"
#include "heatskin/product/product.h"

#include "support/products.h"
#include "support/run_process.h"
#include "support/temporary_folder.h"

namespace heatskin::testing {
namespace {

class TransferTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Asset asset = assetOf(bumpySphere(2, 0.2, 1));
    const auto surface = buildSurface(asset);
    ASSERT_TRUE(surface);
    const auto glb =
        encodeProduct(asset, *surface, randomKernels(*surface, 120), {}, {"test", "draft", 1, 2});
    ASSERT_TRUE(glb) << glb.error().message;
    product_ = folder_.write("p.glb", {reinterpret_cast<const char*>(glb->data()), glb->size()});
    mesh_ = meshFile("mesh.glb", bumpySphere(2, 0.2, 1));
    out_ = (folder_.path() / "out.glb").string();
  }

  std::string meshFile(const std::string& name, const Soup& soup) {
    const auto glb = encodeGlb(assetOf(soup));
    EXPECT_TRUE(glb);
    return folder_.write(name, {reinterpret_cast<const char*>(glb->data()), glb->size()});
  }

  /// What a run that succeeds says in --json.
  nlohmann::json jsonOf(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "-", "--quiet"});
    const ProcessOutcome outcome = runHeatskin(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out, nullptr, false);
  }

  static void expectRefused(const std::vector<std::string>& arguments, int code) {
    const ProcessOutcome outcome = runHeatskin(arguments);
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_NE(outcome.err.find("heatskin: error: "), std::string::npos);
  }

  TemporaryFolder folder_;
  std::string product_, mesh_, out_;
};

TEST_F(TransferTest, TransferReportsWhatItDid) {
  const nlohmann::json result = jsonOf({"transfer", product_, "--onto", mesh_, "-o", out_, "--refit", "off"});
  for (const char* key :
       {"surface_psnr_source", "surface_psnr", "kernels_kept", "kernels_changed", "unmatched_area"})
    EXPECT_TRUE(result.contains(key)) << key;
  EXPECT_EQ(result["kernels_kept"], 120);
  EXPECT_EQ(runHeatskin({"inspect", out_}).exit_code, 0);
}

TEST_F(TransferTest, LodWritesAFileForEachLevel) {
  const nlohmann::json result =
      jsonOf({"lod", product_, "--levels", "2", "--no-refit", "-o", (folder_.path() / "l_%d.glb").string()});
  EXPECT_EQ(result["levels"].size(), 2u);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "l_0.glb"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "l_1.glb"));
}

TEST_F(TransferTest, EditReportsWhatItDidAndUndoesIt) {
  const std::string strokes = folder_.write(
      "s.json", R"({"strokes": [{"at": [0, 0, 1], "radius": 0.3, "values": {"base_color": [1, 0, 0]}}]})");
  const std::string patch = (folder_.path() / "patch.json").string();
  const nlohmann::json result =
      jsonOf({"edit", product_, "--paint", strokes, "-o", out_, "--save-patch", patch});
  for (const char* key :
       {"surface_psnr_source", "surface_psnr", "kernels_kept", "kernels_changed", "unmatched_area"})
    EXPECT_TRUE(result.contains(key)) << key;
  EXPECT_GT(result["kernels_changed"], 0);
  const std::string back = (folder_.path() / "back.glb").string();
  EXPECT_EQ(runHeatskin({"edit", out_, "--undo", patch, "-o", back}).exit_code, 0);
  EXPECT_EQ(*readFile(back), *readFile(product_)) << "the same file again";
}

TEST_F(TransferTest, BadInputIsRefused) {
  Soup far = flatGrid(3, 3);
  for (Vec3& p : far.positions)
    p += Vec3(1000, 0, 0);
  expectRefused({"transfer", product_, "--onto", meshFile("far.glb", far), "-o", out_}, 3);
  expectRefused({"transfer", product_, "--onto", folder_.write("none.obj", "v 0 0 0\n"), "-o", out_}, 3);
  expectRefused({"transfer", mesh_, "--onto", mesh_, "-o", out_}, 3);
  expectRefused({"transfer", "--onto", mesh_, "-o", out_}, 2);
  expectRefused({"transfer", product_, "--onto", mesh_, "-o", out_, "--steps", "5"}, 2);
  expectRefused({"edit", product_, "-o", out_}, 2);
  expectRefused({"edit", product_, "--mesh", meshFile("cube.glb", cube(3)), "-o", out_}, 3);
  const auto painted = [&](const std::string& text) {
    expectRefused({"edit", product_, "--paint", folder_.write("bad.json", text), "-o", out_}, 3);
  };
  painted("nonsense");
  painted(R"({"strokes": [{"at": [NaN, 0, 1], "radius": 0.3, "values": {"base_color": [1, 0, 0]}}]})");
  painted(R"({"strokes": [{"at": [0, 0, 1], "radius": 0.3, "values": {"glitter": [1, 0, 0]}}]})");
  painted(R"({"strokes": [{"at": [90, 0, 1], "radius": 0.3, "values": {"base_color": [1, 0, 0]}}]})");
  expectRefused({"edit", product_, "--undo", folder_.write("p.json", R"({"heatskin_patch": 1})"), "-o", out_},
                3);
  EXPECT_FALSE(std::filesystem::exists(out_)) << "nothing is written";
}

}  // namespace
}  // namespace heatskin::testing
