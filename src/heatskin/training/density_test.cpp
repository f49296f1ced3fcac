#include "heatskin/training/density.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "heatskin/surface/sampling.h"
#include "heatskin/training/constants.h"

#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

/// Kernels in a row of numbers that tell them apart.
TrainerState stateOf(const Surface& surface, std::size_t count) {
  TrainerState state;
  state.step = 100;
  state.kernels.resize(count);
  state.kernels.positions = sampleSurface(surface, count, 5);
  for (std::size_t i = 0; i < count; ++i) {
    state.kernels.angles[i] = 0.5f;
    state.kernels.anisotropies[i] = 1.0f + static_cast<float>(i);
    state.kernels.thresholds[i] = 0.7f;
    state.kernels.sharpnesses[i] = 20.0f;
    state.kernels.channels[i] = Vec3f(0.1f, 0.0f, -0.1f);
    state.optimiser.append();
    state.optimiser.adam_m[state.optimiser.parameters * i] = static_cast<float>(i);
    state.optimiser.velocities[i] = Vec2(0.1 * static_cast<double>(i), 0);
    state.statistics.hits.push_back(10.0 + static_cast<double>(i));
    state.statistics.contributions.push_back(10.0 + static_cast<double>(i));
    state.statistics.errors.push_back(static_cast<double>(i));
    state.statistics.costs.push_back(1.0);
  }
  return state;
}

float firstMoment(const TrainerState& state, std::size_t i) {
  return state.optimiser.adam_m[state.optimiser.parameters * i];
}

void expectConsistent(const TrainerState& state) {
  const std::size_t count = state.kernels.size();
  for (const std::size_t size :
       {state.optimiser.adam_m.size() / state.optimiser.parameters,
        state.optimiser.adam_v.size() / state.optimiser.parameters, state.optimiser.velocities.size(),
        state.statistics.hits.size(), state.statistics.contributions.size(), state.statistics.errors.size(),
        state.statistics.costs.size(), state.kernels.channels.size()}) {
    EXPECT_EQ(size, count);
  }
}

const Surface& grid() {
  static const Surface surface = testing::build(testing::flatGrid(8, 8));
  return surface;
}

TEST(Density, PruningRemovesTheUnusedAndKeepsTheRestTogether) {
  TrainerState state = stateOf(grid(), 20);
  state.statistics.contributions[3] = 0;
  state.statistics.hits[7] = 0;
  DensityOptions options;
  options.min_kernels = 5;
  prune(state, options, 250);
  // 10 / 250 is above the threshold of the paper; 0 is not.
  ASSERT_EQ(state.kernels.size(), 18u);
  expectConsistent(state);
  EXPECT_EQ(state.kernels.anisotropies[3], 5.0f) << "kernel 4 moved up";
  EXPECT_EQ(firstMoment(state, 3), 4.0f);
  EXPECT_EQ(state.kernels.anisotropies[6], 9.0f) << "kernel 8";
  EXPECT_EQ(*std::max_element(state.statistics.hits.begin(), state.statistics.hits.end()), 0);
}

TEST(Density, PruningStopsAtTheMinimumAndKeepsTheStrongest) {
  TrainerState state = stateOf(grid(), 20);
  for (std::size_t i = 0; i < 20; ++i)
    state.statistics.contributions[i] = 1e-3 * static_cast<double>((i * 7) % 20);
  DensityOptions options;
  options.min_kernels = 6;
  prune(state, options, 250);
  ASSERT_EQ(state.kernels.size(), 6u);
  for (const float anisotropy : state.kernels.anisotropies) {
    const auto i = static_cast<std::size_t>(anisotropy - 1);
    EXPECT_GE((i * 7) % 20, 14u);
  }
}

