#include "heatskin/study/runner.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heatskin/base/files.h"
#include "heatskin/base/fingerprint.h"
#include "heatskin/base/plural.h"

namespace heatskin::study {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kPollInterval = std::chrono::milliseconds(20);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Their shadow memory alone takes terabytes of address space.
constexpr bool kLimitMemory = false;
#else
constexpr bool kLimitMemory = true;
#endif

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

/// The last line of a text file, without the program's own prefix.
std::string lastLine(const fs::path& file) {
  std::ifstream in(file);
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) last = line;
  }
  const std::string_view prefix = "heatskin: error: ";
  if (last.starts_with(prefix)) last.erase(0, prefix.size());
  return last;
}

/// A process that executes a run.
struct Child {
  pid_t pid = -1;
  std::size_t run = 0;
  Clock::time_point start;
  bool timed_out = false;
  fs::path scratch;  ///< work.json, outcome.json, stderr
};

/// fork and exec with limits. Between the two only calls that are safe in a copy of one thread of many.
Result<pid_t> start(const std::vector<std::string>& words, const fs::path& errors,
                    const RunnerOptions& options) {
  std::vector<char*> argv;
  for (const std::string& word : words)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const int err = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (err < 0) return failure(fmt::format("{}: {}", displayPath(errors), std::strerror(errno)));
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0);
    // A study that is killed takes its runs with it.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    if (kLimitMemory && options.max_bytes > 0) {
      const rlimit limit = {options.max_bytes, options.max_bytes};
      ::setrlimit(RLIMIT_AS, &limit);
    }
    const rlimit no_core = {0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(nothing, 0);
    ::dup2(nothing, 1);
    ::dup2(err, 2);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  const int problem = errno;
  ::close(err);
  if (nothing >= 0) ::close(nothing);
  if (pid < 0) return failure(fmt::format("a process cannot be started: {}", std::strerror(problem)));
  ::setpgid(pid, pid);  // also here: whoever is first
  return pid;
}

std::string endText(const Child& child, int status, const RunnerOptions& options) {
  if (child.timed_out) return fmt::format("the time limit of {:g} s was reached", options.max_seconds);
  const std::string said = lastLine(child.scratch / "stderr");
  if (WIFSIGNALED(status)) {
    return fmt::format("ended by signal {}{}{}", WTERMSIG(status), said.empty() ? "" : ": ", said);
  }
  if (!said.empty()) return said;
  return fmt::format("ended with code {} and said nothing", WEXITSTATUS(status));
}

double secondsOf(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

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
    for (const Child& child : children_)
      end(child);
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
    Child child;
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
    const auto pid =
        start(options_.command(child.scratch / "work.json", child.scratch / "outcome.json", files),
              child.scratch / "stderr", options_);
    if (!pid) return pid.error();
    child.pid = *pid;
    child.start = Clock::now();
    children_.push_back(std::move(child));
    show(runs_[i].name);
    return {};
  }

  /// Kills a run with everything it started, and waits for its end.
  static void end(const Child& child) {
    ::kill(-child.pid, SIGKILL);
    ::kill(child.pid, SIGKILL);
    int status = 0;
    while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
  }

  /// Rows of the children that have ended; true if there were any.
  Result<bool> collect() {
    bool any = false;
    for (std::size_t c = 0; c < children_.size();) {
      Child& child = children_[c];
      const double seconds = std::chrono::duration<double>(Clock::now() - child.start).count();
      if (!child.timed_out && options_.max_seconds > 0 && seconds > options_.max_seconds) {
        child.timed_out = true;
        ::kill(-child.pid, SIGKILL);
      }
      int status = 0;
      rusage usage{};
      const pid_t ended = ::wait4(child.pid, &status, WNOHANG, &usage);
      if (ended == 0 || (ended < 0 && errno == EINTR)) {
        ++c;
        continue;
      }
      ::kill(-child.pid, SIGKILL);  // whatever it left behind
      const Child done = std::move(child);
      children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(c));
      if (auto kept = keep(done, status, seconds, usage); !kept) return kept.error();
      any = true;
    }
    return any;
  }

  Result<void> keep(const Child& child, int status, double seconds, const rusage& usage) {
    const std::size_t i = child.run;
    StudyRow& row = rows_[i];
    row.name = runs_[i].name;
    row.place = placeOf(i);
    row.program = options_.version;
    row.work = runIdentity(runs_[i].work);
    row.values = row.timing = Json::object();
    const auto outcome = readJson(child.scratch / "outcome.json");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && outcome && outcome->contains("values")) {
      row.values = (*outcome)["values"];
      row.timing = outcome->value("timing", Json::object());
    } else {
      row.error = outcome && outcome->contains("error") && (*outcome)["error"].is_string()
                      ? (*outcome)["error"].get<std::string>()
                      : endText(child, status, options_);
    }
    row.timing["run_s"] = seconds;
    row.timing["run_cpu_s"] = secondsOf(usage.ru_utime) + secondsOf(usage.ru_stime);
    row.timing["run_peak_rss_mb"] = static_cast<double>(usage.ru_maxrss) * 1024 * 1e-6;
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
  std::vector<Child> children_;
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
