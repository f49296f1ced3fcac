#pragma once

// Adam (Kingma and Ba, "Adam: a method for stochastic optimization", 2015) with METHOD's constants.

#include <cmath>

#include <Eigen/Core>

namespace heatskin {

/// One step of Adam, for any number of parameters and for vectors in a plane.
class Adam {
 public:
  static constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;

  /// Four parameters at once, which is what fits a vector.
  using Four = Eigen::Array4f;

  /// `step` counts from 0. Moments that begin later (those of a new kernel) are not corrected for that: the
  /// larger beta2, the longer their first steps are too large (with 0.999 up to six times, with 0.99 twice).
  explicit Adam(int step, double beta2 = kBeta2, double epsilon = kEpsilon)
      : beta2_(beta2),
        epsilon_(epsilon),
        correction1_(1 - std::pow(kBeta1, step + 1)),
        correction2_(1 - std::pow(beta2, step + 1)),
        inverse_correction2_(static_cast<float>(1 / correction2_)) {}

  /// What change() wants in place of a learning rate.
  float stepSize(double rate) const { return static_cast<float>(rate / correction1_); }

  /// Moves the moments `m` and `v` (four floats each) on; returns what to subtract from the parameters.
  Four change(const Four& step_sizes, const Four& gradient, float* m, float* v) const {
    constexpr auto kKeep1 = static_cast<float>(kBeta1);
    const auto keep2 = static_cast<float>(beta2_);
    const auto small = static_cast<float>(epsilon_);
    Eigen::Map<Four> stored_m(m), stored_v(v);
    const Four first = kKeep1 * stored_m + (1 - kKeep1) * gradient;
    const Four second = keep2 * stored_v + (1 - keep2) * gradient.square();
    stored_m = first;
    stored_v = second;
    return step_sizes * first / ((second * inverse_correction2_).sqrt() + small);
  }

  /// The same for a vector that has no preferred axes: its direction stays, and `v` is the mean of its
  /// squared length.
  Eigen::Vector2d change(double rate, const Eigen::Vector2d& gradient, Eigen::Vector2d& m, double& v) const {
    m = kBeta1 * m + (1 - kBeta1) * gradient;
    v = beta2_ * v + (1 - beta2_) * gradient.squaredNorm();
    return rate / correction1_ / (std::sqrt(v / correction2_) + epsilon_) * m;
  }

  /// The same in float for a vector among other parameters, with a step size: `m` and `v` are two floats
  /// each. Both of `v` are the mean square of a component, so that steps are as long as those of single
  /// parameters.
  Eigen::Vector2f changeVector(float step_size, const Eigen::Vector2f& gradient, float* m, float* v) const {
    constexpr auto kKeep1 = static_cast<float>(kBeta1);
    const auto keep2 = static_cast<float>(beta2_);
    Eigen::Map<Eigen::Vector2f> first(m);
    first = kKeep1 * first + (1 - kKeep1) * gradient;
    v[0] = v[1] = keep2 * v[0] + (1 - keep2) * 0.5f * gradient.squaredNorm();
    return step_size / (std::sqrt(v[0] * inverse_correction2_) + static_cast<float>(epsilon_)) * first;
  }

  /// The same for one parameter in double, with its learning rate.
  double change(double rate, double gradient, double& m, double& v) const {
    m = kBeta1 * m + (1 - kBeta1) * gradient;
    v = beta2_ * v + (1 - beta2_) * gradient * gradient;
    return rate * (m / correction1_) / (std::sqrt(v / correction2_) + epsilon_);
  }

 private:
  double beta2_, epsilon_, correction1_, correction2_;
  float inverse_correction2_;
};

}  // namespace heatskin
