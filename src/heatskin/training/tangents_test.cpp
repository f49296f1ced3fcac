// Fits of tangent groups: vectors go with their kernels, and nothing depends on the frames of faces.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/evaluators/evaluate_colors.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/kernels/composite_block.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/training/channel_solve.h"
#include "heatskin/training/density.h"
#include "heatskin/training/fit.h"
#include "heatskin/training/loss.h"
#include "heatskin/training/optimiser.h"
#include "heatskin/training/start.h"
#include "heatskin/training/test_fits.h"

#include "support/temporary_folder.h"
#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

ChannelGroup vectorGroup(std::string name, float range = 1) {
  ChannelGroup group{std::move(name), 2, 0, {-range, range}};
  group.kind = ChannelKind::kTangent;
  return group;
}

ChannelLayout vectorAlone() {
  return *ChannelLayout::make({vectorGroup("v")});
}
ChannelLayout manyGroups() {
  return *ChannelLayout::make({{"base_color", 3}, {"alpha", 1}, vectorGroup("v"), vectorGroup("w", 4)});
}

testing::Soup anyCorner(testing::Soup soup) {
  for (std::size_t f = 0; f < soup.faces.size(); ++f)
    std::rotate(soup.faces[f].begin(), soup.faces[f].begin() + static_cast<long>((f * 7 + f / 3) % 3),
                soup.faces[f].end());
  return soup;
}

/// A field in space, projected into the faces, in all tangent groups; waves in the others.
FunctionTarget fieldTarget(const Surface& surface, const ChannelLayout& layout,
                           std::function<Vec3(const Vec3&)> field) {
  return FunctionTarget(
      [&surface, layout, field = std::move(field)](const SurfacePoint& p, std::span<float> out) {
        const Vec3 x = surface.position(p);
        for (const ChannelGroup& group : layout.groups()) {
          if (group.isTangent()) {
            const Vec2 v = group.range[1] * surface.frames()[p.face].directionToFace(field(x));
            out[group.first] = static_cast<float>(v.x());
            out[group.first + 1] = static_cast<float>(v.y());
            continue;
          }
          for (std::size_t c = group.first; c < group.first + group.count; ++c)
            out[c] = static_cast<float>(0.5 + 0.4 * std::sin(3 * x.x() + static_cast<double>(c)));
        }
      },
      layout);
}

/// The root mean square length of the error of the first tangent group, relative to half its range.
double vectorError(const Surface& surface, const FitTarget& target, const KernelSet& kernels,
                   const EvaluatorOptions& options) {
  const auto evaluator = makeEvaluator(surface, options);
  EXPECT_TRUE(evaluator);
  (*evaluator)->rebuild(kernels);
  FilterTable filter;
  filter.build(kernels);
  const auto points = sampleSurface(surface, 4000, 99);
  const std::size_t channels = kernels.layout.size();
  std::vector<float> is(points.size() * channels), should(is.size());
  evaluateChannels(**evaluator, filter, points, is, {});
  kernels.layout.fromUnit(is);
  target.values(points, should);
  const ChannelGroup& group = kernels.layout.groups().back();
  double sum = 0;
  for (std::size_t row = group.first; row < is.size(); row += channels)
    sum += std::pow(is[row] - should[row], 2) + std::pow(is[row + 1] - should[row + 1], 2);
  return std::sqrt(sum / static_cast<double>(points.size())) / group.range[1];
}

FitConfig smallFit(std::size_t kernels, int steps) {
  FitConfig config = *presetConfig("draft");
  config.train.steps = steps;
  config.train.batch = 512;
  config.train.sampling.pool = 20'000;
  setKernelBudget(config, kernels);
  return config;
}

