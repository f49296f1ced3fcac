#include "heatskin/operators/dense_kernels.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"
#include "heatskin/operators/test_matrices.h"

namespace heatskin {
namespace {

template <class T>
std::vector<T> randomNumbers(std::size_t size, std::uint64_t stream) {
  const RandomStream random(5, stream);
  std::vector<T> values(size);
  for (std::size_t i = 0; i < size; ++i)
    values[i] = static_cast<T>(2 * random.uniform(i) - 1);
  return values;
}

/// Roundings per term of a dot product of numbers below 1.
template <class T>
double roundings(std::size_t terms) {
  return 2 * static_cast<double>(terms) * std::numeric_limits<T>::epsilon();
}

template <class T>
void checkProduct(std::size_t rows, std::size_t columns, const LeftFactor<T>& a, T sign) {
  const std::size_t inner = a.segments * a.segment_length;
  const std::size_t b_stride = columns + 3, c_stride = columns + 5;
  const auto b = randomNumbers<T>(inner * b_stride, 2);
  auto c = randomNumbers<T>(rows * c_stride, 3);
  const auto before = c;
  multiplyAdd(rows, columns, sign, a, b.data(), b_stride, c.data(), c_stride);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < c_stride; ++j) {
      double expected = static_cast<double>(before[i * c_stride + j]);
      if (j < columns) {
        for (std::size_t k = 0; k < inner; ++k) {
          const T left = a.data[k / a.segment_length * a.segment_stride + i * a.row_stride +
                                k % a.segment_length * a.inner_stride];
          expected += static_cast<double>(sign) * static_cast<double>(left) *
                      static_cast<double>(b[k * b_stride + j]);
        }
      }
      ASSERT_NEAR(static_cast<double>(c[i * c_stride + j]), expected, roundings<T>(inner + 1))
          << rows << " x " << inner << " x " << columns << " at " << i << ", " << j;
    }
  }
}

template <class T>
void checkProducts() {
  for (const std::size_t rows : {1u, 7u, 16u, 131u}) {
    for (const std::size_t columns : {1u, 8u, 16u, 33u, 70u}) {
      for (const std::size_t inner : {1u, 16u, 300u}) {
        const auto a = randomNumbers<T>(rows * inner, 1);
        checkProduct<T>(rows, columns, {a.data(), inner, 1, 1, inner, 0}, T(1));
        checkProduct<T>(rows, columns, {a.data(), 1, rows, 1, inner, 0}, T(-1));
      }
    }
  }
  // Blocks of columns that lie apart, short and long ones.
  const auto a = randomNumbers<T>(40 * 16 * 20, 1);
  checkProduct<T>(40, 16, {a.data(), 16, 1, 20, 16, 40 * 16}, T(-1));
  checkProduct<T>(40, 50, {a.data(), 16, 1, 20, 16, 40 * 16}, T(1));
  const auto wide = randomNumbers<T>(3 * 10 * 300, 1);
  checkProduct<T>(10, 50, {wide.data(), 300, 1, 3, 300, 10 * 300}, T(1));
}

TEST(DenseKernels, ProductsEqualPlainSums) {
  checkProducts<float>();
  checkProducts<double>();
}

TEST(DenseKernels, RotationsRunLastFirst) {
  constexpr std::size_t kRows = 5, kColumns = 70;
  const std::vector<RowRotation> rotations = {{std::cos(0.3), std::sin(0.3), 3},
                                              {std::cos(1.1), std::sin(1.1), 2},
                                              {std::cos(2.0), std::sin(2.0), 0},
                                              {std::cos(0.7), std::sin(0.7), 1}};
  auto z = randomNumbers<double>(kRows * kColumns, 4);
  auto expected = z;
  for (std::size_t r = rotations.size(); r-- > 0;) {
    for (std::size_t j = 0; j < kColumns; ++j) {
      double &a = expected[rotations[r].row * kColumns + j],
             &b = expected[(rotations[r].row + 1) * kColumns + j];
      const double old = a;
      a = rotations[r].cosine * a - rotations[r].sine * b;
      b = rotations[r].sine * old + rotations[r].cosine * b;
    }
  }
  applyRotationsReversed(rotations, kRows, kColumns, z.data());
  for (std::size_t i = 0; i < z.size(); ++i)
    ASSERT_NEAR(z[i], expected[i], 1e-14);
}

