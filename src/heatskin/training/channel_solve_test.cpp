#include "heatskin/training/channel_solve.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"

namespace heatskin {
namespace {

/// Probes with random influences of a few kernels each, whose errors belong to the kernels' values.
struct Problem {
  KernelSet kernels;
  Probes probes;

  Problem(const ChannelLayout& layout, std::size_t count, std::size_t points, bool masked) : kernels(layout) {
    const std::size_t channels = layout.size();
    const RandomStream random(5, 77);
    std::uint64_t n = 0;
    kernels.resize(count);
    for (float& value : kernels.channels.values)
      value = static_cast<float>(0.4 * random.uniform(n++) - 0.2);
    probes.resize(points, channels);
    if (masked) probes.visibilities.resize(points);
    if (masked) probes.left_out.resize(points);
    for (std::size_t p = 0; p < points; ++p) {
      const std::size_t acting = 1 + p % 4;
      float weight = 0;
      for (std::size_t a = 0; a < acting; ++a) {
        const auto kernel = static_cast<std::uint32_t>((p * 7 + a * 3) % count);
        probes.influences.push_back({kernel, static_cast<float>(random.uniform(n++))});
        weight += probes.influences.back().weight;
      }
      probes.begin[p + 1] = static_cast<std::uint32_t>(probes.influences.size());
      probes.weights[p] = weight;
      if (masked) probes.visibilities[p] = static_cast<float>(random.uniform(n++));
      if (masked) probes.left_out[p] = p % 5 == 0 ? 0b10u : 0;  // the second channel does not count there
      for (std::size_t c = 0; c < channels; ++c)
        probes.targets.row(p)[c] = static_cast<float>(0.3 + 0.4 * random.uniform(n++));
    }
    findErrors();
  }

  float seen(std::size_t p, std::size_t c) const {
    if (!probes.left_out.empty() && (probes.left_out[p] >> c & 1) != 0) return 0;
    return probes.visibilities.empty() || kernels.layout.groupOf(c).everywhere ? 1.0f
                                                                               : probes.visibilities[p];
  }

  void findErrors() {
    for (std::size_t p = 0; p < probes.size(); ++p) {
      for (std::size_t c = 0; c < kernels.layout.size(); ++c) {
        float sum = 0;
        for (std::uint32_t n = probes.begin[p]; n < probes.begin[p + 1]; ++n)
          sum += probes.influences[n].weight * kernels.channels.row(probes.influences[n].kernel)[c];
        const float value =
            kernels.mean[static_cast<Eigen::Index>(c)] + sum / std::max(probes.weights[p], 1.0f);
        probes.errors.row(p)[c] = seen(p, c) * (std::clamp(value, 0.0f, 1.0f) - probes.targets.row(p)[c]);
      }
    }
  }

