#include "heatskin/training/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include <gtest/gtest.h>

#include "heatskin/appearance/appearance_target.h"
#include "heatskin/base/files.h"
#include "heatskin/base/parallel.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/product/fit_appearance.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/training/checkpoint.h"
#include "heatskin/training/constants.h"
#include "heatskin/training/start.h"
#include "heatskin/training/test_fits.h"
#include "heatskin/training/trainer.h"

#include "support/temporary_folder.h"

namespace heatskin {
namespace {

struct Ring {
  Asset asset = testing::colourfulRing();
  Surface surface = std::move(*buildSurface(asset));
  Appearance appearance{asset, surface};
};

/// Asks to stop once `stop_at` steps are done.
class StoppingProgress : public Progress {
 public:
  explicit StoppingProgress(std::size_t stop_at) : stop_at_(stop_at) {}
  void begin(std::string_view, std::size_t) override { done_ = 0; }
  void update(std::size_t done, std::string_view detail) override {
    done_ = done;
    detail_ = detail;
  }
  void end() override {}
  bool cancelled() const override { return done_ >= stop_at_; }
  const std::string& detail() const { return detail_; }

 private:
  std::size_t stop_at_, done_ = 0;
  std::string detail_;
};

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

TEST(Fit, ValuesThatTheRangesHaveNoRoomForAreRefused) {
  const Ring ring;
  const auto refusal = [&](float value, std::array<float, 2> range) {
    const auto layout = *ChannelLayout::make({{"base_color", 3}, {"height", 1, 0, range}});
    const FunctionTarget target(
        [&](const SurfacePoint& p, std::span<float> out) {
          std::fill(out.begin(), out.end(), 0.5f);
          if (p.barycentric[0] > 0.9) out[3] = value;
        },
        layout);
    const auto fitted = fit(ring.surface, target, testing::tinyConfig(3));
    if (fitted) return std::string();
    EXPECT_EQ(fitted.error().kind, ErrorKind::kInput);
    return fitted.error().message;
  };
  EXPECT_EQ(refusal(0.7f, {0, 1}), "");
  EXPECT_EQ(refusal(200, {0, 255}), "");
  EXPECT_EQ(refusal(1.0001f, {0, 1}), "") << "rounding";
  EXPECT_NE(refusal(200, {0, 1}).find("200 in height, whose range is [0, 1]"), std::string::npos);
  EXPECT_NE(refusal(-1, {0, 255}), "");
  EXPECT_NE(refusal(std::nanf(""), {0, 1}).find("nan in height"), std::string::npos);
  EXPECT_NE(refusal(std::numeric_limits<float>::infinity(), {0, 1}), "");
}

TEST(Fit, ATrainerRestoredInTheMiddleEndsWithTheSameBits) {
  const Ring ring;
  constexpr int kSteps = 150;
  for (const bool stratified : {false, true}) {
    FitConfig config = testing::tinyConfig(kSteps);
    config.train.transport_angle = config.train.wrap_angle = stratified;
    if (stratified) {
      config.train.sampling.rule = Sampling::kStratified;
      config.evaluator.local.join_corners = true;
      config.evaluator.local.rule = local::CandidateRule::kByReach;
      config.train.rates.decay = Decay::kCosine;
    }
    const auto evaluator = std::move(*makeEvaluator(ring.surface, config.evaluator.options()));
    const AppearanceTarget whole_target(ring.appearance, config.train.filter);
    Trainer whole(ring.surface, whole_target, *evaluator, trainOptions(config));
    std::vector<TrainerState> states;
    std::size_t saved = 0;
    while (!whole.finished()) {
      if (whole.canSave()) {
        ++saved;
        // At the start, before and after densification, late.
        for (const int step : {0, 10, 30, 80, 140}) {
          if (whole.stepsDone() == step) states.push_back(whole.state());
        }
      }
      whole.step();
    }
    EXPECT_GE(saved, 12u);
    ASSERT_GE(states.size(), 3u);
    EXPECT_NE(states.front().kernels.size(), whole.kernels().size()) << "density control had its say";
    int threads = 0;
    for (const TrainerState& state : states) {
      setThreadCount(++threads % 3 + 1);
      const auto another = std::move(*makeEvaluator(ring.surface, config.evaluator.options()));
      const AppearanceTarget rest_target(ring.appearance, config.train.filter);
      Trainer rest(ring.surface, rest_target, *another, trainOptions(config));
      const int step = state.step;
      ASSERT_TRUE(rest.restore(state));
      EXPECT_EQ(rest.stepsDone(), step);
      while (!rest.finished())
        rest.step();
      EXPECT_TRUE(testing::sameKernels(rest.kernels(), whole.kernels())) << "from step " << step;
    }
    setThreadCount(0);
  }
}

TEST(Fit, CheckpointsAndInterruptionsChangeNothing) {
  const Ring ring;
  const FitConfig config = testing::tinyConfig(120);
  const auto plain = fit(ring.surface, ring.appearance, config);
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_TRUE(plain->complete);
  EXPECT_EQ(plain->steps_done, 120);
  EXPECT_EQ(plain->history.losses.size(), 120u);
  EXPECT_GT(plain->median_step_seconds, 0);
  EXPECT_LT(plain->history.losses.back(), plain->history.losses.front());

  testing::TemporaryFolder folder;
  FitControl control;
  control.checkpoint = folder / "c.checkpoint";
  control.checkpoint_interval_s = 0;  // at every step that can be saved
  const auto saved = fit(ring.surface, ring.appearance, config, control);
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_TRUE(testing::sameKernels(saved->kernels, plain->kernels));
  EXPECT_EQ(folder.names(), std::set<std::string>{"c.checkpoint"});

  // Stopped three times at odd steps, with another number of threads each time.
  int threads = 1, steps = 0;
  control.checkpoint = folder / "d.checkpoint";
  for (const std::size_t stop_at : {std::size_t{17}, std::size_t{58}, std::size_t{95}, kNever}) {
    setThreadCount(threads++);
    StoppingProgress progress(stop_at);
    control.progress = &progress;
    const auto part = fit(ring.surface, ring.appearance, config, control);
    ASSERT_TRUE(part) << part.error().message;
    EXPECT_EQ(part->resumed_at, steps);
    EXPECT_EQ(part->history.losses.size(), static_cast<std::size_t>(part->steps_done));
    steps = part->steps_done;
    EXPECT_EQ(part->complete, stop_at == kNever);
    EXPECT_NE(progress.detail().find(" dB  "), std::string::npos);
    control.resume = Resume::kMustBeThere;
    if (part->complete) {
      EXPECT_TRUE(testing::sameKernels(part->kernels, plain->kernels));
      EXPECT_EQ(part->history.losses, plain->history.losses);
    } else {
      EXPECT_LT(steps, static_cast<int>(stop_at) + 11) << "goes on only until the next rebuild";
    }
  }
  setThreadCount(0);
}

/// A first stage and one that reaches the bound.
FitConfig automaticConfig() {
  FitConfig config = testing::tinyConfig(20);
  config.train.lengths = Lengths::kSpacing;
  config.train.sampling.rule = Sampling::kStratified;
  config.train.start.kernels = 0;
  config.train.density.rule = Density::kBudget;
  config.train.density.max_kernels = 6000;
  config.train.budget.automatic = true;
  config.train.budget.target_psnr = 99;
  return config;
}

TEST(Fit, WatchersSeeEveryStepAndChangeNothing) {
  const Ring ring;
  const FitConfig config = testing::tinyConfig(40);
  const auto alone = fit(ring.surface, ring.appearance, config);
  ASSERT_TRUE(alone);
  FitControl control;
  std::vector<int> steps;
  control.watch = [&](const FitMoment& moment) {
    steps.push_back(moment.step);
    EXPECT_EQ(moment.steps, 40);
    EXPECT_EQ(moment.history->losses.size(), steps.size());
    EXPECT_EQ(static_cast<float>(moment.loss), moment.history->losses.back());
    EXPECT_GT(moment.kernels->size(), 0U);
    EXPECT_FALSE(moment.product) << "without an asset there is no product";
  };
  const auto watched = fit(ring.surface, ring.appearance, config, control);
  ASSERT_TRUE(watched);
  ASSERT_EQ(steps.size(), 40U);
  EXPECT_EQ(steps.back(), 40);
  EXPECT_TRUE(testing::sameKernels(alone->kernels, watched->kernels));
}

TEST(Fit, AFitThatIsAskedToEndIsCompleteAndCanGoOn) {
  const Ring ring;
  const FitConfig config = testing::tinyConfig(60);
  const auto whole = fit(ring.surface, ring.appearance, config);
  ASSERT_TRUE(whole);
  testing::TemporaryFolder folder;
  FitControl control;
  control.checkpoint = folder / "state";
  int seen = 0;
  control.watch = [&](const FitMoment& moment) { seen = moment.step; };
  control.finish = [&] { return seen >= 25; };
  const auto ended = fit(ring.surface, ring.appearance, config, control);
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_TRUE(ended->complete);
  EXPECT_EQ(ended->stopped_by, StoppedBy::kAsked);
  EXPECT_GE(ended->steps_done, 25);
  EXPECT_LT(ended->steps_done, 40) << "not at the next step that can be saved";
  EXPECT_FALSE(testing::sameKernels(ended->kernels, whole->kernels));
  control.finish = nullptr;
  control.resume = Resume::kMustBeThere;
  const auto resumed = fit(ring.surface, ring.appearance, config, control);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->resumed_at, ended->steps_done);
  EXPECT_EQ(resumed->stopped_by, StoppedBy::kSteps);
  EXPECT_TRUE(testing::sameKernels(resumed->kernels, whole->kernels));
}

TEST(Fit, AnAutomaticBudgetGrowsInStagesThatInterruptionsDoNotChange) {
  const Ring ring;
  const FitConfig config = automaticConfig();
  const auto plain = fit(ring.surface, ring.appearance, config);
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->stopped_by, StoppedBy::kMaxKernels);
  ASSERT_EQ(plain->history.stages.size(), 2u);
  EXPECT_EQ(plain->steps_done, 40);
  EXPECT_EQ(plain->history.samples, 40 * 256);
  EXPECT_LE(plain->history.stages[0].kernels, 4000);
  EXPECT_EQ(static_cast<std::size_t>(plain->history.stages[1].kernels), plain->kernels.size());
  EXPECT_LE(plain->kernels.size(), 6000u);

