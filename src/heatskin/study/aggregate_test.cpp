#include "heatskin/study/aggregate.h"

#include <cmath>

#include <gtest/gtest.h>

namespace heatskin::study {
namespace {

StudyRow rowFor(const char* mesh, const char* method, int seed, double value) {
  StudyRow row;
  row.name = std::string(mesh) + method + std::to_string(seed);
  row.work = {{"mesh", {{"name", mesh}, {"set", "main"}}}, {"method", {{"name", method}}}, {"seed", seed}};
  row.values = {{"psnr", value}};
  row.timing = Json::object();
  return row;
}

// Tables of Student's t, two-sided 95 %.
TEST(StudentQuantile, IsThatOfTheTables) {
  EXPECT_NEAR(studentQuantile(0.95, 1), 12.7062047, 1e-6);
  EXPECT_NEAR(studentQuantile(0.95, 2), 4.30265273, 1e-7);
  EXPECT_NEAR(studentQuantile(0.95, 9), 2.26215716, 1e-7);
  EXPECT_NEAR(studentQuantile(0.99, 7), 3.49948330, 1e-7);
  EXPECT_NEAR(studentQuantile(0.95, 100000), 1.95998772, 1e-5);
  EXPECT_TRUE(std::isnan(studentQuantile(0.95, 0)));
}

// With one degree of freedom t is Cauchy's: the quantile is the tangent of confidence * pi / 2.
TEST(StudentQuantile, IsCauchysWithOneDegree) {
  for (const double confidence : {0.5, 0.8, 0.9, 0.99})
    EXPECT_NEAR(studentQuantile(confidence, 1) / std::tan(confidence * M_PI / 2), 1, 1e-9);
}

// 1, 2, 3: mean 2, standard deviation 1, half of the interval 4.3026527 / sqrt(3).
TEST(MeanInterval, ByHand) {
  const std::vector<double> values = {1, 2, 3};
  const MeanInterval interval = meanInterval(values);
  EXPECT_DOUBLE_EQ(interval.mean, 2);
  EXPECT_DOUBLE_EQ(interval.sample_sd, 1);
  EXPECT_NEAR(interval.high - interval.mean, 2.48413771, 1e-7);
  EXPECT_NEAR(interval.mean - interval.low, 2.48413771, 1e-7);
  EXPECT_EQ(intervalText(interval, 2), "2.00 ± 2.48 (3)");
  EXPECT_EQ(intervalText(meanInterval(std::vector<double>{5}), 1), "5.0 (1)");
  EXPECT_EQ(intervalText(meanInterval({}), 1), "-");
}

// A mesh with more seeds does not weigh more: mesh a has 1 and 3 (mean 2), mesh b has 10.
TEST(Tabulate, AveragesSeedsBeforeMeshes) {
  const std::vector<StudyRow> rows = {rowFor("a", "x", 0, 1), rowFor("a", "x", 1, 3),
                                      rowFor("b", "x", 0, 10)};
  const MeshTable table = tabulate(rows, "psnr");
  EXPECT_EQ(table.values("x"), (std::vector<double>{2, 10}));
  EXPECT_EQ(meanInterval(table.values("x")).mean, 6);
  EXPECT_EQ(table.seeds[0][0], 2u);
  EXPECT_DOUBLE_EQ(table.seed_sd[0][0], std::sqrt(2.0));
}

TEST(Tabulate, FailedRunsAndMissingFiguresDoNotCount) {
  std::vector<StudyRow> rows = {rowFor("a", "x", 0, 1), rowFor("a", "x", 1, 100), rowFor("b", "x", 0, 7)};
  rows[1].error = "the time limit was reached";
  rows[2].values = {{"refused", "3 components"}};
  const MeshTable table = tabulate(rows, "psnr");
  EXPECT_EQ(table.meshes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(table.values("x"), (std::vector<double>{1}));
  EXPECT_FALSE(table.of("x")[1].has_value());
  EXPECT_TRUE(table.of("nobody").empty());
}

// Differences on the common meshes: +1, +2, -3 and, with one method only, nothing for d. Mean 0, standard
// deviation sqrt(7), two wins of three: p = (3 + 1) / 8.
TEST(Compare, ByHand) {
  const std::vector<StudyRow> rows = {rowFor("a", "x", 0, 2), rowFor("a", "y", 0, 1), rowFor("b", "x", 0, 4),
                                      rowFor("b", "y", 0, 2), rowFor("c", "x", 0, 1), rowFor("c", "y", 0, 4),
                                      rowFor("d", "x", 0, 9)};
  const Comparison comparison = compare(tabulate(rows, "psnr"), "x", "y");
  EXPECT_EQ(comparison.meshes, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_DOUBLE_EQ(comparison.difference.mean, 0);
  EXPECT_DOUBLE_EQ(comparison.difference.sample_sd, std::sqrt(7.0));
  EXPECT_EQ(comparison.paired.wins, 2u);
  EXPECT_DOUBLE_EQ(comparison.paired.p_value, 0.5);
  EXPECT_EQ(comparisonText(compare(tabulate(rows, "psnr"), "x", "z"), 2), "no mesh in common");
}

// The paper's main set: nine wins of ten give p = 11 / 1024 = 0.010742.
TEST(Compare, GivesThePublishedSignTest) {
  const double hktex[] = {33.80, 48.11, 36.82, 28.05, 40.08, 20.81, 37.62, 28.48, 21.49, 18.26},
               pq[] = {34.04, 48.13, 36.91, 28.62, 43.64, 21.05, 36.19, 28.78, 24.25, 18.38};
  std::vector<StudyRow> rows;
  for (int m = 0; m < 10; ++m) {
    rows.push_back(rowFor(std::to_string(m).c_str(), "hktex", 0, hktex[m]));
    rows.push_back(rowFor(std::to_string(m).c_str(), "pq", 0, pq[m]));
  }
  const Comparison comparison = compare(tabulate(rows, "psnr"), "pq", "hktex");
  EXPECT_EQ(comparison.paired.wins, 9u);
  EXPECT_NEAR(comparison.paired.p_value, 0.010742, 1e-6);
  EXPECT_NEAR(comparison.difference.mean, 0.647, 0.002);
  EXPECT_NEAR(comparison.difference.sample_sd, 1.444, 0.005);
}

}  // namespace
}  // namespace heatskin::study
