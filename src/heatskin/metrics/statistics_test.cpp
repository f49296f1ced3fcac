#include "heatskin/metrics/statistics.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace heatskin {
namespace {

const double kInf = std::numeric_limits<double>::infinity();

TEST(SignTest, PublishedValues) {
  // The paper's two comparisons, printed with six digits: 11 / 1024 and 9 / 256.
  EXPECT_NEAR(signTest(9, 1), 0.010742, 5e-7);
  EXPECT_NEAR(signTest(7, 1), 0.035156, 5e-7);
  EXPECT_EQ(signTest(9, 1), 11.0 / 1024.0);
  EXPECT_EQ(signTest(7, 1), 9.0 / 256.0);
}

TEST(SignTest, Extremes) {
  EXPECT_EQ(signTest(0, 0), 1.0);
  EXPECT_EQ(signTest(0, 5), 1.0);
  EXPECT_EQ(signTest(10, 0), std::ldexp(1.0, -10));
  EXPECT_EQ(signTest(62, 0), std::ldexp(1.0, -62));
  EXPECT_NEAR(signTest(100, 0), std::ldexp(1.0, -100), 1e-10 * std::ldexp(1.0, -100));
}

TEST(SignTest, TailsOfAllSizesAddUp) {
  // P(X >= w) + P(X >= n - w + 1) = 1 by symmetry: across the switch from integers to logarithms too.
  for (std::uint32_t tosses : {1u, 10u, 61u, 62u, 63u, 64u, 500u, 20000u}) {
    for (std::uint32_t wins : {1u, tosses / 3 + 1, (tosses + 1) / 2, tosses / 2 + 1, tosses})
      EXPECT_NEAR(signTest(wins, tosses - wins) + signTest(tosses - wins + 1, wins - 1), 1.0, 1e-10)
          << wins << " of " << tosses;
  }
}

TEST(SignTest, LogarithmsContinueTheIntegers) {
  // P(n+1, w) = (P(n, w) + P(n, w-1)) / 2, from the exact side (62) to the other (63).
  for (std::uint32_t wins : {20u, 32u, 45u, 60u}) {
    const double expected = 0.5 * (signTest(wins, 62 - wins) + signTest(wins - 1, 63 - wins));
    EXPECT_NEAR(signTest(wins, 63 - wins), expected, 1e-11 * expected) << wins;
  }
}

TEST(Statistics, MeanSpreadAndOrder) {
  const std::vector<double> values = {2, 4, 4, 4, 5, 5, 7, 9};  // the textbook list: population sd 2
  EXPECT_DOUBLE_EQ(mean(values), 5.0);
  EXPECT_DOUBLE_EQ(sampleStandardDeviation(values), std::sqrt(32.0 / 7.0));
  EXPECT_DOUBLE_EQ(median(values), 4.5);
  const Summary summary = summarise(values);
  EXPECT_EQ(summary.count, 8u);
  EXPECT_EQ(summary.minimum, 2.0);
  EXPECT_EQ(summary.maximum, 9.0);
}

TEST(Statistics, PercentilesInterpolateLinearly) {
  const std::vector<double> values = {40, 10, 30, 20};
  EXPECT_DOUBLE_EQ(percentile(values, 0), 10);
  EXPECT_DOUBLE_EQ(percentile(values, 100), 40);
  EXPECT_DOUBLE_EQ(percentile(values, 50), 25);
  EXPECT_DOUBLE_EQ(percentile(values, 90), 37);  // position 2.7
  EXPECT_EQ(percentile(std::vector<double>{1, kInf, kInf}, 75), kInf);
  EXPECT_TRUE(std::isnan(percentile(values, 101)));
  EXPECT_TRUE(std::isnan(percentile(values, NAN)));
}

TEST(Statistics, NothingIsNotANumber) {
  const std::vector<double> none;
  const std::vector<double> one = {3};
  EXPECT_TRUE(std::isnan(mean(none)));
  EXPECT_TRUE(std::isnan(median(none)));
  EXPECT_TRUE(std::isnan(summarise(none).maximum));
  EXPECT_TRUE(std::isnan(sampleStandardDeviation(one)));
  EXPECT_EQ(median(one), 3.0);
}

TEST(Statistics, MeshesWeighEquallyWhateverTheirSeeds) {
  const std::vector<std::vector<double>> runs = {{30, 32}, {20}, {39, 40, 41}};
  EXPECT_DOUBLE_EQ(*meanOverMeshes(runs), (31.0 + 20.0 + 40.0) / 3.0);
  const std::vector<std::vector<double>> gap = {{30}, {}};
  ASSERT_FALSE(meanOverMeshes(gap));
  EXPECT_NE(meanOverMeshes(gap).error().message.find("mesh 1"), std::string::npos);
  EXPECT_FALSE(meanOverMeshes({}));
}

TEST(Statistics, PairedComparison) {
  const std::vector<double> candidate = {31, 30, 28, 40};
  const std::vector<double> baseline = {30, 28, 29, 40};
  const auto higher = comparePaired(candidate, baseline);
  ASSERT_TRUE(higher);
  EXPECT_DOUBLE_EQ(higher->mean_difference, 0.5);
  EXPECT_DOUBLE_EQ(higher->sample_sd, std::sqrt((0.25 + 2.25 + 2.25 + 0.25) / 3.0));
  EXPECT_EQ(higher->wins, 2u);
  EXPECT_EQ(higher->losses, 1u);
  EXPECT_EQ(higher->ties, 1u);
  EXPECT_DOUBLE_EQ(higher->p_value, 0.5);  // 2 or 3 heads of 3
  const auto lower = comparePaired(candidate, baseline, Better::kLower);
  EXPECT_EQ(lower->wins, 1u);
  EXPECT_DOUBLE_EQ(lower->mean_difference, 0.5);
}

TEST(Statistics, PerfectResultsTie) {
  const auto result = comparePaired(std::vector<double>{kInf, kInf}, std::vector<double>{kInf, 50});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->ties, 1u);
  EXPECT_EQ(result->wins, 1u);
  EXPECT_FALSE(comparePaired(std::vector<double>{1}, std::vector<double>{1, 2}));
  EXPECT_FALSE(comparePaired(std::vector<double>{}, std::vector<double>{}));
  EXPECT_FALSE(comparePaired(std::vector<double>{NAN}, std::vector<double>{1}));
}

}  // namespace
}  // namespace heatskin
