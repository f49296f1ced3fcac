#pragma once

// Block Lanczos iteration for the smallest eigenvalues of a sparse matrix, with a polynomial of its inverse.

#include <cstddef>
#include <span>
#include <vector>

#include "heatskin/operators/dense_kernels.h"

namespace heatskin {

struct LanczosResult {
  bool converged = false;
  std::size_t basis_size = 0;   ///< vectors of the Krylov space
  std::vector<double> vectors;  // [n, count] orthonormal columns, by ascending eigenvalue of A
};

/// Eigenvectors of the `count` smallest eigenvalues of the positive definite matrix A = L D L^T orthogonal to
/// the unit vector `null` [n], which is an eigenvector itself. All of these eigenvalues must be below `cut`,
/// best with a sixth more of others. Eigenvalues of multiplicity up to kVectorBlock come out complete. Ends
/// when the part of every vector outside of the space is below `tolerance`, or when the space has no more
/// room in n dimensions.
LanczosResult blockLanczos(const LdltView& factor, std::span<const double> null, std::size_t count,
                           double cut, double tolerance);

}  // namespace heatskin
