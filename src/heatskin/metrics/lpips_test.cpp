#include "heatskin/metrics/lpips.h"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "heatskin/base/files.h"
#include "heatskin/base/parallel.h"
#include "heatskin/metrics/test_pictures.h"
#include "heatskin/metrics/test_tensors.h"

namespace heatskin {
namespace {

using testing::Bytes;
using testing::discMask;
using testing::greyPicture;
using testing::madeUpWeights;
using testing::TensorMap;
using testing::wavyPicture;

// Float32 sums of up to 4,608 products through up to 13 layers, against double: a few hundred epsilons of the
// largest value.
constexpr double kNetworkRounding = 5e-5;

// --- The naive twin: the definition in double -------------------------------------------------------------

struct Maps {
  int channels = 0;
  int height = 0;
  int width = 0;
  std::vector<double> values;

  double at(int c, int y, int x) const {
    if (y < 0 || x < 0 || y >= height || x >= width) return 0.0;
    return values[static_cast<std::size_t>((c * height + y) * width + x)];
  }
};

Maps naiveConvolution(const Maps& in, const std::vector<float>& weights, const std::vector<float>& bias,
                      int channels, int kernel, int stride, int padding, bool relu) {
  Maps out{channels,
           (in.height + 2 * padding - kernel) / stride + 1,
           (in.width + 2 * padding - kernel) / stride + 1,
           {}};
  for (int o = 0; o < channels; ++o)
    for (int y = 0; y < out.height; ++y)
      for (int x = 0; x < out.width; ++x) {
        double sum = bias[static_cast<std::size_t>(o)];
        std::size_t w = static_cast<std::size_t>(o * in.channels * kernel * kernel);
        for (int c = 0; c < in.channels; ++c)
          for (int j = 0; j < kernel; ++j)
            for (int i = 0; i < kernel; ++i)
              sum += static_cast<double>(weights[w++]) *
                     in.at(c, y * stride + j - padding, x * stride + i - padding);
        out.values.push_back(relu ? std::max(sum, 0.0) : sum);
      }
  return out;
}

Maps naivePool(const Maps& in, int kernel, int stride) {
  Maps out{in.channels, (in.height - kernel) / stride + 1, (in.width - kernel) / stride + 1, {}};
  for (int c = 0; c < out.channels; ++c)
    for (int y = 0; y < out.height; ++y)
      for (int x = 0; x < out.width; ++x) {
        double largest = -1e300;
        for (int j = 0; j < kernel; ++j)
          for (int i = 0; i < kernel; ++i)
            largest = std::max(largest, in.at(c, y * stride + j, x * stride + i));
        out.values.push_back(largest);
      }
  return out;
}

/// The taps of the two networks, their layers written out once more as torchvision's documentation lists
/// them.
std::vector<Maps> naiveTaps(LpipsNetwork network, const TensorMap& tensors, const ImageF& image) {
  Maps map{3, image.height, image.width, {}};
  const double shift[3] = {-0.030, -0.088, -0.188};
  const double scale[3] = {0.458, 0.448, 0.450};
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t i = 0; i < image.pixelCount(); ++i)
      map.values.push_back(((2.0 * image.rgb[3 * i + c] - 1.0) - shift[c]) / scale[c]);
  std::vector<Maps> taps;
  const auto convolve = [&](int index, int channels, int kernel, int stride, int padding, bool tap) {
    const std::string name = fmt::format("features.{}.", index);
    map = naiveConvolution(map, tensors.at(name + "weight").values, tensors.at(name + "bias").values,
                           channels, kernel, stride, padding, true);
    if (tap) taps.push_back(map);
  };
  if (network == LpipsNetwork::kAlex) {
    convolve(0, 64, 11, 4, 2, true);
    map = naivePool(map, 3, 2);
    convolve(3, 192, 5, 1, 2, true);
    map = naivePool(map, 3, 2);
    convolve(6, 384, 3, 1, 1, true);
    convolve(8, 256, 3, 1, 1, true);
    convolve(10, 256, 3, 1, 1, true);
  } else {
    int index = 0;
    const int widths[5] = {64, 128, 256, 512, 512};
    for (int stage = 0; stage < 5; ++stage) {
      const int convolutions = stage < 2 ? 2 : 3;
      for (int k = 0; k < convolutions; ++k, index += 2)
        convolve(index, widths[stage], 3, 1, 1, k + 1 == convolutions);
      if (stage < 4) map = naivePool(map, 2, 2);
      ++index;
    }
  }
  return taps;
}

std::vector<double> naiveDistances(const std::vector<Maps>& a, const std::vector<Maps>& b,
                                   const TensorMap& tensors) {
  std::vector<double> distances;
  for (std::size_t t = 0; t < a.size(); ++t) {
    const auto& lin = tensors.at(fmt::format("lin{}.model.1.weight", t)).values;
    double total = 0;
    for (int y = 0; y < a[t].height; ++y)
      for (int x = 0; x < a[t].width; ++x) {
        double norm_a = 0;
        double norm_b = 0;
        for (int c = 0; c < a[t].channels; ++c) {
          norm_a += a[t].at(c, y, x) * a[t].at(c, y, x);
          norm_b += b[t].at(c, y, x) * b[t].at(c, y, x);
        }
        for (int c = 0; c < a[t].channels; ++c) {
          const double d =
              a[t].at(c, y, x) / (std::sqrt(norm_a) + 1e-10) - b[t].at(c, y, x) / (std::sqrt(norm_b) + 1e-10);
          total += lin[static_cast<std::size_t>(c)] * d * d;
        }
      }
    distances.push_back(total / (a[t].height * a[t].width));
  }
  return distances;
}

LpipsModel modelOf(const TensorMap& tensors) {
  const auto file = TensorFile::parse(testing::safetensors(tensors), "made_up.safetensors");
  auto model = LpipsModel::fromTensors(*file);
  if (!model) throw std::runtime_error(model.error().message);
  return *model;
}

std::string troubleOf(const TensorMap& tensors) {
  const auto file = TensorFile::parse(testing::safetensors(tensors), "w.safetensors");
  if (!file) return file.error().message;
  const auto model = LpipsModel::fromTensors(*file);
  return model ? "fine" : model.error().message;
}

// --- Layers -----------------------------------------------------------------------------------------------

TEST(Convolution, MatchesTheNaiveTwinForOddShapes) {
  struct Case {
    int in, out, kernel, stride, padding, height, width;
  };
  // Strides that do not divide, kernels as large as the input, one pixel, several blocks.
  for (const Case& k : {Case{3, 5, 3, 1, 1, 9, 7},
                        {2, 4, 5, 2, 2, 11, 6},
                        {1, 1, 1, 1, 0, 1, 1},
                        {4, 3, 11, 4, 2, 31, 37},
                        {3, 2, 4, 3, 0, 4, 13},
                        {70, 8, 3, 1, 1, 60, 45}}) {
    const RandomStream random(11, static_cast<std::uint64_t>(k.kernel));
    const auto noise = [&](std::size_t count, std::uint64_t from) {
      std::vector<float> values(count);
      for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<float>(random.uniform(from + i) - 0.5);
      return values;
    };
    FeatureMap input{{k.in, k.height, k.width}, {}};
    input.values = noise(input.shape.size(), 0);
    ConvolutionWeights layer{k.in, k.out, k.kernel, k.stride, k.padding, {}, {}};
    layer.weights = noise(static_cast<std::size_t>(k.out * k.in * k.kernel * k.kernel), 1'000'000);
    layer.bias = noise(static_cast<std::size_t>(k.out), 2'000'000);
    const FeatureMap output = convolveRelu(input, layer);
    const Maps expected =
        naiveConvolution({k.in, k.height, k.width, {input.values.begin(), input.values.end()}}, layer.weights,
                         layer.bias, k.out, k.kernel, k.stride, k.padding, true);
    ASSERT_EQ(output.shape, (FeatureShape{expected.channels, expected.height, expected.width}));
    for (std::size_t i = 0; i < output.values.size(); ++i)
      ASSERT_NEAR(output.values[i], expected.values[i], kNetworkRounding);
  }
}

TEST(Convolution, ThreadsDoNotChangeABit) {
  FeatureMap input{{16, 70, 90}, {}};
  const RandomStream random(5, 0);
  for (std::size_t i = 0; i < input.shape.size(); ++i)
    input.values.push_back(static_cast<float>(random.uniform(i)));
  ConvolutionWeights layer{16, 24, 3, 1, 1, {}, std::vector<float>(24, 0.1f)};
  for (std::size_t i = 0; i < 24 * 16 * 9; ++i)
    layer.weights.push_back(static_cast<float>(random.uniform(1'000'000 + i) - 0.5));
  setThreadCount(1);
  const FeatureMap one = convolveRelu(input, layer);
  setThreadCount(5);
  const FeatureMap five = convolveRelu(input, layer);
  setThreadCount(0);
  EXPECT_EQ(one.values, five.values);
}

TEST(MaxPool, TakesTheLargestOfWholeWindows) {
  const FeatureMap input{{1, 4, 5}, {1,  2,  3,  4, 9,  //
                                     5,  0,  -1, 7, 9,  //
                                     -3, -4, 6,  6, 9,  //
                                     -5, -6, 1,  2, 9}};
  const FeatureMap two = maxPool(input, 2, 2);
  EXPECT_EQ(two.shape, (FeatureShape{1, 2, 2}));  // the fifth column has no whole window
  EXPECT_EQ(two.values, (std::vector<float>{5, 7, -3, 6}));
  const FeatureMap three = maxPool(input, 3, 2);
  EXPECT_EQ(three.shape, (FeatureShape{1, 1, 2}));
  EXPECT_EQ(three.values, (std::vector<float>{6, 9}));
}

// --- Networks ---------------------------------------------------------------------------------------------

TEST(Lpips, ShapesAfterEveryLayer) {
  const auto alex = lpipsShapes(LpipsNetwork::kAlex, 64, 64);
  EXPECT_EQ(*alex,
            (std::vector<FeatureShape>{
                {64, 15, 15}, {64, 7, 7}, {192, 7, 7}, {192, 3, 3}, {384, 3, 3}, {256, 3, 3}, {256, 3, 3}}));
  const auto vgg = lpipsShapes(LpipsNetwork::kVgg, 64, 64);
  EXPECT_EQ(*vgg, (std::vector<FeatureShape>{{64, 64, 64},
                                             {64, 64, 64},
                                             {64, 32, 32},
                                             {128, 32, 32},
                                             {128, 32, 32},
                                             {128, 16, 16},
                                             {256, 16, 16},
                                             {256, 16, 16},
                                             {256, 16, 16},
                                             {256, 8, 8},
                                             {512, 8, 8},
                                             {512, 8, 8},
                                             {512, 8, 8},
                                             {512, 4, 4},
                                             {512, 4, 4},
                                             {512, 4, 4},
                                             {512, 4, 4}}));
  // AlexNet's well-known sizes for its own input: 224 -> 55 -> 27 -> 13.
  const auto imagenet = lpipsShapes(LpipsNetwork::kAlex, 224, 224);
  EXPECT_EQ((*imagenet)[0].width, 55);
  EXPECT_EQ((*imagenet)[2].width, 27);
  EXPECT_EQ((*imagenet)[6].width, 13);
  // 31 is the least for AlexNet, 16 for VGG16; the message says so.
  EXPECT_TRUE(lpipsShapes(LpipsNetwork::kAlex, 31, 31));
  EXPECT_NE(lpipsShapes(LpipsNetwork::kAlex, 400, 30).error().message.find("31 x 31"), std::string::npos);
  EXPECT_NE(lpipsShapes(LpipsNetwork::kVgg, 15, 15).error().message.find("16 x 16"), std::string::npos);
}

class LpipsNetworks : public ::testing::TestWithParam<LpipsNetwork> {};

TEST_P(LpipsNetworks, MatchTheNaiveTwin) {
  const TensorMap tensors = madeUpWeights(GetParam(), 1);
  const LpipsModel model = modelOf(tensors);
  EXPECT_EQ(model.network(), GetParam());
  const bool alex = GetParam() == LpipsNetwork::kAlex;
  const ImageF a = wavyPicture(alex ? 64 : 24, alex ? 49 : 17, 1);
  const ImageF b = wavyPicture(a.width, a.height, 2);
  const std::vector<Maps> taps_a = naiveTaps(GetParam(), tensors, a);
  const std::vector<Maps> taps_b = naiveTaps(GetParam(), tensors, b);

  const auto features = model.features(a.rgb, a.width, a.height);
  ASSERT_TRUE(features);
  ASSERT_EQ(features->size(), 5u);
  for (std::size_t t = 0; t < 5; ++t) {
    const FeatureMap& map = (*features)[t];
    ASSERT_EQ(map.shape, (FeatureShape{taps_a[t].channels, taps_a[t].height, taps_a[t].width}));
    double largest = 0;
    for (double value : taps_a[t].values)
      largest = std::max(largest, value);
    ASSERT_GT(largest, 0.1) << "the made-up network died, the test would show nothing";
    for (std::size_t i = 0; i < map.values.size(); ++i)
      ASSERT_NEAR(map.values[i], taps_a[t].values[i], kNetworkRounding * largest) << t;
  }

  const auto result = model.distance(a, b);
  ASSERT_TRUE(result);
  const std::vector<double> expected = naiveDistances(taps_a, taps_b, tensors);
  double sum = 0;
  for (std::size_t t = 0; t < 5; ++t) {
    EXPECT_GT(expected[t], 0.0);
    EXPECT_NEAR(result->per_tap[t], expected[t], 10 * kNetworkRounding * expected[t]) << t;
    sum += result->per_tap[t];
  }
  EXPECT_DOUBLE_EQ(result->distance, sum);
  EXPECT_EQ(*lpips(a, b, model), result->distance);
  EXPECT_DOUBLE_EQ(*lpips(b, a, model), result->distance);
  EXPECT_EQ(*lpips(a, a, model), 0.0);
}

INSTANTIATE_TEST_SUITE_P(Lpips, LpipsNetworks, ::testing::Values(LpipsNetwork::kAlex, LpipsNetwork::kVgg),
                         [](const auto& network) { return std::string(toString(network.param)); });

TEST(Lpips, LinLayersAreLinear) {
  TensorMap tensors = madeUpWeights(LpipsNetwork::kAlex, 2);
  const ImageF a = wavyPicture(40, 40, 1);
  const ImageF b = wavyPicture(40, 40, 2);
  const auto base = modelOf(tensors).distance(a, b);
  for (float& value : tensors["lin2.model.1.weight"].values)
    value *= 4.0f;  // a power of two: exact
  for (float& value : tensors["lin3.model.1.weight"].values)
    value = 0.0f;
  const auto changed = modelOf(tensors).distance(a, b);
  EXPECT_EQ(changed->per_tap[0], base->per_tap[0]);
  EXPECT_EQ(changed->per_tap[2], 4.0 * base->per_tap[2]);
  EXPECT_EQ(changed->per_tap[3], 0.0);
  EXPECT_EQ(changed->per_tap[4], base->per_tap[4]);
}

TEST(Lpips, UnitLengthMakesDistancesBounded) {
  // Unit vectors with non-negative entries differ by at most 2 in square; lin weights of 1 give at most 2 a
  // tap.
  TensorMap tensors = madeUpWeights(LpipsNetwork::kAlex, 3);
  for (auto& [name, tensor] : tensors)
    if (name.starts_with("lin")) std::fill(tensor.values.begin(), tensor.values.end(), 1.0f);
  const auto result = modelOf(tensors).distance(greyPicture(40, 40, 0), wavyPicture(40, 40, 2, 2.0));
  for (double tap : result->per_tap) {
    EXPECT_GT(tap, 0.0);
    EXPECT_LE(tap, 2.0);
  }
}

TEST(Lpips, BackgroundsPlayNoPart) {
  const LpipsModel model = modelOf(madeUpWeights(LpipsNetwork::kAlex, 4));
  ImageF a = wavyPicture(48, 48, 1);
  ImageF b = wavyPicture(48, 48, 2);
  a.mask = b.mask = discMask(48, 48);
  const double masked = *lpips(a, b, model);
  ImageF other = b;
  for (std::size_t i = 0; i < b.pixelCount(); ++i)
    if (b.mask[i] == 0) other.rgb[3 * i + 1] = 1.0f;
  EXPECT_EQ(*lpips(a, other, model), masked);
  LpipsOptions whole;
  whole.mask.use_mask = false;
  EXPECT_NE(*lpips(a, other, model, whole), masked);
}

TEST(Lpips, SameBitsForAnyThreadCount) {
  const LpipsModel model = modelOf(madeUpWeights(LpipsNetwork::kAlex, 5));
  const ImageF a = wavyPicture(200, 150, 1);
  const ImageF b = wavyPicture(200, 150, 2);
  setThreadCount(1);
  const double one = *lpips(a, b, model);
  setThreadCount(6);
  const double six = *lpips(a, b, model);
  setThreadCount(0);
  EXPECT_EQ(one, six);
}

// --- Weight files -----------------------------------------------------------------------------------------

TEST(LpipsWeights, NamesOfThePackageAndSqueezedLinLayersWork) {
  const TensorMap tensors = madeUpWeights(LpipsNetwork::kVgg, 6);
  TensorMap renamed;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with("lin")) {
      renamed[name.substr(0, 4) + ".weight"] = Tensor{{tensor.values.size()}, tensor.values};
      continue;
    }
    const int index = std::stoi(name.substr(9));
    const int slice = index < 4 ? 1 : index < 9 ? 2 : index < 16 ? 3 : index < 23 ? 4 : 5;
    renamed[fmt::format("net.slice{}.{}", slice, name.substr(9))] = tensor;
  }
  renamed["classifier.0.weight"] = {{1, 2}, {1, 2}};  // ignored
  const ImageF a = wavyPicture(20, 18, 1);
  const ImageF b = wavyPicture(20, 18, 2);
  EXPECT_EQ(*lpips(a, b, modelOf(renamed)), *lpips(a, b, modelOf(tensors)));
}

