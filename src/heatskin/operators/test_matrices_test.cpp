#include "heatskin/operators/test_matrices.h"

#include <cmath>
#include <cstdint>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

namespace heatskin::testing {

DenseOperator denseOperator(const Operators& operators, std::size_t index) {
  const Eigen::Index n = operators.vertex_count;
  DenseOperator dense{Eigen::MatrixXd::Zero(n, n), Eigen::VectorXd(n)};
  for (std::uint32_t v = 0; v < operators.vertex_count; ++v) {
    dense.scale[v] = 1 / std::sqrt(operators.mass[v]);
    for (std::uint32_t k = operators.begin[v]; k < operators.begin[v + 1]; ++k) {
      const std::uint32_t w = operators.columns[k];
      dense.matrix(v, w) = operators.stiffness[index][k] / std::sqrt(operators.mass[v] * operators.mass[w]);
    }
  }
  return dense;
}

DenseEigen denseEigen(const Eigen::MatrixXd& matrix) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(matrix);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

Eigen::MatrixXd product(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  return a * b;
}

Eigen::MatrixXd spectralSum(const Eigen::MatrixXd& q, const Eigen::VectorXd& values) {
  return product(q * values.asDiagonal(), q.transpose());
}

Eigen::MatrixXd randomOrthogonal(Eigen::Index size) {
  const Eigen::MatrixXd random = Eigen::MatrixXd::Random(size, size);
  return denseEigen(random + random.transpose()).vectors;
}

namespace {

TEST(TestMatrices, EigenpairsAndSumsGiveTheMatrixBack) {
  const Eigen::MatrixXd random = Eigen::MatrixXd::Random(20, 20), matrix = random + random.transpose();
  const DenseEigen eigen = denseEigen(matrix);
  EXPECT_LT((spectralSum(eigen.vectors, eigen.values) - matrix).cwiseAbs().maxCoeff(), 1e-13);
  for (int i = 1; i < 20; ++i)
    EXPECT_LE(eigen.values[i - 1], eigen.values[i]);
  const Eigen::MatrixXd q = randomOrthogonal(20);
  EXPECT_LT((product(q.transpose(), q) - Eigen::MatrixXd::Identity(20, 20)).cwiseAbs().maxCoeff(), 1e-13);
  double entry = 0;
  for (int k = 0; k < 20; ++k)
    entry += q(3, k) * matrix(k, 5);
  EXPECT_NEAR(product(q, matrix)(3, 5), entry, 1e-13);
}

}  // namespace
}  // namespace heatskin::testing
