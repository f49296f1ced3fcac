#include "heatskin/base/rng.h"

#include <cmath>

#include <gtest/gtest.h>

namespace heatskin {
namespace {

// The known-answer vectors published with Random123 (philox4x32, 10 rounds).
TEST(Philox, PublishedVectors) {
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, UniformsLieInTheHalfOpenUnitInterval) {
  EXPECT_EQ(unitDouble(0, 0), 0.0);
  EXPECT_LT(unitDouble(0xffffffff, 0xffffffff), 1.0);
  EXPECT_EQ(unitFloat(0), 0.0f);
  EXPECT_LT(unitFloat(0xffffffff), 1.0f);
}

TEST(RandomStream, MeanAndVarianceAreThoseOfAUniform) {
  const RandomStream random(42, 7);
  constexpr int kCount = 200'000;
  double sum = 0, square = 0;
  for (int i = 0; i < kCount; ++i) {
    const double u = random.uniform(static_cast<std::uint64_t>(i)) - 0.5;
    sum += u;
    square += u * u;
  }
  // Five standard deviations of the mean (0.289) and of the square (0.0745).
  EXPECT_NEAR(sum / kCount, 0, 5 * 0.289 / std::sqrt(kCount));
  EXPECT_NEAR(square / kCount, 1.0 / 12, 5 * 0.0745 / std::sqrt(kCount));
}

TEST(RandomStream, SeedsAndStreamsDiffer) {
  EXPECT_NE(RandomStream(1, 0).words(0), RandomStream(2, 0).words(0));
  EXPECT_NE(RandomStream(1, 0).words(0), RandomStream(1, 1).words(0));
  EXPECT_NE(RandomStream(std::uint64_t{1} << 40, 0).words(0), RandomStream(0, 0).words(0));
}

TEST(RandomStream, BelowStaysBelowAndReachesEveryValue) {
  const RandomStream random(3, 0);
  std::array<int, 7> hits{};
  for (std::uint64_t i = 0; i < 7000; ++i)
    ++hits[random.below(i, 7)];
  for (const int n : hits)
    EXPECT_NEAR(n, 1000, 5 * std::sqrt(1000.0));
  EXPECT_EQ(random.below(9, 1), 0u);
}

}  // namespace
}  // namespace heatskin
