#pragma once

// Structural similarity. Wang, Bovik, Sheikh, Simoncelli, "Image quality assessment: from error visibility to
// structural similarity", IEEE TIP 2004: Gaussian window of 11 x 11, sigma 1.5, K1 = 0.01, K2 = 0.03, L = 1,
// population (not sample) covariance.
//
// Borders and masks: the map covers every pixel; windows that leave the picture see it mirrored (edge pixel
// repeated). Without a mask the mean is taken where the whole window fits, as in the authors' program and in
// scikit-image (gaussian_weights=True, use_sample_covariance=False, data_range=1). With a mask it is the mean
// of the map over the pixels that count, borders included, because UV charts touch the border; windows
// that reach behind the foreground see the same background in both pictures (MaskOptions). Leaving such
// windows out instead would ignore most of a thin chart.

#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/image_f.h"
#include "heatskin/metrics/image_pair.h"

namespace heatskin {

/// Side of the SSIM window; pictures must not be smaller.
inline constexpr int kSsimWindow = 11;

/// Which signal is compared. Both work on sRGB values as they are stored.
enum class SsimColor {
  kRgb,   ///< each channel, then the mean of the three
  kLuma,  ///< 0.299 R + 0.587 G + 0.114 B (BT.601), as in the authors' experiments
};

struct SsimOptions {
  SsimColor color = SsimColor::kRgb;
  MaskOptions mask;
};

/// The mean and the map it was taken from.
struct SsimResult {
  double mean = 0.0;
  std::vector<float> map;  // [height, width], mean over channels, -1..1
};

/// Mean SSIM; 1 for identical pictures. Symmetric in its arguments.
Result<double> ssim(const ImageF& reference, const ImageF& test, const SsimOptions& options = {});

/// Mean SSIM with its map.
Result<SsimResult> ssimMap(const ImageF& reference, const ImageF& test, const SsimOptions& options = {});

}  // namespace heatskin
