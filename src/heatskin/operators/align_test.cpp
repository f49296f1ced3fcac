#include "heatskin/operators/align.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>

#include <Eigen/SVD>
#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/operators/assignment.h"
#include "heatskin/operators/test_matrices.h"

#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

double sumOf(std::span<const double> gains, std::span<const std::uint32_t> columns) {
  double sum = 0;
  for (std::size_t i = 0; i < columns.size(); ++i)
    sum += gains[i * columns.size() + columns[i]];
  return sum;
}

double bestByTrying(std::size_t n, std::span<const double> gains) {
  std::vector<std::uint32_t> columns(n);
  std::iota(columns.begin(), columns.end(), 0u);
  double best = -1e300;
  do {
    best = std::max(best, sumOf(gains, columns));
  } while (std::next_permutation(columns.begin(), columns.end()));
  return best;
}

TEST(Assignment, AsGoodAsTryingAllPermutations) {
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    const std::size_t n = 1 + trial % 7;
    const RandomStream random(trial, 9);
    std::vector<double> gains(n * n);
    for (std::size_t i = 0; i < n * n; ++i) {
      gains[i] = 2 * random.uniform(i) - 1;
      if (trial % 3 == 0) gains[i] = std::round(3 * gains[i]);  // many ties
    }
    const auto columns = bestAssignment(n, gains);
    auto sorted = columns;
    std::sort(sorted.begin(), sorted.end());
    for (std::uint32_t i = 0; i < n; ++i)
      ASSERT_EQ(sorted[i], i) << "not a permutation";
    ASSERT_NEAR(sumOf(gains, columns), bestByTrying(n, gains), 1e-12) << "trial " << trial;
  }
}

TEST(Assignment, FindsAPlantedPermutation) {
  constexpr std::size_t kSize = 256;
  const RandomStream random(1, 10);
  std::vector<std::uint32_t> planted(kSize);
  std::iota(planted.begin(), planted.end(), 0u);
  for (std::size_t i = kSize; i-- > 1;)
    std::swap(planted[i], planted[random.below(i, i + 1)]);
  std::vector<double> gains(kSize * kSize);
  for (std::size_t i = 0; i < gains.size(); ++i)
    gains[i] = 0.4 * random.uniform(1000 + i);
  for (std::size_t i = 0; i < kSize; ++i)
    gains[i * kSize + planted[i]] = 0.9;
  EXPECT_EQ(bestAssignment(kSize, gains), planted);
}

double orthogonalityError(const Eigen::MatrixXd& q) {
  return (testing::product(q.transpose(), q) - Eigen::MatrixXd::Identity(q.cols(), q.cols()))
      .cwiseAbs()
      .maxCoeff();
}

TEST(ClosestOrthogonal, AgreesWithTheSingularValueDecomposition) {
  constexpr int kSize = 40;
  const RowMajor x = RowMajor::Random(kSize, kSize);
  const std::vector<double> result = closestOrthogonal(kSize, {x.data(), x.data() + x.size()});
  const Eigen::Map<const RowMajor> q(result.data(), kSize, kSize);
  const Eigen::JacobiSVD<Eigen::MatrixXd, Eigen::NoQRPreconditioner> svd(
      x, Eigen::ComputeFullU | Eigen::ComputeFullV);
  EXPECT_LT(orthogonalityError(q), 1e-13);
  // Roundings over the square of the smallest singular value.
  const double least = svd.singularValues()[kSize - 1] / svd.singularValues()[0];
  EXPECT_LT((q - testing::product(svd.matrixU(), svd.matrixV().transpose())).cwiseAbs().maxCoeff(),
            1e-14 / (least * least));
}

TEST(ClosestOrthogonal, CompletesWhatHasNoRank) {
  constexpr int kSize = 12;
  RowMajor x = RowMajor::Random(kSize, kSize);
  x.col(3) = x.col(5);
  x.row(7).setZero();
  const std::vector<double> result = closestOrthogonal(kSize, {x.data(), x.data() + x.size()});
  const Eigen::Map<const RowMajor> q(result.data(), kSize, kSize);
  EXPECT_LT(orthogonalityError(q), 1e-13);
  // Closest: trace(Q^T X) is the sum of the singular values.
  const Eigen::JacobiSVD<Eigen::MatrixXd, Eigen::NoQRPreconditioner> svd(x);
  EXPECT_NEAR(testing::product(q.transpose(), x).trace(), svd.singularValues().sum(), 1e-7);
  const std::vector<double> of_zero = closestOrthogonal(4, std::vector<double>(16, 0.0));
  EXPECT_LT(orthogonalityError(Eigen::Map<const RowMajor>(of_zero.data(), 4, 4)), 1e-13);
}

Eigenpairs pairsOf(const Operators& operators, std::uint32_t index, std::size_t count) {
  EigenOptions options;
  options.count = count;
  auto pairs = EigenSolver(operators, options).solve(index);
  EXPECT_TRUE(pairs.ok());
  return pairs ? std::move(*pairs) : Eigenpairs{};
}

RowMajor vectorsOf(const Eigenpairs& pairs) {
  const auto k = static_cast<Eigen::Index>(pairs.values.size());
  return Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
             pairs.vectors.data(), static_cast<Eigen::Index>(pairs.vectors.size()) / k, k)
      .cast<double>();
}

