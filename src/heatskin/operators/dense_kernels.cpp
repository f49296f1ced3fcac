#include "heatskin/operators/dense_kernels.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heatskin/operators/dense_kernels.cpp"
#include <hwy/aligned_allocator.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace heatskin {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Rows of C in one tile: with two vectors of columns, sixteen accumulators where there are 32 registers,
// eight where there are 16.
#undef HEATSKIN_TILE_ROWS
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SCALAR
#define HEATSKIN_TILE_ROWS 4
#else
#define HEATSKIN_TILE_ROWS 8
#endif

constexpr std::size_t blocksOf(std::size_t count, std::size_t size) {
  return (count + size - 1) / size;
}

/// C += sign A B for kRows rows and kVectors vectors of columns; the last vector may be partial.
template <std::size_t kRows, std::size_t kVectors, class T>
HWY_INLINE void multiplyTile(const LeftFactor<T>& a, const T* a_rows, T sign, const T* b,
                             std::size_t b_stride, T* c, std::size_t c_stride, std::size_t last_columns) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  using Vector = hn::Vec<decltype(d)>;
  const bool whole = last_columns == lanes;
  const auto mask = hn::FirstN(d, last_columns);
  Vector sums[kRows][kVectors];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v)
      sums[r][v] = hn::Zero(d);
  }
  const std::size_t last = (kVectors - 1) * lanes;
  for (std::size_t s = 0; s < a.segments; ++s) {
    const T* a_segment = a_rows + s * a.segment_stride;
    for (std::size_t k = 0; k < a.segment_length; ++k, b += b_stride) {
      Vector right[kVectors];
      for (std::size_t v = 0; v + 1 < kVectors; ++v)
        right[v] = hn::LoadU(d, b + v * lanes);
      right[kVectors - 1] = whole ? hn::LoadU(d, b + last) : hn::MaskedLoad(mask, d, b + last);
      const T* a_k = a_segment + k * a.inner_stride;
      for (std::size_t r = 0; r < kRows; ++r) {
        const auto left = hn::Set(d, a_k[r * a.row_stride]);
        for (std::size_t v = 0; v < kVectors; ++v)
          sums[r][v] = hn::MulAdd(left, right[v], sums[r][v]);
      }
    }
  }
  const auto factor = hn::Set(d, sign);
  for (std::size_t r = 0; r < kRows; ++r) {
    T* row = c + r * c_stride;
    for (std::size_t v = 0; v + 1 < kVectors; ++v)
      hn::StoreU(hn::MulAdd(factor, sums[r][v], hn::LoadU(d, row + v * lanes)), d, row + v * lanes);
    if (whole) {
      hn::StoreU(hn::MulAdd(factor, sums[r][kVectors - 1], hn::LoadU(d, row + last)), d, row + last);
    } else {
      const auto old = hn::MaskedLoad(mask, d, row + last);
      hn::BlendedStore(hn::MulAdd(factor, sums[r][kVectors - 1], old), mask, d, row + last);
    }
  }
}

template <std::size_t kVectors, class T>
HWY_INLINE void multiplyColumns(std::size_t rows, const LeftFactor<T>& a, T sign, const T* b,
                                std::size_t b_stride, T* c, std::size_t c_stride, std::size_t last_columns) {
  std::size_t i = 0;
  for (; i + HEATSKIN_TILE_ROWS <= rows; i += HEATSKIN_TILE_ROWS) {
    multiplyTile<HEATSKIN_TILE_ROWS, kVectors>(a, a.data + i * a.row_stride, sign, b, b_stride,
                                               c + i * c_stride, c_stride, last_columns);
  }
  for (; i < rows; ++i) {
    multiplyTile<1, kVectors>(a, a.data + i * a.row_stride, sign, b, b_stride, c + i * c_stride, c_stride,
                              last_columns);
  }
}

