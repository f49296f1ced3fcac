#pragma once

// The header of a PLY file: what the data consist of.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heatskin/base/result.h"

namespace heatskin::ply {

enum class Format : std::uint8_t { kAscii, kLittleEndian, kBigEndian };

enum class Type : std::uint8_t { kInt8, kUint8, kInt16, kUint16, kInt32, kUint32, kFloat32, kFloat64 };

/// Bytes of a value in a binary file.
constexpr std::size_t sizeOf(Type type) {
  constexpr std::size_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 8};
  return kSizes[static_cast<std::size_t>(type)];
}

constexpr bool isInteger(Type type) {
  return type < Type::kFloat32;
}

/// The value that stands for full brightness in a colour channel of this type.
constexpr double whiteOf(Type type) {
  constexpr double kWhites[] = {127, 255, 32767, 65535, 2147483647, 4294967295, 1, 1};
  return kWhites[static_cast<std::size_t>(type)];
}

struct Property {
  std::string name;
  Type type = Type::kFloat32;  ///< of the value, or of a list's entries
  bool is_list = false;
  Type count_type = Type::kUint8;
};

struct Element {
  std::string name;
  std::size_t count = 0;
  std::vector<Property> properties;

  /// Index of a property, -1 when there is none.
  int find(std::string_view property) const;
};

struct Header {
  Format format = Format::kAscii;
  std::vector<Element> elements;
  std::vector<std::string> texture_files;  ///< from "comment TextureFile NAME"
  std::size_t data_offset = 0;             ///< first byte after the header
  std::size_t lines = 0;                   ///< lines of the header
};

/// Parses the header. Every element's count was checked against the bytes that follow it: a row takes at
/// least its scalars and list counts, so that a count is never larger than the file. `file` is for messages.
Result<Header> parseHeader(std::span<const std::uint8_t> bytes, const std::string& file);

}  // namespace heatskin::ply
