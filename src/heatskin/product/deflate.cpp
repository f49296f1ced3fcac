#include "heatskin/product/deflate.h"

#include <algorithm>
#include <limits>
#include <new>
#include <stdexcept>

#include <zlib.h>

namespace heatskin {

std::vector<std::uint8_t> deflateParts(std::span<const std::uint8_t> bytes, std::size_t rows, int strategy) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS, MAX_MEM_LEVEL, strategy) != Z_OK)
    throw std::bad_alloc();
  // A block of stored bytes is the worst that can happen to a part.
  constexpr std::size_t kBlockSlack = 64;
  std::vector<std::uint8_t> out(deflateBound(&stream, static_cast<uLong>(bytes.size())) +
                                kBlockSlack * (bytes.size() / rows + 1));
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  int state = Z_OK;
  for (std::size_t at = 0; at < bytes.size(); at += rows) {
    stream.next_in = const_cast<Bytef*>(bytes.data() + at);
    stream.avail_in = static_cast<uInt>(std::min(rows, bytes.size() - at));
    state = deflate(&stream, at + rows < bytes.size() ? Z_BLOCK : Z_FINISH);
  }
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (state != Z_STREAM_END) throw std::runtime_error("the texture cannot be compressed");
  return out;
}

std::vector<std::uint8_t> deflateWithinLimit(std::span<const std::uint8_t> bytes, std::size_t rows,
                                             int strategy) {
  std::vector<std::uint8_t> packed = deflateParts(bytes, rows, strategy);
  // Everything is alike; without matches there is a bit for every byte.
  if (bytes.size() / kMostInflation >= packed.size()) packed = deflateParts(bytes, rows, Z_HUFFMAN_ONLY);
  return packed;
}

std::optional<std::vector<std::uint8_t>> inflateExactly(std::span<const std::uint8_t> bytes,
                                                        std::size_t size) {
  constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
  if (bytes.size() > kMost || size > kMost) return std::nullopt;
  z_stream stream{};
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  std::optional<std::vector<std::uint8_t>> out;
  try {
    out.emplace(size);
  } catch (...) {
    inflateEnd(&stream);
    throw;
  }
  stream.next_out = out->data();
  stream.avail_out = static_cast<uInt>(size);
  const bool whole = inflate(&stream, Z_FINISH) == Z_STREAM_END;
  const bool exact = stream.total_out == size && stream.avail_in == 0;
  inflateEnd(&stream);
  if (!whole || !exact) out.reset();
  return out;
}

}  // namespace heatskin
