#include "heatskin/metrics/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace heatskin {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Up to here binomial sums fit in 64-bit integers and the sign test is exact to the last bit.
constexpr std::uint64_t kExactTosses = 62;

double exactTail(std::uint64_t wins, std::uint64_t tosses) {
  std::uint64_t binomial = 1;  // tosses choose k, from k = tosses downwards
  std::uint64_t sum = 0;
  for (std::uint64_t k = tosses;; --k) {
    sum += binomial;
    if (k == wins) break;
    // (n choose k-1) = (n choose k) k / (n-k+1); the product needs more than 64 bits for large n.
    __extension__ using Wide = unsigned __int128;
    binomial = static_cast<std::uint64_t>(static_cast<Wide>(binomial) * k / (tosses - k + 1));
  }
  return std::ldexp(static_cast<double>(sum), -static_cast<int>(tosses));
}

/// P(X >= wins) by summing the side with fewer terms above the mean, smallest term first.
double logTail(std::uint64_t wins, std::uint64_t tosses) {
  const auto n = static_cast<double>(tosses);
  const auto probability = [n](std::uint64_t k) {
    const auto x = static_cast<double>(k);
    return std::exp(std::lgamma(n + 1.0) - std::lgamma(x + 1.0) - std::lgamma(n - x + 1.0) -
                    n * std::log(2.0));
  };
  // 20 sqrt(n) are 40 standard deviations: terms that much further out are below rounding, and leaving them
  // out keeps the sum short for any input.
  const auto reach = static_cast<std::uint64_t>(20.0 * std::sqrt(n)) + 1;
  const bool upper = 2 * wins > tosses;
  const std::uint64_t from =
      upper ? wins : tosses - wins + 1;  // lower tail by symmetry: P(X >= n - wins + 1)
  double sum = 0.0;
  for (std::uint64_t k = std::min(tosses, from + reach); k >= from && k <= tosses; --k)
    sum += probability(k);
  return std::clamp(upper ? sum : 1.0 - sum, 0.0, 1.0);
}

}  // namespace

double mean(std::span<const double> values) {
  if (values.empty()) return kNaN;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double sampleStandardDeviation(std::span<const double> values) {
  if (values.size() < 2) return kNaN;
  const double center = mean(values);
  double sum = 0.0;
  for (double value : values)
    sum += (value - center) * (value - center);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double percentile(std::span<const double> values, double q) {
  if (values.empty() || !(q >= 0.0 && q <= 100.0)) return kNaN;
  if (std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); })) return kNaN;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double position = q / 100.0 * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const double fraction = position - static_cast<double>(below);
  // Infinite PSNRs are legal values; interpolating with fraction 0 must not turn them into inf - inf.
  if (fraction == 0.0 || sorted[below] == sorted[below + 1]) return sorted[below];
  return sorted[below] + fraction * (sorted[below + 1] - sorted[below]);
}

double median(std::span<const double> values) {
  return percentile(values, 50.0);
}

Summary summarise(std::span<const double> values) {
  Summary summary{values.size(), mean(values), sampleStandardDeviation(values), median(values), kNaN, kNaN};
  if (!values.empty()) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    summary.minimum = *low;
    summary.maximum = *high;
  }
  return summary;
}

Result<std::vector<double>> meshMeans(std::span<const std::vector<double>> runs) {
  std::vector<double> means;
  means.reserve(runs.size());
  for (std::size_t m = 0; m < runs.size(); ++m) {
    if (runs[m].empty())
      return inputError(fmt::format("mesh {} has no result for any seed: run it or leave it out", m));
    means.push_back(mean(runs[m]));
  }
  return means;
}

Result<double> meanOverMeshes(std::span<const std::vector<double>> runs) {
  if (runs.empty()) return inputError("there is no mesh to average over");
  const auto means = meshMeans(runs);
  if (!means) return means.error();
  return mean(*means);
}

double signTest(std::uint32_t wins, std::uint32_t losses) {
  const std::uint64_t tosses = std::uint64_t{wins} + losses;
  if (wins == 0) return 1.0;
  return tosses <= kExactTosses ? exactTail(wins, tosses) : logTail(wins, tosses);
}

Result<PairedComparison> comparePaired(std::span<const double> candidate, std::span<const double> baseline,
                                       Better better) {
  if (candidate.size() != baseline.size())
    return inputError(fmt::format("a paired comparison needs both methods on the same meshes, not {} and {}",
                                  candidate.size(), baseline.size()));
  if (candidate.empty()) return inputError("a paired comparison needs at least one mesh");
  PairedComparison result;
  result.meshes = candidate.size();
  std::vector<double> differences(candidate.size());
  for (std::size_t m = 0; m < candidate.size(); ++m) {
    // Two infinite PSNRs (both perfect) are a tie, not inf - inf.
    differences[m] = candidate[m] == baseline[m] ? 0.0 : candidate[m] - baseline[m];
    if (std::isnan(differences[m]))
      return inputError(fmt::format("mesh {} has a result that is not a number", m));
    const double gain = better == Better::kHigher ? differences[m] : -differences[m];
    if (gain > 0.0) ++result.wins;
    if (gain < 0.0) ++result.losses;
    if (gain == 0.0) ++result.ties;
  }
  result.mean_difference = mean(differences);
  result.sample_sd = sampleStandardDeviation(differences);
  result.p_value =
      signTest(static_cast<std::uint32_t>(result.wins), static_cast<std::uint32_t>(result.losses));
  return result;
}

}  // namespace heatskin
