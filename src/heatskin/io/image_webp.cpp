// WebP through libwebp's own decoder; it reports errors by status, so nothing special is needed.

#include <cstring>

#include <webp/decode.h>

#include "heatskin/io/image_codecs.h"

namespace heatskin::codecs {
namespace {

const char* reason(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return "not enough memory";
    case VP8_STATUS_BITSTREAM_ERROR:
      return "damaged bit stream";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "unsupported feature";
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "the file is truncated";
    default:
      return "cannot be decoded";
  }
}

}  // namespace

bool isWebp(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 12 && std::memcmp(bytes.data(), "RIFF", 4) == 0 &&
         std::memcmp(bytes.data() + 8, "WEBP", 4) == 0;
}

Result<Image> decodeWebp(std::span<const std::uint8_t> bytes, const std::string& name,
                         std::size_t max_pixels) {
  WebPBitstreamFeatures features;
  const auto corrupt = [&](VP8StatusCode status) {
    return inputError(name + ": the WebP image is corrupt: " + reason(status));
  };
  if (const VP8StatusCode status = WebPGetFeatures(bytes.data(), bytes.size(), &features);
      status != VP8_STATUS_OK) {
    return corrupt(status);
  }
  if (features.has_animation != 0) {
    return inputError(name + ": animated WebP images are not supported; store a single picture");
  }
  if (features.width < 0 || features.height < 0) return corrupt(VP8_STATUS_BITSTREAM_ERROR);
  const auto width = static_cast<std::uint64_t>(features.width);
  const auto height = static_cast<std::uint64_t>(features.height);
  if (auto refusal = refuseSize(width, height, name, max_pixels)) return *refusal;

  Image image;
  image.format = "webp";
  image.width = features.width;
  image.height = features.height;
  image.stored_channels = features.has_alpha != 0 ? 4 : 3;
  image.rgba.resize(4 * width * height);

  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) return failure(name + ": libwebp has an incompatible version");
  config.output.colorspace = MODE_RGBA;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = image.rgba.data();
  config.output.u.RGBA.stride = static_cast<int>(4 * width);
  config.output.u.RGBA.size = image.rgba.size();
  const VP8StatusCode status = WebPDecode(bytes.data(), bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) return corrupt(status);
  return image;
}

}  // namespace heatskin::codecs