TEST(Density, SplittingMovesBothHalvesAlongTheLongAxisAndShrinksThem) {
  TrainerState state = stateOf(grid(), 4);
  for (SurfacePoint& p : state.kernels.positions)
    p = {60, Vec3(0.3, 0.3, 0.4)};  // far from the border
  TrainOptions options;
  options.density.max_kernels = 5;
  options.density.growth = 1;
  const Walker walker(grid());
  const Vec3 before = grid().position(state.kernels.positions[3]);
  state.statistics.errors = {0, 0, 0, 1000};
  densify(state, options, walker, 75);
  ASSERT_EQ(state.kernels.size(), 5u);
  expectConsistent(state);
  const Vec3 a = grid().position(state.kernels.positions[3]), b = grid().position(state.kernels.positions[4]);
  EXPECT_LT((0.5 * (a + b) - before).norm(), 1e-9) << "on a plane the halves lie opposite each other";
  EXPECT_NEAR((a - b).norm(), 2 * 0.3 * 0.15, 1e-6);
  const FaceFrame& frame = grid().frames()[60];
  const Vec2 axis = frame.directionToFace(a - before).normalized();
  EXPECT_NEAR(std::abs(axis.dot(Vec2(std::cos(0.5), std::sin(0.5)))), 1, 1e-6);
  EXPECT_NEAR(state.kernels.thresholds[3], 1 - 0.3 / 1.6, 1e-6);
  EXPECT_EQ(firstMoment(state, 3), 0.0f);
  EXPECT_EQ(state.optimiser.velocities[4], Vec2(0, 0));
}

TEST(Density, HalvesGoAcrossTheLongAxisIfAskedTo) {
  for (const SplitAxis split : {SplitAxis::kLong, SplitAxis::kShort}) {
    TrainerState state = stateOf(grid(), 1);
    state.kernels.positions[0] = {60, Vec3(0.3, 0.3, 0.4)};
    const Vec3 before = grid().position(state.kernels.positions[0]);
    const double angle = state.kernels.angles[0];
    TrainOptions options;
    options.density.growth = 1;
    options.density.split_axis = split;
    state.statistics.errors = {1000};
    densify(state, options, Walker(grid()), 75);
    ASSERT_EQ(state.kernels.size(), 2u);
    const Vec2 moved = grid()
                           .frames()[60]
                           .directionToFace(grid().position(state.kernels.positions[0]) - before)
                           .normalized();
    const double along = std::abs(moved.dot(Vec2(std::cos(angle), std::sin(angle))));
    EXPECT_NEAR(along, split == SplitAxis::kLong ? 1 : 0, 1e-6);
  }
}

TEST(Density, WithLengthsHalvesAreShorterHoweverSmallTheKernel) {
  for (const float threshold : {0.7f, 0.99f}) {
    TrainerState state = stateOf(grid(), 3);
    state.kernels.positions[2] = {40, {1.0 / 3, 1.0 / 3, 1.0 / 3}};
    state.kernels.thresholds[2] = threshold;
    state.kernels.lengths[2] = 0.5f;
    state.statistics.errors = {0, 0, 10};
    TrainOptions options;
    options.lengths = Lengths::kSpacing;
    densify(state, options, Walker(grid()), 1);
    ASSERT_EQ(state.kernels.size(), 4u);
    expectConsistent(state);
    for (const std::size_t k : {2u, 3u}) {
      EXPECT_EQ(state.kernels.thresholds[k], threshold);
      EXPECT_FLOAT_EQ(state.kernels.lengths[k], 0.5f / static_cast<float>(constants::kSplitLength));
    }
    // The paper's distance, in lengths of the kernel.
    const double apart =
        (grid().position(state.kernels.positions[2]) - grid().position(state.kernels.positions[3])).norm();
    EXPECT_NEAR(apart, 2 * 0.5 * constants::kSplitDistance * (1 - static_cast<double>(threshold)), 1e-6);
  }
}

TEST(Density, SmallKernelsAreCloned) {
  TrainerState state = stateOf(grid(), 2);
  state.kernels.thresholds[1] = 0.95f;
  state.statistics.errors = {0, 1000};
  TrainOptions options;
  options.density.growth = 1;
  densify(state, options, Walker(grid()), 75);
  ASSERT_EQ(state.kernels.size(), 3u);
  EXPECT_EQ(state.kernels.positions[2].barycentric, state.kernels.positions[1].barycentric);
  EXPECT_EQ(state.kernels.thresholds[2], 0.95f);
  EXPECT_EQ(firstMoment(state, 1), 1.0f) << "the original keeps its state";
  EXPECT_EQ(firstMoment(state, 2), 0.0f);
}

