#pragma once

// Learned perceptual image patch similarity, version 0.1. Zhang, Isola, Efros, Shechtman, Wang, "The
// unreasonable effectiveness of deep features as a perceptual metric", CVPR 2018.
//
// Pictures go from 0..1 to -1..1, through the scaling layer, through the convolutional part of AlexNet or
// VGG16 with five taps after ReLUs; features are normalised to unit length over channels, their squared
// differences weighted by one non-negative number per channel (the "lin" layers), averaged over pixels and
// summed over taps.
//
// We ship no weights. The user provides one .safetensors or .npz file with, per network:
//   features.N.weight, features.N.bias   (torchvision names; or net.sliceK.N.weight as in the lpips package)
//     AlexNet: N = 0, 3, 6, 8, 10        VGG16: N = 0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28
//   lin0.model.1.weight .. lin4.model.1.weight   (or lin0.weight ..), [1, C, 1, 1] or [C]
// Which network it is follows from the shape of the first convolution. Other tensors are ignored.
// docs/lpips.md has the few lines of Python that write such a file.

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/image_f.h"
#include "heatskin/metrics/convolution.h"
#include "heatskin/metrics/image_pair.h"
#include "heatskin/metrics/tensor_file.h"

namespace heatskin {

enum class LpipsNetwork { kAlex, kVgg };

std::string_view toString(LpipsNetwork network);

inline constexpr int kLpipsTaps = 5;

/// One step of a network, in order of execution.
struct LpipsLayer {
  enum class Kind { kConvolution, kMaxPool } kind = Kind::kConvolution;
  int index = 0;  ///< N of `features.N`
  int out_channels = 0;
  int kernel = 0;
  int stride = 1;
  int padding = 0;
  int tap = -1;  ///< 0..4 when the layer's output (after its ReLU) is compared, else -1
};

/// The convolutional part of the network up to its last tap. Every convolution is followed by a ReLU.
std::span<const LpipsLayer> lpipsLayers(LpipsNetwork network);

/// Shape of the feature map after each of lpipsLayers(), or an error that names the smallest usable side.
Result<std::vector<FeatureShape>> lpipsShapes(LpipsNetwork network, int width, int height);

struct LpipsOptions {
  MaskOptions mask;  ///< LPIPS has no mask of its own: the background is set equal in both, all pixels count
};

struct LpipsResult {
  double distance = 0.0;
  std::array<double, kLpipsTaps> per_tap = {};  ///< sums to distance
};

/// A network with its weights; immutable, may be used from several threads.
class LpipsModel {
 public:
  /// Reads and checks a weight file: names, shapes, finite values, lin weights not negative.
  static Result<LpipsModel> load(const std::filesystem::path& path);

  /// The same from an opened file.
  static Result<LpipsModel> fromTensors(const TensorFile& file);

  LpipsNetwork network() const { return network_; }

  /// 0 for identical pictures; symmetric. Refuses pictures too small for the network or so large that the
  /// feature maps would need more than kLpipsMaxFeatureBytes.
  Result<LpipsResult> distance(const ImageF& reference, const ImageF& test,
                               const LpipsOptions& options = {}) const;

  /// The feature maps at the taps of one picture [height, width, 3] in 0..1, before normalisation. For tests
  /// and curiosity.
  Result<std::vector<FeatureMap>> features(std::span<const float> rgb, int width, int height) const;

 private:
  LpipsModel() = default;

  LpipsNetwork network_ = LpipsNetwork::kAlex;
  std::vector<ConvolutionWeights> convolutions_;  // in order of execution
  std::array<std::vector<float>, kLpipsTaps> lin_;
};

/// VGG16 on 2048 x 2048 pixels needs 4 GiB; AlexNet a sixteenth of it.
inline constexpr std::size_t kLpipsMaxFeatureBytes = std::size_t{4} << 30;

/// LPIPS distance in one call.
Result<double> lpips(const ImageF& reference, const ImageF& test, const LpipsModel& model,
                     const LpipsOptions& options = {});

}  // namespace heatskin
