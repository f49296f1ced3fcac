#pragma once

// A study: runs that are planned, executed one by one in processes of their own, and reported together. Each
// study is a class in a file of its own and has one line in studies.cpp; runner.h runs it, report.h writes
// it.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "heatskin/base/fingerprint.h"
#include "heatskin/base/result.h"
#include "heatskin/study/subjects.h"

namespace heatskin::study {

using Json = nlohmann::ordered_json;

/// What a study is asked for.
struct StudySettings {
  bool quick = false;  ///< the smoke version: one tiny pumpkin, few steps
  Subjects subjects;   ///< what somebody asked for: meshes, methods, seeds, options of every fit
  std::vector<MeshSpec> found = {};  ///< meshes of the assets folder, for studies that are not told any
};

/// One run. `work` decides everything about its outcome: with the study's name and the program's version it
/// is the run's identity.
struct StudyRun {
  std::string name;  ///< of its files: "spot_pq_s0"; distinct within the study
  Json work;
  double cost = 1;  ///< expected seconds, roughly, for the remaining time

  /// In the study's whole plan, if this is a part of it (chooseRuns()).
  std::optional<std::size_t> place = {};
};

/// Where and how a run is executed; nothing of it decides about the outcome.
struct RunContext {
  std::filesystem::path folder;  ///< exists; for files that belong to the row (pictures)

  /// Where fits are kept, for all studies that ask for the same ones; empty: nowhere.
  std::filesystem::path fits = {};
  std::string version = {};      ///< of the program: fits of another one are not used
  bool fresh = false;            ///< fit again what is kept, too
  Progress* progress = nullptr;  ///< never null
};

/// What execute() found.
struct StudyOutcome {
  Json values = Json::object();  ///< the same in every run on the same kind of machine
  Json timing = Json::object();  ///< what depends on the moment
};

/// A finished run.
struct StudyRow {
  std::string name;
  std::size_t place = 0;  ///< in the plan it was part of
  Json work, values, timing;
  std::string error;         ///< empty: none
  std::string program = {};  ///< RunnerOptions::version when it was made; empty: not known

  /// A number of `values`, then of `timing`; not-a-number if there is none.
  double number(std::string_view key) const;
  /// A text of `work`, then of `values`; empty if there is none. "mesh/name" looks inside of objects.
  std::string text(std::string_view path) const;
};

/// A table for people; the first column is text.
struct ReportTable {
  std::string caption;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

/// What a study has to say.
struct StudyReport {
  std::string title;
  std::vector<std::string> lead;  ///< sentences
  std::vector<ReportTable> tables;
  std::vector<std::string> notes;  ///< how it was measured, what is missing
  Json summary = Json::object();   ///< aggregates, for programs
  std::string figure;              ///< an SVG document
};

class Study {
 public:
  virtual ~Study() = default;
  virtual std::string_view name() const = 0;     ///< "quality"
  virtual std::string_view summary() const = 0;  ///< one line for lists

  /// True: it is about time, so its runs never run side by side and have all threads; timing columns are part
  /// of its results.
  virtual bool timed() const { return false; }

  /// The runs, in the order of the tables. Reads at most the names of files.
  virtual Result<std::vector<StudyRun>> plan(const StudySettings& settings) const = 0;

  /// Does the work of one run. What a method refuses is a value ("refused"), not an error.
  virtual Result<StudyOutcome> execute(const Json& work, const RunContext& context) const = 0;

  /// Tables and a figure from rows, of which some may have failed and any may be missing. `folder` is where
  /// execute() put its files: folder / row name.
  virtual StudyReport report(std::span<const StudyRow> rows, const std::filesystem::path& folder) const = 0;
};

/// All studies, in the order of the paper.
std::span<const std::unique_ptr<Study>> studies();

/// Null if there is none of that name.
const Study* studyNamed(std::string_view name);

/// The runs that are about one of the meshes and one of the methods, by their names; an empty list stands for
/// all. Runs without a method are kept whatever the methods. Fails on a name that no run has.
Result<std::vector<StudyRun>> chooseRuns(std::vector<StudyRun> runs, std::span<const std::string> meshes,
                                         std::span<const std::string> methods);

/// Seconds of processor time this process has used, all threads.
double cpuSeconds();

/// A number, or null: JSON has neither infinities nor not-a-numbers.
Json jsonNumber(double value);

}  // namespace heatskin::study
