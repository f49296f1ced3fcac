// Fits with the field evaluators: what fit_test.cpp proves of `local`, for ThermalRF and HKTex.

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "heatskin/appearance/appearance_target.h"
#include "heatskin/base/parallel.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/product/fit_appearance.h"
#include "heatskin/training/fit.h"
#include "heatskin/training/test_fits.h"
#include "heatskin/training/trainer.h"

#include "support/temporary_folder.h"

namespace heatskin {
namespace {

struct SmallRing {
  Asset asset = testing::colourfulRing(30, 8);
  Surface surface = std::move(*buildSurface(asset));
  Appearance appearance{asset, surface};
};

FitConfig methodConfig(std::string_view method, int steps) {
  FitConfig config = testing::tinyConfig(steps);
  config.evaluator.method = *methodNamed(method);
  config.evaluator.thermal.rank = 48;
  config.evaluator.thermal.oversampling = 16;
  config.evaluator.thermal.routing_dimensions = 32;
  config.evaluator.spectral.modes = 48;
  // Crowded: kernels compete for places, and lists have ends.
  config.evaluator.thermal.candidates = config.evaluator.spectral.candidates = 16;
  config.train.start.kernels = 300;
  config.train.density.max_kernels = 600;
  return config;
}

/// Asks to stop in the phase of that name once `stop_at` of it is done.
class StoppingPhase : public Progress {
 public:
  StoppingPhase(std::string phase, std::size_t stop_at) : phase_(std::move(phase)), stop_at_(stop_at) {}
  void begin(std::string_view phase, std::size_t) override {
    active_ = phase == phase_;
    done_ = 0;
  }
  void update(std::size_t done, std::string_view) override { done_ = done; }
  void end() override { active_ = false; }
  bool cancelled() const override { return active_ && done_ >= stop_at_; }

 private:
  std::string phase_;
  std::size_t stop_at_, done_ = 0;
  bool active_ = false;
};

class MethodFit : public ::testing::TestWithParam<std::string_view> {};

TEST_P(MethodFit, ATrainerRestoredInTheMiddleEndsWithTheSameBits) {
  const SmallRing ring;
  constexpr int kSteps = 65;
  FitConfig config = methodConfig(GetParam(), kSteps);
  // Long strides, so that kernels leave the margins of the lists they are in.
  config.train.rates.position *= 20;
  // As fit() does it: angles of these methods are neither carried nor wrapped.
  const TrainOptions options = trainOptions(config);
  const auto evaluator = makeEvaluator(ring.surface, config.evaluator.options());
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  const AppearanceTarget whole_target(ring.appearance, options.filter);
  Trainer whole(ring.surface, whole_target, **evaluator, options);
  std::vector<TrainerState> states;
  while (!whole.finished()) {
    // Early, while density control is at work, and late.
    if (whole.canSave() && whole.stepsDone() >= 5 + 15 * static_cast<int>(states.size()))
      states.push_back(whole.state());
    whole.step();
  }
  ASSERT_EQ(states.size(), 3u);
  EXPECT_NE(states.front().kernels.size(), whole.kernels().size()) << "density control had its say";
  int threads = 0;
  for (const TrainerState& state : states) {
    setThreadCount(++threads % 3 + 1);
    const auto another = makeEvaluator(ring.surface, config.evaluator.options());
    ASSERT_TRUE(another) << another.error().message;
    const AppearanceTarget rest_target(ring.appearance, options.filter);
    Trainer rest(ring.surface, rest_target, **another, options);
    const int step = state.step;
    ASSERT_TRUE(rest.restore(state));
    while (!rest.finished())
      rest.step();
    EXPECT_TRUE(testing::sameKernels(rest.kernels(), whole.kernels())) << "from step " << step;
  }
  setThreadCount(0);
}

TEST_P(MethodFit, CheckpointsThreadsAndInterruptionsChangeNothing) {
  const SmallRing ring;
  const FitConfig config = methodConfig(GetParam(), 60);
  setThreadCount(1);
  const auto plain = fit(ring.surface, ring.appearance, config);
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_TRUE(plain->complete);
  EXPECT_LT(plain->history.losses.back(), 0.8f * plain->history.losses.front()) << "it learns";

  testing::TemporaryFolder folder;
  PreprocessingCache cache(folder / "cache");
  FitControl control;
  control.checkpoint = folder / "c.checkpoint";
  control.checkpoint_interval_s = 0;  // at every step that can be saved
  control.cache = &cache;
  int threads = 1, steps = 0;
  for (const std::size_t stop_at :
       {std::size_t{17}, std::size_t{41}, std::numeric_limits<std::size_t>::max()}) {
    setThreadCount(++threads);
    StoppingPhase progress("fitting", stop_at);
    control.progress = &progress;
    const auto part = fit(ring.surface, ring.appearance, config, control);
    ASSERT_TRUE(part) << part.error().message;
    EXPECT_EQ(part->resumed_at, steps);
    steps = part->steps_done;
    control.resume = Resume::kMustBeThere;
    if (part->complete) {
      EXPECT_TRUE(testing::sameKernels(part->kernels, plain->kernels));
      EXPECT_EQ(part->history.losses, plain->history.losses);
    } else {
      EXPECT_LT(steps, static_cast<int>(stop_at) + 11) << "goes on only until the next rebuild";
    }
  }
  EXPECT_EQ(steps, 60);
  setThreadCount(0);

  // Another method, or another rank, is another fit.
  FitConfig other = config;
  other.evaluator.thermal.rank = 32;
  other.evaluator.spectral.modes = 32;
  const auto refused = fit(ring.surface, ring.appearance, other, control);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("was made with"), std::string::npos) << refused.error().message;
}

TEST_P(MethodFit, StoppedWhilePreparingNothingIsLeftBehind) {
  const SmallRing ring;
  testing::TemporaryFolder folder;
  PreprocessingCache cache(folder / "cache");
  StoppingPhase progress(GetParam() == "thermal" ? "thermal factors" : "eigenpairs", 2);
  FitControl control;
  control.progress = &progress;
  control.cache = &cache;
  control.checkpoint = folder / "c.checkpoint";
  const auto stopped = fit(ring.surface, ring.appearance, methodConfig(GetParam(), 20), control);
  ASSERT_FALSE(stopped);
  EXPECT_NE(stopped.error().message.find("cancelled"), std::string::npos) << stopped.error().message;
  EXPECT_TRUE(folder.names().empty());
}

INSTANTIATE_TEST_SUITE_P(Methods, MethodFit, ::testing::Values("thermal", "spectral"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace heatskin
