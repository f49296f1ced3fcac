#include "heatskin/rendering/pixel_samples.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

namespace heatskin {
namespace {

/// True if 2^k points lie one each in the cells of every grid of 2^a x 2^(k - a) cells.
bool wellSpread(int k, const std::function<Vec2(std::uint32_t)>& point) {
  for (int a = 0; a <= k; ++a) {
    const std::uint32_t columns = 1u << a, rows = 1u << (k - a);
    std::vector<int> cells(std::size_t{1} << k, 0);
    for (std::uint32_t i = 0; i < (1u << k); ++i) {
      const Vec2 p = point(i);
      const auto x = static_cast<std::uint32_t>(p.x() * columns),
                 y = static_cast<std::uint32_t>(p.y() * rows);
      if (x >= columns || y >= rows || ++cells[y * columns + x] > 1) return false;
    }
  }
  return true;
}

TEST(PixelSamples, PowersOfTwoFillEveryGridOnce) {
  const PixelSamples samples(3, 1);
  for (std::uint32_t pixel = 0; pixel < 20; ++pixel) {
    for (std::uint32_t d = 0; d < 6; ++d) {
      for (const int k : {2, 5, 8})
        EXPECT_TRUE(wellSpread(k, [&](std::uint32_t i) { return samples.pair(pixel, i, d); }));
    }
  }
}

TEST(PixelSamples, PlainRandomNumbersDoNot) {
  const RandomStream random(3, 1);
  EXPECT_FALSE(wellSpread(5, [&](std::uint32_t i) {
    const auto u = random.uniform2(i);
    return Vec2(u[0], u[1]);
  }));
}

TEST(PixelSamples, PixelsAndDimensionsAreIndependent) {
  // Correlation of the same sample's numbers over pixels, and of a pixel's over pairs of dimensions.
  const PixelSamples samples(4, 1);
  double pixels = 0, dimensions = 0, mean = 0;
  constexpr std::uint32_t kCount = 20'000;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const Vec2 a = samples.pair(i, i % 16, 0), b = samples.pair(i + 1, i % 16, 0);
    const Vec2 c = samples.pair(i, i % 16, 1);
    mean += a.x() + a.y();
    pixels += (a.x() - 0.5) * (b.x() - 0.5);
    dimensions += (a.x() - 0.5) * (c.x() - 0.5) + (a.y() - 0.5) * (c.y() - 0.5);
  }
  EXPECT_NEAR(mean / (2 * kCount), 0.5, 0.01);
  EXPECT_NEAR(pixels / kCount, 0, 0.003);  // the variance is 1 / 12
  EXPECT_NEAR(dimensions / (2 * kCount), 0, 0.003);
}

}  // namespace
}  // namespace heatskin
