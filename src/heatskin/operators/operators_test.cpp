#include "heatskin/operators/operators.h"

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/operators/test_matrices.h"

#include "support/assets.h"
#include "support/gradcheck.h"
#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

using testing::build;
using testing::Soup;

Eigen::MatrixXd dense(const Operators& operators, std::size_t j) {
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(operators.vertex_count, operators.vertex_count);
  for (std::uint32_t v = 0; v < operators.vertex_count; ++v) {
    for (std::uint32_t k = operators.begin[v]; k < operators.begin[v + 1]; ++k)
      matrix(v, operators.columns[k]) = operators.stiffness[j][k];
  }
  return matrix;
}

/// Two meshes side by side.
Soup both(const Soup& a, const Soup& b) {
  Soup soup{a.name + " and " + b.name, a.positions, a.faces};
  const auto first = static_cast<std::uint32_t>(a.positions.size());
  for (const Vec3& p : b.positions)
    soup.positions.push_back(p + Vec3(5, 0, 0));
  for (const auto& f : b.faces)
    soup.faces.push_back({f[0] + first, f[1] + first, f[2] + first});
  return soup;
}

std::vector<Soup> hardMeshes() {
  return {testing::flatGrid(6, 5),
          testing::tetrahedron(),
          testing::icosphere(1),
          testing::sliverStrip(6, 1e-5),
          testing::saddle(),
          testing::cylinderBand(7, 3),
          testing::moebius(9),
          both(testing::icosphere(1), testing::flatGrid(2, 2)),
          testing::dirtySoup(3, 40, 60),
          testing::damagedSphere(5, 2)};
}

TEST(Operators, ThePatternIsSortedSymmetricAndHasTheDiagonal) {
  for (const Soup& soup : hardMeshes()) {
    const Operators operators = assembleOperators(build(soup));
    ASSERT_EQ(operators.begin.size(), operators.vertex_count + 1u);
    ASSERT_EQ(operators.begin.back(), operators.columns.size());
    for (std::uint32_t v = 0; v < operators.vertex_count; ++v) {
      EXPECT_EQ(operators.columns[operators.diagonal[v]], v) << soup.name;
      for (std::uint32_t k = operators.begin[v]; k < operators.begin[v + 1]; ++k) {
        if (k > operators.begin[v]) {
          EXPECT_LT(operators.columns[k - 1], operators.columns[k]) << soup.name;
        }
      }
    }
  }
}

// Slivers, obtuse triangles, boundaries, several components, soups: symmetric, constants vanish, no negative
// eigenvalue, one null vector per component.
TEST(Operators, AreSymmetricPositiveSemidefiniteOnAnyMesh) {
  // Sums of weights of one size, in double; a row adds at most a few tens.
  constexpr double kRounding = 1e-13;
  for (const Soup& soup : hardMeshes()) {
    const Surface surface = build(soup);
    const Operators operators = assembleOperators(surface);
    for (const std::size_t j : {0u, 3u, 6u, 13u, 20u, 27u, 34u, 41u, kIsotropic}) {
      const Eigen::MatrixXd matrix = dense(operators, j);
      const double size = matrix.cwiseAbs().maxCoeff();
      ASSERT_TRUE(matrix.allFinite()) << soup.name;
      EXPECT_EQ((matrix - matrix.transpose()).cwiseAbs().maxCoeff(), 0) << soup.name << " operator " << j;
      EXPECT_LE(matrix.rowwise().sum().cwiseAbs().maxCoeff(), kRounding * size) << soup.name;
      const Eigen::VectorXd values = testing::denseEigen(matrix).values;
      EXPECT_GE(values[0], -kRounding * size) << soup.name << " operator " << j;
    }
  }
}