/// A sparse matrix by columns.
struct Compressed {
  std::vector<int> begin = {0}, indices = {};
  std::vector<double> values = {};
};

Compressed compressed(const Eigen::MatrixXd& matrix) {
  Compressed sparse;
  for (int j = 0; j < matrix.cols(); ++j) {
    for (int i = 0; i < matrix.rows(); ++i) {
      if (matrix(i, j) == 0) continue;
      sparse.indices.push_back(i);
      sparse.values.push_back(matrix(i, j));
    }
    sparse.begin.push_back(static_cast<int>(sparse.values.size()));
  }
  return sparse;
}

TEST(DenseKernels, SolvesWithAFactor) {
  constexpr int kSize = 40;
  Eigen::MatrixXd dense = Eigen::MatrixXd::Zero(kSize, kSize);
  const RandomStream random(6, 1);
  for (int i = 0; i < kSize; ++i) {
    dense(i, i) = 4;
    for (int j = 0; j < i; ++j) {
      if (random.uniform(static_cast<std::uint64_t>(i * kSize + j)) < 0.1) dense(i, j) = dense(j, i) = -0.5;
    }
  }
  // L with a diagonal of ones, which is not stored, and D, from the textbook.
  Eigen::MatrixXd lower = Eigen::MatrixXd::Zero(kSize, kSize);
  Eigen::VectorXd diagonal(kSize);
  for (int j = 0; j < kSize; ++j) {
    diagonal[j] = dense(j, j);
    for (int k = 0; k < j; ++k)
      diagonal[j] -= lower(j, k) * lower(j, k) * diagonal[k];
    for (int i = j + 1; i < kSize; ++i) {
      double sum = dense(i, j);
      for (int k = 0; k < j; ++k)
        sum -= lower(i, k) * lower(j, k) * diagonal[k];
      lower(i, j) = sum / diagonal[j];
    }
  }
  const Compressed columns = compressed(lower), rows = compressed(lower.transpose());
  ASSERT_LT(columns.values.size(), kSize * (kSize - 1) / 2u) << "the factor has zeros, too";
  const Eigen::VectorXd inverse = diagonal.cwiseInverse();
  const LdltView view{kSize,
                      columns.begin.data(),
                      columns.indices.data(),
                      columns.values.data(),
                      rows.begin.data(),
                      rows.indices.data(),
                      rows.values.data(),
                      inverse.data()};
  using Block = Eigen::Matrix<double, kSize, static_cast<int>(kVectorBlock), Eigen::RowMajor>;
  const Block b = Block::Random();
  Block x = b;
  solveLdlt(view, x.data(), x.data());
  EXPECT_LT((testing::product(dense, x) - b).cwiseAbs().maxCoeff(), 1e-14);
}

TEST(DenseKernels, HalvesRoundToNearestAndClamp) {
  const std::vector<float> values = {0, 1, -1, 0.1f, 65504, 65519, 1e6f, -1e6f, 1e-7f, 2049};
  std::vector<std::uint16_t> halves(values.size());
  std::vector<float> back(values.size());
  halfFromFloat(values, halves);
  EXPECT_EQ(halves[1], 0x3C00);
  EXPECT_EQ(halves[2], 0xBC00);
  floatFromHalf(halves, back);
  const std::vector<float> expected = {0,     1,     -1,     0.0999755859375f, 65504,
                                       65504, 65504, -65504, 0x1p-23f,         2048};
  EXPECT_EQ(back, expected);
}

}  // namespace
}  // namespace heatskin