template <class T>
void multiplyBlocked(std::size_t rows, std::size_t columns, T sign, const LeftFactor<T>& a, const T* b,
                     std::size_t b_stride, T* c, std::size_t c_stride) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d), width = 2 * lanes;
  // Blocks of the inner dimension and of rows, so that a block of B and one of A share the second cache. B is
  // copied panel by panel: rows a power of two apart would evict each other from the first cache.
  constexpr std::size_t kInnerBlock = 256, kRowBlock = 128;
  if (a.segments > 1 && a.segment_length > kInnerBlock) {
    for (std::size_t s = 0; s < a.segments; ++s) {
      LeftFactor<T> one = a;
      one.data += s * a.segment_stride;
      one.segments = 1;
      multiplyBlocked(rows, columns, sign, one, b + s * a.segment_length * b_stride, b_stride, c, c_stride);
    }
    return;
  }
  if (columns <= width) {
    if (columns == width) {
      multiplyColumns<2>(rows, a, sign, b, b_stride, c, c_stride, lanes);
    } else {
      for (std::size_t j = 0; j < columns; j += lanes)
        multiplyColumns<1>(rows, a, sign, b + j, b_stride, c + j, c_stride, std::min(lanes, columns - j));
    }
    return;
  }
  const std::size_t panels = blocksOf(columns, width);
  const auto packed = hwy::AllocateAligned<T>(kInnerBlock * panels * width);
  const bool split = a.segments == 1;
  const std::size_t unit = split ? 1 : a.segment_length;  // inner indices that stay together
  const std::size_t units = split ? a.segment_length : a.segments,
                    per_block = std::max<std::size_t>(1, kInnerBlock / unit);
  for (std::size_t first = 0; first < units; first += per_block) {
    const std::size_t taken = std::min(per_block, units - first), inner = taken * unit;
    LeftFactor<T> part = a;
    if (split) {
      part.data += first * a.inner_stride;
      part.segment_length = taken;
    } else {
      part.data += first * a.segment_stride;
      part.segments = taken;
    }
    for (std::size_t p = 0; p < panels; ++p) {
      const std::size_t valid = std::min(width, columns - p * width);
      for (std::size_t k = 0; k < inner; ++k) {
        const T* from = b + (first * unit + k) * b_stride + p * width;
        T* to = packed.get() + (p * kInnerBlock + k) * width;
        std::fill(std::copy_n(from, valid, to), to + width, T(0));
      }
    }
    for (std::size_t i = 0; i < rows; i += kRowBlock) {
      const std::size_t some = std::min(kRowBlock, rows - i);
      LeftFactor<T> rows_part = part;
      rows_part.data += i * a.row_stride;
      for (std::size_t p = 0; p < panels; ++p) {
        const T* panel = packed.get() + p * kInnerBlock * width;
        T* target = c + i * c_stride + p * width;
        const std::size_t valid = std::min(width, columns - p * width);
        if (valid > lanes) {
          multiplyColumns<2>(some, rows_part, sign, panel, width, target, c_stride, valid - lanes);
        } else {
          multiplyColumns<1>(some, rows_part, sign, panel, width, target, c_stride, valid);
        }
      }
    }
  }
}

void multiplyAddFloat(std::size_t rows, std::size_t columns, float sign, const LeftFactor<float>& a,
                      const float* b, std::size_t b_stride, float* c, std::size_t c_stride) {
  multiplyBlocked(rows, columns, sign, a, b, b_stride, c, c_stride);
}

void multiplyAddDouble(std::size_t rows, std::size_t columns, double sign, const LeftFactor<double>& a,
                       const double* b, std::size_t b_stride, double* c, std::size_t c_stride) {
  multiplyBlocked(rows, columns, sign, a, b, b_stride, c, c_stride);
}

/// Vectors of columns that take part in one pass over the rotations: enough independent work to hide the
/// latency of one rotation.
constexpr std::size_t kRotationVectors = 8;

