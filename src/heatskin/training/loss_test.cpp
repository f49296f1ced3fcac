#include "heatskin/training/loss.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"

#include "support/gradcheck.h"

namespace heatskin {
namespace {

constexpr std::size_t kLossQueries = 40;

/// Composited channels of random sums and weights, some of them clamped; targets and weights.
struct Fixture {
  std::size_t channels;
  CompositeBlock block;
  ChannelValues mean;
  std::vector<float> targets, weights;
  std::vector<double> inverse;

  Fixture(std::uint64_t seed, std::size_t channel_count)
      : channels(channel_count), mean(static_cast<Eigen::Index>(channel_count)) {
    const RandomStream random(seed, 0);
    block.channels.channels = block.sums.channels = channels;
    block.channels.resize(kLossQueries);
    block.sums.resize(kLossQueries);
    for (Eigen::Index c = 0; c < mean.size(); ++c)
      mean[c] = 0.3f + 0.02f * static_cast<float>(c);
    for (std::size_t q = 0; q < kLossQueries; ++q) {
      const auto u = [&](std::size_t i) { return static_cast<float>(random.uniform(64 * q + i)); };
      block.weights.push_back(3 * u(40));
      for (std::size_t c = 0; c < channels; ++c) {
        const float sum = 3 * u(c) - 1.5f;
        block.sums.row(q)[c] = sum;
        const float raw = mean[static_cast<Eigen::Index>(c)] + sum / std::max(block.weights.back(), 1.0f);
        block.channels.row(q)[c] = std::clamp(raw, 0.0f, 1.0f);
        targets.push_back(u(20 + c));
      }
      weights.push_back(0.5f + u(41));
      inverse.push_back(0.5 + u(42));
    }
  }

  ChannelLayout layout() const { return *ChannelLayout::make({{"values", channels}}); }
  LossSamples samples() const { return {targets, weights, inverse}; }
  float target(std::size_t q, std::size_t c) const { return targets[q * channels + c]; }
};

/// The weighted mean squared error in double as a function of the mean, then of every sum.
double lossInDouble(const Fixture& f, std::span<const double> p) {
  double loss = 0;
  for (std::size_t q = 0; q < kLossQueries; ++q) {
    for (std::size_t c = 0; c < f.channels; ++c) {
      const double weight = std::max(static_cast<double>(f.block.weights[q]), 1.0);
      const double raw = p[c] + p[f.channels * (q + 1) + c] / weight;
      const double error = std::clamp(raw, 0.0, 1.0) - f.target(q, c);
      loss += f.weights[q] * error * error;
    }
  }
  return loss / kLossQueries;
}

class LossOf : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Channels, LossOf, ::testing::Values(1, 3, 4, 11));

TEST_P(LossOf, GradientsEqualDifferencesInDouble) {
  const std::size_t channels = GetParam();
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Fixture f(seed, channels);
    LossBlock out;
    LossSums sums;
    std::vector<float> squared(kLossQueries);
    Loss(kLossQueries, ClampGradient::kZero, f.layout())
        .evaluate(f.block, f.mean, f.samples(), out, squared, sums);
    std::vector<double> p(f.mean.begin(), f.mean.end());
    std::vector<double> gradient(sums.d_mean.begin(),
                                 sums.d_mean.begin() + static_cast<std::ptrdiff_t>(channels));
    for (std::size_t q = 0; q < kLossQueries; ++q) {
      for (std::size_t c = 0; c < channels; ++c) {
        p.push_back(f.block.sums.row(q)[c]);
        gradient.push_back(out.d_channels[q * channels + c] / std::max(f.block.weights[q], 1.0f));
      }
    }
    const auto loss = [&](std::span<const double> x) { return lossInDouble(f, x); };
    EXPECT_EQ(testing::gradcheck(loss, p, gradient, {.step = 1e-6, .tolerance = 1e-6}), "") << seed;
  }
}

TEST_P(LossOf, StraightThroughGradientsAreTheErrorsOfClampedValues) {
  const std::size_t channels = GetParam();
  const Fixture f(3, channels);
  LossBlock zero, through;
  LossSums sums;
  std::vector<float> squared(kLossQueries);
  Loss(kLossQueries, ClampGradient::kZero, f.layout())
      .evaluate(f.block, f.mean, f.samples(), zero, squared, sums);
  Loss(kLossQueries, ClampGradient::kStraightThrough, f.layout())
      .evaluate(f.block, f.mean, f.samples(), through, squared, sums);
  std::size_t clamped = 0;
  for (std::size_t q = 0; q < kLossQueries; ++q) {
    for (std::size_t c = 0; c < channels; ++c) {
      const float value = f.block.channels.row(q)[c];
      const double error = static_cast<double>(value) - f.target(q, c);
      const std::size_t at = q * channels + c;
      EXPECT_NEAR(through.d_channels[at], 2.0 * f.weights[q] * error / kLossQueries, 1e-7);
      if (value == 0 || value == 1) {
        ++clamped;
        EXPECT_EQ(zero.d_channels[at], 0.0f);
      } else {
        EXPECT_EQ(zero.d_channels[at], through.d_channels[at]);
      }
    }
  }
  EXPECT_GT(clamped, 3 * channels);
}

