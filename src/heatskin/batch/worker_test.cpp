// Fits are shell scripts here: what matters is what workers make of those that succeed, fail, hang, are told
// to stop or lose their machine.

#include "heatskin/batch/worker.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "heatskin/batch/lease.h"
#include "heatskin/batch/row.h"
#include "heatskin/batch/status.h"

#include "support/temporary_folder.h"

namespace heatskin::batch {
namespace {

namespace fs = std::filesystem;
using heatskin::testing::TemporaryFolder;

/// Writes the product as a copy of the input, and says so. $1 input, $2 product, $3 checkpoint, $4 result.
constexpr const char* kFit =
    R"(cp "$1" "$2"; echo "x = 1" > "${2%.glb}.toml"; echo '{"surface_psnr": 30.5, "kernels": 7}' > "$4")";

/// Cancels once its condition holds.
class Stop : public Progress {
 public:
  explicit Stop(std::function<bool()> when) : when_(std::move(when)) {}
  void begin(std::string_view, std::size_t) override {}
  void update(std::size_t, std::string_view) override {}
  void end() override {}
  bool cancelled() const override { return when_(); }

 private:
  std::function<bool()> when_;
};

class Workers : public ::testing::Test {
 protected:
  Workers() {
    for (const char* name : {"a", "b", "c", "d"})
      folder_.write(std::string(name) + ".glb", std::string("content of ") + name);
  }

  Manifest manifest(const std::string& text = "") {
    std::string lines = text;
    if (lines.empty()) {
      for (const char* name : {"a", "b", "c", "d"})
        lines += std::string("{\"input\": \"") + name + ".glb\", \"output\": \"o/" + name + "\"}\n";
    }
    const auto read = readManifest(folder_.write("m.jsonl", lines), out());
    EXPECT_TRUE(read) << read.error().message;
    return read ? *read : Manifest();
  }
  fs::path out() const { return folder_.path() / "out"; }

  WorkerOptions options(const std::string& script = kFit) {
    WorkerOptions options;
    options.folder = out();
    options.version = "1";
    options.max_bytes = std::size_t{1} << 30;
    const std::string log = folder_ / "log";
    options.command = [script, log](const BatchAsset& asset, const FitPlaces& places) {
      return std::vector<std::string>{"/bin/sh",
                                      "-c",
                                      "echo " + asset.output + " >> " + log + "\n" + script,
                                      "sh",
                                      asset.file.string(),
                                      places.product.string(),
                                      places.checkpoint.string(),
                                      places.result.string()};
    };
    return options;
  }

  WorkerReport run(const Manifest& manifest, const WorkerOptions& options) {
    const auto report = runWorker(manifest, options);
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : WorkerReport();
  }
  /// How many fits were begun in all.
  std::size_t begun() const {
    const std::string text = folder_.read("log");
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  Json row(const std::string& output) const {
    const auto json = readJsonFile(BatchFolder(out()).row(output));
    return json ? *json : Json::object();
  }
  std::size_t filesIn(const fs::path& folder) const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      count += entry.is_directory() ? 0 : 1;
    return count;
  }