/// `z` is [rows, kVectors * lanes] without gaps.
template <std::size_t kVectors>
HWY_INLINE void rotateColumns(std::span<const RowRotation> rotations, double* z) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d), stride = kVectors * lanes;
  // Within a sweep of the QL iteration the lower row of one rotation is the upper row of the next: it stays
  // in registers.
  hn::Vec<decltype(d)> upper[kVectors];
  std::size_t current = rotations.back().row;
  for (std::size_t v = 0; v < kVectors; ++v)
    upper[v] = hn::LoadU(d, z + current * stride + v * lanes);
  for (std::size_t r = rotations.size(); r-- > 0;) {
    const std::size_t row = rotations[r].row;
    if (row != current) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        hn::StoreU(upper[v], d, z + current * stride + v * lanes);
        upper[v] = hn::LoadU(d, z + row * stride + v * lanes);
      }
    }
    const auto cosine = hn::Set(d, rotations[r].cosine), sine = hn::Set(d, rotations[r].sine);
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto lower = hn::LoadU(d, z + (row + 1) * stride + v * lanes);
      hn::StoreU(hn::NegMulAdd(sine, lower, hn::Mul(cosine, upper[v])), d, z + row * stride + v * lanes);
      upper[v] = hn::MulAdd(cosine, lower, hn::Mul(sine, upper[v]));
    }
    current = row + 1;
  }
  for (std::size_t v = 0; v < kVectors; ++v)
    hn::StoreU(upper[v], d, z + current * stride + v * lanes);
}

void applyRotationsT(std::span<const RowRotation> rotations, std::size_t rows, std::size_t columns,
                     double* z) {
  if (rotations.empty()) return;
  const std::size_t width = kRotationVectors * hn::Lanes(hn::ScalableTag<double>());
  // Some columns at a time, without gaps between rows: rows a power of two apart would evict each other.
  const auto some = hwy::AllocateAligned<double>(rows * width);
  for (std::size_t j = 0; j < columns; j += width) {
    const std::size_t valid = std::min(width, columns - j);
    for (std::size_t i = 0; i < rows; ++i) {
      double* to = some.get() + i * width;
      std::fill(std::copy_n(z + i * columns + j, valid, to), to + width, 0.0);
    }
    rotateColumns<kRotationVectors>(rotations, some.get());
    for (std::size_t i = 0; i < rows; ++i)
      std::copy_n(some.get() + i * width, valid, z + i * columns + j);
  }
}

void rankTwoT(std::size_t n, double* rows, std::size_t stride, const double* v, const double* w,
              const double* x, double* product) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < n; ++i) {
    double* row = rows + i * stride;
    const auto vi = hn::Set(d, v[i]), wi = hn::Set(d, w[i]);
    auto sum0 = hn::Zero(d), sum1 = hn::Zero(d);
    std::size_t j = 0;
    for (; j + 2 * lanes <= n; j += 2 * lanes) {
      auto a0 = hn::LoadU(d, row + j), a1 = hn::LoadU(d, row + j + lanes);
      a0 = hn::NegMulAdd(vi, hn::LoadU(d, w + j), a0);
      a1 = hn::NegMulAdd(vi, hn::LoadU(d, w + j + lanes), a1);
      a0 = hn::NegMulAdd(wi, hn::LoadU(d, v + j), a0);
      a1 = hn::NegMulAdd(wi, hn::LoadU(d, v + j + lanes), a1);
      hn::StoreU(a0, d, row + j);
      hn::StoreU(a1, d, row + j + lanes);
      sum0 = hn::MulAdd(a0, hn::LoadU(d, x + j), sum0);
      sum1 = hn::MulAdd(a1, hn::LoadU(d, x + j + lanes), sum1);
    }
    double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
    for (; j < n; ++j) {
      row[j] -= v[i] * w[j];
      row[j] -= w[i] * v[j];
      sum += row[j] * x[j];
    }
    product[i] = sum;
  }
}

