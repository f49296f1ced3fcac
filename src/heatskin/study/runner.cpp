#include "heatskin/study/runner.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "heatskin/base/child_process.h"
#include "heatskin/base/files.h"
#include "heatskin/base/fingerprint.h"
#include "heatskin/base/plural.h"

namespace heatskin::study {
namespace {

namespace fs = std::filesystem;

constexpr auto kPollInterval = std::chrono::milliseconds(20);

/// What begins an error line of the program, in front of its text.
constexpr std::string_view kErrorPrefix = "heatskin: error: ";

Json rowJson(std::string_view study, const StudyRow& row, std::string_view fingerprint) {
  return {{"study", study},
          {"name", row.name},
          {"fingerprint", fingerprint},
          {"program", row.program},
          {"place", row.place},
          {"work", row.work},
          {"values", row.values},
          {"timing", row.timing},
          {"error", row.error.empty() ? Json(nullptr) : Json(row.error)}};
}

/// Nothing if the file is not a row.
std::optional<Json> readJson(const fs::path& file) {
  const auto bytes = readFile(file);
  if (!bytes) return {};
  Json json = Json::parse(bytes->begin(), bytes->end(), nullptr, false);
  if (!json.is_object()) return {};
  return json;
}

std::optional<StudyRow> rowOf(const Json& json, std::string_view study, std::string_view fingerprint) {
  for (const char* key : {"study", "name", "fingerprint"}) {
    if (!json.contains(key) || !json[key].is_string()) return {};
  }
  for (const char* key : {"work", "values", "timing"}) {
    if (!json.contains(key) || !json[key].is_object()) return {};
  }
  if (json["study"] != study || (!fingerprint.empty() && json["fingerprint"] != fingerprint)) return {};
  StudyRow row;
  row.name = json["name"];
  row.place = json.value("place", std::size_t{0});
  row.work = json["work"];
  row.values = json["values"];
  row.timing = json["timing"];
  if (json.contains("error") && json["error"].is_string()) row.error = json["error"];
  if (json.contains("program") && json["program"].is_string()) row.program = json["program"];
  return row;
}

std::string rowFileName(std::string_view study, const std::string& name) {
  return fmt::format("{}.{}.json", study, name);
}

/// A process that executes a run.
struct Execution {
  ChildProcess process;
  std::size_t run = 0;
  fs::path scratch;  ///< work.json, outcome.json, stderr
};

constexpr std::string_view kScratchPrefix = ".running-";

/// Removes what studies that were killed left in a folder of rows: `.running-PID` of a process that is gone.
void removeAbandonedScratch(const fs::path& rows) {
  std::error_code ignored;
  std::vector<fs::path> abandoned;
  for (const auto& entry : fs::directory_iterator(rows, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kScratchPrefix)) continue;
    pid_t pid = 0;
    const char *begin = name.data() + kScratchPrefix.size(), *end = name.data() + name.size();
    const auto [stop, problem] = std::from_chars(begin, end, pid);
    if (problem != std::errc() || stop != end || pid <= 0) continue;
    // Another program may have the number by now; then the folder stays until that one is gone, too.
    if (::kill(pid, 0) != 0 && errno == ESRCH) abandoned.push_back(entry.path());
  }
  for (const fs::path& folder : abandoned)
    fs::remove_all(folder, ignored);
}

/// All the state of a study that runs.
class Running {
 public:
  Running(std::string_view study, std::span<const StudyRun> runs, const RunnerOptions& options)
      : study_(study), runs_(runs), options_(options), rows_(runs.size()), progress_(options.progress) {
    if (progress_ == nullptr) progress_ = &silentProgress();
  }
  ~Running() {
    children_.clear();  // which kills them
    std::error_code ignored;
    fs::remove_all(scratch(), ignored);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  Result<std::vector<StudyRow>> all() {
    std::error_code problem;
    fs::create_directories(scratch(), problem);
    if (problem) return failure(fmt::format("{}: {}", displayPath(scratch()), problem.message()));
    removeAbandonedScratch(rowsFolder());
    std::vector<std::size_t> todo;
    double total = 0;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      total += cost(i);
      if (!reuse(i)) todo.push_back(i);
    }
    progress_->begin(fmt::format("study {}", study_), static_cast<std::size_t>(total));
    if (finished_ > 0) show("");
    std::size_t next = 0;
    while (next < todo.size() || !children_.empty()) {
      if (progress_->cancelled())
        return failure("interrupted; finished runs are kept", error_code::kCancelled);
      while (next < todo.size() && children_.size() < static_cast<std::size_t>(std::max(1, options_.jobs))) {
        if (auto begun = begin(todo[next]); !begun) return begun.error();
        ++next;
      }
      auto ended = collect();
      if (!ended) return ended.error();
      if (!*ended) std::this_thread::sleep_for(kPollInterval);
    }
    progress_->end();
    return std::move(rows_);
  }

