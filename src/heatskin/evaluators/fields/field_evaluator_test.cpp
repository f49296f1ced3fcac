#include "heatskin/evaluators/fields/field_evaluator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/evaluators/spectral/spectral_heat.h"
#include "heatskin/evaluators/thermal/thermal_heat.h"
#include "heatskin/kernels/compositor.h"
#include "heatskin/kernels/simd_level.h"
#include "heatskin/operators/dense_kernels.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/operators/routing.h"
#include "heatskin/surface/sampling.h"

#include "support/tiny_surfaces.h"

namespace heatskin::fields {
namespace {

constexpr double kSigma = 0.05;

KernelSet randomKernels(const Surface& surface, std::size_t count, std::uint64_t seed) {
  const RandomStream random(seed, 1);
  KernelSet kernels;
  kernels.resize(count);
  const auto points = sampleSurface(surface, count, seed);
  for (std::size_t i = 0; i < count; ++i) {
    const auto u = [&](std::size_t n) { return static_cast<float>(random.uniform(8 * i + n)); };
    kernels.positions[i] = points[i];
    kernels.angles[i] = 3.14159f * u(0);
    kernels.anisotropies[i] = 1 + 150 * u(1) * u(1);
    kernels.thresholds[i] = 0.3f + 0.6f * u(2);
    kernels.sharpnesses[i] = 10 + 60 * u(3);
    kernels.channels[i] = Vec3f(u(4), u(5), u(6));
  }
  return kernels;
}

/// Heat between two surface points, straight from the formulas and in double.
class DenseHeat {
 public:
  virtual ~DenseHeat() = default;
  virtual double operator()(const Surface& surface, const SurfacePoint& p, const SurfacePoint& q,
                            double angle, double anisotropy) const = 0;
};

std::vector<double> widened(const std::uint16_t* halves, std::size_t count) {
  std::vector<float> floats(count);
  floatFromHalf({halves, count}, floats);
  return {floats.begin(), floats.end()};
}

class DenseThermal final : public DenseHeat {
 public:
  explicit DenseThermal(const ThermalFactors& factors) : factors_(factors) {}

  double operator()(const Surface& surface, const SurfacePoint& p, const SurfacePoint& q, double angle,
                    double anisotropy) const override {
    const auto grid = gridWeightsOf<double>(angle, anisotropy);
    double sum = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const auto a = at(surface, p, grid.operators[j]), b = at(surface, q, grid.operators[j]);
      for (std::size_t k = 0; k < a.size(); ++k)
        sum += grid.weights[j] * a[k] * b[k];
    }
    return sum;
  }

 private:
  std::vector<double> at(const Surface& surface, const SurfacePoint& p, std::uint32_t index) const {
    std::vector<double> row(factors_.rank, 0);
    for (std::size_t c = 0; c < 3; ++c) {
      const auto corner = widened(factors_.row(index, surface.faces()[p.face][c]), factors_.rank);
      for (std::size_t k = 0; k < row.size(); ++k)
        row[k] += p.barycentric[static_cast<Eigen::Index>(c)] * corner[k];
    }
    return row;
  }
  const ThermalFactors& factors_;
};

class DenseSpectral final : public DenseHeat {
 public:
  DenseSpectral(const SpectralBases& bases, double time) : bases_(bases), time_(time) {}

  double operator()(const Surface& surface, const SurfacePoint& p, const SurfacePoint& q, double angle,
                    double anisotropy) const override {
    const auto grid = gridWeightsOf<double>(angle, anisotropy);
    const auto bases = alignedBasesOf(grid);
    std::vector<double> a(bases_.count, 0), b(bases_.count, 0), lambda(bases_.count, 0);
    for (std::size_t j = 0; j < 4; ++j) {
      for (std::size_t e = 0; e < bases_.count; ++e)
        lambda[e] += grid.weights[j] * bases_.valuesOf(bases[j])[e];
      add(surface, p, bases[j], grid.weights[j], a);
      add(surface, q, bases[j], grid.weights[j], b);
    }
    double sum = 0;
    for (std::size_t e = 0; e < bases_.count; ++e)
      sum += std::exp(-time_ * lambda[e]) * a[e] * b[e];
    return sum;
  }

