#pragma once

// Bytes as text (RFC 4648), for pictures inside of pages and drawings.

#include <cstdint>
#include <span>
#include <string>

namespace heatskin {

/// With padding, without line breaks.
std::string base64(std::span<const std::uint8_t> bytes);

}  // namespace heatskin
