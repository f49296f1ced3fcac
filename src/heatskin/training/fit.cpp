#include "heatskin/training/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/base/memory_budget.h"
#include "heatskin/base/plural.h"
#include "heatskin/base/result.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/evaluators/method_traits.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/training/checkpoint.h"
#include "heatskin/training/fit_memory.h"
#include "heatskin/training/growth.h"
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
  for (std::size_t row = 0; row < values.size(); row += layout.size()) {
    for (const ChannelGroup& group : layout.groups()) {
      if (!group.isTangent()) continue;
      const float* v = values.data() + row + group.first;
      const float length = 2 * std::hypot(v[0] - kTangentZero, v[1] - kTangentZero);
      if (length <= 1 + kSlack) continue;
      return inputError(
          fmt::format("the target has a vector of length {:.4g} in {}, whose range is [{:g}, {:g}]; give the "
                      "layout the range of the lengths",
                      length * group.range[1], group.name, group.range[0], group.range[1]));
    }
  }
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

namespace {

/// A fit while it runs: checkpoint, evaluator, one stage after the other.
class FitRun {
 public:
  FitRun(const Surface& surface, const FitTarget& target, const FitConfig& config, const FitControl& control)
      : surface_(surface),
        target_(target),
        config_(config),
        control_(control),
        progress_(control.progress != nullptr ? *control.progress : silentProgress()),
        train_(trainOptions(config)),
        steps_(stepsOf(config)),
        name_(displayPath(control.checkpoint)) {}

  Result<FitResult> run() {
    if (auto suits = checkChannels(config_.evaluator.method, target_.layout()); !suits) return suits.error();
    if (auto looked = openCheckpoint(); !looked) return looked.error();
    const std::size_t begins_with = !train_.budget.automatic ? train_.density.max_kernels
                                                             : firstBudget(train_, surface_.componentCount());
    if (auto fits = askFor(begins_with); !fits) return fits.error();
    if (auto made = prepareEvaluator(); !made) return made.error();
    // One stage with the budget that was given, or one after the other with more kernels each. Every stage
    // starts over: kernels that were placed for a smaller budget are in the way of a larger one (boombox with
    // 64,000 kernels: 34.5 dB after 500 steps, 34.3 dB after 800 that go on from 16,000).
    while (const std::size_t budget = nextStage()) {
      if (auto fits = askFor(budget); !fits) return fits.error();
      const auto done = runStage(stageOptions(train_, budget));
      if (!done) return done.error();
      if (*done == Stage::kStartsOver) continue;
      if (!result_.complete || !train_.budget.automatic || ended_) break;
    }
    if (ended_) result_.stopped_by = StoppedBy::kAsked;
    // The last stage is not always the best.
    if (checkpoint_.best.size() > 0) result_.kernels = std::move(checkpoint_.best);
    result_.median_step_seconds = medianAfterWarmup(result_.history.step_seconds);
    result_.evaluator = evaluator_;
    return std::move(result_);
  }

 private:
  bool saving() const { return !control_.checkpoint.empty(); }
  std::vector<GrowthStage>& stages() { return result_.history.stages; }

  void notify(Notice notice) {
    if (control_.notify) control_.notify(notice);
    result_.notices.push_back(std::move(notice));
  }

  /// With kIfThere a damaged file is no reason to stop; one that belongs to another fit is.
  Result<void> startOver(const Error& problem) {
    if (control_.resume != Resume::kIfThere) return problem;
    notify({"checkpoint_damaged", problem.message + "; the fit starts over"});
    resuming_ = false;
    checkpoint_.state = {};
    checkpoint_.best = {};
    result_.history = {};
    return {};
  }

  /// A checkpoint is looked at before any work is done.
  Result<void> openCheckpoint() {
    checkpoint_.program = kVersion;
    checkpoint_.config = configToml(config_);
    if (!saving()) return {};
    checkpoint_.input = inputHash(surface_, target_);
    std::error_code ignored;
    const bool exists = std::filesystem::exists(control_.checkpoint, ignored);
    if (control_.resume == Resume::kMustBeThere && !exists) {
      return inputError(fmt::format("{}: there is no checkpoint to resume from", name_),
                        error_code::kNoCheckpoint);
    }
    if (control_.resume == Resume::kNo || !exists) return {};
    resuming_ = true;
    auto found = loadCheckpoint(control_.checkpoint);
    if (!found) return startOver(found.error());
    if (auto mine = checkOrigin(*found, checkpoint_.input, config_, name_); !mine) return mine.error();
    // What the channels are follows from the input and is not stored.
    found->best.layout = target_.layout();
    found->best.channels.channels = target_.layout().size();
    const bool sound = (found->best.size() == 0) == found->history.stages.empty() &&
                       (found->best.size() == 0 || isConsistent(found->best, surface_));
    if (!sound || !possible(found->history.stages, train_)) return startOver(impossibleState(name_));
    checkpoint_.state = std::move(found->state);
    checkpoint_.best = std::move(found->best);
    result_.history = std::move(found->history);
    return {};
  }

