#include "heatskin/metrics/ssim.h"

#include <new>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/parallel.h"
#include "heatskin/metrics/separable_filter.h"
#include "heatskin/metrics/ssim_scale.h"

namespace heatskin {
namespace {

constexpr double kSigma = 1.5;
constexpr int kRadius = kSsimWindow / 2;
constexpr double kC1 = 0.01 * 0.01;  // (K1 L)^2
constexpr double kC2 = 0.03 * 0.03;  // (K2 L)^2

// Output rows per band: enough that the 2 * kRadius extra rows cost little, few enough that the five filtered
// planes of a band (42 rows) stay in the second-level cache at common widths.
constexpr std::size_t kBandRows = 32;

// What is filtered: both signals, their squares, their product.
constexpr std::size_t kMoments = 5;

struct Sums {
  double luminance = 0.0;
  double contrast_structure = 0.0;
  double ssim = 0.0;
  double weight = 0.0;

  Sums& operator+=(const Sums& other) {
    luminance += other.luminance;
    contrast_structure += other.contrast_structure;
    ssim += other.ssim;
    weight += other.weight;
    return *this;
  }
};

/// Computes rows [begin, end) of every channel.
class Band {
 public:
  Band(const SsimSignals& signals, std::span<const double> kernel, std::size_t begin, std::size_t end)
      : signals_(signals),
        kernel_(kernel),
        begin_(static_cast<int>(begin)),
        end_(static_cast<int>(end)),
        width_(static_cast<std::size_t>(signals.width)),
        plane_((end - begin + 2 * kRadius) * width_),
        padded_(kMoments * (width_ + 2 * kRadius)),
        filtered_(kMoments * plane_),
        moments_(kMoments * width_) {}

  Sums run(int channel, std::span<float> map) {
    filterHorizontally(channel);
    Sums sums;
    for (int y = begin_; y < end_; ++y) {
      const double* rows = filtered_.data() + static_cast<std::size_t>(y - begin_) * width_;
      for (std::size_t m = 0; m < kMoments; ++m)
        filterColumns(rows + m * plane_, width_, signals_.width, kernel_, moments_.data() + m * width_);
      compareRow(y, map, sums);
    }
    return sums;
  }

 private:
  void filterHorizontally(int channel) {
    const std::size_t stride = width_ + 2 * kRadius;
    double* a = padded_.data();
    double* b = a + stride;
    double* aa = b + stride;
    double* bb = aa + stride;
    double* ab = bb + stride;
    const auto channels = static_cast<std::size_t>(signals_.channels);
    for (int y = begin_ - kRadius; y < end_ + kRadius; ++y) {
      const std::size_t row = static_cast<std::size_t>(mirroredIndex(y, signals_.height)) * width_;
      for (std::size_t i = 0; i < stride; ++i) {
        const int x = mirroredIndex(static_cast<int>(i) - kRadius, signals_.width);
        const std::size_t at =
            (row + static_cast<std::size_t>(x)) * channels + static_cast<std::size_t>(channel);
        a[i] = signals_.reference[at];
        b[i] = signals_.test[at];
        aa[i] = a[i] * a[i];
        bb[i] = b[i] * b[i];
        ab[i] = a[i] * b[i];
      }
      double* out = filtered_.data() + static_cast<std::size_t>(y - begin_ + kRadius) * width_;
      for (std::size_t m = 0; m < kMoments; ++m)
        filterRow(a + m * stride, signals_.width, kernel_, out + m * plane_);
    }
  }

  void compareRow(int y, std::span<float> map, Sums& sums) const {
    const double* mean_a = moments_.data();
    const double* mean_b = mean_a + width_;
    const double* mean_aa = mean_b + width_;
    const double* mean_bb = mean_aa + width_;
    const double* mean_ab = mean_bb + width_;
    const bool inner_row = y >= kRadius && y < signals_.height - kRadius;
    const std::size_t row = static_cast<std::size_t>(y) * width_;
    for (std::size_t x = 0; x < width_; ++x) {
      const double square_a = mean_a[x] * mean_a[x];
      const double square_b = mean_b[x] * mean_b[x];
      const double product = mean_a[x] * mean_b[x];
      const double luminance = (2.0 * product + kC1) / (square_a + square_b + kC1);
      const double contrast_structure =
          (2.0 * (mean_ab[x] - product) + kC2) / ((mean_aa[x] - square_a) + (mean_bb[x] - square_b) + kC2);
      const double value = luminance * contrast_structure;
      if (!map.empty()) map[row + x] += static_cast<float>(value / signals_.channels);

      const bool inner = inner_row && x >= kRadius && x + kRadius < width_;
      const double weight = signals_.weights.empty() ? (inner ? 1.0 : 0.0) : signals_.weights[row + x];
      sums.luminance += weight * luminance;
      sums.contrast_structure += weight * contrast_structure;
      sums.ssim += weight * value;
      sums.weight += weight;
    }
  }

