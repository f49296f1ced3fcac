#include "cli/fit_job.h"

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/base/machine.h"
#include "heatskin/base/parallel.h"
#include "heatskin/base/result.h"
#include "heatskin/io/reference.h"
#include "heatskin/version.h"
#include "heatskin/viewing/live_fit.h"

#include "cli/evaluation_page.h"
#include "cli/inputs.h"
#include "cli/interrupt.h"
#include "cli/remedies.h"

namespace heatskin::cli {
namespace {

/// Phases in wall-clock seconds. Sampling to backward are measured inside threads: what the other phases
/// leave of the optimisation is divided in their proportion.
std::vector<std::pair<std::string, double>> wallProfile(const FitHistory& history) {
  std::vector<std::pair<std::string, double>> phases;
  double in_threads = 0, alone = 0;
  const auto threaded = [](std::string_view name) {
    return name == "sampling" || name == "candidates" || name == "forward" || name == "backward";
  };
  visitPhases(history.profile, [&](const char* name, double seconds) {
    phases.emplace_back(name, seconds);
    (threaded(name) ? in_threads : alone) += seconds;
  });
  const double rest = std::max(0.0, history.optimise_seconds - alone);
  for (auto& [name, seconds] : phases) {
    if (threaded(name)) seconds = in_threads > 0 ? seconds / in_threads * rest : 0;
  }
  return phases;
}

/// Why there are no more kernels, and what more would cost.
std::string budgetText(const FitOutcome& outcome) {
  const FitResult& fit = outcome.fit;
  const GrowthStage& last = fit.history.stages.back();
  const BudgetOptions& budget = outcome.config.train.budget;
  const auto why = [&]() -> std::string {
    switch (fit.stopped_by) {
      case StoppedBy::kTarget:
        return fmt::format("the target of {:g} dB is reached", budget.target_psnr);
      case StoppedBy::kMaxKernels:
        return fmt::format("stopped at the limit of {} kernels",
                           grouped(outcome.config.train.density.max_kernels));
      case StoppedBy::kMaxBytes:
        return fmt::format("stopped at the limit of {}", humanBytes(static_cast<double>(budget.max_bytes)));
      case StoppedBy::kMaxSeconds:
        return fmt::format("stopped at the limit of {:g} seconds", budget.max_seconds);
      case StoppedBy::kNoGain:
        return "stopped because more kernels bring little";
      case StoppedBy::kAsked:
        return "ended from its page";
      case StoppedBy::kSteps:
        break;
    }
    return "the number was given";
  };
  return fmt::format("{} ({}, {} dB); four times as many would take about {} more and bring about {} dB",
                     why(), counted(fit.history.stages.size(), "stage", "stages"), fixed(last.psnr, 1),
                     humanSeconds(4 * last.seconds), fixed(gainPerFourfold(fit.history.stages), 1));
}

/// Progress on the console, whose phases a page hears of, too.
class WatchedProgress : public Progress {
 public:
  WatchedProgress(Console& console, LiveFit* live) : console_(console), live_(live) {}
  void begin(std::string_view phase, std::size_t total) override {
    if (live_ != nullptr) live_->phase(phase);
    console_.begin(phase, total);
  }
  void update(std::size_t done, std::string_view detail) override { console_.update(done, detail); }
  void end() override { console_.end(); }
  bool cancelled() const override { return console_.cancelled(); }