  /// Refuses, before any work, what there is no memory for; a later stage asks for what it takes more.
  Result<void> askFor(std::size_t budget) {
    const double bytes = fitBytes(surface_, config_, target_.layout(), budget);
    if (bytes <= asked_) return {};
    if (auto fits = askMemory(fmt::format("a fit of {} on {}", plural(budget, "kernel", "kernels"),
                                          plural(surface_.faceCount(), "face", "faces")),
                              bytes - asked_);
        !fits)
      return fits.error();
    asked_ = bytes;
    result_.memory_estimate_bytes = held_ + bytes;
    return {};
  }

  Result<void> prepareEvaluator() {
    Stopwatch watch;
    auto made = makeEvaluator(surface_, config_.evaluator.options(), {&progress_, control_.cache, {}});
    if (!made) return made.error();
    evaluator_ = std::move(*made);
    result_.preprocess_seconds = watch.lap();
    result_.init_seconds = result_.preprocess_seconds;
    return {};
  }

  /// The budget of the next stage, or 0.
  std::size_t nextStage() {
    if (!train_.budget.automatic) return train_.density.max_kernels;
    if (stages().empty()) return firstBudget(train_, surface_.componentCount());
    const GrowthDecision next = nextBudget(train_, stages());
    result_.stopped_by = next.stopped_by;
    return next.budget;
  }

  enum class Stage { kRan, kStartsOver };

  Result<Stage> runStage(const TrainOptions& options) {
    progress_.begin("preparing", 0);
    Stopwatch watch;
    Trainer trainer(surface_, target_, *evaluator_, options);
    result_.init_seconds += first_ ? watch.lap() : 0;
    progress_.end();
    // Half of what a texture may take: kernels change during a fit.
    if (auto justified = evaluator_->check(trainer.kernels(), 0.5); !justified) {
      if (justified.error().kind != ErrorKind::kUsage) return justified.error();
      return usageError(justified.error().message +
                        "; lower local.max_radius, local.diffusion_time or local.window_sigma");
    }
    if (resuming_ && first_) {
      const auto done = static_cast<std::size_t>(std::max(0, checkpoint_.state.step)) + stepsBefore();
      if (result_.history.losses.size() != done || result_.history.step_seconds.size() != done ||
          !trainer.restore(std::move(checkpoint_.state))) {
        if (auto over = startOver(impossibleState(name_)); !over) return over.error();
        return Stage::kStartsOver;
      }
      result_.resumed_at = static_cast<int>(done);
    }
    first_ = false;

    Account account{result_.history, trainer.stepsDone()};
    progress_.begin(
        train_.budget.automatic ? fmt::format("fitting, stage {}", stages().size() + 1) : "fitting",
        static_cast<std::size_t>(steps_));
    if (trainer.stepsDone() > 0) progress_.update(static_cast<std::size_t>(trainer.stepsDone()), "resumed");
    takeSteps(trainer, account);
    result_.complete = trainer.finished() || ended_;
    result_.steps_done = static_cast<int>(stepsBefore()) + trainer.stepsDone();
    if (!trainer.finished() && saving()) {
      if (auto saved = save(trainer, account); !saved) return saved.error();
    }
    if (result_.complete) progress_.end();
    account.note(trainer, result_.history);
    result_.kernels = trainer.kernels();
    if (result_.complete && train_.budget.automatic) endStage(trainer);
    return Stage::kRan;
  }

  std::size_t stepsBefore() { return stages().size() * static_cast<std::size_t>(steps_); }

  /// What a stage adds to the history of those before it.
  struct Account {
    Account(const FitHistory& before, int steps_done)
        : profile(before.profile),
          optimise_seconds(before.optimise_seconds),
          samples(before.samples),
          step(steps_done) {}

    void note(const Trainer& trainer, FitHistory& history) const {
      history.profile = profile + trainer.profile();
      history.optimise_seconds = optimise_seconds + seconds;
      history.samples = samples + static_cast<double>(trainer.options().batch) * (trainer.stepsDone() - step);
    }

    TrainProfile profile;
    double optimise_seconds, samples;
    int step;
    double seconds = 0;  ///< of this stage in this run
  };

