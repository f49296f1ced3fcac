#pragma once

// Version 1 of the format: 20 bytes for each kernel, in any order (docs/format.md). Read, no longer written.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/product/quantize.h"

namespace heatskin {

/// Bytes of one kernel.
inline constexpr std::size_t kRecordBytes = 20;

/// The bits of records, with these ranges. There are no lengths: their codes are 0 and mean nothing.
KernelScales recordScales(const QuantizeRanges& ranges);

/// The codes of a kernel; `bytes` has kRecordBytes.
KernelCodes readRecord(std::span<const std::uint8_t> bytes);

}  // namespace heatskin
