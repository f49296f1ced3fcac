#include "heatskin/product/kernel_records.h"

#include <cassert>

namespace heatskin {
namespace {

/// Red, green and blue share four bytes.
constexpr std::array<int, 3> kRecordColorBits = {11, 11, 10};

std::uint32_t take(const std::uint8_t*& at, int bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= static_cast<std::uint32_t>(*at++) << (8 * i);
  return value;
}

}  // namespace

KernelScales recordScales(const QuantizeRanges& ranges) {
  KernelScales scales;
  scales.ranges = ranges;
  KernelBits& bits = scales.bits;
  bits.barycentric = bits.angle = bits.anisotropy = bits.threshold = bits.sharpness = 16;
  scales.channel_bits.assign(kRecordColorBits.begin(), kRecordColorBits.end());
  return scales;
}

KernelCodes readRecord(std::span<const std::uint8_t> bytes) {
  assert(bytes.size() == kRecordBytes);
  const std::uint8_t* at = bytes.data();
  KernelCodes codes;
  codes.triangle = take(at, 4);
  codes.b0 = take(at, 2);
  codes.b1 = take(at, 2);
  codes.angle = take(at, 2);
  codes.anisotropy = take(at, 2);
  codes.threshold = take(at, 2);
  codes.sharpness = take(at, 2);
  std::uint32_t color = take(at, 4);
  for (std::size_t c = 0; c < 3; ++c) {
    codes.channels[c] = static_cast<std::uint16_t>(color & ((1u << kRecordColorBits[c]) - 1));
    color >>= kRecordColorBits[c];
  }
  return codes;
}

}  // namespace heatskin
