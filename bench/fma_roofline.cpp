#include "bench/fma_roofline.h"

#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/fma_roofline.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace heatskin::bench {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;

/// Chains: latency (4 cycles) times multiply-adds per cycle (2), and some more.
#define HEATSKIN_CHAINS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9)
constexpr double kChains = 10;

double registersT(std::size_t rounds, float* out) {
  const Tag d;
  const auto a = hn::Set(d, 0.999f), b = hn::Set(d, 0.001f);
#define HEATSKIN_DECLARE(i) auto s##i = hn::Set(d, static_cast<float>(i));
#define HEATSKIN_ADD(i) s##i = hn::MulAdd(s##i, a, b);
#define HEATSKIN_SUM(i) total = hn::Add(total, s##i);
  HEATSKIN_CHAINS(HEATSKIN_DECLARE)
  for (std::size_t r = 0; r < rounds; ++r) {
    HEATSKIN_CHAINS(HEATSKIN_ADD)
  }
  auto total = hn::Zero(d);
  HEATSKIN_CHAINS(HEATSKIN_SUM)
  out[0] += hn::GetLane(hn::SumOfLanes(d, total));
  return static_cast<double>(rounds) * kChains * static_cast<double>(hn::Lanes(d));
}

/// `table` holds 4,096 numbers: half of a first-level cache.
double loadsT(std::size_t rounds, const float* table, float* out) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
#define HEATSKIN_LOAD(i) \
  s##i = hn::MulAdd(hn::Set(d, table[at + (i)]), hn::LoadU(d, table + ((at + (i)*lanes) & 2047)), s##i);
  HEATSKIN_CHAINS(HEATSKIN_DECLARE)
  std::size_t at = 0;
  for (std::size_t r = 0; r < rounds; ++r) {
    HEATSKIN_CHAINS(HEATSKIN_LOAD)
    at = (at + lanes) & 1023;
  }
  auto total = hn::Zero(d);
  HEATSKIN_CHAINS(HEATSKIN_SUM)
  out[0] += hn::GetLane(hn::SumOfLanes(d, total));
  return static_cast<double>(rounds) * kChains * static_cast<double>(lanes);
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heatskin::bench {

HWY_EXPORT(registersT);
HWY_EXPORT(loadsT);

namespace {
// Written so that the compiler cannot drop the work; one per thread.
thread_local float sink = 0;
}  // namespace

double runRegisterMultiplyAdds(std::size_t rounds) {
  return HWY_DYNAMIC_DISPATCH(registersT)(rounds, &sink);
}

double runLoadedMultiplyAdds(std::size_t rounds) {
  alignas(64) static constexpr std::array<float, 4096> table = {};
  return HWY_DYNAMIC_DISPATCH(loadsT)(rounds, table.data(), &sink);
}

}  // namespace heatskin::bench
#endif
