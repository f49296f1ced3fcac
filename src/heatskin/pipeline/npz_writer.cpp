#include "heatskin/pipeline/npz_writer.h"

#include <bit>
#include <concepts>
#include <cstring>
#include <string_view>

#include <Eigen/Core>
#include <fmt/format.h>
#include <fmt/ranges.h>

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
  archive_.addDeflated(name + ".npy", npy);
}

std::vector<std::uint8_t> NpzWriter::bytes() const {
  return archive_.bytes();
}

}  // namespace heatskin