  const SsimSignals& signals_;
  std::span<const double> kernel_;
  int begin_;
  int end_;
  std::size_t width_;
  std::size_t plane_;             // values of one filtered moment
  std::vector<double> padded_;    // [moments, width + 2 radius]
  std::vector<double> filtered_;  // [moments, rows + 2 radius, width]
  std::vector<double> moments_;   // [moments, width]
};

Result<SsimResult> compute(const ImageF& reference, const ImageF& test, const SsimOptions& options,
                           bool want_map) try {
  auto pair = makeImagePair(reference, test, options.mask);
  if (!pair) return pair.error();
  if (pair->width < kSsimWindow || pair->height < kSsimWindow)
    return inputError(fmt::format("SSIM needs pictures of at least {0} x {0} pixels, these have {1} x {2}",
                                  kSsimWindow, pair->width, pair->height));
  SsimResult result;
  if (want_map) result.map.assign(pair->pixelCount(), 0.0f);
  const SsimSignals signals = ssimSignals(std::move(*pair), options.color);
  const SsimMeans means = ssimMeans(signals, result.map);
  for (int c = 0; c < signals.channels; ++c)
    result.mean += means.ssim[static_cast<std::size_t>(c)] / signals.channels;
  return result;
} catch (const std::bad_alloc&) {
  return failure("SSIM ran out of memory: compare smaller pictures");
}

}  // namespace

SsimSignals ssimSignals(ImagePair pair, SsimColor color) {
  SsimSignals signals{pair.width, pair.height, 3, std::move(pair.reference), std::move(pair.test), {}};
  signals.weights.assign(pair.counted.begin(), pair.counted.end());
  if (color == SsimColor::kRgb) return signals;
  signals.channels = 1;
  for (std::vector<float>* values : {&signals.reference, &signals.test}) {
    std::vector<float>& v = *values;
    const std::size_t pixels = v.size() / 3;
    for (std::size_t i = 0; i < pixels; ++i)
      v[i] = static_cast<float>(0.299 * v[3 * i] + 0.587 * v[3 * i + 1] + 0.114 * v[3 * i + 2]);
    v.resize(pixels);
  }
  return signals;
}

SsimMeans ssimMeans(const SsimSignals& signals, std::span<float> map) {
  const std::vector<double> kernel = gaussianKernel(kSigma, kRadius);
  const auto rows = static_cast<std::size_t>(signals.height);
  std::vector<std::array<Sums, 3>> parts(blockCount(rows, kBandRows));
  parallelBlocks(rows, kBandRows, [&](std::size_t block, std::size_t begin, std::size_t end) {
    Band band(signals, kernel, begin, end);
    for (int c = 0; c < signals.channels; ++c)
      parts[block][static_cast<std::size_t>(c)] = band.run(c, map);
  });

  SsimMeans means;
  for (std::size_t c = 0; c < static_cast<std::size_t>(signals.channels); ++c) {
    Sums total;
    for (const auto& part : parts)
      total += part[c];
    means.luminance[c] = total.luminance / total.weight;
    means.contrast_structure[c] = total.contrast_structure / total.weight;
    means.ssim[c] = total.ssim / total.weight;
  }
  return means;
}

Result<double> ssim(const ImageF& reference, const ImageF& test, const SsimOptions& options) {
  const auto result = compute(reference, test, options, false);
  if (!result) return result.error();
  return result->mean;
}

Result<SsimResult> ssimMap(const ImageF& reference, const ImageF& test, const SsimOptions& options) {
  return compute(reference, test, options, true);
}

}  // namespace heatskin
