// heatskin with --method thermal and spectral: fit, eval, query and render, and the cache of their
// preprocessing.

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/coloured_ball.h"
#include "support/run_process.h"
#include "support/temporary_folder.h"
#include "support/tetrahedron.h"

namespace heatskin::testing {
namespace {

using nlohmann::json;

constexpr const char* kMethodsConfig =
    "base = \"draft\"\n"
    "steps = 30\n"
    "batch = 256\n"
    "[thermal]\nrank = 32\noversampling = 16\nrouting_dimensions = 32\n"
    "[spectral]\nmodes = 32\n"
    "[sampling]\npool = 5000\n"
    "[start]\nkernels = 100\n"
    "[density]\nmax_kernels = 150\n";

class MethodCli : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    // A ball of 162 coloured vertices: small enough for 43 dense eigenproblems in a sanitised build.
    folder_.write("ball.ply", colouredBall(2));
    folder_.write("small.toml", kMethodsConfig);
  }

  std::string asset() const { return folder_ / "ball.ply"; }

  std::vector<std::string> fit(const std::string& output) const {
    return {"fit",      asset(),  "-o", folder_ / output, "--config", folder_ / "small.toml", "--method",
            GetParam(), "--json", "-",  "--no-eval"};
  }

  ProcessOptions cached(const std::string& value) const {
    ProcessOptions options;
    options.environment["HEATSKIN_CACHE"] = value;
    // Where a cache would be if the variable did not count.
    options.environment["XDG_CACHE_HOME"] = folder_ / "home";
    options.environment["HOME"] = folder_ / "home";
    return options;
  }

  std::set<std::string> filesIn(const std::string& name) const {
    std::set<std::string> names;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / name, ignored))
      names.insert(entry.path().filename().string());
    return names;
  }

  TemporaryFolder folder_;
};

TEST_P(MethodCli, FitsAndTheProductWorksEverywhere) {
  const auto options = cached(folder_ / "cache");
  const auto outcome = runHeatskin(fit("out.glb"), options);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["method"], GetParam());
  EXPECT_LT(result["losses"].back().get<double>(), result["losses"].front().get<double>());
  const auto stored = filesIn("cache");
  EXPECT_EQ(stored.size(), 1u) << "fit and product share one geometry";
  EXPECT_TRUE(filesIn("home").empty());

  // The same from the cache, and with none: the same bytes.
  const auto again = runHeatskin(fit("again.glb"), options);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(filesIn("cache"), stored) << "found again";
  EXPECT_TRUE(folder_.read("again.glb") == folder_.read("out.glb"));
  auto plain = fit("plain.glb");
  plain.insert(plain.end(), {"--threads", "1"});
  ASSERT_EQ(runHeatskin(plain, cached("off")).exit_code, 0);
  EXPECT_TRUE(folder_.read("plain.glb") == folder_.read("out.glb"));
  EXPECT_TRUE(filesIn("home").empty()) << "off is off";

  const auto eval = runHeatskin(
      {"eval", folder_ / "out.glb", "--reference", asset(), "--samples", "5000", "--json", "-"}, options);
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  const json figures = json::parse(eval.out);
  EXPECT_EQ(figures["method"], GetParam());
  EXPECT_GT(figures["surface_psnr"].get<double>(), 10);

  // Frozen, and read as another method reads it.
  const auto swapped = runHeatskin({"eval", folder_ / "out.glb", "--reference", asset(), "--samples", "5000",
                                    "--as", "local", "--json", "-"},
                                   options);
  ASSERT_EQ(swapped.exit_code, 0) << swapped.err;
  const json other = json::parse(swapped.out);
  EXPECT_EQ(other["method"], "local");
  EXPECT_EQ(other["fitted_method"], GetParam());
  EXPECT_NE(other["surface_psnr"], figures["surface_psnr"]);
  EXPECT_EQ(figures["fitted_method"], GetParam());

  const std::string points = folder_.write("points.csv", "0,0.2,0.3,0.5\n7,1,0,0\n");
  const auto query = runHeatskin({"query", folder_ / "out.glb", "--points", points}, options);
  ASSERT_EQ(query.exit_code, 0) << query.err;
  EXPECT_EQ(std::count(query.out.begin(), query.out.end(), '\n'), 3) << query.out;  // with the header

  const auto render = runHeatskin(
      {"render", folder_ / "out.glb", "-o", folder_ / "view.png", "--view", "0", "--size", "64"}, options);
  EXPECT_EQ(render.exit_code, 0) << render.err;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "view.png"));
  EXPECT_EQ(filesIn("cache"), stored);
}

TEST_P(MethodCli, FitsFourTriangles) {
  const std::string mesh = folder_.write("mesh.obj", kTetrahedron);
  const auto outcome = runHeatskin({"fit", mesh, "-o", folder_ / "out.glb", "--config",
                                    folder_ / "small.toml", "--method", GetParam(), "--no-eval", "-q"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out.glb"));
}

INSTANTIATE_TEST_SUITE_P(Methods, MethodCli, ::testing::Values("thermal", "spectral"),
                         [](const auto& test) { return test.param; });

TEST(MethodsCli, AnUnknownMethodIsWrongUsage) {
  TemporaryFolder folder;
  const std::string mesh = folder.write("mesh.obj", kTetrahedron);
  const auto outcome = runHeatskin({"fit", mesh, "-o", folder / "out.glb", "--method", "magic"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("--method magic: choose one of local, thermal, spectral"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(folder.names(), std::set<std::string>{"mesh.obj"});
}

}  // namespace
}  // namespace heatskin::testing
