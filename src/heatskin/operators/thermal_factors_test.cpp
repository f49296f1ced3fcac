#include "heatskin/operators/thermal_factors.h"

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/operators/dense_kernels.h"
#include "heatskin/operators/eigenpairs.h"
#include "heatskin/operators/rank_study.h"
#include "heatskin/operators/test_matrices.h"

#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

using testing::build;
using testing::Soup;

constexpr double kTime = 0.0625;

/// Eigenvalues of A, largest exponential first, and M^-1/2 exp(-t A) M^-1/2.
struct DenseHeat {
  Eigen::VectorXd decays;
  Eigen::MatrixXd kernel;
};

DenseHeat denseHeat(const Operators& operators, std::size_t j) {
  const auto [a, scale] = testing::denseOperator(operators, j);
  const testing::DenseEigen eigen = testing::denseEigen(a);
  const Eigen::VectorXd decays = (-kTime * eigen.values).array().exp();
  return {decays, testing::spectralSum(scale.asDiagonal() * eigen.vectors, decays)};
}

Eigen::MatrixXd kernelOf(std::size_t vertices, std::size_t rank, const std::vector<float>& factor) {
  using Block = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::MatrixXd f = Eigen::Map<const Block>(factor.data(), static_cast<Eigen::Index>(vertices),
                                                    static_cast<Eigen::Index>(rank))
                                .cast<double>();
  return testing::product(f, f.transpose());
}

/// In the norm where exp(-t A) has size 1.
double spectralError(const Operators& operators, const Eigen::MatrixXd& difference) {
  const Eigen::VectorXd root =
      Eigen::Map<const Eigen::VectorXd>(operators.mass.data(), difference.rows()).cwiseSqrt();
  const Eigen::MatrixXd weighted = root.asDiagonal() * difference * root.asDiagonal();
  return testing::denseEigen(weighted).values.cwiseAbs().maxCoeff();
}

Soup twoParts() {
  Soup soup = testing::icosphere(1);
  const Soup other = testing::torus(6, 8);
  const auto first = static_cast<std::uint32_t>(soup.positions.size());
  for (const Vec3& p : other.positions)
    soup.positions.push_back(p + Vec3(4, 0, 0));
  for (const auto& f : other.faces)
    soup.faces.push_back({f[0] + first, f[1] + first, f[2] + first});
  return soup;
}

// Fewer vertices than columns asked for: the basis is complete, the factor exact.
TEST(ThermalFactors, SmallMeshesAreExact) {
  // kHeatTail and the shift of the same size, both twice.
  constexpr double kAccuracy = 5 * kHeatTail;
  for (const Soup& soup :
       {testing::bumpySphere(2, 0.3, 1), testing::flatGrid(7, 7), twoParts(), testing::tetrahedron(),
        testing::damagedSphere(4, 2), testing::dirtySoup(7, 60, 90)}) {
    const Operators operators = assembleOperators(build(soup, true));
    const HeatPlan plan(operators);
    FactorOptions options;
    options.rank = 256;
    ASSERT_LE(operators.vertex_count, 256u);
    for (const std::uint32_t j : {0u, 20u}) {
      const std::vector<float> factor = thermalFactor(operators, plan, j, options);
      ASSERT_EQ(factor.size(), std::size_t{operators.vertex_count} * operators.vertex_count);
      const Eigen::MatrixXd difference =
          kernelOf(operators.vertex_count, operators.vertex_count, factor) - denseHeat(operators, j).kernel;
      EXPECT_LT(spectralError(operators, difference), kAccuracy) << soup.name << " operator " << j;
    }
  }
}

