// Vectorised loops of sparse_kernels.h: one source, compiled once for every SIMD level, chosen at run time.

#include "heatskin/operators/sparse_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heatskin/operators/sparse_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace heatskin {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE
// A row of a panel is kept in an array of registers, which needs vectors of a size known here.
void multiplyPanelT(const SparseRows& a, const float* x, float* y) {
  multiplyPanelScalar(a, x, y);
}
void clenshawPanelT(const SparseRows& a, float coefficient, const float* x, const float* sum,
                    float* difference, float* next) {
  clenshawPanelScalar(a, coefficient, x, sum, difference, next);
}
void solvePanelT(const CholeskyRows& factor, float* x) {
  solvePanelScalar(factor, x);
}
void solvePanelDoubleT(const CholeskyRowsDouble& factor, double* x) {
  solvePanelScalar(factor, x);
}
#else

/// A row of a panel in registers.
template <class T>
struct Row {
  using Tag = hn::CappedTag<T, kPanelWidth>;
  static constexpr std::size_t kLanes = hn::MaxLanes(Tag());
  static constexpr std::size_t kVectors = kPanelWidth / kLanes;
  hn::Vec<Tag> v[kVectors];

  static HWY_INLINE Row zero() {
    Row row;
    for (std::size_t i = 0; i < kVectors; ++i)
      row.v[i] = hn::Zero(Tag());
    return row;
  }

  static HWY_INLINE Row load(const T* x) {
    Row row;
    for (std::size_t i = 0; i < kVectors; ++i)
      row.v[i] = hn::Load(Tag(), x + i * kLanes);
    return row;
  }

  HWY_INLINE void store(T* x) const {
    for (std::size_t i = 0; i < kVectors; ++i)
      hn::Store(v[i], Tag(), x + i * kLanes);
  }

  HWY_INLINE void add(const Row& other) {
    for (std::size_t i = 0; i < kVectors; ++i)
      v[i] = hn::Add(v[i], other.v[i]);
  }

  /// this += value * x
  HWY_INLINE void addProduct(T value, const T* x) {
    const auto factor = hn::Set(Tag(), value);
    for (std::size_t i = 0; i < kVectors; ++i)
      v[i] = hn::MulAdd(factor, hn::Load(Tag(), x + i * kLanes), v[i]);
  }
};

/// Row `row` of A times x. Two chains of additions: one alone would wait for the latency of every addition.
template <class T, class Rows>
HWY_INLINE Row<T> gatherRow(const Rows& a, std::size_t row, const T* HWY_RESTRICT x) {
  Row<T> even = Row<T>::zero(), odd = Row<T>::zero();
  const std::uint32_t end = a.begin[row + 1];
  std::uint32_t k = a.begin[row];
  for (; k + 1 < end; k += 2) {
    even.addProduct(a.values[k], x + a.offsets[k]);
    odd.addProduct(a.values[k + 1], x + a.offsets[k + 1]);
  }
  if (k < end) even.addProduct(a.values[k], x + a.offsets[k]);
  even.add(odd);
  return even;
}

void multiplyPanelT(const SparseRows& a, const float* HWY_RESTRICT x, float* HWY_RESTRICT y) {
  for (std::size_t row = 0; row < a.rows; ++row)
    gatherRow(a, row, x).store(y + row * kPanelWidth);
}

void clenshawPanelT(const SparseRows& a, float coefficient, const float* HWY_RESTRICT x,
                    const float* HWY_RESTRICT sum, float* HWY_RESTRICT difference, float* HWY_RESTRICT next) {
  for (std::size_t row = 0; row < a.rows; ++row) {
    const std::size_t at = row * kPanelWidth;
    Row<float> change = gatherRow(a, row, sum);
    change.addProduct(coefficient, x + at);
    change.add(Row<float>::load(difference + at));
    change.store(difference + at);
    change.add(Row<float>::load(sum + at));
    change.store(next + at);
  }
}

template <class T, class Rows>
HWY_INLINE void solveRow(const Rows& a, T inverse_diagonal, std::size_t row, T* x) {
  using Tag = typename Row<T>::Tag;
  const Row<T> product = gatherRow(a, row, x);
  Row<T> value = Row<T>::load(x + row * kPanelWidth);
  const auto inverse = hn::Set(Tag(), inverse_diagonal);
  for (std::size_t i = 0; i < Row<T>::kVectors; ++i)
    value.v[i] = hn::Mul(hn::Sub(value.v[i], product.v[i]), inverse);
  value.store(x + row * kPanelWidth);
}

template <class Rows, class T>
HWY_INLINE void solvePanelOf(const CholeskyRowsOf<Rows, T>& factor, T* x) {
  for (std::size_t row = 0; row < factor.lower.rows; ++row)
    solveRow(factor.lower, factor.inverse_diagonal[row], row, x);
  for (std::size_t row = factor.lower.rows; row-- > 0;)
    solveRow(factor.upper, factor.inverse_diagonal[row], row, x);
}

void solvePanelT(const CholeskyRows& factor, float* x) {
  solvePanelOf(factor, x);
}

void solvePanelDoubleT(const CholeskyRowsDouble& factor, double* x) {
  solvePanelOf(factor, x);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace heatskin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heatskin {

HWY_EXPORT(multiplyPanelT);
HWY_EXPORT(clenshawPanelT);
HWY_EXPORT(solvePanelT);
HWY_EXPORT(solvePanelDoubleT);

void multiplyPanel(const SparseRows& a, const float* x, float* y) {
  HWY_DYNAMIC_DISPATCH(multiplyPanelT)(a, x, y);
}

void clenshawPanel(const SparseRows& a, float coefficient, const float* x, const float* sum,
                   float* difference, float* next) {
  HWY_DYNAMIC_DISPATCH(clenshawPanelT)(a, coefficient, x, sum, difference, next);
}

void solvePanel(const CholeskyRows& factor, float* x) {
  HWY_DYNAMIC_DISPATCH(solvePanelT)(factor, x);
}

void solvePanel(const CholeskyRowsDouble& factor, double* x) {
  HWY_DYNAMIC_DISPATCH(solvePanelDoubleT)(factor, x);
}

}  // namespace heatskin
#endif