TEST_P(LossOf, SumsAndErrorsEqualTheirDefinitions) {
  const std::size_t channels = GetParam();
  const Fixture f(5, channels);
  LossBlock out;
  LossSums sums;
  std::vector<float> squared(kLossQueries);
  const Loss loss(kLossQueries, ClampGradient::kStraightThrough, f.layout());
  loss.evaluate(f.block, f.mean, f.samples(), out, squared, sums);
  double expected = 0;
  for (std::size_t q = 0; q < kLossQueries; ++q) {
    double square = 0, absolute = 0;
    for (std::size_t c = 0; c < channels; ++c) {
      const double error = static_cast<double>(f.block.channels.row(q)[c]) - f.target(q, c);
      square += error * error;
      absolute += std::abs(error) / static_cast<double>(channels);
    }
    EXPECT_NEAR(squared[q], square, 1e-6 * static_cast<double>(channels));
    EXPECT_NEAR(out.absolute_errors[q], absolute, 1e-6);
    expected += square * f.inverse[q];
  }
  EXPECT_NEAR(sums.loss, expected, 1e-5 * static_cast<double>(channels));
  // The mean over the batch of e^2 has the second derivative 2 / batch in a channel of one sample.
  ASSERT_EQ(loss.curvatures(out).size(), channels);
  for (const float curvature : loss.curvatures(out))
    EXPECT_NEAR(curvature, 1.0 / kLossQueries, 1e-9);
}

TEST(Loss, GroupsHaveWeightsAndWhatNobodySeesCountsForThoseThatMatterEverywhere) {
  const Fixture f(8, 4);
  const auto layout =
      *ChannelLayout::make({{"base_color", 3, 0, {0, 1}, 1, 4}, {"alpha", 1, 0, {0, 1}, 1, 0.25}});
  ASSERT_TRUE(layout.find("alpha")->everywhere);
  std::vector<float> visible;
  for (std::size_t q = 0; q < kLossQueries; ++q)
    visible.push_back(static_cast<float>(q % 5) / 4);
  const Loss loss(kLossQueries, ClampGradient::kStraightThrough, layout);
  // Channels that are constant at a sample count nothing there, whatever is seen.
  std::vector<std::uint32_t> left_out;
  for (std::uint32_t q = 0; q < kLossQueries; ++q)
    left_out.push_back(q % 3 == 0 ? 0b1000 : q % 3 == 1 ? 0b0111 : 0);
  for (const auto& [seen, partial] :
       {std::pair(false, false), std::pair(true, false), std::pair(false, true), std::pair(true, true)}) {
    const bool masked = seen || partial;
    LossSamples samples = f.samples();
    if (seen) samples.visibilities = visible;
    if (partial) samples.left_out = left_out;
    LossBlock out;
    LossSums sums;
    std::vector<float> squared(kLossQueries);
    loss.evaluate(f.block, f.mean, samples, out, squared, sums);
    const auto curvatures = loss.curvatures(out);
    ASSERT_EQ(curvatures.size(), masked ? kLossQueries * 4 : 4u);
    double total = 0;
    for (std::size_t q = 0; q < kLossQueries; ++q) {
      double square = 0, absolute = 0;
      for (std::size_t c = 0; c < 4; ++c) {
        double weight = c == 3 ? 0.25 : 4.0 * (seen ? static_cast<double>(visible[q]) : 1.0);
        if (partial && (left_out[q] >> c & 1) != 0) weight = 0;
        const double error = static_cast<double>(f.block.channels.row(q)[c]) - f.target(q, c);
        square += weight * error * error;
        absolute += std::sqrt(weight) * std::abs(error) / 4;
        EXPECT_NEAR(out.d_channels[4 * q + c], 2 * weight * f.weights[q] * error / kLossQueries, 1e-6);
        EXPECT_NEAR(curvatures[masked ? 4 * q + c : c], weight / kLossQueries, 1e-7);
      }
      EXPECT_NEAR(squared[q], square, 1e-5);
      EXPECT_NEAR(out.absolute_errors[q], absolute, 1e-5);
      total += square * f.inverse[q];
    }
    EXPECT_NEAR(sums.loss, total, 1e-3);
  }
}

}  // namespace
}  // namespace heatskin