TEST(Operators, HaveOneNullVectorPerComponent) {
  for (const Soup& soup : {both(testing::icosphere(1), testing::flatGrid(2, 2)), testing::torus(6, 9)}) {
    const Operators operators = assembleOperators(build(soup));
    EXPECT_EQ(operators.component_count, soup.name == "torus" ? 1u : 2u);
    const Eigen::VectorXd values = testing::denseEigen(dense(operators, 41)).values;
    for (Eigen::Index i = 0; i < values.size(); ++i)
      EXPECT_EQ(values[i] < 1e-10, i < operators.component_count) << i << ": " << values[i];
  }
}

// x^T L x is the Dirichlet energy with the tensor of the header, which linear functions on a flat mesh show
// exactly.
TEST(Operators, LinearFunctionsHaveTheEnergyOfTheTensor) {
  const Surface surface = build(testing::flatGrid(4, 4));
  const Operators operators = assembleOperators(surface);
  Eigen::VectorXd x(surface.vertexCount());
  const Vec3 gradient(0.8, -0.3, 0);
  for (std::uint32_t v = 0; v < surface.vertexCount(); ++v)
    x[v] = gradient.dot(surface.positions()[v]);
  for (std::uint32_t j = 0; j < kOperatorCount; ++j) {
    double expected = 0;
    for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
      const Vec2 g = surface.frames()[f].directionToFace(gradient);
      const double angle = operatorAngle(j), along = g.x() * std::cos(angle) + g.y() * std::sin(angle);
      expected += surface.areas()[f] *
                  (along * along + (g.squaredNorm() - along * along) / (1 + operatorAnisotropy(j)));
    }
    EXPECT_NEAR(x.dot(testing::product(dense(operators, j), x).col(0)), expected, 1e-12) << "operator " << j;
  }
}

TEST(Operators, ASingleOneIsThatOfTheGrid) {
  const Surface surface = build(testing::icosphere(1));
  const Operators all = assembleOperators(surface);
  for (const std::uint32_t index :
       {operatorIndex(0, 0), operatorIndex(2, 3), operatorIndex(5, 6), kIsotropic}) {
    const SingleOperator one = assembleOperator(surface, operatorAngle(index), operatorAnisotropy(index));
    EXPECT_EQ(one.stiffness(), all.stiffness[index]) << index;
    EXPECT_EQ(operatorAnisotropy(one.index), operatorAnisotropy(index));
    EXPECT_EQ(one.operators.mass, all.mass);
  }
  // Between two of the grid: the slot whose anisotropy is nearer.
  EXPECT_EQ(operatorAnisotropy(assembleOperator(surface, 0.1, 90).index), 100);
  EXPECT_EQ(operatorAnisotropy(assembleOperator(surface, 0.1, 1e5).index), 200);
}

TEST(Operators, MassIsAThirdOfTheAreaAround) {
  const Surface surface = build(testing::cone(4.0, 9, 3));
  const Operators operators = assembleOperators(surface);
  double sum = 0;
  for (const double m : operators.mass) {
    EXPECT_GT(m, 0);
    sum += m;
  }
  EXPECT_NEAR(sum, surface.totalArea(), 1e-12);
  double apex = 0;
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    const auto& face = surface.faces()[f];
    if (std::find(face.begin(), face.end(), 0u) != face.end()) apex += surface.areas()[f] / 3;
  }
  EXPECT_NEAR(operators.mass[0], apex, 1e-14);
}

TEST(Operators, TheIsotropicOneIsTheCotangentLaplacian) {
  const Surface surface = build(testing::bumpySphere(1, 0.3, 2));
  const Operators operators = assembleOperators(surface);
  Eigen::MatrixXd expected = Eigen::MatrixXd::Zero(surface.vertexCount(), surface.vertexCount());
  for (const auto& face : surface.faces()) {
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint32_t a = face[(c + 1) % 3], b = face[(c + 2) % 3];
      const Vec3 u = surface.positions()[a] - surface.positions()[face[c]];
      const Vec3 v = surface.positions()[b] - surface.positions()[face[c]];
      const double weight = 0.5 * u.dot(v) / u.cross(v).norm();
      expected(a, b) -= weight;
      expected(b, a) -= weight;
      expected(a, a) += weight;
      expected(b, b) += weight;
    }
  }
  EXPECT_LT((dense(operators, kIsotropic) - expected).cwiseAbs().maxCoeff(), 1e-12);
}

