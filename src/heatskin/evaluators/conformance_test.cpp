// What METHOD section 3 and evaluator.h promise of every evaluator; one suite, run on all three. Here: its
// answers. What changes them is in conformance_updates_test.cpp, gradients are in
// conformance_gradients_test.cpp.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/evaluators/evaluate_colors.h"
#include "heatskin/evaluators/test_conformance.h"

namespace heatskin::testing::conformance {
namespace {

TEST_P(Conformance, CandidatesAreDifferentKernelsAndNotTooMany) {
  EvaluatorOptions few = options();
  std::visit([](auto& method) { method.candidates = 20; }, few);
  const Subject s = subjectOf(few, testing::bumpySphere(2, 0.2, 5));
  const auto queries = sampleSurface(*s.surface, 100, 8);
  std::size_t full = 0;
  for (const std::size_t count : {std::size_t{1000}, std::size_t{3}, std::size_t{1}}) {
    KernelSet kernels = smoothKernels(*s.surface, count, 3);
    std::fill(kernels.thresholds.begin(), kernels.thresholds.end(), 0.5f);
    s.evaluator->rebuild(kernels);
    Workspace workspace;
    s.evaluator->begin(queries)->respond(0, queries.size(), workspace);
    const ResponseBlock& block = workspace.responses;
    for (std::size_t q = 0; q < queries.size(); ++q) {
      ASSERT_LE(block.counts[q], 20u);
      full += block.counts[q] == 20;
      const auto first = block.kernels.begin() + static_cast<std::ptrdiff_t>(q * block.stride);
      const std::set<std::uint32_t> found(first, first + block.counts[q]);
      EXPECT_EQ(found.size(), block.counts[q]);
      // Loops run over whole vectors, of four at least.
      for (std::size_t n = 0; n < (block.counts[q] + 3) / 4 * 4; ++n)
        EXPECT_LT(block.kernels[q * block.stride + n], count);
      for (std::size_t n = 0; n < block.counts[q]; ++n)
        EXPECT_TRUE(std::isfinite(block.x[q * block.stride + n]));
    }
  }
  EXPECT_GT(full, 90u) << "the limit was put to the test";
}

/// Rounding of the quotient h / h, of the 1e-8 that is added to self heat (above 0.1 everywhere), and of
/// squared distances (1e-7 of squared edges of the embedding, below 0.1, times 200 in the window's exponent).
constexpr float kOne = 2e-5f;

TEST_P(Conformance, IsOneAtAKernelsOwnCentre) {
  const Subject s = subjectOf(options(), testing::bumpySphere(2, 0.2, 5));
  KernelSet kernels = smoothKernels(*s.surface, 40, 3);
  // On an edge and on a corner, and at the ends of the ranges.
  kernels.positions[0].barycentric = {0.25, 0.75, 0};
  kernels.positions[1].barycentric = {0, 0, 1};
  kernels.angles[2] = KernelRanges::kMinAngle;
  kernels.angles[3] = KernelRanges::kMaxAngle;
  kernels.anisotropies[4] = KernelRanges::kMinAnisotropy;
  kernels.anisotropies[5] = KernelRanges::kMaxAnisotropy;
  kernels.thresholds[6] = KernelRanges::kMaxThreshold;
  kernels.sharpnesses[7] = KernelRanges::kMaxSharpness;
  s.evaluator->rebuild(kernels);
  const auto x = responses(*s.evaluator, kernels.positions, kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i)
    EXPECT_NEAR(x[i][i], 1, kOne) << "kernel " << i;
}

TEST_P(Conformance, AnswersDoNotDependOnBlocks) {
  const Subject s = subjectOf(options(), testing::bumpySphere(2, 0.2, 5));
  s.evaluator->rebuild(smoothKernels(*s.surface, 400, 3));
  auto queries = sampleSurface(*s.surface, 700, 8);
  // Some alone in their face, some with neighbours in the block that share it.
  std::sort(queries.begin() + 100, queries.end(),
            [](const SurfacePoint& a, const SurfacePoint& b) { return a.face < b.face; });
  const Answers whole = answersOf(*s.evaluator, queries, 400, queries.size());
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{64}})
    EXPECT_TRUE(answersOf(*s.evaluator, queries, 400, size) == whole) << "blocks of " << size;
}

