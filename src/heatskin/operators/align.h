#pragma once

// Alignment of the eigenbases of neighbouring operators (METHOD section 7), so that they can be interpolated
// column by column.
//
// The chain: the first operator of the grid aligns to the isotropic basis, the first of every further angle
// to the first of the angle before, all others to the next smaller anisotropy of their angle; references are
// aligned bases already. The operators at 180 degrees are those at 0, but their aligned bases are not: the
// chain arrives there with other rotations. Hence 50 aligned bases from 43 sets of eigenpairs.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "heatskin/operators/eigenpairs.h"
#include "heatskin/operators/operators.h"

namespace heatskin {

/// Aligned bases are numbered angle * 7 + anisotropy for all 7 angles; the isotropic one comes last.
inline constexpr std::uint32_t kAlignedBases = 50;
inline constexpr std::uint32_t kAlignedIsotropic = 49;

/// The operator whose basis an aligned basis spans.
constexpr std::uint32_t operatorOfAligned(std::uint32_t aligned) {
  return aligned == kAlignedIsotropic ? kIsotropic : aligned % kIsotropic;
}

/// The four aligned bases that go with the four weights of a kernel.
template <class T>
constexpr std::array<std::uint32_t, 4> alignedBasesOf(const GridWeightsOf<T>& grid) {
  // The last two are those of the next angle, which does not wrap here.
  const auto step = static_cast<std::uint32_t>(kGridAnisotropies.size());
  return {grid.operators[0], grid.operators[1], grid.operators[0] + step, grid.operators[1] + step};
}

/// The orthogonal matrix closest to a [n, n] matrix X: U V^T of its singular value decomposition, [n, n].
/// Where X has no rank, an orthonormal completion. Good to about 1e-15 over the square of the singular value
/// concerned, and orthogonal to rounding always.
std::vector<double> closestOrthogonal(std::size_t n, const std::vector<double>& x);

/// Turns `pairs` so that its columns match those of the basis `reference` [V, k]: eigenvalues in the order of
/// the best assignment on |reference^T M phi|, vectors turned by the orthogonal matrix that brings them
/// closest to the reference.
void alignTo(std::span<const double> mass, std::span<const float> reference, Eigenpairs& pairs);

/// Aligns the eigenpairs of all operators (in the order of their numbers) and hands every aligned basis to
/// `take`, which may be called from several threads at once, once for every index.
void alignAll(const Operators& operators, std::span<const Eigenpairs> pairs,
              const std::function<void(std::uint32_t aligned, const Eigenpairs& basis)>& take);

}  // namespace heatskin
