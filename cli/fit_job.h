#pragma once

// A fit from asset to product file, with its evaluation: what the verbs fit and demo share.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "heatskin/base/result.h"
#include "heatskin/evaluation/evaluate.h"
#include "heatskin/training/config.h"
#include "heatskin/training/fit.h"

#include "cli/output.h"
#include "cli/report_page.h"
#include "cli/subject.h"
#include "cli/textured_subject.h"
#include "cli/verb.h"

namespace heatskin::cli {

struct FitJob {
  FitConfig config;
  std::filesystem::path output;      ///< the product
  std::filesystem::path resolved;    ///< its configuration
  std::filesystem::path checkpoint;  ///< removed when the product is written; empty: Ctrl-C loses the fit
  double checkpoint_interval_s = 10;
  Resume resume = Resume::kNo;
  bool evaluate = true;
};

/// A fit that is over and on the disk.
struct FitOutcome {
  FitResult fit;
  std::unique_ptr<FittedSubject> stored;  ///< the product as it was read back
  std::optional<Evaluation> evaluation;   ///< of the stored texture
  double quantisation_loss_db = 0;        ///< surface PSNR before storing minus after; 0 without evaluation
  double init_seconds = 0;                ///< from the loaded file to the first step
  std::size_t file_bytes = 0;
};

/// Fits, writes configuration and product, removes the checkpoint, reads the product back and evaluates what
/// was read. Product and configuration are written atomically, together. Ctrl-C saves the checkpoint; the
/// error then has the command that resumes.
Result<FitOutcome> runFit(Session& session, const Subject& subject, const FitJob& job);

/// Everything about the fit under the keys of DESIGN, and more.
Json fitJson(const Subject& subject, const FitJob& job, const FitOutcome& outcome);

/// The same for people: what was fitted, how well, how fast.
ReportPage::Rows fitRows(const FitJob& job, const FitOutcome& outcome);

/// Wall-clock seconds by phase; they add up to the time of the optimisation.
ReportPage::Rows profileRows(const FitOutcome& outcome);

/// The loss over the steps as an SVG drawing, logarithmic.
std::string lossCurve(const FitHistory& history);

}  // namespace heatskin::cli
