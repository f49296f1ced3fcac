#include "heatskin/training/optimiser.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

/// One kernel in the middle of a cube's face, with values far from the ends of their ranges.
TrainerState oneKernel(const ChannelLayout& layout) {
  TrainerState state;
  state.kernels = KernelSet(layout);
  state.kernels.resize(1);
  state.kernels.positions[0] = {0, Vec3::Constant(1.0 / 3)};
  state.kernels.anisotropies[0] = 20;
  state.kernels.thresholds[0] = 0.7f;
  state.kernels.sharpnesses[0] = 30;
  state.optimiser.reset(1, layout.size());
  return state;
}

TEST(Optimiser, TheFirstStepOfAChannelIsItsGroupsLearningRate) {
  const Surface surface = testing::build(testing::cube());
  const Walker walker(surface);
  const auto layout =
      *ChannelLayout::make({{"base_color", 3}, {"a", 2, 0, {-4, 4}, 0.25}, {"b", 6, 0, {0, 9}, 3}});
  const TrainOptions options;
  constexpr double kPace = 0.5;
  for (const float sign : {1.0f, -1.0f}) {
    TrainerState state = oneKernel(layout);
    GradientSums sums;
    sums.reset(1, layout.size());
    GradientRow& row = sums.row(0);
    for (std::size_t c = 0; c < layout.size(); ++c)
      row.channels()[c] = sign * (0.1f + 0.3f * static_cast<float>(c));
    const Optimiser optimiser(options, layout, walker, 0, kPace);
    optimiser.moveKernel(0, row, state);
    std::array<double, kMaxChannels> d_mean{};
    d_mean.fill(static_cast<double>(sign));
    optimiser.moveMean(d_mean, state);
    for (std::size_t c = 0; c < layout.size(); ++c) {
      // Adam's first step is the rate times the sign of the gradient, whatever its size.
      const double step = static_cast<double>(sign) * kPace * layout.groupOf(c).rate;
      EXPECT_NEAR(state.kernels.channels.row(0)[c], -step * options.rates.color, 1e-6) << c;
      EXPECT_NEAR(state.kernels.mean[static_cast<Eigen::Index>(c)], 0.5 - step * options.rates.mean_color,
                  1e-6)
          << c;
    }
  }
}

/// The first step of one kernel on a cube, with rates in units of the kernel.
class KernelUnits : public ::testing::Test {
 protected:
  KernelUnits() { options_.rates.units = RateUnits::kKernel; }

  /// `ask` fills the gradient.
  template <class Ask>
  KernelSet stepped(TrainerState state, const Ask& ask) const {
    GradientSums sums;
    sums.reset(1, layout_.size());
    ask(sums.row(0));
    Optimiser(options_, layout_, walker_, 0, 1).moveKernel(0, sums.row(0), state);
    return state.kernels;
  }

  const Surface surface_ = testing::build(testing::cube());
  const Walker walker_{surface_};
  const ChannelLayout layout_;
  TrainOptions options_;
};

TEST_F(KernelUnits, AStepIsAFractionOfTheKernelsShape) {
  options_.rates.anisotropy = 0.01;
  options_.rates.sharpness = 0.02;
  options_.rates.threshold = 0.001;
  for (const float threshold : {0.4f, 0.7f, 0.95f}) {
    TrainerState state = oneKernel(layout_);
    state.kernels.thresholds[0] = threshold;
    const KernelSet k = stepped(state, [](GradientRow& row) {
      row.geometry.anisotropy = -1e-5f;
      row.filter.slope = 1e-3f;
      row.filter.slope_x = -1e-4f;
    });
    EXPECT_NEAR(k.anisotropies[0], 20 + 0.01 * 21, 1e-3);
    EXPECT_NEAR(std::abs(k.sharpnesses[0] - 30), 0.02 * 30, 1e-2);
    // Where x falls to the threshold: at a distance proportional to this.
    const auto size = [](float eps) { return std::sqrt(-std::log(static_cast<double>(eps))); };
    EXPECT_NEAR(std::abs(std::log(size(k.thresholds[0]) / size(threshold))), 0.001, 1e-5) << threshold;
  }
}

TEST_F(KernelUnits, KernelsMoveByFractionsOfTheirLengths) {
  const auto moved = [&](float length, float gradient) {
    TrainerState state = oneKernel(layout_);
    state.kernels.lengths[0] = length;
    const KernelSet k = stepped(state, [&](GradientRow& row) { row.geometry.position_x = gradient; });
    return (surface_.position(k.positions[0]) - surface_.position(state.kernels.positions[0])).norm();
  };
  EXPECT_NEAR(moved(0.5f, 1), 0.5 * moved(1, 1), 1e-9);
  EXPECT_NEAR(moved(0.5f, 0.01f), moved(0.5f, 1), 1e-3 * moved(0.5f, 1)) << "whatever the contrast";
}

TEST_F(KernelUnits, ALargerBatchHasSmallerGradientsAndTheSameSteps) {
  const auto moved = [&](std::size_t batch, float gradient) {
    options_.batch = batch;
    return stepped(oneKernel(layout_), [&](GradientRow& row) { row.channels()[0] = gradient; })
        .channels.row(0)[0];
  };
  // As small as Adam's floor.
  EXPECT_NEAR(moved(4096, 1e-8f), moved(409600, 1e-10f), 1e-7);
}

TEST(Optimiser, ValuesStayInTheirRanges) {
  const Surface surface = testing::build(testing::cube());
  const Walker walker(surface);
  const TrainOptions options;
  const auto layout = *ChannelLayout::make({{"values", 7, 0, {-100, 100}, 1000}});
  for (const float sign : {1.0f, -1.0f}) {
    TrainerState state = oneKernel(layout);
    for (int step = 0; step < 5; ++step) {
      GradientSums sums;
      sums.reset(1, layout.size());
      GradientRow& row = sums.row(0);
      std::fill_n(row.channels(), layout.size(), sign);
      const Optimiser optimiser(options, layout, walker, step, 1);
      optimiser.moveKernel(0, row, state);
      std::array<double, kMaxChannels> d_mean{};
      d_mean.fill(static_cast<double>(sign));
      optimiser.moveMean(d_mean, state);
    }
    for (std::size_t c = 0; c < layout.size(); ++c) {
      EXPECT_EQ(state.kernels.channels.row(0)[c], -sign * KernelRanges::kMaxResidual);
      EXPECT_EQ(state.kernels.mean[static_cast<Eigen::Index>(c)], sign > 0 ? 0.0f : 1.0f);
    }
  }
}

}  // namespace
}  // namespace heatskin
