// Vectorised exponential for responses and logistics. Included once per SIMD target (Highway), hence no
// ordinary guard.

#if defined(HEATSKIN_FAST_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEATSKIN_FAST_EXP_INL_H_
#undef HEATSKIN_FAST_EXP_INL_H_
#else
#define HEATSKIN_FAST_EXP_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace heatskin {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// exp(x) for x in [-87, 87] (clamped to it): relative error below 3e-7. Writes x = n ln 2 + r with |r| <= ln
/// 2 / 2, evaluates the polynomial of degree 6 for exp(r), and puts n into the exponent
/// bits.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V fastExp(D d, V x) {
  const hn::RebindToSigned<D> di;
  x = hn::Min(hn::Max(x, hn::Set(d, -87.0f)), hn::Set(d, 87.0f));
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504088896f)));
  // ln 2 in two parts, so that x - n ln 2 loses nothing.
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  V p = hn::Set(d, 1.3981999507e-3f);
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
  p = hn::MulAdd(p, hn::Mul(r, r), hn::Add(r, hn::Set(d, 1.0f)));
  const auto bits = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127)));
  return hn::Mul(p, hn::BitCast(d, bits));
}

/// 1 / (1 + exp(-z)).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V fastLogistic(D d, V z) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, fastExp(d, hn::Neg(z))));
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin
HWY_AFTER_NAMESPACE();

#endif  // HEATSKIN_FAST_EXP_INL_H_
