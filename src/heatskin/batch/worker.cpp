#include "heatskin/batch/worker.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <ctime>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include "heatskin/base/child_process.h"
#include "heatskin/base/files.h"
#include "heatskin/base/plural.h"
#include "heatskin/batch/lease.h"
#include "heatskin/batch/row.h"

namespace heatskin::batch {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kPollInterval = std::chrono::milliseconds(10);

/// Signs of life in the time after which an owner counts as gone.
constexpr double kSignsOfLife = 5;

/// Seconds between two looks at what others have; less if leases are short.
constexpr double kLookAgain = 5;

/// Address space of a fit beyond the memory it may take: stacks and arenas of threads, libraries.
constexpr std::size_t kAddressSpare = std::size_t{3} << 30;

constexpr std::size_t kShownFailures = 5;

/// What begins an error line of the program, in front of its text.
constexpr std::string_view kErrorPrefix = "heatskin: error: ";

double secondsSince(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

std::string utc() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

Result<void> makeFolder(const fs::path& folder) {
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem) return failure(fmt::format("{}: {}", displayPath(folder), problem.message()));
  return {};
}

std::string rowText(const Json& row) {
  return row.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// A fit that runs.
struct Running {
  std::size_t asset = 0;
  ChildProcess process;
  Lease lease;
  FitPlaces places;
  fs::path folder;  ///< of this attempt
  std::string fingerprint;
  UsedFile input;        ///< as it was at the start
  bool resumed = false;  ///< from another attempt's checkpoint
};

enum class Look { kTodo, kDone, kFailed };

class Worker {
 public:
  Worker(const Manifest& manifest, const WorkerOptions& options)
      : manifest_(manifest), options_(options), folder_(options.folder), progress_(options.progress) {
    if (progress_ == nullptr) progress_ = &silentProgress();
  }

  Result<WorkerReport> all() {
    if (auto ready = prepare(); !ready) return ready.error();
    auto costs = sharedCosts(manifest_, options_.folder, progress_);
    if (!costs) return costs.error();
    costs_ = std::move(*costs);
    choose();
    progress_->begin("batch", total_cost_);
    show("");
    while (!todo_.empty() || !running_.empty() || !waiting_.empty()) {
      if (progress_->cancelled()) return stop();
      if (auto begun = beginSome(); !begun) return begun.error();
      auto ended = collect();
      if (!ended) return ended.error();
      signsOfLife();
      if (!waiting_.empty() && todo_.empty()) {
        if (!options_.wait && running_.empty()) break;
        if (secondsSince(last_look_) > std::min(kLookAgain, options_.stale_seconds / 2)) {
          todo_.swap(waiting_);
          last_look_ = Clock::now();
        }
      }
      if (!*ended && (todo_.empty() || full_)) std::this_thread::sleep_for(kPollInterval);
    }
    report_.elsewhere = waiting_.size();
    progress_->end();
    report_.seconds = secondsSince(begin_);
    return report_;
  }

 private:
  Result<void> prepare() {
    for (const fs::path& folder :
         {folder_.rows(), folder_.leases(), folder_.work(), folder_.checkpoints(), folder_.journal()}) {
      if (auto made = makeFolder(folder); !made) return made;
    }
    const auto now = FileClock(folder_.state()).now();
    if (!now) return failure(fmt::format("{}: takes no files", displayPath(folder_.state())));
    started_ = *now;
    const LeaseInfo self = thisProcess();
    host_ = self.host;
    job_ = self.job;
    journal_ = folder_.journal() / fmt::format("{}-{}-{}.jsonl", host_, self.pid, newNonce().substr(0, 8));
    const Json record = {{"manifest", displayPath(manifest_.path)},
                         {"fingerprint", manifest_.fingerprint},
                         {"assets", manifest_.assets.size()},
                         {"bad_lines", manifest_.bad.size()},
                         {"version", options_.version}};
    const auto there = readJsonFile(folder_.manifestRecord());
    if (!there || *there != record) {
      if (auto saved = writeFileAtomically(folder_.manifestRecord(), std::string_view(rowText(record)));
          !saved)
        return saved;
    }
    return writeBadRows();
  }

  /// All workers find the same lines unusable and write the same bytes.
  Result<void> writeBadRows() const {
    std::error_code ignored;
    if (manifest_.bad.empty()) {
      fs::remove(folder_.badRows(), ignored);
      return {};
    }
    std::string text;
    for (const BadLine& line : manifest_.bad)
      text += badRow(line).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    const auto there = readFile(folder_.badRows());
    if (there && std::equal(there->begin(), there->end(), text.begin(), text.end())) return {};
    return writeFileAtomically(folder_.badRows(), std::string_view(text));
  }

  /// This worker's assets, the most expensive first; then, if it is to help, those of others, the cheapest
  /// first, because their owners begin at the other end.
  void choose() {
    std::vector<double> seconds;
    for (const Cost& cost : costs_)
      seconds.push_back(cost.seconds);
    const std::vector<std::size_t> shard = balance(seconds, options_.shard.count);
    std::vector<std::size_t> others;
    double total = 0;
    for (const std::size_t i : longestFirst(seconds)) {
      if (shard[i] == options_.shard.index) {
        todo_.push_back(i);
        total += seconds[i];
        ++report_.assets;
      } else if (options_.steal) {
        others.push_back(i);
      }
    }
    todo_.insert(todo_.end(), others.rbegin(), others.rend());
    own_ = report_.assets;
    for (std::size_t b = options_.shard.index; b < manifest_.bad.size(); b += options_.shard.count) {
      const BadLine& line = manifest_.bad[b];
      ++report_.assets;
      noteFailure(fmt::format("line {}", line.line), line.error);
    }
    total_cost_ = static_cast<std::size_t>(std::ceil(10 * total));
    shard_ = shard;
  }

  bool isOwn(std::size_t i) const { return shard_[i] == options_.shard.index; }

  void noteFailure(const std::string& name, const std::string& error) {
    ++report_.failed;
    if (report_.failures.size() < kShownFailures) report_.failures.push_back(name + ": " + error);
  }

  void show(std::string_view what) {
    const std::size_t finished = report_.done + report_.skipped + report_.failed;
    progress_->update(std::min(total_cost_, static_cast<std::size_t>(10 * done_cost_)),
                      fmt::format("{} of {}{}{}{}", grouped(finished), grouped(report_.assets),
                                  report_.failed > 0 ? fmt::format(", {} failed", report_.failed) : "",
                                  what.empty() ? "" : "; ", what));
  }

  void account(std::size_t i) {
    if (isOwn(i)) done_cost_ += costs_[i].seconds;
    show(manifest_.assets[i].output);
  }

  /// One line, written at once: what happened to an asset, for whoever wonders later. Losing one does no
  /// harm.
  void note(std::string_view event, const std::string& output, double seconds = 0) const {
    const Json line = {
        {"at", utc()}, {"event", event}, {"output", output}, {"seconds", seconds}, {"job", job_}};
    const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    const int fd = ::open(journal_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) return;
    [[maybe_unused]] const ssize_t written = ::write(fd, text.data(), text.size());
    ::close(fd);
  }

  const std::string& fingerprintOf(std::size_t i) {
    const LineOptions* options = manifest_.assets[i].options.get();
    const auto [known, added] = fingerprints_.try_emplace(options);
    if (added) known->second = optionsFingerprint(*options, options_.version);
    return known->second;
  }

  /// What an asset's row says. `attempts` becomes the number of those that failed.
  Look look(std::size_t i, int& attempts) {
    const BatchAsset& asset = manifest_.assets[i];
    const fs::path file = folder_.row(asset.output);
    const auto json = readJsonFile(file);
    const auto state = json ? rowState(*json) : std::nullopt;
    attempts = 0;
    if (!state || state->fingerprint != fingerprintOf(i)) return Look::kTodo;
    // By another worker of this run, or by this one.
    const auto written = modified(file);
    const bool recent = written && *written > started_;
    if (state->done)
      return (recent || !options_.fresh) && stillFits(*state, asset, state->fingerprint, folder_)
                 ? Look::kDone
                 : Look::kTodo;
    attempts = state->attempts;
    if (recent) {
      failure_ = state->error;
      return Look::kFailed;
    }
    // A line or a file that is wrong says so in a moment, and may have been put right.
    if (state->lasting || options_.retry_failed || attempts < options_.attempts) {
      if (state->lasting || options_.retry_failed) attempts = 0;
      return Look::kTodo;
    }
    failure_ = state->error;
    return Look::kFailed;
  }

  /// A worker that was killed between its row and the end of its lease has left that one, with the folder it
  /// worked in and perhaps an older state. Nobody else would take the lease of what is done.
  void tidyAfter(std::size_t i) {
    const std::string& output = manifest_.assets[i].output;
    if (!findLease(folder_.leases(), output)) return;
    const auto attempt = Lease::acquire(folder_.leases(), output, options_.stale_seconds);
    if (!attempt || !attempt->lease) return;  // its owner lives
    std::error_code ignored;
    if (attempt->previous)
      fs::remove_all(folder_.work() / (leaseKey(output) + "." + attempt->previous->nonce), ignored);
    fs::remove(folder_.checkpoints() / checkpointName(output, fingerprintOf(i)), ignored);
  }

  /// True if the row settles it.
  bool settled(std::size_t i, int& attempts) {
    switch (look(i, attempts)) {
      case Look::kTodo:
        return false;
      case Look::kDone:
        if (isOwn(i)) {
          ++report_.skipped;
          tidyAfter(i);
        }
        break;
      case Look::kFailed:
        if (isOwn(i)) noteFailure(manifest_.assets[i].output, failure_);
        break;
    }
    account(i);
    return true;
  }

  /// Memory that a fit is granted: an equal share, or more if it will need more.
  std::size_t memoryOf(std::size_t i) const {
    const std::size_t share = options_.max_bytes / static_cast<std::size_t>(std::max(1, options_.jobs));
    const auto need = static_cast<std::size_t>(std::min(costs_[i].bytes * 1.25, 1e18));
    return std::min(options_.max_bytes, std::max(share, need));
  }

  bool fits(std::size_t i) const {
    if (running_.empty()) return true;
    std::size_t used = 0;
    for (const Running& run : running_)
      used += run.places.max_bytes;
    return running_.size() < static_cast<std::size_t>(std::max(1, options_.jobs)) &&
           used + memoryOf(i) <= options_.max_bytes;
  }

  /// Begins fits while there is room, for a moment at most: those that run want to be looked at.
  Result<void> beginSome() {
    const auto begin = Clock::now();
    full_ = false;
    while (!todo_.empty() && secondsSince(begin) < 0.2 && !progress_->cancelled()) {
      if (running_.size() >= static_cast<std::size_t>(std::max(1, options_.jobs))) {
        full_ = true;
        return {};
      }
      // The first that has room in memory; a large one comes when others have ended, at the latest alone.
      std::size_t at = 0;
      while (at < std::min<std::size_t>(todo_.size(), 64) && !fits(todo_[at]))
        ++at;
      if (at == std::min<std::size_t>(todo_.size(), 64)) {
        full_ = true;
        return {};
      }
      const std::size_t i = todo_[at];
      todo_.erase(todo_.begin() + static_cast<std::ptrdiff_t>(at));
      int attempts = 0;
      if (settled(i, attempts)) continue;
      auto attempt = Lease::acquire(folder_.leases(), manifest_.assets[i].output, options_.stale_seconds);
      if (!attempt) return attempt.error();
      if (!attempt->lease) {
        if (isOwn(i)) waiting_.push_back(i);  // one that was to be stolen is in good hands
        continue;
      }
      // It may have been done between the look at its row and the lease.
      if (settled(i, attempts)) continue;
      if (auto begun = start(i, std::move(*attempt), attempts); !begun) return begun;
    }
    return {};
  }

  std::string checkpointName(const std::string& output, const std::string& fingerprint) const {
    return leaseKey(output) + "-" + fingerprint.substr(0, 16) + ".checkpoint";
  }

  Result<void> start(std::size_t i, Lease::Attempt attempt, int attempts) {
    const BatchAsset& asset = manifest_.assets[i];
    Running run;
    run.asset = i;
    run.lease = std::move(*attempt.lease);
    run.fingerprint = fingerprintOf(i);
    attempts_[i] = attempts;
    const std::string key = leaseKey(asset.output);
    run.folder = folder_.work() / (key + "." + run.lease.info().nonce);
    if (auto made = makeFolder(run.folder); !made) return made;
    if (auto marked = writeFileAtomically(run.folder / "started", std::string_view(asset.output)); !marked)
      return marked;
    run.places = {run.folder / "product.glb", run.folder / checkpointName(asset.output, run.fingerprint),
                  run.folder / "result.json", memoryOf(i)};
    adoptCheckpoint(run, attempt.previous);
    if (attempt.previous) note("taken over", asset.output);
    if (run.lease.info().takeovers >= options_.attempts) {
      removeWork(run);
      return fail(
          i, run.fingerprint,
          fmt::format("given up: {} in a row vanished while they worked on it",
                      plural(static_cast<std::size_t>(run.lease.info().takeovers), "worker", "workers")),
          false, {}, run.input);
    }
    if (const std::string why = whyNot(asset); !why.empty()) {
      removeWork(run);
      return fail(i, run.fingerprint, why, true, {}, run.input);
    }
    run.input = hashFile(asset.file, asset.file.parent_path());
    auto process = ChildProcess::start(
        options_.command(asset, run.places),
        {run.folder / "stderr", run.places.max_bytes > 0 ? run.places.max_bytes + kAddressSpare : 0});
    if (!process) return process.error();
    run.process = std::move(*process);
    note("begun", asset.output);
    running_.push_back(std::move(run));
    return {};
  }

  /// Why the product of an asset cannot be put where it belongs: it would replace the input.
  std::string whyNot(const BatchAsset& asset) const {
    std::error_code ignored;
    for (const fs::path& file :
         {folder_.product(asset.output), folder_.config(asset.output), folder_.row(asset.output)}) {
      if (fs::equivalent(file, asset.file, ignored)) return "the input would be overwritten";
    }
    return {};
  }

  /// The state in which the last attempt was left: saved when it was told to stop, or in the folder of a
  /// worker that is gone.
  void adoptCheckpoint(Running& run, const std::optional<LeaseInfo>& previous) {
    std::error_code problem;
    const std::string name = run.places.checkpoint.filename().string();
    fs::rename(folder_.checkpoints() / name, run.places.checkpoint, problem);
    run.resumed = !problem;
    if (!previous) return;
    const fs::path left = folder_.work() / (leaseKey(previous->name) + "." + previous->nonce);
    const auto saved = modified(left / name), began = modified(left / "started");
    if (saved) {
      fs::rename(left / name, run.places.checkpoint, problem);
      if (!problem) {
        run.resumed = true;
        // Whoever vanished had got further than it began.
        if (began && *saved > *began) run.lease.clearTakeovers();
      }
    }
    fs::remove_all(left, problem);
  }

  static void removeWork(Running& run) {
    std::error_code ignored;
    fs::remove_all(run.folder, ignored);
  }

  void keepCheckpoint(const Running& run) const {
    std::error_code ignored;
    fs::rename(run.places.checkpoint, folder_.checkpoints() / run.places.checkpoint.filename(), ignored);
  }

  void signsOfLife() {
    if (secondsSince(last_sign_) < options_.stale_seconds / kSignsOfLife) return;
    last_sign_ = Clock::now();
    for (Running& run : running_)
      run.lease.refresh();
  }

  /// What has ended becomes rows; true if there was any.
  Result<bool> collect() {
    bool any = false;
    for (std::size_t r = 0; r < running_.size();) {
      const auto ended = running_[r].process.poll(options_.max_asset_seconds);
      if (!ended) {
        ++r;
        continue;
      }
      Running run = std::move(running_[r]);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(r));
      auto kept = finish(run, *ended);
      removeWork(run);
      if (!kept) return kept.error();
      any = true;
    }
    return any;
  }

  Result<void> finish(Running& run, const ChildEnd& end) {
    const std::size_t i = run.asset;
    const BatchAsset& asset = manifest_.assets[i];
    if (!run.lease.refresh()) {
      // We were thought gone; whoever has the asset now will say how it ends.
      note("lost", asset.output, end.seconds);
      if (isOwn(i)) waiting_.push_back(i);
      return {};
    }
    const auto result = readJsonFile(run.places.result);
    std::error_code problem;
    if (end.succeeded() && result && fs::is_regular_file(run.places.product, problem))
      return publish(run, end, *result);
    const bool interrupted = stopping_ && !end.timed_out;
    if (interrupted) {
      keepCheckpoint(run);
      note("interrupted", asset.output, end.seconds);
      return {};
    }
    const auto code = end.exitCode();
    const bool lasting =
        code == static_cast<int>(ErrorKind::kUsage) || code == static_cast<int>(ErrorKind::kInput);
    if (run.resumed && code && !end.timed_out) {
      // The state may be what was wrong: once more from the beginning.
      note("begun anew", asset.output, end.seconds);
      todo_.push_front(i);
      return {};
    }
    if (end.timed_out) keepCheckpoint(run);  // with more time, or another attempt, it goes on from there
    return fail(i, run.fingerprint,
                endText(end, options_.max_asset_seconds, run.folder / "stderr", kErrorPrefix), lasting, end,
                run.input);
  }

  Json rowBegin(const BatchAsset& asset, const char* status, const std::string& error) const {
    return {{"input", asset.input},
            {"output", asset.output + ".glb"},
            {"status", status},
            {"error", error.empty() ? Json(nullptr) : Json(error)},
            {"line", asset.line}};
  }

  Json batchPart(std::size_t i, const std::string& fingerprint, const std::optional<ChildEnd>& end) const {
    Json json = {{"fingerprint", fingerprint},
                 {"version", options_.version},
                 {"host", host_},
                 {"job", job_},
                 {"finished", utc()},
                 {"predicted_s", costs_[i].seconds},
                 {"predicted_mb", 1e-6 * costs_[i].bytes}};
    if (end) {
      json["run_s"] = end->seconds;
      json["run_cpu_s"] = end->cpu_seconds;
      json["run_peak_rss_mb"] = end->peak_rss_mb;
    }
    return json;
  }

  static Json fileJson(const UsedFile& file) {
    return {{"path", file.path}, {"bytes", file.bytes}, {"hash", file.hash}};
  }

  Result<void> publish(Running& run, const ChildEnd& end, const Json& result) {
    const std::size_t i = run.asset;
    const BatchAsset& asset = manifest_.assets[i];
    const bool evaluated = result.contains("surface_psnr") &&
                           (!result["surface_psnr"].is_null() || result.contains("surface_psnr_infinite"));
    if (stopping_ && !evaluated && asset.options->find("no_eval") == nullptr) {
      // The fit was told to stop while it measured itself: rows are whole, or not there.
      note("interrupted", asset.output, end.seconds);
      return {};
    }
    Json row = rowBegin(asset, "done", {});
    for (const auto& [key, value] : result.items()) {
      if (!row.contains(key) && key != "references") row[key] = value;
    }
    row["config"] = asset.output + ".toml";
    Json part = batchPart(i, run.fingerprint, end);
    const fs::path from = asset.file.parent_path();
    UsedFile input = hashFile(asset.file, from);
    if (input.hash != run.input.hash)
      return fail(i, run.fingerprint, "the input changed while it was worked on", false, end, input);
    part["files"] = Json::array({fileJson(input)});
    if (result.contains("references") && result["references"].is_array()) {
      for (const Json& reference : result["references"]) {
        if (reference.is_string())
          part["files"].push_back(fileJson(hashFile(reference.get<std::string>(), from)));
      }
    }
    UsedFile written = hashFile(run.places.product, {});
    written.path = asset.output + ".glb";
    part["product"] = fileJson(written);
    row["batch"] = std::move(part);

    const fs::path product = folder_.product(asset.output), config = folder_.config(asset.output);
    for (const fs::path& folder : {product.parent_path(), folder_.row(asset.output).parent_path()}) {
      if (auto made = makeFolder(folder); !made) return made;
    }
    std::error_code problem;
    fs::rename(fs::path(run.places.product).replace_extension(".toml"), config, problem);
    if (!problem) fs::rename(run.places.product, product, problem);
    if (problem) return failure(fmt::format("{}: {}", displayPath(product), problem.message()));
    if (auto saved = writeFileAtomically(folder_.row(asset.output), std::string_view(rowText(row))); !saved)
      return saved;
    note("done", asset.output, end.seconds);
    if (isOwn(i)) {
      ++report_.done;
    } else {
      ++report_.assets;
      ++report_.done;
    }
    account(i);
    return {};
  }

  Result<void> fail(std::size_t i, const std::string& fingerprint, const std::string& error, bool lasting,
                    const std::optional<ChildEnd>& end, const UsedFile& input) {
    const BatchAsset& asset = manifest_.assets[i];
    Json row = rowBegin(asset, "failed", error);
    Json part = batchPart(i, fingerprint, end);
    part["attempts"] = attempts_[i] + 1;
    part["lasting"] = lasting;
    part["files"] = Json::array();
    if (!input.path.empty()) part["files"].push_back(fileJson(input));
    row["batch"] = std::move(part);
    if (auto made = makeFolder(folder_.row(asset.output).parent_path()); !made) return made;
    if (auto saved = writeFileAtomically(folder_.row(asset.output), std::string_view(rowText(row))); !saved)
      return saved;
    note("failed", asset.output, end ? end->seconds : 0);
    if (!isOwn(i)) ++report_.assets;
    noteFailure(asset.output, error);
    account(i);
    return {};
  }

  /// Tells the fits to save their states, and waits for them as long as there is time.
  Result<WorkerReport> stop() {
    stopping_ = true;
    for (Running& run : running_)
      run.process.signal(SIGTERM);
    const auto begin = Clock::now();
    while (!running_.empty() && secondsSince(begin) < options_.grace_seconds) {
      auto ended = collect();
      if (!ended) return ended.error();
      signsOfLife();
      if (!*ended) std::this_thread::sleep_for(kPollInterval);
    }
    for (Running& run : running_) {
      run.process.kill();
      keepCheckpoint(run);
      note("killed", manifest_.assets[run.asset].output);
      removeWork(run);
    }
    running_.clear();
    return failure(
        fmt::format("interrupted; {} of {} are finished, the states of unfinished fits are saved: the "
                    "same command goes on",
                    grouped(report_.done + report_.skipped + report_.failed), grouped(report_.assets)),
        error_code::kCancelled);
  }

  const Manifest& manifest_;
  const WorkerOptions& options_;
  BatchFolder folder_;
  Progress* progress_;
  std::vector<Cost> costs_;
  std::vector<std::size_t> shard_;  // of each asset
  std::deque<std::size_t> todo_, waiting_;
  std::vector<Running> running_;
  std::map<const LineOptions*, std::string> fingerprints_;
  std::map<std::size_t, int> attempts_;  // of assets that run
  WorkerReport report_;
  std::size_t own_ = 0, total_cost_ = 0;
  double done_cost_ = 0;
  double started_ = 0;  // by the file system's clock
  std::string host_, job_, failure_;
  fs::path journal_;
  bool stopping_ = false, full_ = false;
  Clock::time_point begin_ = Clock::now(), last_look_ = Clock::now(), last_sign_ = Clock::now();
};

std::optional<std::vector<Cost>> readCosts(const fs::path& file, std::size_t count) {
  const auto json = readJsonFile(file);
  if (!json || !json->contains("costs") || !(*json)["costs"].is_array() || (*json)["costs"].size() != count)
    return {};
  std::vector<Cost> costs;
  costs.reserve(count);
  for (const Json& pair : (*json)["costs"]) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number()) return {};
    costs.push_back({pair[0].get<double>(), pair[1].get<double>()});
  }
  return costs;
}

}  // namespace

