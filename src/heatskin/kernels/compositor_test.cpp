#include "heatskin/kernels/compositor.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"
#include "heatskin/kernels/composite_block.h"
#include "heatskin/kernels/simd_level.h"

#include "support/gradcheck.h"

namespace heatskin {
namespace {

using testing::gradcheck;

TEST(SoftThreshold, EndsAreZeroAndOne) {
  for (const double s : {10.0, 50.0, 200.0}) {
    for (const double eps : {0.3, 0.7, 0.99}) {
      const SoftThreshold<double> f(s, eps);
      EXPECT_NEAR(f(0.0), 0, 1e-12);
      EXPECT_NEAR(f(1.0), 1, 1e-6) << "1e-8 in the denominator against a range of at least 0.01";
      EXPECT_NEAR(f(f.invert(0.01)), 0.01, 1e-9);
    }
  }
}

TEST(SoftThreshold, GradientsEqualDifferences) {
  const RandomStream random(8, 0);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto a = random.uniform2(2 * i), b = random.uniform2(2 * i + 1);
    const std::vector<double> x = {0.02 + 0.96 * a[0], 10 + 190 * a[1], 0.3 + 0.69 * b[0]};
    const auto f = [](std::span<const double> y) { return 0.8 * SoftThreshold<double>(y[1], y[2])(y[0]); };
    const SoftThreshold<double> filter(x[1], x[2]);
    FilterSums<double> sums;
    sums.add(filter, x[0], 0.8);
    double d_threshold = 0, d_sharpness = 0;
    sums.finish(filter, d_threshold, d_sharpness);
    const std::vector<double> gradient = {0.8 * filter.slope(x[0]), d_sharpness, d_threshold};
    // The third derivative in x is up to s^3 = 8e6: a smaller step keeps truncation below the tolerance.
    EXPECT_EQ(gradcheck(f, x, gradient, {.step = 2e-7, .tolerance = 1e-6}), "") << i;
  }
}

/// A block of queries with random responses of random kernels.
struct Fixture {
  KernelSet kernels;
  FilterTable filter;
  ResponseBlock responses;

  Fixture(std::size_t count, std::size_t queries, std::size_t candidates, std::uint64_t seed,
          std::size_t channels = 3)
      : kernels(*ChannelLayout::make({{"values", channels}})) {
    const RandomStream random(seed, 0), colors(seed, 1);
    kernels.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto a = random.uniform2(3 * i);
      kernels.sharpnesses[i] = static_cast<float>(10 + 40 * a[0]);
      kernels.thresholds[i] = static_cast<float>(0.3 + 0.65 * a[1]);
      for (std::size_t c = 0; c < channels; ++c)
        kernels.channels.row(i)[c] = static_cast<float>(colors.uniform(kMaxChannels * i + c) - 0.5);
    }
    filter.build(kernels);
    responses.resize(queries, 50);
    for (std::size_t q = 0; q < queries; ++q) {
      responses.counts[q] = static_cast<std::uint32_t>(random.below(1000000 + q, candidates + 1));
      for (std::size_t i = 0; i < responses.counts[q]; ++i) {
        const std::size_t at = q * responses.stride + i;
        // Distinct kernels within a query, as evaluators promise.
        responses.kernels[at] = static_cast<std::uint32_t>((q * 7 + i) % count);
        responses.pairs[at] = static_cast<std::uint32_t>(at);
        responses.x[at] = static_cast<float>(random.uniform(2000000 + at));
      }
    }
  }
};