  FitConfig easy = config;
  easy.train.budget.target_psnr = 1;
  const auto one = fit(ring.surface, ring.appearance, easy);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->stopped_by, StoppedBy::kTarget);
  EXPECT_EQ(one->history.stages.size(), 1u);

  testing::TemporaryFolder folder;
  FitControl control;
  control.checkpoint = folder / "c.checkpoint";
  // Of the second stage, too: progress counts from 0 there.
  for (const std::size_t stop_at : {std::size_t{5}, std::size_t{18}, kNever}) {
    StoppingProgress progress(stop_at);
    control.progress = &progress;
    const auto part = fit(ring.surface, ring.appearance, config, control);
    ASSERT_TRUE(part) << part.error().message;
    control.resume = Resume::kMustBeThere;
    if (part->complete) {
      EXPECT_TRUE(testing::sameKernels(part->kernels, plain->kernels));
      EXPECT_EQ(part->history.losses, plain->history.losses);
      EXPECT_EQ(part->stopped_by, plain->stopped_by);
    }
  }

  // Stages that nothing can follow, in a file that is otherwise in order.
  StoppingProgress progress(5);
  control.progress = &progress;
  control.resume = Resume::kNo;
  ASSERT_TRUE(fit(ring.surface, ring.appearance, config, control));
  auto checkpoint = *loadCheckpoint(control.checkpoint);
  control.progress = nullptr;
  control.resume = Resume::kMustBeThere;
  for (const GrowthStage& stage : {GrowthStage{0, 20, 1, 0}, GrowthStage{4000, std::nan(""), 1, 0},
                                   GrowthStage{4000, 100, 1, 0}, GrowthStage{1e300, 20, 1, 0}}) {
    checkpoint.history.stages = {stage};
    checkpoint.best = checkpoint.state.kernels;
    ASSERT_TRUE(writeFileAtomically(control.checkpoint, encodeCheckpoint(checkpoint)));
    const auto refused = fit(ring.surface, ring.appearance, config, control);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("impossible"), std::string::npos) << refused.error().message;
  }
  // A stage without its kernels, and kernels that are nowhere.
  checkpoint.history.stages = {GrowthStage{4000, 20, 1, 0}};
  checkpoint.best = KernelSet();
  ASSERT_TRUE(writeFileAtomically(control.checkpoint, encodeCheckpoint(checkpoint)));
  EXPECT_FALSE(fit(ring.surface, ring.appearance, config, control));
  checkpoint.best = checkpoint.state.kernels;
  checkpoint.best.positions[0].face = 1u << 30;
  ASSERT_TRUE(writeFileAtomically(control.checkpoint, encodeCheckpoint(checkpoint)));
  EXPECT_FALSE(fit(ring.surface, ring.appearance, config, control));
}

