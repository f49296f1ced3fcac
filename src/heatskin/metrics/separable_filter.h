#pragma once

// Separable filters on bands of rows. SSIM and FLIP are local: a band of output rows needs only a few rows
// more of input, so they run band by band in scratch memory that stays in the cache, whatever the picture's
// size. Double precision, because both subtract nearly equal filter outputs. Private to metrics.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace heatskin {

/// Index into 0..n-1 of a picture mirrored at its border with the edge pixel repeated (c b a | a b c).
inline int mirroredIndex(int i, int n) {
  const int period = 2 * n;
  i %= period;
  if (i < 0) i += period;
  return i < n ? i : period - 1 - i;
}

/// Index into 0..n-1 of a picture whose border pixel is repeated.
inline int clampedIndex(int i, int n) {
  return std::clamp(i, 0, n - 1);
}

/// out[x] = sum_k kernel[k] padded[x + k]: correlation; `padded` is [width + kernel.size() - 1].
inline void filterRow(const double* padded, int width, std::span<const double> kernel, double* out) {
  std::fill(out, out + width, 0.0);
  for (std::size_t k = 0; k < kernel.size(); ++k) {
    const double weight = kernel[k];
    const double* shifted = padded + k;
    for (int x = 0; x < width; ++x)
      out[x] += weight * shifted[x];
  }
}

/// out[x] = sum_k kernel[k] rows[k * stride + x].
inline void filterColumns(const double* rows, std::size_t stride, int width, std::span<const double> kernel,
                          double* out) {
  std::fill(out, out + width, 0.0);
  for (std::size_t k = 0; k < kernel.size(); ++k) {
    const double weight = kernel[k];
    const double* row = rows + k * stride;
    for (int x = 0; x < width; ++x)
      out[x] += weight * row[x];
  }
}

/// exp(-x^2 / (2 sigma^2)) for x = -radius..radius, scaled to sum 1.
std::vector<double> gaussianKernel(double sigma, int radius);

}  // namespace heatskin
