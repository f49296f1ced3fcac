#include "heatskin/training/growth.h"

#include <vector>

#include <gtest/gtest.h>

#include "heatskin/training/constants.h"

namespace heatskin {
namespace {

TrainOptions automatic(double target) {
  TrainOptions options;
  options.density.max_kernels = 100'000;
  options.budget.automatic = true;
  options.budget.target_psnr = target;
  return options;
}

TEST(Growth, ATargetThatIsReachedEndsIt) {
  const std::vector<GrowthStage> stages = {{4000, 38.1, 5, 0}};
  const GrowthDecision next = nextBudget(automatic(38), stages);
  EXPECT_EQ(next.budget, 0u);
  EXPECT_EQ(next.stopped_by, StoppedBy::kTarget);
}

TEST(Growth, TheNextStageIsAsLargeAsTheTargetTakes) {
  // 4 dB for four times the kernels so far: 2 dB and the margin take 4^(2.3 / 4) times as many.
  const std::vector<GrowthStage> stages = {{4000, 32, 5, 0}, {16000, 36, 20, 0}};
  EXPECT_NEAR(gainPerFourfold(stages), 4, 1e-9);
  EXPECT_NEAR(static_cast<double>(nextBudget(automatic(38), stages).budget), 16000 * 2.219, 5);
  TrainOptions far = automatic(60);
  far.density.max_kernels = 1'000'000;
  EXPECT_EQ(nextBudget(far, stages).budget, 64000u) << "never more than four times as many";
  EXPECT_EQ(nextBudget(automatic(36.1), stages).budget, 24000u) << "half as many again at least";
}

TEST(Growth, BoundsAreKeptAndNamed) {
  TrainOptions options = automatic(60);
  options.density.max_kernels = 50'000;
  const std::vector<GrowthStage> two = {{4000, 32, 5, 50'000}, {16000, 36, 20, 200'000}};
  EXPECT_EQ(nextBudget(options, two).budget, 50'000u);
  options.density.max_kernels = 100'000;
  EXPECT_EQ(nextBudget(options, two).budget, 100'000u) << "64,000 would be followed by little more";
  options.density.max_kernels = 130'000;
  EXPECT_EQ(nextBudget(options, two).budget, 64'000u);
  options.density.max_kernels = 17'000;
  EXPECT_EQ(nextBudget(options, two).stopped_by, StoppedBy::kMaxKernels);

  options = automatic(60);
  options.budget.max_bytes = 400'000;  // 12.5 bytes a kernel
  EXPECT_EQ(nextBudget(options, two).budget, static_cast<std::size_t>(constants::kByteMargin * 32'000));
  options.budget.max_bytes = 210'000;
  EXPECT_EQ(nextBudget(options, two).budget, 0u);
  EXPECT_EQ(nextBudget(options, two).stopped_by, StoppedBy::kMaxBytes);

  options = automatic(60);
  options.budget.max_seconds = 65;  // 40 are left, for twice the kernels less a margin
  EXPECT_EQ(nextBudget(options, two).budget, static_cast<std::size_t>(constants::kTimeMargin * 32'000));
  options.budget.max_seconds = 40;
  EXPECT_EQ(nextBudget(options, two).stopped_by, StoppedBy::kMaxSeconds);
}

TEST(Growth, WhatDoesNotPayEndsIt) {
  const std::vector<GrowthStage> stages = {{4000, 20, 5, 0}, {16000, 20.5, 20, 0}};
  EXPECT_EQ(nextBudget(automatic(38), stages).stopped_by, StoppedBy::kNoGain);
  EXPECT_EQ(nextBudget(automatic(38), stages).budget, 0u);
  EXPECT_GT(nextBudget(automatic(38), std::span(stages).first(1)).budget, 0u) << "one stage tells nothing";

  // As many kernels as before, whatever the budget was.
  const std::vector<GrowthStage> same = {{4000, 20, 5, 0}, {4000, 20, 20, 0}};
  EXPECT_EQ(gainPerFourfold(same), 0);
  EXPECT_EQ(nextBudget(automatic(38), same).stopped_by, StoppedBy::kNoGain);
  EXPECT_EQ(nextBudget(automatic(38), same).budget, 0u);
}

TEST(Growth, TheFirstStageHasKernelsForEveryPartWithinTheBounds) {
  EXPECT_EQ(firstBudget(automatic(38), 1), constants::kFirstBudget);
  EXPECT_EQ(firstBudget(automatic(38), 9000), 18'000u);
  TrainOptions options = automatic(38);
  options.density.max_kernels = 300;
  EXPECT_EQ(firstBudget(options, 1), 300u);
  options = automatic(38);
  options.budget.max_bytes = 16'100;  // of which 100 do not depend on the number
  EXPECT_EQ(firstBudget(options, 1), 1000u);
  options.budget.max_bytes = 1;
  EXPECT_EQ(firstBudget(options, 1), 1u);
}

TEST(Growth, OneFitTakesMoreStepsThanEachOfSeveral) {
  FitConfig config = *presetConfig("default");
  EXPECT_EQ(stepsOf(config), 500);  // of each stage
  config.train.budget.automatic = false;
  EXPECT_EQ(stepsOf(config), 1000);
  config.train.steps = 7;
  EXPECT_EQ(stepsOf(config), 7);
  EXPECT_EQ(stepsOf(*presetConfig("paper")), 5000);
}

TEST(Growth, SamplesFollowTheBudget) {
  for (const std::size_t budget : {5000u, 80'000u}) {
    TrainOptions options = stageOptions(automatic(38), budget);
    options.batch = options.sampling.pool = options.start.kernels = 0;
    followBudget(options);
    EXPECT_EQ(options.batch, budget * 4096 / 5000);
    EXPECT_EQ(options.sampling.pool, 200 * budget);
    EXPECT_EQ(options.start.kernels, budget / 2);
  }
}

}  // namespace
}  // namespace heatskin
