#pragma once

// Peak signal-to-noise ratio, 10 log10(1 / MSE) in dB: values are 0..1, so the peak is 1. The mean runs over
// all samples and channels together.

#include <cstddef>
#include <span>
#include <string>

#include "heatskin/base/result.h"
#include "heatskin/io/image_f.h"
#include "heatskin/metrics/image_pair.h"

namespace heatskin {

/// A sum of squared differences and how many there were; add up to pool several pictures.
struct SquaredError {
  double sum = 0.0;
  std::size_t count = 0;  ///< samples times channels

  double mean() const { return count == 0 ? 0.0 : sum / static_cast<double>(count); }
  SquaredError& operator+=(const SquaredError& other) {
    sum += other.sum;
    count += other.count;
    return *this;
  }
};

/// Accumulated in double over fixed blocks in index order: the same bits for any number of threads. The spans
/// are colours [n, 3] (or any two lists of one length > 0) with finite values.
Result<SquaredError> squaredError(std::span<const float> reference, std::span<const float> test);

/// Over the pixels that count (MaskOptions); what is behind them plays no part.
Result<SquaredError> squaredError(const ImageF& reference, const ImageF& test,
                                  const MaskOptions& options = {});

/// 10 log10(1 / mse); +infinity for mse = 0.
double psnrFromMse(double mse);

/// Surface PSNR: colours of one list of surface points, [n, 3] each. +infinity for identical lists.
Result<double> psnr(std::span<const float> reference, std::span<const float> test);

/// Picture PSNR over the pixels that count. +infinity for identical pictures.
Result<double> psnr(const ImageF& reference, const ImageF& test, const MaskOptions& options = {});

/// `value` as JSON text: the shortest decimal that reads back to the same double; null for infinities and
/// not-a-number, which JSON cannot hold.
std::string jsonNumber(double value);

}  // namespace heatskin