TEST(TangentFit, AConstantFieldOnAPlaneTakesFewKernels) {
  testing::Soup soup = testing::flatGrid(16, 16);
  const RandomStream random(3, 1);
  for (std::size_t v = 0; v < soup.positions.size(); ++v)
    soup.positions[v].head<2>() += 0.5 * Vec2(random.uniform(2 * v), random.uniform(2 * v + 1));
  const Surface surface = testing::build(anyCorner(soup));
  const FunctionTarget target =
      fieldTarget(surface, vectorAlone(), [](const Vec3&) { return Vec3(0.5, -0.3, 0); });
  const FitConfig config = smallFit(120, 200);
  const auto fitted = fit(surface, target, config);
  ASSERT_TRUE(fitted) << fitted.error().message;
  EXPECT_LE(fitted->kernels.size(), 120u);
  EXPECT_EQ(fitted->kernels.mean, ChannelValues::Constant(2, 0.5f));
  // Wrong rotations would leave about the length of the field, 0.58.
  EXPECT_LT(vectorError(surface, target, fitted->kernels, config.evaluator.options()), 0.01);
}

TEST(TangentFit, ASmoothFieldOnASphereImprovesWithKernels) {
  const Surface surface = testing::build(anyCorner(testing::icosphere(3)));
  const FunctionTarget target = fieldTarget(surface, manyGroups(), [](const Vec3& x) {
    return Vec3(0.5 * std::sin(4 * x.y()), 0.4 * std::cos(3 * x.z()), 0.4 * x.x());
  });
  double before = 1;
  for (const std::size_t kernels : {30, 100, 400}) {
    const FitConfig config = smallFit(kernels, 250);
    const auto fitted = fit(surface, target, config);
    ASSERT_TRUE(fitted) << fitted.error().message;
    const double error = vectorError(surface, target, fitted->kernels, config.evaluator.options());
    EXPECT_LT(error, 0.85 * before) << kernels;
    before = error;
  }
  EXPECT_LT(before, 0.02);
}

TEST(TangentFit, TheSameBitsForAnyNumberOfThreadsAndAfterAResume) {
  const Surface surface = testing::build(anyCorner(testing::torus(32, 12)));
  const FunctionTarget target = fieldTarget(surface, manyGroups(), [](const Vec3& x) {
    return Vec3(0.5 * std::sin(4 * x.y()), 0.4 * std::cos(3 * x.z()), 0.4 * x.x());
  });
  const FitConfig config = smallFit(300, 120);
  std::vector<KernelSet> found;
  for (const int threads : {1, 3}) {
    setThreadCount(threads);
    auto fitted = fit(surface, target, config);
    ASSERT_TRUE(fitted);
    found.push_back(std::move(fitted->kernels));
  }
  setThreadCount(0);
  EXPECT_TRUE(testing::sameKernels(found[0], found[1]));

  // Stopped in the middle.
  class Stopping final : public Progress {
   public:
    void begin(std::string_view, std::size_t) override { done_ = 0; }
    void update(std::size_t done, std::string_view) override { done_ = done; }
    void end() override {}
    bool cancelled() const override { return done_ >= 50; }

   private:
    std::size_t done_ = 0;
  } stopping;
  const testing::TemporaryFolder folder;
  FitControl control;
  control.checkpoint = folder / "fit.ckpt";
  control.progress = &stopping;
  const auto part = fit(surface, target, config, control);
  ASSERT_TRUE(part) << part.error().message;
  ASSERT_FALSE(part->complete);
  control.progress = nullptr;
  control.resume = Resume::kMustBeThere;
  const auto whole = fit(surface, target, config, control);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_TRUE(testing::sameKernels(whole->kernels, found[0]));
}

