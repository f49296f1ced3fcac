#include "bench/exp_roofline.h"

#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/exp_roofline.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "heatskin/kernels/fast_exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heatskin::bench {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void exponentialsT(const float* in, float* out, std::size_t count) {
  const hn::ScalableTag<float> d;
  for (std::size_t i = 0; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    hn::StoreU(heatskin::HWY_NAMESPACE::fastExp(d, hn::LoadU(d, in + i)), d, out + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heatskin::bench {

HWY_EXPORT(exponentialsT);

std::size_t runExponentials(std::size_t rounds) {
  constexpr std::size_t kCount = 2048;
  static std::array<float, kCount> in, out;
  for (std::size_t i = 0; i < kCount; ++i)
    in[i] = -20.0f * static_cast<float>(i) / kCount;
  for (std::size_t r = 0; r < rounds; ++r) {
    HWY_DYNAMIC_DISPATCH(exponentialsT)(in.data(), out.data(), kCount);
    // Without this the compiler may see that all rounds are the same.
    in[r % kCount] = -out[(r + 7) % kCount];
  }
  return rounds * kCount;
}

}  // namespace heatskin::bench
#endif
