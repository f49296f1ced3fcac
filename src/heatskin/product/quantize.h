#pragma once

// Kernels as 20 bytes each: the buffer of HSK_kernel_texture (docs/format.md). The codes have fixed steps, so
// reading and writing again changes nothing.

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
  Vec3f color = Vec3f::Zero();  ///< residual
};

/// Ends of the scales of the codes; a file says which it used.
struct QuantizeRanges {
  std::array<double, 2> anisotropy = {KernelRanges::kMinAnisotropy, KernelRanges::kMaxAnisotropy};
  std::array<double, 2> threshold = {KernelRanges::kMinThreshold, KernelRanges::kMaxThreshold};
  std::array<double, 2> sharpness = {KernelRanges::kMinSharpness, KernelRanges::kMaxSharpness};
};

/// Radians from one code of an angle to the next.
inline constexpr double kAngleStep = std::numbers::pi / 65536;

/// Bytes of one kernel.
inline constexpr std::size_t kKernelBytes = 20;

/// Writes kernel codes; values beyond the ranges are clamped, and all must be numbers.
void packKernel(const StoredKernel& kernel, const QuantizeRanges& ranges,
                std::span<std::uint8_t, kKernelBytes> out);

/// Reads kernel codes. Fails with a reason if a code means nothing (barycentric coordinates beyond 1, unused
/// colour codes); the triangle is not checked.
std::optional<std::string> unpackKernel(std::span<const std::uint8_t, kKernelBytes> bytes,
                                        const QuantizeRanges& ranges, StoredKernel& out);

}  // namespace heatskin