TEST(TangentFit, FacesMayBeginAtAnyCorner) {
  // The same mesh with other first axes: the same fit, up to what rounding becomes in some steps.
  const testing::Soup soup = testing::bumpySphere(2, 0.2, 3);
  const Surface a = testing::build(soup), b = testing::build(anyCorner(soup));
  const auto field = [](const Vec3& x) { return Vec3(0.5 * x.y(), 0.4 * std::cos(3 * x.z()), 0.2); };
  const FitConfig config = smallFit(200, 150);
  double errors[2];
  std::size_t n = 0;
  for (const Surface* surface : {&a, &b}) {
    const FunctionTarget target = fieldTarget(*surface, vectorAlone(), field);
    const auto fitted = fit(*surface, target, config);
    ASSERT_TRUE(fitted);
    errors[n++] = vectorError(*surface, target, fitted->kernels, config.evaluator.options());
  }
  // Samples of a face go with its corners: other ones, hence not the same kernels.
  EXPECT_NEAR(errors[1] / errors[0], 1, 0.25);
  EXPECT_LT(errors[0], 0.15);
}

TEST(TangentFit, VectorsBeyondTheRangeAndOtherMethodsAreRefused) {
  const Surface surface = testing::build(testing::torus(16, 8));
  const auto long_vectors =
      fit(surface, fieldTarget(surface, vectorAlone(), [](const Vec3&) { return Vec3(1.5, 1.5, 1.5); }),
          smallFit(50, 10));
  ASSERT_FALSE(long_vectors);
  EXPECT_NE(long_vectors.error().message.find("a vector of length"), std::string::npos)
      << long_vectors.error().message;
  FitConfig config = smallFit(50, 10);
  config.evaluator.method = Method::kThermal;
  const auto refused =
      fit(surface, fieldTarget(surface, vectorAlone(), [](const Vec3&) { return Vec3(0.1, 0, 0); }), config);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::kOtherMethod);
  const auto at_vertices = VertexTarget::make(surface, {}, std::vector<float>(2), vectorAlone());
  EXPECT_FALSE(at_vertices);
}

TEST(TangentFit, CheckpointsOfPlainChannelsDoNotFit) {
  const Surface surface = testing::build(testing::torus(16, 8));
  const auto field = [](const Vec3&) { return Vec3(0.1, 0, 0); };
  ChannelGroup plain = vectorGroup("v");
  plain.kind = ChannelKind::kPlain;
  const FunctionTarget a = fieldTarget(surface, vectorAlone(), field);
  const FunctionTarget b(
      [&](const SurfacePoint& p, std::span<float> out) {
        a.values({&p, 1}, out);
      },
      *ChannelLayout::make({plain}));
  const testing::TemporaryFolder folder;
  FitControl control;
  control.checkpoint = folder / "fit.ckpt";
  control.checkpoint_interval_s = 0;
  ASSERT_TRUE(fit(surface, a, smallFit(50, 40), control));
  control.resume = Resume::kMustBeThere;
  const auto other = fit(surface, b, smallFit(50, 40), control);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, error_code::kOtherCheckpoint);
}

/// One kernel in the middle of a face, about to walk to a neighbour.
struct OneStep {
  ChannelLayout layout = manyGroups();
  Surface surface = testing::build(anyCorner(testing::icosphere(1)));
  Walker walker{surface};
  TrainOptions options;
  TrainerState state;

  OneStep() {
    state.kernels = KernelSet(layout);
    state.kernels.resize(1);
    state.kernels.positions[0] = {0, Vec3::Constant(1.0 / 3)};
    state.kernels.anisotropies[0] = 20;
    state.kernels.thresholds[0] = 0.7f;
    state.kernels.sharpnesses[0] = 30;
    for (std::size_t c = 0; c < layout.size(); ++c)
      state.kernels.channels.row(0)[c] = 0.1f * static_cast<float>(c) - 0.3f;
    state.optimiser.reset(1, layout.size());
  }

  /// Gradients of vectors turned by `turn`, as they are in a frame turned back by it.
  Rigid2 move(int step, const Rigid2& turn, float walk) {
    GradientSums sums;
    sums.reset(1, layout.size());
    GradientRow& row = sums.row(0);
    row.geometry.position_x = walk;
    for (std::size_t c = 0; c < layout.size(); ++c)
      row.channels()[c] = std::sin(static_cast<float>(c) + 2 * static_cast<float>(step));
    KernelSet::carryTangents(layout, row.channels(), turn);
    return Optimiser(options, layout, walker, step, 1).moveKernel(0, row, state);
  }
};