 private:
  fs::path rowsFolder() const { return options_.folder / "rows"; }
  fs::path scratch() const { return rowsFolder() / fmt::format("{}{}", kScratchPrefix, ::getpid()); }
  fs::path rowFile(std::size_t i) const { return rowsFolder() / rowFileName(study_, runs_[i].name); }
  std::string fingerprintOf(std::size_t i) const {
    return runFingerprint(study_, runs_[i].work, options_.version);
  }
  std::size_t placeOf(std::size_t i) const { return runs_[i].place.value_or(i); }
  // In tenths, so that short runs count, too.
  double cost(std::size_t i) const { return std::max(1.0, std::round(10 * runs_[i].cost)); }

  void show(const std::string& what) {
    progress_->update(static_cast<std::size_t>(done_cost_),
                      fmt::format("{} of {} runs{}{}{}", grouped(finished_), grouped(runs_.size()),
                                  failed_ > 0 ? fmt::format(", {} failed", failed_) : std::string(),
                                  what.empty() ? "" : "; ", what));
  }

  void account(std::size_t i) {
    ++finished_;
    done_cost_ += cost(i);
    if (!rows_[i].error.empty()) ++failed_;
  }

  /// True if the run was finished earlier. What failed then is tried again.
  bool reuse(std::size_t i) {
    if (options_.fresh) return false;
    const auto json = readJson(rowFile(i));
    if (!json) return false;
    auto row = rowOf(*json, study_, fingerprintOf(i));
    if (!row || !row->error.empty()) return false;
    rows_[i] = std::move(*row);
    rows_[i].name = runs_[i].name;
    rows_[i].place = placeOf(i);
    account(i);
    return true;
  }

  Result<void> begin(std::size_t i) {
    Execution child;
    child.run = i;
    child.scratch = scratch() / runs_[i].name;
    const fs::path files = rowsFolder() / runs_[i].name;
    std::error_code problem;
    fs::create_directories(child.scratch, problem);
    if (!problem) fs::create_directories(files, problem);
    if (problem) return failure(fmt::format("{}: {}", displayPath(child.scratch), problem.message()));
    if (auto written =
            writeFileAtomically(child.scratch / "work.json", std::string_view(runs_[i].work.dump()));
        !written)
      return written;
    auto process = ChildProcess::start(
        options_.command(child.scratch / "work.json", child.scratch / "outcome.json", files),
        {child.scratch / "stderr", options_.max_bytes});
    if (!process) return process.error();
    child.process = std::move(*process);
    children_.push_back(std::move(child));
    show(runs_[i].name);
    return {};
  }

  /// Rows of the children that have ended; true if there were any.
  Result<bool> collect() {
    bool any = false;
    for (std::size_t c = 0; c < children_.size();) {
      const auto ended = children_[c].process.poll(options_.max_seconds);
      if (!ended) {
        ++c;
        continue;
      }
      const Execution done = std::move(children_[c]);
      children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(c));
      if (auto kept = keep(done, *ended); !kept) return kept.error();
      any = true;
    }
    return any;
  }