TEST(Fit, TheBestStageIsKeptAlsoAcrossAnInterruption) {
  const Ring ring;
  FitConfig config = automaticConfig();
  config.train.budget.max_bytes = 1'000'000;
  testing::TemporaryFolder folder;
  FitControl control;
  control.checkpoint = folder / "c.checkpoint";
  // The second stage turns out to be far too large.
  control.bytes_of = [](const KernelSet& k) { return k.size() > 4000 ? 1'000'000'000u : 1000u; };
  const auto plain = fit(ring.surface, ring.appearance, config, control);
  ASSERT_TRUE(plain) << plain.error().message;
  ASSERT_EQ(plain->history.stages.size(), 2u);
  EXPECT_EQ(plain->stopped_by, StoppedBy::kMaxBytes);
  EXPECT_EQ(static_cast<double>(plain->kernels.size()), plain->history.stages[0].kernels);

  /// Stops in the second stage.
  class InTheSecond final : public StoppingProgress {
   public:
    InTheSecond() : StoppingProgress(3) {}
    void begin(std::string_view what, std::size_t total) override {
      second_ = what == "fitting, stage 2";
      StoppingProgress::begin(what, total);
    }
    bool cancelled() const override { return second_ && StoppingProgress::cancelled(); }

   private:
    bool second_ = false;
  } progress;
  control.progress = &progress;
  const auto part = fit(ring.surface, ring.appearance, config, control);
  ASSERT_TRUE(part) << part.error().message;
  ASSERT_FALSE(part->complete);
  ASSERT_EQ(part->history.stages.size(), 1u);
  control.resume = Resume::kMustBeThere;
  control.progress = nullptr;
  const auto resumed = fit(ring.surface, ring.appearance, config, control);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_TRUE(testing::sameKernels(resumed->kernels, plain->kernels));
}

TEST(Fit, KernelsStartWithLengthsFromTheirSpacing) {
  const Ring ring;
  TrainOptions options;
  options.lengths = Lengths::kSpacing;
  const AppearanceTarget target(ring.appearance, Filter::kAuto);
  const auto mean = [&](std::size_t kernels, double scale) {
    options.start.kernels = kernels;
    options.start.length_scale = scale;
    const auto lengths = startKernels(ring.surface, target, options, Vec3f::Zero()).lengths;
    return std::accumulate(lengths.begin(), lengths.end(), 0.0) / static_cast<double>(kernels);
  };
  // Spread points are about as far from each other as their share of the area says.
  const double spacing = std::sqrt(ring.surface.totalArea() / 400);
  EXPECT_NEAR(mean(400, 1), spacing / constants::kReferenceSpacing,
              0.2 * spacing / constants::kReferenceSpacing);
  EXPECT_NEAR(mean(400, 0.5), 0.5 * mean(400, 1), 1e-3);
  EXPECT_NEAR(mean(1600, 1), 0.5 * mean(400, 1), 0.1 * mean(400, 1));
  options.lengths = Lengths::kUnit;
  EXPECT_EQ(mean(400, 1), 1);
}

TEST(Fit, ACheckpointOfSomethingElseIsRefusedWithTheReason) {
  const Ring ring;
  testing::TemporaryFolder folder;
  FitConfig config = testing::tinyConfig(60);
  FitControl control;
  control.checkpoint = folder / "c.checkpoint";
  StoppingProgress progress(20);
  control.progress = &progress;
  ASSERT_TRUE(fit(ring.surface, ring.appearance, config, control));
  control.resume = Resume::kMustBeThere;
  control.progress = nullptr;
  const auto refusal = [&](const Ring& what, const FitConfig& with) {
    const auto result = fit(what.surface, what.appearance, with, control);
    return result ? std::string("accepted") : result.error().message;
  };

  FitConfig other = config;
  other.train.steps = 61;
  EXPECT_NE(refusal(ring, other).find("was made with steps = 60, now it is 61; give the same options"),
            std::string::npos);
  other.train.rates.color = 0.5;
  EXPECT_NE(refusal(ring, other).find("now it is 61 and 1 more;"), std::string::npos);

  Ring repainted;
  for (Vec4f& color : repainted.asset.meshes[0].primitives[0].colors)
    color.x() *= 0.5f;
  repainted.appearance = Appearance(repainted.asset, repainted.surface);
  EXPECT_NE(refusal(repainted, config).find("another asset"), std::string::npos);

  // A state that does not fit, in a file that is otherwise in order.
  auto checkpoint = *loadCheckpoint(control.checkpoint);
  const Checkpoint good = checkpoint;
  const auto write = [&](const Checkpoint& c) {
    ASSERT_TRUE(writeFileAtomically(control.checkpoint, encodeCheckpoint(c)));
  };
  checkpoint.state.kernels.positions[0].face = 1'000'000;
  write(checkpoint);
  EXPECT_NE(refusal(ring, config).find("impossible"), std::string::npos);
  checkpoint = good;
  checkpoint.history.losses.pop_back();
  write(checkpoint);
  EXPECT_NE(refusal(ring, config).find("impossible"), std::string::npos);
  checkpoint = good;
  checkpoint.program = "99.0.0";
  write(checkpoint);
  EXPECT_NE(refusal(ring, config).find("written by heatskin 99.0.0"), std::string::npos);
  checkpoint = good;
  checkpoint.config += "\n[density]\nunheard_of = 1\n";
  write(checkpoint);
  EXPECT_NE(refusal(ring, config).find("other options"), std::string::npos);
  write(good);
  EXPECT_EQ(refusal(ring, config), "accepted");
}

TEST(Fit, ADamagedCheckpointIsAnErrorOnlyIfItMustBeThere) {
  const Ring ring;
  testing::TemporaryFolder folder;
  const FitConfig config = testing::tinyConfig(60);
  FitControl control;
  control.checkpoint = folder / "c.checkpoint";
  const auto whole = fit(ring.surface, ring.appearance, config, control);
  ASSERT_TRUE(whole);
  StoppingProgress progress(20);
  control.progress = &progress;
  ASSERT_TRUE(fit(ring.surface, ring.appearance, config, control));
  control.progress = nullptr;
  const std::string good = folder.read("c.checkpoint");

  std::vector<std::string> damaged = {"", "hello", good.substr(0, good.size() / 2), good};
  damaged[3][good.size() / 2] = static_cast<char>(damaged[3][good.size() / 2] ^ 1);
  auto impossible = *loadCheckpoint(control.checkpoint);
  impossible.state.kernels.positions[0].face = 1'000'000;
  const auto bytes = encodeCheckpoint(impossible);
  damaged.emplace_back(bytes.begin(), bytes.end());
  for (const std::string& content : damaged) {
    folder.write("c.checkpoint", content);
    control.resume = Resume::kMustBeThere;
    const auto refused = fit(ring.surface, ring.appearance, config, control);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::kInput) << refused.error().message;

    control.resume = Resume::kIfThere;
    std::vector<std::string> heard;
    control.notify = [&](const Notice& notice) { heard.push_back(notice.message); };
    const auto over = fit(ring.surface, ring.appearance, config, control);
    ASSERT_TRUE(over) << over.error().message;
    EXPECT_EQ(over->resumed_at, 0);
    ASSERT_EQ(over->notices.size(), 1u);
    EXPECT_EQ(over->notices[0].code, "checkpoint_damaged");
    EXPECT_EQ(heard, std::vector<std::string>{over->notices[0].message});
    EXPECT_NE(heard[0].find("starts over"), std::string::npos) << heard[0];
    EXPECT_EQ(over->history.losses, whole->history.losses) << "as if there had been no file";
    EXPECT_EQ(over->kernels.channels, whole->kernels.channels);
  }
}

