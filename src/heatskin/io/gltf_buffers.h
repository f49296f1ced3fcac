#pragma once

// Buffers and buffer views: where the bytes of a glTF document are. Everything is loaded when it is first
// asked for, so a broken buffer nobody needs does no harm.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/gltf_json.h"

namespace heatskin::gltf {

/// How much memory a document may still turn into. It grows with the bytes that are really there, so that a
/// small file cannot claim a large machine, while a large file is not refused for being large.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t file_bytes) { earn(file_bytes); }

  /// More bytes were found (an external buffer).
  void earn(std::size_t bytes) { left_ += kExpansion * bytes; }

  /// Takes `count` items of `item_bytes`; false, and nothing taken, when they do not fit.
  bool take(std::size_t count, std::size_t item_bytes) {
    if (item_bytes != 0 && count > left_ / item_bytes) return false;
    left_ -= count * item_bytes;
    return true;
  }

 private:
  /// What every document may use: a gigabyte leaves room for images and for the rest of the program in two.
  static constexpr std::size_t kBase = std::size_t{1} << 30;
  /// Bytes to 8-byte doubles, for files that are large and honest.
  static constexpr std::size_t kExpansion = 8;
  std::size_t left_ = kBase;
};

/// The bytes of a buffer view and the distance of its elements.
struct BufferViewData {
  std::span<const std::uint8_t> bytes;
  std::size_t stride = 0;  ///< 0: elements are packed
};

class Buffers {
 public:
  /// `bin` is the BIN chunk if the file has one; `folder` is where external buffers may lie. All references
  /// outlive the object.
  Buffers(const Document& document, std::optional<std::span<const std::uint8_t>> bin,
          std::filesystem::path folder, MemoryBudget& budget);

  /// `length` bytes of a buffer; refused when the buffer is shorter.
  Result<std::span<const std::uint8_t>> range(std::size_t buffer, std::size_t offset, std::size_t length);

  /// A buffer view, decompressed if it carries EXT_meshopt_compression.
  Result<BufferViewData> view(std::size_t index);

  const std::filesystem::path& folder() const { return folder_; }

 private:
  struct Buffer {
    std::span<const std::uint8_t> bytes;
    std::shared_ptr<const std::vector<std::uint8_t>> owned;
  };
  Result<std::span<const std::uint8_t>> buffer(std::size_t index);
  Result<Buffer> loadBuffer(std::size_t index);
  Result<Buffer> loadFile(const std::string& uri);
  Result<std::vector<std::uint8_t>> decompress(const Json& extension, const std::string& where,
                                               std::size_t view_length);

  const Document& document_;
  std::optional<std::span<const std::uint8_t>> bin_;
  std::filesystem::path folder_;
  MemoryBudget& budget_;
  std::unordered_map<std::size_t, Buffer> buffers_;
  std::unordered_map<std::string, Buffer> files_;  // by resolved path: a file named twice is read once
  std::unordered_map<std::size_t, std::vector<std::uint8_t>> decompressed_;
};

}  // namespace heatskin::gltf