 private:
  void add(const Surface& surface, const SurfacePoint& p, std::uint32_t basis, double weight,
           std::vector<double>& to) const {
    for (std::size_t c = 0; c < 3; ++c) {
      const auto corner =
          widened(bases_.vectorsOf(basis).data() + surface.faces()[p.face][c] * bases_.count, bases_.count);
      for (std::size_t e = 0; e < to.size(); ++e)
        to[e] += weight * p.barycentric[static_cast<Eigen::Index>(c)] * corner[e];
    }
  }
  const SpectralBases& bases_;
  double time_;
};

Eigen::VectorXd embedded(const Surface& surface, const Embedding& embedding, const SurfacePoint& p) {
  Eigen::VectorXd z = Eigen::VectorXd::Zero(embedding.rows().cols());
  for (std::size_t c = 0; c < 3; ++c)
    z += p.barycentric[static_cast<Eigen::Index>(c)] *
         embedding.rows().row(surface.faces()[p.face][c]).cast<double>().transpose();
  return z;
}

struct Subject {
  std::shared_ptr<Surface> surface;
  std::unique_ptr<FieldEvaluator> evaluator;
  std::unique_ptr<DenseHeat> heat;
  std::shared_ptr<void> data;
};

enum class Method { kThermal, kSpectral };

Subject makeSubject(Method method, const testing::Soup& soup, std::size_t candidates = 50) {
  Subject s;
  s.surface = std::make_shared<Surface>(testing::build(soup, true));
  const Operators operators = assembleOperators(*s.surface);
  if (method == Method::kThermal) {
    FactorOptions options;
    options.rank = 96;
    options.oversampling = 32;
    const auto factors = std::make_shared<ThermalFactors>(std::move(*thermalFactors(operators, options)));
    const auto routing = std::move(*routingEmbedding(operators));
    s.evaluator = std::make_unique<FieldEvaluator>(*s.surface, routing.values, routing.dimension,
                                                   std::make_unique<thermal::ThermalHeat>(*factors),
                                                   FieldOptions{kSigma, candidates});
    s.heat = std::make_unique<DenseThermal>(*factors);
    s.data = factors;
  } else {
    PreprocessingCache none;
    SpectralOptions options;
    options.eigen.count = 70;  // not a whole number of vectors
    const auto bases =
        std::make_shared<SpectralBases>(std::move(*buildSpectralBases(*s.surface, none, options)));
    const double time = spectral::HktexOptions().diffusion_time;
    s.evaluator = std::make_unique<FieldEvaluator>(*s.surface, bases->embedding, bases->embedding_dimensions,
                                                   std::make_unique<spectral::SpectralHeat>(*bases, time),
                                                   FieldOptions{kSigma, candidates});
    s.heat = std::make_unique<DenseSpectral>(*bases, time);
    s.data = bases;
  }
  return s;
}

class FieldEvaluators : public ::testing::TestWithParam<Method> {};

/// Response by the book.
double response(const Subject& s, const KernelSet& kernels, std::size_t i, const SurfacePoint& q) {
  const SurfacePoint& p = kernels.positions[i];
  const double squared =
      (embedded(*s.surface, s.evaluator->embedding(), p) - embedded(*s.surface, s.evaluator->embedding(), q))
          .squaredNorm();
  const double angle = kernels.angles[i], anisotropy = kernels.anisotropies[i];
  return std::exp(-squared / (2 * kSigma * kSigma)) * (*s.heat)(*s.surface, p, q, angle, anisotropy) /
         ((*s.heat)(*s.surface, p, p, angle, anisotropy) + 1e-8);
}

TEST_P(FieldEvaluators, CandidatesAndResponsesEqualTheBruteForceTwin) {
  constexpr std::size_t kCandidates = 12;
  const Subject s = makeSubject(GetParam(), testing::bumpySphere(3, 0.2, 5), kCandidates);
  const KernelSet kernels = randomKernels(*s.surface, 300, 3);
  s.evaluator->rebuild(kernels);
  s.evaluator->complete();
  const auto queries = sampleSurface(*s.surface, 60, 8);
  Workspace workspace;
  s.evaluator->begin(queries)->respond(0, queries.size(), workspace);
  const ResponseBlock& block = workspace.responses;
  std::size_t compared = 0;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    std::vector<std::pair<double, std::uint32_t>> near;
    for (std::uint32_t i = 0; i < kernels.size(); ++i) {
      near.emplace_back((embedded(*s.surface, s.evaluator->embedding(), kernels.positions[i]) -
                         embedded(*s.surface, s.evaluator->embedding(), queries[q]))
                            .squaredNorm(),
                        i);
    }
    std::sort(near.begin(), near.end());
    const std::set<std::uint32_t> found(
        block.kernels.begin() + static_cast<std::ptrdiff_t>(q * block.stride),
        block.kernels.begin() + static_cast<std::ptrdiff_t>(q * block.stride + block.counts[q]));
    for (std::size_t n = 0; n < kCandidates; ++n) {
      const auto reach = s.evaluator->tables().cutoffs[near[n].second];
      // The last one may change places with a kernel just as far, and what is out of reach may be missing.
      if (near[n].first >= static_cast<double>(reach) || near[n].first > 0.9999 * near[kCandidates].first)
        continue;
      EXPECT_TRUE(found.count(near[n].second)) << "query " << q << ", neighbour " << n;
    }
    for (std::size_t n = 0; n < block.counts[q]; ++n) {
      const std::size_t at = q * block.stride + n;
      const double expected = response(s, kernels, block.kernels[at], queries[q]);
      const SoftThreshold<double> filter(kernels.sharpnesses[block.kernels[at]],
                                         kernels.thresholds[block.kernels[at]]);
      if (block.x[at] == 0) {
        EXPECT_LT(filter(expected), kFieldTail) << "only what is negligible is left out";
        continue;
      }
      // Float products of up to a hundred factors.
      EXPECT_NEAR(block.x[at], expected, 2e-4);
      ++compared;
    }
  }
  EXPECT_GT(compared, 100u);
}