TEST(Fit, AMissingCheckpointIsAnErrorOnlyIfItMustBeThere) {
  const Ring ring;
  testing::TemporaryFolder folder;
  const FitConfig config = testing::tinyConfig(20);
  FitControl control;
  control.checkpoint = folder / "c.checkpoint";
  control.resume = Resume::kMustBeThere;
  const auto refused = fit(ring.surface, ring.appearance, config, control);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInput);
  control.resume = Resume::kIfThere;
  EXPECT_TRUE(fit(ring.surface, ring.appearance, config, control));
}

TEST(Fit, ACheckpointThatCannotBeWrittenDoesNotEndTheFit) {
  const Ring ring;
  testing::TemporaryFolder folder;
  const FitConfig config = testing::tinyConfig(40);
  FitControl control;
  control.checkpoint = folder / "missing/c.checkpoint";
  control.checkpoint_interval_s = 0;
  const auto result = fit(ring.surface, ring.appearance, config, control);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->complete);
  EXPECT_EQ(result->notices.size(), 1u) << "said once, not at every attempt";
  // But whoever stops a fit must know that its state is lost.
  StoppingProgress progress(15);
  control.progress = &progress;
  EXPECT_FALSE(fit(ring.surface, ring.appearance, config, control));
}

TEST(Fit, NothingToFitIsSaid) {
  Ring ring;
  const auto refusal = [](const Asset& asset) {
    const Surface surface = std::move(*buildSurface(asset));
    const auto outcome = fit(surface, Appearance(asset, surface), testing::tinyConfig(5));
    if (outcome) return std::string();
    EXPECT_EQ(outcome.error().kind, ErrorKind::kInput);
    return outcome.error().message;
  };
  EXPECT_EQ(refusal(ring.asset), "");

  Asset plain = ring.asset;
  plain.meshes[0].primitives[0].colors.clear();
  EXPECT_NE(refusal(plain).find("every material has a single colour"), std::string::npos) << refusal(plain);

  Asset invisible = ring.asset;
  invisible.materials.resize(1);
  invisible.materials[0].alpha_mode = AlphaMode::kMask;
  invisible.meshes[0].primitives[0].material = 0;
  for (Vec4f& color : invisible.meshes[0].primitives[0].colors)
    color.w() = 0.2f;
  EXPECT_NE(refusal(invisible).find("fully transparent"), std::string::npos) << refusal(invisible);

  Asset half = invisible;  // one more part that is visible, but of one colour
  half.meshes[0].primitives.push_back(plain.meshes[0].primitives[0]);
  for (Vec3& p : half.meshes[0].primitives[1].positions)
    p += Vec3(4, 0, 0);
  EXPECT_NE(refusal(half).find("is transparent"), std::string::npos) << refusal(half);
}

