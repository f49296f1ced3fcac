#pragma once

// The report of a fit: one page that says what was made, how well, how, and in how long.

#include <filesystem>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/pipeline/pipeline.h"

#include "cli/report_page.h"
#include "cli/verb.h"

namespace heatskin::cli {

/// Writes report.html and evaluationFiles() into `folder`, which exists. `rows`: what the verb prints.
/// Returns the names of the pictures.
Result<std::vector<std::string>> writeFitReport(Session& session, const std::filesystem::path& folder,
                                                const LoadedAsset& subject, const FitJob& job,
                                                const FitOutcome& outcome, const ReportPage::Rows& rows);

}  // namespace heatskin::cli
