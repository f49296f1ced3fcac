#include "heatskin/training/adam.h"

#include <cmath>

#include <Eigen/Geometry>
#include <gtest/gtest.h>

namespace heatskin {
namespace {

TEST(Adam, TheFirstStepIsTheLearningRateAgainstTheSign) {
  for (const double g : {1e-3, -0.2, 5.0}) {
    double m = 0, v = 0;
    // m / (1 - beta1) = g, sqrt(v / (1 - beta2)) = |g|.
    EXPECT_NEAR(Adam(0).change(0.01, g, m, v), 0.01 * g / (std::abs(g) + 1e-8), 1e-12);
  }
}

TEST(Adam, ConstantGradientsGiveTheSumOfGeometricSeries) {
  // m_t = g (1 - beta1^t) and v_t = g^2 (1 - beta2^t): after correction every step is the first one.
  const double g = -0.3, rate = 0.02;
  double m = 0, v = 0, moved = 0;
  for (int t = 1; t <= 200; ++t) {
    moved += Adam(t - 1).change(rate, g, m, v);
    EXPECT_NEAR(m, g * (1 - std::pow(0.9, t)), 1e-12);
    EXPECT_NEAR(v, g * g * (1 - std::pow(0.999, t)), 1e-12);
  }
  EXPECT_NEAR(moved, -200 * rate, 1e-5);
}

TEST(Adam, OneGradientDecaysAsTheClosedFormSays) {
  // g at step 1, zero afterwards: m_t = 0.1 g 0.9^(t-1), v_t = 0.001 g^2 0.999^(t-1).
  const double g = 0.7, rate = 1;
  double m = 0, v = 0;
  for (int t = 1; t <= 50; ++t) {
    const double change = Adam(t - 1).change(rate, t == 1 ? g : 0.0, m, v);
    const double first = 0.1 * g * std::pow(0.9, t - 1) / (1 - std::pow(0.9, t));
    const double second = 0.001 * g * g * std::pow(0.999, t - 1) / (1 - std::pow(0.999, t));
    EXPECT_NEAR(change, first / (std::sqrt(second) + 1e-8), 1e-12) << t;
  }
}

TEST(Adam, FourAtOnceEqualOneByOneInDouble) {
  Eigen::Array4f m = Eigen::Array4f::Zero(), v = Eigen::Array4f::Zero();
  double single_m[4] = {}, single_v[4] = {};
  const double rates[4] = {0.1, 0.005, 1e-3, 0};
  for (int step = 0; step < 100; ++step) {
    const Adam adam(step);
    Adam::Four sizes, gradient;
    for (int i = 0; i < 4; ++i) {
      sizes[i] = adam.stepSize(rates[i]);
      gradient[i] = static_cast<float>(std::sin(step * 0.7 + i) * std::pow(10.0, -i));
    }
    const Adam::Four change = adam.change(sizes, gradient, m.data(), v.data());
    for (int i = 0; i < 4; ++i) {
      // The vector's square root has up to two wrong bits.
      EXPECT_NEAR(change[i], adam.change(rates[i], gradient[i], single_m[i], single_v[i]), 2e-5 * rates[i])
          << step << " " << i;
    }
  }
}

TEST(Adam, AVectorAlongOneAxisIsOneParameterAndTurnsWithItsAxes) {
  // One moment for both components: nothing depends on the axes, unlike with one for each.
  const double angle = 0.6, beta2 = 0.9, epsilon = 1e-10;
  const Eigen::Rotation2Dd turn(angle);
  Eigen::Vector2d m = Eigen::Vector2d::Zero(), turned_m = m;
  double v = 0, turned_v = 0, single_m = 0, single_v = 0;
  for (int step = 0; step < 60; ++step) {
    const Adam adam(step, beta2, epsilon);
    const double g = std::cos(0.3 * step) * 1e-3;
    const Eigen::Vector2d change = adam.change(0.01, Eigen::Vector2d(g, 0), m, v);
    const Eigen::Vector2d turned = adam.change(0.01, turn * Eigen::Vector2d(g, 0), turned_m, turned_v);
    // The closed form of one parameter, with these constants.
    single_m = 0.9 * single_m + 0.1 * g;
    single_v = beta2 * single_v + (1 - beta2) * g * g;
    const double expected = 0.01 * single_m / (1 - std::pow(0.9, step + 1)) /
                            (std::sqrt(single_v / (1 - std::pow(beta2, step + 1))) + epsilon);
    EXPECT_NEAR(change.x(), expected, 1e-12);
    EXPECT_EQ(change.y(), 0);
    EXPECT_LT((turned - turn * change).norm(), 1e-12);
  }
}

}  // namespace
}  // namespace heatskin
