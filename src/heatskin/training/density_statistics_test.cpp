#include "heatskin/training/density_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"
#include "heatskin/kernels/composite_block.h"
#include "heatskin/kernels/compositor.h"

namespace heatskin {
namespace {

constexpr std::size_t kKernels = 60, kQueries = 25, kCandidates = 45, kKept = 30;

/// A query in double: which kernels respond how strongly, and what colour it should have.
struct Query {
  std::vector<std::pair<std::uint32_t, double>> responses;
  Eigen::VectorXd target;  // [C]
};

std::vector<Query> randomQueries(const RandomStream& random, std::size_t channels) {
  std::vector<Query> queries(kQueries);
  for (std::size_t q = 0; q < kQueries; ++q) {
    for (std::size_t i = 0; i < kCandidates; ++i) {
      const auto x = static_cast<float>(random.uniform(100 * q + i));
      queries[q].responses.emplace_back(static_cast<std::uint32_t>((11 * q + i) % kKernels), x);
    }
    queries[q].target.resize(static_cast<Eigen::Index>(channels));
    for (std::size_t c = 0; c < channels; ++c)
      queries[q].target[static_cast<Eigen::Index>(c)] = 0.3 + 0.4 * random.uniform(100 * q + 60 + c);
  }
  return queries;
}

/// f of the kernels that are kept at a query, 0 for the others, straight from METHOD section 3.
std::vector<double> weightsOf(const Query& query, const KernelSet& kernels) {
  std::vector<double> f(kKernels, 0);
  for (const auto& [k, x] : query.responses)
    f[k] = SoftThreshold<double>(kernels.sharpnesses[k], kernels.thresholds[k])(x);
  std::vector<std::size_t> order(kKernels);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return f[a] > f[b]; });
  for (std::size_t n = kKept; n < kKernels; ++n)
    f[order[n]] = 0;
  return f;
}

/// Composited channels - target.
Eigen::VectorXd errorOf(const Query& query, const KernelSet& kernels, const std::vector<double>& f) {
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(query.target.size());
  double weight = 0;
  for (std::size_t k = 0; k < kKernels; ++k) {
    sum += f[k] * kernels.channels[k].cast<double>();
    weight += f[k];
  }
  return kernels.mean.cast<double>() + sum / std::max(weight, 1.0) - query.target;
}

class DensityStatisticsOf : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Channels, DensityStatisticsOf, ::testing::Values(1, 3, 4, 11));

TEST_P(DensityStatisticsOf, EqualBruteForceOverStepsAndParts) {
  const std::size_t channels = GetParam();
  KernelSet kernels(*ChannelLayout::make({{"values", channels}}));
  kernels.resize(kKernels);
  const RandomStream parameters(1, 0);
  for (std::size_t k = 0; k < kKernels; ++k) {
    const auto u = [&](std::size_t i) { return parameters.uniform(32 * k + i); };
    kernels.sharpnesses[k] = static_cast<float>(10 + 40 * u(0));
    kernels.thresholds[k] = static_cast<float>(0.3 + 0.6 * u(1));
    // Small enough that nothing is clamped.
    for (std::size_t c = 0; c < channels; ++c)
      kernels.channels.row(k)[c] = static_cast<float>(0.4 * u(2 + c) - 0.2);
  }
  FilterTable filter;
  filter.build(kernels);
  DensityStatistics statistics, expected;
  statistics.reset(kKernels);
  expected.reset(kKernels);
  for (std::uint64_t step = 0; step < 4; ++step) {
    const bool count_use = step >= 1, count_errors = step >= 2;
    for (std::uint64_t part = 0; part < 2; ++part) {
      const std::vector<Query> queries = randomQueries(RandomStream(7 + step, part), channels);
      ResponseBlock responses;
      responses.resize(kQueries, 50);
      for (std::size_t q = 0; q < kQueries; ++q) {
        responses.counts[q] = kCandidates;
        for (std::size_t i = 0; i < kCandidates; ++i) {
          const auto& [kernel, x] = queries[q].responses[i];
          responses.kernels[q * responses.stride + i] = kernel;
          responses.x[q * responses.stride + i] = static_cast<float>(x);
        }
      }
      CompositeBlock block;
      composite(responses, filter, block, kKept);
      std::vector<float> d_channels, errors, dx;
      for (std::size_t q = 0; q < kQueries; ++q) {
        const ChannelValues error = block.channels[q] - queries[q].target.cast<float>();
        for (const float e : error)
          d_channels.push_back(2 * e);
        errors.push_back(error.cwiseAbs().mean());
      }
      GradientSums sums;
      sums.reset(kKernels, channels);
      compositeVjp(responses, filter, block, d_channels,
                   count_errors ? std::span<const float>(errors) : std::span<const float>(),
                   std::vector<float>(channels, 1.0f), dx, sums);
      for (std::uint32_t k = 0; k < kKernels; ++k) {
        if (const GradientRow* row = sums.find(k)) statistics.add(k, row->use, count_use);
      }

      for (const Query& query : queries) {
        const std::vector<double> f = weightsOf(query, kernels);
        const double total = std::accumulate(f.begin(), f.end(), 0.0);
        const Eigen::VectorXd error = errorOf(query, kernels, f);
        for (std::size_t k = 0; k < kKernels; ++k) {
          if (!(f[k] > kNegligibleWeight)) continue;
          if (count_use) {
            expected.hits[k] += 1;
            expected.contributions[k] += f[k];
          }
          if (count_errors) expected.errors[k] += error.cwiseAbs().mean() * f[k] / (total + 1e-8);
          std::vector<double> without = f;
          without[k] = 0;
          expected.costs[k] += errorOf(query, kernels, without).squaredNorm() - error.squaredNorm();
        }
      }
    }
  }
  for (std::size_t k = 0; k < kKernels; ++k) {
    EXPECT_EQ(statistics.hits[k], expected.hits[k]) << k;
    EXPECT_NEAR(statistics.contributions[k], expected.contributions[k], 1e-4) << k;
    EXPECT_NEAR(statistics.errors[k], expected.errors[k], 1e-5) << k;
    EXPECT_NEAR(statistics.costs[k], expected.costs[k], 5e-5) << k;
  }
}

TEST(DensityStatistics, FollowTheKernels) {
  DensityStatistics s;
  s.reset(4);
  s.hits = {1, 2, 3, 4};
  s.contributions = {10, 20, 30, 40};
  s.errors = {5, 6, 7, 8};
  s.costs = {9, 8, 7, 6};
  s.select({1, 3});
  s.appendUseOf(1);
  EXPECT_EQ(s.hits, (std::vector<double>{2, 4, 4}));
  EXPECT_EQ(s.contributions, (std::vector<double>{20, 40, 40}));
  EXPECT_EQ(s.errors, (std::vector<double>{6, 8, 0}));
  EXPECT_EQ(s.costs, (std::vector<double>{8, 6, 0}));
}

}  // namespace
}  // namespace heatskin
