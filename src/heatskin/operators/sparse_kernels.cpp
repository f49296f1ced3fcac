#include "heatskin/operators/sparse_kernels.h"

namespace heatskin {
namespace {

/// sums = row of A times x.
template <class Rows, class T>
void gatherRow(const Rows& a, std::size_t row, const T* x, T* sums) {
  for (std::size_t c = 0; c < kPanelWidth; ++c)
    sums[c] = 0;
  for (std::uint32_t k = a.begin[row]; k < a.begin[row + 1]; ++k) {
    for (std::size_t c = 0; c < kPanelWidth; ++c)
      sums[c] += a.values[k] * x[a.offsets[k] + c];
  }
}

template <class Rows, class T>
void solve(const CholeskyRowsOf<Rows, T>& factor, T* x) {
  T product[kPanelWidth];
  const auto finish = [&](std::size_t row) {
    for (std::size_t c = 0; c < kPanelWidth; ++c) {
      T& value = x[row * kPanelWidth + c];
      value = (value - product[c]) * factor.inverse_diagonal[row];
    }
  };
  for (std::size_t row = 0; row < factor.lower.rows; ++row) {
    gatherRow(factor.lower, row, x, product);
    finish(row);
  }
  for (std::size_t row = factor.lower.rows; row-- > 0;) {
    gatherRow(factor.upper, row, x, product);
    finish(row);
  }
}

}  // namespace

void multiplyPanelScalar(const SparseRows& a, const float* x, float* y) {
  for (std::size_t row = 0; row < a.rows; ++row)
    gatherRow(a, row, x, y + row * kPanelWidth);
}

void clenshawPanelScalar(const SparseRows& a, float coefficient, const float* x, const float* sum,
                         float* difference, float* next) {
  float product[kPanelWidth];
  for (std::size_t row = 0; row < a.rows; ++row) {
    gatherRow(a, row, sum, product);
    for (std::size_t c = 0; c < kPanelWidth; ++c) {
      const std::size_t i = row * kPanelWidth + c;
      difference[i] += product[c] + coefficient * x[i];
      next[i] = sum[i] + difference[i];
    }
  }
}

void solvePanelScalar(const CholeskyRows& factor, float* x) {
  solve(factor, x);
}

void solvePanelScalar(const CholeskyRowsDouble& factor, double* x) {
  solve(factor, x);
}

}  // namespace heatskin
