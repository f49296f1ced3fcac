// `heatskin bench`: every bench runs and reports what it promises. How large the figures are is for people.

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/coloured_ball.h"
#include "support/run_process.h"
#include "support/temporary_folder.h"

namespace heatskin::testing {
namespace {

using nlohmann::json;

class BenchCli : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(
        runHeatskin({"demo-asset", "-o", asset(), "--resolution", "600", "--texture", "256", "-q"}).exit_code,
        0);
  }

  std::string asset() const { return folder_ / "pumpkin.glb"; }

  /// The rows of a bench on a small asset, by name; `required` must be among them and positive.
  void expectRows(const std::string& bench, const std::vector<std::string>& required) {
    std::vector<std::string> command = {"bench", bench, "--repeats", "1", "--json", folder_ / "out.json"};
    if (bench == "thermal" || bench == "spectral") {
      command.insert(command.end(), {"--asset", folder_.write("ball.ply", colouredBall(2)), "--steps", "3"});
    } else {
      command.insert(command.end(), {"--asset", asset()});
    }
    if (bench == "speed") command.insert(command.end(), {"--steps", "100"});
    const auto outcome = runHeatskin(command);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const json report = json::parse(folder_.read("out.json"));
    EXPECT_EQ(report.at("name"), bench);
    EXPECT_GE(report.at("machine").at("cores").get<int>(), 1);
    json values;
    for (const json& row : report.at("rows")) {
      const std::string name = row.at("name");
      ASSERT_TRUE(row.at("value").is_number()) << name;
      EXPECT_TRUE(std::isfinite(row.at("value").get<double>())) << name;
      EXPECT_NE(outcome.out.find(name), std::string::npos) << "on the terminal too";
      values[name] = row.at("value");
    }
    for (const std::string& name : required) {
      ASSERT_TRUE(values.contains(name)) << name << " is missing in " << bench;
      EXPECT_GT(values[name].get<double>(), 0) << name;
    }
  }

  TemporaryFolder folder_;
};

TEST_F(BenchCli, Speed) {
  expectRows("speed",
             {"step_ms", "init_s", "optimise_s", "rebuild_r015_ms", "query_mpoints_s", "simd_vs_scalar",
              "two_threads_vs_one", "exp_roofline_fraction", "surface_psnr", "peak_rss_mb"});
}

TEST_F(BenchCli, WalkAndLoad) {
  expectRows("walk", {"walk_0.05_1t", "walk_0.05_all", "walk_0.05_all_over_1t"});
  expectRows("load", {"pumpkin_faces", "pumpkin_load", "pumpkin_surface", "pumpkin_peak"});
}

TEST_F(BenchCli, Shapes) {
  if (sanitized()) GTEST_SKIP() << "takes minutes under sanitizers";
  expectRows("shapes", {"fan_surface", "cone_step", "needles_rebuild", "ribbon_query", "comb_farthest",
                        "giant_step", "components_rebuild"});
}

// Levels with four times as many vertices each, in processes of their own.
TEST_F(BenchCli, Scale) {
  if (sanitized()) GTEST_SKIP() << "takes minutes under sanitizers";
  const auto outcome =
      runHeatskin({"bench", "scale", "--asset", asset(), "--levels", "2", "--steps", "100", "--methods",
                   "local", "--json", folder_ / "out.json", "--figure", folder_ / "out.svg"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json report = json::parse(folder_.read("out.json"));
  EXPECT_EQ(report.at("name"), "scale");
  std::map<std::string, std::vector<std::pair<double, double>>> found;  // figure: (vertices, value)
  for (const json& row : report.at("rows")) {
    const std::string name = row.at("name");  // METHOD_VERTICES_FIGURE
    const std::size_t first = name.find('_'), second = name.find('_', first + 1);
    ASSERT_NE(second, std::string::npos) << name;
    EXPECT_EQ(row.at("note"), "measured") << name;
    found[name.substr(0, first) + name.substr(second)].emplace_back(std::stod(name.substr(first + 1, second)),
                                                                    row.at("value").get<double>());
  }
  for (const std::string method : {"local"}) {  // the others take minutes
    for (const char* figure : {"setup_s", "step_ms", "query_mpoints_s", "beyond_mb", "psnr"}) {
      const auto& levels = found[method + "_" + figure];
      ASSERT_EQ(levels.size(), 2u) << method << " " << figure;
      EXPECT_NEAR(levels[1].first, 4 * levels[0].first, 10);
      EXPECT_GT(levels[0].second, 0);
      EXPECT_GT(levels[1].second, 0);
    }
  }
  EXPECT_NE(outcome.out.find("set-up s"), std::string::npos);
  EXPECT_NE(folder_.read("out.svg").find("</svg>"), std::string::npos);
  // The polyhedron is the same: so is what can be had of its colours, within a decibel in so few steps.
  EXPECT_NEAR(found["local_psnr"][0].second, found["local_psnr"][1].second, 1);
}

TEST_F(BenchCli, Budgets) {
  if (sanitized()) GTEST_SKIP() << "takes minutes under sanitizers";
  const auto outcome = runHeatskin({"bench", "budgets", "--asset", asset(), "--budgets", "300,1200",
                                    "--steps", "12", "--json", folder_ / "out.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json report = json::parse(folder_.read("out.json"));
  EXPECT_EQ(report.at("name"), "budgets");
  std::map<std::string, double> found;
  for (const json& row : report.at("rows"))
    found[row.at("name")] = row.at("value");
  for (const std::string budget : {"300_", "1200_"}) {
    for (const char* figure : {"sample_us", "step_ms", "query_mpoints_s", "beyond_mb", "pool_mb", "psnr"})
      EXPECT_GT(found[budget + figure], 0) << budget << figure;
  }
  // 200 samples for each kernel, and never fewer than 2^17.
  EXPECT_NEAR(found["1200_pool_mb"] / found["300_pool_mb"], 200 * 1200 / 131072.0, 1e-9);
  EXPECT_GT(found["1200_sample_ratio"], 0);
  EXPECT_GT(found["1200_query_ratio"], 0);
  EXPECT_NE(outcome.out.find("bytes per kernel"), std::string::npos);
  for (const std::string list : {"0", "5,5", "20,10", "5,", "5;6", "2000000"})
    EXPECT_EQ(runHeatskin({"bench", "budgets", "--asset", asset(), "--budgets", list}).exit_code, 2) << list;
  EXPECT_EQ(runHeatskin({"bench", "walk", "--budgets", "300"}).exit_code, 2);
}

TEST_F(BenchCli, Thermal) {
  if (sanitized()) GTEST_SKIP() << "takes minutes under sanitizers";
  expectRows("thermal", {"step_ms", "two_threads_vs_one", "simd_vs_scalar", "query_mpoints_s"});
}

TEST_F(BenchCli, Spectral) {
  if (sanitized()) GTEST_SKIP() << "takes minutes under sanitizers";
  expectRows("spectral", {"preprocess_s", "two_threads_vs_one", "step_ms", "simd_vs_scalar"});
}

}  // namespace
}  // namespace heatskin::testing