TEST(TangentOptimiser, StepsDoNotDependOnTheFrame) {
  const Rigid2 turn{std::cos(0.7), std::sin(0.7), Vec2::Zero()};
  OneStep plain, turned;
  turned.state.kernels.carryTangents(0, turn);
  for (int step = 0; step < 20; ++step) {
    plain.move(step, Rigid2(), 0);
    turned.move(step, turn, 0);
  }
  plain.state.kernels.carryTangents(0, turn);
  for (std::size_t c = 0; c < plain.layout.size(); ++c)
    EXPECT_NEAR(plain.state.kernels.channels.row(0)[c], turned.state.kernels.channels.row(0)[c], 1e-6) << c;
  EXPECT_EQ(plain.state.kernels.mean, turned.state.kernels.mean);
}

TEST(TangentOptimiser, AWalkTakesVectorsAndTheirMomentsAlong) {
  OneStep stays, walks;
  stays.move(0, Rigid2(), 0);
  const Rigid2 motion = walks.move(0, Rigid2(), -4);
  ASSERT_NE(walks.state.kernels.positions[0].face, 0u);
  ASSERT_GT(std::abs(motion.sine), 1e-3);
  const float* m = walks.state.optimiser.adam_m.data() + 4;
  const float* v = walks.state.optimiser.adam_v.data() + 4;
  float* expected_m = stays.state.optimiser.adam_m.data() + 4;
  KernelSet::carryTangents(stays.layout, expected_m, motion);
  stays.state.kernels.carryTangents(0, motion);
  for (std::size_t c = 0; c < stays.layout.size(); ++c) {
    EXPECT_NEAR(walks.state.kernels.channels.row(0)[c], stays.state.kernels.channels.row(0)[c], 1e-6) << c;
    EXPECT_NEAR(m[c], expected_m[c], 1e-7) << c;
  }
  for (const std::size_t first : {4, 6})
    EXPECT_EQ(v[first], v[first + 1]);
}

TEST(TangentOptimiser, VectorsStayShortAndTheMeanIsNeverTrained) {
  OneStep one;
  one.options.rates.color = 1;
  for (int step = 0; step < 10; ++step)
    one.move(step, Rigid2(), 0);
  for (const std::size_t first : {4, 6}) {
    const float* v = one.state.kernels.channels.row(0) + first;
    EXPECT_LE(std::hypot(v[0], v[1]), 1 + 1e-6f);
  }
  std::array<double, kMaxChannels> d_mean{};
  d_mean.fill(1.0);
  Optimiser(one.options, one.layout, one.walker, 0, 1).moveMean(d_mean, one.state);
  for (Eigen::Index c = 0; c < 8; ++c)
    EXPECT_EQ(one.state.kernels.mean[c] == 0.5f, c >= 4) << c;
}

