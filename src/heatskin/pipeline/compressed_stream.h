#pragma once

// What a vertex attribute takes in a compressed file.

#include <cstddef>
#include <cstdint>
#include <span>

namespace heatskin {

/// Bytes of a stream of vertices, `stride` bytes each (a multiple of 4), coded as EXT_meshopt_compression
/// does and then deflated, as files on the web are. The order of the vertices counts: neighbours in space
/// should be neighbours in the stream.
std::size_t compressedStreamBytes(std::span<const std::uint8_t> vertices, std::size_t stride);

}  // namespace heatskin
