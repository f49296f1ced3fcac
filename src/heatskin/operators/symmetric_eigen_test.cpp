#include "heatskin/operators/symmetric_eigen.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "heatskin/operators/test_matrices.h"

namespace heatskin {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Roundings of the largest entry that a few hundred rotations leave.
constexpr double kTolerance = 1e-13;

void check(const Eigen::MatrixXd& a, std::size_t first, std::size_t count) {
  const auto n = static_cast<std::size_t>(a.rows());
  std::vector<double> matrix(a.data(), a.data() + a.size());
  const SymmetricEigen eigen = symmetricEigen(n, matrix, first, count);
  const testing::DenseEigen truth = testing::denseEigen(a);
  const double scale = std::max(1e-300, truth.values.cwiseAbs().maxCoeff()) * static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i)
    ASSERT_NEAR(eigen.values[i], truth.values[static_cast<Eigen::Index>(i)], kTolerance * scale);
  const Eigen::Map<const RowMajor> z(eigen.vectors.data(), a.rows(), static_cast<Eigen::Index>(count));
  const auto identity = Eigen::MatrixXd::Identity(z.cols(), z.cols());
  EXPECT_LT((testing::product(z.transpose(), z) - identity).cwiseAbs().maxCoeff(),
            kTolerance * static_cast<double>(n));
  const Eigen::Map<const Eigen::VectorXd> values(eigen.values.data() + first, z.cols());
  EXPECT_LT((testing::product(a, z) - z * values.asDiagonal()).cwiseAbs().maxCoeff(), kTolerance * scale);
}

TEST(SymmetricEigen, AgreesWithEigen) {
  for (const int n : {1, 2, 3, 17, 90}) {
    const Eigen::MatrixXd a = Eigen::MatrixXd::Random(n, n);
    check(a + a.transpose(), 0, static_cast<std::size_t>(n));
  }
}

TEST(SymmetricEigen, SomeVectorsOnly) {
  const Eigen::MatrixXd a = Eigen::MatrixXd::Random(50, 50);
  check(a + a.transpose(), 40, 10);
  check(a + a.transpose(), 5, 7);
}

TEST(SymmetricEigen, RepeatedAndGradedEigenvalues) {
  check(Eigen::MatrixXd::Identity(20, 20), 0, 20);
  check(Eigen::MatrixXd::Zero(5, 5), 0, 5);
  check(Eigen::MatrixXd::Ones(30, 30), 0, 30);  // one eigenvalue 30, the others 0
  Eigen::VectorXd values(30);
  for (int i = 0; i < 30; ++i)
    values[i] = std::pow(10.0, i / 3 - 5);
  const Eigen::MatrixXd graded = testing::spectralSum(testing::randomOrthogonal(30), values);
  check(0.5 * (graded + graded.transpose()), 0, 30);
  check(1e-200 * (graded + graded.transpose()), 0, 30);
}

TEST(SymmetricEigen, SaysSoWhenTheMatrixIsNotFinite) {
  std::vector<double> matrix(9, 1.0);
  matrix[4] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(symmetricEigen(3, matrix, 0, 3).values[0]));
}

}  // namespace
}  // namespace heatskin