// The error of a rank is at least the first eigenvalue left out; randomisation must not add much to it.
TEST(ThermalFactors, ARankCostsWhatExactEigenvectorsCost) {
  const Operators operators = assembleOperators(build(testing::bumpySphere(2, 0.3, 1), true));
  const HeatPlan plan(operators);
  FactorOptions options;
  options.rank = 40;
  options.oversampling = 24;
  const std::uint32_t j = operatorIndex(2, 1);
  const DenseHeat truth = denseHeat(operators, j);
  const double best = truth.decays[40];
  const double found = spectralError(
      operators,
      kernelOf(operators.vertex_count, 40, thermalFactor(operators, plan, j, options)) - truth.kernel);
  EXPECT_GT(best, 0.05) << "otherwise this shows nothing";
  EXPECT_GE(found, best * 0.999);
  EXPECT_LT(found, best * 1.1);
}

TEST(ThermalFactors, BothSchemesGiveTheSameKernel) {
  const Operators operators = assembleOperators(build(testing::bumpySphere(2, 0.3, 1), true));
  const HeatPlan plan(operators);
  FactorOptions options;
  options.rank = 48;
  options.scheme = HeatScheme::kChebyshev;
  const Eigen::MatrixXd a = kernelOf(operators.vertex_count, 48, thermalFactor(operators, plan, 15, options));
  options.scheme = HeatScheme::kRational;
  const Eigen::MatrixXd b = kernelOf(operators.vertex_count, 48, thermalFactor(operators, plan, 15, options));
  EXPECT_LT(spectralError(operators, a - b), 10 * kHeatTail);
}

TEST(ThermalFactors, AllOperatorsAsHalvesForAnyThreadCount) {
  const Operators operators = assembleOperators(build(twoParts(), true));
  const HeatPlan plan(operators);
  FactorOptions options;
  options.rank = 40;
  options.seed = 7;
  setThreadCount(1);
  const auto one = thermalFactors(operators, options);
  setThreadCount(3);
  const auto three = thermalFactors(operators, options);
  setThreadCount(0);
  ASSERT_TRUE(one);
  ASSERT_TRUE(three);
  EXPECT_EQ(one->values, three->values);
  ASSERT_EQ(one->rank, 48u) << "padded to a multiple of 16";
  ASSERT_EQ(one->values.size(), kFactorCount * operators.vertex_count * 48u);

  const std::vector<float> factor = thermalFactor(operators, plan, 33, options);
  std::vector<float> row(48);
  for (std::uint32_t v = 0; v < operators.vertex_count; ++v) {
    floatFromHalf(std::span(one->row(33, v), 48), row);
    for (std::size_t k = 0; k < 48; ++k) {
      // Half a unit in the last of 11 binary places; below 2^-14 halves are evenly spaced.
      const float expected = k < 40 ? factor[v * 40 + k] : 0;
      EXPECT_LE(std::abs(row[k] - expected), std::max(std::abs(expected), 0x1.0p-14f) * 0x1.0p-11f)
          << v << " " << k;
    }
  }
  options.seed = 8;
  EXPECT_NE(thermalFactors(operators, options)->values, one->values);
}

// Heat does not jump: rows of different components are orthogonal up to what a sketch loses.
TEST(ThermalFactors, ComponentsDoNotExchangeHeat) {
  const Operators operators = assembleOperators(build(twoParts(), true));
  const HeatPlan plan(operators);
  FactorOptions options;
  options.rank = 90;
  const Eigen::MatrixXd kernel =
      kernelOf(operators.vertex_count, 90, thermalFactor(operators, plan, 2, options));
  for (std::uint32_t v = 0; v < operators.vertex_count; v += 7) {
    for (std::uint32_t w = 0; w < operators.vertex_count; ++w) {
      if (operators.components[v] == operators.components[w]) continue;
      EXPECT_LT(std::abs(kernel(v, w)), 1e-3 * std::sqrt(kernel(v, v) * kernel(w, w)));
    }
  }
}

