#include "heatskin/pipeline/compressed_stream.h"

#include <vector>

#include <meshoptimizer.h>
#include <zlib.h>

namespace heatskin {

std::size_t compressedStreamBytes(std::span<const std::uint8_t> vertices, std::size_t stride) {
  const std::size_t count = vertices.size() / stride;
  if (count == 0) return 0;
  std::vector<std::uint8_t> coded(meshopt_encodeVertexBufferBound(count, stride));
  coded.resize(meshopt_encodeVertexBuffer(coded.data(), coded.size(), vertices.data(), count, stride));
  std::vector<std::uint8_t> deflated(compressBound(static_cast<uLong>(coded.size())));
  uLongf size = static_cast<uLongf>(deflated.size());
  // The buffer is large enough for anything: this cannot fail but for memory.
  if (compress2(deflated.data(), &size, coded.data(), static_cast<uLong>(coded.size()), Z_BEST_COMPRESSION) !=
      Z_OK)
    return coded.size();
  return static_cast<std::size_t>(size);
}

}  // namespace heatskin
