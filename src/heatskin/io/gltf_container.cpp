#include "heatskin/io/gltf_container.h"

#include <cstring>
#include <string>

namespace heatskin::gltf {
namespace {

constexpr std::size_t kHeaderBytes = 12;
constexpr std::size_t kChunkHeaderBytes = 8;
constexpr std::uint32_t kJsonChunk = 0x4E4F534A;
constexpr std::uint32_t kBinChunk = 0x004E4942;

std::uint32_t readU32(std::span<const std::uint8_t> bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} | (std::uint32_t{bytes[at + 1]} << 8) |
         (std::uint32_t{bytes[at + 2]} << 16) | (std::uint32_t{bytes[at + 3]} << 24);
}

}  // namespace

bool hasGlbMagic(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), "glTF", 4) == 0;
}

Result<Container> splitGlb(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return inputError("the file is empty");
  if (bytes.size() >= 4 && !hasGlbMagic(bytes)) return inputError("not a GLB file (wrong magic number)");
  if (bytes.size() < kHeaderBytes) return inputError("the file is too short for a GLB header");
  const std::uint32_t version = readU32(bytes, 4);
  if (version != 2) {
    return inputError("GLB version " + std::to_string(version) + " is not supported, only version 2");
  }
  const std::size_t length = readU32(bytes, 8);
  if (length != bytes.size()) {
    return inputError("the GLB header says " + std::to_string(length) + " bytes, the file has " +
                      std::to_string(bytes.size()) +
                      (length > bytes.size() ? "; it was probably cut while copying" : ""));
  }

  Container container;
  std::size_t offset = kHeaderBytes;
  for (std::size_t chunk = 0; offset < bytes.size(); ++chunk) {
    if (bytes.size() - offset < kChunkHeaderBytes) {
      return inputError("the header of GLB chunk " + std::to_string(chunk) +
                        " runs past the end of the file");
    }
    const std::size_t chunk_length = readU32(bytes, offset);
    const std::uint32_t type = readU32(bytes, offset + 4);
    offset += kChunkHeaderBytes;
    const std::string name = type == kJsonChunk  ? "JSON chunk"
                             : type == kBinChunk ? "BIN chunk"
                                                 : "chunk " + std::to_string(chunk);
    if (chunk_length > bytes.size() - offset) {
      return inputError("the " + name + " runs past the end of the file: it says " +
                        std::to_string(chunk_length) + " bytes, " + std::to_string(bytes.size() - offset) +
                        " are left");
    }
    const auto data = bytes.subspan(offset, chunk_length);
    if (chunk == 0) {
      if (type != kJsonChunk) return inputError("the first GLB chunk is not JSON");
      container.json = data;
    } else if (type == kJsonChunk) {
      return inputError("the GLB file has a second JSON chunk");
    } else if (type == kBinChunk) {
      if (chunk != 1) return inputError("the BIN chunk must be the second GLB chunk");
      container.bin = data;
    }
    // Chunks start at multiples of four; writers that forget the padding are met halfway at the file's end.
    offset += chunk_length;
    if (chunk_length % 4 != 0 && offset != bytes.size()) {
      return inputError("the length of the " + name + " is not a multiple of 4");
    }
  }
  if (container.json.data() == nullptr) return inputError("the GLB file has no JSON chunk");
  return container;
}

}  // namespace heatskin::gltf
