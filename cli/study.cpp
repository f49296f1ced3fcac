// heatskin study: the paper's evaluation, one command for each table or figure.

#include "heatskin/study/study.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "heatskin/base/files.h"
#include "heatskin/base/memory_budget.h"
#include "heatskin/base/parallel.h"
#include "heatskin/kernels/simd_level.h"
#include "heatskin/study/report.h"
#include "heatskin/study/runner.h"
#include "heatskin/version.h"

#include "bench/harness.h"
#include "cli/build_commit.h"
#include "cli/interrupt.h"
#include "cli/remedies.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMerge = "merge";

/// A run that takes longer hangs, or its study should be told otherwise.
constexpr double kRunSeconds = 4 * 3600;

/// Shows nothing; a run's own progress would drown that of the study.
class Quiet : public Progress {
 public:
  void begin(std::string_view, std::size_t) override {}
  void update(std::size_t, std::string_view) override {}
  void end() override {}
  bool cancelled() const override { return interrupted(); }
};

class StudyVerb : public Verb {
 public:
  void describe(CLI::App& app) override {
    app_ = &app;
    app.add_option("NAME", name_, "The study to run (see --list); or merge: the tables of several folders");
    app.add_option("FOLDERS", folders_, "With merge: folders of earlier studies");
    app.add_flag("--list", list_, "Print the names of the studies, one per line");
    app.add_option("-o,--output", folder_, "Folder for tables, figure and rows; created if it does not exist")
        ->type_name("DIR");
    app.add_flag("--quick", settings_.quick, "A smoke version: one tiny pumpkin, 50 steps");
    app.add_option("--manifest", manifest_,
                   "Meshes, methods, options and seeds instead of the study's own (TOML)")
        ->type_name("FILE");
    app.add_option("--assets", assets_,
                   "Folder with textured meshes (default: $HEATSKIN_ASSETS or ../shared/assets)")
        ->type_name("DIR");
    app.add_option("--seeds", seeds_, "Seeds, separated by commas (default: the study's own)")
        ->type_name("LIST");
    app.add_option("--meshes", meshes_, "Only runs on these meshes of the study, names separated by commas")
        ->type_name("LIST");
    app.add_option("--methods", methods_,
                   "Only runs of these methods of the study, names separated by commas")
        ->type_name("LIST");
    app.add_option("--jobs", jobs_,
                   "Runs side by side with one thread each; timed studies run alone (default: all cores)")
        ->type_name("N")
        ->check(CLI::Range(1, 1024));
    app.add_option("--max-run-seconds", max_seconds_, "A run that takes longer is killed and has an error")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.001, 1e9))
        ->capture_default_str();
    app.add_flag("--fresh", fresh_, "Repeat runs that are finished already");
    // What a run's own process is told.
    app.add_option("--execute", work_)->group("");
    app.add_option("--outcome", outcome_)->group("");
    app.add_option("--row-folder", row_folder_)->group("");
    app.add_option("--fits", fits_)->group("");
    app.footer(
        "Writes DIR/NAME.json, .csv, .md and .svg, and a row of each run under DIR/rows. Runs that are "
        "finished are\n"
        "not repeated: a study that was interrupted goes on. A run that fails has an error in its row. "
        "Results of studies\n"
        "that are not about time are the same bytes in every run; their times are in NAME_timing.csv.\n"
        "--max-memory is for all runs together.\n\n"
        "Example:\n"
        "  heatskin study quality -o out --assets my_meshes --seeds 0,1,2\n"
        "  heatskin study merge machine_1 machine_2 -o both");
  }

  bool random() const override { return false; }  // seeds are --seeds

  Result<void> prepare(Session& session) override {
    if (!work_.empty()) return {};
    if (list_)
      return name_.empty() ? Result<void>() : usageError("--list names all studies; leave out the NAME");
    if (name_.empty())
      return usageError(fmt::format("give the NAME of a study: {}", fmt::join(names(), ", ")));
    if (name_ != kMerge && study::studyNamed(name_) == nullptr) {
      return usageError(
          fmt::format("there is no study '{}'; choose one of {}", oneLine(name_), fmt::join(names(), ", ")));
    }
    if (folder_.empty()) return usageError("-o DIR is missing; see 'heatskin study --help'");
    if (name_ == kMerge) return prepareMerge(session);
    if (!folders_.empty())
      return usageError(fmt::format("'{}' is one argument too many; only 'study merge' takes folders",
                                    oneLine(displayPath(folders_.front()))));
    if (auto read = readSettings(session); !read) return read;
    planFiles(session, {name_});
    return {};
  }

  Result<void> run(Session& session) override {
    if (!work_.empty()) return execute();
    if (list_) {
      Json json = {{"studies", Json::array()}};
      for (const auto& study : study::studies()) {
        session.console.line(study->name());
        json["studies"].push_back({{"name", study->name()}, {"summary", study->summary()}});
      }
      return saveJson(session.console, session.common.json, json);
    }
    if (name_ == kMerge) return merge(session);

    const study::Study& study = *study::studyNamed(name_);
    auto planned = study.plan(settings_);
    if (!planned) return planned.error();
    const auto runs = study::chooseRuns(std::move(*planned), listed(meshes_), listed(methods_));
    if (!runs) return runs.error();
    session.graceful.emplace();
    study::RunnerOptions options;
    options.folder = folder_;
    options.jobs = jobsOf(session, study);
    options.max_seconds = max_seconds_;
    options.max_bytes = memoryBudget();
    options.version = programVersion();
    options.fresh = fresh_;
    options.progress = &session.console;
    const int threads = study.timed() ? threadCount() : 1;
    const std::size_t share = memoryBudget() / static_cast<std::size_t>(options.jobs);
    options.command = [&, threads, share](const fs::path& work, const fs::path& outcome,
                                          const fs::path& folder) {
      std::vector<std::string> words{"/proc/self/exe",
                                     "study",
                                     name_,
                                     "--execute",
                                     work.string(),
                                     "--outcome",
                                     outcome.string(),
                                     "--row-folder",
                                     folder.string(),
                                     "--threads",
                                     std::to_string(threads),
                                     "--max-memory",
                                     std::to_string(share),
                                     "--fits",
                                     (folder_ / "fits").string(),
                                     "--quiet"};
      if (fresh_) words.emplace_back("--fresh");
      return words;
    };
    auto rows = study::runStudy(name_, *runs, options);
    if (!rows) return rows.error();
    if (auto written = write(session, study, *rows); !written) return written;
    return saveJson(session.console, session.common.json, summary_);
  }

 private:
  static std::vector<std::string_view> names() {
    std::vector<std::string_view> names;
    for (const auto& study : study::studies())
      names.push_back(study->name());
    return names;
  }

  /// What rows and fits belong to, besides their own identity.
  static std::string programVersion() {
    const std::string_view commit = buildCommit();
    return fmt::format("{} {}{}{}", kVersion, simdLevel(), commit.empty() ? "" : " ", commit);
  }

  void planFiles(Session& session, const std::vector<std::string>& studies) {
    std::vector<std::string> files;
    for (const std::string& name : studies) {
      for (const char* ending : {".json", ".csv", ".md", ".svg", "_timing.csv"})
        files.push_back(name + ending);
    }
    session.files.reads(manifest_, "--manifest");
    session.files.writesInto(folder_, files, "-o");
    for (const std::string& name : studies)
      session.files.locks(folder_ / (name + ".json"));
  }

  Result<void> readSettings(Session& session) {
    if (!manifest_.empty()) {
      auto subjects = study::loadManifest(manifest_);
      if (!subjects) return subjects.error();
      settings_.subjects = std::move(*subjects);
    }
    if (!seeds_.empty()) {
      auto seeds = parseSeeds();
      if (!seeds) return seeds.error();
      settings_.subjects.seeds = std::move(*seeds);
    }
    std::error_code ignored;
    if (!assets_.empty() && !fs::is_directory(assets_, ignored))
      return inputError(fmt::format("{}: there is no such folder (--assets)", oneLine(displayPath(assets_))));
    settings_.found = study::meshesIn(assets_.empty() ? bench::assetsFolder() : assets_);
    if (!assets_.empty() && settings_.found.empty())
      session.console.warning(
          fmt::format("{} has no meshes; only those made by code are studied", displayPath(assets_)));
    return {};
  }

  Result<std::vector<std::uint64_t>> parseSeeds() const {
    std::vector<std::uint64_t> seeds;
    std::string_view rest = seeds_;
    while (true) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      std::uint64_t seed = 0;
      const auto [stop, problem] = std::from_chars(rest.data(), rest.data() + end, seed);
      if (problem != std::errc() || stop != rest.data() + end || seed > INT64_MAX ||
          std::find(seeds.begin(), seeds.end(), seed) != seeds.end()) {
        return usageError(
            fmt::format("--seeds {}: give different whole numbers with commas between them, such as 0,1,2",
                        oneLine(seeds_)));
      }
      seeds.push_back(seed);
      if (end == rest.size()) return seeds;
      rest.remove_prefix(end + 1);
    }
  }

  static std::vector<std::string> listed(std::string_view text) {
    std::vector<std::string> names;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(','), text.size());
      if (end > 0) names.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(text.size(), end + 1));
    }
    return names;
  }

  int jobsOf(Session& session, const study::Study& study) const {
    if (study.timed()) {
      if (jobs_ > 1)
        session.console.warning(
            fmt::format("--jobs {} has no effect: '{}' is about time and runs alone", jobs_, name_));
      return 1;
    }
    return jobs_ > 0 ? jobs_ : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }

  /// What decides about the tables, without where they go and how fast: the same text in every run.
  std::string commandText() const {
    std::string text = fmt::format("heatskin study {} -o DIR", name_);
    if (settings_.quick) text += " --quick";
    if (!manifest_.empty()) text += " --manifest " + displayPath(manifest_.filename());
    if (!seeds_.empty()) text += " --seeds " + seeds_;
    if (!meshes_.empty()) text += " --meshes " + oneLine(meshes_);
    if (!methods_.empty()) text += " --methods " + oneLine(methods_);
    return text;
  }

  Result<void> write(Session& session, const study::Study& study, const std::vector<study::StudyRow>& rows) {
    const auto files =
        study::studyFiles(study, rows, folder_ / "rows",
                          name_ == kMerge ? "heatskin study merge FOLDERS -o DIR" : commandText());
    std::vector<FileContent> contents;
    for (const auto& [name, text] : files)
      contents.push_back({folder_ / name, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}});
    {
      const NoInterrupt guard;
      if (auto saved = writeFilesAtomically(contents); !saved) return saved;
    }
    const auto failed = static_cast<std::size_t>(std::count_if(
        rows.begin(), rows.end(), [](const study::StudyRow& row) { return !row.error.empty(); }));
    Console& console = session.console;
    const study::StudyReport report = study.report(rows, folder_ / "rows");
    console.heading(report.title);
    for (const std::string& sentence : report.lead)
      console.line("  " + sentence);
    if (!report.tables.empty()) {
      const study::ReportTable& first = report.tables.front();
      console.line("  " + first.caption);
      std::vector<std::vector<std::string>> lines = {first.header};
      lines.insert(lines.end(), first.rows.begin(), first.rows.end());
      console.table(lines);
    }
    console.line();
    console.table({{"runs", fmt::format("{}, {} failed", rows.size(), failed)},
                   {"tables", oneLine(displayPath(folder_ / (std::string(study.name()) + ".md")))}});
    if (failed > 0)
      console.warning(fmt::format("{} failed; their rows have the reasons", counted(failed, "run", "runs")));
    if (const auto programs = study::programsOf(rows); programs.size() > 1)
      console.warning(fmt::format("{}: rows are of several builds of heatskin: {}", study.name(),
                                  oneLine(fmt::format("{}", fmt::join(programs, "; ")))));
    summary_[std::string(study.name())] = {
        {"runs", rows.size()}, {"failed", failed}, {"summary", report.summary}};
    return {};
  }

  Result<void> prepareMerge(Session& session) {
    if (folders_.empty()) return usageError("'study merge' needs the FOLDERS of earlier studies");
    std::error_code ignored;
    std::vector<std::string> found;
    for (const fs::path& folder : folders_) {
      if (!fs::is_directory(folder / "rows", ignored))
        return inputError(fmt::format("{}: there are no rows of a study", oneLine(displayPath(folder))));
      if (fs::weakly_canonical(folder, ignored) == fs::weakly_canonical(folder_, ignored))
        return usageError("-o: give a folder that is not one of those to be merged");
      for (const std::string& name : study::studiesWithRows(folder)) {
        if (study::studyNamed(name) != nullptr && std::find(found.begin(), found.end(), name) == found.end())
          found.push_back(name);
      }
    }
    if (found.empty()) return inputError("none of the folders has rows of a study");
    merged_ = std::move(found);
    planFiles(session, merged_);
    return {};
  }

  /// Rows and their files are copied together, so that the new folder can be gone on with, too.
  Result<void> merge(Session& session) {
    std::error_code problem;
    fs::create_directories(folder_ / "rows", problem);
    if (problem) return failure(fmt::format("{}: {}", displayPath(folder_ / "rows"), problem.message()));
    for (const std::string& name : merged_) {
      std::vector<std::vector<study::StudyRow>> parts;
      for (const fs::path& from : folders_) {
        parts.push_back(study::readRows(name, from));
        for (const study::StudyRow& row : parts.back()) {
          const std::string file = fmt::format("{}.{}.json", name, row.name);
          const auto options = fs::copy_options::skip_existing | fs::copy_options::recursive;
          fs::copy(from / "rows" / file, folder_ / "rows" / file, options, problem);
          if (fs::is_directory(from / "rows" / row.name, problem))
            fs::copy(from / "rows" / row.name, folder_ / "rows" / row.name, options, problem);
        }
      }
      if (auto written = write(session, *study::studyNamed(name), study::mergeRows(parts)); !written)
        return written;
    }
    return saveJson(session.console, session.common.json, summary_);
  }

  /// In a run's own process.
  Result<void> execute() {
    const study::Study* study = study::studyNamed(name_);
    if (study == nullptr) return usageError(fmt::format("there is no study '{}'", oneLine(name_)));
    const auto bytes = readFile(work_);
    if (!bytes) return bytes.error();
    const Json work = Json::parse(bytes->begin(), bytes->end(), nullptr, false);
    if (!work.is_object()) return inputError(fmt::format("{}: no run", oneLine(displayPath(work_))));
    Quiet quiet;
    const auto outcome = study->execute(work, {row_folder_, fits_, programVersion(), fresh_, &quiet});
    const Json json = outcome ? Json{{"values", outcome->values}, {"timing", outcome->timing}}
                              : Json{{"error", worded(outcome.error())}};
    if (auto saved = saveText(outcome_, json.dump(-1, ' ', false, Json::error_handler_t::replace)); !saved)
      return saved;
    return outcome ? Result<void>() : outcome.error();
  }

  const CLI::App* app_ = nullptr;
  std::string name_, seeds_, meshes_, methods_;
  std::vector<fs::path> folders_;
  fs::path folder_, manifest_, assets_, work_, outcome_, row_folder_, fits_;
  study::StudySettings settings_;
  std::vector<std::string> merged_;
  double max_seconds_ = kRunSeconds;
  int jobs_ = 0;
  bool list_ = false, fresh_ = false;
  Json summary_ = Json::object();
};

}  // namespace

std::unique_ptr<Verb> makeStudy() {
  return std::make_unique<StudyVerb>();
}

}  // namespace heatskin::cli
