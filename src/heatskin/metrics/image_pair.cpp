#include "heatskin/metrics/image_pair.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "heatskin/base/parallel.h"

namespace heatskin {
namespace {

constexpr std::size_t kScanBlock = std::size_t{1} << 16;

Result<void> checkImage(const ImageF& image, const char* role) {
  if (image.width <= 0 || image.height <= 0)
    return inputError(fmt::format("the {} picture is empty ({} x {}): there is nothing to compare", role,
                                  image.width, image.height));
  if (image.rgb.size() != 3 * image.pixelCount())
    return inputError(fmt::format("the {} picture holds {} values where {} x {} x 3 are needed", role,
                                  image.rgb.size(), image.width, image.height));
  if (!image.mask.empty() && image.mask.size() != image.pixelCount())
    return inputError(fmt::format("the mask of the {} picture holds {} values where {} x {} are needed", role,
                                  image.mask.size(), image.width, image.height));
  return {};
}

bool allFinite(const std::vector<float>& values) {
  std::vector<std::uint8_t> finite(blockCount(values.size(), kScanBlock), 1);
  parallelBlocks(values.size(), kScanBlock, [&](std::size_t block, std::size_t begin, std::size_t end) {
    bool good = true;
    for (std::size_t i = begin; i < end; ++i)
      good &= std::isfinite(values[i]);
    finite[block] = good ? 1 : 0;
  });
  return std::all_of(finite.begin(), finite.end(), [](std::uint8_t good) { return good != 0; });
}

}  // namespace

Result<std::vector<std::uint8_t>> countedPixels(const ImageF& reference, const ImageF& test,
                                                const MaskOptions& options) {
  if (auto good = checkImage(reference, "reference"); !good) return good.error();
  if (auto good = checkImage(test, "test"); !good) return good.error();
  if (reference.width != test.width || reference.height != test.height)
    return inputError(fmt::format("the pictures differ in size, {} x {} and {} x {}: scale one of them first",
                                  reference.width, reference.height, test.width, test.height));
  if (!allFinite(reference.rgb)) return inputError("the reference picture holds values that are not finite");
  if (!allFinite(test.rgb)) return inputError("the test picture holds values that are not finite");

  std::vector<std::uint8_t> counted;
  if (!options.use_mask || (reference.mask.empty() && test.mask.empty())) return counted;
  counted.assign(reference.pixelCount(), 0);
  for (const ImageF* image : {&reference, &test}) {
    for (std::size_t i = 0; i < image->mask.size(); ++i)
      if (image->mask[i] != 0) counted[i] = 1;
  }
  if (std::find(counted.begin(), counted.end(), 1) == counted.end())
    return inputError("the mask is empty, no pixel counts: compare without the mask or check the view");
  return counted;
}

Result<ImagePair> makeImagePair(const ImageF& reference, const ImageF& test, const MaskOptions& options) {
  auto counted = countedPixels(reference, test, options);
  if (!counted) return counted.error();
  if (reference.width > kMaxPictureSide || reference.height > kMaxPictureSide)
    return inputError(
        fmt::format("pictures of {} x {} pixels are too long, at most {} per side: cut or scale them",
                    reference.width, reference.height, kMaxPictureSide));
  ImagePair pair{reference.width, reference.height, reference.rgb, test.rgb, std::move(*counted), 0};
  pair.counted_pixels =
      pair.counted.empty()
          ? pair.pixelCount()
          : static_cast<std::size_t>(std::count(pair.counted.begin(), pair.counted.end(), 1));
  for (std::size_t i = 0; i < pair.counted.size(); ++i) {
    if (pair.counted[i] != 0) continue;
    for (std::size_t c = 0; c < 3; ++c)
      pair.reference[3 * i + c] = pair.test[3 * i + c] = options.background[c];
  }
  return pair;
}

}  // namespace heatskin