void reflectT(std::size_t n, std::size_t columns, const double* v, double factor, double* z,
              std::size_t stride, double* scratch) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  std::fill(scratch, scratch + columns, 0.0);
  const std::size_t whole = columns / lanes * lanes;
  for (std::size_t i = 0; i < n; ++i) {
    const double* row = z + i * stride;
    const auto vi = hn::Set(d, v[i]);
    for (std::size_t j = 0; j < whole; j += lanes)
      hn::StoreU(hn::MulAdd(vi, hn::LoadU(d, row + j), hn::LoadU(d, scratch + j)), d, scratch + j);
    for (std::size_t j = whole; j < columns; ++j)
      scratch[j] += v[i] * row[j];
  }
  for (std::size_t i = 0; i < n; ++i) {
    double* row = z + i * stride;
    const double scaled = factor * v[i];
    const auto vi = hn::Set(d, scaled);
    for (std::size_t j = 0; j < whole; j += lanes)
      hn::StoreU(hn::NegMulAdd(vi, hn::LoadU(d, scratch + j), hn::LoadU(d, row + j)), d, row + j);
    for (std::size_t j = whole; j < columns; ++j)
      row[j] -= scaled * scratch[j];
  }
}

/// Vectors per row of a block of kVectorBlock doubles. A processor with wider vectors uses a part of them.
using BlockTag = hn::CappedTag<double, kVectorBlock>;
constexpr std::size_t kBlockVectors = kVectorBlock / hn::MaxLanes(BlockTag());

/// Takes the rows of x that L's entries point to, times these, out of a row in registers.
template <class RowOf>
HWY_INLINE void solveRow(const int first, const int last, const int* others, const double* values,
                         hn::Vec<BlockTag> (&sum)[kBlockVectors], const RowOf& row_of) {
  const BlockTag d;
  const std::size_t lanes = hn::Lanes(d);
  for (int k = first; k < last; ++k) {
    const auto l = hn::Set(d, values[k]);
    const double* source = row_of(others[k]);
    for (std::size_t v = 0; v < kBlockVectors; ++v)
      sum[v] = hn::NegMulAdd(l, hn::LoadU(d, source + v * lanes), sum[v]);
  }
}

void solveLdltT(const LdltView& f, const double* b, double* x) {
  const BlockTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto row_of = [x](int row) HWY_ATTR { return x + static_cast<std::size_t>(row) * kVectorBlock; };
  hn::Vec<BlockTag> sum[kBlockVectors];
  for (std::size_t r = 0; r < f.size; ++r) {
    for (std::size_t v = 0; v < kBlockVectors; ++v)
      sum[v] = hn::LoadU(d, b + r * kVectorBlock + v * lanes);
    solveRow(f.row_begin[r], f.row_begin[r + 1], f.row_columns, f.row_values, sum, row_of);
    for (std::size_t v = 0; v < kBlockVectors; ++v)
      hn::StoreU(sum[v], d, x + r * kVectorBlock + v * lanes);
  }
  for (std::size_t c = f.size; c-- > 0;) {
    const auto inverse = hn::Set(d, f.inverse_diagonal[c]);
    for (std::size_t v = 0; v < kBlockVectors; ++v)
      sum[v] = hn::Mul(inverse, hn::LoadU(d, x + c * kVectorBlock + v * lanes));
    solveRow(f.column_begin[c], f.column_begin[c + 1], f.column_rows, f.column_values, sum, row_of);
    for (std::size_t v = 0; v < kBlockVectors; ++v)
      hn::StoreU(sum[v], d, x + c * kVectorBlock + v * lanes);
  }
}

void recurrenceT(std::size_t size, double a, const double* image, double b, const double* current, double c,
                 double* previous) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto va = hn::Set(d, a), vb = hn::Set(d, b), vc = hn::Set(d, c);
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto known = hn::MulAdd(va, hn::LoadU(d, image + i), hn::Mul(vb, hn::LoadU(d, current + i)));
    hn::StoreU(hn::NegMulAdd(vc, hn::LoadU(d, previous + i), known), d, previous + i);
  }
  for (; i < size; ++i)
    previous[i] = a * image[i] + b * current[i] - c * previous[i];
}

std::int64_t targetT() {
  return HWY_TARGET;
}

