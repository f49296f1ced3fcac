#pragma once

// A fit as the verbs fit and demo run and show it.

#include <string>

#include "heatskin/base/result.h"
#include "heatskin/pipeline/pipeline.h"

#include "cli/output.h"
#include "cli/report_page.h"
#include "cli/verb.h"

namespace heatskin::cli {

/// fitProduct() with the session's console, files and signals. Ctrl-C saves the checkpoint; the error then
/// has the command that resumes.
Result<FitOutcome> runFit(Session& session, const LoadedAsset& asset, FitJob job);

/// Everything about the fit under the keys of DESIGN, and more.
Json fitJson(const LoadedAsset& asset, const FitJob& job, const FitOutcome& outcome);

/// The same for people: what was fitted, how well, how fast.
ReportPage::Rows fitRows(const FitOutcome& outcome);

/// Wall-clock seconds by phase; they add up to the time of the optimisation.
ReportPage::Rows profileRows(const FitOutcome& outcome);

/// The loss over the steps as an SVG drawing, logarithmic.
std::string lossCurve(const FitHistory& history);

}  // namespace heatskin::cli
