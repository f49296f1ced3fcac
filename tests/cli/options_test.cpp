// Options: each has an effect or is refused, and whatever is wrong is said in one line under the name the
// user typed.

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/run_process.h"
#include "support/temporary_folder.h"
#include "support/tetrahedron.h"

namespace heatskin::testing {
namespace {

using nlohmann::json;

class Options : public ::testing::Test {
 protected:
  std::string mesh() const { return folder_.write("mesh.obj", kTetrahedron); }

  std::vector<std::string> fit(std::vector<std::string> more = {}) const {
    more.insert(more.begin(),
                {"fit", mesh(), "-o", folder_ / "o.glb", "--preset", "draft", "--set", "sampling.pool=2000",
                 "--set", "start.kernels=20", "--set", "batch=64", "--no-eval"});
    return more;
  }

  int run(const std::vector<std::string>& arguments, const ProcessOptions& options = {}) {
    last_ = runHeatskin(arguments, options);
    return last_.exit_code;
  }

  void expectUsageError(const std::vector<std::string>& arguments, const std::string& part) {
    EXPECT_EQ(run(arguments), 2) << last_.err;
    EXPECT_EQ(std::count(last_.err.begin(), last_.err.end(), '\n'), 1) << last_.err;
    EXPECT_EQ(last_.err.rfind("heatskin: error: ", 0), 0u) << last_.err;
    EXPECT_LT(last_.err.size(), 250u) << "one readable line: " << last_.err;
    EXPECT_NE(last_.err.find(part), std::string::npos) << "no '" << part << "' in " << last_.err;
  }

  void expectWarning(const std::vector<std::string>& arguments, const std::string& part) {
    EXPECT_EQ(run(arguments), 0) << last_.err;
    EXPECT_NE(last_.err.find("heatskin: warning: " + part), std::string::npos) << last_.err;
  }

