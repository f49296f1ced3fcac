// heatskin rd, end to end.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/run_process.h"
#include "support/temporary_folder.h"
#include "support/tetrahedron.h"

namespace heatskin::testing {
namespace {

using nlohmann::json;

class RdTest : public ::testing::Test {
 protected:
  std::string pumpkin() {
    const std::string file = folder_ / "pumpkin.glb";
    const auto made =
        runHeatskin({"demo-asset", "-o", file, "--resolution", "500", "--texture", "256", "-q"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return file;
  }

  std::vector<std::string> quick(const std::string& asset, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"rd", asset, "-o", folder_ / "out", "--steps", "4", "--samples", "1000",
                               "--view-size", "16"});
    return more;
  }

  /// One line of error with this code, and no folder.
  void expectError(const std::vector<std::string>& command, int code, const std::string& part) {
    const auto run = runHeatskin(command);
    EXPECT_EQ(run.exit_code, code) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_EQ(run.err.rfind("heatskin: error: ", 0), 0u) << run.err;
    EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  }

  TemporaryFolder folder_;
};

TEST_F(RdTest, WritesTablesDrawingAndReport) {
  if (sanitized()) GTEST_SKIP() << "minutes in a sanitised program; the library's own tests are sanitised";
  const std::string asset = pumpkin();
  const auto run = runHeatskin(quick(asset, {"--kernels", "900,700", "--json", folder_ / "copy.json"}),
                               {.time_limit_s = 1200});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("better choice for this asset"), std::string::npos) << "no verdict in " << run.out;

  const json result = json::parse(folder_.read("out/rd.json"));
  EXPECT_EQ(result, json::parse(folder_.read("copy.json")));
  EXPECT_EQ(result["rows"][0]["budget"], 700) << "in order, whatever order was given";
  EXPECT_NE(run.out.find(result["rows"][0]["name"].get<std::string>() + " "), std::string::npos) << run.out;
  std::map<std::string, int> kinds;
  for (const json& row : result["rows"]) {
    ++kinds[row["kind"]];
    for (const char* key : {"bytes", "raw_bytes", "seconds", "view_ssim", "view_flip"})
      EXPECT_TRUE(row[key].is_number()) << row;
    EXPECT_GT(row["bytes"], 0) << row;
    EXPECT_TRUE(row["surface_psnr"].is_number() || row["surface_psnr_infinite"] == true) << row;
  }
  EXPECT_EQ(kinds["kernels"], 2);
  EXPECT_EQ(kinds["png"], 4) << "256, 128, 64 and 32 texels";
  EXPECT_EQ(kinds["jpeg"], 16);
  EXPECT_EQ(kinds["webp"], 24);
  EXPECT_GE(kinds["vertex_colors"], 3);
  EXPECT_TRUE(result["images_missing"].is_null());
  EXPECT_GT(result["uv"]["seam_vertices"], 0) << "the pumpkin's atlas has charts";
  EXPECT_LT(result["uv"]["bytes"], result["uv"]["raw_bytes"]);
  for (const json& sentence : result["verdict"])
    EXPECT_NE(folder_.read("out/rd.md").find(sentence.get<std::string>()), std::string::npos) << sentence;

  const std::string csv = folder_.read("out/rd.csv");
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), 1 + result["rows"].size());
  const auto columns =
      std::count(csv.begin(), csv.begin() + static_cast<std::ptrdiff_t>(csv.find('\n')), ',');
  std::size_t at = 0;
  for (std::size_t end = csv.find('\n'); end != std::string::npos; at = end + 1, end = csv.find('\n', at))
    EXPECT_EQ(std::count(csv.begin() + static_cast<std::ptrdiff_t>(at),
                         csv.begin() + static_cast<std::ptrdiff_t>(end), ','),
              columns);
  const std::string svg = folder_.read("out/rd.svg"), page = folder_.read("out/index.html");
  for (const char* text :
       {"surface PSNR, dB", "bytes, compressed", "kernels", "WebP", "JPEG", "PNG", "vertex colours"})
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  for (const std::string* text : {&svg, &page}) {
    EXPECT_EQ(text->find("nan"), std::string::npos);
    EXPECT_EQ(text->find("\"inf"), std::string::npos);
  }
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_NE(page.find("data:image/webp"), std::string::npos);

  // Once more, on one thread: the same but for seconds.
  const auto again =
      runHeatskin(quick(asset, {"--kernels", "900,700", "--threads", "1", "-q"}), {.time_limit_s = 1200});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, "");
  json second = json::parse(folder_.read("out/rd.json")), first = result;
  for (json* document : {&first, &second}) {
    for (const char* key : {"threads", "peak_rss_mb"})
      document->erase(key);
    for (json& row : (*document)["rows"])
      row.erase("seconds");
  }
  EXPECT_EQ(first, second);
  EXPECT_EQ(folder_.read("out/rd.svg"), svg);
}