void halfFromFloatT(std::span<const float> values, std::span<std::uint16_t> halves) {
  constexpr float kLargestHalf = 65504.0f;
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> d16;
  const std::size_t lanes = hn::Lanes(d);
  const auto high = hn::Set(d, kLargestHalf), low = hn::Set(d, -kLargestHalf);
  HWY_ALIGN float in[hn::MaxLanes(d)];
  HWY_ALIGN hwy::float16_t out[hn::MaxLanes(d)];
  for (std::size_t i = 0; i < values.size(); i += lanes) {
    const std::size_t valid = std::min(lanes, values.size() - i);
    std::fill(std::copy_n(values.data() + i, valid, in), in + lanes, 0.0f);
    const auto clamped = hn::Min(hn::Max(hn::Load(d, in), low), high);
    hn::Store(hn::DemoteTo(d16, clamped), d16, out);
    std::copy_n(reinterpret_cast<const std::uint16_t*>(out), valid, halves.data() + i);
  }
}

void floatFromHalfT(std::span<const std::uint16_t> halves, std::span<float> values) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> d16;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN hwy::float16_t in[hn::MaxLanes(d)];
  HWY_ALIGN float out[hn::MaxLanes(d)];
  for (std::size_t i = 0; i < values.size(); i += lanes) {
    const std::size_t valid = std::min(lanes, values.size() - i);
    auto* bits = reinterpret_cast<std::uint16_t*>(in);
    std::fill(std::copy_n(halves.data() + i, valid, bits), bits + lanes, std::uint16_t{0});
    hn::Store(hn::PromoteTo(d, hn::Load(d16, in)), d, out);
    std::copy_n(out, valid, values.data() + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heatskin {

HWY_EXPORT(multiplyAddFloat);
HWY_EXPORT(multiplyAddDouble);
HWY_EXPORT(applyRotationsT);
HWY_EXPORT(rankTwoT);
HWY_EXPORT(reflectT);
HWY_EXPORT(solveLdltT);
HWY_EXPORT(recurrenceT);
HWY_EXPORT(targetT);
HWY_EXPORT(halfFromFloatT);
HWY_EXPORT(floatFromHalfT);

void multiplyAdd(std::size_t rows, std::size_t columns, float sign, const LeftFactor<float>& a,
                 const float* b, std::size_t b_stride, float* c, std::size_t c_stride) {
  HWY_DYNAMIC_DISPATCH(multiplyAddFloat)(rows, columns, sign, a, b, b_stride, c, c_stride);
}

void multiplyAdd(std::size_t rows, std::size_t columns, double sign, const LeftFactor<double>& a,
                 const double* b, std::size_t b_stride, double* c, std::size_t c_stride) {
  HWY_DYNAMIC_DISPATCH(multiplyAddDouble)(rows, columns, sign, a, b, b_stride, c, c_stride);
}

void applyRotationsReversed(std::span<const RowRotation> rotations, std::size_t rows, std::size_t columns,
                            double* z) {
  HWY_DYNAMIC_DISPATCH(applyRotationsT)(rotations, rows, columns, z);
}

void rankTwoUpdateThenMultiply(std::size_t n, double* rows, std::size_t stride, const double* v,
                               const double* w, const double* x, double* product) {
  HWY_DYNAMIC_DISPATCH(rankTwoT)(n, rows, stride, v, w, x, product);
}

void applyReflector(std::size_t n, std::size_t columns, const double* v, double factor, double* z,
                    std::size_t z_stride, double* scratch) {
  HWY_DYNAMIC_DISPATCH(reflectT)(n, columns, v, factor, z, z_stride, scratch);
}

void solveLdlt(const LdltView& factor, const double* b, double* x) {
  HWY_DYNAMIC_DISPATCH(solveLdltT)(factor, b, x);
}

void recurrenceStep(std::size_t size, double a, const double* image, double b, const double* current,
                    double c, double* previous) {
  HWY_DYNAMIC_DISPATCH(recurrenceT)(size, a, image, b, current, c, previous);
}

std::int64_t simdTarget() {
  return HWY_DYNAMIC_DISPATCH(targetT)();
}

void halfFromFloat(std::span<const float> values, std::span<std::uint16_t> halves) {
  HWY_DYNAMIC_DISPATCH(halfFromFloatT)(values, halves);
}

void floatFromHalf(std::span<const std::uint16_t> halves, std::span<float> values) {
  HWY_DYNAMIC_DISPATCH(floatFromHalfT)(halves, values);
}

}  // namespace heatskin
#endif
