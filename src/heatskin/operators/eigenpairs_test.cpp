#include "heatskin/operators/eigenpairs.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/operators/test_matrices.h"

#include "support/assets.h"
#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

using testing::Soup;

/// Eigenvectors are stored as float.
constexpr double kVectorTolerance = 2e-5;
/// Of the largest eigenvalue compared.
constexpr double kValueTolerance = 1e-9;

/// L phi = lambda M phi, with phi^T M phi = 1.
testing::DenseEigen denseTruth(const Operators& operators, std::uint32_t index) {
  const auto [a, scale] = testing::denseOperator(operators, index);
  testing::DenseEigen truth = testing::denseEigen(a);
  truth.vectors = scale.asDiagonal() * truth.vectors;
  return truth;
}

Eigen::MatrixXd matrixOf(const Eigenpairs& pairs) {
  const auto k = static_cast<Eigen::Index>(pairs.values.size());
  return Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
             pairs.vectors.data(), static_cast<Eigen::Index>(pairs.vectors.size()) / k, k)
      .cast<double>();
}

/// Values, orthonormality, and for every group of (nearly) equal eigenvalues the projector onto its space;
/// vectors themselves may turn within a group. The last group may be cut by k and is left out.
void compare(const Operators& operators, std::uint32_t index, const Eigenpairs& pairs,
             const std::string& name) {
  const testing::DenseEigen truth = denseTruth(operators, index);
  const auto k = static_cast<Eigen::Index>(pairs.values.size());
  const double scale = truth.values[k - 1];
  for (Eigen::Index i = 0; i < k; ++i) {
    ASSERT_NEAR(pairs.values[static_cast<std::size_t>(i)], truth.values[i], kValueTolerance * scale)
        << name << ", operator " << index << ", pair " << i;
  }
  const Eigen::MatrixXd phi = matrixOf(pairs);
  const Eigen::VectorXd mass = Eigen::Map<const Eigen::VectorXd>(operators.mass.data(), phi.rows());
  const Eigen::MatrixXd gram = testing::product(phi.transpose() * mass.asDiagonal(), phi);
  EXPECT_LT((gram - Eigen::MatrixXd::Identity(k, k)).cwiseAbs().maxCoeff(), kVectorTolerance) << name;
  for (Eigen::Index first = 0; first < k;) {
    Eigen::Index last = first + 1;
    while (last < truth.values.size() && truth.values[last] - truth.values[last - 1] < 1e-3 * scale)
      ++last;
    if (last > k) break;
    const auto ours = phi.middleCols(first, last - first),
               theirs = truth.vectors.middleCols(first, last - first);
    // In the metric of M: projector differences in y = M^1/2 phi.
    const Eigen::MatrixXd overlap = testing::product(ours.transpose() * mass.asDiagonal(), theirs);
    const double lost = std::abs(overlap.squaredNorm() - static_cast<double>(last - first));
    ASSERT_LT(lost, kVectorTolerance * static_cast<double>(last - first))
        << name << ", operator " << index << ", pairs " << first << " to " << last;
    first = last;
  }
}

Soup twoOf(const Soup& soup, double scale) {
  Soup both = soup;
  const auto offset = static_cast<std::uint32_t>(soup.positions.size());
  for (const Vec3& p : soup.positions)
    both.positions.push_back(scale * p + Vec3(5, 0, 0));
  for (const auto& f : soup.faces)
    both.faces.push_back({f[0] + offset, f[1] + offset, f[2] + offset});
  both.name = "two of " + soup.name;
  return both;
}

