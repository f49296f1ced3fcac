#pragma once

// Named arrays from .safetensors and .npz files, as machine-learning tools write them. Nothing is executed,
// nothing is trusted: every length is checked before it is used.
//
//   .safetensors  8 bytes little-endian header length, JSON header, raw little-endian data; F32, F16, BF16,
//                 F64
//   .npz          a zip archive (stored or deflated; no zip64, no encryption) of .npy files, versions 1 to 3,
//                 C order, dtypes <f4, <f2, <f8; as integers <i2, <i4, <i8, <u2, <u4
// The format is told by the first bytes, not by the name.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"

namespace heatskin {

struct Tensor {
  std::vector<std::size_t> shape;
  std::vector<float> values;  // row-major
};

struct IntegerTensor {
  std::vector<std::size_t> shape;
  std::vector<std::int64_t> values;  // row-major
};

/// A file's table of contents over its bytes; arrays are decoded when asked for.
class TensorFile {
 public:
  /// Files above this are refused unread; the largest useful one (VGG16 with its classifier) has 0.55 GB.
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 30;

  /// Reads the file and its table of contents.
  static Result<TensorFile> open(const std::filesystem::path& path);

  /// The same from bytes; `name` is used in messages.
  static Result<TensorFile> parse(std::vector<std::uint8_t> bytes, std::string name);

  const std::string& name() const { return name_; }
  bool contains(const std::string& tensor) const { return entries_.contains(tensor); }
  std::vector<std::string> tensorNames() const;

  /// Decodes one array to float32; its values may be anything, also infinite or not-a-number.
  Result<Tensor> read(const std::string& tensor) const;

  /// Decodes one array of integers; of .npz files only.
  Result<IntegerTensor> readIntegers(const std::string& tensor) const;

  /// Bytes that an array takes when it is unpacked, header included; 0 if there is none of that name.
  std::size_t unpackedBytes(const std::string& tensor) const;

 private:
  enum class Type { kF16, kBf16, kF32, kF64 };
  struct Entry {
    // safetensors: filled on opening. npz: `deflated` and the byte ranges only.
    Type type = Type::kF32;
    std::vector<std::size_t> shape;
    std::size_t begin = 0;  // into bytes_
    std::size_t stored_bytes = 0;
    std::size_t inflated_bytes = 0;
    std::uint32_t crc = 0;
    bool deflated = false;
  };

  TensorFile() = default;
  static std::vector<float> decode(const std::uint8_t* data, std::size_t bytes, Type type);
  Error refuse(const std::string& cause) const;
  Result<void> indexSafetensors();
  Result<void> indexNpz();
  Result<std::vector<std::uint8_t>> unpack(const std::string& tensor, const Entry& entry) const;

  /// An .npy file, its header read and its size checked against the element size `bytes_of` gives for the
  /// type, 0 for types that are not wanted.
  struct Npy {
    std::vector<std::uint8_t> bytes;
    std::size_t begin = 0;  // of the elements
    std::string type;       // "<f4"
    std::vector<std::size_t> shape;
  };
  Result<Npy> openNpy(const std::string& tensor, const Entry& entry,
                      std::size_t (*bytes_of)(std::string_view), const char* wanted) const;
  Result<Tensor> readNpy(const std::string& tensor, const Entry& entry) const;

  std::string name_;
  bool npz_ = false;
  std::vector<std::uint8_t> bytes_;
  std::map<std::string, Entry> entries_;
};

}  // namespace heatskin
