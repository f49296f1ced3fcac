#pragma once

// The smallest eigenpairs of the generalised problems L phi = lambda M phi of all operators of a surface
// (METHOD section 7), L the stiffness and M the lumped mass.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/operators/operators.h"

namespace heatskin {

/// Eigenpairs per operator, when the surface has more vertices than that.
inline constexpr std::size_t kEigenpairs = 256;

struct EigenOptions {
  std::size_t count = kEigenpairs;

  /// Largest part of an eigenvector outside of the space it is taken from, relative. The residual |L phi -
  /// lambda M phi| / |lambda M phi| in the norm of M^-1 is of this order. Rounding phi to float costs as
  /// much.
  double tolerance = 1e-6;

  /// Parts of the surface with at most so many vertices are solved as dense matrices. There the dense solver
  /// is about as fast as the sparse one.
  std::size_t dense_vertices = 600;
};

/// k pairs of one operator.
struct Eigenpairs {
  std::vector<double> values;  // [k] ascending; exactly 0 for the constants of the components
  std::vector<float> vectors;  // [V, k] row per vertex; columns orthonormal: phi^T M phi = I
};

/// How well `pairs` solve an operator: |L Phi - M Phi Lambda| / |M Phi Lambda|, Frobenius norms over all
/// columns in the norm of M^-1. This is what the paper's "relative residual" is compared with: the noise
/// that rounding to float puts into a vector counts at most lambda_max / lambda, so that single small
/// eigenvalues say nothing about a solver.
double eigenResidual(const Operators& operators, std::uint32_t index, std::span<const double> values,
                     std::span<const float> vectors);

/// Solves the operators of a surface one by one. What depends on the sparsity pattern only (components,
/// elimination order) is done once. The operators must outlive the solver.
class EigenSolver {
 public:
  explicit EigenSolver(const Operators& operators, const EigenOptions& options = {});
  ~EigenSolver();
  EigenSolver(EigenSolver&&) noexcept;

  /// k: EigenOptions::count, or V - 1 if that is less.
  std::size_t count() const;

  /// The k smallest pairs of one operator, with their multiplicity. The surface's components are solved
  /// apart, so each contributes its constant. May run concurrently; the result depends on nothing but the
  /// operators and the options. Fails when the pairs do not converge.
  Result<Eigenpairs> solve(std::uint32_t index) const;

  /// Number of eigenvalues of an operator below `value`, from the signs of the pivots of L - value M
  /// (Sylvester's law of inertia): an independent check that no pair was missed. `value` must not be an
  /// eigenvalue.
  std::size_t countBelow(std::uint32_t index, double value) const;

  /// All operators, in the order of their numbers, on all threads.
  Result<std::vector<Eigenpairs>> solveAll(Progress& progress = silentProgress()) const;

 private:
  struct Part;

  const Operators& operators_;
  EigenOptions options_;
  std::vector<Part> parts_;
};

}  // namespace heatskin