/// Probes that are covered and right, without any kernel that acts there.
Probes probesOn(const Surface& surface, std::size_t count) {
  Probes probes;
  probes.resize(count, 3);
  probes.points = sampleSurface(surface, count, 9);
  std::fill(probes.targets.values.begin(), probes.targets.values.end(), 0.5f);
  probes.weights.assign(count, 1.0f);
  return probes;
}

/// Lets kernels act at a probe, with the colours of `state`: weight, sum and error follow.
void act(Probes& probes, std::size_t probe, const std::vector<Influence>& influences,
         const TrainerState& state) {
  float& weight = probes.weights[probe];
  weight = 0;
  ChannelTable::Row sum = probes.sums[probe];
  sum.setZero();
  for (const Influence& influence : influences) {
    weight += influence.weight;
    sum += influence.weight * state.kernels.channels[influence.kernel];
  }
  probes.errors[probe] = state.kernels.mean + sum / std::max(weight, 1.0f) - probes.targets[probe];
  probes.influences.insert(probes.influences.begin() + probes.begin[probe + 1], influences.begin(),
                           influences.end());
  for (std::size_t i = probe + 1; i < probes.begin.size(); ++i)
    probes.begin[i] += static_cast<std::uint32_t>(influences.size());
}

TrainOptions budgetOf(std::size_t kernels) {
  TrainOptions options;
  options.density.rule = Density::kBudget;
  options.density.max_kernels = kernels;
  options.density.min_kernels = 10;
  options.density.relocate_share = 0.1;
  options.density.insert_share = 1;
  return options;
}

/// Whether the kernel that had this number at the start is still there.
bool present(const TrainerState& state, std::size_t kernel) {
  const float anisotropy = 1.0f + static_cast<float>(kernel);
  return std::count(state.kernels.anisotropies.begin(), state.kernels.anisotropies.end(), anisotropy) > 0;
}

TEST(Density, TheBudgetRuleMovesTheUselessToAnUncoveredErrorAndMendsIt) {
  TrainerState state = stateOf(grid(), 50);
  state.statistics.costs[7] = state.statistics.costs[8] = 0;
  auto probes = probesOn(grid(), 300);
  for (const std::size_t i : {100, 200}) {
    probes.targets[i] = Vec3f(0.9f, 0.2f, 0.4f);
    act(probes, i, {}, state);
  }
  rebalance(state, budgetOf(50), Walker(grid()), probes);
  ASSERT_EQ(state.kernels.size(), 50u);
  expectConsistent(state);
  EXPECT_FALSE(present(state, 7));
  EXPECT_FALSE(present(state, 8));
  for (std::size_t n = 0; n < 2; ++n) {
    const SurfacePoint& p = state.kernels.positions[48 + n];
    const SurfacePoint& wanted = probes.points[100 * (n + 1)];
    EXPECT_EQ(p.face, wanted.face);
    EXPECT_EQ(p.barycentric, wanted.barycentric);
    // Alone at its place, with f = 1: mean + c is the target.
    EXPECT_LT((state.kernels.mean + state.kernels.channels[48 + n] - probes.targets[100]).norm(), 1e-6f);
  }
}

