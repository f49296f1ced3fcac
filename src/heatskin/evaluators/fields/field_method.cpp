#include "heatskin/evaluators/fields/field_method.h"

#include <cmath>

#include <fmt/format.h>

namespace heatskin::fields {
namespace {

/// Length of one unit of embedding distance near a kernel (METHOD section 7: 0.05 is about 0.13).
constexpr double kLengthOfEmbedding = 2.6;

/// Kernel-face pairs that can be held: their numbers stay far within 32 bits.
constexpr double kMostPairs = 1 << 27;

/// Every face lists little more than the candidates of a query.
constexpr double kListedPerCandidate = 4;

}  // namespace

double planarReach(double diffusion_time, double window_sigma, double response) {
  const double sigma = kLengthOfEmbedding * window_sigma;
  return std::sqrt(-std::log(response) / (1 / (4 * diffusion_time) + 1 / (2 * sigma * sigma)));
}

Result<void> checkLists(const Surface& surface, std::size_t candidates) {
  const double pairs = kListedPerCandidate * static_cast<double>(candidates) * surface.faceCount();
  if (pairs <= kMostPairs) return {};
  return inputError(fmt::format("{} faces with {} candidates each are more than the neighbour lists can hold",
                                surface.faceCount(), candidates));
}

}  // namespace heatskin::fields