  TemporaryFolder folder_;
};

TEST_F(Workers, DoEachAssetOnce) {
  const Manifest all = manifest();
  const WorkerReport first = run(all, options());
  EXPECT_EQ(first.done, 4u);
  EXPECT_EQ(first.skipped + first.failed + first.elsewhere, 0u);
  EXPECT_EQ(folder_.read("out/o/a.glb"), "content of a");
  EXPECT_EQ(folder_.read("out/o/a.toml"), "x = 1\n");
  const Json a = row("o/a");
  EXPECT_EQ(a["input"], "a.glb");
  EXPECT_EQ(a["output"], "o/a.glb");
  EXPECT_EQ(a["status"], "done");
  EXPECT_TRUE(a["error"].is_null());
  EXPECT_EQ(a["surface_psnr"], 30.5);
  EXPECT_EQ(a["kernels"], 7);
  const BatchFolder places(out());
  EXPECT_EQ(filesIn(places.leases()) + filesIn(places.work()) + filesIn(places.checkpoints()), 0u);

  const WorkerReport second = run(all, options());
  EXPECT_EQ(second.skipped, 4u);
  EXPECT_EQ(begun(), 4u);
}

TEST_F(Workers, RepeatWhatHasChanged) {
  // `e` consists of two files; the second one of `f` is missing at first.
  folder_.write("e.obj", "e");
  folder_.write("f.obj", "f");
  folder_.write("e.mtl", "one");
  const std::string lines =
      "{\"input\": \"a.glb\"}\n{\"input\": \"b.glb\"}\n{\"input\": \"e.obj\"}\n{\"input\": \"f.obj\"}\n";
  const std::string fit =
      std::string(kFit) +
      "\necho \"{\\\"surface_psnr\\\": 1, \\\"references\\\": [\\\"${1%.obj}.mtl\\\"]}\" > \"$4\"";
  const auto done = [&](const std::string& text = "", const std::string& version = "1") {
    WorkerOptions changed = options(fit);
    changed.version = version;
    const WorkerReport report = run(manifest(text.empty() ? lines : text), changed);
    EXPECT_EQ(report.done + report.skipped, 4u);
    return report.done;
  };
  EXPECT_EQ(done(), 4u);
  EXPECT_EQ(done(), 0u);
  folder_.write("a.glb", "content of A");  // of the same length
  EXPECT_EQ(done(), 1u);
  EXPECT_EQ(folder_.read("out/a.glb"), "content of A");
  folder_.write("e.mtl", "two");
  EXPECT_EQ(done(), 1u) << "a file it refers to";
  folder_.write("f.mtl", "now there");
  EXPECT_EQ(done(), 1u) << "a file that was missing";
  folder_.write("out/b.glb", "damaged");
  EXPECT_EQ(done(), 1u);
  fs::remove(out() / "b.glb");
  EXPECT_EQ(done(), 1u);
  folder_.write("out/rows/b.json", "{\"status\": \"done\"}");
  EXPECT_EQ(done(), 1u) << "a row that is none";
  std::string other = lines;
  other.replace(other.find("\"a.glb\""), 7, "\"a.glb\", \"options\": {\"steps\": 9}");
  EXPECT_EQ(done(other), 1u);
  EXPECT_EQ(done(other), 0u);
  EXPECT_EQ(done(other, "2"), 4u) << "another version";
  EXPECT_EQ(done(other, "2"), 0u);
}

TEST_F(Workers, OneBadAssetIsARow) {
  const std::string script = std::string(
                                 "case \"$1\" in *b.glb) echo 'heatskin: error: b is bad' >&2; exit 3;; "
                                 "*c.glb) kill -9 $$;; *d.glb) exit 0;; esac\n") +
                             kFit;
  const Manifest all = manifest();
  WorkerReport report = run(all, options(script));
  EXPECT_EQ(report.done, 1u);
  EXPECT_EQ(report.failed, 3u);
  EXPECT_EQ(row("o/b")["error"], "b is bad");
  EXPECT_EQ(row("o/b")["status"], "failed");
  EXPECT_EQ(row("o/c")["error"], "ended by signal 9");
  EXPECT_EQ(row("o/d")["error"], "ended with code 0 and said nothing") << "success without a product";
  EXPECT_FALSE(fs::exists(out() / "o" / "b.glb"));
  // What crashes is tried in three runs; a bad file is read again each time, since it may have been put
  // right.
  EXPECT_EQ(begun(), 4u);
  run(all, options(script));
  EXPECT_EQ(begun(), 7u);
  run(all, options(script));
  EXPECT_EQ(begun(), 10u);
  report = run(all, options(script));
  EXPECT_EQ(begun(), 11u);
  EXPECT_EQ(report.failed, 3u);
  EXPECT_EQ(report.skipped, 1u);
  WorkerOptions again = options(script);
  again.retry_failed = true;
  run(all, again);
  EXPECT_EQ(begun(), 14u);
  EXPECT_EQ(run(all, options()).done, 3u) << "all is well now, and the count begins anew";
}

TEST_F(Workers, UnusableLinesAreRowsOfOneShardEach) {
  const Manifest all =
      manifest("{\"input\": \"a.glb\"}\nnot json\n{\"input\": \"b.glb\", \"output\": \"../b\"}\nx\n");
  std::size_t done = 0, failed = 0, assets = 0;
  for (std::size_t s = 0; s < 3; ++s) {
    WorkerOptions part = options();
    part.shard = {s, 3, {}};
    const WorkerReport report = run(all, part);
    done += report.done;
    failed += report.failed;
    assets += report.assets;
  }
  EXPECT_EQ(done, 1u);
  EXPECT_EQ(failed, 3u);
  EXPECT_EQ(assets, 4u);
  const std::string rows = folder_.read("out/rows/manifest_errors.jsonl");
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 3);
  EXPECT_EQ(Json::parse(rows.substr(0, rows.find('\n')))["line"], 2);
  run(manifest(), options());
  EXPECT_FALSE(fs::exists(out() / "rows" / "manifest_errors.jsonl")) << "of a manifest that is gone";
}

// A fit that takes too long is killed, and what it has saved is where the next attempt begins.
TEST_F(Workers, HangingFitsAreKilledAndGoOn) {
  const std::string script =
      std::string("if [ -f \"$3\" ]; then\n") + kFit + "\nelse echo half > \"$3\"; sleep 600; fi";
  const Manifest one = manifest("{\"input\": \"a.glb\"}\n");
  WorkerOptions limited = options(script);
  limited.max_asset_seconds = 0.3;
  const WorkerReport report = run(one, limited);
  EXPECT_EQ(report.failed, 1u);
  EXPECT_EQ(row("a")["error"], "the time limit of 0.3 s was reached");
  EXPECT_EQ(filesIn(BatchFolder(out()).checkpoints()), 1u);
  EXPECT_EQ(run(one, options(script)).done, 1u);
  EXPECT_EQ(filesIn(BatchFolder(out()).checkpoints()), 0u);
}

// A checkpoint that a fit cannot use is no reason to fail.
TEST_F(Workers, BeginAnewWhereACheckpointIsOfNoUse) {
  const std::string script =
      std::string("if [ -f \"$3\" ]; then echo 'heatskin: error: of another asset' >&2; exit 3; fi\n") + kFit;
  const Manifest one = manifest("{\"input\": \"a.glb\"}\n");
  WorkerOptions limited = options("echo half > \"$3\"; sleep 600");
  limited.max_asset_seconds = 0.3;
  run(one, limited);
  EXPECT_EQ(run(one, options(script)).done, 1u);
  EXPECT_EQ(begun(), 3u);
}

TEST_F(Workers, AreStoppedAndGoOn) {
  const std::string script = std::string("if [ -f \"$3\" ]; then\n") + kFit +
                             "\nelse trap 'echo half > \"$3\"; echo interrupted >&2; exit 143' TERM; "
                             "touch \"$1.running\"; while :; do sleep 0.05; done; fi";
  const Manifest all = manifest();
  WorkerOptions stopped = options(script);
  stopped.jobs = 2;
  const auto running = [&] {
    return static_cast<int>(fs::exists(folder_.path() / "a.glb.running")) +
               static_cast<int>(fs::exists(folder_.path() / "b.glb.running")) ==
           2;
  };
  Stop stop(running);
  stopped.progress = &stop;
  const auto report = runWorker(all, stopped);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, error_code::kCancelled);
  const BatchFolder places(out());
  EXPECT_EQ(filesIn(places.checkpoints()), 2u);
  EXPECT_EQ(filesIn(places.leases()) + filesIn(places.work()), 0u) << "others need not wait for anybody";
  EXPECT_TRUE(row("o/a").empty()) << "no row: nothing failed";
  const auto record = readRecord(out());
  ASSERT_TRUE(record);
  EXPECT_EQ(readStatus(out(), *record, &all, 100, "1").waiting, 4u);
  folder_.write("log", "");
  WorkerOptions again = options(std::string("[ -f \"$3\" ] && echo resumed >> $1.resumed\n") + kFit);
  EXPECT_EQ(run(all, again).done, 4u);
  EXPECT_TRUE(fs::exists(folder_.path() / "a.glb.resumed") && fs::exists(folder_.path() / "b.glb.resumed"));
  EXPECT_EQ(filesIn(places.checkpoints()), 0u);
}

