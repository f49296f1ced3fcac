#pragma once

// The few dense loops the eigensolver and the alignment spend their time in, vectorised for every SIMD level
// (Highway). Eigen is compiled for the oldest processor we support and reaches a tenth of this one's rate.
// Sums run in a fixed order: results do not depend on the number of threads, those of different SIMD levels
// differ by rounding.

#include <cstddef>
#include <cstdint>
#include <span>

namespace heatskin {

/// The left factor of a product: rows x (segments * segment_length). Entry (i, s * segment_length + k) is
/// data[s * segment_stride + i * row_stride + k * inner_stride]: a matrix, a transposed one, or several
/// blocks of columns that lie apart.
template <class T>
struct LeftFactor {
  const T* data = nullptr;
  std::size_t row_stride = 0;
  std::size_t inner_stride = 1;
  std::size_t segments = 1;
  std::size_t segment_length = 0;
  std::size_t segment_stride = 0;
};

/// C += sign * A B. `b` is [inner, columns] and `c` is [rows, columns], both with contiguous rows.
void multiplyAdd(std::size_t rows, std::size_t columns, float sign, const LeftFactor<float>& a,
                 const float* b, std::size_t b_stride, float* c, std::size_t c_stride);
void multiplyAdd(std::size_t rows, std::size_t columns, double sign, const LeftFactor<double>& a,
                 const double* b, std::size_t b_stride, double* c, std::size_t c_stride);

/// A plane rotation of rows `row` and `row + 1`: (a, b) -> (cosine a - sine b, sine a + cosine b).
struct RowRotation {
  double cosine = 1;
  double sine = 0;
  std::uint32_t row = 0;
};

/// Applies the rotations, last one first, to the rows of `z` [rows, columns].
void applyRotationsReversed(std::span<const RowRotation> rotations, std::size_t rows, std::size_t columns,
                            double* z);

/// rows[i] -= v[i] w + w[i] v for all i in [0, n), and then product[i] = rows[i] . x, in one pass over the
/// matrix [n, n] with contiguous rows.
void rankTwoUpdateThenMultiply(std::size_t n, double* rows, std::size_t stride, const double* v,
                               const double* w, const double* x, double* product);

/// Rows of z -= v (v^T z) * factor for the reflector v [n]; z is [n, columns] with contiguous rows, `scratch`
/// holds `columns` numbers.
void applyReflector(std::size_t n, std::size_t columns, const double* v, double factor, double* z,
                    std::size_t z_stride, double* scratch);

/// Columns of a block of vectors in the solver: two AVX-512 registers of doubles, one cache line pair per
/// row.
inline constexpr std::size_t kVectorBlock = 16;

/// A factor L D L^T, L unit lower triangular without its diagonal, by columns and by rows: each half of a
/// solve then gathers into registers and stores every row once.
struct LdltView {
  std::size_t size = 0;
  const int* column_begin = nullptr;         // [size + 1]
  const int* column_rows = nullptr;          // [entries]
  const double* column_values = nullptr;     // [entries]
  const int* row_begin = nullptr;            // [size + 1]
  const int* row_columns = nullptr;          // [entries]
  const double* row_values = nullptr;        // [entries]
  const double* inverse_diagonal = nullptr;  // [size] 1 / D
};

/// Solves L D L^T x = b for kVectorBlock right-hand sides; both are [size, kVectorBlock] and may be the same.
void solveLdlt(const LdltView& factor, const double* b, double* x);

/// previous[i] = a image[i] + b current[i] - c previous[i]: a three-term recurrence in one pass.
void recurrenceStep(std::size_t size, double a, const double* image, double b, const double* current,
                    double c, double* previous);

/// Which SIMD level these loops use: equal numbers, equal results.
std::int64_t simdTarget();

/// float32 to float16 with rounding to nearest even, values beyond the largest finite half clamped to it, and
/// back. Both spans have the same length.
void halfFromFloat(std::span<const float> values, std::span<std::uint16_t> halves);
void floatFromHalf(std::span<const std::uint16_t> halves, std::span<float> values);

}  // namespace heatskin