void expectTwins(std::size_t channels) {
  Fixture fast(200, 300, 50, 1, channels), slow(200, 300, 50, 1, channels);
  CompositeBlock a, b;
  composite(fast.responses, fast.filter, a);
  compositeScalar(slow.responses, slow.filter, b);
  ASSERT_EQ(a.channels.channels, channels);
  GradientSums sums_a, sums_b;
  sums_a.reset(200, channels);
  sums_b.reset(200, channels);
  std::vector<float> d_channels(300 * channels), errors(300), dx_a, dx_b;
  for (std::size_t q = 0; q < 300; ++q) {
    for (std::size_t c = 0; c < channels; ++c) {
      d_channels[q * channels + c] =
          0.1f * static_cast<float>(c % 4) * (c % 2 == 0 ? 1.0f : -1.0f) * static_cast<float>(q % 7);
    }
    errors[q] = 0.01f * static_cast<float>(q % 5);
    ASSERT_EQ(fast.responses.counts[q], slow.responses.counts[q]);
    // f is a difference of logistics in float: 1e-6 absolute.
    EXPECT_LT((a.channels[q] - b.channels[q]).cwiseAbs().maxCoeff(), 3e-6f);
    EXPECT_LT((a.sums[q] - b.sums[q]).cwiseAbs().maxCoeff(), 3e-6f * 30);
    EXPECT_NEAR(a.weights[q], b.weights[q], 3e-6f * 30);
  }
  // One for all queries and one for each.
  for (const std::size_t rows : {std::size_t{1}, std::size_t{300}}) {
    std::vector<float> curvatures(rows * channels);
    for (std::size_t i = 0; i < curvatures.size(); ++i)
      curvatures[i] = 0.5f + 0.01f * static_cast<float>(i % 37);
    GradientSums fast_sums, slow_sums;
    fast_sums.reset(200, channels);
    slow_sums.reset(200, channels);
    compositeVjp(fast.responses, fast.filter, a, d_channels, errors, curvatures, dx_a, fast_sums);
    compositeVjpScalar(slow.responses, slow.filter, b, d_channels, errors, curvatures, dx_b, slow_sums);
    for (std::uint32_t k = 0; k < 200; ++k) {
      if (fast_sums.find(k) == nullptr) continue;
      const float cost = slow_sums.find(k)->use.cost;
      EXPECT_NEAR(fast_sums.find(k)->use.cost, cost, 1e-4f * (1 + std::abs(cost)));
    }
  }
  const std::vector<float> half(channels, 0.5f);
  compositeVjp(fast.responses, fast.filter, a, d_channels, errors, half, dx_a, sums_a);
  compositeVjpScalar(slow.responses, slow.filter, b, d_channels, errors, half, dx_b, sums_b);
  for (std::size_t q = 0; q < 300; ++q) {
    for (std::size_t i = 0; i < fast.responses.counts[q]; ++i) {
      const std::size_t at = q * fast.responses.stride + i;
      ASSERT_EQ(fast.responses.kernels[at], slow.responses.kernels[at]);
      ASSERT_EQ(fast.responses.pairs[at], slow.responses.pairs[at]);
      EXPECT_NEAR(dx_a[at], dx_b[at], 1e-4f * (1 + std::abs(dx_b[at])));
    }
  }
  const auto near = [](float x, float y) { EXPECT_NEAR(x, y, 4e-4f * (1 + std::abs(y))); };
  for (std::uint32_t k = 0; k < 200; ++k) {
    const GradientRow *row_a = sums_a.find(k), *row_b = sums_b.find(k);
    ASSERT_EQ(row_a == nullptr, row_b == nullptr);
    if (row_a == nullptr) continue;
    near(row_a->filter.slope, row_b->filter.slope);
    near(row_a->filter.slope_x, row_b->filter.slope_x);
    near(row_a->filter.plain, row_b->filter.plain);
    near(row_a->filter.weighted, row_b->filter.weighted);
    near(row_a->use.hits, row_b->use.hits);
    near(row_a->use.contribution, row_b->use.contribution);
    near(row_a->use.error, row_b->use.error);
    near(row_a->use.cost, row_b->use.cost);
    for (std::size_t c = 0; c < channels; ++c)
      near(row_a->channels()[c], row_b->channels()[c]);
    for (std::size_t c = channels; c < sums_a.channelFloats(); ++c)
      EXPECT_EQ(row_a->channels()[c], 0.0f) << "padding";
  }
}

class CompositeOf : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Channels, CompositeOf, ::testing::Range<std::size_t>(1, kMaxChannels + 1));