// A fit that does not save its state in time is killed; what it saved before counts.
TEST_F(Workers, DoNotWaitForeverWhenTheyAreStopped) {
  const Manifest one = manifest("{\"input\": \"a.glb\"}\n");
  WorkerOptions stopped =
      options("trap '' TERM; echo half > \"$3\"; touch \"$1.running\"; while :; do sleep 0.05; done");
  stopped.grace_seconds = 0.2;
  Stop stop([&] { return fs::exists(folder_.path() / "a.glb.running"); });
  stopped.progress = &stop;
  EXPECT_FALSE(runWorker(one, stopped));
  EXPECT_EQ(filesIn(BatchFolder(out()).checkpoints()), 1u);
}

// Several workers in one folder, with shards that overlap, or none at all.
TEST_F(Workers, ShareAFolder) {
  std::string lines;
  for (int i = 0; i < 40; ++i) {
    folder_.write("i" + std::to_string(i) + ".glb", std::to_string(i));
    lines += "{\"input\": \"i" + std::to_string(i) + ".glb\"}\n";
  }
  const Manifest all = manifest(lines);
  std::atomic<std::size_t> done = 0, skipped = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      WorkerOptions mine = options();
      if (t > 1) mine.shard = {static_cast<std::size_t>(t - 2), 2, {}};
      const auto report = runWorker(all, mine);
      ASSERT_TRUE(report) << report.error().message;
      EXPECT_EQ(report->failed + report->elsewhere, 0u);
      done += report->done;
      skipped += report->skipped;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(begun(), 40u);
  EXPECT_EQ(done, 40u);
  EXPECT_EQ(skipped, 80u);
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(folder_.read("out/i" + std::to_string(i) + ".glb"), std::to_string(i));
}

