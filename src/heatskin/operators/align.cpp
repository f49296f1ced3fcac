#include "heatskin/operators/align.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

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

/// Q of the QR factorisation of `a` [n, n] with no negative number on the diagonal of R. Eigen's costs a
/// third of the time it takes to compile this folder and multiplies at a tenth of the speed of our
/// reflectors.
std::vector<double> orthonormalised(std::size_t n, std::vector<double> a) {
  std::vector<double> reflectors(n * n), factors(n, 0.0), scratch(n);  // row k: the k-th reflector, [n - k]
  std::vector<double> signs(n, 1.0);
  for (std::size_t k = 0; k < n; ++k) {
    double* v = &reflectors[k * n];
    double tail = 0;
    for (std::size_t i = k + 1; i < n; ++i) {
      v[i - k] = a[i * n + k];
      tail += v[i - k] * v[i - k];
    }
    const double head = a[k * n + k];
    v[0] = 1;
    double diagonal = head;
    // Below the least normal number there is nothing left to reflect.
    if (tail > std::numeric_limits<double>::min()) {
      diagonal = std::copysign(std::sqrt(head * head + tail), -head);
      for (std::size_t i = 1; i < n - k; ++i)
        v[i] /= head - diagonal;
      factors[k] = (diagonal - head) / diagonal;
      if (k + 1 < n) applyReflector(n - k, n - k - 1, v, factors[k], &a[k * n + k + 1], n, scratch.data());
    }
    signs[k] = diagonal < 0 ? -1 : 1;
  }
  std::vector<double> q(n * n, 0.0);
  for (std::size_t k = 0; k < n; ++k)
    q[k * n + k] = 1;
  for (std::size_t k = n; k-- > 0;) {
    if (factors[k] != 0)
      applyReflector(n - k, n - k, &reflectors[k * n], factors[k], &q[k * n + k], n, scratch.data());
  }
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < n; ++c)
      q[r * n + c] *= signs[c];
  }
  return q;
}

}  // namespace

std::vector<double> closestOrthogonal(std::size_t n, const std::vector<double>& x) {
  // X^T X = V S^2 V^T. The columns of X V are U S: Householder's QR of them, largest first, gives U with its
  // signs in R, and completes it where S vanishes.
  std::vector<double> gram = product<double>(n, n, {x.data(), 1, n, 1, n, 0}, x.data());
  const SymmetricEigen eigen = symmetricEigen(n, gram, 0, n);
  std::vector<double> v(n * n), v_transposed(n * n);
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < n; ++c)
      v[r * n + c] = v_transposed[c * n + r] = eigen.vectors[r * n + (n - 1 - c)];
  }
  const std::vector<double> u =
      orthonormalised(n, product<double>(n, n, {x.data(), n, 1, 1, n, 0}, v.data()));
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
