#pragma once

// Colour formation, shared by every evaluator (METHOD section 3): soft threshold, the 30 strongest,
// normalised sum. Each formula has its gradient below it, for any scalar type; composite_simd.cpp is the
// fast version for whole blocks.

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace heatskin {

/// Kernels that take part in a colour.
inline constexpr std::size_t kKeptKernels = 30;

/// Keeps the quotient of the soft threshold finite where it has no range (METHOD section 3).
inline constexpr double kFilterEpsilon = 1e-8;

template <class T>
T logistic(T z) {
  // Both branches stay finite for any z.
  if (z >= 0) return T(1) / (T(1) + std::exp(-z));
  const T e = std::exp(z);
  return e / (T(1) + e);
}

/// What the soft threshold needs of a kernel: f(x) = clamp((S(s (x - eps)) - floor) * inverse_range, 0, 1).
template <class T>
struct SoftThreshold {
  T sharpness, threshold;  ///< s, eps
  T floor;                 ///< S(-s eps)
  T inverse_range;         ///< 1 / (S(s (1 - eps)) - S(-s eps) + 1e-8)

  SoftThreshold(T s, T eps)
      : sharpness(s),
        threshold(eps),
        floor(logistic(-s * eps)),
        inverse_range(T(1) / (logistic(s * (T(1) - eps)) - floor + T(kFilterEpsilon))) {}

  T operator()(T x) const {
    const T f = (logistic(sharpness * (x - threshold)) - floor) * inverse_range;
    return std::clamp(f, T(0), T(1));
  }

  /// df/dx; zero where the clamp holds f.
  T slope(T x) const {
    const T a = logistic(sharpness * (x - threshold));
    const T f = (a - floor) * inverse_range;
    return f > T(0) && f < T(1) ? sharpness * a * (T(1) - a) * inverse_range : T(0);
  }

  /// The x where f is `level` (in (0, 1)); inverts the soft threshold.
  T invert(T level) const {
    const T a = level / inverse_range + floor;
    return threshold + std::log(a / (T(1) - a)) / sharpness;
  }
};

/// The four sums over a kernel's appearances from which dL/ds and dL/deps follow. g = dL/df, a = S(s (x -
/// eps)).
template <class T>
struct FilterSums {
  T slope = 0;     ///< sum g a (1 - a)
  T slope_x = 0;   ///< sum g a (1 - a) (x - eps)
  T plain = 0;     ///< sum g
  T weighted = 0;  ///< sum g f

  void add(const SoftThreshold<T>& k, T x, T g) {
    const T a = logistic(k.sharpness * (x - k.threshold));
    const T f = (a - k.floor) * k.inverse_range;
    if (!(f > T(0) && f < T(1))) return;
    slope += g * a * (T(1) - a);
    slope_x += g * a * (T(1) - a) * (x - k.threshold);
    plain += g;
    weighted += g * f;
  }

  /// dL/d(threshold), dL/d(sharpness).
  void finish(const SoftThreshold<T>& k, T& d_threshold, T& d_sharpness) const {
    const T s = k.sharpness, e = k.threshold;
    const T b = k.floor, c = logistic(s * (T(1) - e));
    const T db = b * (T(1) - b), dc = c * (T(1) - c);
    // f = (a - b) / (c - b + 1e-8); df = (da - db - f (dc - db)) * inverse_range.
    d_threshold = k.inverse_range * (-s * slope + s * db * plain - (-s * dc + s * db) * weighted);
    d_sharpness = k.inverse_range * (slope_x + e * db * plain - ((T(1) - e) * dc + e * db) * weighted);
  }
};

}  // namespace heatskin
