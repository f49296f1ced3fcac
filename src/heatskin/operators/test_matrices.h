#pragma once

// Dense truths for tests of operators.

#include <cstddef>

#include <Eigen/Core>

#include "heatskin/operators/operators.h"

namespace heatskin::testing {

/// A = M^-1/2 L M^-1/2 of one operator, with the diagonal of M^-1/2.
struct DenseOperator {
  Eigen::MatrixXd matrix;
  Eigen::VectorXd scale;
};

DenseOperator denseOperator(const Operators& operators, std::size_t index);

/// Eigenvalues, rising, and eigenvectors (columns) of a symmetric matrix, by Eigen.
struct DenseEigen {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
};

DenseEigen denseEigen(const Eigen::MatrixXd& matrix);

/// a b. Written with these functions, tests compile Eigen's solver and its product once, not once for every
/// combination of expressions: that took half a minute.
Eigen::MatrixXd product(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b);

/// Q diag(values) Q^T of the columns of Q.
Eigen::MatrixXd spectralSum(const Eigen::MatrixXd& q, const Eigen::VectorXd& values);

/// An orthogonal matrix with nothing special about it.
Eigen::MatrixXd randomOrthogonal(Eigen::Index size);

}  // namespace heatskin::testing