TEST(Density, LooksBeyondTheCheapestKernelsWhereThoseAreNeeded) {
  // The cheaper half of the kernels: each alone at a probe. Those that go are found however far behind.
  constexpr std::uint32_t kCount = 600, kNeeded = 300, kGoing = 60;
  TrainerState state = stateOf(grid(), kCount);
  auto probes = probesOn(grid(), kNeeded);
  for (std::uint32_t i = 0; i < kCount; ++i)
    state.statistics.costs[i] = 1 + i;
  for (std::uint32_t i = 0; i < kNeeded; ++i) {
    probes.targets[i] = state.kernels.mean + state.kernels.channels[i];
    act(probes, i, {{i, 1.0f}}, state);
  }
  TrainOptions options = budgetOf(kCount);
  options.density.relocate_share = static_cast<double>(kGoing) / kCount;
  options.density.relocate_below = 2;
  rebalance(state, options, Walker(grid()), probes);
  for (std::uint32_t i = 0; i < kCount; ++i)
    EXPECT_EQ(present(state, i), i < kNeeded || i >= kNeeded + kGoing) << i;
}

TEST(Density, TheBudgetRuleMendsAnyNumberOfChannels) {
  for (const std::size_t channels : {1, 4, 11}) {
    TrainerState state;
    state.kernels = KernelSet(*ChannelLayout::make({{"values", channels}}));
    state.kernels.resize(20);
    state.kernels.positions = sampleSurface(grid(), 20, 5);
    std::fill(state.kernels.thresholds.begin(), state.kernels.thresholds.end(), 0.7f);
    state.optimiser.reset(20, channels);
    state.statistics.reset(20);
    Probes probes;
    probes.resize(200, channels);
    probes.points = sampleSurface(grid(), 200, 9);
    std::fill(probes.targets.values.begin(), probes.targets.values.end(), 0.5f);
    probes.weights.assign(200, 1.0f);
    // Only the last channel of one probe is wrong.
    probes.weights[77] = 0;
    probes.targets.row(77)[channels - 1] = 0.9f;
    probes.errors.row(77)[channels - 1] = -0.4f;
    rebalance(state, budgetOf(21), Walker(grid()), probes, Rebalance::kCoverage);
    ASSERT_EQ(state.kernels.size(), 21u) << channels;
    EXPECT_EQ(state.kernels.positions[20].barycentric, probes.points[77].barycentric);
    const ChannelValues mended = state.kernels.mean + state.kernels.channels[20];
    EXPECT_LT((mended - probes.targets[77]).cwiseAbs().maxCoeff(), 1e-6f);
    EXPECT_TRUE(state.optimiser.adam_m.size() == 21 * adamParameters(channels));
  }
}

TEST(Density, NewKernelsFollowTheWeightsOfTheGroups) {
  // All is bare; probes with even numbers are wrong in one channel, the others, as much, in the other one.
  for (const std::size_t heavy : {0u, 1u}) {
    std::vector<ChannelGroup> groups = {{"a", 1}, {"b", 1}};
    groups[heavy].weight = 100;
    TrainerState state;
    state.kernels = KernelSet(*ChannelLayout::make(groups));
    state.kernels.resize(20);
    state.kernels.positions = sampleSurface(grid(), 20, 5);
    std::fill(state.kernels.thresholds.begin(), state.kernels.thresholds.end(), 0.7f);
    state.optimiser.reset(20, 2);
    state.statistics.reset(20);
    Probes probes;
    probes.resize(200, 2);
    probes.points = sampleSurface(grid(), 200, 9);
    std::fill(probes.targets.values.begin(), probes.targets.values.end(), 0.5f);
    for (std::size_t i = 0; i < 200; ++i)
      probes.errors.row(i)[i % 2] = 0.3f;
    TrainOptions options = budgetOf(40);
    options.density.growth = 1;
    options.density.cover_share = 0;  // nothing goes
    rebalance(state, options, Walker(grid()), probes, Rebalance::kCoverage);
    ASSERT_EQ(state.kernels.size(), 40u);
    std::size_t at_heavy = 0;
    for (std::size_t k = 20; k < 40; ++k) {
      for (std::size_t i = heavy; i < 200; i += 2)
        at_heavy += state.kernels.positions[k].barycentric == probes.points[i].barycentric ? 1 : 0;
    }
    // Of 101 parts of the squared error 100 are there: 19.8 of 20 kernels, one per step of a systematic draw.
    EXPECT_GE(at_heavy, 19u);
  }
}