  Result<void> save(Trainer& trainer, const Account& account) {
    trainer.makeRoom();
    checkpoint_.history = result_.history;
    account.note(trainer, checkpoint_.history);
    const std::vector<std::uint8_t> bytes =
        encodeCheckpoint(checkpoint_, trainer.stateWithoutErrors(), trainer.poolErrors());
    return control_.write ? control_.write(control_.checkpoint, bytes)
                          : writeFileAtomically(control_.checkpoint, bytes);
  }

  /// Until the stage is finished, or cancelled at a step that can be saved.
  void takeSteps(Trainer& trainer, Account& account) {
    double smooth_loss = 0, smooth_psnr = 0, smooth_weight = 0;
    Stopwatch watch;
    while (!trainer.finished()) {
      cancelled_ = cancelled_ || progress_.cancelled();
      if (trainer.canSave()) {
        if (cancelled_) return;
        ended_ = trainer.stepsDone() > 0 && control_.finish && control_.finish();
        if (ended_) return;
        if (saving() && since_save_ >= control_.checkpoint_interval_s && trainer.stepsDone() > account.step) {
          if (auto saved = save(trainer, account); !saved) {
            // The fit itself is in good health: continue and try again later. Once is enough to be told.
            if (!failed_before_) notify({"checkpoint_not_written", saved.error().message});
            failed_before_ = true;
          }
          since_save_ = 0;
          watch.lap();  // writing is no part of the optimisation
        }
      }
      const StepReport report = trainer.step();
      const double elapsed = watch.lap();
      account.seconds += elapsed;
      since_save_ += elapsed;
      result_.history.losses.push_back(static_cast<float>(report.loss));
      result_.history.step_seconds.push_back(static_cast<float>(report.seconds));
      smooth_loss = kLossKeep * smooth_loss + (1 - kLossKeep) * report.loss;
      smooth_psnr = kLossKeep * smooth_psnr + (1 - kLossKeep) * report.psnr;
      smooth_weight = kLossKeep * smooth_weight + (1 - kLossKeep);
      progress_.update(static_cast<std::size_t>(trainer.stepsDone()),
                       fmt::format("loss {:.5f}  psnr {:.2f} dB  {}", smooth_loss / smooth_weight,
                                   smooth_psnr / smooth_weight, plural(report.kernels, "kernel", "kernels")));
      if (control_.watch) {
        account.note(trainer, result_.history);
        FitMoment moment;
        moment.step = trainer.stepsDone();
        moment.steps = steps_;
        moment.stage = stages().size();
        moment.loss = report.loss;
        moment.psnr = report.psnr;
        moment.kernels = &trainer.kernels();
        moment.history = &result_.history;
        control_.watch(moment);
        watch.lap();  // no part of the optimisation either
      }
    }
  }

  /// Measures a stage; its kernels are kept if no stage before was better and they are not too large.
  void endStage(Trainer& trainer) {
    GrowthStage stage{static_cast<double>(result_.kernels.size()), trainer.psnr(), 0, 0};
    stage.seconds = result_.history.optimise_seconds;
    double best = -std::numeric_limits<double>::infinity();
    for (const GrowthStage& before : stages()) {
      stage.seconds -= before.seconds;
      best = std::max(best, before.psnr);
    }
    if (control_.bytes_of) stage.bytes = static_cast<double>(control_.bytes_of(result_.kernels));
    stages().push_back(stage);
    const auto most = static_cast<double>(train_.budget.max_bytes);
    const bool too_large = most > 0 && stage.bytes > most;
    if (stages().size() == 1 || (stage.psnr >= best && !too_large)) checkpoint_.best = result_.kernels;
  }

  const Surface& surface_;
  const FitTarget& target_;
  const FitConfig& config_;
  const FitControl& control_;
  Progress& progress_;
  const TrainOptions train_;
  const int steps_;         // of each stage
  const std::string name_;  // of the checkpoint, in messages
  Checkpoint checkpoint_;
  FitResult result_;
  std::shared_ptr<Evaluator> evaluator_;
  const double held_ = static_cast<double>(residentBytes());
  double asked_ = 0;
  double since_save_ = 0;
  bool resuming_ = false, cancelled_ = false, failed_before_ = false;
  bool ended_ = false;  // because FitControl::finish() said so
  bool first_ = true;   // until the first stage of this run has begun
};

}  // namespace

Result<FitResult> fit(const Surface& surface, const FitTarget& target, const FitConfig& config,
                      const FitControl& control) {
  if (auto sound = checkConfig(config); !sound) return sound.error();
  if (auto something = checkSomethingToFit(surface, target); !something) return something.error();
  return FitRun(surface, target, config, control).run();
}

}  // namespace heatskin
