#include "heatskin/training/schedule.h"

#include <vector>

#include <gtest/gtest.h>

namespace heatskin {
namespace {

template <class Due>
std::vector<int> stepsOf(const TrainOptions& options, const Due& due) {
  std::vector<int> steps;
  for (int step = 0; step <= options.steps; ++step) {
    if (due(step)) steps.push_back(step);
  }
  return steps;
}

TEST(Schedule, PapersStepsAreThoseOfTheMethod) {
  TrainOptions options;
  const Schedule schedule(options);
  EXPECT_EQ(stepsOf(options, [&](int s) { return schedule.pruneDue(s); }), (std::vector<int>{1000, 2000}));
  const auto densified = stepsOf(options, [&](int s) { return schedule.densifyDue(s); });
  ASSERT_EQ(densified.size(), 31u);
  EXPECT_EQ(densified.front(), 400);
  EXPECT_EQ(densified.back(), 3400);
  EXPECT_TRUE(stepsOf(options, [&](int s) { return schedule.coverDue(s); }).empty());
  EXPECT_TRUE(schedule.warmup(249));
  EXPECT_FALSE(schedule.warmup(250));
  EXPECT_FALSE(schedule.countsUse(249));
  EXPECT_TRUE(schedule.countsUse(250));
  EXPECT_FALSE(schedule.countsErrors(324));
  EXPECT_TRUE(schedule.countsErrors(325));
  EXPECT_EQ(schedule.pruneScale(), 250);
  EXPECT_EQ(schedule.densifyScale(), 75);
  for (int thousand = 0; thousand < 5; ++thousand) {
    EXPECT_EQ(schedule.pace(1000 * thousand), 1.0 / (1 << thousand));
    EXPECT_EQ(schedule.pace(1000 * thousand + 999), 1.0 / (1 << thousand));
  }
}

TEST(Schedule, TheCosineFallsFromOneToTheFinalRate) {
  TrainOptions options;
  options.rates.decay = Decay::kCosine;
  options.rates.final_rate = 0.1;
  const Schedule schedule(options);
  EXPECT_DOUBLE_EQ(schedule.pace(0), 1);
  EXPECT_NEAR(schedule.pace(options.steps / 2), 0.55, 1e-12);
  EXPECT_NEAR(schedule.pace(options.steps), 0.1, 1e-12);
}

TEST(Schedule, TheBudgetRuleCoversAfterItHasDensified) {
  TrainOptions options;
  options.density.rule = Density::kBudget;
  const Schedule schedule(options);
  EXPECT_TRUE(stepsOf(options, [&](int s) { return schedule.pruneDue(s); }).empty());
  const auto covered = stepsOf(options, [&](int s) { return schedule.coverDue(s); });
  ASSERT_FALSE(covered.empty());
  EXPECT_EQ(covered.front(), 3500);
  EXPECT_EQ(covered.back(), 4700) << "below 0.95 of 5,000";
}

TEST(Schedule, SolvesAreSpreadEvenlyAndTheLastIsAtTheEnd) {
  TrainOptions options;
  options.steps = 100;
  const auto solves = [&](int count) {
    options.solves = count;
    const Schedule schedule(options);
    return stepsOf(options, [&](int s) { return schedule.solveDue(s); });
  };
  EXPECT_TRUE(solves(0).empty());
  EXPECT_EQ(solves(1), (std::vector<int>{100}));
  EXPECT_EQ(solves(4), (std::vector<int>{25, 50, 75, 100}));
  EXPECT_EQ(solves(3), (std::vector<int>{34, 67, 100}));
  EXPECT_EQ(solves(1000).size(), 100u) << "no more than steps";
}

}  // namespace
}  // namespace heatskin
