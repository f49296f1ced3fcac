#pragma once

// The codecs behind image.h, one file each. Private to io.
//
// A decoder gets bytes whose signature was already recognised. It checks the size before it allocates, fills
// everything of the Image but its name, and puts `name` in front of its messages.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"

namespace heatskin::codecs {

bool isPng(std::span<const std::uint8_t> bytes);
bool isJpeg(std::span<const std::uint8_t> bytes);
bool isWebp(std::span<const std::uint8_t> bytes);

Result<Image> decodePng(std::span<const std::uint8_t> bytes, const std::string& name, std::size_t max_pixels);
Result<Image> decodeJpeg(std::span<const std::uint8_t> bytes, const std::string& name,
                         std::size_t max_pixels);
Result<Image> decodeWebp(std::span<const std::uint8_t> bytes, const std::string& name,
                         std::size_t max_pixels);

/// Why an image of this size is not decoded; nothing when it is fine.
std::optional<Error> refuseSize(std::uint64_t width, std::uint64_t height, const std::string& name,
                                std::size_t max_pixels);

}  // namespace heatskin::codecs