  Result<void> keep(const Execution& child, const ChildEnd& end) {
    const std::size_t i = child.run;
    StudyRow& row = rows_[i];
    row.name = runs_[i].name;
    row.place = placeOf(i);
    row.program = options_.version;
    row.work = runIdentity(runs_[i].work);
    row.values = row.timing = Json::object();
    const auto outcome = readJson(child.scratch / "outcome.json");
    if (end.succeeded() && outcome && outcome->contains("values")) {
      row.values = (*outcome)["values"];
      row.timing = outcome->value("timing", Json::object());
    } else {
      row.error = outcome && outcome->contains("error") && (*outcome)["error"].is_string()
                      ? (*outcome)["error"].get<std::string>()
                      : endText(end, options_.max_seconds, child.scratch / "stderr", kErrorPrefix);
    }
    row.timing["run_s"] = end.seconds;
    row.timing["run_cpu_s"] = end.cpu_seconds;
    row.timing["run_peak_rss_mb"] = end.peak_rss_mb;
    std::error_code ignored;
    fs::remove(rowsFolder() / runs_[i].name, ignored);  // unless it has files
    fs::remove_all(child.scratch, ignored);
    const std::string text =
        rowJson(study_, row, fingerprintOf(i)).dump(1, ' ', false, Json::error_handler_t::replace);
    if (auto written = writeFileAtomically(rowFile(i), std::string_view(text + "\n")); !written)
      return written;
    account(i);
    show(row.name);
    return {};
  }

  std::string study_;
  std::span<const StudyRun> runs_;
  const RunnerOptions& options_;
  std::vector<StudyRow> rows_;
  std::vector<Execution> children_;
  Progress* progress_;
  double done_cost_ = 0;
  std::size_t finished_ = 0, failed_ = 0;
};

}  // namespace

Json runIdentity(const Json& work) {
  if (work.is_object()) {
    Json kept = Json::object();
    for (const auto& [key, value] : work.items()) {
      if (key != "file") kept[key] = runIdentity(value);
    }
    return kept;
  }
  if (work.is_array()) {
    Json kept = Json::array();
    for (const Json& value : work)
      kept.push_back(runIdentity(value));
    return kept;
  }
  return work;
}

std::string runFingerprint(std::string_view study, const Json& work, std::string_view version) {
  Fingerprint fingerprint;
  const std::string identity = runIdentity(work).dump();
  for (const std::string_view part : {study, std::string_view(identity), version})
    fingerprint.add(std::span<const char>(part.data(), part.size()));
  return hexadecimal(fingerprint);
}

Result<std::vector<StudyRow>> runStudy(std::string_view study, std::span<const StudyRun> runs,
                                       const RunnerOptions& options) {
  return Running(study, runs, options).all();
}

std::vector<StudyRow> readRows(std::string_view study, const fs::path& folder) {
  std::vector<StudyRow> rows;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder / "rows", ignored)) {
    if (entry.path().extension() != ".json") continue;
    if (const auto json = readJson(entry.path())) {
      if (auto row = rowOf(*json, study, "")) rows.push_back(std::move(*row));
    }
  }
  return mergeRows(std::span(&rows, 1));
}

std::vector<std::string> studiesWithRows(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder / "rows", ignored)) {
    const std::string file = entry.path().filename().string();
    if (entry.path().extension() != ".json") continue;
    const std::string name = file.substr(0, file.find('.'));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<StudyRow> mergeRows(std::span<const std::vector<StudyRow>> parts) {
  // A run that failed in one folder may have succeeded in another.
  std::map<std::string, StudyRow> by_work;
  for (const std::vector<StudyRow>& part : parts) {
    for (const StudyRow& row : part) {
      const auto [at, added] = by_work.try_emplace(runIdentity(row.work).dump(), row);
      if (!added && !at->second.error.empty() && row.error.empty()) at->second = row;
    }
  }
  std::vector<StudyRow> rows;
  for (auto& [work, row] : by_work)
    rows.push_back(std::move(row));
  std::sort(rows.begin(), rows.end(), [](const StudyRow& a, const StudyRow& b) {
    return std::tie(a.place, a.name) < std::tie(b.place, b.name);
  });
  return rows;
}

}  // namespace heatskin::study
