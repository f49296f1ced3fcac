#pragma once

// zlib streams of known size, in memory.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heatskin {

/// A file has at least one byte for so many of what it inflates to. Only contents that are all alike would
/// take less: the limit keeps a small file from asking for much memory.
inline constexpr std::size_t kMostInflation = 64;

/// Deflates parts of `rows` bytes, each with a block, and with it a Huffman table, of its own. `strategy` is
/// zlib's. Throws std::bad_alloc or std::runtime_error.
std::vector<std::uint8_t> deflateParts(std::span<const std::uint8_t> bytes, std::size_t rows, int strategy);

/// Within kMostInflation: with `strategy`, or without matches where these would save too much.
std::vector<std::uint8_t> deflateWithinLimit(std::span<const std::uint8_t> bytes, std::size_t rows,
                                             int strategy);

/// The stream's contents if they are exactly `size` bytes and nothing follows.
std::optional<std::vector<std::uint8_t>> inflateExactly(std::span<const std::uint8_t> bytes,
                                                        std::size_t size);

}  // namespace heatskin
