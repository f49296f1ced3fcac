#include "heatskin/metrics/psnr.h"

#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "heatskin/base/parallel.h"

namespace heatskin {
namespace {

// Values per block of the reduction; part of the result's bits, so it never depends on the machine.
constexpr std::size_t kBlock = 3 * (std::size_t{1} << 14);

/// Sum of squared differences over values whose pixel (index / 3) counts; `counted` may be empty.
SquaredError sumOfSquares(std::span<const float> reference, std::span<const float> test,
                          std::span<const std::uint8_t> counted) {
  std::vector<SquaredError> parts(blockCount(reference.size(), kBlock));
  parallelBlocks(reference.size(), kBlock, [&](std::size_t block, std::size_t begin, std::size_t end) {
    SquaredError part;
    for (std::size_t i = begin; i < end; ++i) {
      if (!counted.empty() && counted[i / 3] == 0) continue;
      const double difference = static_cast<double>(reference[i]) - static_cast<double>(test[i]);
      part.sum += difference * difference;
      ++part.count;
    }
    parts[block] = part;
  });
  SquaredError total;
  for (const SquaredError& part : parts)
    total += part;
  return total;
}

}  // namespace

Result<SquaredError> squaredError(std::span<const float> reference, std::span<const float> test) {
  if (reference.size() != test.size())
    return inputError(
        fmt::format("the colour lists differ in length, {} and {} values", reference.size(), test.size()));
  if (reference.empty()) return inputError("the colour lists are empty: there is nothing to compare");
  const SquaredError total = sumOfSquares(reference, test, {});
  if (!std::isfinite(total.sum)) return inputError("the colour lists hold values that are not finite");
  return total;
}

Result<SquaredError> squaredError(const ImageF& reference, const ImageF& test, const MaskOptions& options) {
  const auto counted = countedPixels(reference, test, options);
  if (!counted) return counted.error();
  return sumOfSquares(reference.rgb, test.rgb, *counted);
}

double psnrFromMse(double mse) {
  return mse == 0.0 ? std::numeric_limits<double>::infinity() : -10.0 * std::log10(mse);
}

Result<double> psnr(std::span<const float> reference, std::span<const float> test) {
  const auto error = squaredError(reference, test);
  if (!error) return error.error();
  return psnrFromMse(error->mean());
}

Result<double> psnr(const ImageF& reference, const ImageF& test, const MaskOptions& options) {
  const auto error = squaredError(reference, test, options);
  if (!error) return error.error();
  return psnrFromMse(error->mean());
}

std::string jsonNumber(double value) {
  if (!std::isfinite(value)) return "null";
  return fmt::format("{}", value);
}

}  // namespace heatskin