  TemporaryFolder folder_;
  ProcessOutcome last_;
};

TEST_F(Options, NumbersAreNamedAsTyped) {
  const std::string seed = ": give a whole number from 0 to 9223372036854775807";
  expectUsageError({"inspect", mesh(), "--seed", "-1"}, "--seed -1" + seed);
  expectUsageError(fit({"--seed", "-1"}), "--seed -1" + seed);
  expectUsageError(fit({"--seed=18446744073709551616"}), "--seed 18446744073709551616" + seed);
  expectUsageError(fit({"--seed", "18446744073709551615"}), "--seed 18446744073709551615" + seed);
  expectUsageError(fit({"--seed", "1e3"}), "--seed 1e3" + seed);
  expectUsageError(fit({"--kernels", "0"}), "--kernels 0: give a whole number from 1 to 1000000");
  expectUsageError(fit({"--steps", ""}), "--steps '': give a whole number from 1 to 10000000");
  expectUsageError(fit({"--steps="}), "--steps '': give a whole number from 1 to 10000000");
  expectUsageError(fit({"--steps"}), "--steps: a whole number from 1 to 10000000 is missing");
  expectUsageError(fit({"--steps", "1.5"}), "--steps 1.5: give a whole number");
  expectUsageError(fit({"--steps", "ten"}), "--steps ten: give a whole number");
  expectUsageError(fit({"--threads", "2000"}), "--threads 2000: give a whole number from 0 to 1024");
  EXPECT_EQ(run(fit({"--steps", "2", "--seed", "9223372036854775807", "--kernels", "+60", "-q"})), 0)
      << last_.err;
}

TEST_F(Options, NotANumberAndInfinityAreNone) {
  for (const char* value : {"nan", "NaN", "-nan", "inf", "-inf", "Infinity", "1e999", "nan(1)"}) {
    expectUsageError(fit({"--checkpoint-every", value}),
                     std::string("--checkpoint-every ") + value + ": give a");
    expectUsageError(fit({"--steps", value}), "--steps");
    expectUsageError(fit({"--set", std::string("rates.color=") + value}), "--set rates.color");
    expectUsageError(
        {"eval", mesh(), "--reference", mesh(), "--report", folder_ / "r", "--error-full", value},
        "--error-full");
    expectUsageError({"eval", mesh(), "--reference", mesh(), "--samples", value}, "--samples");
    expectUsageError({"render", mesh(), "-o", folder_ / "o.png", "--azimuth", value}, "--azimuth");
    expectUsageError({"render", mesh(), "-o", folder_ / "o.png", "--turntable", "2", "--elevation", value},
                     "--elevation");
    expectUsageError({"render", mesh(), "-o", folder_ / "o.png", "--wire", value}, "--wire");
    folder_.write("c.toml", std::string("[rates]\ncolor = ") + value + "\n");
    EXPECT_EQ(run({"fit", mesh(), "-o", folder_ / "o.glb", "--config", folder_ / "c.toml"}), 3) << last_.err;
  }
}

TEST_F(Options, TheMethodIsTheOneThatWasSet) {
  for (const char* method : {"thermal", "spectral"}) {
    const std::string set = std::string("method=") + method;
    ASSERT_EQ(run(fit({"--steps", "2", "--set", set, "--set", std::string(method) + ".candidates=9", "--json",
                       "-"})),
              0)
        << last_.err;
    EXPECT_EQ(json::parse(last_.out)["method"], method);
    EXPECT_EQ(last_.err.find("no effect"), std::string::npos) << last_.err;
    EXPECT_NE(folder_.read("o.toml").find("method = \"" + std::string(method)), std::string::npos);
    expectUsageError(fit({"--set", set, "--method", "local"}),
                     "--set " + set + " and --method local contradict each other");
    EXPECT_EQ(run(fit({"--steps", "2", "--set", set, "--method", method, "-q"})), 0) << last_.err;
  }
  expectUsageError(fit({"--method", "magic"}), "--method magic: choose one of local, thermal, spectral");
}

TEST_F(Options, OneValueIsGivenOnce) {
  expectUsageError(fit({"--set", "steps=3", "--steps", "4"}), "--set steps=3 and --steps 4 contradict");
  expectUsageError(fit({"--set", "seed=3", "--seed", "4"}), "--set seed=3 and --seed 4 contradict");
  expectUsageError(fit({"--set", "density.max_kernels=30", "--kernels", "40"}),
                   "--set density.max_kernels=30 and --kernels 40 contradict");
  expectUsageError(fit({"--set", "steps=3", "--set", "steps=4"}),
                   "--set steps=3 and --set steps=4 contradict");
  EXPECT_EQ(run(fit({"--set", "steps=3", "--steps", "3", "-q"})), 0) << last_.err;
  expectUsageError(fit({"--kernels", "40", "--target-psnr", "30"}),
                   "--kernels 40 and --target-psnr contradict each other");
  expectUsageError(fit({"--set", "density.max_kernels=30", "--max-kernels", "40"}),
                   "--set density.max_kernels=30 and --max-kernels 40 contradict");
}

TEST_F(Options, AutomaticNumbersOfKernelsAreBoundedAndSaySo) {
  expectUsageError(fit({"--kernels", "many"}),
                   "--kernels many: give a whole number from 1 to 1000000, or auto");
  expectUsageError(fit({"--max-bytes", "some"}), "--max-bytes some: give a size such as 200k or 1M");
  expectUsageError(fit({"--method", "thermal", "--kernels", "auto"}), "only method local can choose");
  expectUsageError(fit({"--method", "thermal", "--max-bytes", "9k"}),
                   "--max-bytes: only method local can choose");
  const auto stopped = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"fit",   mesh(),  "-o",       folder_ / "o.glb",    "--preset",
                                          "draft", "--set", "batch=64", "--no-eval",          "--steps",
                                          "60",    "-q",    "--json",   folder_ / "auto.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(run(arguments), 0) << last_.err;
    return nlohmann::json::parse(folder_.read("auto.json"));
  };
  EXPECT_EQ(stopped({"--kernels", "auto", "--max-kernels", "50", "--target-psnr", "1"})["stopped_by"],
            "target");
  EXPECT_EQ(stopped({"--max-kernels", "50", "--target-psnr", "99"})["stopped_by"], "max_kernels");
  const auto small = stopped({"--max-bytes", "900", "--target-psnr", "99"});
  EXPECT_EQ(small["stopped_by"], "max_bytes");
  EXPECT_LE(small["model_bytes"], 900);
  EXPECT_GT(small["samples"], 0);
  EXPECT_EQ(stopped({"--kernels", "40"})["stopped_by"], "steps");
}

TEST_F(Options, WithoutEffectAreNotSilent) {
  const auto with = [&](const std::string& assignment) { return fit({"--steps", "2", "--set", assignment}); };
  expectWarning(with("thermal.rank=8"), "--set thermal.rank=8 has no effect: method is local");
  expectWarning({"fit", mesh(), "-o", folder_ / "p.glb", "--no-eval", "--preset", "paper", "--steps", "2",
                 "--set", "sampling.error_power=0.5"},
                "--set sampling.error_power=0.5 has no effect: sampling.rule is paper");
  expectWarning({"inspect", mesh(), "--seed", "3"}, "--seed has no effect");
  const std::string glb = folder_ / "o.glb";
  expectUsageError({"eval", glb, "--reference", mesh(), "--error-full", "8"}, "--error-full applies to");
  expectUsageError(
      {"query", glb, "--points", folder_.write("p.csv", "0,0,0\n"), "-o", folder_ / "o.npy", "--no-header"},
      "--no-header has no effect");
  expectWarning({"render", glb, "-o", folder_ / "o.png", "--size", "16", "--filter", "nearest"},
                glb + ": --filter has no effect");
  expectUsageError(
      {"render", mesh(), "-o", folder_ / "o.png", "--views", "2", "--sheet", "--background", "transparent"},
      "--background transparent has no effect with --sheet");
  expectUsageError(
      {"bench", "walk", "--steps", "200"},
      "--steps applies to 'heatskin bench speed', 'scale', 'budgets', 'thermal' and 'spectral' only");
  expectUsageError({"bench", "walk", "--names"}, "--names");
  expectUsageError({"bench", "--repeats", "3"}, "--repeats needs the NAME");
  expectUsageError({"bench", "unfolding", "--repeats", "3"}, "--repeats has no effect on");
  expectUsageError({"bench", "load", "--seed", "3"}, "--seed has no effect on");
}

TEST_F(Options, ThreadsBeyondTheMachineAreCappedAloud) {
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  ASSERT_EQ(run(fit({"--steps", "2", "--threads", "1024", "--json", "-"})), 0) << last_.err;
  if (cores >= 1024) GTEST_SKIP() << "a machine for which --threads 1024 is not too many";
  EXPECT_EQ(json::parse(last_.out)["threads"], cores);
  EXPECT_NE(last_.err.find("--threads 1024: this machine has only " + std::to_string(cores)),
            std::string::npos)
      << last_.err;
}

TEST_F(Options, ABenchUsesTheThreadsItIsGiven) {
  ASSERT_EQ(run({"bench", "walk", "--asset", mesh(), "--threads", "1", "--repeats", "1", "--json", "-"}), 0)
      << last_.err;
  bool found = false;
  const json report = json::parse(last_.out);
  for (const json& row : report["rows"]) {
    if (row["name"] != "walk_0.05_all") continue;
    found = true;
    EXPECT_NE(row.dump().find("1 thread"), std::string::npos) << row;
    EXPECT_EQ(row.dump().find("1 threads"), std::string::npos) << row;
  }
  EXPECT_TRUE(found) << last_.out;
}

TEST_F(Options, EqualPicturesHaveANumberOrNull) {
  ASSERT_EQ(run({"render", mesh(), "-o", folder_ / "a.png", "--size", "64", "-q"}), 0) << last_.err;
  ASSERT_EQ(run({"compare", folder_ / "a.png", folder_ / "a.png", "--json", "-"}), 0) << last_.err;
  const json report = json::parse(last_.out);
  EXPECT_TRUE(report["psnr"].is_null()) << report;
  EXPECT_EQ(report["psnr_infinite"], true) << report;
  for (const auto& [key, value] : report.items())
    EXPECT_FALSE(value == "inf" || value == "-inf" || value == "nan") << key;
}

TEST_F(Options, OneOfSomethingIsSingular) {
  ASSERT_EQ(run({"fit", mesh(), "-o", folder_ / "o.glb", "--preset", "draft", "--kernels", "1", "--steps",
                 "1", "--set", "sampling.pool=2000", "--threads", "1"}),
            0)
      << last_.err;
  const std::string text = last_.out + last_.err;
  ASSERT_EQ(
      run({"eval", folder_ / "o.glb", "--reference", mesh(), "--report", folder_ / "r", "--samples", "1000"}),
      0)
      << last_.err;
  const std::string all = text + last_.out + last_.err + folder_.read("r/report.html");
  for (const char* wrong : {" 1 kernels", ">1 kernels", " 1 steps", " 1 threads", "-0.000", "-0.00 "}) {
    EXPECT_EQ(all.find(wrong), std::string::npos) << wrong << " in " << all.substr(0, 2000);
  }
  for (const std::string& word : {std::string("e+0"), std::string("e-0")})
    EXPECT_EQ(text.find(word), std::string::npos) << text;
}

TEST_F(Options, WarningsAboutOneMeshAreSaidOnce) {
  const std::string twice =
      folder_.write("twice.obj", std::string(kTetrahedron) + "\nf 1 2 3\nf 1 2 3\nf 1 1 2\n");
  ASSERT_EQ(run({"fit", twice, "-o", folder_ / "t.glb", "--preset", "draft", "--steps", "2", "--set",
                 "sampling.pool=2000", "--method", "thermal"}),
            0)
      << last_.err;
  const auto mentions = [&] {
    std::size_t lines = 0, at = 0;
    std::vector<std::string> seen;
    while (at < last_.err.size()) {
      const std::size_t end = last_.err.find('\n', at);
      const std::string line = last_.err.substr(at, end - at);
      at = end + 1;
      if (line.find("warning: ") == std::string::npos) continue;
      const std::string message = line.substr(line.find(": ", line.find(": ", line.find("warning: ")) + 2));
      lines += std::count(seen.begin(), seen.end(), message) > 0 ? 1u : 0u;
      seen.push_back(message);
    }
    return lines;
  };
  EXPECT_NE(last_.err.find("warning"), std::string::npos) << "this mesh deserves one: " << last_.err;
  EXPECT_EQ(mentions(), 0u) << last_.err;
  ASSERT_EQ(run({"eval", folder_ / "t.glb", "--reference", twice, "--samples", "1000"}), 0) << last_.err;
  EXPECT_EQ(mentions(), 0u) << last_.err;
}

TEST_F(Options, WithoutMemoryOrThreadsThereIsOneLine) {
  if (sanitized()) GTEST_SKIP() << "sanitizers need terabytes of address space";
  const std::string asset = folder_ / "a.glb";
  ASSERT_EQ(run({"demo-asset", "-o", asset, "--resolution", "20000", "--texture", "256", "-q"}), 0);
  bool failed = false;
  for (const std::size_t megabytes : {60, 80, 100, 130, 170, 220, 300}) {
    ProcessOptions options;
    options.memory_limit_bytes = megabytes << 20;
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"inspect", asset, "-q"},
          {"fit", asset, "-o", folder_ / "o.glb", "--preset", "draft", "--steps", "2", "--no-eval", "-q"}}) {
      const int code = run(arguments, options);
      if (code == 127) continue;  // not even the program's libraries fit
      EXPECT_EQ(last_.signal_number, 0) << megabytes << " MB: " << last_.err;
      // 3: what the input would take was known before it was tried.
      EXPECT_TRUE(code == 0 || code == 1 || code == 3) << megabytes << " MB: " << code << last_.err;
      if (code == 0) continue;
      failed = true;
      EXPECT_EQ(last_.err.rfind("heatskin: error: ", 0), 0u) << megabytes << " MB: " << last_.err;
      EXPECT_EQ(std::count(last_.err.begin(), last_.err.end(), '\n'), 1) << megabytes << " MB: " << last_.err;
      EXPECT_EQ(last_.err.find("please report"), std::string::npos) << megabytes << " MB: " << last_.err;
    }
  }
  EXPECT_TRUE(failed) << "some limit must have been too small";
}

}  // namespace
}  // namespace heatskin::testing