TEST_P(Conformance, ColoursDoNotDependOnTheOrderOfPoints) {
  const Subject s = subjectOf(options(), testing::bumpySphere(2, 0.2, 5));
  const KernelSet kernels = smoothKernels(*s.surface, 400, 3);
  s.evaluator->rebuild(kernels);
  FilterTable filter;
  filter.build(kernels);
  auto mixed = sampleSurface(*s.surface, 3000, 8);
  std::sort(mixed.begin(), mixed.end(),
            [](const SurfacePoint& a, const SurfacePoint& b) { return a.face > b.face; });
  std::vector<Vec3f> colors(mixed.size());
  std::vector<float> weights(mixed.size());
  evaluateColors(*s.evaluator, filter, mixed, colors, weights);
  std::size_t different = 0;
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    Vec3f color;
    float weight = 0;
    evaluateColors(*s.evaluator, filter, {&mixed[i], 1}, {&color, 1}, {&weight, 1});
    ASSERT_EQ(colors[i], color) << "point " << i;
    ASSERT_EQ(weights[i], weight) << "point " << i;
    different += color != colors[0];
  }
  EXPECT_GT(different, mixed.size() / 2);
}

TEST_P(Conformance, AnswersDoNotDependOnThreads) {
  std::vector<Answers> found;
  for (const int threads : {1, 2, 3, 8}) {
    setThreadCount(threads);
    const Subject s = subjectOf(options(), testing::bumpySphere(2, 0.2, 5));
    const KernelSet kernels = smoothKernels(*s.surface, 400, 3);
    const auto queries = sampleSurface(*s.surface, 100, 8);
    s.evaluator->rebuild(kernels);
    s.evaluator->refresh(nudged(*s.surface, kernels, 0.02, 4), {});
    found.push_back(answersOf(*s.evaluator, queries, 400, 64));
    EXPECT_TRUE(found.back() == found.front()) << threads << " threads";
  }
  setThreadCount(0);
}

// METHOD 6: one convention for the long axis.
TEST_P(Conformance, IsLongAlongTheAngle) {
  constexpr std::uint32_t kCells = 32;
  // Degrees. The window over a random embedding is not quite round: 4.8 measured. HKTex's alignment mixes
  // modes of different eigenvalues (METHOD 7: residuals of 0.2 to 0.6), which turns the axis by up to 15
  // here, at the nodes of the grid, too. The other convention would be 90 off, a mirrored angle 30 or more.
  constexpr double kOff = 7, kSpectralOff = 20;
  EvaluatorOptions fine = options();
  if (auto* thermal = std::get_if<thermal::ThermalOptions>(&fine)) {
    thermal->rank = 128;
    thermal->routing_dimensions = 512;  // random: distances are good to sqrt(2 / dimensions)
  }
  if (auto* spectral = std::get_if<spectral::HktexOptions>(&fine)) spectral->modes = 128;
  const Subject s = subjectOf(fine, testing::flatGrid(kCells, kCells));
  ASSERT_LT((s.surface->frames()[0].x_axis - s.surface->frames()[999].x_axis).norm(), 1e-9);
  // Equal parts of all faces, so that the sum below is an integral.
  std::vector<SurfacePoint> queries;
  constexpr int kParts = 4;
  for (std::uint32_t f = 0; f < s.surface->faceCount(); ++f) {
    for (int i = 0; i < kParts; ++i) {
      for (int j = 0; i + j < kParts; ++j) {
        const Vec3 up((i + 1 / 3.0) / kParts, (j + 1 / 3.0) / kParts, (kParts - i - j - 2 / 3.0) / kParts);
        queries.push_back({f, up});
        const Vec3 down((i + 2 / 3.0) / kParts, (j + 2 / 3.0) / kParts, (kParts - i - j - 4 / 3.0) / kParts);
        if (i + j + 1 < kParts) queries.push_back({f, down});
      }
    }
  }
  KernelSet kernels;
  kernels.resize(1);
  for (std::uint32_t f = 0; f < s.surface->faceCount(); ++f) {
    for (Eigen::Index c = 0; c < 3; ++c) {
      if (s.surface->positions()[s.surface->faces()[f][static_cast<std::size_t>(c)]].norm() < 1e-9)
        kernels.positions[0] = {f, Vec3::Unit(c)};
    }
  }
  ASSERT_LT(s.surface->position(kernels.positions[0]).norm(), 1e-9) << "in the middle";
  kernels.anisotropies[0] = 15;
  kernels.thresholds[0] = 0.3f;
  kernels.sharpnesses[0] = 10;
  for (int degrees = 0; degrees <= 180; degrees += 15) {
    const double angle = degrees * std::numbers::pi / 180;
    kernels.angles[0] = static_cast<float>(angle);
    s.evaluator->rebuild(kernels);
    const auto x = responses(*s.evaluator, queries, 1);
    Mat2 moments = Mat2::Zero();
    for (std::size_t q = 0; q < queries.size(); ++q) {
      const Vec2 p = s.surface->position(queries[q]).head<2>();
      moments += static_cast<double>(x[q][0]) * p * p.transpose();
    }
    const Eigen::SelfAdjointEigenSolver<Mat2> axes(moments);
    const Vec2 longest = axes.eigenvectors().col(1);
    const Vec2 expected =
        s.surface->frames()[0].directionFromFace({std::cos(angle), std::sin(angle)}).head<2>();
    const double off = std::acos(std::min(1.0, std::abs(longest.dot(expected)))) * 180 / std::numbers::pi;
    EXPECT_LT(off, GetParam() == "spectral" ? kSpectralOff : kOff) << degrees;
    EXPECT_GT(axes.eigenvalues()[1], 1.15 * axes.eigenvalues()[0]) << degrees;
  }
}

