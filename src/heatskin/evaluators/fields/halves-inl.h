// float16 rows as vectors of floats. Included once per SIMD target (Highway), hence no ordinary guard.

#if defined(HEATSKIN_HALVES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEATSKIN_HALVES_INL_H_
#undef HEATSKIN_HALVES_INL_H_
#else
#define HEATSKIN_HALVES_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace heatskin {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// As wide as rows of halves are padded at most.
using HalvesTag = hn::CappedTag<float, 16>;

/// The next halves as floats.
HWY_INLINE hn::Vec<HalvesTag> widen(const std::uint16_t* halves) {
  const HalvesTag d;
  const hn::Rebind<hwy::float16_t, HalvesTag> dh;
  return hn::PromoteTo(d, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(halves)));
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin
HWY_AFTER_NAMESPACE();

#endif  // HEATSKIN_HALVES_INL_H_
