// Vectorised selection of the k largest or smallest of a few dozen non-negative floats. Included once per
// SIMD target (Highway), hence no ordinary guard.

#if defined(HEATSKIN_SELECT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEATSKIN_SELECT_INL_H_
#undef HEATSKIN_SELECT_INL_H_
#else
#define HEATSKIN_SELECT_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "heatskin/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heatskin {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Which end of the order is wanted.
enum class Wanted { kLargest, kSmallest };

template <Wanted kWanted, class V>
HWY_INLINE auto isInside(V values, V border) {
  if constexpr (kWanted == Wanted::kLargest) {
    return hn::Ge(values, border);
  } else {
    return hn::Le(values, border);
  }
}

/// How many of the values lie on the wanted side of `border`, itself included. A whole vector may be loaded
/// at the end.
template <Wanted kWanted>
HWY_INLINE std::size_t countInside(const float* HWY_RESTRICT values, std::size_t count, float border) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto b = hn::Set(d, border);
  std::size_t found = 0, i = 0;
  for (; i + lanes <= count; i += lanes)
    found += hn::CountTrue(d, isInside<kWanted>(hn::LoadU(d, values + i), b));
  if (i < count) {
    found +=
        hn::CountTrue(d, hn::And(isInside<kWanted>(hn::LoadU(d, values + i), b), hn::FirstN(d, count - i)));
  }
  return found;
}

/// Where the wanted values end.
struct Border {
  float value;          ///< values up to this one are wanted ...
  std::size_t surplus;  ///< ... except this many of those equal to it
};

/// Finds the border of the `wanted` largest or smallest values by halving the interval of bit patterns
/// (non-negative floats sort like their bits): about ten counting passes for values that differ, thirty at
/// most. 0 < wanted < count.
template <Wanted kWanted>
HWY_INLINE Border findBorder(const float* HWY_RESTRICT values, std::size_t count, std::size_t wanted) {
  // Invariant: `loose` has at least the wanted number inside, `tight` fewer.
  std::int64_t loose = kWanted == Wanted::kLargest ? 0 : 0x7F7FFFFF;
  std::int64_t tight = kWanted == Wanted::kLargest ? 0x7F7FFFFF : -1;
  while (loose - tight > 1 || tight - loose > 1) {
    const std::int64_t middle = (loose + tight) / 2;
    const float border = std::bit_cast<float>(static_cast<std::uint32_t>(middle));
    const std::size_t found = countInside<kWanted>(values, count, border);
    if (found == wanted) return {border, 0};
    (found > wanted ? loose : tight) = middle;
  }
  const float border = std::bit_cast<float>(static_cast<std::uint32_t>(loose));
  return {border, countInside<kWanted>(values, count, border) - wanted};
}

/// Keeps the `wanted` largest or smallest of `count` entries in place, in their old order; entries that tie
/// at the border go from the back. `values`, `a` and `b` are parallel arrays with room for a vector past the
/// end; `extra` likewise.
template <Wanted kWanted>
HWY_INLINE std::size_t keepWanted(float* HWY_RESTRICT values, std::uint32_t* HWY_RESTRICT a,
                                  std::uint32_t* HWY_RESTRICT b, float* HWY_RESTRICT extra, std::size_t count,
                                  std::size_t wanted) {
  if (count <= wanted) return count;
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const std::size_t lanes = hn::Lanes(d);
  const Border border = findBorder<kWanted>(values, count, wanted);
  if (border.surplus > 0) {
    std::size_t to = 0, equal = 0, equal_all = 0;
    for (std::size_t i = 0; i < count; ++i)
      equal_all += values[i] == border.value ? 1 : 0;
    const std::size_t equal_wanted = equal_all - border.surplus;
    for (std::size_t i = 0; i < count; ++i) {
      const bool tie = values[i] == border.value;
      const bool inside = kWanted == Wanted::kLargest ? values[i] >= border.value : values[i] <= border.value;
      if (!inside || (tie && equal++ >= equal_wanted)) continue;
      values[to] = values[i];
      a[to] = a[i];
      b[to] = b[i];
      extra[to] = extra[i];
      ++to;
    }
    return to;
  }
  const auto limit = hn::Set(d, border.value);
  std::size_t to = 0;
  for (std::size_t i = 0; i < count; i += lanes) {
    const auto v = hn::LoadU(d, values + i);
    const auto va = hn::LoadU(du, a + i), vb = hn::LoadU(du, b + i);
    const auto ve = hn::LoadU(d, extra + i);
    const auto mask = hn::And(isInside<kWanted>(v, limit), hn::FirstN(d, count - i));
    // Packed stores write a whole vector at `to` <= i: what is still to be read was loaded or lies behind.
    packInto(du, va, hn::RebindMask(du, mask), a + to);
    packInto(du, vb, hn::RebindMask(du, mask), b + to);
    packInto(d, ve, mask, extra + to);
    to += packInto(d, v, mask, values + to);
  }
  return to;
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin
HWY_AFTER_NAMESPACE();

#endif  // HEATSKIN_SELECT_INL_H_