TEST(LocalOnAProxy, AnswersDoNotDependOnBlocksOrThreads) {
  std::vector<Answers> found;
  for (const int threads : {1, 2, 3, 8}) {
    setThreadCount(threads);
    const Subject s = subjectOf(withProxy(2000), testing::bumpySphere(4, 0.1, 5));
    const KernelSet kernels = smoothKernels(*s.surface, 400, 3);
    const auto queries = sampleSurface(*s.surface, 130, 8);
    s.evaluator->rebuild(kernels);
    s.evaluator->refresh(nudged(*s.surface, kernels, 0.01, 4), {});
    found.push_back(answersOf(*s.evaluator, queries, 400, threads == 3 ? 7 : 64));
    EXPECT_TRUE(found.back() == found.front()) << threads << " threads";
  }
  setThreadCount(0);
}

// The proxy is an approximation of the surface, and so are the answers.
TEST(LocalOnAProxy, AnswersAreCloseToThoseOfTheSurface) {
  const testing::Soup soup = testing::bumpySphere(5, 0.1, 5);
  const Subject plain = subjectOf(withProxy(0), soup), proxied = subjectOf(withProxy(4000), soup);
  ASSERT_EQ(supportFaces(plain), plain.surface->faceCount());
  ASSERT_LT(supportFaces(proxied), plain.surface->faceCount() / 2);
  const KernelSet kernels = smoothKernels(*plain.surface, 40, 3);
  const auto queries = sampleSurface(*plain.surface, 2000, 8);
  plain.evaluator->rebuild(kernels);
  proxied.evaluator->rebuild(kernels);
  const auto x = responses(*plain.evaluator, queries, 40), y = responses(*proxied.evaluator, queries, 40);
  double error = 0, far = 0;
  std::size_t strong = 0;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    for (std::size_t k = 0; k < 40; ++k) {
      if (x[q][k] < 0.1f) continue;
      const double difference = std::abs(static_cast<double>(x[q][k]) - static_cast<double>(y[q][k]));
      error += difference;
      far += difference > 0.1 ? 1 : 0;
      ++strong;
    }
  }
  ASSERT_GT(strong, 100u);
  // Distances of up to 0.2 that are off by the proxy's error, some 0.002, times a slope of up to 8.
  EXPECT_LT(error / static_cast<double>(strong), 0.02);
  EXPECT_LT(far / static_cast<double>(strong), 0.01);
}

Soup merged(Soup a, const Soup& b, const Vec3& at) {
  const auto first = static_cast<std::uint32_t>(a.positions.size());
  for (const Vec3& p : b.positions)
    a.positions.push_back(p + at);
  for (const auto& f : b.faces)
    a.faces.push_back({f[0] + first, f[1] + first, f[2] + first});
  return a;
}

