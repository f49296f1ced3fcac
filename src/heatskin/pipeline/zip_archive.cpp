#include "heatskin/pipeline/zip_archive.h"

#include <cassert>
#include <concepts>
#include <cstring>
#include <string_view>

#include <zlib.h>

namespace heatskin {
namespace {

using ZipBytes = std::vector<std::uint8_t>;

template <std::integral T>
void putNumber(ZipBytes& out, T value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof(T));
  std::memcpy(out.data() + at, &value, sizeof(T));
}

void putString(ZipBytes& out, std::string_view text) {
  out.insert(out.end(), text.begin(), text.end());
}

/// The raw deflate stream zip archives hold.
ZipBytes deflated(std::span<const std::uint8_t> content) {
  z_stream stream{};
  [[maybe_unused]] const int started =
      deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  assert(started == Z_OK);
  ZipBytes out(deflateBound(&stream, static_cast<uLong>(content.size())));
  stream.next_in = const_cast<Bytef*>(content.data());  // zlib's C interface; it does not write there
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

constexpr std::uint16_t kStored = 0, kDeflate = 8;

std::uint32_t checksum(std::span<const std::uint8_t> content) {
  return static_cast<std::uint32_t>(crc32(0, content.data(), static_cast<uInt>(content.size())));
}

}  // namespace

void ZipArchive::addStored(const std::string& name, std::span<const std::uint8_t> content) {
  entries_.push_back({name, ZipBytes(content.begin(), content.end()), kStored, checksum(content),
                      static_cast<std::uint32_t>(content.size())});
}

void ZipArchive::addDeflated(const std::string& name, std::span<const std::uint8_t> content) {
  entries_.push_back(
      {name, deflated(content), kDeflate, checksum(content), static_cast<std::uint32_t>(content.size())});
}

std::vector<std::uint8_t> ZipArchive::bytes() const {
  constexpr std::uint16_t kVersion1 = 10, kVersion2 = 20;
  constexpr std::uint32_t kFirstDay = 0x00210000;  // 1 January 1980, midnight: zip has no earlier time
  constexpr std::size_t kLocalHeader = 30;
  constexpr std::uint16_t kPadding = 0x1986;  // the field that USD's own writer pads with
  ZipBytes archive, directory;
  for (const Entry& entry : entries_) {
    const std::uint16_t version = entry.method == kDeflate ? kVersion2 : kVersion1;
    ZipBytes common;  // the fields that both records share
    putNumber(common, version);
    putNumber(common, std::uint16_t{0});
    putNumber(common, entry.method);
    putNumber(common, kFirstDay);
    putNumber(common, entry.crc);
    putNumber(common, static_cast<std::uint32_t>(entry.data.size()));
    putNumber(common, entry.size);
    putNumber(common, static_cast<std::uint16_t>(entry.name.size()));

    const auto offset = static_cast<std::uint32_t>(archive.size());
    std::size_t padding =
        (alignment_ - (archive.size() + kLocalHeader + entry.name.size()) % alignment_) % alignment_;
    if (padding > 0 && padding < 4) padding += alignment_;  // a field has a head of four bytes
    putString(archive, "PK\3\4");
    archive.insert(archive.end(), common.begin(), common.end());
    putNumber(archive, static_cast<std::uint16_t>(padding));
    putString(archive, entry.name);
    if (padding > 0) {
      putNumber(archive, kPadding);
      putNumber(archive, static_cast<std::uint16_t>(padding - 4));
      archive.resize(archive.size() + padding - 4);
    }
    archive.insert(archive.end(), entry.data.begin(), entry.data.end());

    putString(directory, "PK\1\2");
    putNumber(directory, version);
    directory.insert(directory.end(), common.begin(), common.end());
    putNumber(directory, std::uint16_t{0});  // no extra field
    putNumber(directory, std::uint16_t{0});  // no comment
    putNumber(directory, std::uint16_t{0});  // first disk
    putNumber(directory, std::uint16_t{0});  // attributes, inner and outer
    putNumber(directory, std::uint32_t{0});
    putNumber(directory, offset);
    putString(directory, entry.name);
  }
  const auto start = static_cast<std::uint32_t>(archive.size());
  archive.insert(archive.end(), directory.begin(), directory.end());
  putString(archive, "PK\5\6");
  putNumber(archive, std::uint32_t{0});  // disks
  putNumber(archive, static_cast<std::uint16_t>(entries_.size()));
  putNumber(archive, static_cast<std::uint16_t>(entries_.size()));
  putNumber(archive, static_cast<std::uint32_t>(directory.size()));
  putNumber(archive, start);
  putNumber(archive, std::uint16_t{0});
  return archive;
}

}  // namespace heatskin
