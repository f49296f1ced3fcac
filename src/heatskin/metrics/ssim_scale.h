#pragma once

// One scale of SSIM: the means that SSIM and MS-SSIM are made of. Private to metrics.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/metrics/image_pair.h"
#include "heatskin/metrics/ssim.h"

namespace heatskin {

/// Two signals of one size. `weights` empty: the mean runs over the pixels whose whole window fits.
struct SsimSignals {
  int width = 0;
  int height = 0;
  int channels = 0;              // 1 or 3
  std::vector<float> reference;  // [height, width, channels]
  std::vector<float> test;       // [height, width, channels]
  std::vector<float> weights;    // [height, width] in 0..1 with a positive sum, or empty
};

/// Per channel; entries at and above `channels` are 0.
struct SsimMeans {
  std::array<double, 3> luminance = {};
  std::array<double, 3> contrast_structure = {};
  std::array<double, 3> ssim = {};  ///< mean of luminance * contrast_structure
};

/// The signals of a pair: its channels or its luma, and its counted pixels as weights.
SsimSignals ssimSignals(ImagePair pair, SsimColor color);

/// The sides are at least kSsimWindow. `map` is [height, width] or empty.
SsimMeans ssimMeans(const SsimSignals& signals, std::span<float> map);

}  // namespace heatskin
