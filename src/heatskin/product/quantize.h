#pragma once

// Values of a kernel as whole numbers of few bits, and back (docs/format.md). The codes have fixed steps, so
// reading and writing again changes nothing.

#include <array>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/base/vec.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/product/source_triangles.h"

namespace heatskin {

/// A kernel as the file sees it: on a triangle of the file.
struct StoredKernel {
  TrianglePoint position;
  double angle = 0;  ///< [0, pi), SourceTriangles::axisInTriangle
  float anisotropy = 1;
  float threshold = 0.5f;
  float sharpness = 10;
  float length = 1;
  ChannelValues channels = Vec3f::Zero();  ///< [C] residuals in [-1, 1]; the first three are base_color's
};

/// Ends of the scales of the codes; a file says which it used.
struct QuantizeRanges {
  std::array<double, 2> anisotropy = {KernelRanges::kMinAnisotropy, KernelRanges::kMaxAnisotropy};
  std::array<double, 2> threshold = {KernelRanges::kMinThreshold, KernelRanges::kMaxThreshold};
  std::array<double, 2> sharpness = {KernelRanges::kMinSharpness, KernelRanges::kMaxSharpness};
  std::array<double, 2> length = {KernelRanges::kMinLength, KernelRanges::kMaxLength};
};

/// Bits of the codes; a file says which it used. With these a fit of 44 dB loses 0.007 dB, one of 50 dB
/// 0.018 dB (docs/format.md, *Size and loss*); every bit less in one column costs it 6 dB of agreement.
struct KernelBits {
  int triangle = 32;  ///< of the largest difference of neighbours in the order of triangles
  int barycentric = 12;
  int angle = 9;
  int anisotropy = 9;
  int threshold = 12;
  int sharpness = 8;
  /// A multiple of 3, so that the length 1 has a code: it is 10/14 of the way from 2^-10 to 2^4, and 2^n - 1
  /// is a multiple of 7 if and only if n is one of 3.
  int length = 12;
};

/// Bits of the residuals of base_color and of other groups of channels. Others may be heights or normals,
/// where steps show more easily.
inline constexpr int kColorBits = 11, kOtherChannelBits = 13;

/// What turns codes into values.
struct KernelScales {
  QuantizeRanges ranges;
  KernelBits bits;
  std::vector<int> channel_bits;  ///< [C] 2 to 16
};

/// Bits for every channel of a layout.
std::vector<int> defaultChannelBits(const ChannelLayout& layout, int coarser = 0);

/// The codes of a kernel.
struct KernelCodes {
  std::uint32_t triangle = 0;
  std::uint32_t b0 = 0, b1 = 0;  ///< of corners 0 and 1; that of corner 2 is what is missing to 2^bits - 1
  std::uint32_t angle = 0, anisotropy = 0, threshold = 0, sharpness = 0, length = 0;
  std::array<std::uint16_t, kMaxChannels> channels{};

  bool operator==(const KernelCodes&) const = default;
};

/// Radians from one code of an angle to the next.
constexpr double angleStep(int bits) {
  return std::numbers::pi / static_cast<double>(std::uint32_t{1} << bits);
}

/// Steps from the code of a residual of 0 to that of 1.
constexpr std::uint32_t residualSteps(int bits) {
  return (std::uint32_t{1} << (bits - 1)) - 1;
}

/// Codes of a kernel; values beyond the ranges are clamped, and all must be numbers.
KernelCodes encodeKernel(const StoredKernel& kernel, const KernelScales& scales);

/// Values of codes that have no more bits than the scales say. Fails with a reason if one means nothing
/// (barycentric coordinates beyond 1, unused codes of channels); the triangle is not checked.
std::optional<std::string> decodeKernel(const KernelCodes& codes, const KernelScales& scales,
                                        StoredKernel& out);

}  // namespace heatskin
