#include "heatskin/metrics/ms_ssim.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/parallel.h"
#include "heatskin/metrics/ssim_scale.h"

namespace heatskin {
namespace {

constexpr std::size_t kRowsAtOnce = 32;

/// Mean of 2 x 2 values; an odd last row or column is repeated, so the output has ceil(side / 2).
std::vector<float> halved(const std::vector<float>& values, int width, int height, int channels) {
  const auto w = static_cast<std::size_t>(width);
  const auto h = static_cast<std::size_t>(height);
  const auto n = static_cast<std::size_t>(channels);
  const std::size_t half_w = (w + 1) / 2;
  const std::size_t half_h = (h + 1) / 2;
  std::vector<float> out(half_w * half_h * n);
  parallelFor(half_h, kRowsAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t y = begin; y < end; ++y) {
      const float* upper = values.data() + 2 * y * w * n;
      const float* lower = values.data() + std::min(2 * y + 1, h - 1) * w * n;
      for (std::size_t x = 0; x < half_w; ++x) {
        const std::size_t left = 2 * x * n;
        const std::size_t right = std::min(2 * x + 1, w - 1) * n;
        for (std::size_t c = 0; c < n; ++c)
          out[(y * half_w + x) * n + c] =
              0.25f * ((upper[left + c] + upper[right + c]) + (lower[left + c] + lower[right + c]));
      }
    }
  });
  return out;
}

void halve(SsimSignals& signals) {
  signals.reference = halved(signals.reference, signals.width, signals.height, signals.channels);
  signals.test = halved(signals.test, signals.width, signals.height, signals.channels);
  if (!signals.weights.empty()) signals.weights = halved(signals.weights, signals.width, signals.height, 1);
  signals.width = (signals.width + 1) / 2;
  signals.height = (signals.height + 1) / 2;
}

}  // namespace

int msSsimMinimumSide(int scales) {
  return ((kSsimWindow - 1) << (std::clamp(scales, 1, 5) - 1)) + 1;
}

Result<double> msSsim(const ImageF& reference, const ImageF& test, const MsSsimOptions& options) try {
  const auto all_scales = static_cast<int>(kMsSsimWeights.size());
  if (options.scales < 1 || options.scales > all_scales)
    return usageError(fmt::format("MS-SSIM has 1 to {} scales, not {}", all_scales, options.scales));
  auto pair = makeImagePair(reference, test, options.mask);
  if (!pair) return pair.error();
  const int minimum = msSsimMinimumSide(options.scales);
  if (pair->width < minimum || pair->height < minimum)
    return inputError(
        fmt::format("MS-SSIM with {0} scales needs pictures of at least {1} x {1} pixels, these "
                    "have {2} x {3}: use larger pictures or fewer scales",
                    options.scales, minimum, pair->width, pair->height));

  const auto scales = static_cast<std::size_t>(options.scales);
  const auto first = kMsSsimWeights.begin();
  const double rescale =
      std::accumulate(first, kMsSsimWeights.end(), 0.0) / std::accumulate(first, first + options.scales, 0.0);
  SsimSignals signals = ssimSignals(std::move(*pair), options.color);
  std::array<double, 3> product = {1.0, 1.0, 1.0};
  for (std::size_t scale = 0; scale < scales; ++scale) {
    if (scale > 0) halve(signals);
    const SsimMeans means = ssimMeans(signals, {});
    const double exponent = kMsSsimWeights[scale] * rescale;
    for (std::size_t c = 0; c < 3; ++c) {
      // The coarsest scale takes the mean of luminance * contrast_structure, as the authors' program does.
      const double value = scale + 1 == scales ? means.ssim[c] : means.contrast_structure[c];
      product[c] *= std::pow(std::max(value, 0.0), exponent);
    }
  }
  double sum = 0.0;
  for (std::size_t c = 0; c < static_cast<std::size_t>(signals.channels); ++c)
    sum += product[c];
  return sum / signals.channels;
} catch (const std::bad_alloc&) {
  return failure("MS-SSIM ran out of memory: compare smaller pictures");
}

}  // namespace heatskin
