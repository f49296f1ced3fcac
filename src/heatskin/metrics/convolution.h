#pragma once

// The three layers a feature network needs: convolution, ReLU, max-pooling. Float32, deterministic for any
// number of threads.

#include <cstddef>
#include <vector>

#include "heatskin/base/result.h"

namespace heatskin {

struct FeatureShape {
  int channels = 0;
  int height = 0;
  int width = 0;

  std::size_t size() const {
    return static_cast<std::size_t>(channels) * static_cast<std::size_t>(height) *
           static_cast<std::size_t>(width);
  }
  bool operator==(const FeatureShape&) const = default;
};

struct FeatureMap {
  FeatureShape shape;
  std::vector<float> values;  // [channels, height, width]
};

/// A square convolution (cross-correlation, as networks define it) with zero padding.
struct ConvolutionWeights {
  int in_channels = 0;
  int out_channels = 0;
  int kernel = 1;
  int stride = 1;
  int padding = 0;
  std::vector<float> weights;  // [out_channels, in_channels, kernel, kernel]
  std::vector<float> bias;     // [out_channels]
};

/// floor((side + 2 padding - kernel) / stride) + 1, or 0 when the kernel does not fit.
int outputSide(int side, int kernel, int stride, int padding);

/// max(0, convolution(input) + bias). The input has `in_channels` and the kernel fits.
FeatureMap convolveRelu(const FeatureMap& input, const ConvolutionWeights& layer);

/// Maximum over kernel x kernel windows without padding; windows that do not fit are left out.
FeatureMap maxPool(const FeatureMap& input, int kernel, int stride);

}  // namespace heatskin
