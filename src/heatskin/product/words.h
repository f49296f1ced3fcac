#pragma once

// Numbers of 32 bits in buffers, little-endian.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heatskin {

inline constexpr std::size_t kWord = sizeof(std::uint32_t);

inline void appendWord(std::vector<std::uint8_t>& bytes, std::uint32_t word) {
  for (std::size_t i = 0; i < kWord; ++i)
    bytes.push_back(static_cast<std::uint8_t>(word >> (8 * i)));
}

/// Number `word` of a buffer.
inline std::uint32_t wordAt(std::span<const std::uint8_t> bytes, std::size_t word) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < kWord; ++i)
    value |= std::uint32_t{bytes[kWord * word + i]} << (8 * i);
  return value;
}

}  // namespace heatskin
