#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heatskin {

/// "1 face", "2 faces", for messages.
inline std::string plural(std::size_t count, std::string_view one, std::string_view many) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

/// 12345678 as "12,345,678".
inline std::string grouped(std::size_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3; i -= 3)
    digits.insert(i - 3, ",");
  return digits;
}

}  // namespace heatskin