TEST_P(CompositeOf, EverySimdLevelEqualsThePlainTwin) {
  for (const std::string& level : simdLevels()) {
    SCOPED_TRACE(level);
    ASSERT_TRUE(setSimdLevel(level));
    expectTwins(GetParam());
  }
  ASSERT_TRUE(setSimdLevel(""));
}

/// The channels of one query in double, straight from METHOD section 3: x, s, eps, c of every kernel, then m.
std::vector<double> channelsInDouble(std::span<const double> p, std::size_t count, std::size_t channels) {
  std::vector<double> sum(channels, 0);
  double weight = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double* k = p.data() + (3 + channels) * i;
    const double f = SoftThreshold<double>(k[1], k[2])(k[0]);
    for (std::size_t c = 0; c < channels; ++c)
      sum[c] += f * k[3 + c];
    weight += f;
  }
  const double* m = p.data() + (3 + channels) * count;
  for (std::size_t c = 0; c < channels; ++c)
    sum[c] = std::clamp(m[c] + sum[c] / std::max(weight, 1.0), 0.0, 1.0);
  return sum;
}

class CompositeGradient : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Channels, CompositeGradient, ::testing::Values(1, 3, 4, 11));

TEST_P(CompositeGradient, EqualsDifferencesInDouble) {
  const std::size_t channels = GetParam(), parameters = 3 + channels;
  for (const std::size_t count : {2, 12}) {  // weight sum below and above 1
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      Fixture fixture(count, 1, 0, seed, channels);
      fixture.responses.counts[0] = static_cast<std::uint32_t>(count);
      const RandomStream random(seed, 9);
      const float top = count == 2 ? 0.5f : 1.0f;
      std::vector<double> p;
      for (std::size_t i = 0; i < count; ++i) {
        fixture.responses.kernels[i] = static_cast<std::uint32_t>(i);
        fixture.responses.x[i] = top * static_cast<float>(random.uniform(i));
        p.insert(p.end(),
                 {fixture.responses.x[i], fixture.kernels.sharpnesses[i], fixture.kernels.thresholds[i]});
        p.insert(p.end(), fixture.kernels.channels.row(i), fixture.kernels.channels.row(i) + channels);
      }
      p.insert(p.end(), channels, 0.5);
      CompositeBlock block;
      composite(fixture.responses, fixture.filter, block);
      std::vector<float> d_channels;
      for (std::size_t c = 0; c < channels; ++c)
        d_channels.push_back(static_cast<float>(random.uniform(100 + c) - 0.5));
      GradientSums sums;
      sums.reset(count, channels);
      std::vector<float> dx;
      compositeVjp(fixture.responses, fixture.filter, block, d_channels, {}, std::vector<float>(channels), dx,
                   sums);
      // Candidates with a negligible weight were removed: their gradient is zero up to the tolerance.
      std::vector<double> gradient(parameters * count, 0.0);
      for (std::size_t at = 0; at < fixture.responses.counts[0]; ++at) {
        const std::uint32_t i = fixture.responses.kernels[at];
        const GradientRow* row = sums.find(i);
        ASSERT_NE(row, nullptr);
        const SoftThreshold<double> filter(fixture.kernels.sharpnesses[i], fixture.kernels.thresholds[i]);
        const FilterSums<double> filter_sums{row->filter.slope, row->filter.slope_x, row->filter.plain,
                                             row->filter.weighted};
        double* entry = gradient.data() + parameters * i;
        entry[0] = dx[at];
        filter_sums.finish(filter, entry[2], entry[1]);
        std::copy_n(row->channels(), channels, entry + 3);
      }
      gradient.insert(gradient.end(), d_channels.begin(), d_channels.end());
      const auto f = [&](std::span<const double> y) {
        const std::vector<double> values = channelsInDouble(y, count, channels);
        double sum = 0;
        for (std::size_t c = 0; c < channels; ++c)
          sum += d_channels[c] * values[c];
        return sum;
      };
      // Float gradients: seven digits, of which cancellation in df costs two.
      EXPECT_EQ(gradcheck(f, p, gradient, {.step = 1e-6, .tolerance = 1e-4}), "") << "seed " << seed;
    }
  }
}

