#include "heatskin/operators/routing.h"

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/operators/test_matrices.h"
#include "heatskin/operators/thermal_factors.h"

#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

using testing::build;
using testing::Soup;
using Block = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// `count` icospheres in a row, of falling size.
Soup spheres(int count) {
  Soup soup{"spheres", {}, {}};
  for (int i = 0; i < count; ++i) {
    const Soup one = testing::icosphere(1);
    const auto first = static_cast<std::uint32_t>(soup.positions.size());
    for (const Vec3& p : one.positions)
      soup.positions.push_back(p / (1 + i) + Vec3(3 * i, 0, 0));
    for (const auto& f : one.faces)
      soup.faces.push_back({f[0] + first, f[1] + first, f[2] + first});
  }
  return soup;
}

/// M^-1/2 A0^+ exp(-tau A0) M^-1/2, whose square Z Z^T estimates; from dense eigenpairs.
Eigen::MatrixXd denseFilter(const Operators& operators, double time) {
  const auto [a, scale] = testing::denseOperator(operators, kIsotropic);
  const testing::DenseEigen eigen = testing::denseEigen(a);
  Eigen::VectorXd values = (-time * eigen.values).array().exp() / eigen.values.array();
  values.head(operators.component_count).setZero();
  return scale.asDiagonal() * testing::spectralSum(eigen.vectors, values);
}

TEST(Routing, EqualsTheDensePseudoInverse) {
  for (const Soup& soup : {testing::bumpySphere(2, 0.3, 1), testing::flatGrid(9, 7), testing::torus(8, 12)}) {
    const Operators operators = assembleOperators(build(soup));
    const auto embedding = routingEmbedding(operators);
    ASSERT_TRUE(embedding) << soup.name;
    ASSERT_EQ(embedding->dimension, 128u);
    const Eigen::Index n = operators.vertex_count;
    // The same Gaussian numbers.
    const std::vector<float> gaussian = gaussianBlock(operators.vertex_count, 128, 0, 0x7E60);
    const Eigen::MatrixXd expected =
        testing::product(denseFilter(operators, RoutingOptions().time),
                         Eigen::Map<const Block>(gaussian.data(), n, 128).cast<double>()) /
        std::sqrt(128.0);
    const Eigen::MatrixXd found = Eigen::Map<const Block>(embedding->values.data(), n, 128).cast<double>();
    // The heat action's tail, amplified no more than the largest mode of the pseudo-inverse, which carries Z.
    EXPECT_LT((found - expected).norm(), 1e-4 * expected.norm()) << soup.name;
    // Mass-weighted mean zero.
    const Eigen::VectorXd mass = Eigen::Map<const Eigen::VectorXd>(operators.mass.data(), n);
    EXPECT_LT(testing::product(mass.transpose(), found).cwiseAbs().maxCoeff(), 1e-6);
  }
}

// |Z_v - Z_w|^2 estimates the biharmonic distance; 128 random numbers leave sqrt(2 / 128) = 12 %.
TEST(Routing, DistancesAreBiharmonicOnes) {
  const Operators operators = assembleOperators(build(testing::bumpySphere(2, 0.3, 1)));
  const auto embedding = routingEmbedding(operators);
  ASSERT_TRUE(embedding);
  const Eigen::MatrixXd filter = denseFilter(operators, RoutingOptions().time);
  double ratio = 0;
  int pairs = 0;
  for (std::uint32_t v = 0; v < operators.vertex_count; v += 5) {
    for (std::uint32_t w = v + 1; w < operators.vertex_count; w += 7) {
      double squared = 0;
      for (std::size_t k = 0; k < 128; ++k) {
        const double difference = embedding->row(v)[k] - embedding->row(w)[k];
        squared += difference * difference;
      }
      const double exact = (filter.row(v) - filter.row(w)).squaredNorm();
      EXPECT_NEAR(squared / exact, 1, 5 * 0.125) << v << " " << w;
      ratio += squared / exact;
      ++pairs;
    }
  }
  EXPECT_NEAR(ratio / pairs, 1, 0.1);
}

TEST(Routing, EveryComponentIsEmbeddedAroundTheOrigin) {
  for (const int count : {2, 9}) {
    const Operators operators = assembleOperators(build(spheres(count)));
    ASSERT_EQ(operators.component_count, static_cast<std::uint32_t>(count));
    const auto embedding = routingEmbedding(operators);
    ASSERT_TRUE(embedding);
    Eigen::MatrixXd means = Eigen::MatrixXd::Zero(count, 128);
    double largest = 0;
    for (std::uint32_t v = 0; v < operators.vertex_count; ++v) {
      const auto row = Eigen::Map<const Eigen::RowVectorXf>(embedding->row(v), 128).cast<double>();
      means.row(operators.components[v]) += operators.mass[v] * row;
      largest = std::max(largest, row.cwiseAbs().maxCoeff());
    }
    EXPECT_GT(largest, 1e-4) << "points are told apart";
    EXPECT_LT(means.cwiseAbs().maxCoeff(), 1e-6);
  }
}

TEST(Routing, DirtyMeshesGiveFiniteNumbers) {
  for (const Soup& soup :
       {testing::dirtySoup(3, 40, 60), testing::dirtySoup(8, 200, 150), testing::damagedSphere(5, 2),
        testing::sliverStrip(6, 1e-5), testing::tetrahedron()}) {
    const Operators operators = assembleOperators(build(soup));
    const auto embedding = routingEmbedding(operators);
    ASSERT_TRUE(embedding) << soup.name;
    for (const float value : embedding->values)
      ASSERT_TRUE(std::isfinite(value)) << soup.name;
  }
}

TEST(Routing, IsTheSameForAnyThreadCountAndAnotherForAnotherSeed) {
  const Operators operators = assembleOperators(build(testing::torus(8, 12)));
  setThreadCount(1);
  const auto one = routingEmbedding(operators);
  setThreadCount(3);
  const auto three = routingEmbedding(operators);
  setThreadCount(0);
  ASSERT_TRUE(one && three);
  EXPECT_EQ(one->values, three->values);
  RoutingOptions options;
  options.seed = 1;
  EXPECT_NE(routingEmbedding(operators, options)->values, one->values);
}

}  // namespace
}  // namespace heatskin