std::array<float, 4> entries(const GeometryGradient& g) {
  return {g.position_x, g.position_y, g.angle, g.anisotropy};
}

/// Vectorised against plain code on the tables of one evaluator: candidates, responses, gradients.
void expectTwins(const FieldEvaluator& evaluator, std::span<const SurfacePoint> points, std::size_t kernels) {
  const FieldTables tables = evaluator.tables();
  std::vector<FieldQuery> queries;
  for (const SurfacePoint& p : points)
    queries.push_back(evaluator.query(p));
  ResponseBlock fast, slow;
  fast.resize(queries.size(), tables.candidates);
  slow.resize(queries.size(), tables.candidates);
  Selection scratch;
  respondBlock(tables, queries, scratch, fast);
  respondBlockScalar(tables, queries, slow);
  std::size_t different = 0, total = 0;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    ASSERT_EQ(fast.counts[q], slow.counts[q]);
    std::set<std::uint32_t> found;
    for (std::size_t n = 0; n < fast.counts[q]; ++n)
      found.insert(fast.pairs[q * fast.stride + n]);
    for (std::size_t n = 0; n < slow.counts[q]; ++n) {
      const std::size_t at = q * slow.stride + n;
      ++total;
      different += found.count(slow.pairs[at]) == 0;
      EXPECT_EQ(slow.kernels[at], tables.lists->face_kernels[slow.pairs[at]]);
      for (std::size_t m = 0; m < fast.counts[q]; ++m) {
        const std::size_t there = q * fast.stride + m;
        if (fast.pairs[there] != slow.pairs[at]) continue;
        EXPECT_EQ(fast.kernels[there], slow.kernels[at]);
        // A response right at its cutoff may fall on either side. Otherwise: fastExp is good to 3e-7, the
        // window's exponent (below 10) to a few float roundings.
        if ((fast.x[there] == 0) != (slow.x[at] == 0)) continue;
        EXPECT_NEAR(fast.x[there], slow.x[at], 2e-5f * std::abs(slow.x[at]) + 1e-6f);
      }
    }
  }
  // Two kernels just as far up to rounding may change places at the rim.
  EXPECT_LE(static_cast<double>(different), 1e-3 * static_cast<double>(total));
  EXPECT_GT(total, 20 * queries.size() / 2);

  std::vector<float> dx(slow.x.size());
  for (std::size_t i = 0; i < dx.size(); ++i)
    dx[i] = static_cast<float>(i % 5) - 2.0f;
  GradientSums sums_fast, sums_slow;
  sums_fast.reset(kernels, 3);
  sums_slow.reset(kernels, 3);
  respondVjpBlock(tables, queries, slow, dx, sums_fast);
  respondVjpBlockScalar(tables, queries, slow, dx, sums_slow);
  std::size_t touched = 0;
  for (std::uint32_t k = 0; k < kernels; ++k) {
    const GradientRow *slow_row = sums_slow.find(k), *fast_row = sums_fast.find(k);
    ASSERT_EQ(slow_row == nullptr, fast_row == nullptr);
    if (slow_row == nullptr) continue;
    const std::array<float, 4> expected = entries(slow_row->geometry), found = entries(fast_row->geometry);
    ++touched;
    double size = 1;
    for (std::size_t c = 0; c < 4; ++c)
      size = std::max(size, static_cast<double>(std::abs(expected[c])));
    // A few hundred terms of either sign in another order.
    for (std::size_t c = 0; c < 4; ++c)
      EXPECT_NEAR(found[c], expected[c], 1e-4 * size) << "kernel " << k << " entry " << c;
  }
  EXPECT_GT(touched, kernels / 2);
}

