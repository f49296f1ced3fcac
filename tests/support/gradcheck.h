#pragma once

// Hand-written gradients against central differences in double.

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace heatskin::testing {

struct GradcheckOptions {
  double step = 1e-5;       ///< of the differences, relative to max(1, |x|)
  double tolerance = 1e-7;  ///< relative to the size of the gradient; truncation h^2 and rounding eps / h are
                            ///< both about 1e-10
};

/// Compares `gradient` with central differences of `f` at `x`, entry by entry and along the gradient itself
/// (a small systematic bias hides in single entries but not in the sum). Returns the first disagreement, or
/// an empty string.
inline std::string gradcheck(const std::function<double(std::span<const double>)>& f, std::vector<double> x,
                             std::span<const double> gradient, const GradcheckOptions& options = {}) {
  double size = 0, along = 0, along_expected = 0;
  for (const double g : gradient)
    size = std::max(size, std::abs(g));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double center = x[i], h = options.step * std::max(1.0, std::abs(center));
    x[i] = center + h;
    const double above = f(x);
    x[i] = center - h;
    const double below = f(x);
    x[i] = center;
    const double numeric = (above - below) / (2 * h);
    if (!(std::abs(numeric - gradient[i]) <= options.tolerance * std::max(1.0, size))) {
      return "entry " + std::to_string(i) + ": " + std::to_string(gradient[i]) + " but differences say " +
             std::to_string(numeric);
    }
    along += gradient[i] * gradient[i];
    along_expected += gradient[i] * numeric;
  }
  if (!(std::abs(along - along_expected) <= options.tolerance * std::max(1.0, size * size))) {
    return "along the gradient: " + std::to_string(along) + " but differences say " +
           std::to_string(along_expected);
  }
  return "";
}

}  // namespace heatskin::testing