/// Kernels begin and stay where there is something to fit: none starts on what is invisible or constant.
TEST(Fit, KernelsStartWhereThereIsSomethingToFit) {
  Asset asset = testing::colourfulRing();
  Asset plain = testing::colourfulRing();
  plain.meshes[0].primitives[0].colors.clear();
  for (Vec3& p : plain.meshes[0].primitives[0].positions)
    p += Vec3(4, 0, 0);
  asset.meshes[0].primitives.push_back(plain.meshes[0].primitives[0]);
  const Surface surface = std::move(*buildSurface(asset));
  const Appearance appearance(asset, surface);
  for (const bool aware : {false, true}) {
    TrainOptions options;
    options.seed = 1;
    options.start.kernels = 200;
    options.start.texture_aware = aware;
    options.start.detail_share = aware ? 0.5 : 0;
    const KernelSet kernels =
        startKernels(surface, AppearanceTarget(appearance, Filter::kAuto), options, Vec3f::Zero());
    EXPECT_EQ(kernels.size(), 200u);
    for (const SurfacePoint& p : kernels.positions)
      EXPECT_FALSE(appearance.faceConstant(p.face));
  }
}

TEST(Fit, AConfigurationThatContradictsItselfIsRefused) {
  const Ring ring;
  FitConfig config = testing::tinyConfig(10);
  config.train.start.kernels = 300;
  const auto result = fit(ring.surface, ring.appearance, config);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kUsage);
}

}  // namespace
}  // namespace heatskin
