#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"
#include "heatskin/kernels/fast_exp-inl.h"
#include "heatskin/kernels/select-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heatskin {
namespace HWY_NAMESPACE {

TEST(FastExp, HoldsItsAccuracyOverItsRange) {
  const hn::ScalableTag<float> d;
  std::vector<float> out(hn::Lanes(d));
  for (int i = -870'000; i <= 870'000; i += 7) {
    const float x = static_cast<float>(i) * 1e-4f;
    hn::StoreU(fastExp(d, hn::Set(d, x)), d, out.data());
    const double expected = std::exp(static_cast<double>(x));
    ASSERT_NEAR(out[0], expected, 3e-7 * expected) << x;
  }
  hn::StoreU(fastExp(d, hn::Set(d, -1e30f)), d, out.data());
  EXPECT_LT(out[0], 2e-38f);
  hn::StoreU(fastExp(d, hn::Zero(d)), d, out.data());
  EXPECT_EQ(out[0], 1.0f);
}

template <Wanted kWanted>
void expectSelectionOfSort(std::uint64_t seed, std::uint64_t values) {
  const RandomStream random(seed, 0);
  const std::size_t count = 1 + random.below(0, 200), wanted = 1 + random.below(1, 60);
  std::vector<float> value(count + 64), extra(count + 64);
  std::vector<std::uint32_t> a(count + 64), b(count + 64), order(count);
  for (std::size_t i = 0; i < count; ++i) {
    value[i] = static_cast<float>(random.below(10 + i, values)) / static_cast<float>(values);
    a[i] = b[i] = static_cast<std::uint32_t>(i);
    extra[i] = -value[i];
  }
  std::iota(order.begin(), order.end(), 0u);
  const std::vector<float> before = value;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t x, std::uint32_t y) {
    return kWanted == Wanted::kLargest ? before[x] > before[y] : before[x] < before[y];
  });
  order.resize(std::min(count, wanted));
  std::sort(order.begin(), order.end());
  const std::size_t kept = keepWanted<kWanted>(count, wanted, value.data(), a.data(), b.data(), extra.data());
  ASSERT_EQ(kept, order.size());
  for (std::size_t i = 0; i < kept; ++i) {
    ASSERT_EQ(a[i], order[i]) << "seed " << seed;
    ASSERT_EQ(b[i], order[i]);
    ASSERT_EQ(value[i], before[order[i]]);
    ASSERT_EQ(extra[i], -before[order[i]]);
  }
}

TEST(KeepWanted, EqualsAStableSortAlsoWithTies) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    for (const std::uint64_t values : {2, 9, 1'000'000}) {
      expectSelectionOfSort<Wanted::kLargest>(seed, values);
      expectSelectionOfSort<Wanted::kSmallest>(seed, values);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin
HWY_AFTER_NAMESPACE();
