#include "heatskin/pipeline/npz_writer.h"

#include <bit>
#include <cassert>
#include <concepts>
#include <cstring>
#include <string_view>
#include <utility>

#include <Eigen/Core>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

namespace heatskin {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written as they are in memory");

using NpzBytes = std::vector<std::uint8_t>;

template <std::integral T>
void put(NpzBytes& out, T value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof(T));
  std::memcpy(out.data() + at, &value, sizeof(T));
}

void putText(NpzBytes& out, std::string_view text) {
  out.insert(out.end(), text.begin(), text.end());
}

template <class T>
std::span<const std::uint8_t> bytesOf(std::span<const T> values) {
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()};
}

/// The raw deflate stream zip archives hold.
NpzBytes deflated(const NpzBytes& content) {
  z_stream stream{};
  [[maybe_unused]] const int started =
      deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  assert(started == Z_OK);
  NpzBytes out(deflateBound(&stream, static_cast<uLong>(content.size())));
  stream.next_in = const_cast<Bytef*>(content.data());  // zlib's C interface; it does not write there
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

void NpzWriter::addHalves(const std::string& name, std::vector<std::size_t> shape,
                          std::span<const float> values) {
  std::vector<std::uint16_t> halves;
  halves.reserve(values.size());
  for (const float value : values)
    halves.push_back(Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(value)));
  add(name, "<f2", shape, bytesOf<std::uint16_t>(halves));
}

void NpzWriter::addFloats(const std::string& name, std::vector<std::size_t> shape,
                          std::span<const float> values) {
  add(name, "<f4", shape, bytesOf(values));
}

void NpzWriter::addInt16s(const std::string& name, std::vector<std::size_t> shape,
                          std::span<const std::int16_t> values) {
  add(name, "<i2", shape, bytesOf(values));
}

void NpzWriter::addInt32s(const std::string& name, std::vector<std::size_t> shape,
                          std::span<const std::int32_t> values) {
  add(name, "<i4", shape, bytesOf(values));
}

void NpzWriter::add(const std::string& name, const char* type, const std::vector<std::size_t>& shape,
                    std::span<const std::uint8_t> data) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type,
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  // Magic, version and length take 10 bytes; data begin at a multiple of 64.
  constexpr std::size_t kBefore = 10, kAlignment = 64;
  while ((kBefore + header.size() + 1) % kAlignment != 0)
    header += ' ';
  header += '\n';
  NpzBytes npy = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  put(npy, static_cast<std::uint16_t>(header.size()));
  putText(npy, header);
  npy.insert(npy.end(), data.begin(), data.end());
  entries_.push_back({name + ".npy", deflated(npy),
                      static_cast<std::uint32_t>(crc32(0, npy.data(), static_cast<uInt>(npy.size()))),
                      static_cast<std::uint32_t>(npy.size())});
}

std::vector<std::uint8_t> NpzWriter::bytes() const {
  constexpr std::uint16_t kVersion2 = 20, kDeflate = 8;
  constexpr std::uint32_t kFirstDay = 0x00210000;  // 1 January 1980, midnight: zip has no earlier time
  NpzBytes archive, directory;
  for (const Entry& entry : entries_) {
    NpzBytes common;  // the fields that both records share
    put(common, kVersion2);
    put(common, std::uint16_t{0});
    put(common, kDeflate);
    put(common, kFirstDay);
    put(common, entry.crc);
    put(common, static_cast<std::uint32_t>(entry.deflated.size()));
    put(common, entry.bytes);
    put(common, static_cast<std::uint16_t>(entry.name.size()));
    put(common, std::uint16_t{0});  // no extra field

    const auto offset = static_cast<std::uint32_t>(archive.size());
    putText(archive, "PK\3\4");
    archive.insert(archive.end(), common.begin(), common.end());
    putText(archive, entry.name);
    archive.insert(archive.end(), entry.deflated.begin(), entry.deflated.end());

    putText(directory, "PK\1\2");
    put(directory, kVersion2);
    directory.insert(directory.end(), common.begin(), common.end());
    put(directory, std::uint16_t{0});  // no comment
    put(directory, std::uint16_t{0});  // first disk
    put(directory, std::uint16_t{0});  // attributes, inner and outer
    put(directory, std::uint32_t{0});
    put(directory, offset);
    putText(directory, entry.name);
  }
  const auto start = static_cast<std::uint32_t>(archive.size());
  archive.insert(archive.end(), directory.begin(), directory.end());
  putText(archive, "PK\5\6");
  put(archive, std::uint32_t{0});  // disks
  put(archive, static_cast<std::uint16_t>(entries_.size()));
  put(archive, static_cast<std::uint16_t>(entries_.size()));
  put(archive, static_cast<std::uint32_t>(directory.size()));
  put(archive, start);
  put(archive, std::uint16_t{0});
  return archive;
}

}  // namespace heatskin