TEST_F(Workers, StealFromSlowShards) {
  const Manifest all = manifest();
  WorkerOptions first = options();
  first.shard = {0, 2, {}};
  first.steal = true;
  const WorkerReport report = run(all, first);
  EXPECT_EQ(report.done, 4u);
  WorkerOptions second = options();
  second.shard = {1, 2, {}};
  EXPECT_EQ(run(all, second).skipped, 2u);
}

/// A worker of another machine that has an asset, with a checkpoint.
class Elsewhere : public Workers {
 protected:
  void takeAway(long silent_seconds, int takeovers = 0) {
    const BatchFolder places(out());
    for (const fs::path& folder : {places.leases(), places.work()})
      fs::create_directories(folder);
    LeaseInfo info = thisProcess();
    nonce_ = newNonce();
    const Json json = {{"name", "a"}, {"nonce", nonce_}, {"host", "elsewhere"}, {"system", "s"},
                       {"pid", 1},    {"job", ""},       {"since", info.since}, {"takeovers", takeovers}};
    lease_ = places.leases() / (leaseKey("a") + ".lease");
    std::ofstream(lease_) << json.dump();
    silence(silent_seconds);
    work_ = places.work() / (leaseKey("a") + "." + nonce_);
    fs::create_directories(work_);
    std::ofstream(work_ / "started") << "a";
  }
  void silence(long seconds) {
    struct stat info {};
    ASSERT_EQ(::stat(lease_.c_str(), &info), 0);
    timespec times[2] = {info.st_atim, info.st_mtim};
    times[1].tv_sec -= seconds;
    ASSERT_EQ(::utimensat(AT_FDCWD, lease_.c_str(), times, 0), 0);
  }
  fs::path lease_, work_;
  std::string nonce_;
};

TEST_F(Elsewhere, IsWaitedForOrLeftAlone) {
  const Manifest one = manifest("{\"input\": \"a.glb\"}\n{\"input\": \"b.glb\"}\n");
  takeAway(0);
  WorkerOptions impatient = options();
  impatient.wait = false;
  const WorkerReport report = run(one, impatient);
  EXPECT_EQ(report.done, 1u);
  EXPECT_EQ(report.elsewhere, 1u);
  const auto record = readRecord(out());
  ASSERT_TRUE(record);
  BatchStatus status = readStatus(out(), *record, &one, 100, "1");
  EXPECT_EQ(status.done, 1u);
  EXPECT_EQ(status.running, 1u);
  silence(200);
  status = readStatus(out(), *record, nullptr, 100, "1");
  EXPECT_EQ(status.done, 1u);
  EXPECT_EQ(status.stale, 1u);
  // A patient worker waits until the other one is silent for too long.
  takeAway(0);
  WorkerOptions patient = options();
  patient.stale_seconds = 1;
  EXPECT_EQ(run(one, patient).done, 1u);
}