TEST(TangentDensity, HalvesOfAKernelHaveItsVectorInTheirOwnFrames) {
  const Surface surface = testing::build(anyCorner(testing::flatGrid(20, 20)));
  const Walker walker(surface);
  TrainerState state;
  state.kernels = KernelSet(vectorAlone());
  state.kernels.resize(30);
  state.kernels.positions = sampleSurface(surface, 30, 4);
  const Vec3 field(0.3, 0.4, 0);
  for (std::size_t i = 0; i < 30; ++i) {
    state.kernels.angles[i] = 0.1f * static_cast<float>(i);
    state.kernels.anisotropies[i] = 5;
    state.kernels.thresholds[i] = 0.4f;
    state.kernels.sharpnesses[i] = 20;
    const Vec2 v = surface.frames()[state.kernels.positions[i].face].directionToFace(field);
    state.kernels.channels.row(i)[0] = static_cast<float>(v.x());
    state.kernels.channels.row(i)[1] = static_cast<float>(v.y());
  }
  state.optimiser.reset(30, 2);
  state.statistics.reset(30);
  std::fill(state.statistics.errors.begin(), state.statistics.errors.end(), 1e9);
  TrainOptions options;
  options.density.growth = 1;
  options.density.max_kernels = 60;
  densify(state, options, walker, 1);
  ASSERT_EQ(state.kernels.size(), 60u);
  sortAlongSurface(state, surface);
  std::size_t distinct = 0;
  for (std::size_t i = 0; i < 60; ++i) {
    const float* v = state.kernels.channels.row(i);
    const std::uint32_t face = state.kernels.positions[i].face;
    EXPECT_LT((surface.frames()[face].directionFromFace(Vec2(v[0], v[1])) - field).norm(), 1e-6);
    distinct += i > 0 && face != state.kernels.positions[i - 1].face ? 1 : 0;
  }
  EXPECT_GT(distinct, 30u);
}

TEST(TangentStart, KernelsBeginWithTheTargetsVectors) {
  const Surface surface = testing::build(anyCorner(testing::icosphere(2)));
  const FunctionTarget target =
      fieldTarget(surface, vectorAlone(), [](const Vec3& x) { return Vec3(x.y(), 0.3, 0.2); });
  TrainOptions options;
  options.start.kernels = 200;
  options.start.texture_aware = true;
  options.start.detail_share = 0.5;
  const ChannelValues odd = ChannelValues::Constant(2, 0.61f);
  const KernelSet kernels = startKernels(surface, target, options, odd);
  EXPECT_EQ(kernels.mean, ChannelValues::Constant(2, 0.5f)) << "0, whatever an average of components is";
  std::vector<float> values(2 * kernels.size());
  target.values(kernels.positions, values);
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(kernels.channels.values[i], 0.5f * values[i], 1e-6);
  options.start.texture_aware = false;
  const KernelSet random = startKernels(surface, target, options, odd);
  for (std::size_t i = 0; i < random.size(); ++i)
    EXPECT_LE(random.channels[i].norm(), 1.0f);
  EXPECT_EQ(random.mean, ChannelValues::Constant(2, 0.5f));
}

TEST(TangentLoss, AnErrorIsTheLengthOfTheDifferenceInAnyFrame) {
  const ChannelLayout layout = *ChannelLayout::make({{"a", 1}, vectorGroup("v")});
  const Loss loss(1, ClampGradient::kZero, layout);
  const auto evaluate = [&](double angle) {
    CompositeBlock block;
    ResponseBlock responses;
    responses.resize(1, 1);
    block.resize(responses, 3);
    block.weights[0] = 1;
    const Rigid2 turn{std::cos(angle), std::sin(angle), Vec2::Zero()};
    const Vec2 is = turn.rotate({0.2, 0.1}), should = turn.rotate({-0.1, 0.25});
    block.sums.row(0)[0] = 0.1f;
    block.channels.row(0)[0] = 0.6f;
    block.setTangent(0, 1, is.cast<float>(), 1);
    const std::vector<float> targets = {0.4f, static_cast<float>(0.5 + should.x()),
                                        static_cast<float>(0.5 + should.y())};
    LossBlock out;
    LossSums sums;
    std::vector<float> squared(1), ones(1, 1.0f);
    const std::vector<double> rare(1, 1.0);
    ChannelValues mean = ChannelValues::Constant(3, 0.5f);
    loss.evaluate(block, mean, {targets, ones, rare}, out, squared, sums);
    EXPECT_NE(out.d_channels[1], 0.0f);
    return std::pair(squared[0], out.absolute_errors[0]);
  };
  const auto expected = evaluate(0);
  EXPECT_NEAR(expected.first, 0.04 + 0.09 + 0.0225, 1e-6);
  EXPECT_NEAR(expected.second, (0.2 + std::sqrt(2 * (0.09 + 0.0225))) / 3, 1e-6);
  for (const double angle : {0.4, 2.0, 4.0}) {
    EXPECT_NEAR(evaluate(angle).first, expected.first, 1e-6);
    EXPECT_NEAR(evaluate(angle).second, expected.second, 1e-6);
  }
}