TEST(Density, ColoursThatNobodySeesAreNotMissed) {
  for (const float visible : {1.0f, 0.0f}) {
    TrainerState state = stateOf(grid(), 50);
    state.statistics.costs[7] = 0;
    auto probes = probesOn(grid(), 300);
    probes.visibilities.assign(300, 1.0f);
    probes.visibilities[20] = visible;
    probes.targets[20] = state.kernels.mean + state.kernels.channels[0];
    act(probes, 20, {{7, 0.9f}}, state);
    rebalance(state, budgetOf(50), Walker(grid()), probes);
    EXPECT_EQ(present(state, 7), visible > 0) << "it alone covers what is, or is not, seen";
  }
  // A kernel for an uncovered place takes its colour from what is seen around it.
  TrainerState state = stateOf(grid(), 50);
  auto probes = probesOn(grid(), 300);
  probes.visibilities.assign(300, 0.0f);
  probes.visibilities[100] = 1;
  for (std::size_t i = 0; i < 300; ++i) {
    probes.targets[i] = i == 100 ? Vec3f(0.9f, 0.2f, 0.4f) : Vec3f(Vec3f::Zero());
    act(probes, i, {}, state);
    if (i != 100) probes.errors[i].setZero();
  }
  rebalance(state, budgetOf(51), Walker(grid()), probes, Rebalance::kCoverage);
  ASSERT_EQ(state.kernels.size(), 51u);
  EXPECT_LT((state.kernels.mean + state.kernels.channels[50] - probes.targets[100]).norm(), 1e-6f);
}

TEST(Density, AKernelWhoseAbsenceUncoversStays) {
  TrainerState state = stateOf(grid(), 50);
  for (const std::size_t k : {7, 8, 9, 10, 11})
    state.statistics.costs[k] = 0;
  auto probes = probesOn(grid(), 300);
  const Vec3f colored = state.kernels.mean + state.kernels.channels[0];
  // 7 alone covers a place whose colour is not the mean.
  probes.targets[20] = colored;
  act(probes, 20, {{7, 0.9f}}, state);
  // 8 alone covers one that has the mean colour: nothing is wrong without it.
  state.kernels.channels[8] = Vec3f::Zero();
  probes.targets[40] = state.kernels.mean;
  act(probes, 40, {{8, 0.9f}}, state);
  // 9 and 10 cover one together: either may go, but not both.
  probes.targets[60] = colored;
  act(probes, 60, {{9, 0.6f}, {10, 0.6f}}, state);
  // 11 covers with many others.
  probes.targets[80] = colored;
  act(probes, 80, {{11, 0.5f}, {12, 0.5f}, {13, 0.5f}}, state);
  rebalance(state, budgetOf(50), Walker(grid()), probes);
  EXPECT_TRUE(present(state, 7));
  EXPECT_FALSE(present(state, 8));
  EXPECT_NE(present(state, 9), present(state, 10));
  EXPECT_FALSE(present(state, 11));
}

TEST(Density, WhatIsUncoveredComesBeforeDetailEvenWhenTheBudgetIsFull) {
  TrainerState state = stateOf(grid(), 50);
  for (std::size_t i = 0; i < 50; ++i)
    state.statistics.costs[i] = 100 + static_cast<double>(i);  // everything is of use
  state.statistics.errors.assign(50, 1000.0);                  // and has errors
  auto probes = probesOn(grid(), 300);
  // One probe in three is bare, and kernels are as wide as a probe: a hundred places want one.
  for (std::size_t i = 0; i < 300; i += 3) {
    probes.targets[i] = Vec3f(0.9f, 0.2f, 0.4f);
    act(probes, i, {}, state);
  }
  // The cheapest kernel alone covers something.
  probes.targets[100] = state.kernels.mean + state.kernels.channels[0];
  act(probes, 100, {{0, 1.0f}}, state);
  TrainOptions options = budgetOf(50);
  options.density.cover_share = 0.2;
  options.density.growth = 1;
  for (const Rebalance what : {Rebalance::kAll, Rebalance::kCoverage}) {
    TrainerState now = state;
    rebalance(now, options, Walker(grid()), probes, what);
    EXPECT_EQ(now.kernels.size(), 50u);
    EXPECT_TRUE(present(now, 0));
    std::size_t at_probes = 0;
    for (const SurfacePoint& p : now.kernels.positions) {
      at_probes += std::any_of(probes.points.begin(), probes.points.end(), [&](const SurfacePoint& probe) {
        return probe.face == p.face && probe.barycentric == p.barycentric;
      });
    }
    const std::size_t taken = what == Rebalance::kAll ? 15 : 10;  // a tenth and a fifth, or a fifth
    EXPECT_EQ(at_probes, taken);
    for (std::size_t k = 1; k <= taken; ++k)
      EXPECT_FALSE(present(now, k)) << "the cheapest go: " << k;
    EXPECT_TRUE(present(now, taken + 1));
  }
}

