#include "heatskin/product/kernel_records.h"

#include <array>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"

#include "support/kernel_buffers.h"

namespace heatskin {
namespace {

using Record = std::array<std::uint8_t, kRecordBytes>;

StoredKernel valuesOf(const Record& record) {
  StoredKernel kernel;
  EXPECT_EQ(decodeKernel(readRecord(record), recordScales({}), kernel), std::nullopt);
  return kernel;
}

TEST(KernelRecords, BytesAreAsDocumented) {
  const Record record = {4,    3,    2, 1, 0x00, 0x40, 0xFF, 0x7F, 0x00, 0x80,
                         0xFF, 0xFF, 0, 0, 0,    0,    0x00, 0xF8, 0x9F, 0xFF};
  const StoredKernel k = valuesOf(record);
  EXPECT_EQ(k.position.triangle, 0x01020304u);
  EXPECT_EQ(k.position.barycentric, Vec3(16384, 32767, 16384) / 65535.0);
  EXPECT_EQ(k.angle, std::numbers::pi / 2);
  EXPECT_EQ(k.anisotropy, 200);
  EXPECT_EQ(k.threshold, 0.3f);
  EXPECT_EQ(k.sharpness, 10);
  EXPECT_EQ(Vec3f(k.channels), Vec3f(-1, 0, 1));
}

TEST(KernelRecords, ValuesAreWithinHalfAStepOfWhatAWriterWasGiven) {
  const RandomStream random(5, 6);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    std::uint64_t at = 16 * i;
    const auto uniform = [&] { return random.uniform(at++); };
    StoredKernel k;
    k.position.triangle = static_cast<std::uint32_t>(random.words(at++)[0]);
    const Vec3 b(uniform(), uniform(), uniform());
    k.position.barycentric = b / b.sum();
    k.angle = uniform() * std::numbers::pi;
    k.anisotropy = static_cast<float>(1 + 199 * uniform());
    k.threshold = static_cast<float>(1 - 0.69 * std::exp(-5 * uniform()));
    k.sharpness = static_cast<float>(10 + 190 * uniform());
    k.channels = Vec3(2 * uniform() - 1, 2 * uniform() - 1, 2 * uniform() - 1).cast<float>();
    const StoredKernel q = valuesOf(testing::versionOneRecord(k));
    ASSERT_EQ(q.position.triangle, k.position.triangle);
    ASSERT_LE((q.position.barycentric - k.position.barycentric).cwiseAbs().maxCoeff(), 1.01 / 65535);
    const double turn = std::abs(q.angle - k.angle);
    ASSERT_LE(std::min(turn, std::numbers::pi - turn), 0.501 * std::numbers::pi / 65536);
    ASSERT_NEAR(std::log(q.anisotropy / k.anisotropy), 0, 0.51 * std::log(200.0) / 65535 + 1e-7);
    ASSERT_NEAR(std::log(q.sharpness / k.sharpness), 0, 0.51 * std::log(20.0) / 65535 + 1e-7);
    ASSERT_NEAR(std::log((1.0 - q.threshold) / (1.0 - k.threshold)), 0, 0.51 * 16.3 / 65535 + 3e-5);
    ASSERT_NEAR(q.channels[0], k.channels[0], 0.501 / 1023);
    ASSERT_NEAR(q.channels[1], k.channels[1], 0.501 / 1023);
    ASSERT_NEAR(q.channels[2], k.channels[2], 0.501 / 511);
  }
}

TEST(KernelRecords, ThresholdsNextToOneKeepTheirLastBit) {
  for (int steps = 1; steps < 1000; ++steps) {
    StoredKernel k;
    k.threshold = 1.0f - static_cast<float>(steps) * 0x1.0p-24f;
    EXPECT_EQ(valuesOf(testing::versionOneRecord(k)).threshold, k.threshold);
  }
}

TEST(KernelRecords, CodesWithoutMeaningAreRefused) {
  const auto refused = [](const Record& record) {
    StoredKernel kernel;
    return decodeKernel(readRecord(record), recordScales({}), kernel).has_value();
  };
  Record record{};
  EXPECT_FALSE(refused(record));
  record[4] = record[5] = record[6] = 255, record[7] = 1;
  EXPECT_TRUE(refused(record));
  for (const std::uint32_t color : {2047u, 2047u << 11, 1023u << 22}) {
    record = {};
    for (std::size_t i = 0; i < 4; ++i)
      record[16 + i] = static_cast<std::uint8_t>(color >> (8 * i));
    EXPECT_TRUE(refused(record)) << color;
  }
}

}  // namespace
}  // namespace heatskin