 private:
  Console& console_;
  LiveFit* live_;
};

Error interruptedError(const Session& session, const FitJob& job, const FitResult& fit) {
  const bool resumes = job.control.resume != Resume::kNo;
  return failure(
      fmt::format("interrupted; {}{} steps are saved in {}; resume with: {}{}",
                  grouped(static_cast<std::size_t>(fit.steps_done)),
                  // How many there will be in all stages is not known.
                  job.config.train.budget.automatic
                      ? std::string()
                      : " of " + grouped(static_cast<std::size_t>(stepsOf(job.config))),
                  displayPath(job.control.checkpoint), session.command, resumes ? "" : " --resume"),
      error_code::kCancelled);
}

/// The checkpoint outlives a product that could not be written.
Error unsavedError(const FitJob& job, const Error& error) {
  std::error_code ignored;
  const std::filesystem::path& checkpoint = job.control.checkpoint;
  if (checkpoint.empty() || !std::filesystem::exists(checkpoint, ignored)) return error;
  return {error.kind,
          fmt::format("{}; {} is kept: solve the problem and run again with --resume", error.message,
                      displayPath(checkpoint)),
          error.code};
}

}  // namespace

Result<FitOutcome> runFit(Session& session, const LoadedAsset& asset, FitJob job, LiveFit* live) {
  Console& console = session.console;
  WatchedProgress watched(console, live);
  // From here on a signal finds something worth keeping: the state, and then the product.
  if (!job.control.checkpoint.empty()) session.graceful.emplace();
  job.control.progress = &watched;
  if (live != nullptr) {
    job.control.watch = [&](const FitMoment& moment) {
      live->watch(moment, [&] { return console.cancelled(); });
    };
    job.control.finish = [live] { return live->finishAsked(); };
  }
  job.control.write = [](const std::filesystem::path& path, std::span<const std::uint8_t> bytes) {
    return saveBytes(path, bytes);
  };
  job.control.notify = [&](const Notice& notice) { console.warning(worded(notice)); };
  job.guard = [](const std::function<Result<void>()>& write) {
    const NoInterrupt guard;
    return write();
  };
  job.evaluation.seed = CommonOptions().seed;  // of `heatskin eval`, so that it shows the same figures
  auto outcome = fitProduct(asset, job);
  if (!outcome)
    return outcome.error().code == error_code::kNotSaved ? unsavedError(job, outcome.error())
                                                         : outcome.error();
  if (!outcome->fit.complete) return interruptedError(session, job, outcome->fit);
  if (outcome->fit.stopped_by == StoppedBy::kAsked) {
    console.warning(
        fmt::format("ended from its page after {}; the product has the kernels of that moment{}",
                    counted(static_cast<std::size_t>(outcome->fit.steps_done), "step", "steps"),
                    job.control.checkpoint.empty() ? "" : ", and --resume would continue the fit"));
  }
  if (interrupted() && job.evaluate && !outcome->evaluation) {
    if (!session.graceful) return failure("interrupted", error_code::kCancelled);
    console.warning(
        fmt::format("interrupted after the last step: {} is complete, its evaluation was left out",
                    displayPath(job.output)));
  }
  return outcome;
}

Json fitJson(const LoadedAsset& asset, const FitJob& job, const FitOutcome& outcome) {
  const SurfaceReport& mesh = asset.surface->report();
  const FitConfig& config = outcome.config;
  const FitResult& fit = outcome.fit;
  Json json = {{"file", displayPath(asset.asset.path)}, {"output", displayPath(job.output)}};
  if (outcome.evaluation) {
    addEvaluation(json, *outcome.evaluation);
    addMaterials(json, *outcome.evaluation, asset.asset);
    json["quantisation_loss_db"] = jsonNumber(outcome.quantisation_loss_db);
  } else {
    for (const char* key :
         {"surface_psnr", "view_psnr", "view_ssim", "atlas_psnr", "coverage_below_half", "coverage_defect",
          "seam_jump_p99", "seam_jump_max", "query_mpoints_s", "quantisation_loss_db"})
      json[key] = nullptr;
  }
  json["fit_filter"] = asset.appearance.filterUsed(config.train.filter);
  json["kernels"] = fit.kernels.size();
  json["stopped_by"] = kStoppedByNames[static_cast<std::size_t>(fit.stopped_by)];
  json["samples"] = fit.history.samples;
  json["stages"] = Json::array();
  for (const GrowthStage& stage : fit.history.stages) {
    json["stages"].push_back({{"kernels", stage.kernels},
                              {"psnr", jsonNumber(stage.psnr)},
                              {"seconds", jsonNumber(stage.seconds)},
                              {"model_bytes", stage.bytes}});
  }
  json["init_s"] = jsonNumber(outcome.init_seconds);
  json["preprocess_s"] = jsonNumber(fit.preprocess_seconds);
  json["optimise_s"] = jsonNumber(fit.history.optimise_seconds);
  json["median_step_ms"] = jsonNumber(1e3 * fit.median_step_seconds);
  json["profile"] = {{"sampling", nullptr}, {"candidates", nullptr}, {"forward", nullptr},
                     {"backward", nullptr}, {"optimiser", nullptr},  {"rebuild", nullptr},
                     {"density", nullptr}};
  for (const auto& [name, seconds] : wallProfile(fit.history))
    json["profile"][name] = jsonNumber(seconds);
  json["peak_rss_mb"] = jsonNumber(static_cast<double>(peakResidentBytes()) * 1e-6);
  json["memory_estimate_bytes"] = fit.memory_estimate_bytes > 0 ? Json(fit.memory_estimate_bytes) : Json();
  json["model_bytes"] = outcome.stored->product.model_bytes;
  json["chart_bytes"] = outcome.stored->product.chart_bytes;
  json["variant_bytes"] = outcome.stored->product.variant_bytes;
  json["variants"] = Json::object();
  for (const FittedVariant& variant : outcome.variants) {
    Json& entry = json["variants"][variant.name];
    if (variant.evaluation) addEvaluation(entry, *variant.evaluation);
    entry["bytes"] = variant.bytes;
    entry["solve_s"] = jsonNumber(variant.solve_seconds);
  }
  json["bytes_per_kernel"] = jsonNumber(outcome.stored->product.bytesPerKernel());
  json["file_bytes"] = outcome.bytes.size();
  json["input_bytes"] = asset.asset.input_bytes;
  json["fallback"] = kFallbackNames[static_cast<std::size_t>(outcome.fallback)];
  json["fallback_psnr"] = outcome.fallback_psnr ? jsonNumber(*outcome.fallback_psnr) : Json();
  json["kept"] = outcome.kept;
  json["dropped"] = outcome.dropped;
  json["method"] = methodName(config.evaluator.method);
  json["preset"] = config.preset;
  json["steps"] = fit.steps_done;
  json["resumed_at"] = fit.resumed_at;
  json["seed"] = config.train.seed;
  json["threads"] = threadCount();
  json["vertices"] = mesh.vertices;
  json["faces"] = mesh.faces;
  std::vector<Notice> notices = asset.notices;
  notices.insert(notices.end(), outcome.notices.begin(), outcome.notices.end());
  json["warnings"] = messages(notices, true);
  json["version"] = kVersion;
  // A curve for plots: means over equal parts of the run.
  constexpr std::size_t kPoints = 100;
  json["losses"] = Json::array();
  const std::vector<float>& losses = fit.history.losses;
  const std::size_t points = std::min(kPoints, losses.size());
  for (std::size_t p = 0; p < points; ++p) {
    const std::size_t begin = p * losses.size() / points, end = (p + 1) * losses.size() / points;
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i)
      sum += static_cast<double>(losses[i]);
    json["losses"].push_back(jsonNumber(sum / static_cast<double>(end - begin)));
  }
  return json;
}

