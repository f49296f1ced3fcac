#pragma once

// Runs of a study, each in a process of its own with limits of time and memory. A finished run leaves its
// row, and is not repeated; a run that crashes, hangs or fails leaves a row with an error, and the study goes
// on.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/study/study.h"

namespace heatskin::study {

struct RunnerOptions {
  std::filesystem::path folder;  ///< rows go to folder/rows; both are made
  int jobs = 1;                  ///< processes side by side

  double max_seconds = 0;     ///< of a run; its process group is killed then. 0: any
  std::size_t max_bytes = 0;  ///< of address space of a run; 0: any. Not in sanitised builds
  std::string version;        ///< of the program, its build: rows of another one are not used
  bool fresh = false;         ///< repeat finished runs

  /// The command that executes a run: it reads the run's work (JSON) from one file and writes what it found,
  /// {"values": .., "timing": ..} or {"error": ".."}, to another; `folder` is for files of the row.
  std::function<std::vector<std::string>(const std::filesystem::path& work,
                                         const std::filesystem::path& outcome,
                                         const std::filesystem::path& folder)>
      command;

  Progress* progress = nullptr;  ///< may be null. Its cancelled() kills all runs
};

/// `work` without what does not count: places of files. What rows are stored and compared by.
Json runIdentity(const Json& work);

/// 32 hexadecimal digits of a study's name, its work and the version.
std::string runFingerprint(std::string_view study, const Json& work, std::string_view version);

/// Rows of all runs, in order. Fails when cancelled (finished rows stay), and if the folder cannot be
/// written.
Result<std::vector<StudyRow>> runStudy(std::string_view study, std::span<const StudyRun> runs,
                                       const RunnerOptions& options);

/// Rows of a study that are in folder/rows, whatever plan they belong to; those that cannot be read are left
/// out.
std::vector<StudyRow> readRows(std::string_view study, const std::filesystem::path& folder);

/// The names of the studies that have rows in a folder.
std::vector<std::string> studiesWithRows(const std::filesystem::path& folder);

/// Rows of several folders as one list, by their places in the plans; each run once.
std::vector<StudyRow> mergeRows(std::span<const std::vector<StudyRow>> parts);

}  // namespace heatskin::study
