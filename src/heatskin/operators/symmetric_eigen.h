#pragma once

// Eigenvectors of dense symmetric matrices of a few hundred rows.

#include <cstddef>
#include <vector>

namespace heatskin {

struct SymmetricEigen {
  std::vector<double> values;   // [n] ascending
  std::vector<double> vectors;  // [n, count] columns are the orthonormal eigenvectors asked for
};

/// All eigenvalues and eigenvectors `first` .. `first + count - 1` in ascending order of the symmetric
/// `matrix` [n, n], which is overwritten. Eigenvalues are good to a few roundings of the largest one,
/// eigenvectors are orthonormal to rounding whatever the eigenvalues. An all-NaN answer means the matrix was
/// not finite.
SymmetricEigen symmetricEigen(std::size_t n, std::vector<double>& matrix, std::size_t first,
                              std::size_t count);

}  // namespace heatskin