/// Of numbers rounded to float and multiplied in float.
constexpr double kFloatTolerance = 2e-5;

TEST(Align, UndoesATurnOfTheWholeBasis) {
  const Surface surface = testing::build(testing::bumpySphere(2, 0.3, 1));
  const Operators operators = assembleOperators(surface);
  const Eigenpairs reference = pairsOf(operators, kIsotropic, 30);
  const Eigen::MatrixXd turn = testing::randomOrthogonal(30);
  Eigenpairs turned = reference;
  const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> product =
      testing::product(vectorsOf(reference), turn).cast<float>();
  turned.vectors.assign(product.data(), product.data() + product.size());
  alignTo(operators.mass, reference.vectors, turned);
  EXPECT_LT((vectorsOf(turned) - vectorsOf(reference)).cwiseAbs().maxCoeff(), kFloatTolerance);
}

TEST(Align, EigenvaluesFollowColumns) {
  const Surface surface = testing::build(testing::bumpySphere(2, 0.3, 1));
  const Operators operators = assembleOperators(surface);
  const Eigenpairs reference = pairsOf(operators, 3, 20);
  Eigenpairs shuffled = reference;
  std::vector<std::uint32_t> order(20);
  std::iota(order.begin(), order.end(), 0u);
  std::rotate(order.begin(), order.begin() + 7, order.end());
  for (std::size_t c = 0; c < 20; ++c) {
    shuffled.values[c] = reference.values[order[c]];
    for (std::size_t v = 0; v < operators.vertex_count; ++v)
      shuffled.vectors[v * 20 + c] = (c % 2 == 0 ? -1.0f : 1.0f) * reference.vectors[v * 20 + order[c]];
  }
  alignTo(operators.mass, reference.vectors, shuffled);
  EXPECT_EQ(shuffled.values, reference.values);
  EXPECT_LT((vectorsOf(shuffled) - vectorsOf(reference)).cwiseAbs().maxCoeff(), kFloatTolerance);
}

TEST(Align, ChainKeepsSpacesOrthonormalityAndOrder) {
  const Surface surface = testing::build(testing::bumpySphere(2, 0.3, 2));
  const Operators operators = assembleOperators(surface);
  EigenOptions options;
  options.count = 24;
  const auto pairs = EigenSolver(operators, options).solveAll();
  ASSERT_TRUE(pairs.ok());
  const auto run = [&] {
    std::map<std::uint32_t, Eigenpairs> aligned;
    std::mutex mutex;
    alignAll(operators, *pairs, [&](std::uint32_t index, const Eigenpairs& basis) {
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(aligned.emplace(index, basis).second) << "handed over twice: " << index;
    });
    return aligned;
  };
  const int threads = threadCount();
  setThreadCount(1);
  const auto aligned = run();
  setThreadCount(3);
  const auto again = run();
  setThreadCount(threads);
  ASSERT_EQ(aligned.size(), kAlignedBases);
  const Eigen::Map<const Eigen::VectorXd> mass(operators.mass.data(), operators.vertex_count);
  const auto overlap = [&](const Eigenpairs& a, const Eigenpairs& b) -> RowMajor {
    return testing::product(vectorsOf(a).transpose() * mass.asDiagonal(), vectorsOf(b));
  };
  for (const auto& [index, basis] : aligned) {
    EXPECT_EQ(basis.vectors, again.at(index).vectors) << "depends on threads: " << index;
    const Eigenpairs& original = (*pairs)[operatorOfAligned(index)];
    // An orthogonal matrix leads from one to the other: same space.
    EXPECT_LT(orthogonalityError(overlap(original, basis)), kFloatTolerance);
    auto values = basis.values;
    std::sort(values.begin(), values.end());
    EXPECT_EQ(values, original.values);
  }
  // To its reference every basis is as close as can be: the overlap is symmetric, with a positive diagonal.
  for (const auto& [from, to] :
       {std::pair{kAlignedIsotropic, 0u}, {0u, 1u}, {0u, 7u}, {35u, 42u}, {47u, 48u}}) {
    const RowMajor g = overlap(aligned.at(from), aligned.at(to));
    EXPECT_LT((g - g.transpose()).cwiseAbs().maxCoeff(), kFloatTolerance) << from << " to " << to;
    EXPECT_GT(g.diagonal().minCoeff(), 0);
  }
}

TEST(Align, GridWeightsFindTheirBases) {
  const auto low = alignedBasesOf(gridWeights(0.1f, 2));
  EXPECT_EQ(low, (std::array<std::uint32_t, 4>{0, 1, 7, 8}));
  const auto high = alignedBasesOf(gridWeights(3.1f, 150));
  EXPECT_EQ(high, (std::array<std::uint32_t, 4>{40, 41, 47, 48}));
  EXPECT_EQ(operatorOfAligned(47), 5u);
  EXPECT_EQ(operatorOfAligned(41), 41u);
  EXPECT_EQ(operatorOfAligned(kAlignedIsotropic), kIsotropic);
}

}  // namespace
}  // namespace heatskin
