#include "heatskin/training/stretch.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "heatskin/kernels/compositor.h"
#include "heatskin/training/constants.h"

namespace heatskin {
namespace {

/// A kernel that would have to grow more than this blurs too much around it.
constexpr double kMostStretch = 1.5;

/// A probe is one point of a gap: the others should be covered, too.
constexpr double kMargin = 0.1;

}  // namespace

std::vector<Stretch> stretchesOver(const KernelSet& kernels, const Probes& probes,
                                   std::span<std::uint8_t> uncovered) {
  std::vector<Stretch> stretches;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    if (uncovered[i] == 0 || probes.begin[i] == probes.begin[i + 1]) continue;
    const auto near =
        std::span(probes.influences).subspan(probes.begin[i], probes.begin[i + 1] - probes.begin[i]);
    const Influence& most = *std::max_element(
        near.begin(), near.end(), [](const Influence& a, const Influence& b) { return a.weight < b.weight; });
    const auto weight = static_cast<double>(most.weight);
    const double missing = constants::kCovered + kMargin - static_cast<double>(probes.weights[i]);
    const SoftThreshold<double> filter(kernels.sharpnesses[most.kernel], kernels.thresholds[most.kernel]);
    if (!(weight > 0)) continue;
    const double now = filter.invert(weight), then = filter.invert(weight + missing);
    if (!(now > 0 && then > now && then < 1)) continue;
    // log x is proportional to 1 / h^2.
    const double factor = std::sqrt(std::log(now) / std::log(then));
    if (factor > kMostStretch) continue;
    stretches.push_back({most.kernel, static_cast<float>(factor)});
    uncovered[i] = 0;
  }
  return stretches;
}

std::size_t lengthen(KernelSet& kernels, std::span<const std::vector<Stretch>> stretches) {
  std::vector<float> factors(kernels.size(), 1.0f);
  for (const std::vector<Stretch>& some : stretches) {
    for (const Stretch& stretch : some)
      factors[stretch.kernel] = std::max(factors[stretch.kernel], stretch.factor);
  }
  std::size_t changed = 0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (factors[k] == 1) continue;
    kernels.lengths[k] = std::min(kernels.lengths[k] * factors[k], KernelRanges::kMaxLength);
    ++changed;
  }
  return changed;
}

std::size_t stretchOver(KernelSet& kernels, const Probes& probes, std::span<std::uint8_t> uncovered) {
  const std::vector<Stretch> stretches[] = {stretchesOver(kernels, probes, uncovered)};
  return lengthen(kernels, stretches);
}

}  // namespace heatskin
