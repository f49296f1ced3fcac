// heatskin fit from outside: what it writes, what it refuses, and that neither kill nor Ctrl-C changes the
// outcome.

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <set>
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

/// Enough steps to be interrupted, few enough to be quick.
constexpr const char* kConfig =
    "base = \"draft\"\n"
    "steps = 300\n"
    "batch = 256\n"
    "[sampling]\npool = 5000\n"
    "[start]\nkernels = 100\n"
    "[density]\nmax_kernels = 300\n";

class FitCli : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto grown =
        runHeatskin({"demo-asset", "-o", asset(), "--resolution", "500", "--texture", "256", "-q"});
    ASSERT_EQ(grown.exit_code, 0) << grown.err;
    folder_.write("small.toml", kConfig);
  }

  std::string asset() const { return folder_ / "a pumpkin.glb"; }

  std::vector<std::string> command(const std::string& output,
                                   const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {
        "fit", asset(), "-o", folder_ / output, "--config", folder_ / "small.toml", "--no-eval"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  void expectRefusal(const std::vector<std::string>& arguments, int code, const std::string& part) const {
    const auto names = folder_.names();
    const auto outcome = runHeatskin(arguments);
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_EQ(outcome.err.rfind("heatskin: error: ", 0), 0u) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << "no '" << part << "' in " << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(folder_.names(), names);
  }

  struct Stopped {
    ProcessOutcome outcome;
    std::string steps;  // of the whole fit
  };

  /// Runs a fit and sends it a signal as soon as it has written its first checkpoint. On a busy machine the
  /// fit may be over before we come to look; then a longer one is tried.
  Stopped stop(const std::string& output, int number) const {
    ProcessOptions options;
    options.signal_number = number;
    options.signal_when = [&] { return std::filesystem::exists(folder_ / (output + ".checkpoint")); };
    Stopped stopped;
    for (const char* steps : {"1000", "10000", "100000"}) {
      stopped.steps = steps;
      stopped.outcome =
          runHeatskin(command(output, {"--steps", steps, "--checkpoint-every", "0", "--quiet"}), options);
      if (stopped.outcome.exit_code != 0) break;
      for (const char* ending : {".glb", ".toml"})
        std::filesystem::remove(std::filesystem::path(folder_ / output).replace_extension(ending));
    }
    return stopped;
  }

  /// The product of a fit nobody interrupts.
  std::string uninterrupted(const std::string& steps) const {
    const auto whole = runHeatskin(command("whole.glb", {"--steps", steps, "--quiet"}));
    EXPECT_EQ(whole.exit_code, 0) << whole.err;
    return folder_.read("whole.glb");
  }

  TemporaryFolder folder_;
};

TEST_F(FitCli, ABudgetThatCannotCoverIsRaisedOrWarnedAbout) {
  constexpr int kParts = 1500;
  std::string ply =
      "ply\nformat ascii 1.0\nelement vertex 4500\nproperty float x\nproperty float y\nproperty float z\n"
      "property uchar red\nproperty uchar green\nproperty uchar blue\nelement face 1500\n"
      "property list uchar int vertex_indices\nend_header\n";
  for (int t = 0; t < kParts; ++t) {
    for (const char* corner : {"0", "0.2", "0.4"}) {
      ply += std::to_string(t % 40) + " " + std::to_string(t / 40) + " " + corner + " " +
             std::to_string(t % 250) + (corner[1] != '\0' && corner[2] == '2' ? " 90 10\n" : " 90 200\n");
    }
  }
  // Three corners on a line have no area: move one.
  std::string moved;
  std::size_t line = 0;
  for (std::size_t at = ply.find("end_header\n") + 11, begin = at; at < ply.size(); ++at) {
    if (ply[at] != '\n') continue;
    std::string text = ply.substr(begin, at - begin);
    if (line++ % 3 == 2) text = text.insert(text.find(' '), ".3");
    moved += text + "\n";
    begin = at + 1;
  }
  ply = ply.substr(0, ply.find("end_header\n") + 11) + moved;
  for (int t = 0; t < kParts; ++t) {
    ply += "3 " + std::to_string(3 * t) + " " + std::to_string(3 * t + 1) + " " + std::to_string(3 * t + 2) +
           "\n";
  }
  folder_.write("loose.ply", ply);
  const auto fitted = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "fit", folder_ / "loose.ply", "-o",     folder_ / "l.glb", "--preset", "draft", "--steps",
        "20",  "--no-eval",           "--json", folder_ / "l.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto outcome = runHeatskin(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.err;
  };
  // Nobody named a budget: 2,000 of preset draft become half as many again as there are parts.
  const std::string raised = fitted({});
  EXPECT_NE(raised.find("raised to 2,250"), std::string::npos) << raised;
  EXPECT_NE(folder_.read("l.toml").find("max_kernels = 2250\n"), std::string::npos);
  EXPECT_EQ(json::parse(folder_.read("l.json"))["warnings"].size(), 1u);
  // A budget that was named stays.
  const std::string kept = fitted({"--kernels", "100"});
  EXPECT_NE(
      kept.find(
          "100 kernels are too few to cover the surface (1,500 separate parts): it takes at least 1,500"),
      std::string::npos)
      << kept;
  EXPECT_NE(folder_.read("l.toml").find("max_kernels = 100\n"), std::string::npos);
  EXPECT_EQ(fitted({"--kernels", "3000"}).find("warning"), std::string::npos);
}