TEST_P(FieldEvaluators, EverySimdLevelEqualsThePlainTwin) {
  constexpr std::size_t kCandidates = 21;  // no whole number of vectors
  const Subject s = makeSubject(GetParam(), testing::bumpySphere(2, 0.2, 5), kCandidates);
  const KernelSet kernels = randomKernels(*s.surface, 300, 3);
  const auto points = sampleSurface(*s.surface, 200, 8);
  for (const std::string& level : simdLevels()) {
    SCOPED_TRACE(level);
    ASSERT_TRUE(setSimdLevel(level));
    s.evaluator->rebuild(kernels);
    s.evaluator->complete();
    expectTwins(*s.evaluator, points, kernels.size());
  }
  ASSERT_TRUE(setSimdLevel(""));
}

/// A kernel as the evaluator hands it to its source.
Pose poseOf(const Surface& surface, const SurfacePoint& p, float angle, float anisotropy) {
  Pose pose;
  pose.corners = surface.faces()[p.face];
  const Vec2 at = surface.faceCoordinates(p);
  // Barycentric coordinates are linear: differences over any length are the derivatives.
  const Vec3 x = surface.barycentric(p.face, at + Vec2(1, 0)) - surface.barycentric(p.face, at);
  const Vec3 y = surface.barycentric(p.face, at + Vec2(0, 1)) - surface.barycentric(p.face, at);
  for (std::size_t c = 0; c < 3; ++c) {
    const auto i = static_cast<Eigen::Index>(c);
    pose.barycentric[c] = static_cast<float>(p.barycentric[i]);
    pose.barycentric_x[c] = static_cast<float>(x[i]);
    pose.barycentric_y[c] = static_cast<float>(y[i]);
  }
  pose.angle = angle;
  pose.anisotropy = anisotropy;
  return pose;
}

