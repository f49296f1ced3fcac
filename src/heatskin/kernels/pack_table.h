#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heatskin {

/// For every set of 8 lanes (bit i: lane i) the lanes in it, in order, then the others.
inline constexpr std::array<std::array<std::uint8_t, 8>, 256> kPackedLanes = [] {
  std::array<std::array<std::uint8_t, 8>, 256> table{};
  for (std::size_t mask = 0; mask < 256; ++mask) {
    std::size_t to = 0;
    for (const std::size_t wanted : {1, 0}) {
      for (std::size_t lane = 0; lane < 8; ++lane) {
        if ((mask >> lane & 1) == wanted) table[mask][to++] = static_cast<std::uint8_t>(lane);
      }
    }
  }
  return table;
}();

}  // namespace heatskin
