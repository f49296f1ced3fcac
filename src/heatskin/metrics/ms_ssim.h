#pragma once

// Multi-scale SSIM. Wang, Simoncelli, Bovik, "Multi-scale structural similarity for image quality
// assessment", Asilomar 2003: contrast and structure at every scale, luminance at the coarsest only, combined
// as a product of means with the published exponents. From scale to scale pictures are averaged over 2 x 2
// pixels and decimated (an odd last row or column is repeated).
//
// Masks: a coarse pixel counts by the fraction of its fine pixels that count, so a thin foreground never
// vanishes. Per-channel values are combined over scales first, then averaged. A negative mean of
// contrast-structure (anti-correlated pictures) counts as 0, since a fractional power of it does not exist.

#include <array>

#include "heatskin/base/result.h"
#include "heatskin/io/image_f.h"
#include "heatskin/metrics/ssim.h"

namespace heatskin {

/// The published exponents, finest scale first.
inline constexpr std::array<double, 5> kMsSsimWeights = {0.0448, 0.2856, 0.3001, 0.2363, 0.1333};

struct MsSsimOptions {
  SsimColor color = SsimColor::kRgb;
  MaskOptions mask;
  /// 1..5. The metric of the paper has 5; fewer use the first exponents, scaled to the sum of all five, and
  /// are a different metric (with 1: SSIM's luminance and contrast-structure as a product of means), hence
  /// never chosen silently.
  int scales = 5;
};

/// The smallest side a picture may have: the window must fit at the coarsest scale (161 for 5 scales).
int msSsimMinimumSide(int scales);

/// MS-SSIM in 0..1; 1 for identical pictures. A picture below msSsimMinimumSide is refused with that number.
Result<double> msSsim(const ImageF& reference, const ImageF& test, const MsSsimOptions& options = {});

}  // namespace heatskin
