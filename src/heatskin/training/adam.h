#pragma once

// Adam (Kingma and Ba, "Adam: a method for stochastic optimization", 2015) with METHOD's constants.

#include <cmath>

#include <Eigen/Core>

namespace heatskin {

/// One step of Adam, for any number of parameters.
class Adam {
 public:
  static constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;

  /// Four parameters at once, which is what fits a vector.
  using Four = Eigen::Array4f;

  /// `step` counts from 0.
  explicit Adam(int step)
      : correction1_(1 - std::pow(kBeta1, step + 1)),
        correction2_(1 - std::pow(kBeta2, step + 1)),
        inverse_correction2_(static_cast<float>(1 / correction2_)) {}

  /// What change() wants in place of a learning rate.
  float stepSize(double rate) const { return static_cast<float>(rate / correction1_); }

  /// Moves the moments `m` and `v` (four floats each) on; returns what to subtract from the parameters.
  Four change(const Four& step_sizes, const Four& gradient, float* m, float* v) const {
    constexpr auto kKeep1 = static_cast<float>(kBeta1), kKeep2 = static_cast<float>(kBeta2);
    constexpr auto kSmall = static_cast<float>(kEpsilon);
    Eigen::Map<Four> stored_m(m), stored_v(v);
    const Four first = kKeep1 * stored_m + (1 - kKeep1) * gradient;
    const Four second = kKeep2 * stored_v + (1 - kKeep2) * gradient.square();
    stored_m = first;
    stored_v = second;
    return step_sizes * first / ((second * inverse_correction2_).sqrt() + kSmall);
  }

  /// The same for one parameter in double, with its learning rate.
  double change(double rate, double gradient, double& m, double& v) const {
    m = kBeta1 * m + (1 - kBeta1) * gradient;
    v = kBeta2 * v + (1 - kBeta2) * gradient * gradient;
    return rate * (m / correction1_) / (std::sqrt(v / correction2_) + kEpsilon);
  }

 private:
  double correction1_, correction2_;
  float inverse_correction2_;
};

}  // namespace heatskin
