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
#include <type_traits>

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

struct Extent {
  float least, most;
};

HWY_INLINE Extent extentOf(const float* HWY_RESTRICT values, std::size_t count) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  auto least = hn::Set(d, values[0]), most = least;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(d, values + i);
    least = hn::Min(least, v);
    most = hn::Max(most, v);
  }
  if (i < count) {
    const auto v = hn::IfThenElse(hn::FirstN(d, count - i), hn::LoadU(d, values + i), least);
    least = hn::Min(least, v);
    most = hn::Max(most, v);
  }
  return {hn::GetLane(hn::MinOfLanes(d, least)), hn::GetLane(hn::MaxOfLanes(d, most))};
}

/// Finds the border of the `wanted` largest or smallest values (non-negative and finite) by counting, 0 <
/// wanted < count. The next border to try is where it would be if values were spread evenly between the
/// nearest ones known, which is nearly true of squared distances in a plane; every third time it is the
/// middle of the interval of bit patterns (such floats sort like their bits), so that it ends for any values.
template <Wanted kWanted>
HWY_INLINE Border findBorder(const float* HWY_RESTRICT values, std::size_t count, std::size_t wanted) {
  const auto bits = [](float value) {
    return static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(value));
  };
  const auto valueOf = [](std::int64_t b) { return std::bit_cast<float>(static_cast<std::uint32_t>(b)); };
  constexpr std::int64_t kOutward = kWanted == Wanted::kLargest ? -1 : 1;
  const Extent extent = extentOf(values, count);
  constexpr bool kLargest = kWanted == Wanted::kLargest;
  // Invariant: `loose` has at least the wanted number inside, `tight` fewer.
  std::int64_t loose = bits(kLargest ? extent.least : extent.most);
  std::int64_t tight = bits(kLargest ? extent.most : extent.least) - kOutward;
  std::size_t inside_loose = count, inside_tight = 0;
  for (int pass = 1; (loose - tight) * kOutward > 1; ++pass) {
    std::int64_t next = (loose + tight) / 2;
    if (pass % 3 != 0) {
      const float from = tight < 0 ? 0.0f : valueOf(tight), to = valueOf(loose);
      const float share = (static_cast<float>(wanted - inside_tight) - 0.5f) /
                          static_cast<float>(inside_loose - inside_tight);
      const std::int64_t even = bits(from + (to - from) * share);
      next = std::clamp(even, std::min(loose, tight) + 1, std::max(loose, tight) - 1);
    }
    const std::size_t found = countInside<kWanted>(values, count, valueOf(next));
    if (found == wanted) return {valueOf(next), 0};
    if (found > wanted) {
      loose = next;
      inside_loose = found;
    } else {
      tight = next;
      inside_tight = found;
    }
  }
  return {valueOf(loose), inside_loose - wanted};
}

/// Keeps the `wanted` largest or smallest of `count` entries in place, in their old order; entries that tie
/// at the border go from the back. `values` and `others` (floats or 32-bit numbers) are parallel arrays with
/// room for a vector past the end.
template <Wanted kWanted, class... T>
HWY_INLINE std::size_t keepWanted(std::size_t count, std::size_t wanted, float* HWY_RESTRICT values,
                                  T* HWY_RESTRICT... others) {
  if (count <= wanted) return count;
  const hn::ScalableTag<float> d;
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
      ((others[to] = others[i]), ...);
      ++to;
    }
    return to;
  }
  const auto limit = hn::Set(d, border.value);
  std::size_t to = 0;
  for (std::size_t i = 0; i < count; i += lanes) {
    const auto v = hn::LoadU(d, values + i);
    const auto mask = hn::And(isInside<kWanted>(v, limit), hn::FirstN(d, count - i));
    // Packed stores write a whole vector at `to` <= i: what is still to be read was loaded or lies behind.
    const auto pack = [&](auto* other) HWY_ATTR {
      const hn::ScalableTag<std::remove_reference_t<decltype(*other)>> dt;
      packInto(dt, hn::LoadU(dt, other + i), hn::RebindMask(dt, mask), other + to);
    };
    (pack(others), ...);
    to += packInto(d, v, mask, values + to);
  }
  return to;
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin
HWY_AFTER_NAMESPACE();

#endif  // HEATSKIN_SELECT_INL_H_
