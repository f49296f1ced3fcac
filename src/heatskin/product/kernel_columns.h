#pragma once

// Codes of all kernels as columns in one zlib stream: the buffer of HSK_kernel_texture (docs/format.md). A
// column is cut into planes of a byte per kernel, and deflate gets a Huffman table for each.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/product/deflate.h"
#include "heatskin/product/quantize.h"

namespace heatskin {

/// The order of kernels in a file: by triangle, then by the first barycentric code. Equal ones keep theirs.
void sortKernels(std::vector<KernelCodes>& codes);

/// Bits of the largest difference of neighbouring triangles of sorted kernels, at least 1.
int triangleBits(std::span<const KernelCodes> sorted);

/// Bytes of the planes of one kernel.
std::size_t planeBytes(const KernelScales& scales);

/// `sorted` is sortKernels()'s, with no more bits than the scales say.
std::vector<std::uint8_t> packColumns(std::span<const KernelCodes> sorted, const KernelScales& scales);

/// The codes of `count` kernels, each of no more bits than the scales say. Refused: anything but one zlib
/// stream of exactly that many planes, and codes with more bits. Allocates no more than kMostInflation times
/// what is there.
Result<std::vector<KernelCodes>> unpackColumns(std::span<const std::uint8_t> bytes, std::size_t count,
                                               const KernelScales& scales);

/// Other values of the same kernels in the same order: columns of `channels` (increasing; all of a group)
/// alone. With `base` codes are differences from its codes, as values of variants that are alike want it.
std::vector<std::uint8_t> packValues(std::span<const KernelCodes> sorted, std::span<const KernelCodes> base,
                                     const KernelScales& scales, std::span<const std::size_t> channels);

/// Puts them in the place of the codes of those channels; `differences`: from these codes. Refused: what
/// unpackColumns() refuses.
Result<void> unpackValues(std::span<const std::uint8_t> bytes, const KernelScales& scales,
                          std::span<const std::size_t> channels, bool differences,
                          std::vector<KernelCodes>& codes);

}  // namespace heatskin
