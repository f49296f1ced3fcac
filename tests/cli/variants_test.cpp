// Material variants on the command line: fit, and --variant of eval, render and query; inspect.

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "heatskin/io/table_file.h"

#include "support/run_process.h"
#include "support/temporary_folder.h"
#include "support/variant_file.h"

namespace heatskin::testing {
namespace {

using nlohmann::json;

class VariantsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<std::uint8_t> glb = variantFile().glb();
    asset_ = folder_.write("squares.glb", {reinterpret_cast<const char*>(glb.data()), glb.size()});
  }

  std::string path(const std::string& name) const { return folder_ / name; }
  json read(const std::string& name) const {
    std::ifstream file(path(name));
    return json::parse(file);
  }
  ProcessOutcome fit(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"fit", asset_, "-o", path("out.glb"), "--preset", "draft", "--steps", "100",
                               "--kernels", "300", "--json", path("fit.json")});
    return runHeatskin(more);
  }
  /// The colour of the middle of a square.
  std::vector<double> colorAt(const std::string& point, const std::vector<std::string>& more) {
    std::vector<std::string> command = {"query", path("out.glb"), "--points", folder_.write("p.csv", point),
                                        "-o",    path("c.npy")};
    command.insert(command.end(), more.begin(), more.end());
    const auto outcome = runHeatskin(command);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto table = readTable(path("c.npy"));
    return table->values;
  }

  TemporaryFolder folder_;
  std::string asset_;
};

TEST_F(VariantsTest, AreFittedMeasuredAskedAndDrawn) {
  const auto fitted = fit();
  ASSERT_EQ(fitted.exit_code, 0) << fitted.err;
  const json figures = read("fit.json");
  ASSERT_EQ(figures["variants"].size(), 2u) << figures["variants"];
  EXPECT_GT(figures["variants"]["stripes"]["channels"]["base_color"]["psnr"].get<double>(), 15);
  EXPECT_GT(figures["variants"]["stripes"]["bytes"].get<int>(), 0);
  EXPECT_EQ(figures["variants"]["plain"]["bytes"], 0);
  EXPECT_EQ(figures["variant_bytes"], figures["variants"]["stripes"]["bytes"]);
  EXPECT_NE(fitted.out.find("stripes"), std::string::npos) << "people see it, too";

  const auto evaluated = runHeatskin({"eval", path("out.glb"), "--reference", asset_, "--variant", "stripes",
                                      "--samples", "20000", "--json", path("eval.json")});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_EQ(read("eval.json")["variant"], "stripes");
  EXPECT_NEAR(read("eval.json")["channels"]["base_color"]["psnr"].get<double>(),
              figures["variants"]["stripes"]["channels"]["base_color"]["psnr"].get<double>(), 0.5);

  // sRGB of the factor (0.25, 0.5, 1), to the last digit that a table has.
  const std::vector<double> plain = colorAt("0.5,0.5,0\n", {"--variant", "plain"});
  EXPECT_NEAR(plain[0], 0.5371, 1e-3);
  EXPECT_NEAR(plain[1], 0.7354, 1e-3);
  EXPECT_NEAR(plain[2], 1, 1e-6);
  EXPECT_EQ(colorAt("0.5,0.5,0\n", {"--variant", "usual"}), colorAt("0.5,0.5,0\n", {}));
  // The right square is the same whatever the variant, up to what the left one's values reach across.
  EXPECT_EQ(colorAt("2,0.5,0\n", {"--variant", "plain"}), colorAt("2,0.5,0\n", {}));

  for (const std::string& file : {asset_, path("out.glb")}) {
    const auto drawn = runHeatskin({"render", file, "-o", path("picture.png"), "--size", "48", "--mode",
                                    "albedo", "--variant", "plain"});
    EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
    const auto inspected = runHeatskin({"inspect", file, "--json", path("inspect.json")});
    EXPECT_EQ(inspected.exit_code, 0) << inspected.err;
    EXPECT_EQ(read("inspect.json")["variants"], json({"stripes", "plain", "usual"}));
    EXPECT_NE(inspected.out.find("stripes, plain, usual"), std::string::npos) << inspected.out;
  }
  EXPECT_EQ(read("inspect.json")["fitted_variants"], json({"stripes"}));
}

TEST_F(VariantsTest, UnknownNamesAreRefusedWithThoseThereAre) {
  ASSERT_EQ(fit({"--no-eval"}).exit_code, 0);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"eval", path("out.glb"), "--reference", asset_},
        std::vector<std::string>{"render", path("out.glb"), "-o", path("a.png"), "--size", "32"},
        std::vector<std::string>{"query", path("out.glb"), "--points", folder_.write("q.csv", "0,0,0\n")}}) {
    std::vector<std::string> with = command;
    with.insert(with.end(), {"--variant", "Stripes"});
    const auto outcome = runHeatskin(with);
    EXPECT_EQ(outcome.exit_code, 2) << command[0];
    EXPECT_NE(outcome.err.find("'stripes', 'plain', 'usual'"), std::string::npos) << outcome.err;
    with.back() = "";
    EXPECT_EQ(runHeatskin(with).exit_code, 2) << command[0];
  }
}

TEST_F(VariantsTest, CanBeLeftAlone) {
  ASSERT_EQ(fit({"--no-variants", "--no-eval"}).exit_code, 0);
  EXPECT_TRUE(read("fit.json")["variants"].empty());
  EXPECT_EQ(read("fit.json")["variant_bytes"], 0);
}

}  // namespace
}  // namespace heatskin::testing