TEST(ThermalFactors, TooLargeIsRefusedBeforeAllocating) {
  const Operators operators = assembleOperators(build(testing::icosphere(1)));
  FactorOptions options;
  options.max_bytes = 1000;
  const auto factors = thermalFactors(operators, options);
  ASSERT_FALSE(factors);
  EXPECT_EQ(factors.error().kind, ErrorKind::kInput);
  EXPECT_NE(factors.error().message.find("simplify"), std::string::npos);
}

class CancelAtOnce : public Progress {
 public:
  void begin(std::string_view, std::size_t) override {}
  void update(std::size_t, std::string_view) override {}
  void end() override {}
  bool cancelled() const override { return true; }
};

TEST(ThermalFactors, CanBeCancelled) {
  const Operators operators = assembleOperators(build(testing::icosphere(1)));
  CancelAtOnce progress;
  EXPECT_FALSE(thermalFactors(operators, {}, progress));
}

TEST(GaussianBlock, HasMeanZeroAndVarianceOne) {
  const std::vector<float> block = gaussianBlock(300, 101, 5, 6);
  double mean = 0, variance = 0, fourth = 0;
  for (const float x : block) {
    mean += x;
    variance += static_cast<double>(x) * x;
    fourth += std::pow(x, 4);
  }
  const auto n = static_cast<double>(block.size());
  // Four standard deviations of each mean: 1, sqrt 2 and sqrt 96 over sqrt n.
  EXPECT_NEAR(mean / n, 0, 4 / std::sqrt(n));
  EXPECT_NEAR(variance / n, 1, 4 * std::sqrt(2 / n));
  EXPECT_NEAR(fourth / n, 3, 4 * std::sqrt(96 / n));
}

TEST(RankStudy, MeasuresAKnownError) {
  const Surface surface = build(testing::bumpySphere(2, 0.3, 1), true);
  const Operators operators = assembleOperators(surface);
  RankStudyOptions options;
  options.centers = 20;
  options.queries = 100;
  const RankStudy study(surface, options);
  const auto pairs = EigenSolver(operators).solve(9);
  ASSERT_TRUE(pairs);
  std::vector<float> exact = spectralFactor(*pairs, kTime);
  const std::size_t k = pairs->values.size();
  const FactorView truth{exact, k, k};
  EXPECT_EQ(study.score(truth, truth).raw_error, 0);
  EXPECT_TRUE(std::isinf(study.score(truth, truth).psnr));
  // 1 % on F is 2 % on h, and nothing on h / h(p, p).
  std::vector<float> scaled = exact;
  for (float& value : scaled)
    value *= 1.01f;
  const RankScore score = study.score(truth, {scaled, k, k});
  EXPECT_NEAR(score.raw_error, 0.0201, 1e-5);
  EXPECT_GT(score.psnr, 100);
  // Fewer columns are worse.
  EXPECT_LT(study.score(truth, {exact, k, 20}).psnr, study.score(truth, {exact, k, 40}).psnr);
}

// Both roads lead to the same heat.
TEST(RankStudy, FactorsAndEigenpairsAgree) {
  const Surface surface = build(testing::bumpySphere(2, 0.3, 1), true);
  const Operators operators = assembleOperators(surface);
  const RankStudy study(surface, {64, 256, 1});
  FactorOptions options;
  options.rank = 256;
  const HeatPlan plan(operators);
  const EigenSolver solver(operators);
  for (const std::uint32_t j : {0u, 6u, 27u}) {
    const auto pairs = solver.solve(j);
    ASSERT_TRUE(pairs);
    const std::vector<float> exact = spectralFactor(*pairs, kTime);
    const std::vector<float> factor = thermalFactor(operators, plan, j, options);
    const std::size_t k = pairs->values.size(), rank = operators.vertex_count;
    const RankScore score = study.score({exact, k, k}, {factor, rank, rank});
    EXPECT_GT(score.psnr, 70) << j;
    EXPECT_LT(score.raw_error, 1e-3) << j;
  }
}

}  // namespace
}  // namespace heatskin
