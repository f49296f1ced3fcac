#pragma once

// A fit as the verbs fit and demo run and show it.

#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/pipeline/pipeline.h"

#include "cli/output.h"
#include "cli/report_page.h"
#include "cli/verb.h"

namespace heatskin {
class LiveFit;
}

namespace heatskin::cli {

/// fitProduct() with the session's console, files and signals. Ctrl-C saves the checkpoint; the error then
/// has the command that resumes.
/// `live`: who watches it, or null.
Result<FitOutcome> runFit(Session& session, const LoadedAsset& asset, FitJob job, LiveFit* live = nullptr);

/// Everything about the fit under the keys of DESIGN, and more.
Json fitJson(const LoadedAsset& asset, const FitJob& job, const FitOutcome& outcome);

/// The same for people: what was fitted, how well, how fast.
ReportPage::Rows fitRows(const FitOutcome& outcome);

/// Wall-clock seconds by phase; they add up to the time of the optimisation.
std::vector<ReportPage::Bar> profileBars(const FitOutcome& outcome);

}  // namespace heatskin::cli
