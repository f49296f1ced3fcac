#include "heatskin/operators/align.h"

#include <algorithm>
#include <cmath>

#include <Eigen/QR>

#include "heatskin/base/parallel.h"
#include "heatskin/operators/assignment.h"
#include "heatskin/operators/dense_kernels.h"
#include "heatskin/operators/symmetric_eigen.h"

namespace heatskin {
namespace {

/// Rows of a product that one thread computes at a time; sums are never split, so threads do not change them.
constexpr std::size_t kProductRows = 64;

/// C = A B in blocks of rows on all threads; C is [rows, columns].
template <class T>
std::vector<T> product(std::size_t rows, std::size_t columns, const LeftFactor<T>& a, const T* b) {
  std::vector<T> c(rows * columns, T(0));
  parallelFor(rows, kProductRows, [&](std::size_t first, std::size_t last) {
    LeftFactor<T> part = a;
    part.data += first * a.row_stride;
    multiplyAdd(last - first, columns, T(1), part, b, columns, c.data() + first * columns, columns);
  });
  return c;
}

}  // namespace

std::vector<double> closestOrthogonal(std::size_t n, const std::vector<double>& x) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  // X^T X = V S^2 V^T. The columns of X V are U S: Householder's QR of them, largest first, gives U with its
  // signs in R, and completes it where S vanishes.
  std::vector<double> gram = product<double>(n, n, {x.data(), 1, n, 1, n, 0}, x.data());
  const SymmetricEigen eigen = symmetricEigen(n, gram, 0, n);
  RowMajor v = Eigen::Map<const RowMajor>(eigen.vectors.data(), static_cast<Eigen::Index>(n),
                                          static_cast<Eigen::Index>(n));
  v.rowwise().reverseInPlace();
  const std::vector<double> scaled = product<double>(n, n, {x.data(), n, 1, 1, n, 0}, v.data());
  const Eigen::MatrixXd us = Eigen::Map<const RowMajor>(scaled.data(), v.rows(), v.cols());
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(us);
  RowMajor u = qr.householderQ();
  for (Eigen::Index i = 0; i < u.cols(); ++i) {
    if (qr.matrixQR()(i, i) < 0) u.col(i) *= -1;
  }
  const RowMajor v_transposed = v.transpose();
  return product<double>(n, n, {u.data(), n, 1, 1, n, 0}, v_transposed.data());
}

void alignTo(std::span<const double> mass, std::span<const float> reference, Eigenpairs& pairs) {
  const std::size_t k = pairs.values.size(), vertices = mass.size();
  std::vector<float> weighted(vertices * k);
  for (std::size_t v = 0; v < vertices; ++v) {
    const auto m = static_cast<float>(mass[v]);
    for (std::size_t c = 0; c < k; ++c)
      weighted[v * k + c] = m * pairs.vectors[v * k + c];
  }
  // Entry (i, j): reference column i with our column j.
  const std::vector<float> overlap =
      product<float>(k, k, {reference.data(), 1, k, 1, vertices, 0}, weighted.data());
  std::vector<double> gains(k * k), transposed(k * k);
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j < k; ++j) {
      gains[i * k + j] = std::abs(static_cast<double>(overlap[i * k + j]));
      transposed[j * k + i] = static_cast<double>(overlap[i * k + j]);
    }
  }
  const std::vector<std::uint32_t> chosen = bestAssignment(k, gains);
  std::vector<double> values(k);
  for (std::size_t i = 0; i < k; ++i)
    values[i] = pairs.values[chosen[i]];
  pairs.values = std::move(values);

  // Procrustes over all columns. Reordering the columns first would change nothing: the closest orthogonal
  // matrix to a reordered X is the reordered one. Signs, the third step of HKTex, are right already, because
  // reference^T M (turned basis) is positive semidefinite.
  const std::vector<double> turn = closestOrthogonal(k, transposed);
  const std::vector<float> rounded(turn.begin(), turn.end());
  pairs.vectors = product<float>(vertices, k, {pairs.vectors.data(), k, 1, 1, k, 0}, rounded.data());
}

void alignAll(const Operators& operators, std::span<const Eigenpairs> pairs,
              const std::function<void(std::uint32_t, const Eigenpairs&)>& take) {
  constexpr auto kStep = static_cast<std::uint32_t>(kGridAnisotropies.size());
  take(kAlignedIsotropic, pairs[kIsotropic]);
  std::vector<Eigenpairs> first_of_angle(kGridAngles);
  for (std::uint32_t a = 0; a < kGridAngles; ++a) {
    const auto& reference = a == 0 ? pairs[kIsotropic] : first_of_angle[a - 1];
    first_of_angle[a] = pairs[operatorOfAligned(a * kStep)];
    alignTo(operators.mass, reference.vectors, first_of_angle[a]);
    take(a * kStep, first_of_angle[a]);
  }
  parallelFor(kGridAngles, 1, [&](std::size_t first, std::size_t last) {
    for (auto a = static_cast<std::uint32_t>(first); a < last; ++a) {
      Eigenpairs reference = std::move(first_of_angle[a]);
      for (std::uint32_t e = 1; e < kStep; ++e) {
        Eigenpairs basis = pairs[operatorOfAligned(a * kStep + e)];
        alignTo(operators.mass, reference.vectors, basis);
        take(a * kStep + e, basis);
        reference = std::move(basis);
      }
    }
  });
}

}  // namespace heatskin