TEST(Eigenpairs, DenseAndSparseSolversAgreeWithTheTruth) {
  const std::vector<Soup> soups = {testing::bumpySphere(2, 0.3, 1), testing::icosphere(2), testing::cube(5),
                                   testing::torus(10, 20), testing::flatGrid(14, 14)};
  for (const Soup& soup : soups) {
    const Operators operators = assembleOperators(testing::build(soup));
    for (const std::size_t dense_vertices : {600, 0}) {
      EigenOptions options;
      options.count = 50;
      options.dense_vertices = dense_vertices;
      const EigenSolver solver(operators, options);
      for (const std::uint32_t index : {kIsotropic, 0u, 6u, 25u}) {
        const auto pairs = solver.solve(index);
        ASSERT_TRUE(pairs.ok()) << pairs.error().message;
        compare(operators, index, *pairs, soup.name + (dense_vertices == 0 ? ", sparse" : ", dense"));
      }
    }
  }
}

TEST(Eigenpairs, AllButOneOfASmallMesh) {
  for (const Soup& soup : {testing::tetrahedron(), testing::saddle(), testing::cube(3)}) {
    const Operators operators = assembleOperators(testing::build(soup));
    const EigenSolver solver(operators);
    EXPECT_EQ(solver.count(), operators.vertex_count - 1u);
    const auto pairs = solver.solve(9);
    ASSERT_TRUE(pairs.ok());
    compare(operators, 9, *pairs, soup.name);
  }
}

TEST(Eigenpairs, ComponentsHaveTheirConstants) {
  // Equal parts double every eigenvalue, a small part has its constant and few others.
  const Soup same = twoOf(testing::bumpySphere(2, 0.3, 1), 1),
             unequal = twoOf(testing::bumpySphere(2, 0.3, 1), 0.2);
  const Soup many = twoOf(twoOf(twoOf(testing::tetrahedron(), 0.9), 0.8), 0.7);
  for (const Soup& soup : {same, unequal, many}) {
    const Operators operators = assembleOperators(testing::build(soup));
    ASSERT_GT(operators.component_count, 1u);
    for (const std::size_t dense_vertices : {600, 0}) {
      EigenOptions options;
      options.count = 60;
      options.dense_vertices = dense_vertices;
      const auto pairs = EigenSolver(operators, options).solve(12);
      ASSERT_TRUE(pairs.ok());
      for (std::size_t c = 0; c < operators.component_count; ++c)
        EXPECT_EQ(pairs->values[c], 0) << soup.name;
      EXPECT_GT(pairs->values[operators.component_count], 0);
      compare(operators, 12, *pairs, soup.name);
    }
  }
}

TEST(Eigenpairs, NoneIsMissedByCountingPivots) {
  const Operators operators = assembleOperators(testing::build(testing::icosphere(3)));
  EigenOptions options;
  options.count = 100;
  options.dense_vertices = 0;
  const EigenSolver solver(operators, options);
  for (const std::uint32_t index : {kIsotropic, 3u, 20u}) {
    const auto pairs = solver.solve(index);
    ASSERT_TRUE(pairs.ok());
    // Within the largest gap of the upper half.
    std::size_t at = 50;
    for (std::size_t i = 50; i < 100; ++i) {
      if (pairs->values[i] - pairs->values[i - 1] > pairs->values[at] - pairs->values[at - 1]) at = i;
    }
    EXPECT_EQ(solver.countBelow(index, 0.5 * (pairs->values[at] + pairs->values[at - 1])), at);
  }
}

TEST(Eigenpairs, HeatIsConservedAndSumsOfExponentialsKeepConstants) {
  const Operators operators = assembleOperators(testing::build(testing::bumpySphere(2, 0.3, 3)));
  const auto pairs = EigenSolver(operators).solve(17);
  ASSERT_TRUE(pairs.ok());
  const Eigen::MatrixXd phi = matrixOf(*pairs);
  const Eigen::VectorXd mass = Eigen::Map<const Eigen::VectorXd>(operators.mass.data(), phi.rows());
  const Eigen::VectorXd decay =
      (-0.0625 * Eigen::Map<const Eigen::ArrayXd>(pairs->values.data(), phi.cols())).exp();
  const Eigen::VectorXd kept =
      testing::product(phi * decay.asDiagonal(), testing::product(phi.transpose(), mass));
  EXPECT_LT((kept.array() - 1).abs().maxCoeff(), kVectorTolerance);
}

