#include "heatskin/base/base64.h"

#include <cstddef>
#include <string_view>

namespace heatskin {

std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  result.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = bytes.size() - i;
    const std::uint32_t bits = (static_cast<std::uint32_t>(bytes[i]) << 16) |
                               (left > 1 ? static_cast<std::uint32_t>(bytes[i + 1]) << 8 : 0u) |
                               (left > 2 ? static_cast<std::uint32_t>(bytes[i + 2]) : 0u);
    result += kDigits[bits >> 18];
    result += kDigits[(bits >> 12) & 63];
    result += left > 1 ? kDigits[(bits >> 6) & 63] : '=';
    result += left > 2 ? kDigits[bits & 63] : '=';
  }
  return result;
}

}  // namespace heatskin