TEST(Density, TheLastPassesOnlyCover) {
  TrainerState state = stateOf(grid(), 40);
  state.statistics.costs[5] = 0;
  rebalance(state, budgetOf(60), Walker(grid()), probesOn(grid(), 300), Rebalance::kCoverage);
  EXPECT_EQ(state.kernels.size(), 40u) << "nothing is uncovered";
  EXPECT_TRUE(present(state, 5));
}

TEST(Density, AfterTheLastStepGapsAreFilledWithoutSplitting) {
  TrainerState state = stateOf(grid(), 50);
  for (std::size_t i = 0; i < 50; ++i)
    state.statistics.costs[i] = 100 + static_cast<double>(i);
  TrainOptions options = budgetOf(50);
  options.density.cover_share = 0.2;
  options.lengths = Lengths::kSpacing;
  const std::size_t gaps[] = {30, 200};
  for (const std::size_t gap : gaps) {
    auto probes = probesOn(grid(), 300);
    probes.targets[gap] = Vec3f(0.9f, 0.2f, 0.4f);
    act(probes, gap, {}, state);
    EXPECT_GE(rebalance(state, options, Walker(grid()), probes, Rebalance::kLast), 1u);
    EXPECT_LE(state.kernels.size(), 50u);
    expectConsistent(state);
    EXPECT_EQ(state.kernels.positions.back().barycentric, probes.points[gap].barycentric);
  }
  // The two cheapest went, not what the first of the two passes had inserted, and no other became shorter.
  // (Kernel 0 cannot be told by its anisotropy: inserted ones have the same. Those that stay are checked
  // below.)
  EXPECT_FALSE(present(state, 1));
  EXPECT_TRUE(present(state, 2));
  ASSERT_EQ(state.kernels.size(), 50u);
  for (std::size_t k = 0; k < 48; ++k) {
    EXPECT_EQ(state.kernels.lengths[k], 1.0f);
    EXPECT_EQ(firstMoment(state, k), static_cast<float>(k + 2));
  }
  // Nothing is uncovered: nothing changes.
  EXPECT_EQ(rebalance(state, options, Walker(grid()), probesOn(grid(), 300), Rebalance::kLast), 0u);
  EXPECT_TRUE(present(state, 2));
}

TEST(Density, TheBudgetRuleFillsTheBudgetAndRemovesNothingOfUse) {
  TrainerState state = stateOf(grid(), 40);
  TrainOptions options = budgetOf(60);
  options.density.growth = 1;
  auto probes = probesOn(grid(), 300);
  std::fill(probes.errors.values.begin(), probes.errors.values.end(), 0.1f);
  rebalance(state, options, Walker(grid()), probes);
  EXPECT_EQ(state.kernels.size(), 60u);
  expectConsistent(state);
  // Without any error there is nothing to insert; splitting still fills up.
  TrainerState flat = stateOf(grid(), 40);
  rebalance(flat, options, Walker(grid()), probesOn(grid(), 300));
  EXPECT_EQ(flat.kernels.size(), 60u);
}

}  // namespace
}  // namespace heatskin
