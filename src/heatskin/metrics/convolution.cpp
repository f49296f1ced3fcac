#include "heatskin/metrics/convolution.h"

#include <algorithm>
#include <limits>

#include <Eigen/Core>

#include "heatskin/base/parallel.h"

namespace heatskin {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Values of the patch matrix that one block multiplies: 2 MiB. Blocks follow from the layer's shape alone, so
// the order of additions does not depend on the number of threads.
constexpr std::size_t kPatchValues = std::size_t{1} << 19;
constexpr std::size_t kMinBlockPixels = 64;
constexpr std::size_t kMaxBlockPixels = 4096;

/// Row of the patch matrix for one (channel, ky, kx): that input value for each output pixel [begin, end).
void gatherRow(const float* plane, const FeatureShape& in, const FeatureShape& out,
               const ConvolutionWeights& layer, int ky, int kx, std::size_t begin, std::size_t end,
               float* row) {
  const auto out_width = static_cast<std::size_t>(out.width);
  for (std::size_t i = begin; i < end;) {
    const auto oy = static_cast<int>(i / out_width);
    const auto first = static_cast<int>(i % out_width);
    const int last = std::min(out.width, first + static_cast<int>(end - i));  // one past, in this output row
    const int y = oy * layer.stride + ky - layer.padding;
    if (y < 0 || y >= in.height) {
      std::fill(row, row + (last - first), 0.0f);
    } else {
      const float* line = plane + static_cast<std::size_t>(y) * static_cast<std::size_t>(in.width);
      for (int ox = first; ox < last; ++ox) {
        const int x = ox * layer.stride + kx - layer.padding;
        row[ox - first] = x >= 0 && x < in.width ? line[x] : 0.0f;
      }
    }
    row += last - first;
    i += static_cast<std::size_t>(last - first);
  }
}

}  // namespace

int outputSide(int side, int kernel, int stride, int padding) {
  const int room = side + 2 * padding - kernel;
  return room < 0 ? 0 : room / stride + 1;
}

FeatureMap convolveRelu(const FeatureMap& input, const ConvolutionWeights& layer) {
  const FeatureShape& in = input.shape;
  FeatureMap output;
  output.shape = {layer.out_channels, outputSide(in.height, layer.kernel, layer.stride, layer.padding),
                  outputSide(in.width, layer.kernel, layer.stride, layer.padding)};
  const FeatureShape& out = output.shape;
  output.values.resize(out.size());

  const auto pixels = static_cast<std::size_t>(out.height) * static_cast<std::size_t>(out.width);
  const std::size_t in_plane = static_cast<std::size_t>(in.height) * static_cast<std::size_t>(in.width);
  const Eigen::Index patch = static_cast<Eigen::Index>(layer.in_channels) * layer.kernel * layer.kernel;
  const std::size_t block_pixels =
      std::clamp(kPatchValues / static_cast<std::size_t>(patch), kMinBlockPixels, kMaxBlockPixels);
  const Eigen::Map<const RowMajor> weights(layer.weights.data(), layer.out_channels, patch);
  const Eigen::Map<const Eigen::VectorXf> bias(layer.bias.data(), layer.out_channels);

  parallelBlocks(pixels, block_pixels, [&](std::size_t, std::size_t begin, std::size_t end) {
    const auto count = static_cast<Eigen::Index>(end - begin);
    RowMajor patches(patch, count);
    Eigen::Index row = 0;
    for (int c = 0; c < layer.in_channels; ++c) {
      const float* plane = input.values.data() + static_cast<std::size_t>(c) * in_plane;
      for (int ky = 0; ky < layer.kernel; ++ky)
        for (int kx = 0; kx < layer.kernel; ++kx)
          gatherRow(plane, in, out, layer, ky, kx, begin, end, patches.row(row++).data());
    }
    Eigen::Map<RowMajor, 0, Eigen::OuterStride<>> result(
        output.values.data() + begin, layer.out_channels, count,
        Eigen::OuterStride<>(static_cast<Eigen::Index>(pixels)));
    result.noalias() = weights * patches;
    result.colwise() += bias;
    result = result.cwiseMax(0.0f);
  });
  return output;
}

FeatureMap maxPool(const FeatureMap& input, int kernel, int stride) {
  const FeatureShape& in = input.shape;
  FeatureMap output;
  output.shape = {in.channels, outputSide(in.height, kernel, stride, 0),
                  outputSide(in.width, kernel, stride, 0)};
  const FeatureShape& out = output.shape;
  output.values.resize(out.size());
  const std::size_t in_plane = static_cast<std::size_t>(in.height) * static_cast<std::size_t>(in.width);
  const std::size_t out_plane = static_cast<std::size_t>(out.height) * static_cast<std::size_t>(out.width);
  parallelFor(static_cast<std::size_t>(in.channels), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      const float* plane = input.values.data() + c * in_plane;
      float* target = output.values.data() + c * out_plane;
      for (int oy = 0; oy < out.height; ++oy) {
        for (int ox = 0; ox < out.width; ++ox) {
          float largest = -std::numeric_limits<float>::infinity();
          for (int ky = 0; ky < kernel; ++ky) {
            const float* line =
                plane + static_cast<std::size_t>(oy * stride + ky) * static_cast<std::size_t>(in.width) +
                static_cast<std::size_t>(ox * stride);
            for (int kx = 0; kx < kernel; ++kx)
              largest = std::max(largest, line[kx]);
          }
          *target++ = largest;
        }
      }
    }
  });
  return output;
}

}  // namespace heatskin
