#pragma once

// Where a field evaluator takes heat from: HKTex from eigenvectors, ThermalRF from random factors.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "heatskin/operators/operators.h"

namespace heatskin::fields {

/// A kernel as a heat source sees it.
struct Pose {
  std::array<std::uint32_t, 3> corners;               ///< vertices of its face
  std::array<float, 3> barycentric;                   ///< sum 1
  std::array<float, 3> barycentric_x, barycentric_y;  ///< derivatives along the face's axes; sum 0
  float angle, anisotropy;
};

/// Normalised heat h(p, v) / (h(p, p) + 1e-8) of one kernel at some vertices, and its derivatives with
/// respect to the kernel's position (face coordinates), angle and anisotropy. Pointers to [vertices] floats,
/// with room for a whole vector at the end.
struct HeatRows {
  float *value, *d_x, *d_y, *d_angle, *d_anisotropy;
};

/// Keeps the quotient finite where a kernel has no heat of its own (METHOD section 7).
inline constexpr float kSelfEpsilon = 1e-8f;

/// See the head of the file.
class HeatSource {
 public:
  virtual ~HeatSource() = default;

  /// The evaluator's lists are new, with room for `pairs` pairs. `from` is [pairs]: which pair of
  /// the lists before had the same vertex and a kernel of the same number (or kNone).
  virtual void reset(std::size_t pairs, std::size_t kernels, std::span<const std::uint32_t> from) = 0;

  /// Heat of a kernel at `vertices`, which belong to its pairs `pairs`. What depends on less than the pose
  /// may be remembered for a pair. Different kernels may run concurrently.
  virtual void heat(std::uint32_t kernel, const Pose& pose, std::span<const std::uint32_t> pairs,
                    std::span<const std::uint32_t> vertices, const HeatRows& out) = 0;
};

}  // namespace heatskin::fields
