#pragma once

// The sparse loops of the heat action. A block of vectors is worked on in panels of 16 columns: a row of a
// panel is one cache line, and the three or four panels of a recurrence stay in the second-level cache on
// meshes of a few thousand vertices, through all of its steps. Every loop gathers: it reads rows of a panel
// and writes each row once.
//
// Each vectorised loop (sparse_simd.cpp, chosen for the processor at run time) has a plain twin of the same
// signature. Both add in the same order; they differ by fused multiply-adds.

#include <cstddef>
#include <cstdint>

namespace heatskin {

/// Columns of a panel: 64 bytes of float32.
inline constexpr std::size_t kPanelWidth = 16;

/// Rows of a sparse matrix. Entry k of a row multiplies the panel's row at `offsets[k]`, which is the column
/// times kPanelWidth.
struct SparseRows {
  std::size_t rows = 0;
  const std::uint32_t* begin = nullptr;    // [rows + 1]
  const std::uint32_t* offsets = nullptr;  // [begin[rows]]
  const float* values = nullptr;           // [begin[rows]]
};

/// y = A x for one panel; panels are [rows, kPanelWidth], aligned to 64 bytes.
void multiplyPanel(const SparseRows& a, const float* x, float* y);
void multiplyPanelScalar(const SparseRows& a, const float* x, float* y);

/// One step of a Chebyshev sum by Clenshaw's recurrence in Reinsch's form (heat_action.h):
///   difference = difference + A sum + coefficient x,   next = sum + difference.
/// `next` must not overlap `sum`.
void clenshawPanel(const SparseRows& a, float coefficient, const float* x, const float* sum,
                   float* difference, float* next);
void clenshawPanelScalar(const SparseRows& a, float coefficient, const float* x, const float* sum,
                         float* difference, float* next);

/// The same with double entries and panels.
struct SparseRowsDouble {
  std::size_t rows = 0;
  const std::uint32_t* begin = nullptr;    // [rows + 1]
  const std::uint32_t* offsets = nullptr;  // [begin[rows]]
  const double* values = nullptr;          // [begin[rows]]
};

/// A Cholesky factor L: its rows without the diagonal, the rows of its transpose, and the inverse diagonal.
template <class Rows, class T>
struct CholeskyRowsOf {
  Rows lower;
  Rows upper;
  const T* inverse_diagonal = nullptr;  // [rows]
};
using CholeskyRows = CholeskyRowsOf<SparseRows, float>;
using CholeskyRowsDouble = CholeskyRowsOf<SparseRowsDouble, double>;

/// Solves L L^T x = x in place for one panel.
void solvePanel(const CholeskyRows& factor, float* x);
void solvePanel(const CholeskyRowsDouble& factor, double* x);
void solvePanelScalar(const CholeskyRows& factor, float* x);
void solvePanelScalar(const CholeskyRowsDouble& factor, double* x);

}  // namespace heatskin