TEST_F(FitCli, WritesProductConfigurationAndAllFigures) {
  const auto outcome = runHeatskin({"fit", asset(), "-o", folder_ / "out.glb", "--config",
                                    folder_ / "small.toml", "--json", folder_ / "out.json", "--seed", "3"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(folder_.names(),
            (std::set<std::string>{"a pumpkin.glb", "small.toml", "out.glb", "out.toml", "out.json"}));
  const json result = json::parse(folder_.read("out.json"));
  for (const char* key : {"surface_psnr",
                          "view_psnr",
                          "view_ssim",
                          "atlas_psnr",
                          "coverage_below_half",
                          "coverage_defect",
                          "seam_jump_p99",
                          "seam_jump_max",
                          "kernels",
                          "init_s",
                          "preprocess_s",
                          "optimise_s",
                          "median_step_ms",
                          "peak_rss_mb",
                          "query_mpoints_s",
                          "model_bytes",
                          "bytes_per_kernel",
                          "seed",
                          "threads",
                          "vertices",
                          "faces",
                          "steps",
                          "quantisation_loss_db"})
    EXPECT_TRUE(result.contains(key) && result[key].is_number()) << key;
  EXPECT_EQ(result["method"], "local");
  EXPECT_EQ(result["preset"], "small");
  EXPECT_EQ(result["seed"], 3);
  EXPECT_EQ(result["steps"], 300);
  EXPECT_EQ(result["kernels"], 300);
  EXPECT_NEAR(result["bytes_per_kernel"].get<double>(), result["model_bytes"].get<double>() / 300, 1e-9);
  EXPECT_LT(result["bytes_per_kernel"], 16) << "tables of 300 kernels weigh more than those of thousands";
  EXPECT_LT(result["losses"].back().get<double>(), 0.8 * result["losses"].front().get<double>());
  EXPECT_LT(std::abs(result["quantisation_loss_db"].get<double>()), 0.05);
  double sum = 0;
  for (const char* phase :
       {"sampling", "candidates", "forward", "backward", "optimiser", "rebuild", "density", "solve"}) {
    ASSERT_TRUE(result["profile"].contains(phase)) << phase;
    if (result["profile"][phase].is_number()) sum += result["profile"][phase].get<double>();
  }
  EXPECT_NEAR(sum, result["optimise_s"].get<double>(), 1e-6);
  EXPECT_NE(outcome.out.find("against the nearest texel (200,000 points"), std::string::npos) << outcome.out;

  // The configuration beside the product makes the same product again.
  const auto again =
      runHeatskin({"fit", asset(), "-o", folder_ / "b.glb", "--config", folder_ / "out.toml", "--no-eval"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(folder_.read("b.toml"), folder_.read("out.toml"));
  EXPECT_TRUE(folder_.read("b.glb") == folder_.read("out.glb"));
}

TEST_F(FitCli, FitsVertexColoursWithoutTextureCoordinates) {
  const std::string mesh = folder_.write("mesh.obj", kTetrahedron);
  const auto outcome =
      runHeatskin({"fit", mesh, "-o", folder_ / "out.glb", "--config", folder_ / "small.toml", "--steps",
                   "50", "--kernels", "60", "--set", "sampling.pool=2000", "--json", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_TRUE(result["atlas_psnr"].is_null());
  EXPECT_TRUE(result["surface_psnr"].is_number());
  EXPECT_LE(result["kernels"].get<int>(), 60);
  EXPECT_EQ(result["steps"], 50);
}

TEST_F(FitCli, SameBytesForAnyNumberOfThreadsAndOtherBytesForAnotherSeed) {
  ASSERT_EQ(runHeatskin(command("one.glb", {"--threads", "1", "--steps", "60"})).exit_code, 0);
  ASSERT_EQ(runHeatskin(command("two.glb", {"--threads", "2", "--steps", "60"})).exit_code, 0);
  ASSERT_EQ(runHeatskin(command("seed.glb", {"--seed", "1", "--steps", "60"})).exit_code, 0);
  EXPECT_TRUE(folder_.read("one.glb") == folder_.read("two.glb"));
  EXPECT_FALSE(folder_.read("one.glb") == folder_.read("seed.glb"));
}

TEST_F(FitCli, KilledAtAnyMomentAndResumedItEndsWithTheSameBytes) {
  // Once for certain in the middle of the work, then whenever.
  const auto [killed, steps] = stop("killed.glb", SIGKILL);
  ASSERT_EQ(killed.signal_number, SIGKILL) << killed.err;
  const auto whole = runHeatskin(command("whole.glb", {"--steps", steps}));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const std::vector<std::string> again = command(
      "killed.glb",
      {"--steps", steps, "--resume=auto", "--checkpoint-every", "0", "--json", folder_ / "killed.json"});
  for (const double moment : {0.06, 0.3, 0.5, 0.35}) {
    ProcessOptions options;
    options.signal_number = SIGKILL;
    options.signal_after_s = moment * whole.seconds;
    runHeatskin(again, options);
  }
  const auto last = runHeatskin(again);
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_TRUE(folder_.read("killed.glb") == folder_.read("whole.glb"));
  EXPECT_EQ(folder_.read("killed.toml"), folder_.read("whole.toml"));
  EXPECT_FALSE(folder_.names().contains("killed.glb.checkpoint"));
}

TEST_F(FitCli, CtrlCSavesAndSaysHowToResume) {
  for (const int number : {SIGINT, SIGTERM}) {
    const auto [stopped, steps] = stop("my fit.glb", number);
    ASSERT_EQ(stopped.exit_code, 128 + number) << stopped.err;
    EXPECT_EQ(std::count(stopped.err.begin(), stopped.err.end(), '\n'), 1) << stopped.err;
    EXPECT_EQ(stopped.err.rfind("heatskin: error: interrupted; ", 0), 0u) << stopped.err;
    EXPECT_FALSE(folder_.names().contains("my fit.glb"));
    ASSERT_TRUE(folder_.names().contains("my fit.glb.checkpoint"));

    // Exactly what the message says, typed into a shell.
    const std::string mark = "; resume with: heatskin ";
    const std::size_t at = stopped.err.find(mark);
    ASSERT_NE(at, std::string::npos) << stopped.err;
    std::string typed = stopped.err.substr(at + mark.size());
    typed.pop_back();
    EXPECT_TRUE(typed.ends_with(" --resume")) << typed;
    const auto resumed = runProcess({"/bin/sh", "-c", "'" + heatskinBinary() + "' " + typed});
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_TRUE(folder_.read("my fit.glb") == uninterrupted(steps));
    EXPECT_FALSE(folder_.names().contains("my fit.glb.checkpoint"));
    std::filesystem::remove(folder_ / "my fit.glb");
  }
}

TEST_F(FitCli, ACheckpointOfSomethingElseIsRefused) {
  const auto [stopped, steps] = stop("out.glb", SIGINT);
  ASSERT_EQ(stopped.exit_code, 130) << stopped.err;
  const auto resume = [&](const std::string& now) {
    return command("out.glb", {"--steps", now, "--resume", "-q"});
  };
  expectRefusal(resume("77"), 3, "was made with steps = " + steps + ", now it is 77");
  auto other = resume(steps);
  other[1] = folder_.write("mesh.obj", kTetrahedron);
  expectRefusal(other, 3, "belongs to another asset");
  std::string bytes = folder_.read("out.glb.checkpoint");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  folder_.write("out.glb.checkpoint", bytes);
  expectRefusal(resume(steps), 3, "checksum");
  folder_.write("out.glb.checkpoint", "hello");
  expectRefusal(resume(steps), 3, "not a checkpoint");
  // --resume=auto starts over, and says why.
  const auto over = runHeatskin(command("out.glb", {"--steps", "20", "--resume=auto"}));
  EXPECT_EQ(over.exit_code, 0) << over.err;
  EXPECT_NE(over.err.find("warning: " + (folder_ / "out.glb.checkpoint") + ": "), std::string::npos)
      << over.err;
  EXPECT_NE(over.err.find("the fit starts over"), std::string::npos) << over.err;
  EXPECT_TRUE(folder_.names().contains("out.glb"));
}

TEST_F(FitCli, RefusesWhatCannotBe) {
  expectRefusal({"fit", asset()}, 2, "--output");
  expectRefusal({"fit", "-o", folder_ / "o.glb"}, 2, "ASSET");
  expectRefusal(command("o.obj"), 2, ".glb");
  expectRefusal(command("missing/o.glb"), 1, "does not exist");
  expectRefusal({"fit", asset(), "-o", asset()}, 2, "is an input (ASSET)");
  expectRefusal({"fit", asset(), "-o", "/dev/null"}, 2, "not a regular file");
  expectRefusal({"fit", folder_ / "none.glb", "-o", folder_ / "o.glb"}, 3, "none.glb");
  expectRefusal(command("o.glb", {"--method", "magic"}), 2,
                "--method magic: choose one of local, thermal, spectral");
  expectRefusal({"fit", asset(), "-o", folder_ / "o.glb", "--preset", "best"}, 2,
                "default, compact, draft, paper");
  expectRefusal(command("o.glb", {"--preset", "draft"}), 2, "--preset");
  expectRefusal(command("o.glb", {"--set", "stepz=3"}), 2, "did you mean 'steps'?");
  expectRefusal(command("o.glb", {"--set", "steps"}), 2, "key=value");
  expectRefusal(command("o.glb", {"--steps", "0"}), 2, "--steps 0: give a whole number from 1");
  expectRefusal(command("o.glb", {"--steps", "many"}), 2, "--steps");
  expectRefusal(command("o.glb", {"--kernels", "0"}), 2, "--kernels 0: give a whole number from 1");
  expectRefusal(command("o.glb", {"--seed", "18446744073709551615"}), 2, "seed");
  expectRefusal(command("o.glb", {"--set", "start.kernels=301"}), 2, "above density.max_kernels (300)");
  expectRefusal(command("o.glb", {"--set", "nothing.like.this=5"}), 2,
                "'heatskin fit --list-options' lists all");
  expectRefusal(command("o.glb", {"--resume"}), 3, "there is no checkpoint to resume from");
  expectRefusal(command("o.glb", {"--resume=perhaps"}), 2, "--resume=auto");
  expectRefusal(command("o.glb", {"--checkpoint", asset()}), 2, "would be overwritten by the checkpoint");
  expectRefusal(command("small.glb"), 2, "would be overwritten");
  folder_.write("bad.toml", "steps = 3\nrates.colour = 1\n");
  expectRefusal({"fit", asset(), "-o", folder_ / "o.glb", "--config", folder_ / "bad.toml"}, 3,
                "bad.toml:2: there is no option 'rates.colour'");
}

TEST_F(FitCli, SaysWhenThereIsNothingToFit) {
  folder_.write("two.mtl", "newmtl a\nKd 0.9 0.1 0.1\nnewmtl b\nKd 0 0 1\n");
  folder_.write("two.obj",
                "mtllib two.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nusemtl a\nf 1 2 3\nusemtl b\nf 2 4 3\n");
  expectRefusal({"fit", folder_ / "two.obj", "-o", folder_ / "x.glb"}, 3, "two.obj: there is nothing to fit");
}

TEST_F(FitCli, TheFilterIsPartOfTheConfigurationAndOfTheProduct) {
  const auto run = [&](const std::string& output, const std::string& filter) {
    const auto outcome =
        runHeatskin({"fit", asset(), "-o", folder_ / output, "--config", folder_ / "small.toml", "--steps",
                     "20", "--json", folder_ / (output + ".json"), "--filter", filter});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return json::parse(folder_.read(output + ".json"));
  };
  const json paper = run("paper.glb", "paper"), automatic = run("auto.glb", "auto");
  EXPECT_EQ(paper["filter"], "paper");
  EXPECT_EQ(automatic["filter"], "bilinear");
  EXPECT_NE(folder_.read("paper.toml").find("filter = \"paper\""), std::string::npos);
  EXPECT_NE(folder_.read("auto.toml").find("filter = \"auto\""), std::string::npos);
  EXPECT_NE(folder_.read("paper.glb"), folder_.read("auto.glb"));
  // eval reads textures as the fit did, and says so.
  const auto outcome =
      runHeatskin({"eval", folder_ / "paper.glb", "--reference", asset(), "--json", folder_ / "eval.json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const json evaluated = json::parse(folder_.read("eval.json"));
  EXPECT_EQ(evaluated["filter"], "paper");
  // eval follows the charts of the file in single precision, where the fit searched.
  EXPECT_NEAR(evaluated["surface_psnr"].get<double>(), paper["surface_psnr"].get<double>(), 1e-6);
  expectRefusal({"fit", asset(), "-o", folder_ / "x.glb", "--filter", "cubic"}, 2, "--filter");
}

// What a fit takes is told before it begins, and refused by --max-memory: with many kernels and on a mesh
// that gets a support proxy.
TEST_F(FitCli, MemoryIsPredictedAndRefusedInTime) {
  if (sanitized()) GTEST_SKIP() << "sanitizers take memory of their own";
  const std::string fine = folder_ / "fine.glb";
  ASSERT_EQ(
      runHeatskin({"demo-asset", "-o", fine, "--resolution", "60000", "--texture", "256", "-q"}).exit_code,
      0);
  struct Case {
    std::string asset, kernels, steps;
  };
  for (const Case& c : {Case{asset(), "5000", "5"}, Case{asset(), "60000", "4"}, Case{fine, "5000", "5"}}) {
    const auto outcome =
        runHeatskin({"fit", c.asset, "-o", folder_ / "o.glb", "--preset", "compact", "--kernels", c.kernels,
                     "--steps", c.steps, "--no-eval", "-q", "--json", folder_ / "o.json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const json report = json::parse(folder_.read("o.json"));
    const double estimate = report.at("memory_estimate_bytes"),
                 measured = 1e6 * report.at("peak_rss_mb").get<double>();
    EXPECT_GT(estimate, 0.7 * measured) << c.asset << " " << c.kernels << ": " << measured;
    EXPECT_LT(estimate, 1.6 * measured) << c.asset << " " << c.kernels << ": " << measured;
  }
  expectRefusal({"fit", asset(), "-o", folder_ / "p.glb", "--kernels", "1000000", "--max-memory", "500M"}, 3,
                "a fit of 1000000 kernels on");
}

TEST_F(FitCli, DoesNotFitAProduct) {
  ASSERT_EQ(runHeatskin(command("out.glb", {"--steps", "10"})).exit_code, 0);
  auto again = command("again.glb", {"-q"});
  again[1] = folder_ / "out.glb";
  expectRefusal(again, 3, "is a fitted texture already");
}

TEST(FitOptions, AreListedWithoutAnAsset) {
  const auto outcome = runHeatskin({"fit", "--list-options"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* part : {"rates.anisotropy = ", "local.window_sigma = ", "sampling.rule = \"stratified\""})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace heatskin::testing