TEST(LpipsWeights, LoadFromDiskInBothFormats) {
  const TensorMap tensors = madeUpWeights(LpipsNetwork::kAlex, 7);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("heatskin_lpips_{}", ::getpid());
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(writeFileAtomically(folder / "w.safetensors", testing::safetensors(tensors)));
  ASSERT_TRUE(writeFileAtomically(folder / "w.npz", testing::npz(tensors, true)));
  const ImageF a = wavyPicture(33, 33, 1);
  const ImageF b = wavyPicture(33, 33, 2);
  const auto one = LpipsModel::load(folder / "w.safetensors");
  const auto two = LpipsModel::load(folder / "w.npz");
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(one) << one.error().message;
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_EQ(*lpips(a, b, *one), *lpips(a, b, *two));
  EXPECT_FALSE(LpipsModel::load(folder / "gone.npz"));
}

TEST(LpipsWeights, EveryMissingTensorIsNamed) {
  const TensorMap tensors = madeUpWeights(LpipsNetwork::kAlex, 8);
  ASSERT_EQ(troubleOf(tensors), "fine");
  for (const auto& [name, tensor] : tensors) {
    TensorMap incomplete = tensors;
    incomplete.erase(name);
    const std::string message = troubleOf(incomplete);
    EXPECT_NE(message.find("w.safetensors: no tensor '" + name + "'"), std::string::npos) << message;
  }
}

