#include "heatskin/evaluators/thermal/thermal_simd.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"
#include "heatskin/kernels/simd_level.h"
#include "heatskin/operators/dense_kernels.h"

namespace heatskin::thermal {
namespace {

std::vector<float> randomFloats(std::size_t count, std::uint64_t seed) {
  const RandomStream random(seed, 1);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(2 * random.uniform(i) - 1);
  return values;
}

TEST(ThermalSimd, FactorProductsEqualThePlainTwinAtEveryLevel) {
  for (const std::string& level : simdLevels()) {
    SCOPED_TRACE(level);
    ASSERT_TRUE(setSimdLevel(level));
    for (const std::size_t rank : {std::size_t{16}, std::size_t{48}, std::size_t{192}}) {
      for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{7}}) {
        const std::vector<float> rows = randomFloats(12 * rank, 1);
        std::vector<std::uint16_t> halves(4 * count * rank);
        halfFromFloat(randomFloats(halves.size(), 2), halves);
        std::vector<const std::uint16_t*> vertex_rows;
        for (std::size_t i = 0; i < 4 * count; ++i)
          vertex_rows.push_back(halves.data() + i * rank);
        std::vector<float> fast(12 * count), slow(12 * count);
        std::vector<float*> to_fast, to_slow;
        for (std::size_t k = 0; k < 12; ++k) {
          to_fast.push_back(&fast[k * count]);
          to_slow.push_back(&slow[k * count]);
        }
        factorProducts(rows.data(), rank, vertex_rows.data(), count, to_fast.data());
        factorProductsScalar(rows.data(), rank, vertex_rows.data(), count, to_slow.data());
        // Sums of `rank` products of size below 1 in another order: rank times half a rounding of rank.
        for (std::size_t i = 0; i < fast.size(); ++i)
          ASSERT_NEAR(fast[i], slow[i], 1e-7 * static_cast<double>(rank)) << rank << " " << count;
      }
    }
  }
  ASSERT_TRUE(setSimdLevel(""));
}

// What ThermalHeat remembers must not depend on what was asked for together with it.
TEST(ThermalSimd, FactorProductsDoNotDependOnTheVerticesBesides) {
  constexpr std::size_t kRank = 48, kCount = 5;
  const std::vector<float> rows = randomFloats(12 * kRank, 1);
  std::vector<std::uint16_t> halves(4 * kCount * kRank);
  halfFromFloat(randomFloats(halves.size(), 2), halves);
  std::vector<const std::uint16_t*> vertex_rows;
  for (std::size_t i = 0; i < 4 * kCount; ++i)
    vertex_rows.push_back(halves.data() + i * kRank);
  std::vector<float> all(12 * kCount), one(12);
  std::vector<float*> to_all, to_one;
  for (std::size_t k = 0; k < 12; ++k) {
    to_all.push_back(&all[k * kCount]);
    to_one.push_back(&one[k]);
  }
  factorProducts(rows.data(), kRank, vertex_rows.data(), kCount, to_all.data());
  for (std::size_t i = 0; i < kCount; ++i) {
    factorProducts(rows.data(), kRank, vertex_rows.data() + 4 * i, 1, to_one.data());
    for (std::size_t k = 0; k < 12; ++k)
      EXPECT_EQ(one[k], all[k * kCount + i]);
  }
}

TEST(ThermalSimd, MixesAreWeightedSumsAtEveryLevel) {
  constexpr std::size_t kCount = 21, kRoom = 64;
  const std::vector<float> weights = randomFloats(60, 3), products = randomFloats(12 * kRoom, 4);
  std::vector<const float*> from;
  for (std::size_t k = 0; k < 12; ++k)
    from.push_back(&products[k * kRoom]);
  for (const std::string& level : simdLevels()) {
    SCOPED_TRACE(level);
    ASSERT_TRUE(setSimdLevel(level));
    std::vector<float> mixed(5 * kRoom);
    std::vector<float*> to;
    for (std::size_t r = 0; r < 5; ++r)
      to.push_back(&mixed[r * kRoom]);
    mixProducts(weights.data(), from.data(), kCount, to.data());
    for (std::size_t r = 0; r < 5; ++r) {
      for (std::size_t i = 0; i < kCount; ++i) {
        double sum = 0;
        for (std::size_t k = 0; k < 12; ++k)
          sum += static_cast<double>(weights[12 * r + k]) * static_cast<double>(from[k][i]);
        EXPECT_NEAR(mixed[r * kRoom + i], sum, 2e-6);
      }
    }
  }
  ASSERT_TRUE(setSimdLevel(""));
}

}  // namespace
}  // namespace heatskin::thermal