TEST(TangentSolve, IsTheSolutionOfTheDenseSystem) {
  constexpr std::size_t kKernels = 25, kProbes = 600;
  const ChannelLayout layout = *ChannelLayout::make({{"a", 1}, vectorGroup("v")});
  KernelSet kernels(layout);
  kernels.resize(kKernels);
  Probes probes;
  probes.resize(kProbes, 3);
  probes.visibilities.resize(kProbes);
  const RandomStream random(8, 8);
  std::uint64_t n = 0;
  for (std::size_t p = 0; p < kProbes; ++p) {
    float weight = 0;
    for (std::size_t a = 0; a < 1 + p % 4; ++a) {
      probes.influences.push_back(
          {static_cast<std::uint32_t>((p * 7 + a * 3) % kKernels), static_cast<float>(random.uniform(n++))});
      const double angle = 6.28 * random.uniform(n++);
      probes.turns.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
      weight += probes.influences.back().weight;
    }
    probes.begin[p + 1] = static_cast<std::uint32_t>(probes.influences.size());
    probes.weights[p] = weight;
    probes.visibilities[p] = static_cast<float>(random.uniform(n++));
    for (std::size_t c = 0; c < 3; ++c)
      probes.errors.row(p)[c] = probes.visibilities[p] * static_cast<float>(0.4 * random.uniform(n++) - 0.2);
  }
  // Both components of all kernels at once.
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(2 * kProbes, 2 * kKernels);
  Eigen::VectorXd weights(2 * kProbes), errors(2 * kProbes);
  for (std::size_t p = 0; p < kProbes; ++p) {
    for (Eigen::Index c = 0; c < 2; ++c) {
      weights[static_cast<Eigen::Index>(2 * p) + c] = probes.visibilities[p];
      errors[static_cast<Eigen::Index>(2 * p) + c] = probes.errors.row(p)[1 + c];
    }
    for (std::uint32_t i = probes.begin[p]; i < probes.begin[p + 1]; ++i) {
      Eigen::Matrix2d turn;
      turn << probes.turns[i].cosine, -probes.turns[i].sine, probes.turns[i].sine, probes.turns[i].cosine;
      a.block<2, 2>(static_cast<Eigen::Index>(2 * p),
                    2 * static_cast<Eigen::Index>(probes.influences[i].kernel)) +=
          probes.influences[i].weight / std::max(probes.weights[p], 1.0f) * turn;
    }
  }
  ChannelSolveOptions options;
  options.iterations = 120;
  options.damping = 0.05;
  Eigen::MatrixXd normal = a.transpose() * weights.asDiagonal() * a;
  normal.diagonal().array() += options.damping * normal.diagonal().mean();
  const Eigen::VectorXd expected = normal.ldlt().solve(-(a.transpose() * errors));
  ChannelSystem system(kernels, 1);
  system.add(0, probes);
  system.solve(options, kernels);
  double largest = 0;
  for (std::size_t k = 0; k < kKernels; ++k) {
    for (Eigen::Index c = 0; c < 2; ++c) {
      EXPECT_NEAR(kernels.channels.row(k)[1 + c], expected[2 * static_cast<Eigen::Index>(k) + c], 2e-4) << k;
      largest = std::max(largest, std::abs(expected[2 * static_cast<Eigen::Index>(k) + c]));
    }
  }
  EXPECT_GT(largest, 0.05);
}

}  // namespace
}  // namespace heatskin