TEST(LpipsWeights, WrongContentIsRefused) {
  const TensorMap tensors = madeUpWeights(LpipsNetwork::kAlex, 9);
  const auto expectTrouble = [&](const std::string& name, const auto& change, const std::string& part) {
    TensorMap wrong = tensors;
    change(wrong[name]);
    const std::string message = troubleOf(wrong);
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  };
  expectTrouble(
      "features.3.weight", [](Tensor& t) { std::swap(t.shape[0], t.shape[1]); },
      "'features.3.weight' has the shape (64, 192, 5, 5) instead of (192, 64, 5, 5)");
  expectTrouble(
      "features.0.weight",
      [](Tensor& t) {
        t.shape = {64 * 3, 11, 11};
      },
      "neither AlexNet's");
  expectTrouble(
      "features.8.bias", [](Tensor& t) { t.values[3] = NAN; }, "not finite");
  expectTrouble(
      "lin1.model.1.weight", [](Tensor& t) { t.values[3] = -0.1f; }, "negative");
  expectTrouble(
      "lin4.model.1.weight",
      [](Tensor& t) {
        t.shape = {2, 128, 1, 1};
      },
      "lin4");
  expectTrouble(
      "lin4.model.1.weight", [](Tensor& t) { t.values.pop_back(), t.shape[1] = 255; },
      "(255) instead of (256)");
}

TEST(LpipsWeights, OverflowIsAnErrorNotANumber) {
  TensorMap tensors = madeUpWeights(LpipsNetwork::kAlex, 10);
  for (float& value : tensors["features.3.weight"].values)
    value *= 1e38f;
  EXPECT_FALSE(lpips(wavyPicture(40, 40, 1), wavyPicture(40, 40, 2), modelOf(tensors)));
}

TEST(Lpips, PicturesTooLargeAreRefusedBeforeTheWork) {
  const LpipsModel model = modelOf(madeUpWeights(LpipsNetwork::kVgg, 11));
  const ImageF large = greyPicture(2049, 2048, 0.5f);
  const auto result = model.distance(large, large);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("AlexNet"), std::string::npos);
}

}  // namespace
}  // namespace heatskin
