#include "heatskin/product/quantize.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"

namespace heatskin {
namespace {

using Code = std::array<std::uint8_t, kKernelBytes>;

Code pack(const StoredKernel& kernel) {
  Code code{};
  packKernel(kernel, {}, code);
  return code;
}

StoredKernel unpack(const Code& code) {
  StoredKernel kernel;
  EXPECT_EQ(unpackKernel(code, {}, kernel), std::nullopt);
  return kernel;
}

/// Parameters anywhere in their ranges; every fourth number is at an end.
StoredKernel randomKernel(std::uint64_t i) {
  const RandomStream random(5, 6);
  std::uint64_t at = 16 * i;
  const auto uniform = [&] {
    const double u = random.uniform(at++);
    return u < 0.125 ? 0.0 : u < 0.25 ? 1.0 : (u - 0.25) / 0.75;
  };
  StoredKernel k;
  k.position.triangle = static_cast<std::uint32_t>(random.words(at++)[0]);
  Vec3 b(uniform(), uniform(), uniform());
  k.position.barycentric = b.sum() > 0 ? Vec3(b / b.sum()) : Vec3(0, 0, 1);
  k.angle = uniform() * std::numbers::pi;
  k.anisotropy = static_cast<float>(1 + 199 * uniform());
  // Both evenly and crowded towards 1.
  const double crowd = uniform() < 0.5 ? 1 : 15;
  k.threshold = std::clamp(static_cast<float>(1 - 0.7 * std::exp(-crowd * uniform())),
                           KernelRanges::kMinThreshold, KernelRanges::kMaxThreshold);
  k.sharpness = static_cast<float>(10 + 190 * uniform());
  k.channels = Vec3(2 * uniform() - 1, 2 * uniform() - 1, 2 * uniform() - 1).cast<float>();
  return k;
}

// Steps: 16 bits of the unit interval, of pi, of log 200, of the logarithm of 1 - eps, of log 20.
constexpr double kUnitStep = 1.0 / 65535;
constexpr double kAngleStep = std::numbers::pi / 65536;
const double kAnisotropyStep = std::log(200.0) / 65535;
const double kThresholdStep = std::log(0.7 / 0x1.0p-24) / 65535;
const double kSharpnessStep = std::log(20.0) / 65535;
/// Half a step, plus what float32 rounds away.
constexpr double kHalf = 0.5001;

TEST(Quantize, EveryValueIsWithinHalfAStep) {
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const StoredKernel k = randomKernel(i), q = unpack(pack(k));
    ASSERT_EQ(q.position.triangle, k.position.triangle);
    // Three codes that add up to one: the largest remainder may cost a whole step.
    ASSERT_LE((q.position.barycentric - k.position.barycentric).cwiseAbs().maxCoeff(), 1.0001 * kUnitStep);
    ASSERT_NEAR(q.position.barycentric.sum(), 1, 1e-12);
    ASSERT_GE(q.position.barycentric.minCoeff(), 0);
    const double turn = std::abs(q.angle - k.angle);
    ASSERT_LE(std::min(turn, std::numbers::pi - turn), kHalf * kAngleStep);
    ASSERT_LE(std::abs(std::log(q.anisotropy / k.anisotropy)), kHalf * kAnisotropyStep + 1e-7);
    ASSERT_LE(std::abs(std::log(q.sharpness / k.sharpness)), kHalf * kSharpnessStep + 1e-7);
    // 1 - eps is a whole number of 2^-24 steps near 1.
    ASSERT_LE(std::abs((1.0 - q.threshold) - (1.0 - k.threshold)),
              (1.0 - k.threshold) * kHalf * kThresholdStep + 0x1.0p-25);
    ASSERT_LE(std::abs(q.channels[0] - k.channels[0]), kHalf / 1023);
    ASSERT_LE(std::abs(q.channels[1] - k.channels[1]), kHalf / 1023);
    ASSERT_LE(std::abs(q.channels[2] - k.channels[2]), kHalf / 511);
  }
}

TEST(Quantize, WhatWasReadIsWrittenTheSame) {
  for (std::uint64_t i = 0; i < 50000; ++i) {
    const Code code = pack(randomKernel(i));
    ASSERT_EQ(pack(unpack(code)), code) << "kernel " << i;
  }
}

TEST(Quantize, ValuesStayInTheirRanges) {
  Code low{}, high;
  high.fill(255);
  high[4] = high[5] = 0;                                               // barycentric coordinates 0, 1, 0
  high[16] = 0xFE, high[17] = 0xF7, high[18] = 0xBF, high[19] = 0xFF;  // 2046, 2046, 1022
  const StoredKernel a = unpack(low), b = unpack(high);
  EXPECT_EQ(a.anisotropy, KernelRanges::kMinAnisotropy);
  EXPECT_EQ(b.anisotropy, KernelRanges::kMaxAnisotropy);
  EXPECT_EQ(a.threshold, KernelRanges::kMinThreshold);
  EXPECT_EQ(b.threshold, KernelRanges::kMaxThreshold);
  EXPECT_EQ(a.sharpness, KernelRanges::kMinSharpness);
  EXPECT_EQ(b.sharpness, KernelRanges::kMaxSharpness);
  EXPECT_EQ(Vec3f(a.channels), Vec3f(-1, -1, -1));
  EXPECT_EQ(Vec3f(b.channels), Vec3f(1, 1, 1));
  EXPECT_EQ(a.position.barycentric, Vec3(0, 0, 1));
  EXPECT_EQ(b.position.barycentric, Vec3(0, 1, 0));
  EXPECT_LT(b.angle, std::numbers::pi);
}

TEST(Quantize, AScaleFromExactlyTheLeastThresholdStaysInRange) {
  QuantizeRanges ranges;
  ranges.threshold = {0.3, 1 - 0x1p-24};
  for (std::uint32_t code = 0; code <= 65535; ++code) {
    Code bytes{};
    bytes[12] = static_cast<std::uint8_t>(code);
    bytes[13] = static_cast<std::uint8_t>(code >> 8);
    StoredKernel kernel;
    ASSERT_FALSE(unpackKernel(bytes, ranges, kernel));
    ASSERT_GE(kernel.threshold, KernelRanges::kMinThreshold) << code;
    ASSERT_LE(kernel.threshold, KernelRanges::kMaxThreshold) << code;
    Code again{};
    packKernel(kernel, ranges, again);
    const std::uint32_t back = again[12] + 256u * again[13];
    // From where 1 - x is 2^-24 (the spacing of floats) over 2.5e-4 (the step of the scale), neighbouring
    // codes share a float.
    if (kernel.threshold < 0.9997f) {
      ASSERT_EQ(back, code);
    }
  }
}

TEST(Quantize, NoColourAndBlackStayExact) {
  StoredKernel k;
  EXPECT_EQ(Vec3f(unpack(pack(k)).channels), Vec3f(Vec3f::Zero()));
}

TEST(Quantize, AnAngleOfPiIsZero) {
  StoredKernel k;
  k.angle = std::numbers::pi;
  EXPECT_EQ(unpack(pack(k)).angle, 0);
  k.angle = -1e-9;
  EXPECT_EQ(unpack(pack(k)).angle, 0);
}

TEST(Quantize, ThresholdsNextToOneKeepTheirLastBit) {
  for (int steps = 1; steps < 1000; ++steps) {
    StoredKernel k;
    k.threshold = 1.0f - static_cast<float>(steps) * 0x1.0p-24f;
    EXPECT_EQ(unpack(pack(k)).threshold, k.threshold);
  }
}

TEST(Quantize, BytesAreAsDocumented) {
  StoredKernel k;
  k.position = {0x01020304, {0.25, 0.5, 0.25}};
  k.angle = std::numbers::pi / 2;
  k.anisotropy = 200;
  k.threshold = 0.3f;
  k.sharpness = 10;
  k.channels = Vec3f(-1, 0, 1);
  const Code code = pack(k);
  const Code expected = {4,    3,    2, 1, 0x00, 0x40, 0xFF, 0x7F, 0x00, 0x80,
                         0xFF, 0xFF, 0, 0, 0,    0,    0x00, 0xF8, 0x9F, 0xFF};
  // 0.25 x 65535 = 16383.75 and 0.5 x 65535 = 32767.5: what is missing goes to the largest remainders.
  EXPECT_EQ(code, expected);
}

TEST(Quantize, FurtherChannelsHaveTwoBytesEach) {
  EXPECT_EQ(kernelBytes(3), kKernelBytes);
  for (const std::size_t channels : {4u, 11u, 16u}) {
    const RandomStream random(9, channels);
    std::vector<std::uint8_t> code(kernelBytes(channels)), again(code.size());
    ASSERT_EQ(code.size(), 20 + 2 * (channels - 3));
    for (std::uint64_t i = 0; i < 2000; ++i) {
      StoredKernel k = randomKernel(i);
      const Code colors = pack(k);
      k.channels.conservativeResize(static_cast<Eigen::Index>(channels));
      for (std::size_t c = 3; c < channels; ++c) {
        // Beyond both ends, too, and exactly nothing.
        const auto value = static_cast<float>(2.2 * random.uniform(16 * i + c) - 1.1);
        k.channels[static_cast<Eigen::Index>(c)] = c == 3 && i % 3 == 0 ? 0.0f : value;
      }
      packKernel(k, {}, code);
      ASSERT_TRUE(std::equal(colors.begin(), colors.end(), code.begin())) << "the rest is what it was";
      StoredKernel q;
      ASSERT_EQ(unpackKernel(code, {}, q), std::nullopt);
      ASSERT_EQ(q.channels.size(), k.channels.size());
      for (Eigen::Index c = 3; c < q.channels.size(); ++c)
        ASSERT_LE(std::abs(q.channels[c] - std::clamp(k.channels[c], -1.0f, 1.0f)), kHalf * kChannelStep);
      if (i % 3 == 0) {
        ASSERT_EQ(q.channels[3], 0.0f);
      }
      packKernel(q, {}, again);
      ASSERT_EQ(again, code);
    }
    code[20] = code[21] = 0xFF;
    StoredKernel kernel;
    EXPECT_NE(unpackKernel(code, {}, kernel), std::nullopt) << "65535 is no code";
    code[20] = 0xFE;
    EXPECT_EQ(unpackKernel(code, {}, kernel), std::nullopt);
    EXPECT_EQ(kernel.channels[3], 1.0f);
  }
}

TEST(Quantize, CodesWithoutMeaningAreRefused) {
  StoredKernel kernel;
  Code code{};
  code[4] = code[5] = code[6] = 255, code[7] = 1;
  EXPECT_NE(unpackKernel(code, {}, kernel), std::nullopt);
  for (const std::uint32_t color : {2047u, 2047u << 11, 1023u << 22}) {
    code = {};
    for (std::size_t i = 0; i < 4; ++i)
      code[16 + i] = static_cast<std::uint8_t>(color >> (8 * i));
    EXPECT_NE(unpackKernel(code, {}, kernel), std::nullopt) << color;
  }
}

}  // namespace
}  // namespace heatskin