Result<std::vector<Cost>> sharedCosts(const Manifest& manifest, const fs::path& folder, Progress* progress) {
  const bool named = std::all_of(manifest.assets.begin(), manifest.assets.end(),
                                 [](const BatchAsset& asset) { return asset.cost > 0 && asset.memory > 0; });
  if (named) return predictCosts(manifest, progress);
  // Whoever is first decides: files may change while workers come, and two partitions would miss assets.
  const BatchFolder places(folder);
  const fs::path file = places.state() / fmt::format("costs-{}.json", manifest.fingerprint);
  if (auto costs = readCosts(file, manifest.assets.size())) return std::move(*costs);
  const std::vector<Cost> costs = predictCosts(manifest, progress);
  if (progress != nullptr && progress->cancelled()) return failure("interrupted", error_code::kCancelled);
  std::string text = "{\"costs\": [";
  for (std::size_t i = 0; i < costs.size(); ++i)
    text += fmt::format("{}[{:.3f}, {:.0f}]", i > 0 ? ",\n" : "\n", costs[i].seconds, costs[i].bytes);
  text += "\n]}\n";
  if (auto made = makeFolder(places.state()); !made) return made.error();
  const fs::path made = places.state() / fmt::format(".costs-{}", newNonce());
  if (auto saved = writeFileAtomically(made, std::string_view(text)); !saved) return saved.error();
  std::error_code problem;
  fs::create_hard_link(made, file, problem);
  // No hard links here, or what is there is damaged.
  if (problem && !readCosts(file, manifest.assets.size())) fs::rename(made, file, problem);
  fs::remove(made, problem);
  auto kept = readCosts(file, manifest.assets.size());
  if (!kept) return failure(fmt::format("{}: cannot be read back", displayPath(file)));
  return std::move(*kept);
}

Result<WorkerReport> runWorker(const Manifest& manifest, const WorkerOptions& options) {
  return Worker(manifest, options).all();
}

}  // namespace heatskin::batch
