#include "heatskin/product/kernel_columns.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"

#include "support/kernel_buffers.h"

namespace heatskin {
namespace {

using testing::deflated;
using testing::inflated;

KernelScales scalesOf(int bits, int channel_bits, std::size_t channels = 3) {
  KernelScales scales;
  scales.bits = {32, bits, bits, bits, bits, bits, bits};
  scales.channel_bits.assign(channels, channel_bits);
  return scales;
}

/// Any codes of so many bits that mean something, on triangles below `triangles`.
std::vector<KernelCodes> randomCodes(std::size_t count, const KernelScales& scales, std::uint64_t triangles) {
  const RandomStream random(3, count);
  std::uint64_t at = 0;
  const auto below = [&](std::uint64_t bound) {
    return static_cast<std::uint32_t>(random.below(at++, bound));
  };
  const auto code = [&](int bits) { return below(std::uint64_t{1} << bits); };
  std::vector<KernelCodes> codes(count);
  for (KernelCodes& c : codes) {
    c.triangle = below(triangles);
    c.b0 = code(scales.bits.barycentric);
    c.b1 = below((std::uint64_t{1} << scales.bits.barycentric) - c.b0);
    c.angle = code(scales.bits.angle);
    c.anisotropy = code(scales.bits.anisotropy);
    c.threshold = code(scales.bits.threshold);
    c.sharpness = code(scales.bits.sharpness);
    c.length = code(scales.bits.length);
    for (std::size_t i = 0; i < scales.channel_bits.size(); ++i)
      c.channels[i] = static_cast<std::uint16_t>(below((std::uint64_t{1} << scales.channel_bits[i]) - 1));
  }
  sortKernels(codes);
  return codes;
}

std::string refusal(std::span<const std::uint8_t> bytes, std::size_t count, const KernelScales& scales) {
  const auto codes = unpackColumns(bytes, count, scales);
  if (codes) return "";
  EXPECT_EQ(codes.error().kind, ErrorKind::kInput);
  EXPECT_EQ(codes.error().message.find('\n'), std::string::npos);
  return codes.error().message;
}

TEST(KernelColumns, ComeBackWithAnyBits) {
  for (int bits = 1; bits <= 16; ++bits) {
    for (const std::size_t count : {1u, 2u, 300u}) {
      for (const std::uint64_t triangles : {std::uint64_t{1}, std::uint64_t{50}, std::uint64_t{1} << 32}) {
        KernelScales scales = scalesOf(bits, std::max(bits, 2), 3 + static_cast<std::size_t>(bits) % 14);
        const auto codes = randomCodes(count, scales, triangles);
        scales.bits.triangle = triangleBits(codes);
        const auto bytes = packColumns(codes, scales);
        const auto read = unpackColumns(bytes, count, scales);
        ASSERT_TRUE(read) << read.error().message;
        ASSERT_TRUE(*read == codes) << bits << " bits, " << count << " kernels";
        ASSERT_EQ(packColumns(*read, scales), bytes);
      }
    }
  }
}

TEST(KernelColumns, AreSortedByTriangleAndThenByTheFirstCode) {
  std::vector<KernelCodes> codes(4);
  codes[0].triangle = 5, codes[0].angle = 1;
  codes[1].triangle = 2, codes[1].b0 = 7;
  codes[2].triangle = 2, codes[2].b0 = 3;
  codes[3].triangle = 5, codes[3].angle = 2;
  sortKernels(codes);
  EXPECT_EQ(codes[0].b0, 3u);
  EXPECT_EQ(codes[1].b0, 7u);
  EXPECT_EQ(codes[2].angle, 1u) << "equal ones keep their order";
  EXPECT_EQ(codes[3].angle, 2u);
  EXPECT_EQ(triangleBits(codes), 2) << "differences 2, 0, 3, 0";
}

TEST(KernelColumns, PlanesAreAsDocumented) {
  KernelScales scales;
  scales.bits = {10, 10, 9, 8, 12, 7, 3};
  scales.channel_bits = {11, 11, 11, 4};
  std::vector<KernelCodes> codes(2);
  codes[0] = {700, 512, 100, 257, 255, 0xABC, 64, 5, {10, 1000, 2046, 9}};
  codes[1] = {700, 515, 101, 0, 0, 0xFFF, 0, 7, {1500, 1000, 999, 0}};
  EXPECT_EQ(planeBytes(scales), 2u + 2 + 2 + 2 + 1 + 2 + 1 + 1 + 6 + 1);
  const std::vector<std::uint8_t> expected = {
      700 % 256,
      0,
      700 / 256,
      0,  // triangle: 700, then 0
      512 / 4,
      0,
      512 % 4,
      3,  // b0: upper 8 bits, rest; 512, then 3 more
      100 / 4,
      101 / 4,
      100 % 4,
      101 % 4,  // b1
      257 / 2,
      0,
      257 % 2,
      0,  // angle
      255,
      0,  // anisotropy
      0xAB,
      0xFF,
      0x0C,
      0x0F,  // threshold
      64,
      0,  // sharpness
      5,
      7,  // length
      (2048 + 10 - 1000) / 8,
      500 / 8,
      (2048 + 10 - 1000) % 8,
      500 % 8,  // red - green
      1000 / 8,
      1000 / 8,
      1000 % 8,
      1000 % 8,  // green
      1046 / 8,
      2047 / 8,
      1046 % 8,
      2047 % 8,  // blue - green
      9,
      0,  // a fourth channel
  };
  EXPECT_EQ(inflated(packColumns(codes, scales), 2 * planeBytes(scales)), expected);
  // Other compressors may be used.
  const auto read = unpackColumns(deflated(expected), 2, scales);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(*read == codes);
}

TEST(KernelColumns, AnythingButExactlyTheirStreamIsRefused) {
  const KernelScales scales = scalesOf(12, 11);
  const auto codes = randomCodes(40, scales, 1000);
  const auto bytes = packColumns(codes, scales);
  ASSERT_EQ(refusal(bytes, 40, scales), "");
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(refusal(std::span(bytes).first(length), 40, scales), "") << length;
  auto longer = bytes;
  longer.push_back(0);
  EXPECT_NE(refusal(longer, 40, scales).find("not a zlib stream"), std::string::npos);
  EXPECT_NE(refusal(bytes, 39, scales), "");
  EXPECT_NE(refusal(bytes, 41, scales), "");
  // Every bit of the stream is covered by its checksum.
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    auto flipped = bytes;
    flipped[at] ^= static_cast<std::uint8_t>(1 << (at % 8));
    const auto read = unpackColumns(flipped, 40, scales);
    EXPECT_TRUE(!read || *read == codes) << at;
  }
}

TEST(KernelColumns, BombsAreRefusedBeforeTheyAreInflated) {
  const KernelScales scales = scalesOf(8, 8);
  const std::size_t count = 4'000'000;
  const auto bomb = deflated(std::vector<std::uint8_t>(count * planeBytes(scales)));
  EXPECT_LT(bomb.size(), count * planeBytes(scales) / 500);
  EXPECT_NE(refusal(bomb, count, scales).find("too few for 4000000 kernels"), std::string::npos);
  // One that says it is small stops after what it says.
  EXPECT_NE(refusal(bomb, 1000, scales).find("not a zlib stream"), std::string::npos);
  EXPECT_NE(refusal({}, 1, scales), "");
}

TEST(KernelColumns, KernelsThatAreAllAlikeAreNoBomb) {
  KernelScales scales = scalesOf(12, 11);
  scales.bits.triangle = 1;
  const std::vector<KernelCodes> codes(100'000);
  const auto bytes = packColumns(codes, scales);
  EXPECT_GT(bytes.size(), codes.size() * planeBytes(scales) / kMostInflation);
  const auto read = unpackColumns(bytes, codes.size(), scales);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(*read == codes);
}

TEST(KernelColumns, CodesOfTooManyBitsAreRefused) {
  // In every plane, a bit beyond those of its code.
  KernelScales scales;
  scales.bits = {12, 10, 9, 7, 12, 7, 3};
  scales.channel_bits = {11, 11, 11, 4};
  const auto codes = randomCodes(5, scales, 1);
  const auto planes = inflated(packColumns(codes, scales), 5 * planeBytes(scales));
  std::size_t refused = 0;
  for (std::size_t plane = 0; plane < planes.size() / 5; ++plane) {
    auto bad = planes;
    bad[5 * plane + 3] = 255;
    if (refusal(deflated(bad), 5, scales).find("too many bits") != std::string::npos) ++refused;
  }
  // All but the low byte of triangles, and the upper planes of the seven codes with two.
  EXPECT_EQ(refused, planes.size() / 5 - 1 - 7);
}

TEST(KernelColumns, SumsThatRunOverAreRefused) {
  KernelScales scales = scalesOf(16, 8);
  std::vector<KernelCodes> codes(3);
  for (KernelCodes& c : codes)
    c.triangle = 0xFFFFFFFF;
  auto planes = inflated(packColumns(codes, scales), 3 * planeBytes(scales));
  planes[1] = 1;  // the second difference
  EXPECT_NE(refusal(deflated(planes), 3, scales).find("kernel 1: its triangle"), std::string::npos);
  planes[1] = 0;
  // Barycentric codes of 65535, and then 65535 more, and more: they stay beyond what has a meaning.
  std::fill_n(planes.begin() + 12, 6, std::uint8_t{255});
  const auto read = unpackColumns(deflated(planes), 3, scales);
  ASSERT_TRUE(read) << read.error().message;
  StoredKernel kernel;
  EXPECT_EQ(decodeKernel((*read)[0], scales, kernel), std::nullopt);
  EXPECT_NE(decodeKernel((*read)[1], scales, kernel), std::nullopt);
  EXPECT_NE(decodeKernel((*read)[2], scales, kernel), std::nullopt);
}

}  // namespace
}  // namespace heatskin
