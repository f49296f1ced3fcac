#include "heatskin/io/color_space.h"

#include <gtest/gtest.h>

namespace heatskin {
namespace {

// Published values of the transfer function: IEC 61966-2-1 gives 0.5 -> 0.21404114 and the two ends.
TEST(ColorSpace, KnownValues) {
  EXPECT_EQ(linearFromSrgb(0.0f), 0.0f);
  EXPECT_EQ(linearFromSrgb(1.0f), 1.0f);
  EXPECT_EQ(srgbFromLinear(0.0f), 0.0f);
  EXPECT_NEAR(srgbFromLinear(1.0f), 1.0f, 1e-7f);
  EXPECT_NEAR(linearFromSrgb(0.5f), 0.21404114f, 1e-7f);
  EXPECT_NEAR(srgbFromLinear(0.5f), 0.73535699f, 1e-6f);
}

// Every 8-bit value survives the way to linear light and back; a thousandth of a level is float rounding.
TEST(ColorSpace, EightBitValuesSurviveTheRoundTrip) {
  for (int t = 0; t < 256; ++t) {
    const auto srgb = static_cast<float>(t) / 255.0f;
    EXPECT_NEAR(srgbFromLinear(linearFromSrgb(srgb)) * 255.0f, static_cast<float>(t), 1e-3f);
    EXPECT_NEAR(srgbFromLinear(linearFromSrgb8[static_cast<std::size_t>(t)]) * 255.0f, static_cast<float>(t),
                1e-3f);
  }
}

TEST(ColorSpace, IsMonotoneAcrossTheKnee) {
  float last = -1;
  for (int i = 0; i <= 4096; ++i) {
    const float linear = linearFromSrgb(static_cast<float>(i) / 4096.0f);
    EXPECT_GT(linear, last);
    last = linear;
  }
}

}  // namespace
}  // namespace heatskin