// METHOD 6: diffuse a point on a flat grid; the principal axis of what comes out is the kernel's long axis.
TEST(Operators, HeatSpreadsAlongTheLongAxis) {
  constexpr std::uint32_t kCells = 16;
  // METHOD found 0.6 degrees on a fine grid; 16 x 16 cells see the axis through few, alternating diagonals.
  constexpr double kTolerance = 3.0 * std::numbers::pi / 180;
  const Surface surface = build(testing::flatGrid(kCells, kCells), true);
  for (const FaceFrame& frame : surface.frames())
    ASSERT_LT((frame.x_axis - surface.frames()[0].x_axis).norm(), 1e-9) << "one direction on a flat mesh";
  const Operators operators = assembleOperators(surface);
  const std::uint32_t center = (kCells / 2) * (kCells + 1) + kCells / 2;
  ASSERT_LT(surface.positions()[center].norm(), 1e-12);
  for (const std::uint32_t j : {operatorIndex(0, 1), operatorIndex(1, 1), operatorIndex(2, 1),
                                operatorIndex(3, 1), operatorIndex(4, 1), operatorIndex(5, 1)}) {
    const Eigen::VectorXd scale =
        Eigen::Map<const Eigen::VectorXd>(operators.mass.data(), operators.vertex_count)
            .cwiseSqrt()
            .cwiseInverse();
    const Eigen::MatrixXd a = scale.asDiagonal() * dense(operators, j) * scale.asDiagonal();
    const testing::DenseEigen eigen = testing::denseEigen(a);
    constexpr double kTime = 0.01;  // the response stays away from the border
    const Eigen::VectorXd decay = (-kTime * eigen.values).array().exp();
    Eigen::VectorXd heat = testing::spectralSum(eigen.vectors, decay).col(center);
    heat = heat.array() / scale.array();  // times mass: heat per vertex
    Mat2 covariance = Mat2::Zero();
    for (std::uint32_t v = 0; v < surface.vertexCount(); ++v) {
      const Vec2 p = surface.positions()[v].head<2>();
      covariance += heat[v] * p * p.transpose();
    }
    const Eigen::SelfAdjointEigenSolver<Mat2> axes(covariance);
    const Vec2 longest = axes.eigenvectors().col(1);
    const FaceFrame& frame = surface.frames()[0];
    const Vec3 expected = frame.directionFromFace({std::cos(operatorAngle(j)), std::sin(operatorAngle(j))});
    const double cosine = std::abs(longest.dot(expected.head<2>()));
    EXPECT_LT(std::acos(std::min(1.0, cosine)), kTolerance)
        << "angle " << 180 / std::numbers::pi * operatorAngle(j);
  }
}

TEST(Operators, NoNumberIsLostOnSpot) {
  HEATSKIN_REQUIRE_ASSETS();
  auto asset = loadAsset(testing::assetsFolder() / "spot" / "spot_triangulated.obj");
  ASSERT_TRUE(asset);
  auto surface = buildSurface(*asset);
  ASSERT_TRUE(surface);
  const Operators operators = assembleOperators(*surface);
  EXPECT_EQ(operators.vertex_count, 2930u);
  EXPECT_EQ(operators.component_count, 1u);
  std::size_t positive = 0, off_diagonal = 0;
  for (std::uint32_t v = 0; v < operators.vertex_count; ++v) {
    for (std::uint32_t k = operators.begin[v]; k < operators.begin[v + 1]; ++k) {
      if (operators.columns[k] == v) continue;
      ++off_diagonal;
      positive += operators.stiffness[operatorIndex(2, 6)][k] > 0;
    }
  }
  // METHOD 6: about a quarter for alpha >= 30.
  EXPECT_NEAR(static_cast<double>(positive) / static_cast<double>(off_diagonal), 0.25, 0.06);
}