TEST(Eigenpairs, SameBitsForAnyNumberOfThreads) {
  const Operators operators = assembleOperators(testing::build(testing::bumpySphere(2, 0.3, 4)));
  EigenOptions options;
  options.count = 30;
  options.dense_vertices = 0;
  const EigenSolver solver(operators, options);
  const int threads = threadCount();
  setThreadCount(1);
  const auto one = solver.solveAll();
  setThreadCount(4);
  const auto four = solver.solveAll();
  setThreadCount(threads);
  ASSERT_TRUE(one.ok() && four.ok());
  for (std::size_t j = 0; j < kOperatorCount; ++j) {
    EXPECT_EQ((*one)[j].values, (*four)[j].values);
    EXPECT_EQ((*one)[j].vectors, (*four)[j].vectors);
  }
}

TEST(Eigenpairs, ResidualSeesPlantedErrors) {
  const Operators operators = assembleOperators(testing::build(testing::bumpySphere(2, 0.3, 5)));
  EigenOptions options;
  options.count = 40;
  const auto pairs = EigenSolver(operators, options).solve(5);
  ASSERT_TRUE(pairs.ok());
  const double good = eigenResidual(operators, 5, pairs->values, pairs->vectors);
  EXPECT_LT(good, 1e-5);
  auto values = pairs->values;
  values.back() *= 1.01;
  EXPECT_GT(eigenResidual(operators, 5, values, pairs->vectors), 1e-3);
  auto vectors = pairs->vectors;
  for (std::size_t v = 0; v < operators.vertex_count; ++v)
    std::swap(vectors[v * 40 + 10], vectors[v * 40 + 30]);
  EXPECT_GT(eigenResidual(operators, 5, pairs->values, vectors), 1e-2);
  EXPECT_GT(eigenResidual(operators, 12, pairs->values, pairs->vectors), 1e-2) << "another operator";
}

TEST(Eigenpairs, DirtyMeshesGiveFiniteNumbersAndBothSolversAgree) {
  for (const Soup& soup : {testing::dirtySoup(3, 60, 90), testing::sliverStrip(40, 1e-7),
                           testing::damagedSphere(2), testing::moebius(20)}) {
    const Operators operators = assembleOperators(testing::build(soup));
    std::vector<double> values[2];
    for (const bool sparse : {false, true}) {
      EigenOptions options;
      options.count = 30;
      if (sparse) options.dense_vertices = 0;
      const auto pairs = EigenSolver(operators, options).solve(6);
      ASSERT_TRUE(pairs.ok()) << soup.name << ": " << pairs.error().message;
      for (const float x : pairs->vectors)
        ASSERT_TRUE(std::isfinite(x)) << soup.name;
      values[sparse] = pairs->values;
    }
    EXPECT_TRUE(std::is_sorted(values[1].begin(), values[1].end())) << soup.name;
    // Slivers have entries of 1e7 and more: their roundings are all that may differ.
    for (std::size_t i = 0; i < values[0].size(); ++i)
      EXPECT_NEAR(values[0][i], values[1][i], 1e-6 * values[0].back()) << soup.name << ", pair " << i;
  }
}

TEST(Eigenpairs, AllPairsOfSpot) {
  HEATSKIN_REQUIRE_ASSETS();
  const auto asset = loadAsset(testing::assetsFolder() / "spot" / "spot_triangulated.obj");
  ASSERT_TRUE(asset.ok());
  const auto surface = buildSurface(*asset);
  ASSERT_TRUE(surface.ok());
  const Operators operators = assembleOperators(*surface);
  const EigenSolver solver(operators);
  const auto pairs = solver.solve(27);
  ASSERT_TRUE(pairs.ok());
  ASSERT_EQ(pairs->values.size(), 256u);
  EXPECT_LT(eigenResidual(operators, 27, pairs->values, pairs->vectors), 1e-5);
  EXPECT_EQ(solver.countBelow(27, pairs->values.back() * (1 + 1e-9)), 256u);
}

}  // namespace
}  // namespace heatskin
