#include "heatskin/io/image.h"

#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "heatskin/base/files.h"
#include "heatskin/base/memory_budget.h"
#include "heatskin/io/image_codecs.h"

namespace heatskin {
namespace codecs {

std::optional<Error> refuseSize(std::uint64_t width, std::uint64_t height, const std::string& name,
                                std::size_t max_pixels) {
  if (width == 0 || height == 0) return inputError(name + ": the image has no pixels");
  // The formats store sizes in at most 32 bits, so that the product cannot overflow.
  constexpr std::uint64_t kMaxSide = std::numeric_limits<std::int32_t>::max();
  if (width > kMaxSide || height > kMaxSide || width * height > max_pixels) {
    return inputError(name + ": the image is too large: " + std::to_string(width) + " x " +
                      std::to_string(height) + " pixels, the limit is " + std::to_string(max_pixels) +
                      "; reduce its size");
  }
  // Pixels, and rows or coefficients on the way.
  const auto fits =
      askMemory(name + ": the image of " + std::to_string(width) + " x " + std::to_string(height) + " pixels",
                5.0 * static_cast<double>(width * height));
  if (!fits) return fits.error();
  return std::nullopt;
}

}  // namespace codecs

Result<Image> decodeImage(std::span<const std::uint8_t> bytes, const std::string& name,
                          std::size_t max_pixels) {
  if (bytes.empty()) return inputError(name + ": the image is empty");
  const auto decode = [&]() -> Result<Image> {
    if (codecs::isPng(bytes)) return codecs::decodePng(bytes, name, max_pixels);
    if (codecs::isJpeg(bytes)) return codecs::decodeJpeg(bytes, name, max_pixels);
    if (codecs::isWebp(bytes)) return codecs::decodeWebp(bytes, name, max_pixels);
    return inputError(name + ": not a PNG, JPEG or WebP image");
  };
  try {
    Result<Image> image = decode();
    if (image) image->name = name;
    return image;
  } catch (const std::bad_alloc&) {
    return failure(name + ": not enough memory to decode the image");
  }
}

Result<Image> readImage(const std::filesystem::path& path, std::size_t max_pixels) {
  // Compressed images beyond this are not textures; the limit keeps file and pixels together in memory.
  constexpr std::size_t kMaxImageFileBytes = std::size_t{512} << 20;
  Result<std::vector<std::uint8_t>> bytes = readFile(path, kMaxImageFileBytes);
  if (!bytes) return bytes.error();
  return decodeImage(*bytes, displayPath(path), max_pixels);
}

Result<void> writePng(const std::filesystem::path& path, std::span<const std::uint8_t> pixels, int width,
                      int height, int channels) {
  Result<std::vector<std::uint8_t>> bytes = encodePng(pixels, width, height, channels);
  if (!bytes) return bytes.error().prefixed(displayPath(path) + ": ");
  return writeFileAtomically(path, *bytes);
}

std::uint8_t smallestAlpha(const Image& image) {
  std::uint8_t smallest = 255;
  for (std::size_t i = 3; i < image.rgba.size() && smallest > 0; i += 4)
    smallest = std::min(smallest, image.rgba[i]);
  return smallest;
}

}  // namespace heatskin