ReportPage::Rows fitRows(const FitOutcome& outcome) {
  const FitResult& fit = outcome.fit;
  ReportPage::Rows rows;
  if (outcome.evaluation) rows = evaluationRows(*outcome.evaluation);
  rows.emplace_back("kernels",
                    fmt::format("{}{}", kernelsInBytes(outcome.stored->product),
                                outcome.evaluation ? fmt::format(", quantisation cost {} dB",
                                                                 fixed(outcome.quantisation_loss_db, 3))
                                                   : std::string()));
  const std::size_t chart_bytes = outcome.stored->product.chart_bytes;
  rows.emplace_back("charts", chart_bytes > 0
                                  ? fmt::format("{}: any reader can tell where each kernel reaches",
                                                humanBytes(static_cast<double>(chart_bytes)))
                                  : "none: only heatskin evaluates this file exactly");
  for (const FittedVariant& variant : outcome.variants) {
    rows.emplace_back("variant",
                      fmt::format("{}: {}{}", quoteForMessage(variant.name),
                                  variant.evaluation ? fmt::format("surface PSNR {} dB, ",
                                                                   fixed(variant.evaluation->surface_psnr, 2))
                                                     : std::string(),
                                  variant.bytes > 0 ? humanBytes(static_cast<double>(variant.bytes))
                                                    : std::string("no values of its own")));
  }
  if (!fit.history.stages.empty()) rows.emplace_back("budget", budgetText(outcome));
  rows.emplace_back(
      "fit",
      fmt::format("method {}, preset {}, {}, seed {}{}", methodName(outcome.config.evaluator.method),
                  outcome.config.preset, counted(static_cast<std::size_t>(fit.steps_done), "step", "steps"),
                  outcome.config.train.seed,
                  fit.resumed_at > 0 ? fmt::format(", resumed at {}", fit.resumed_at) : std::string()));
  rows.emplace_back(
      "time", fmt::format("{} to initialise, {} to optimise ({:.2f} ms per step, {})",
                          humanSeconds(outcome.init_seconds), humanSeconds(fit.history.optimise_seconds),
                          1e3 * fit.median_step_seconds,
                          counted(static_cast<std::size_t>(threadCount()), "thread", "threads")));
  rows.emplace_back("memory",
                    fmt::format("{} at its peak", humanBytes(static_cast<double>(peakResidentBytes()))));
  return rows;
}

std::vector<ReportPage::Bar> profileBars(const FitOutcome& outcome) {
  std::vector<ReportPage::Bar> bars;
  const double all = std::max(1e-9, outcome.fit.history.optimise_seconds);
  double longest = 1e-9;
  for (const auto& [name, seconds] : wallProfile(outcome.fit.history))
    longest = std::max(longest, seconds);
  for (const auto& [name, seconds] : wallProfile(outcome.fit.history))
    bars.push_back(
        {name, fmt::format("{} ({:.0f} %)", humanSeconds(seconds), 100 * seconds / all), seconds / longest});
  return bars;
}

}  // namespace heatskin::cli
