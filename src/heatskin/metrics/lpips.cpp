#include "heatskin/metrics/lpips.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "heatskin/base/parallel.h"

namespace heatskin {
namespace {

using Kind = LpipsLayer::Kind;

constexpr LpipsLayer convolution(int index, int channels, int kernel, int stride, int padding, int tap = -1) {
  return {Kind::kConvolution, index, channels, kernel, stride, padding, tap};
}
constexpr LpipsLayer pool(int index, int channels, int kernel) {
  return {Kind::kMaxPool, index, channels, kernel, 2, 0, -1};
}

// The feature parts as torchvision numbers them; ReLUs have numbers of their own in between.
constexpr LpipsLayer kAlexLayers[] = {
    convolution(0, 64, 11, 4, 2, 0),  pool(2, 64, 3),
    convolution(3, 192, 5, 1, 2, 1),  pool(5, 192, 3),
    convolution(6, 384, 3, 1, 1, 2),  convolution(8, 256, 3, 1, 1, 3),
    convolution(10, 256, 3, 1, 1, 4),
};
constexpr LpipsLayer kVggLayers[] = {
    convolution(0, 64, 3, 1, 1),
    convolution(2, 64, 3, 1, 1, 0),
    pool(4, 64, 2),
    convolution(5, 128, 3, 1, 1),
    convolution(7, 128, 3, 1, 1, 1),
    pool(9, 128, 2),
    convolution(10, 256, 3, 1, 1),
    convolution(12, 256, 3, 1, 1),
    convolution(14, 256, 3, 1, 1, 2),
    pool(16, 256, 2),
    convolution(17, 512, 3, 1, 1),
    convolution(19, 512, 3, 1, 1),
    convolution(21, 512, 3, 1, 1, 3),
    pool(23, 512, 2),
    convolution(24, 512, 3, 1, 1),
    convolution(26, 512, 3, 1, 1),
    convolution(28, 512, 3, 1, 1, 4),
};

// The scaling layer, applied to values in -1..1.
constexpr float kShift[3] = {-0.030f, -0.088f, -0.188f};
constexpr float kScale[3] = {0.458f, 0.448f, 0.450f};

// Added to the length of a feature vector before dividing, as in the authors' program.
constexpr double kNormEpsilon = 1e-10;

constexpr std::size_t kComparePixels = 1024;

constexpr const char* kRemedy = "docs/lpips.md says how to write the file";

/// The first of `names` that the file has; an error that lists all of them otherwise.
Result<Tensor> readAny(const TensorFile& file, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (file.contains(name)) return file.read(name);
  return inputError(fmt::format("{}: no tensor '{}': {}", file.name(), fmt::join(names, "' or '"), kRemedy));
}

/// Names of a convolution's tensor in torchvision's networks and in the lpips package, which cuts the network
/// into one slice per tap.
std::vector<std::string> convolutionNames(int index, int slice, const char* what) {
  return {fmt::format("features.{}.{}", index, what), fmt::format("net.slice{}.{}.{}", slice, index, what)};
}

Result<void> checkTensor(const TensorFile& file, const std::string& name, const Tensor& tensor,
                         const std::vector<std::size_t>& shape) {
  if (tensor.shape != shape)
    return inputError(fmt::format("{}: '{}' has the shape ({}) instead of ({}): {}", file.name(), name,
                                  fmt::join(tensor.shape, ", "), fmt::join(shape, ", "), kRemedy));
  for (float value : tensor.values)
    if (!std::isfinite(value))
      return inputError(fmt::format("{}: '{}' holds values that are not finite", file.name(), name));
  return {};
}

FeatureMap scaledInput(std::span<const float> rgb, int width, int height) {
  FeatureMap map;
  map.shape = {3, height, width};
  map.values.resize(map.shape.size());
  const std::size_t pixels = map.values.size() / 3;
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t i = 0; i < pixels; ++i)
      map.values[c * pixels + i] = (2.0f * rgb[3 * i + c] - 1.0f - kShift[c]) / kScale[c];
  return map;
}

/// Mean over pixels of sum_c lin[c] (a_c / |a| - b_c / |b|)^2.
double compareFeatures(const FeatureMap& a, const FeatureMap& b, const std::vector<float>& lin) {
  const std::size_t pixels = a.values.size() / lin.size();
  std::vector<double> sums(blockCount(pixels, kComparePixels));
  parallelBlocks(pixels, kComparePixels, [&](std::size_t block, std::size_t begin, std::size_t end) {
    const std::size_t count = end - begin;
    std::vector<double> scale_a(count, 0.0);
    std::vector<double> scale_b(count, 0.0);
    for (std::size_t c = 0; c < lin.size(); ++c) {
      const float* plane_a = a.values.data() + c * pixels + begin;
      const float* plane_b = b.values.data() + c * pixels + begin;
      for (std::size_t i = 0; i < count; ++i) {
        scale_a[i] += static_cast<double>(plane_a[i]) * static_cast<double>(plane_a[i]);
        scale_b[i] += static_cast<double>(plane_b[i]) * static_cast<double>(plane_b[i]);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      scale_a[i] = 1.0 / (std::sqrt(scale_a[i]) + kNormEpsilon);
      scale_b[i] = 1.0 / (std::sqrt(scale_b[i]) + kNormEpsilon);
    }
    double sum = 0.0;
    for (std::size_t c = 0; c < lin.size(); ++c) {
      const float* plane_a = a.values.data() + c * pixels + begin;
      const float* plane_b = b.values.data() + c * pixels + begin;
      double channel = 0.0;
      for (std::size_t i = 0; i < count; ++i) {
        const double difference = plane_a[i] * scale_a[i] - plane_b[i] * scale_b[i];
        channel += difference * difference;
      }
      sum += static_cast<double>(lin[c]) * channel;
    }
    sums[block] = sum;
  });
  double total = 0.0;
  for (double sum : sums)
    total += sum;
  return total / static_cast<double>(pixels);
}

bool fits(LpipsNetwork network, int side) {
  for (const LpipsLayer& layer : lpipsLayers(network)) {
    side = outputSide(side, layer.kernel, layer.stride, layer.padding);
    if (side == 0) return false;
  }
  return true;
}

}  // namespace

std::string_view toString(LpipsNetwork network) {
  return network == LpipsNetwork::kAlex ? "alex" : "vgg";
}

std::span<const LpipsLayer> lpipsLayers(LpipsNetwork network) {
  if (network == LpipsNetwork::kAlex) return kAlexLayers;
  return kVggLayers;
}

Result<std::vector<FeatureShape>> lpipsShapes(LpipsNetwork network, int width, int height) {
  if (!fits(network, std::min(width, height))) {
    int minimum = 1;
    while (!fits(network, minimum))
      ++minimum;
    return inputError(
        fmt::format("LPIPS ({0}) needs pictures of at least {1} x {1} pixels, these have {2} x {3}",
                    toString(network), minimum, width, height));
  }
  std::vector<FeatureShape> shapes;
  FeatureShape shape{3, height, width};
  for (const LpipsLayer& layer : lpipsLayers(network)) {
    shape = {layer.out_channels, outputSide(shape.height, layer.kernel, layer.stride, layer.padding),
             outputSide(shape.width, layer.kernel, layer.stride, layer.padding)};
    shapes.push_back(shape);
  }
  return shapes;
}

Result<LpipsModel> LpipsModel::load(const std::filesystem::path& path) {
  const auto file = TensorFile::open(path);
  if (!file) return file.error();
  return fromTensors(*file);
}

Result<LpipsModel> LpipsModel::fromTensors(const TensorFile& file) try {
  LpipsModel model;
  const auto first = readAny(file, convolutionNames(0, 1, "weight"));
  if (!first) return first.error();
  if (first->shape == std::vector<std::size_t>{64, 3, 11, 11}) {
    model.network_ = LpipsNetwork::kAlex;
  } else if (first->shape == std::vector<std::size_t>{64, 3, 3, 3}) {
    model.network_ = LpipsNetwork::kVgg;
  } else {
    return inputError(
        fmt::format("{}: 'features.0.weight' has the shape ({}), which is neither AlexNet's "
                    "(64, 3, 11, 11) nor VGG16's (64, 3, 3, 3)",
                    file.name(), fmt::join(first->shape, ", ")));
  }

  int channels = 3;
  int slice = 1;
  for (const LpipsLayer& layer : lpipsLayers(model.network_)) {
    if (layer.kind == Kind::kMaxPool) continue;
    const auto out = static_cast<std::size_t>(layer.out_channels);
    const auto in = static_cast<std::size_t>(channels);
    const auto side = static_cast<std::size_t>(layer.kernel);
    ConvolutionWeights weights{channels, layer.out_channels, layer.kernel, layer.stride, layer.padding, {},
                               {}};
    for (const char* what : {"weight", "bias"}) {
      const bool is_weight = std::string_view(what) == "weight";
      const auto names = convolutionNames(layer.index, slice, what);
      auto tensor = readAny(file, names);
      if (!tensor) return tensor.error();
      const auto shape =
          is_weight ? std::vector<std::size_t>{out, in, side, side} : std::vector<std::size_t>{out};
      if (auto good = checkTensor(file, names[0], *tensor, shape); !good) return good.error();
      (is_weight ? weights.weights : weights.bias) = std::move(tensor->values);
    }
    model.convolutions_.push_back(std::move(weights));
    channels = layer.out_channels;
    if (layer.tap < 0) continue;

    ++slice;
    const std::string name = fmt::format("lin{}", layer.tap);
    auto lin = readAny(file, {name + ".model.1.weight", name + ".model.0.weight", name + ".weight"});
    if (!lin) return lin.error();
    // [1, C, 1, 1] as the package saves it; vectors that someone squeezed are as good.
    std::erase(lin->shape, std::size_t{1});
    if (auto good = checkTensor(file, name, *lin, {out}); !good) return good.error();
    for (float value : lin->values)
      if (value < 0.0f)
        return inputError(
            fmt::format("{}: '{}' holds a negative weight, LPIPS has none: {}", file.name(), name, kRemedy));
    model.lin_[static_cast<std::size_t>(layer.tap)] = std::move(lin->values);
  }
  return model;
} catch (const std::bad_alloc&) {
  return failure("out of memory while reading LPIPS weights");
}

Result<std::vector<FeatureMap>> LpipsModel::features(std::span<const float> rgb, int width, int height) const
    try {
  const auto shapes = lpipsShapes(network_, width, height);
  if (!shapes) return shapes.error();
  if (rgb.size() != FeatureShape{3, height, width}.size())
    return inputError(
        fmt::format("the picture holds {} values where {} x {} x 3 are needed", rgb.size(), width, height));
  std::vector<FeatureMap> taps;
  FeatureMap map = scaledInput(rgb, width, height);
  std::size_t next = 0;
  for (const LpipsLayer& layer : lpipsLayers(network_)) {
    map = layer.kind == Kind::kMaxPool ? maxPool(map, layer.kernel, layer.stride)
                                       : convolveRelu(map, convolutions_[next++]);
    if (layer.tap >= 0) taps.push_back(map);
  }
  return taps;
} catch (const std::bad_alloc&) {
  return failure("LPIPS ran out of memory: compare smaller pictures");
}

Result<LpipsResult> LpipsModel::distance(const ImageF& reference, const ImageF& test,
                                         const LpipsOptions& options) const try {
  const auto pair = makeImagePair(reference, test, options.mask);
  if (!pair) return pair.error();
  const auto shapes = lpipsShapes(network_, pair->width, pair->height);
  if (!shapes) return shapes.error();
  std::size_t previous = FeatureShape{3, pair->height, pair->width}.size();
  for (const FeatureShape& shape : *shapes) {
    // Input and output of a layer, for two pictures.
    const std::size_t bytes = 2 * sizeof(float) * (previous + shape.size());
    if (bytes > kLpipsMaxFeatureBytes)
      return inputError(
          fmt::format("LPIPS ({}) on {} x {} pixels would need {} MiB: compare smaller pictures{}",
                      toString(network_), pair->width, pair->height, bytes >> 20,
                      network_ == LpipsNetwork::kVgg ? " or use the AlexNet weights" : ""));
    previous = shape.size();
  }

  // Both pictures walk through the network together, so that no feature map is kept longer than its layer.
  FeatureMap a = scaledInput(pair->reference, pair->width, pair->height);
  FeatureMap b = scaledInput(pair->test, pair->width, pair->height);
  LpipsResult result;
  std::size_t next = 0;
  for (const LpipsLayer& layer : lpipsLayers(network_)) {
    if (layer.kind == Kind::kMaxPool) {
      a = maxPool(a, layer.kernel, layer.stride);
      b = maxPool(b, layer.kernel, layer.stride);
    } else {
      a = convolveRelu(a, convolutions_[next]);
      b = convolveRelu(b, convolutions_[next]);
      ++next;
    }
    if (layer.tap < 0) continue;
    const auto tap = static_cast<std::size_t>(layer.tap);
    result.per_tap[tap] = compareFeatures(a, b, lin_[tap]);
    result.distance += result.per_tap[tap];
  }
  if (!std::isfinite(result.distance))
    return inputError("LPIPS overflowed: the weights are not those of a trained network");
  return result;
} catch (const std::bad_alloc&) {
  return failure("LPIPS ran out of memory: compare smaller pictures");
}

Result<double> lpips(const ImageF& reference, const ImageF& test, const LpipsModel& model,
                     const LpipsOptions& options) {
  const auto result = model.distance(reference, test, options);
  if (!result) return result.error();
  return result->distance;
}

}  // namespace heatskin
