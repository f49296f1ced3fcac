// Runs are shell scripts here: what matters is what becomes of processes that succeed, fail, crash, hang or
// eat memory.

#include "heatskin/study/runner.h"

#include <atomic>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/temporary_folder.h"

namespace heatskin::study {
namespace {

namespace fs = std::filesystem;

StudyRun scriptRun(const std::string& name, const std::string& script) {
  return {name, {{"script", script}, {"mesh", {{"name", name}, {"file", "/somewhere"}}}}, 1};
}

class Runner : public ::testing::Test {
 protected:
  RunnerOptions options() {
    RunnerOptions options;
    options.folder = folder_.path();
    options.version = "1";
    options.max_seconds = 600;
    options.command = [](const fs::path& work, const fs::path& outcome, const fs::path& folder) {
      std::ifstream in(work);
      const Json json = Json::parse(in);
      return std::vector<std::string>{
          "/bin/sh", "-c", json["script"].get<std::string>(), "sh", outcome.string(), folder.string()};
    };
    return options;
  }
  std::vector<StudyRow> rowsOf(const std::vector<StudyRun>& runs, const RunnerOptions& options) {
    auto rows = runStudy("test", runs, options);
    EXPECT_TRUE(rows.ok());
    return rows ? *rows : std::vector<StudyRow>();
  }

  testing::TemporaryFolder folder_;
};

const std::string kGood = R"(echo '{"values": {"x": 3}, "timing": {"s": 1}}' > "$1")";

TEST_F(Runner, KeepsWhatARunFound) {
  const auto rows = rowsOf({scriptRun("a", kGood)}, options());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].error, "");
  EXPECT_EQ(rows[0].number("x"), 3);
  EXPECT_GT(rows[0].number("run_peak_rss_mb"), 0);
  EXPECT_FALSE(rows[0].work["mesh"].contains("file")) << "where files lie does not count";
  EXPECT_TRUE(fs::exists(folder_.path() / "rows" / "test.a.json"));
}

TEST_F(Runner, FailuresDoNotStopAStudy) {
  const auto rows = rowsOf({scriptRun("bad", "echo 'heatskin: error: no such mesh' >&2; exit 3"),
                            scriptRun("crash", "kill -SEGV $$"), scriptRun("mute", "exit 1"),
                            scriptRun("told", R"(echo '{"error": "told so"}' > "$1"; exit 1)"),
                            scriptRun("liar", "exit 0"), scriptRun("good", kGood)},
                           options());
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0].error, "no such mesh");
  EXPECT_EQ(rows[1].error, "ended by signal 11");
  EXPECT_EQ(rows[2].error, "ended with code 1 and said nothing");
  EXPECT_EQ(rows[3].error, "told so");
  EXPECT_FALSE(rows[4].error.empty()) << "no outcome was written";
  EXPECT_EQ(rows[5].error, "");
}

