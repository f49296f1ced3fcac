#pragma once

// The anisotropic Laplacians of a surface (METHOD section 6) and how a kernel mixes four of them.
//
// Operator (angle, alpha) lets heat spread freely along its long axis, the face's first axis turned by
// `angle`, and 1 / (1 + alpha) as fast across it: the convention of KernelSet::angles and
// docs/conventions.md. (HKTex labels its operators by the axis across.) Its stiffness matrix is that of
// linear finite elements with the diffusion tensor D = l l^T + n n^T / (1 + alpha), l the long axis and n the
// axis across; for the isotropic operator D = I, the cotangent Laplacian. The cotangent-like edge weights of
// METHOD 6 are the same numbers.
//
// Hence every matrix is symmetric, has zero row sums and is positive semidefinite on any mesh, although on
// obtuse triangles, and for large alpha on most meshes, many single weights are negative: x^T L x is a sum
// over faces of area * grad(x)^T D grad(x). Negative weights are kept as they are. What they cost is the
// maximum principle: heat may dip below zero and rise above its start.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "heatskin/surface/surface.h"

namespace heatskin {

inline constexpr std::size_t kGridAngles = 7;          ///< 0, 30, ..., 180 degrees
inline constexpr std::size_t kDistinctGridAngles = 6;  ///< 180 degrees is the same matrix as 0
inline constexpr std::array<double, 7> kGridAnisotropies = {1, 5, 15, 30, 60, 100, 200};
inline constexpr double kGridAngleStep = std::numbers::pi / 6;

/// Operators are numbered angle * 7 + anisotropy, 42 of them; the isotropic one comes last.
inline constexpr std::uint32_t kIsotropic = 42;
inline constexpr std::uint32_t kOperatorCount = 43;

/// Index of the grid operator; `angle` < 7, `anisotropy` < 7.
constexpr std::uint32_t operatorIndex(std::size_t angle, std::size_t anisotropy) {
  return static_cast<std::uint32_t>(angle % kDistinctGridAngles * kGridAnisotropies.size() + anisotropy);
}

/// Angle of the long axis in radians, in [0, pi); 0 for the isotropic operator.
constexpr double operatorAngle(std::uint32_t index) {
  return index == kIsotropic ? 0 : static_cast<double>(index / kGridAnisotropies.size()) * kGridAngleStep;
}

/// alpha; 0 for the isotropic operator.
constexpr double operatorAnisotropy(std::uint32_t index) {
  return index == kIsotropic ? 0 : kGridAnisotropies[index % kGridAnisotropies.size()];
}

/// A kernel between four grid operators: bilinear in the angle and in log(1 + anisotropy).
template <class T>
struct GridWeightsOf {
  std::array<std::uint32_t, 4> operators;  ///< four different indices below 42
  std::array<T, 4> weights;                ///< in [0, 1], sum 1
  std::array<T, 4> d_angle;                ///< derivatives of the weights, per radian; sum 0
  std::array<T, 4> d_anisotropy;           ///< per unit of anisotropy; sum 0
};
using GridWeights = GridWeightsOf<float>;

/// Both parameters are clamped to the grid, the angle is not wrapped (METHOD 6). A clamped parameter has
/// derivative zero; at the very end of its range it has the derivative from inside, so that an optimiser can
/// leave. At an inner node the derivative is that of the cell above. NaN counts as the lower end.
template <class T>
GridWeightsOf<T> gridWeightsOf(T angle, T anisotropy) {
  constexpr T kStep = static_cast<T>(kGridAngleStep), kMaxAngle = static_cast<T>(std::numbers::pi);
  constexpr T kMin = static_cast<T>(kGridAnisotropies.front()),
              kMax = static_cast<T>(kGridAnisotropies.back());
  const T theta = angle > 0 ? std::min(angle, kMaxAngle) : T(0);
  const T eta = anisotropy > kMin ? std::min(anisotropy, kMax) : kMin;
  const std::size_t a = std::min(static_cast<std::size_t>(theta / kStep), kDistinctGridAngles - 1);
  std::size_t e = 0;
  while (e + 2 < kGridAnisotropies.size() && eta >= static_cast<T>(kGridAnisotropies[e + 1]))
    ++e;
  const double low = std::log1p(kGridAnisotropies[e]), range = std::log1p(kGridAnisotropies[e + 1]) - low;
  const T u = std::clamp(theta / kStep - static_cast<T>(a), T(0), T(1));
  const T v = std::clamp(static_cast<T>((std::log1p(static_cast<double>(eta)) - low) / range), T(0), T(1));
  const T du = theta == angle ? 1 / kStep : T(0);
  const T dv = eta == anisotropy ? static_cast<T>(1 / ((1 + static_cast<double>(eta)) * range)) : T(0);
  return {
      {operatorIndex(a, e), operatorIndex(a, e + 1), operatorIndex(a + 1, e), operatorIndex(a + 1, e + 1)},
      {(1 - u) * (1 - v), (1 - u) * v, u * (1 - v), u * v},
      {-du * (1 - v), -du * v, du * (1 - v), du * v},
      {-(1 - u) * dv, (1 - u) * dv, -u * dv, u * dv}};
}

inline GridWeights gridWeights(float angle, float anisotropy) {
  return gridWeightsOf<float>(angle, anisotropy);
}

/// All operators of a surface over one sparsity pattern: V rows, sorted columns, both triangles and the
/// diagonal.
struct Operators {
  std::uint32_t vertex_count = 0;              ///< V
  std::vector<std::uint32_t> begin;            // [V + 1] first entry of a row
  std::vector<std::uint32_t> columns;          // [nnz] increasing within a row
  std::vector<std::uint32_t> diagonal;         // [V] entry of the diagonal
  std::vector<double> mass;                    // [V] lumped: a third of the area around; positive
  std::vector<std::vector<double>> stiffness;  // [43][nnz]
  std::vector<std::uint32_t> components;       // [V] of the graph the matrices live on
  std::uint32_t component_count = 0;           ///< dimension of every operator's null space

  std::size_t entryCount() const { return columns.size(); }
};

/// Assembles all 43. Faces whose area is lost in rounding are skipped. A vertex without area (no face, or
/// only skipped ones) gets the mean mass of the others and a row of zeros: a component of its own in which
/// heat stays where it is.
Operators assembleOperators(const Surface& surface);

/// One operator of any angle (radians) and anisotropy (at least 0), off the grid, too. It takes the place of
/// the grid operator with the nearest anisotropy (that of kIsotropic if `anisotropy` is 0), where the solvers
/// expect about its spectrum; the others are empty.
struct SingleOperator {
  Operators operators;
  std::uint32_t index = kIsotropic;  ///< of the only matrix in `operators`

  const std::vector<double>& stiffness() const { return operators.stiffness[index]; }
};
SingleOperator assembleOperator(const Surface& surface, double angle, double anisotropy);

}  // namespace heatskin