void expectSeparateComponents(const Subject& s) {
  const auto& components = s.surface->components();
  ASSERT_EQ(*std::max_element(components.begin(), components.end()), 2u);
  KernelSet kernels = smoothKernels(*s.surface, 90, 3);
  std::fill(kernels.thresholds.begin(), kernels.thresholds.end(), KernelRanges::kMinThreshold);
  std::fill(kernels.sharpnesses.begin(), kernels.sharpnesses.end(), KernelRanges::kMinSharpness);
  s.evaluator->rebuild(kernels);
  const auto queries = sampleSurface(*s.surface, 300, 8);
  const auto x = responses(*s.evaluator, queries, kernels.size());
  std::size_t same = 0;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      if (components[queries[q].face] != components[kernels.positions[k].face]) {
        EXPECT_EQ(x[q][k], 0);
      } else {
        same += x[q][k] > 0.1f;
      }
    }
  }
  EXPECT_GT(same, 100u);
}

TEST_P(Conformance, KernelsDoNotReachOtherComponents) {
  // Close to each other in space, and small against the whole.
  Soup soup = merged(testing::icosphere(1), testing::icosphere(1), {2.01, 0, 0});
  soup = merged(soup, testing::flatGrid(2, 2), {-1, -1, 1.01});
  expectSeparateComponents(subjectOf(options(), soup));
}

TEST(LocalOnAProxy, KernelsDoNotReachOtherComponents) {
  Soup soup = merged(testing::icosphere(3), testing::icosphere(3), {2.01, 0, 0});
  soup = merged(soup, testing::flatGrid(20, 20), {-1, -1, 1.01});
  const Subject s = subjectOf(withProxy(1000), soup);
  ASSERT_LT(supportFaces(s), s.surface->faceCount() / 2);
  expectSeparateComponents(s);
}

TEST_P(Conformance, SmallAndDirtyMeshesWorkOrSayWhyNot) {
  const std::vector<Soup> soups = {{"single triangle", {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, {{0, 1, 2}}},
                                   {"two apart",
                                    {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {3, 0, 0}, {4, 0, 0}, {3, 1, 0}},
                                    {{0, 1, 2}, {3, 4, 5}}},
                                   testing::tetrahedron(),
                                   testing::flatGrid(1, 1),
                                   testing::saddle(),
                                   testing::cube(1),
                                   testing::cylinderBand(5, 2),
                                   testing::moebius(9),
                                   testing::sliverStrip(12, 1e-5),
                                   testing::damagedSphere(4, 2),
                                   testing::dirtySoup(7, 40, 60),
                                   testing::dirtySoup(8, 20, 60)};
  std::size_t worked = 0;
  for (const Soup& soup : soups) {
    SCOPED_TRACE(soup.name);
    const Surface surface = testing::build(soup, true);
    const auto evaluator = makeEvaluator(surface, options());
    if (!evaluator) {
      EXPECT_FALSE(evaluator.error().message.empty());
      EXPECT_EQ(evaluator.error().message.find('\n'), std::string::npos) << evaluator.error().message;
      continue;
    }
    ++worked;
    const KernelSet kernels = smoothKernels(surface, 60, 3);
    (*evaluator)->rebuild(kernels);
    const auto queries = sampleSurface(surface, 100, 8);
    const Answers answers = answersOf(**evaluator, queries, kernels.size(), 64);
    for (const float x : answers.x)
      ASSERT_TRUE(std::isfinite(x));
    for (const float g : answers.gradients)
      ASSERT_TRUE(std::isfinite(g));
    // As above, but edges of the embedding are longer here. Sixty kernels compete for fifty places.
    const auto x = responses(**evaluator, kernels.positions, kernels.size());
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (x[i][i] != 0) {
        EXPECT_NEAR(x[i][i], 1, 10 * kOne) << "kernel " << i;
      }
    }
  }
  EXPECT_EQ(worked, soups.size());
}

INSTANTIATE_TEST_SUITE_P(Evaluators, Conformance, ::testing::ValuesIn(kMethodNames),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Variants, Conformance, ::testing::Values(kJoined),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace heatskin::testing::conformance
