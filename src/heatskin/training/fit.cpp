#include "heatskin/training/fit.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/error_codes.h"
#include "heatskin/base/files.h"
#include "heatskin/base/memory_budget.h"
#include "heatskin/base/plural.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/training/checkpoint.h"
#include "heatskin/training/fit_memory.h"
#include "heatskin/training/streams.h"
#include "heatskin/training/trainer.h"
#include "heatskin/training/visible_samples.h"
#include "heatskin/version.h"

namespace heatskin {
namespace {

/// Of the loss that people see: about the last 30 batches.
constexpr double kLossKeep = 0.97;

TrainProfile operator+(TrainProfile a, TrainProfile b) {
  std::vector<double> seconds;
  visitPhases(b, [&](const char*, double s) { seconds.push_back(s); });
  std::size_t phase = 0;
  visitPhases(a, [&](const char*, double& s) { s += seconds[phase++]; });
  return a;
}

double medianAfterWarmup(std::vector<float> seconds) {
  seconds.erase(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 10));
  if (seconds.empty()) return 0;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return static_cast<double>(*middle);
}

/// Why a checkpoint cannot be resumed; nothing if it can.
Result<void> checkOrigin(const Checkpoint& checkpoint, const InputHash& input, const FitConfig& config,
                         const std::string& name) {
  const auto other = [&](const std::string& why) {
    return inputError(fmt::format("{}: {}", name, why), error_code::kOtherCheckpoint);
  };
  if (checkpoint.program != kVersion) {
    return other(fmt::format("was written by heatskin {}, this is {}; resume with that version",
                             checkpoint.program, kVersion));
  }
  if (checkpoint.input != input) {
    return other("belongs to another asset, or this one has changed since; give the original asset");
  }
  const auto before = parseConfig(checkpoint.config, name);
  if (!before) {
    return other(fmt::format("was written with other options ({}); resume with the version that wrote it",
                             before.error().message));
  }
  const auto differences = configDifferences(*before, config);
  if (!differences.empty()) {
    const OptionDifference& d = differences.front();
    const std::string more =
        differences.size() > 1 ? fmt::format(" and {} more", differences.size() - 1) : std::string();
    return other(fmt::format("was made with {} = {}, now it is {}{}; give the same options", d.key, d.first,
                             d.second, more));
  }
  return {};
}

/// Values that are no numbers, or that the layout's ranges have no room for, are a mistake of whoever wrote
/// the target: fitted as they are, they would spoil everything around them.
Result<void> checkValues(const FitTarget& target, std::span<const SurfacePoint> points) {
  const ChannelLayout& layout = target.layout();
  std::vector<float> values(points.size() * layout.size());
  unitValues(target, points, values);
  constexpr float kSlack = 1e-3f;  // of the range: rounding in somebody's formula
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= -kSlack && values[i] <= 1 + kSlack) continue;
    const ChannelGroup& group = layout.groupOf(i % layout.size());
    const float value = group.range[0] + (group.range[1] - group.range[0]) * values[i];
    return inputError(
        fmt::format("the target has the value {:.4g} in {}, whose range is [{:g}, {:g}]; give the layout the "
                    "range of the values",
                    value, group.name, group.range[0], group.range[1]));
  }
  return {};
}

Error impossibleState(const std::string& name) {
  return inputError(fmt::format("{}: holds an impossible state", name), error_code::kDamagedCheckpoint);
}

/// Whether another stage could follow these.
bool possible(std::span<const GrowthStage> stages, const TrainOptions& options) {
  if (stages.empty()) return true;
  const auto sound = [](const GrowthStage& s) {
    return s.kernels >= 1 && std::isfinite(s.kernels) && !std::isnan(s.psnr) && s.seconds >= 0 &&
           s.bytes >= 0;
  };
  return options.budget.automatic && std::all_of(stages.begin(), stages.end(), sound) &&
         nextBudget(options, stages).budget > 0;
}

}  // namespace

Result<void> checkSomethingToFit(const Surface& surface, const FitTarget& target) {
  if (!target.hasColor()) {
    return inputError(
        "there is nothing to fit: no textures and no vertex colours, every material has a single colour",
        error_code::kNothingToFit);
  }
  constexpr std::size_t kPoints = 4096;
  const std::vector<SurfacePoint> points = sampleVisible(surface, target, kPoints, 0, streams::kPool);
  if (!points.empty()) return checkValues(target, points);
  if (visibleShare(surface, target) > 0) {
    return inputError("there is nothing to fit: everything with a texture or vertex colours is transparent",
                      error_code::kNothingToFit);
  }
  return inputError(
      "there is nothing to fit: the asset is fully transparent (alpha is 0 or below the cutoff everywhere)",
      error_code::kNothingToFit);
}

