// libFuzzer entry for the image decoders; see fuzz_gltf.cpp for the way to build it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "heatskin/io/image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMaxPixels = std::size_t{1} << 20;
  const heatskin::Result<heatskin::Image> image =
      heatskin::decodeImage(std::span(data, size), "fuzz", kMaxPixels);
  if (image && image->rgba.size() !=
                   4 * static_cast<std::size_t>(image->width) * static_cast<std::size_t>(image->height)) {
    std::abort();
  }
  return 0;
}