TEST(GridWeights, SumToOneAndReproduceNodes) {
  for (std::size_t a = 0; a < kGridAngles; ++a) {
    for (std::size_t e = 0; e < kGridAnisotropies.size(); ++e) {
      const auto grid = gridWeightsOf<double>(static_cast<double>(a) * kGridAngleStep, kGridAnisotropies[e]);
      for (std::size_t c = 0; c < 4; ++c) {
        EXPECT_NEAR(grid.weights[c], grid.operators[c] == operatorIndex(a, e) ? 1 : 0, 1e-12);
      }
    }
  }
  const RandomStream random(1, 1);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto [u, v] = random.uniform2(i);
    const GridWeights grid =
        gridWeights(static_cast<float>(4 * u - 0.4), static_cast<float>(230 * v * v - 5));
    float sum = 0, sum_angle = 0, sum_anisotropy = 0;
    for (std::size_t c = 0; c < 4; ++c) {
      EXPECT_GE(grid.weights[c], 0);
      EXPECT_LT(grid.operators[c], kIsotropic);
      for (std::size_t b = 0; b < c; ++b)
        EXPECT_NE(grid.operators[b], grid.operators[c]);
      sum += grid.weights[c];
      sum_angle += grid.d_angle[c];
      sum_anisotropy += grid.d_anisotropy[c];
    }
    EXPECT_NEAR(sum, 1, 1e-6);
    EXPECT_NEAR(sum_angle, 0, 1e-6);
    EXPECT_NEAR(sum_anisotropy, 0, 1e-6);
  }
}

TEST(GridWeights, DerivativesAreThoseOfDifferences) {
  const RandomStream random(2, 1);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto [u, v] = random.uniform2(i);
    const double angle = std::numbers::pi * (0.001 + 0.998 * u), anisotropy = 1.01 + 198.9 * v * v;
    const auto grid = gridWeightsOf<double>(angle, anisotropy);
    for (std::size_t c = 0; c < 4; ++c) {
      const auto weight = [&](std::span<const double> x) {
        const auto moved = gridWeightsOf<double>(x[0], x[1]);
        for (std::size_t b = 0; b < 4; ++b) {
          if (moved.operators[b] == grid.operators[c]) return moved.weights[b];
        }
        return 0.0;
      };
      const std::array<double, 2> gradient = {grid.d_angle[c], grid.d_anisotropy[c]};
      EXPECT_EQ(testing::gradcheck(weight, {angle, anisotropy}, gradient), "") << angle << " " << anisotropy;
    }
  }
}

TEST(GridWeights, EndsCanBeLeftAndOutsideIsFlat) {
  const auto low = gridWeightsOf<float>(0.0f, 1.0f);
  EXPECT_LT(low.d_angle[0], 0);
  EXPECT_LT(low.d_anisotropy[0], 0);
  const auto high = gridWeightsOf<float>(static_cast<float>(std::numbers::pi), 200.0f);
  EXPECT_GT(high.d_angle[3], 0);
  EXPECT_GT(high.d_anisotropy[3], 0);
  EXPECT_EQ(high.operators[3], operatorIndex(0, 6)) << "180 degrees is 0 degrees";
  const auto outside = gridWeightsOf<float>(-0.1f, 300.0f);
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(outside.d_angle[c], 0);
    EXPECT_EQ(outside.d_anisotropy[c], 0);
  }
  const auto nothing = gridWeightsOf<float>(NAN, NAN);
  EXPECT_EQ(nothing.weights[0], 1);
}

}  // namespace
}  // namespace heatskin