Result<FitResult> fit(const Surface& surface, const FitTarget& target, const FitConfig& config,
                      const FitControl& control) {
  if (auto sound = checkConfig(config); !sound) return sound.error();
  if (auto something = checkSomethingToFit(surface, target); !something) return something.error();
  Progress& progress = control.progress != nullptr ? *control.progress : silentProgress();
  const bool saving = !control.checkpoint.empty();
  const std::string name = displayPath(control.checkpoint);
  FitResult result;
  Checkpoint checkpoint;
  checkpoint.program = kVersion;
  checkpoint.config = configToml(config);

  // A checkpoint is looked at before any work is done.
  bool resuming = false;
  if (saving) {
    checkpoint.input = inputHash(surface, target);
    std::error_code ignored;
    const bool exists = std::filesystem::exists(control.checkpoint, ignored);
    if (control.resume == Resume::kMustBeThere && !exists) {
      return inputError(fmt::format("{}: there is no checkpoint to resume from", name),
                        error_code::kNoCheckpoint);
    }
    resuming = control.resume != Resume::kNo && exists;
  }
  const auto notify = [&](Notice notice) {
    if (control.notify) control.notify(notice);
    result.notices.push_back(std::move(notice));
  };
  // With kIfThere a damaged file is no reason to stop; one that belongs to another fit is.
  const auto startOver = [&](const Error& problem) -> Result<void> {
    if (control.resume != Resume::kIfThere) return problem;
    notify({"checkpoint_damaged", problem.message + "; the fit starts over"});
    resuming = false;
    checkpoint.state = {};
    result.history = {};
    return {};
  };
  if (resuming) {
    auto found = loadCheckpoint(control.checkpoint);
    if (!found) {
      if (auto over = startOver(found.error()); !over) return over.error();
    } else {
      if (auto mine = checkOrigin(*found, checkpoint.input, config, name); !mine) return mine.error();
      if (!possible(found->history.stages, trainOptions(config))) {
        if (auto over = startOver(impossibleState(name)); !over) return over.error();
      } else {
        checkpoint.state = std::move(found->state);
        result.history = std::move(found->history);
      }
    }
  }

  const TrainOptions train = trainOptions(config);
  // Refused before any work where there is no memory for it; a later stage asks for what it takes more.
  double asked = 0;
  const auto held = static_cast<double>(residentBytes());
  const auto askFor = [&](std::size_t budget) -> Result<void> {
    const double bytes = fitBytes(surface, config, target.layout(), budget);
    if (bytes <= asked) return {};
    if (auto fits = askMemory(fmt::format("a fit of {} on {}", plural(budget, "kernel", "kernels"),
                                          plural(surface.faceCount(), "face", "faces")),
                              bytes - asked);
        !fits)
      return fits.error();
    asked = bytes;
    result.memory_estimate_bytes = held + bytes;
    return {};
  };
  const std::size_t begins_with =
      !train.budget.automatic ? train.density.max_kernels : firstBudget(train, surface.componentCount());
  if (auto fits = askFor(begins_with); !fits) return fits.error();
  Stopwatch watch;
  auto made = makeEvaluator(surface, config.evaluator.options(), {&progress, control.cache});
  if (!made) return made.error();
  const std::shared_ptr<Evaluator> evaluator = std::move(*made);
  result.preprocess_seconds = watch.lap();
  result.init_seconds = result.preprocess_seconds;

  // One stage with the budget that was given, or one after the other with more kernels each. Every stage
  // starts over: kernels that were placed for a smaller budget are in the way of a larger one (boombox with
  // 64,000 kernels: 34.5 dB after 500 steps, 34.3 dB after 800 that go on from 16,000).
  const auto steps = static_cast<std::size_t>(train.steps);
  std::vector<GrowthStage>& stages = result.history.stages;
  std::optional<KernelSet> kernels;
  double since_save = 0;
  bool cancelled = false, failed_before = false, first = true;
  for (;;) {
    std::size_t budget = train.density.max_kernels;
    if (train.budget.automatic) {
      const GrowthDecision next = stages.empty()
                                      ? GrowthDecision{firstBudget(train, surface.componentCount())}
                                      : nextBudget(train, stages);
      budget = next.budget;
      result.stopped_by = next.stopped_by;
      if (budget == 0) break;
    }
    const TrainOptions options = stageOptions(train, budget);
    if (auto fits = askFor(budget); !fits) return fits.error();
    progress.begin("preparing", 0);
    watch.lap();
    const bool from_state = resuming && first;
    Trainer trainer(surface, target, *evaluator, options);
    result.init_seconds += first ? watch.lap() : 0;
    progress.end();
    // Half of what a texture may take: kernels change during a fit.
    if (auto justified = evaluator->check(trainer.kernels(), 0.5); !justified) {
      if (justified.error().kind != ErrorKind::kUsage) return justified.error();
      return usageError(justified.error().message +
                        "; lower local.max_radius, local.diffusion_time or local.window_sigma");
    }
    if (from_state) {
      const auto done = static_cast<std::size_t>(std::max(0, checkpoint.state.step)) + stages.size() * steps;
      if (result.history.losses.size() != done || result.history.step_seconds.size() != done ||
          !trainer.restore(std::move(checkpoint.state))) {
        if (auto over = startOver(impossibleState(name)); !over) return over.error();
        continue;
      }
      result.resumed_at = static_cast<int>(done);
    }
    first = false;

    const TrainProfile profile_before = result.history.profile;
    const double seconds_before = result.history.optimise_seconds, samples_before = result.history.samples;
    const int step_before = trainer.stepsDone();
    double seconds = 0;
    const auto note = [&](FitHistory& history) {
      history.profile = profile_before + trainer.profile();
      history.optimise_seconds = seconds_before + seconds;
      history.samples =
          samples_before + static_cast<double>(trainer.options().batch) * (trainer.stepsDone() - step_before);
    };
    const auto save = [&]() -> Result<void> {
      checkpoint.state = trainer.state();
      checkpoint.history = result.history;
      note(checkpoint.history);
      const std::vector<std::uint8_t> bytes = encodeCheckpoint(checkpoint);
      return control.write ? control.write(control.checkpoint, bytes)
                           : writeFileAtomically(control.checkpoint, bytes);
    };
    progress.begin(train.budget.automatic ? fmt::format("fitting, stage {}", stages.size() + 1) : "fitting",
                   steps);
    if (trainer.stepsDone() > 0) progress.update(static_cast<std::size_t>(trainer.stepsDone()), "resumed");
    double smooth_loss = 0, smooth_psnr = 0, smooth_weight = 0;
    watch.lap();
    while (!trainer.finished()) {
      cancelled = cancelled || progress.cancelled();
      if (trainer.canSave()) {
        if (cancelled) break;
        if (saving && since_save >= control.checkpoint_interval_s && trainer.stepsDone() > step_before) {
          if (auto saved = save(); !saved) {
            // The fit itself is in good health: continue and try again later. Once is enough to be told.
            if (!failed_before) notify({"checkpoint_not_written", saved.error().message});
            failed_before = true;
          }
          since_save = 0;
          watch.lap();  // writing is no part of the optimisation
        }
      }
      const StepReport report = trainer.step();
      const double elapsed = watch.lap();
      seconds += elapsed;
      since_save += elapsed;
      result.history.losses.push_back(static_cast<float>(report.loss));
      result.history.step_seconds.push_back(static_cast<float>(report.seconds));
      smooth_loss = kLossKeep * smooth_loss + (1 - kLossKeep) * report.loss;
      smooth_psnr = kLossKeep * smooth_psnr + (1 - kLossKeep) * report.psnr;
      smooth_weight = kLossKeep * smooth_weight + (1 - kLossKeep);
      progress.update(static_cast<std::size_t>(trainer.stepsDone()),
                      fmt::format("loss {:.5f}  psnr {:.2f} dB  {}", smooth_loss / smooth_weight,
                                  smooth_psnr / smooth_weight, plural(report.kernels, "kernel", "kernels")));
    }
    result.complete = trainer.finished();
    result.steps_done = static_cast<int>(stages.size() * steps) + trainer.stepsDone();
    if (!result.complete && saving) {
      if (auto saved = save(); !saved) return saved.error();
    }
    if (result.complete) progress.end();
    note(result.history);
    kernels = trainer.kernels();
    if (!result.complete || !train.budget.automatic) break;
    GrowthStage stage{static_cast<double>(kernels->size()), trainer.psnr(), 0, 0};
    stage.seconds = result.history.optimise_seconds;
    for (const GrowthStage& before : stages)
      stage.seconds -= before.seconds;
    if (control.bytes_of) stage.bytes = static_cast<double>(control.bytes_of(*kernels));
    stages.push_back(stage);
  }
  result.median_step_seconds = medianAfterWarmup(result.history.step_seconds);
  if (kernels) result.kernels = std::move(*kernels);
  result.evaluator = evaluator;
  return result;
}

}  // namespace heatskin