TEST_F(Elsewhere, LeavesItsCheckpoint) {
  const Manifest one = manifest("{\"input\": \"a.glb\"}\n");
  const std::string name =
      leaseKey("a") + "-" + optionsFingerprint(*one.assets[0].options, "1").substr(0, 16) + ".checkpoint";
  takeAway(500);
  std::ofstream(work_ / name) << "half";
  EXPECT_EQ(run(one, options(std::string("cp \"$3\" \"$1.saved\"\n") + kFit)).done, 1u);
  EXPECT_EQ(folder_.read("a.glb.saved"), "half");
  EXPECT_FALSE(fs::exists(work_));
}

// It was killed after its row and before the end of its lease: there is nothing to do but to tidy up. One
// that lives keeps what it has.
TEST_F(Elsewhere, LeavesNothingBehindADoneAsset) {
  const Manifest one = manifest("{\"input\": \"a.glb\"}\n");
  EXPECT_EQ(run(one, options()).done, 1u);
  takeAway(0);
  EXPECT_EQ(run(one, options()).skipped, 1u);
  EXPECT_TRUE(fs::exists(lease_) && fs::exists(work_));
  silence(500);
  EXPECT_EQ(run(one, options()).skipped, 1u);
  EXPECT_FALSE(fs::exists(lease_) || fs::exists(work_));
  EXPECT_EQ(begun(), 1u);
}

// An asset that takes every machine along must not go through all of them.
TEST_F(Elsewhere, VanishesNoMoreThanThreeTimes) {
  const Manifest one = manifest("{\"input\": \"a.glb\"}\n");
  takeAway(500, 1);
  EXPECT_EQ(run(one, options()).done, 1u);
  fs::remove(BatchFolder(out()).row("a"));
  takeAway(500, 2);
  const WorkerReport report = run(one, options());
  EXPECT_EQ(report.failed, 1u);
  EXPECT_EQ(row("a")["error"], "given up: 3 workers in a row vanished while they worked on it");
  EXPECT_EQ(begun(), 1u);
}

TEST_F(Workers, NeverOverwriteAnInput) {
  fs::create_directories(out());
  folder_.write("out/x.glb", "precious");
  fs::create_symlink(out() / "x.glb", folder_.path() / "link.glb");
  const Manifest all = manifest(
      "{\"input\": \"link.glb\", \"output\": \"x\"}\n{\"input\": \"out/y.glb\", \"output\": \"y\"}\n");
  EXPECT_EQ(all.bad.size(), 1u);
  const WorkerReport report = run(all, options());
  EXPECT_EQ(report.failed, 2u);
  EXPECT_EQ(folder_.read("out/x.glb"), "precious");
}

TEST_F(Workers, FailWhereNothingCanBeWritten) {
  folder_.write("out", "a file, not a folder");
  EXPECT_FALSE(runWorker(manifest(), options()));
}

TEST_F(Workers, TablesHaveARowForEachLine) {
  const Manifest all = manifest(
      "{\"input\": \"a.glb\", \"output\": \"with, comma\"}\nbad\n{\"input\": \"b.glb\"}\n{\"input\": "
      "\"gone.glb\"}\n");
  run(all, options(std::string("[ -f \"$1\" ] || { echo 'say \"no\"' >&2; exit 3; }\n") + kFit));
  for (const Manifest* order : {&all, static_cast<const Manifest*>(nullptr)}) {
    CsvTable table;
    visitRows(out(), order, [&](const Json& json) { table.add(json); });
    EXPECT_EQ(table.size(), 4u);
    const std::string text = table.text();
    EXPECT_EQ(text.substr(0, 25), "input,output,status,error");
    EXPECT_NE(text.find("a.glb,\"with, comma.glb\",done,,"), std::string::npos) << text;
    EXPECT_NE(text.find("gone.glb,gone.glb,failed,\"say \"\"no\"\"\","), std::string::npos) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  }
}

}  // namespace
}  // namespace heatskin::batch