TEST_P(CompositeGradient, TheCostOfAKernelIsTheLossWithoutIt) {
  const std::size_t channels = GetParam();
  // Loss = |colour - target|^2: its half second derivative is 1. Colours stay within [0, 1] here.
  for (const std::size_t count : {2, 12}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Fixture fixture(count, 1, 0, seed, channels);
      for (float& c : fixture.kernels.channels.values)
        c *= 0.5f;
      fixture.filter.build(fixture.kernels);
      const RandomStream random(seed, 10);
      const auto fill = [&](std::size_t left_out) {
        std::uint32_t n = 0;
        for (std::size_t i = 0; i < count; ++i) {
          if (i == left_out) continue;
          fixture.responses.kernels[n] = static_cast<std::uint32_t>(i);
          fixture.responses.x[n++] = 0.3f + 0.7f * static_cast<float>(random.uniform(i));
        }
        fixture.responses.counts[0] = n;
      };
      ChannelValues target(static_cast<Eigen::Index>(channels));
      for (Eigen::Index c = 0; c < target.size(); ++c)
        target[c] = static_cast<float>(0.3 + 0.4 * random.uniform(100 + static_cast<std::uint64_t>(c)));
      CompositeBlock block;
      fill(count);
      composite(fixture.responses, fixture.filter, block);
      const double loss = (block.channels[0] - target).squaredNorm();
      const ChannelValues d_channels = 2 * (block.channels[0] - target);
      GradientSums sums;
      sums.reset(count, channels);
      std::vector<float> dx;
      compositeVjp(fixture.responses, fixture.filter, block, {d_channels.data(), channels}, {},
                   std::vector<float>(channels, 1.0f), dx, sums);
      for (std::uint32_t i = 0; i < count; ++i) {
        const GradientRow* row = sums.find(i);
        if (row == nullptr) continue;
        fill(i);
        CompositeBlock without;
        composite(fixture.responses, fixture.filter, without);
        EXPECT_NEAR(row->use.cost, (without.channels[0] - target).squaredNorm() - loss, 1e-5)
            << seed << " " << i;
      }
    }
  }
}

TEST(GradientSums, RowsAreZeroWhenFirstTouchedAndForgottenByAReset) {
  GradientSums sums;
  for (const std::size_t channels : {3, 11, 1, 16, 4}) {
    for (const std::size_t kernels : {5, 9, 2}) {
      sums.reset(kernels, channels);
      for (std::uint32_t k = 0; k < kernels; ++k) {
        ASSERT_EQ(sums.find(k), nullptr);
        GradientRow& row = sums.row(k);
        EXPECT_EQ(row.geometry.position_x + row.filter.weighted + row.use.cost, 0.0f);
        for (std::size_t c = 0; c < sums.channelFloats(); ++c)
          EXPECT_EQ(row.channels()[c], 0.0f);
        row.geometry.angle = row.use.hits = 2;
        row.channels()[channels - 1] = static_cast<float>(k + 1);
      }
      GradientSums other;
      other.reset(kernels, channels);
      for (std::uint32_t k = 0; k < kernels; ++k) {
        EXPECT_EQ(sums.find(k)->channels()[channels - 1], static_cast<float>(k + 1));
        other.add(other.row(k), *sums.find(k));
        other.add(other.row(k), *sums.find(k));
        EXPECT_EQ(other.find(k)->channels()[channels - 1], 2 * static_cast<float>(k + 1));
        EXPECT_EQ(other.find(k)->geometry.angle, 4.0f);
      }
    }
  }
}

TEST(Composite, NoCandidatesMeansTheMeanColour) {
  Fixture fixture(5, 1, 0, 0);
  fixture.responses.counts[0] = 0;
  CompositeBlock block;
  composite(fixture.responses, fixture.filter, block);
  EXPECT_EQ(block.channels[0], fixture.kernels.mean);
  EXPECT_EQ(block.weights[0], 0.0f);
}

}  // namespace
}  // namespace heatskin
