// `heatskin batch`: what is promised about rows, repetitions, shards, signals and exit codes.

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/run_process.h"
#include "support/temporary_folder.h"

namespace heatskin::testing {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kQuick = R"({"preset": "draft", "steps": 20, "kernels": 60, "no_eval": true})";

class BatchCli : public ::testing::Test {
 protected:
  void makePumpkin() {
    const auto made = runHeatskin({"demo-asset", "-o", folder_ / "pumpkin.glb", "--resolution", "500", "-q"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  /// Assets that differ by their seed.
  std::string manifest(int count, const std::string& more = "") {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += "{\"input\": \"pumpkin.glb\", \"output\": \"s/p" + std::to_string(i) +
              "\", \"options\": {\"seed\": " + std::to_string(i) + "}}\n";
    return folder_.write("m.jsonl", text + more);
  }
  ProcessOutcome batch(std::vector<std::string> words, const ProcessOptions& options = {}) {
    words.insert(words.begin(), {"batch", folder_ / "m.jsonl", "--options", kQuick});
    return runHeatskin(words, options);
  }
  json parsed(const std::string& file) { return json::parse(folder_.read(file), nullptr, false); }

  TemporaryFolder folder_;
};

TEST_F(BatchCli, FitsWhatTheManifestNames) {
  makePumpkin();
  manifest(3, "not json\n{\"input\": \"gone.glb\"}\n");
  const auto first = batch({"-o", folder_ / "out", "--json", folder_ / "r.json"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const json report = parsed("r.json");
  EXPECT_EQ(report.at("done"), 3);
  EXPECT_EQ(report.at("skipped"), 0);
  EXPECT_EQ(report.at("failed"), 2);
  EXPECT_TRUE(report.at("seconds").is_number());

  // The same bytes as from `fit` itself.
  const auto fit =
      runHeatskin({"fit", folder_ / "pumpkin.glb", "-o", folder_ / "one.glb", "--preset", "draft", "--steps",
                   "20", "--kernels", "60", "--seed", "2", "--no-eval", "--json", folder_ / "one.json"});
  ASSERT_EQ(fit.exit_code, 0) << fit.err;
  EXPECT_EQ(folder_.read("out/s/p2.glb"), folder_.read("one.glb"));
  EXPECT_EQ(folder_.read("out/s/p2.toml"), folder_.read("one.toml"));
  const json row = parsed("out/rows/s/p2.json"), alone = parsed("one.json");
  EXPECT_EQ(row.at("input"), "pumpkin.glb");
  EXPECT_EQ(row.at("output"), "s/p2.glb");
  EXPECT_EQ(row.at("status"), "done");
  EXPECT_TRUE(row.at("error").is_null());
  for (const auto& [key, value] : alone.items()) {
    EXPECT_TRUE(row.contains(key) || key == "references") << key;
  }
  EXPECT_EQ(row.at("kernels"), alone.at("kernels"));
  const json gone = parsed("out/rows/gone.json");
  EXPECT_EQ(gone.at("status"), "failed");
  EXPECT_NE(gone.at("error").get<std::string>().find("gone.glb: cannot be opened"), std::string::npos);

  const auto second = batch({"-o", folder_ / "out", "--json", folder_ / "r.json", "--strict"});
  EXPECT_EQ(second.exit_code, 1) << "two assets failed";
  EXPECT_EQ(parsed("r.json").at("skipped"), 3);
  EXPECT_EQ(batch({"-o", folder_ / "out", "--fresh", "--json", folder_ / "r.json"}).exit_code, 0);
  EXPECT_EQ(parsed("r.json").at("done"), 3);

  const auto status =
      runHeatskin({"batch", "status", folder_ / "out", "--options", kQuick, "--json", folder_ / "s.json"});
  ASSERT_EQ(status.exit_code, 0) << status.err;
  const json counts = parsed("s.json");
  EXPECT_EQ(counts.at("done"), 3);
  EXPECT_EQ(counts.at("failed"), 2);
  EXPECT_EQ(counts.at("running"), 0);
  EXPECT_EQ(counts.at("stale"), 0);
  EXPECT_EQ(counts.at("waiting"), 0);
  EXPECT_EQ(counts.at("outdated"), 0);
  const auto other = runHeatskin({"batch", "status", folder_ / "out", "--json", folder_ / "s.json"});
  ASSERT_EQ(other.exit_code, 0) << other.err;
  EXPECT_EQ(parsed("s.json").at("outdated"), 3) << "asked about other options";

  const auto merged = runHeatskin({"batch", "merge", folder_ / "out"});
  ASSERT_EQ(merged.exit_code, 0) << merged.err;
  const std::string table = folder_.read("out/results.csv"), rows = folder_.read("out/results.jsonl");
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 6);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 5);
  EXPECT_EQ(json::parse(rows.substr(0, rows.find('\n'))).at("output"), "s/p0.glb")
      << "in the manifest's order";
}

TEST_F(BatchCli, ShardsTogetherDoEverything) {
  makePumpkin();
  manifest(5);
  int done = 0;
  for (const char* task : {"4", "5", "6"}) {
    ProcessOptions options;
    options.environment = {
        {"SLURM_ARRAY_TASK_ID", task}, {"SLURM_ARRAY_TASK_MIN", "4"}, {"SLURM_ARRAY_TASK_COUNT", "3"}};
    const auto outcome = batch({"-o", folder_ / "out", "--json", folder_ / "r.json"}, options);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const json report = parsed("r.json");
    EXPECT_EQ(report.at("shards"), 3);
    EXPECT_LE(report.at("done").get<int>(), 2) << "equal costs, equal shares";
    done += report.at("done").get<int>();
  }
  EXPECT_EQ(done, 5);
  ProcessOptions lost;
  lost.environment = {{"JOB_COMPLETION_INDEX", "1"}, {"HEATSKIN_SHARDS", std::nullopt}};
  EXPECT_EQ(batch({"-o", folder_ / "out"}, lost).exit_code, 2);
  lost.environment["HEATSKIN_SHARDS"] = "2";
  EXPECT_EQ(batch({"-o", folder_ / "out", "--json", folder_ / "r.json"}, lost).exit_code, 0);
  EXPECT_EQ(parsed("r.json").at("shard"), 2);
  EXPECT_EQ(parsed("r.json").at("done"), 0);
}

// SIGTERM, twice as engines send it: the state of the fit is saved, and the same command ends with the bytes
// of a run that nobody stopped.
TEST_F(BatchCli, GoesOnAfterSigterm) {
  makePumpkin();
  folder_.write("m.jsonl",
                "{\"input\": \"pumpkin.glb\", \"output\": \"p\", \"options\": {\"steps\": 4000}}\n");
  const std::vector<std::string> words = {"-o", folder_ / "out", "--checkpoint-every", "0.2"};
  const fs::path work = folder_.path() / "out" / ".heatskin" / "work";
  ProcessOptions options;
  options.signal_number = SIGTERM;
  options.signal_when = [&] {
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(work, ignored)) {
      if (entry.path().extension() == ".checkpoint") return true;
    }
    return false;
  };
  const auto stopped = batch(words, options);
  ASSERT_EQ(stopped.exit_code, 143) << stopped.err;
  EXPECT_NE(stopped.err.find("the same command goes on"), std::string::npos) << stopped.err;
  EXPECT_FALSE(fs::exists(folder_.path() / "out" / "p.glb"));
  EXPECT_FALSE(fs::is_empty(folder_.path() / "out" / ".heatskin" / "checkpoints"));
  ASSERT_EQ(batch(words).exit_code, 0);
  const json row = parsed("out/rows/p.json");
  EXPECT_EQ(row.at("status"), "done") << row.dump();
  EXPECT_GT(row.at("resumed_at"), 0);
  EXPECT_TRUE(fs::is_empty(folder_.path() / "out" / ".heatskin" / "checkpoints"));
  ASSERT_EQ(batch({"-o", folder_ / "whole"}).exit_code, 0);
  EXPECT_EQ(folder_.read("out/p.glb"), folder_.read("whole/p.glb"));
}

TEST_F(BatchCli, PlansAnArray) {
  makePumpkin();
  manifest(6, "bad\n");
  const auto plan =
      runHeatskin({"batch", "plan", folder_ / "m.jsonl", "--options", kQuick, "--target-minutes", "0.02",
                   "-o", folder_ / "planned.jsonl", "--json", folder_ / "plan.json"});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_NE(plan.out.find("sbatch --array=1-"), std::string::npos);
  const json figures = parsed("plan.json");
  EXPECT_EQ(figures.at("assets"), 6);
  EXPECT_EQ(figures.at("bad_lines"), 1);
  EXPECT_GT(figures.at("array").at("tasks"), 1);
  EXPECT_LE(figures.at("array").at("tasks"), 6);
  EXPECT_GT(figures.at("memory_mb"), 0);
  const std::string planned = folder_.read("planned.jsonl");
  const json line = json::parse(planned.substr(0, planned.find('\n')));
  EXPECT_GT(line.at("cost"), 0.0);
  EXPECT_GT(line.at("memory"), 0.0);
  fs::rename(folder_.path() / "planned.jsonl", folder_.path() / "m.jsonl");
  ASSERT_EQ(batch({"-o", folder_ / "out", "--shard", "1/6"}).exit_code, 0);
  const auto calibrated = runHeatskin({"batch", "plan", folder_ / "m.jsonl", "--calibrate", folder_ / "out",
                                       "--json", folder_ / "plan.json"});
  ASSERT_EQ(calibrated.exit_code, 0) << calibrated.err;
  EXPECT_EQ(parsed("plan.json").at("calibration").at("rows"), 1);
}

TEST_F(BatchCli, RefusesWhatMakesNoSense) {
  manifest(1);
  EXPECT_EQ(batch({}).exit_code, 2) << "no folder";
  EXPECT_EQ(batch({"-o", folder_ / "out", "--shard", "3/2"}).exit_code, 2);
  EXPECT_EQ(batch({"-o", folder_ / "out", "--shard", "0/2"}).exit_code, 2);
  EXPECT_EQ(runHeatskin({"batch", folder_ / "gone.jsonl", "-o", folder_ / "out"}).exit_code, 3);
  EXPECT_EQ(runHeatskin({"batch", folder_ / "m.jsonl", "-o", folder_ / "out", "--options", "[]"}).exit_code,
            2);
  EXPECT_EQ(runHeatskin({"batch", folder_ / "m.jsonl", folder_ / "x", "-o", folder_ / "out"}).exit_code, 2);
  EXPECT_EQ(runHeatskin({"batch", "plan"}).exit_code, 2);
  EXPECT_EQ(runHeatskin({"batch", "status", folder_.path().string()}).exit_code, 3);
  EXPECT_EQ(runHeatskin({"batch", "merge", folder_ / "gone"}).exit_code, 3);
  EXPECT_FALSE(fs::exists(folder_.path() / "out")) << "nothing is left behind";
}

}  // namespace
}  // namespace heatskin::testing