TEST_F(Runner, KillsARunThatHangsWithAllItStarted) {
  RunnerOptions limited = options();
  limited.max_seconds = 0.3;
  const auto rows = rowsOf({scriptRun("hang", "sleep 1000 & echo $! > \"$2/pid\"; wait")}, limited);
  EXPECT_EQ(rows[0].error, "the time limit of 0.3 s was reached");
  pid_t left = 0;
  std::ifstream(folder_.path() / "rows" / "hang" / "pid") >> left;
  ASSERT_GT(left, 0);
  // Killed; nobody but init waits for it any more.
  std::ifstream stat("/proc/" + std::to_string(left) + "/stat");
  std::string pid, name, state = "gone";
  stat >> pid >> name >> state;
  EXPECT_TRUE(state == "gone" || state == "Z" || state == "X") << state;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(Runner, LimitsMemory) {
  RunnerOptions limited = options();
  limited.max_bytes = std::size_t{64} << 20;
  const auto rows =
      rowsOf({scriptRun("limit", R"(echo "{\"values\": {\"kb\": $(ulimit -v)}}" > "$1")")}, limited);
  EXPECT_EQ(rows[0].number("kb"), 64 * 1024);
}
#endif

TEST_F(Runner, FinishedRunsAreNotRepeatedAndFailedOnesAre) {
  const std::string counting = "echo x >> " + (folder_ / "count") + "; ";
  const auto count = [&] {
    std::ifstream in(folder_ / "count");
    return std::count(std::istreambuf_iterator<char>(in), {}, 'x');
  };
  const std::vector<StudyRun> good = {scriptRun("a", counting + kGood)};
  rowsOf(good, options());
  const auto again = rowsOf(good, options());
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(again[0].number("x"), 3);
  // Another version, another description or the wish to repeat makes another run.
  RunnerOptions other = options();
  other.version = "2";
  EXPECT_EQ(again[0].program, "1");
  EXPECT_EQ(rowsOf(good, other)[0].program, "2");
  EXPECT_EQ(readRows("test", folder_.path())[0].program, "2");
  EXPECT_EQ(count(), 2);
  other.fresh = true;
  rowsOf(good, other);
  EXPECT_EQ(count(), 3);
  std::vector<StudyRun> changed = good;
  changed[0].work["seed"] = 1;
  rowsOf(changed, other);
  EXPECT_EQ(count(), 4);
  // The place of a file is no part of the description.
  std::vector<StudyRun> moved = changed;
  moved[0].work["mesh"]["file"] = "/elsewhere";
  RunnerOptions second = options();
  second.version = "2";
  rowsOf(moved, second);
  EXPECT_EQ(count(), 4);
  const std::vector<StudyRun> bad = {scriptRun("b", counting + "exit 1")};
  rowsOf(bad, options());
  rowsOf(bad, options());
  EXPECT_EQ(count(), 6);
}

TEST_F(Runner, DamagedRowsAreMadeAgain) {
  const std::vector<StudyRun> runs = {scriptRun("a", kGood)};
  rowsOf(runs, options());
  for (const char* content : {"", "{", "[]", R"({"study": "test"})"}) {
    std::ofstream(folder_.path() / "rows" / "test.a.json") << content;
    EXPECT_EQ(rowsOf(runs, options())[0].number("x"), 3) << content;
  }
}

/// Cancels once so many runs are done.
class CancelAfter : public Progress {
 public:
  explicit CancelAfter(std::size_t units) : units_(units) {}
  void begin(std::string_view, std::size_t) override {}
  void update(std::size_t done, std::string_view) override { done_ = done; }
  void end() override {}
  bool cancelled() const override { return done_ >= units_; }

 private:
  std::size_t units_;
  std::atomic<std::size_t> done_ = 0;
};

TEST_F(Runner, AnInterruptedStudyGoesOn) {
  const std::vector<StudyRun> runs = {scriptRun("a", kGood), scriptRun("b", "sleep 1000; exit 1")};
  CancelAfter progress(10);
  RunnerOptions cancelled = options();
  cancelled.progress = &progress;
  const auto outcome = runStudy("test", runs, cancelled);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, error_code::kCancelled);
  EXPECT_TRUE(fs::exists(folder_.path() / "rows" / "test.a.json"));
  EXPECT_FALSE(fs::exists(folder_.path() / "rows" / "test.b.json"));
  const std::vector<StudyRun> rest = {runs[0], scriptRun("b", kGood)};
  EXPECT_EQ(rowsOf(rest, options())[1].number("x"), 3);
}

TEST_F(Runner, JobsRunSideBySide) {
  // Each waits for the other's file: one after the other they would never end.
  RunnerOptions two = options();
  two.jobs = 2;
  two.max_seconds = 300;
  const auto meet = [&](const std::string& mine, const std::string& other) {
    return "touch " + (folder_ / mine) + "; while [ ! -e " + (folder_ / other) + " ]; do sleep 0.02; done; " +
           kGood;
  };
  for (const StudyRow& row : rowsOf({scriptRun("a", meet("m", "n")), scriptRun("b", meet("n", "m"))}, two))
    EXPECT_EQ(row.error, "");
}

TEST_F(Runner, RowsOfSeveralFoldersMerge) {
  testing::TemporaryFolder second;
  rowsOf({scriptRun("a", kGood), scriptRun("b", "exit 1")}, options());
  RunnerOptions other = options();
  other.folder = second.path();
  rowsOf({scriptRun("a", kGood), scriptRun("c", kGood)}, other);
  const std::vector<std::vector<StudyRow>> parts = {readRows("test", folder_.path()),
                                                    readRows("test", second.path())};
  const auto merged = mergeRows(parts);
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_EQ(merged[0].name, "a");
  EXPECT_EQ(studiesWithRows(second.path()), std::vector<std::string>{"test"});
  EXPECT_TRUE(readRows("other", second.path()).empty());
}

TEST_F(Runner, WhatAKilledStudyLeftIsRemoved) {
  const fs::path rows = folder_.path() / "rows";
  // A process that has ended and was waited for; its number is not given to another one so soon.
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ASSERT_GT(gone, 0);
  ::waitpid(gone, nullptr, 0);
  const fs::path left = rows / (".running-" + std::to_string(gone)),
                 alive = rows / (".running-" + std::to_string(::getppid())), strange = rows / ".running-x1";
  for (const fs::path& folder : {left, alive, strange}) {
    fs::create_directories(folder / "run");
    std::ofstream(folder / "run" / "work.json") << "{}";
  }
  rowsOf({scriptRun("a", kGood)}, options());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(alive / "run" / "work.json")) << "another study is running";
  EXPECT_TRUE(fs::exists(strange));
}

}  // namespace
}  // namespace heatskin::study
