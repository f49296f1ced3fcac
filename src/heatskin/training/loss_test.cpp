#include "heatskin/training/loss.h"

#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"

#include "support/gradcheck.h"

namespace heatskin {
namespace {

constexpr std::size_t kQueries = 40;

/// Composited colours of random sums and weights, some of them clamped; targets and weights.
struct Fixture {
  CompositeBlock block;
  Vec3f mean = {0.3f, 0.5f, 0.6f};
  std::vector<Vec3f> targets;
  std::vector<float> weights;
  std::vector<double> inverse;

  explicit Fixture(std::uint64_t seed) {
    const RandomStream random(seed, 0);
    for (std::size_t q = 0; q < kQueries; ++q) {
      const auto u = [&](std::size_t i) { return static_cast<float>(random.uniform(16 * q + i)); };
      const Vec3f sum = Vec3f(u(0), u(1), u(2)) * 3 - Vec3f::Constant(1.5f);
      block.sums.push_back(sum);
      block.weights.push_back(3 * u(3));
      const Vec3f raw = mean + sum / std::max(block.weights.back(), 1.0f);
      block.colors.push_back(raw.cwiseMax(0.0f).cwiseMin(1.0f));
      targets.emplace_back(u(4), u(5), u(6));
      weights.push_back(0.5f + u(7));
      inverse.push_back(0.5 + u(8));
    }
  }

  LossSamples samples() const { return {targets, weights, inverse}; }
};

/// The weighted mean squared error in double as a function of the mean colour, then of every sum.
double lossInDouble(const Fixture& f, std::span<const double> p) {
  double loss = 0;
  for (std::size_t q = 0; q < kQueries; ++q) {
    for (std::size_t c = 0; c < 3; ++c) {
      const double raw = p[c] + p[3 + 3 * q + c] / std::max(static_cast<double>(f.block.weights[q]), 1.0);
      const double error = std::clamp(raw, 0.0, 1.0) - f.targets[q][static_cast<Eigen::Index>(c)];
      loss += f.weights[q] * error * error;
    }
  }
  return loss / kQueries;
}

TEST(Loss, GradientsEqualDifferencesInDouble) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Fixture f(seed);
    LossBlock out;
    LossSums sums;
    std::vector<float> squared(kQueries);
    Loss(kQueries, ClampGradient::kZero).evaluate(f.block, f.mean, f.samples(), out, squared, sums);
    std::vector<double> p, gradient;
    for (Eigen::Index c = 0; c < 3; ++c) {
      p.push_back(f.mean[c]);
      gradient.push_back(sums.d_mean[c]);
    }
    for (std::size_t q = 0; q < kQueries; ++q) {
      for (Eigen::Index c = 0; c < 3; ++c) {
        p.push_back(f.block.sums[q][c]);
        gradient.push_back(out.d_colors[q][c] / std::max(f.block.weights[q], 1.0f));
      }
    }
    const auto loss = [&](std::span<const double> x) { return lossInDouble(f, x); };
    EXPECT_EQ(testing::gradcheck(loss, p, gradient, {.step = 1e-6, .tolerance = 1e-6}), "") << seed;
  }
}

TEST(Loss, StraightThroughGradientsAreTheErrorsOfClampedColours) {
  const Fixture f(3);
  LossBlock zero, through;
  LossSums sums;
  std::vector<float> squared(kQueries);
  Loss(kQueries, ClampGradient::kZero).evaluate(f.block, f.mean, f.samples(), zero, squared, sums);
  Loss(kQueries, ClampGradient::kStraightThrough)
      .evaluate(f.block, f.mean, f.samples(), through, squared, sums);
  std::size_t clamped = 0;
  for (std::size_t q = 0; q < kQueries; ++q) {
    for (Eigen::Index c = 0; c < 3; ++c) {
      const double error = static_cast<double>(f.block.colors[q][c]) - f.targets[q][c];
      EXPECT_NEAR(through.d_colors[q][c], 2.0 * f.weights[q] * error / kQueries, 1e-7);
      if (f.block.colors[q][c] == 0 || f.block.colors[q][c] == 1) {
        ++clamped;
        EXPECT_EQ(zero.d_colors[q][c], 0.0f);
      } else {
        EXPECT_EQ(zero.d_colors[q][c], through.d_colors[q][c]);
      }
    }
  }
  EXPECT_GT(clamped, 10u);
}

TEST(Loss, SumsAndErrorsEqualTheirDefinitions) {
  const Fixture f(5);
  LossBlock out;
  LossSums sums;
  std::vector<float> squared(kQueries);
  const Loss loss(kQueries, ClampGradient::kStraightThrough);
  loss.evaluate(f.block, f.mean, f.samples(), out, squared, sums);
  double expected = 0;
  for (std::size_t q = 0; q < kQueries; ++q) {
    double square = 0, absolute = 0;
    for (Eigen::Index c = 0; c < 3; ++c) {
      const double error = static_cast<double>(f.block.colors[q][c]) - f.targets[q][c];
      square += error * error;
      absolute += std::abs(error) / 3;
    }
    EXPECT_NEAR(squared[q], square, 1e-6);
    EXPECT_NEAR(out.absolute_errors[q], absolute, 1e-6);
    expected += square * f.inverse[q];
  }
  EXPECT_NEAR(sums.loss, expected, 1e-5);
  // The mean over the batch of e^2 has the second derivative 2 / batch in a channel of one sample.
  EXPECT_NEAR(loss.curvature(), 1.0 / kQueries, 1e-9);
}

}  // namespace
}  // namespace heatskin
