// Columns of small row-major tables for a vector of row numbers, and sums back into such rows. A gather reads
// one float per lane and instruction slot; here four floats of a row come with one load, and a transposition
// within 128-bit blocks turns rows into columns. Included once per SIMD target (Highway), hence no ordinary
// guard.

#if defined(HEATSKIN_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEATSKIN_ROWS_INL_H_
#undef HEATSKIN_ROWS_INL_H_
#else
#define HEATSKIN_ROWS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "heatskin/kernels/pack_table.h"

HWY_BEFORE_NAMESPACE();
namespace heatskin {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Four columns of a vector of rows.
template <class V>
struct Columns {
  V c0, c1, c2, c3;
};

#undef HEATSKIN_ROWS_BY_BLOCKS
#if HWY_HAVE_SCALABLE || HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
#define HEATSKIN_ROWS_BY_BLOCKS 0
#else
#define HEATSKIN_ROWS_BY_BLOCKS 1
#endif

#if HEATSKIN_ROWS_BY_BLOCKS

/// Block b of the result holds the four floats at row(4 b).
template <class D, class RowOf>
HWY_INLINE hn::Vec<D> loadBlocks(D d, const RowOf& row, std::size_t first) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return hn::LoadU(d, row(first));
  } else {
    const hn::Half<D> half;
    const std::size_t middle = hn::MaxLanes(D()) / 2;
    return hn::Combine(d, loadBlocks(half, row, first + middle), loadBlocks(half, row, first));
  }
}

/// Exchanges rows and columns of the 4 x 4 matrices that the 128-bit blocks of four vectors form.
template <class D, class V = hn::Vec<D>>
HWY_INLINE Columns<V> transpose4(D d, V r0, V r1, V r2, V r3) {
  const V low02 = hn::InterleaveLower(d, r0, r2), low13 = hn::InterleaveLower(d, r1, r3);
  const V high02 = hn::InterleaveUpper(d, r0, r2), high13 = hn::InterleaveUpper(d, r1, r3);
  return {hn::InterleaveLower(d, low02, low13), hn::InterleaveUpper(d, low02, low13),
          hn::InterleaveLower(d, high02, high13), hn::InterleaveUpper(d, high02, high13)};
}

/// Floats 0..3 of the rows row(0), row(1), ... (pointers), one row per lane.
template <class D, class RowOf>
HWY_INLINE Columns<hn::Vec<D>> loadColumns(D d, const RowOf& row) {
  return transpose4(d, loadBlocks(d, row, 0), loadBlocks(d, row, 1), loadBlocks(d, row, 2),
                    loadBlocks(d, row, 3));
}

/// Adds the blocks of `v` to the rows row(first), row(first + 4), ... with lane numbers below `count`.
template <class D, class RowOf>
HWY_INLINE void addBlocks(D d, hn::Vec<D> v, const RowOf& row, std::size_t first, std::size_t count) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    if (first >= count) return;
    float* at = row(first);
    hn::StoreU(hn::Add(hn::LoadU(d, at), v), d, at);
  } else {
    const hn::Half<D> half;
    addBlocks(half, hn::LowerHalf(half, v), row, first, count);
    addBlocks(half, hn::UpperHalf(half, v), row, first + hn::MaxLanes(D()) / 2, count);
  }
}

/// Adds four columns to floats 0..3 of the rows row(0) .. row(count - 1); a row may come more than once.
template <class D, class RowOf, class V = hn::Vec<D>>
HWY_INLINE void addColumns(D d, const Columns<V>& c, const RowOf& row, std::size_t count) {
  const Columns<V> r = transpose4(d, c.c0, c.c1, c.c2, c.c3);
  addBlocks(d, r.c0, row, 0, count);
  addBlocks(d, r.c1, row, 1, count);
  addBlocks(d, r.c2, row, 2, count);
  addBlocks(d, r.c3, row, 3, count);
}

#else

template <class D, class RowOf>
HWY_INLINE Columns<hn::Vec<D>> loadColumns(D d, const RowOf& row) {
  HWY_ALIGN float c[4][hn::MaxLanes(D())];
  for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) {
    const float* r = row(lane);
    for (std::size_t i = 0; i < 4; ++i)
      c[i][lane] = r[i];
  }
  return {hn::Load(d, c[0]), hn::Load(d, c[1]), hn::Load(d, c[2]), hn::Load(d, c[3])};
}

template <class D, class RowOf, class V = hn::Vec<D>>
HWY_INLINE void addColumns(D d, const Columns<V>& columns, const RowOf& row, std::size_t count) {
  HWY_ALIGN float c[4][hn::MaxLanes(D())];
  hn::Store(columns.c0, d, c[0]);
  hn::Store(columns.c1, d, c[1]);
  hn::Store(columns.c2, d, c[2]);
  hn::Store(columns.c3, d, c[3]);
  for (std::size_t lane = 0; lane < count; ++lane) {
    float* r = row(lane);
    for (std::size_t i = 0; i < 4; ++i)
      r[i] += c[i][lane];
  }
}

#endif

/// Stores the lanes of `v` that the mask names, packed, then others up to a whole vector; returns how many.
/// Not CompressStore: writing masked memory takes over a hundred cycles on some AVX-512 machines. Not
/// Compress for eight lanes either: Highway's table of permutations is a local array there, which GCC 12
/// copies to the stack at every call.
template <class D, class V = hn::Vec<D>>
HWY_INLINE std::size_t packInto(D d, V v, hn::Mask<D> mask, hn::TFromD<D>* HWY_RESTRICT to) {
#if HWY_TARGET == HWY_AVX2
  static_assert(hn::MaxLanes(D()) == 8 && sizeof(hn::TFromD<D>) == 4);
  std::uint8_t bits[8];
  hn::StoreMaskBits(d, mask, bits);
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint8_t, decltype(di)> d8;
  const auto lanes = hn::PromoteTo(di, hn::LoadU(d8, kPackedLanes[bits[0]].data()));
  hn::StoreU(hn::TableLookupLanes(v, hn::IndicesFromVec(d, lanes)), d, to);
#else
  hn::StoreU(hn::Compress(v, mask), d, to);
#endif
  return hn::CountTrue(d, mask);
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin
HWY_AFTER_NAMESPACE();

#endif  // HEATSKIN_ROWS_INL_H_
