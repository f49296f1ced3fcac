#include "heatskin/training/value_solve.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/evaluators/evaluate_colors.h"
#include "heatskin/kernels/composite_block.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/training/fit.h"
#include "heatskin/training/test_fits.h"

namespace heatskin::testing {
namespace {

/// Red is a wave; with `other` also green, on one side of the ring only.
FunctionTarget ringTarget(const Surface& surface, bool other) {
  return FunctionTarget(surface, FunctionTarget::OfPosition([other](const Vec3& p, std::span<float> out) {
                          out[0] = static_cast<float>(0.5 + 0.3 * std::sin(4 * p.x()));
                          out[1] = other && p.x() > 0.3 ? static_cast<float>(0.5 + 0.4 * std::cos(6 * p.y()))
                                                        : 0.5f;
                          out[2] = 0.25f;
                        }));
}

class ValueSolve : public ::testing::Test {
 protected:
  void SetUp() override {
    config_ = *presetConfig("draft");
    config_.train.steps = 100;
    config_.train.batch = 512;
    config_.train.sampling.pool = 8000;
    setKernelBudget(config_, 200);
    surface_ = std::make_shared<const Surface>(build(torus(40, 10, 0.15)));
    auto fitted = fit(*surface_, ringTarget(*surface_, false), config_);
    ASSERT_TRUE(fitted) << fitted.error().message;
    fitted_ = std::move(*fitted);
  }

  double error(const KernelSet& kernels, const FitTarget& target) {
    const std::vector<SurfacePoint> points = sampleSurface(*surface_, 4000, 11);
    std::vector<float> values(3 * points.size()), wanted(values.size());
    fitted_.evaluator->rebuild(kernels);
    fitted_.evaluator->complete();
    FilterTable filter;
    filter.build(kernels);
    evaluateChannels(*fitted_.evaluator, filter, points, values, {});
    target.values(points, wanted);
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      sum += std::pow(static_cast<double>(values[i] - wanted[i]), 2);
    return std::sqrt(sum / static_cast<double>(values.size()));
  }

  FitConfig config_;
  std::shared_ptr<const Surface> surface_;
  FitResult fitted_;
};

TEST_F(ValueSolve, TheSameTargetLeavesValuesAlone) {
  const FunctionTarget base = ringTarget(*surface_, false);
  const KernelSet same =
      solveValues(*fitted_.evaluator, fitted_.kernels, *surface_, base, base, config_.train);
  EXPECT_TRUE(sameKernels(same, fitted_.kernels));
}

TEST_F(ValueSolve, AnotherTargetIsReachedAndKernelsFarFromItStay) {
  const FunctionTarget base = ringTarget(*surface_, false), target = ringTarget(*surface_, true);
  const KernelSet& before = fitted_.kernels;
  const KernelSet after = solveValues(*fitted_.evaluator, before, *surface_, base, target, config_.train);
  EXPECT_EQ(after.angles, before.angles);
  EXPECT_EQ(after.lengths, before.lengths);
  EXPECT_EQ(after.mean, before.mean) << "most of the surface is the same";
  const double unsolved = error(before, target), solved = error(after, target);
  EXPECT_LT(solved, 0.5 * unsolved);
  EXPECT_LT(solved, 0.03) << "although no kernel knows of the edge";
  std::size_t far = 0;
  float moved = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (surface_->assetFromSurface()(surface_->position(before.positions[i])).x() > -0.6) continue;
    ++far;
    for (std::size_t c = 0; c < 3; ++c)
      moved = std::max(moved, std::abs(after.channels.row(i)[c] - before.channels.row(i)[c]));
  }
  EXPECT_GT(far, 5u);
  // Overlapping kernels couple the far ones to those at the edge, less with every kernel between: 0.006 here,
  // where targets differ by up to 0.4.
  EXPECT_LT(moved, 0.02f);
  // Red and blue are the same in both.
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(after.channels.row(i)[0], before.channels.row(i)[0]);
}

/// Where the first texture shows the end of the range, its kernels may sum up to more than that; what exceeds
/// it has to go before any change is seen.
TEST_F(ValueSolve, SumsBeyondTheRangeShowNoChangeOfTheirOwn) {
  const auto blueTarget = [&](bool other) {
    return FunctionTarget(*surface_, FunctionTarget::OfPosition([other](const Vec3& p, std::span<float> out) {
      out[0] = out[1] = 0.5f;
      out[2] = other && p.x() > 0.3 ? 0.6f : 1.0f;
    }));
  };
  const FunctionTarget base = blueTarget(false), target = blueTarget(true);
  KernelSet before = fitted_.kernels;
  before.mean = Vec3f(0.5f, 0.5f, 1.0f);
  for (std::size_t i = 0; i < before.size(); ++i) {
    float* values = before.channels.row(i);
    values[0] = values[1] = 0;
    values[2] = 0.4f;
  }
  ASSERT_LT(error(before, base), 1e-6) << "what is too much is not shown";
  const KernelSet after = solveValues(*fitted_.evaluator, before, *surface_, base, target, config_.train);
  EXPECT_GT(error(before, target), 0.1);
  EXPECT_LT(error(after, target), 0.03) << "although no kernel knows of the edge";
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (surface_->assetFromSurface()(surface_->position(before.positions[i])).x() > -0.6) continue;
    // Overlapping kernels couple them to those at the edge, where values change by 0.8.
    EXPECT_NEAR(after.channels.row(i)[2], 0.4f, 0.1f) << "where nothing changes, too much stays too much";
  }
}

TEST_F(ValueSolve, DoesNotDependOnThreads) {
  const FunctionTarget base = ringTarget(*surface_, false), target = ringTarget(*surface_, true);
  setThreadCount(1);
  const KernelSet one =
      solveValues(*fitted_.evaluator, fitted_.kernels, *surface_, base, target, config_.train);
  setThreadCount(3);
  const KernelSet three =
      solveValues(*fitted_.evaluator, fitted_.kernels, *surface_, base, target, config_.train);
  setThreadCount(0);
  EXPECT_TRUE(sameKernels(one, three));
}

}  // namespace
}  // namespace heatskin::testing
