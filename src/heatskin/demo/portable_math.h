#pragma once

// Functions whose results are the same to the bit on every machine: additions, multiplications, divisions and
// square roots only. The C library's sine may differ in the last bit between versions and processors.

#include <algorithm>
#include <cmath>

#include "heatskin/base/vec.h"

namespace heatskin {

inline constexpr double kTau = 6.283185307179586;

/// sin(2 pi x); absolute error below 1e-12 for |x| < 1000.
inline double sinTurns(double x) {
  double t = x - std::floor(x + 0.5);  // [-1/2, 1/2)
  if (t > 0.25) t = 0.5 - t;
  if (t < -0.25) t = -0.5 - t;
  const double a = kTau * t, q = a * a;
  // Taylor series; the first term left out is below 5e-14 at pi / 2.
  double sum = 1;
  for (int n = 18; n >= 2; n -= 2)
    sum = 1 - sum * q / (n * (n + 1));
  return a * sum;
}

inline double cosTurns(double x) {
  return sinTurns(x + 0.25);
}

/// Angle of the vector (x, y) against the x axis in turns, in [-1/2, 1/2]; 0 for the zero vector. Absolute
/// error below 1e-12.
inline double angleTurns(double y, double x) {
  const double length = std::sqrt(x * x + y * y);
  if (!(length > 0)) return 0;
  // tan(a / 2) = y / (length + x), on the side where nothing cancels; two more halvings bring it below 0.2.
  const bool left = x < 0;
  double t = y / (length + std::abs(x));
  for (int i = 0; i < 2; ++i)
    t = t / (1 + std::sqrt(1 + t * t));
  const double q = t * t;
  double sum = 0;
  for (int n = 17; n >= 1; n -= 2)
    sum = 1.0 / n - q * sum;
  const double turns = 8 * t * sum / kTau;
  if (!left) return turns;
  return (y < 0 ? -0.5 : 0.5) - turns;
}

inline double clamp01(double x) {
  return std::min(std::max(x, 0.0), 1.0);
}

/// 0 below `a`, 1 above `b`, smooth between; a > b gives the falling step.
inline double smoothStep(double a, double b, double x) {
  const double t = clamp01((x - a) / (b - a));
  return t * t * (3 - 2 * t);
}

inline double mix(double a, double b, double t) {
  return a + (b - a) * t;
}
inline Vec3 mix(const Vec3& a, const Vec3& b, double t) {
  return a + (b - a) * t;
}

}  // namespace heatskin