  /// What solveChannels() minimises, solved as a dense system: changes, [kernels].
  Eigen::VectorXd dense(std::size_t c, double damping) const {
    const auto count = static_cast<Eigen::Index>(kernels.size());
    Eigen::MatrixXd a = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(probes.size()), count);
    Eigen::VectorXd weights(a.rows()), errors(a.rows());
    for (std::size_t p = 0; p < probes.size(); ++p) {
      const auto row = static_cast<Eigen::Index>(p);
      weights[row] = seen(p, c);
      errors[row] = probes.errors.row(p)[c];
      for (std::uint32_t n = probes.begin[p]; n < probes.begin[p + 1]; ++n)
        a(row, probes.influences[n].kernel) +=
            probes.influences[n].weight / std::max(probes.weights[p], 1.0f);
    }
    Eigen::MatrixXd normal = a.transpose() * weights.asDiagonal() * a;
    // solveChannels() adds up squares of single influences; kernels occur once for each probe here.
    normal.diagonal().array() += damping * normal.diagonal().mean();
    return normal.ldlt().solve(-(a.transpose() * errors));
  }
};

/// The problem in blocks of some of its probes.
void solveChannels(const Probes& probes, const ChannelSolveOptions& options, KernelSet& kernels,
                   float share = 1) {
  constexpr std::size_t kSome = 70;
  ChannelSystem system(kernels, blockCount(probes.size(), kSome));
  parallelBlocks(probes.size(), kSome, [&](std::size_t number, std::size_t first, std::size_t last) {
    Probes block;
    block.resize(last - first, probes.errors.channels);
    for (std::size_t p = first; p < last; ++p) {
      block.errors[p - first] = probes.errors[p];
      block.weights[p - first] = probes.weights[p];
      if (!probes.visibilities.empty()) block.visibilities.push_back(probes.visibilities[p]);
      if (!probes.left_out.empty()) block.left_out.push_back(probes.left_out[p]);
      for (std::uint32_t n = probes.begin[p]; n < probes.begin[p + 1]; ++n)
        block.influences.push_back(probes.influences[n]);
      block.begin[p - first + 1] = static_cast<std::uint32_t>(block.influences.size());
    }
    system.add(number, block);
  });
  system.solve(options, kernels, share);
}

TEST(ChannelSolve, ItIsTheSolutionOfTheDenseSystem) {
  // Four channels, which are one vector of the processor, and more.
  const auto four = *ChannelLayout::make({{"base_color", 3}, {"alpha", 1, 0, {0, 1}, 1, 1, true}});
  const auto six = *ChannelLayout::make(
      {{"base_color", 3}, {"alpha", 1, 0, {0, 1}, 1, 1, true}, {"roughness", 1}, {"metallic", 1}});
  for (const auto& [layout, masked] : {std::pair(four, false), {four, true}, {six, false}, {six, true}}) {
    Problem problem(layout, 37, 900, masked);
    const KernelSet before = problem.kernels;
    ChannelSolveOptions options;
    options.iterations = 60;  // to the end: conjugate gradients are exact after as many steps as unknowns
    options.damping = 0.05;
    solveChannels(problem.probes, options, problem.kernels);
    for (std::size_t c = 0; c < layout.size(); ++c) {
      const Eigen::VectorXd expected = problem.dense(c, options.damping);
      double largest = 0;
      for (std::size_t k = 0; k < before.size(); ++k) {
        const double change = problem.kernels.channels.row(k)[c] - before.channels.row(k)[c];
        EXPECT_NEAR(change, expected[static_cast<Eigen::Index>(k)], 2e-4) << masked << " " << c << " " << k;
        largest = std::max(largest, std::abs(change));
      }
      EXPECT_GT(largest, 0.05) << "something had to change";
    }
  }
}

TEST(ChannelSolve, AShareOfTheWay) {
  Problem whole(ChannelLayout(), 37, 900, false), half = whole;
  const KernelSet before = whole.kernels;
  solveChannels(whole.probes, {}, whole.kernels);
  solveChannels(half.probes, {}, half.kernels, 0.5f);
  std::size_t inside = 0;
  for (std::size_t i = 0; i < before.channels.values.size(); ++i) {
    const float change = whole.kernels.channels.values[i] - before.channels.values[i];
    if (std::abs(whole.kernels.channels.values[i]) >= KernelRanges::kMaxResidual) continue;  // was clamped
    EXPECT_NEAR(half.kernels.channels.values[i] - before.channels.values[i], 0.5f * change, 1e-6f);
    ++inside;
  }
  EXPECT_GT(inside, 50u);
}

TEST(ChannelSolve, AFewIterationsTakeMostOfTheErrorAway) {
  Problem problem(ChannelLayout(), 37, 900, false);
  const auto squared = [&] {
    double sum = 0;
    for (const float e : problem.probes.errors.values)
      sum += static_cast<double>(e) * static_cast<double>(e);
    return sum;
  };
  // What no values of the kernels could mend is left over.
  Problem best = problem;
  solveChannels(best.probes, {200, 1e-6}, best.kernels);
  best.findErrors();
  double floor = 0;
  for (const float e : best.probes.errors.values)
    floor += static_cast<double>(e) * static_cast<double>(e);
  const double before = squared();
  solveChannels(problem.probes, {}, problem.kernels);
  problem.findErrors();
  EXPECT_LT(squared() - floor, 0.05 * (before - floor));
}

TEST(ChannelSolve, ValuesStayInTheirRange) {
  Problem problem(ChannelLayout(), 10, 400, false);
  for (float& e : problem.probes.errors.values)
    e = -5;
  solveChannels(problem.probes, {}, problem.kernels);
  for (const float value : problem.kernels.channels.values)
    EXPECT_LE(std::abs(value), KernelRanges::kMaxResidual);
}

TEST(ChannelSolve, KernelsThatNoProbeMeetsStayAsTheyAre) {
  Problem problem(ChannelLayout(), 20, 300, false);
  problem.kernels.append(3);
  const KernelSet before = problem.kernels;
  solveChannels(problem.probes, {}, problem.kernels);
  for (std::size_t c = 0; c < 3; ++c)
    EXPECT_EQ(problem.kernels.channels.row(20)[c], before.channels.row(20)[c]);
}

TEST(ChannelSolve, TheSameBitsForAnyNumberOfThreads) {
  KernelSet first;
  for (const int threads : {1, 2, 3}) {
    setThreadCount(threads);
    Problem problem(ChannelLayout(), 5000, 20000, false);
    solveChannels(problem.probes, {}, problem.kernels);
    if (threads == 1) first = problem.kernels;
    EXPECT_EQ(first.channels, problem.kernels.channels);
  }
  setThreadCount(0);
}

}  // namespace
}  // namespace heatskin
