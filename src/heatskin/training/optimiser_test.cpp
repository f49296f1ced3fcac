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
