#include "heatskin/product/quantize.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"

namespace heatskin {
namespace {

/// What a file of a base colour uses, but for the bits of triangles and barycentric coordinates.
KernelScales usualScales() {
  return {{}, {}, defaultChannelBits({})};
}

/// So many bits for everything but triangles.
KernelScales scalesOfBits(int bits, std::size_t channels = 3) {
  KernelScales scales;
  scales.bits = {32, bits, bits, bits, bits, bits, bits};
  scales.channel_bits.assign(channels, std::max(bits, 2));
  return scales;
}

StoredKernel decoded(const KernelCodes& codes, const KernelScales& scales) {
  StoredKernel kernel;
  EXPECT_EQ(decodeKernel(codes, scales, kernel), std::nullopt);
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
  k.length = static_cast<float>(std::exp2(14 * uniform() - 10));
  k.channels = Vec3(2 * uniform() - 1, 2 * uniform() - 1, 2 * uniform() - 1).cast<float>();
  return k;
}

/// Half a step, plus what float32 rounds away.
constexpr double kHalf = 0.5001;

TEST(Quantize, EveryValueIsWithinHalfAStep) {
  std::vector<KernelScales> all = {usualScales()};
  for (const int bits : {2, 6, 9, 12, 16})
    all.push_back(scalesOfBits(bits));
  for (const KernelScales& scales : all) {
    const KernelBits& bits = scales.bits;
    const auto steps = [](int n) { return std::exp2(n) - 1; };
    for (std::uint64_t i = 0; i < 10000; ++i) {
      const StoredKernel k = randomKernel(i), q = decoded(encodeKernel(k, scales), scales);
      ASSERT_EQ(q.position.triangle, k.position.triangle);
      // Three codes that add up to one: the largest remainder may cost a whole step.
      ASSERT_LE((q.position.barycentric - k.position.barycentric).cwiseAbs().maxCoeff(),
                1.0001 / steps(bits.barycentric));
      ASSERT_NEAR(q.position.barycentric.sum(), 1, 1e-12);
      ASSERT_GE(q.position.barycentric.minCoeff(), 0);
      const double turn = std::abs(q.angle - k.angle);
      ASSERT_LE(std::min(turn, std::numbers::pi - turn), kHalf * angleStep(bits.angle));
      const auto expectLogarithm = [](float value, float exact, double step) {
        ASSERT_LE(std::abs(std::log(static_cast<double>(value) / exact)), kHalf * step + 1e-7);
      };
      expectLogarithm(q.anisotropy, k.anisotropy, std::log(200.0) / steps(bits.anisotropy));
      expectLogarithm(q.sharpness, k.sharpness, std::log(20.0) / steps(bits.sharpness));
      expectLogarithm(q.length, k.length, std::log(0x1p14) / steps(bits.length));
      // 1 - eps is a whole number of 2^-24 steps near 1.
      const double factor = std::exp(kHalf * std::log(0.7 / 0x1.0p-24) / steps(bits.threshold));
      ASSERT_LE(1.0 - q.threshold, (1.0 - k.threshold) * factor + 0x1.0p-25);
      ASSERT_GE(1.0 - q.threshold, (1.0 - k.threshold) / factor - 0x1.0p-25);
      for (Eigen::Index c = 0; c < 3; ++c) {
        const int n = scales.channel_bits[static_cast<std::size_t>(c)];
        ASSERT_LE(std::abs(q.channels[c] - k.channels[c]), kHalf / (std::exp2(n - 1) - 1) + 1e-7);
      }
    }
  }
}

TEST(Quantize, WhatWasReadIsWrittenTheSame) {
  for (int bits = 1; bits <= 16; ++bits) {
    for (const KernelScales& scales : {usualScales(), scalesOfBits(bits)}) {
      for (std::uint64_t i = 0; i < 5000; ++i) {
        const KernelCodes codes =
            encodeKernel(randomKernel(i + 5000 * static_cast<std::uint64_t>(bits)), scales);
        ASSERT_TRUE(encodeKernel(decoded(codes, scales), scales) == codes) << bits << " bits, kernel " << i;
      }
    }
  }
}

TEST(Quantize, ValuesStayInTheirRanges) {
  for (const int bits : {1, 8, 9, 16}) {
    const KernelScales scales = scalesOfBits(bits);
    const std::uint32_t full = (1u << bits) - 1;
    const auto largest = static_cast<std::uint16_t>((1u << scales.channel_bits[0]) - 2);
    KernelCodes low, high;
    high.b1 = high.angle = high.anisotropy = high.threshold = high.sharpness = high.length = full;
    std::fill_n(high.channels.begin(), 3, largest);
    const StoredKernel a = decoded(low, scales), b = decoded(high, scales);
    EXPECT_EQ(a.anisotropy, KernelRanges::kMinAnisotropy);
    EXPECT_EQ(b.anisotropy, KernelRanges::kMaxAnisotropy);
    EXPECT_EQ(a.threshold, KernelRanges::kMinThreshold);
    EXPECT_EQ(b.threshold, KernelRanges::kMaxThreshold);
    EXPECT_EQ(a.sharpness, KernelRanges::kMinSharpness);
    EXPECT_EQ(b.sharpness, KernelRanges::kMaxSharpness);
    EXPECT_EQ(a.length, KernelRanges::kMinLength);
    EXPECT_EQ(b.length, KernelRanges::kMaxLength);
    EXPECT_EQ(Vec3f(a.channels), Vec3f(-1, -1, -1));
    EXPECT_EQ(Vec3f(b.channels), Vec3f(1, 1, 1));
    EXPECT_EQ(a.position.barycentric, Vec3(0, 0, 1));
    EXPECT_EQ(b.position.barycentric, Vec3(0, 1, 0));
    EXPECT_LT(b.angle, std::numbers::pi);
  }
}

TEST(Quantize, ValuesBeyondTheRangesAreClamped) {
  StoredKernel k;
  k.anisotropy = 0, k.threshold = 1, k.sharpness = 1e30f, k.length = -1;
  k.channels = Vec3f(-2, 2, 0);
  const StoredKernel q = decoded(encodeKernel(k, usualScales()), usualScales());
  EXPECT_EQ(q.anisotropy, KernelRanges::kMinAnisotropy);
  EXPECT_EQ(q.threshold, KernelRanges::kMaxThreshold);
  EXPECT_EQ(q.sharpness, KernelRanges::kMaxSharpness);
  EXPECT_EQ(q.length, KernelRanges::kMinLength);
  EXPECT_EQ(Vec3f(q.channels), Vec3f(-1, 1, 0));
}

TEST(Quantize, AScaleFromExactlyTheLeastThresholdStaysInRange) {
  KernelScales scales = scalesOfBits(16);
  scales.ranges.threshold = {0.3, 1 - 0x1p-24};
  for (std::uint32_t code = 0; code <= 65535; ++code) {
    KernelCodes codes;
    codes.threshold = code;
    const StoredKernel kernel = decoded(codes, scales);
    ASSERT_GE(kernel.threshold, KernelRanges::kMinThreshold) << code;
    ASSERT_LE(kernel.threshold, KernelRanges::kMaxThreshold) << code;
    // From where 1 - x is 2^-24 (the spacing of floats) over 2.5e-4 (the step of the scale), neighbouring
    // codes share a float.
    if (kernel.threshold < 0.9997f) {
      ASSERT_EQ(encodeKernel(kernel, scales).threshold, code);
    }
  }
}

TEST(Quantize, NoColourAndALengthOfOneStayExact) {
  const StoredKernel q = decoded(encodeKernel({}, usualScales()), usualScales());
  EXPECT_EQ(Vec3f(q.channels), Vec3f(Vec3f::Zero()));
  EXPECT_EQ(q.length, 1);
}

TEST(Quantize, AnAngleOfPiIsZero) {
  StoredKernel k;
  k.angle = std::numbers::pi;
  EXPECT_EQ(encodeKernel(k, usualScales()).angle, 0u);
  k.angle = -1e-9;
  EXPECT_EQ(encodeKernel(k, usualScales()).angle, 0u);
}

TEST(Quantize, CodesAreAsDocumented) {
  StoredKernel k;
  k.position = {0x01020304, {0.25, 0.5, 0.25}};
  k.angle = std::numbers::pi / 2;
  k.anisotropy = 200;
  k.threshold = 0.3f;
  k.sharpness = 10;
  k.length = 1;
  k.channels = Vec3f(-1, 0, 1);
  const KernelCodes codes = encodeKernel(k, usualScales());
  EXPECT_EQ(codes.triangle, 0x01020304u);
  // 0.25 x 4095 = 1023.75 and 0.5 x 4095 = 2047.5: what is missing goes to the largest remainders.
  EXPECT_EQ(codes.b0, 1024u);
  EXPECT_EQ(codes.b1, 2047u);
  EXPECT_EQ(codes.angle, 256u);
  EXPECT_EQ(codes.anisotropy, 511u);
  EXPECT_EQ(codes.threshold, 0u);
  EXPECT_EQ(codes.sharpness, 0u);
  EXPECT_EQ(codes.length, 2925u) << "ten fourteenths of 4095";
  EXPECT_EQ(codes.channels[0], 0u);
  EXPECT_EQ(codes.channels[1], 1023u);
  EXPECT_EQ(codes.channels[2], 2046u);
}

TEST(Quantize, EveryChannelHasTheBitsOfItsGroup) {
  const auto layout = *ChannelLayout::make({{"base_color", 3}, {"alpha", 1}, {"glow", 2, 0, {-3, 40}}});
  const auto bits = defaultChannelBits(layout);
  EXPECT_EQ(bits, (std::vector<int>{kColorBits, kColorBits, kColorBits, kOtherChannelBits, kOtherChannelBits,
                                    kOtherChannelBits}));
}

TEST(Quantize, CodesWithoutMeaningAreRefused) {
  StoredKernel kernel;
  KernelCodes codes;
  codes.b0 = 4000, codes.b1 = 95;
  EXPECT_EQ(decodeKernel(codes, usualScales(), kernel), std::nullopt);
  codes.b1 = 96;
  EXPECT_NE(decodeKernel(codes, usualScales(), kernel), std::nullopt);
  for (std::size_t c = 0; c < 16; ++c) {
    codes = {};
    codes.channels[c] = 2047;
    EXPECT_NE(decodeKernel(codes, scalesOfBits(11, 16), kernel), std::nullopt) << c;
    codes.channels[c] = 2046;
    EXPECT_EQ(decodeKernel(codes, scalesOfBits(11, 16), kernel), std::nullopt) << c;
  }
}

}  // namespace
}  // namespace heatskin