TEST_F(RdTest, AnAssetWithVertexColorsHasNoImages) {
  const std::string mesh = folder_.write("mesh.obj", kTetrahedron);
  const auto run =
      runHeatskin(quick(mesh, {"--kernels", "40", "--set", "sampling.pool=2000", "--set", "batch=64"}),
                  {.time_limit_s = 1200});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(
      run.out.find("There is no image to compare with: no face of the asset has a base colour texture."),
      std::string::npos)
      << run.out;
  const json result = json::parse(folder_.read("out/rd.json"));
  EXPECT_TRUE(result["images_missing"].is_string());
  for (const json& row : result["rows"])
    EXPECT_TRUE(row["kind"] == "kernels" || row["kind"] == "vertex_colors");
  // Its own four colours are the best way to store it.
  EXPECT_NE(run.out.find("Vertex colours are the better choice for this asset."), std::string::npos)
      << run.out;
}

TEST_F(RdTest, LeavesOutWhatIsBoundedAndSaysSo) {
  if (sanitized()) GTEST_SKIP() << "minutes in a sanitised program; the library's own tests are sanitised";
  const auto run = runHeatskin(
      quick(pumpkin(), {"--kernels", "700,900,50000", "--max-kernels", "1000", "--max-seconds", "0.001"}),
      {.time_limit_s = 1200});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.err.find("warning: 900 kernels are left out"), std::string::npos) << run.err;
  const json result = json::parse(folder_.read("out/rd.json"));
  EXPECT_EQ(result["left_out"], json::array({900}));
  EXPECT_EQ(std::count_if(result["rows"].begin(), result["rows"].end(),
                          [](const json& row) { return row["kind"] == "kernels"; }),
            1);
}

TEST_F(RdTest, RefusesInOneLineAndLeavesNothing) {
  const std::string mesh = folder_.write("mesh.obj", kTetrahedron);
  for (const char* bad : {"", "0", "10,", ",10", "ten", "1e3", "-5", "10,,20", "1000001", "1.5"})
    expectError(quick(mesh, {std::string("--kernels=") + bad}), 2, "--kernels");
  expectError(quick(mesh, {"--kernels", "100", "--max-kernels", "50"}), 2, "--max-kernels 50 leaves none");
  expectError(quick(mesh, {"--preset", "magic"}), 2, "magic");
  expectError(quick(mesh, {"--set", "density.max_kernels=5"}), 2, "--kernels says how many");
  expectError(quick(mesh, {"--set", "steps=5"}), 2, "--set steps=5 and --steps 4 contradict");
  expectError(quick(mesh, {"--set", "nonsense=5"}), 2, "nonsense");
  expectError(quick(mesh, {"--view-size", "5"}), 2, "--view-size");
  expectError({"rd", mesh}, 2, "-o");
  expectError({"rd", mesh, "-o", ""}, 2, "-o");
  expectError(quick(folder_ / "missing.glb"), 3, "missing.glb");
  folder_.write("plain.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
  expectError(quick(folder_ / "plain.obj", {"-q"}), 3, "plain.obj");
  folder_.write("taken", "a file");
  const auto run = runHeatskin({"rd", mesh, "-o", folder_ / "taken"});
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_EQ(folder_.read("taken"), "a file");
}

}  // namespace
}  // namespace heatskin::testing
