#pragma once

// What a study writes: NAME.json, NAME.csv, NAME.md and NAME.svg, and for studies that are not about time
// NAME_timing.csv, so that the others are the same in every run.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/study/study.h"

namespace heatskin::study {

/// Names and contents of the files of a study. Rows are in the order of the tables; `command` makes them, for
/// people.
std::vector<std::pair<std::string, std::string>> studyFiles(const Study& study,
                                                            std::span<const StudyRow> rows,
                                                            const std::filesystem::path& row_folder,
                                                            const std::string& command);

/// The programs that made the rows, each once, in order: one, unless rows of several builds are mixed.
std::vector<std::string> programsOf(std::span<const StudyRow> rows);

/// Rows as comma-separated values: the run's name, its description, what `parts` of the rows have, the error.
/// Keys of objects inside are joined by dots; lists are JSON.
std::string rowsCsv(std::span<const StudyRow> rows, bool values, bool timing);

/// A table in Markdown; the first column to the left, the others to the right.
std::string markdownTable(const ReportTable& table);

}  // namespace heatskin::study