TEST_P(FieldEvaluators, HeatAndItsDerivativesAreThoseOfTheFormula) {
  const Subject s = makeSubject(GetParam(), testing::bumpySphere(2, 0.2, 5));
  const Surface& surface = *s.surface;
  std::unique_ptr<HeatSource> source;
  if (GetParam() == Method::kThermal) {
    source = std::make_unique<thermal::ThermalHeat>(*std::static_pointer_cast<ThermalFactors>(s.data));
  } else {
    source = std::make_unique<spectral::SpectralHeat>(*std::static_pointer_cast<SpectralBases>(s.data),
                                                      spectral::HktexOptions().diffusion_time);
  }
  std::vector<std::uint32_t> vertices(40);
  std::vector<SurfacePoint> corners(vertices.size());
  for (std::uint32_t i = 0; i < vertices.size(); ++i) {
    corners[i] = {3 * i, Vec3::UnitY()};
    vertices[i] = surface.faces()[3 * i][1];
  }
  constexpr std::size_t kKernels = 24, kStride = 64;
  const KernelSet kernels = randomKernels(surface, kKernels, 3);
  source->reset(kKernels * kStride, kKernels, std::vector<std::uint32_t>(kKernels * kStride, kNone));
  for (std::uint32_t k = 0; k < kKernels; ++k) {
    SurfacePoint p = kernels.positions[k];
    double angle = kernels.angles[k], anisotropy = kernels.anisotropies[k];
    // The grid's ends, too: there the derivative is that from inside, and differences look inside only.
    if (k == 0) angle = 0;
    if (k == 1) angle = std::numbers::pi;
    if (k == 2) anisotropy = 1;
    if (k == 3) anisotropy = 200;
    // Barycentric coordinates as float has them, so that both see the same kernel.
    for (Eigen::Index c = 0; c < 2; ++c)
      p.barycentric[c] = static_cast<double>(static_cast<float>(p.barycentric[c]));
    p.barycentric[2] = 1 - p.barycentric[0] - p.barycentric[1];
    std::vector<float> rows(5 * kStride);
    const HeatRows out{&rows[0], &rows[kStride], &rows[2 * kStride], &rows[3 * kStride], &rows[4 * kStride]};
    std::vector<std::uint32_t> pairs(vertices.size());
    std::iota(pairs.begin(), pairs.end(), static_cast<std::uint32_t>(k * kStride));
    source->heat(k, poseOf(surface, p, static_cast<float>(angle), static_cast<float>(anisotropy)), pairs,
                 vertices, out);
    const auto heat = [&](std::size_t v, double dx, double dy, double da, double de) {
      const SurfacePoint q{p.face, surface.barycentric(p.face, surface.faceCoordinates(p) + Vec2(dx, dy))};
      return (*s.heat)(surface, q, corners[v], angle + da, anisotropy + de) /
             ((*s.heat)(surface, q, q, angle + da, anisotropy + de) + static_cast<double>(kSelfEpsilon));
    };
    const double h = 1e-5;
    const double down_a = k == 0 ? 0 : h, up_a = k == 1 ? 0 : h;
    const double down_e = k == 2 ? 0 : h, up_e = k == 3 ? 0 : h;
    double size[5] = {}, error[5] = {};
    for (std::size_t v = 0; v < vertices.size(); ++v) {
      const double expected[5] = {heat(v, 0, 0, 0, 0), (heat(v, h, 0, 0, 0) - heat(v, -h, 0, 0, 0)) / (2 * h),
                                  (heat(v, 0, h, 0, 0) - heat(v, 0, -h, 0, 0)) / (2 * h),
                                  (heat(v, 0, 0, up_a, 0) - heat(v, 0, 0, -down_a, 0)) / (up_a + down_a),
                                  (heat(v, 0, 0, 0, up_e) - heat(v, 0, 0, 0, -down_e)) / (up_e + down_e)};
      for (std::size_t r = 0; r < 5; ++r) {
        size[r] = std::max(size[r], std::abs(expected[r]));
        error[r] = std::max(error[r], std::abs(expected[r] - static_cast<double>(rows[r * kStride + v])));
      }
    }
    // Float sums of about a hundred products, which cancel in the derivatives; one-sided differences at the
    // ends of the grid are good to the step.
    for (std::size_t r = 0; r < 5; ++r)
      EXPECT_LT(error[r], 2e-4 * size[r] + 1e-7) << "kernel " << k << ", row " << r;
  }
}

INSTANTIATE_TEST_SUITE_P(Both, FieldEvaluators, ::testing::Values(Method::kThermal, Method::kSpectral),
                         [](const auto& test) {
                           return test.param == Method::kThermal ? "Thermal" : "Spectral";
                         });

}  // namespace
}  // namespace heatskin::fields
