#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heatskin {

/// "1 face", "2 faces", for messages.
inline std::string plural(std::size_t count, std::string_view one, std::string_view many) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

}  // namespace heatskin
