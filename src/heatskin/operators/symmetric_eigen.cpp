// Householder reduction to tridiagonal form, then implicit QL with Wilkinson's shift (Golub and Van Loan,
// "Matrix Computations", 8.3). Two departures from the textbook make it several times faster than Eigen's
// SelfAdjointEigenSolver at n = 450: the rank-two update of one reduction step and the matrix-vector product
// of the next share one pass over the matrix, and the rotations of the QL iteration are only written down;
// afterwards they run over the columns of the eigenvectors that are asked for, in vectors.

#include "heatskin/operators/symmetric_eigen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "heatskin/operators/dense_kernels.h"

namespace heatskin {
namespace {

/// QL needs fewer than two sweeps per eigenvalue; a finite matrix never comes near this.
constexpr int kMaxSweeps = 60;

struct Tridiagonal {
  std::vector<double> diagonal;      // [n]
  std::vector<double> off_diagonal;  // [n] entry i couples i and i + 1; the last is 0
  std::vector<double> factors;       // [n] of the reflectors, whose vectors are in the rows of the matrix
};

/// Reflector I - factor v v^T that maps x [n] to (result, 0, ...); v replaces x.
struct Reflection {
  double factor = 0;
  double result = 0;
};

Reflection makeReflector(std::size_t n, double* x) {
  double tail = 0;
  for (std::size_t i = 1; i < n; ++i)
    tail += x[i] * x[i];
  const double head = x[0];
  if (tail == 0) {
    std::fill(x, x + n, 0.0);
    return {0, head};
  }
  const double norm = std::sqrt(head * head + tail);
  const double result = head > 0 ? -norm : norm;
  x[0] = head - result;
  return {2 / (x[0] * x[0] + tail), result};
}

/// Row i of `matrix` keeps the i-th reflector in its columns i + 1 ...
Tridiagonal reduce(std::size_t n, double* matrix) {
  Tridiagonal t{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n)};
  // The update of the step before, not yet in the matrix: matrix - v w^T - w v^T.
  std::vector<double> v(n, 0.0), w(n, 0.0), product(n), next(n);
  for (std::size_t i = 0; i < n; ++i) {
    double* row = matrix + i * n;
    for (std::size_t j = i; j < n; ++j)
      row[j] -= v[i] * w[j] + w[i] * v[j];
    t.diagonal[i] = row[i];
    const std::size_t rest = n - i - 1;
    if (rest == 0) break;
    double* reflector = row + i + 1;
    const Reflection reflection = makeReflector(rest, reflector);
    t.factors[i] = reflection.factor;
    t.off_diagonal[i] = reflection.result;
    rankTwoUpdateThenMultiply(rest, matrix + (i + 1) * n + i + 1, n, v.data() + i + 1, w.data() + i + 1,
                              reflector, product.data());
    double dot = 0;
    for (std::size_t j = 0; j < rest; ++j)
      dot += product[j] * reflector[j];
    const double shift = 0.5 * reflection.factor * reflection.factor * dot;
    for (std::size_t j = 0; j < rest; ++j) {
      v[i + 1 + j] = reflector[j];
      w[i + 1 + j] = reflection.factor * product[j] - shift * reflector[j];
    }
  }
  return t;
}

/// Turns the diagonal into eigenvalues and writes down the rotations; false if it does not end (NaN).
bool iterate(Tridiagonal& t, std::vector<RowRotation>& rotations) {
  auto &d = t.diagonal, &e = t.off_diagonal;
  const std::size_t n = d.size();
  // Absolute against the largest entry: nothing smaller means anything in a matrix of that size.
  double scale = 0;
  for (std::size_t i = 0; i < n; ++i)
    scale = std::max({scale, std::abs(d[i]), std::abs(e[i])});
  const double negligible = std::numeric_limits<double>::epsilon() * scale * 0x1.0p-4;
  for (std::size_t l = 0; l < n; ++l) {
    for (int sweep = 0;; ++sweep) {
      std::size_t end = l;
      while (end + 1 < n && !(std::abs(e[end]) <= negligible))
        ++end;
      if (end == l) break;
      if (sweep == kMaxSweeps) return false;
      double g = (d[l + 1] - d[l]) / (2 * e[l]);
      double r = std::sqrt(g * g + 1);
      g = d[end] - d[l] + e[l] / (g + std::copysign(r, g));
      double sine = 1, cosine = 1, p = 0;
      bool split = false;
      for (std::size_t i = end; i-- > l;) {
        const double f = sine * e[i], b = cosine * e[i];
        r = std::sqrt(f * f + g * g);
        e[i + 1] = r;
        if (r == 0) {
          d[i + 1] -= p;
          e[end] = 0;
          split = true;
          break;
        }
        sine = f / r;
        cosine = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * sine + 2 * cosine * b;
        p = sine * r;
        d[i + 1] = g + p;
        g = cosine * r - b;
        rotations.push_back({cosine, -sine, static_cast<std::uint32_t>(i)});
      }
      if (split) continue;
      d[l] -= p;
      e[l] = g;
      e[end] = 0;
    }
  }
  return true;
}

}  // namespace

SymmetricEigen symmetricEigen(std::size_t n, std::vector<double>& matrix, std::size_t first,
                              std::size_t count) {
  SymmetricEigen result{std::vector<double>(n), std::vector<double>(n * count, 0.0)};
  if (n == 0) return result;
  // To size 1, so that no square overflows or vanishes.
  double scale = 0;
  bool finite = true;
  for (const double x : matrix) {
    scale = std::max(scale, std::abs(x));
    finite = finite && std::isfinite(x);
  }
  Tridiagonal t;
  std::vector<RowRotation> rotations;
  if (finite) {
    if (scale > 0) {
      for (double& x : matrix)
        x /= scale;
    }
    t = reduce(n, matrix.data());
    rotations.reserve(n * n);
  }
  if (!finite || !iterate(t, rotations)) {
    std::fill(result.values.begin(), result.values.end(), std::numeric_limits<double>::quiet_NaN());
    std::fill(result.vectors.begin(), result.vectors.end(), std::numeric_limits<double>::quiet_NaN());
    return result;
  }
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return t.diagonal[a] < t.diagonal[b]; });
  for (std::size_t i = 0; i < n; ++i)
    result.values[i] = scale * t.diagonal[order[i]];
  double* z = result.vectors.data();
  for (std::size_t c = 0; c < count; ++c)
    z[order[first + c] * count + c] = 1;
  applyRotationsReversed(rotations, n, count, z);
  std::vector<double> scratch(count);
  for (std::size_t i = n - 1; i-- > 0;) {
    if (t.factors[i] == 0) continue;
    applyReflector(n - i - 1, count, matrix.data() + i * n + i + 1, t.factors[i], z + (i + 1) * count, count,
                   scratch.data());
  }
  return result;
}

}  // namespace heatskin
