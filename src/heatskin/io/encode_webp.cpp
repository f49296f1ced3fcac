#include "heatskin/io/encode_webp.h"

#include <cstddef>

#include <webp/encode.h>

namespace heatskin {
namespace {

/// `encode` fills a pointer with bytes that libwebp owns and returns their number.
template <class Encode>
Result<std::vector<std::uint8_t>> webpBytes(std::span<const std::uint8_t> rgba, int width, int height,
                                            const Encode& encode) {
  if (width < 1 || height < 1 || width > WEBP_MAX_DIMENSION || height > WEBP_MAX_DIMENSION ||
      rgba.size() != 4 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height))
    return failure("a picture of this size cannot be stored as WebP");
  std::uint8_t* bytes = nullptr;
  const std::size_t size = encode(&bytes);
  std::vector<std::uint8_t> result(bytes, bytes + size);
  WebPFree(bytes);
  if (result.empty()) return failure("a picture could not be stored as WebP");
  return result;
}

}  // namespace

Result<std::vector<std::uint8_t>> encodeWebp(std::span<const std::uint8_t> rgba, int width, int height,
                                             float quality) {
  return webpBytes(rgba, width, height, [&](std::uint8_t** bytes) {
    return WebPEncodeRGBA(rgba.data(), width, height, 4 * width, quality, bytes);
  });
}

Result<std::vector<std::uint8_t>> encodeWebpLossless(std::span<const std::uint8_t> rgba, int width,
                                                     int height) {
  return webpBytes(rgba, width, height, [&](std::uint8_t** bytes) {
    return WebPEncodeLosslessRGBA(rgba.data(), width, height, 4 * width, bytes);
  });
}

}  // namespace heatskin
