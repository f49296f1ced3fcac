#pragma once

// Kernels as 20 bytes each, and two more for every channel beyond base_color: the buffer of
// HSK_kernel_texture (docs/format.md). The codes have fixed steps, so reading and writing again changes
// nothing.

#include <array>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <vector>

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
  ChannelValues channels = Vec3f::Zero();  ///< [C] residuals in [-1, 1]; the first three are base_color's
};

/// Ends of the scales of the codes; a file says which it used.
struct QuantizeRanges {
  std::array<double, 2> anisotropy = {KernelRanges::kMinAnisotropy, KernelRanges::kMaxAnisotropy};
  std::array<double, 2> threshold = {KernelRanges::kMinThreshold, KernelRanges::kMaxThreshold};
  std::array<double, 2> sharpness = {KernelRanges::kMinSharpness, KernelRanges::kMaxSharpness};
};

/// Radians from one code of an angle to the next.
inline constexpr double kAngleStep = std::numbers::pi / 65536;

/// Part of the range from one code of a channel beyond base_color to the next.
inline constexpr double kChannelStep = 1.0 / 32767;

/// Bytes of one kernel with the three channels of base_color.
inline constexpr std::size_t kKernelBytes = 20;

/// Bytes of one kernel with 3 channels or more.
constexpr std::size_t kernelBytes(std::size_t channels) {
  return kKernelBytes + 2 * (channels - 3);
}

/// Writes kernel codes; values beyond the ranges are clamped, and all must be numbers. `out` has
/// kernelBytes() of the kernel's channels.
void packKernel(const StoredKernel& kernel, const QuantizeRanges& ranges, std::span<std::uint8_t> out);

/// Reads the codes of a kernel with as many channels as `bytes` has room for. Fails with a reason if a code
/// means nothing (barycentric coordinates beyond 1, unused codes of channels); the triangle is not checked.
std::optional<std::string> unpackKernel(std::span<const std::uint8_t> bytes, const QuantizeRanges& ranges,
                                        StoredKernel& out);

}  // namespace heatskin
