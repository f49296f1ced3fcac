// Tangent groups in the compositor: vectors are turned by the rotation of each kernel-query pair.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"
#include "heatskin/kernels/composite_block.h"
#include "heatskin/kernels/compositor.h"
#include "heatskin/kernels/simd_level.h"

#include "support/gradcheck.h"

namespace heatskin {
namespace {

ChannelGroup tangentGroup(std::string name) {
  ChannelGroup group{std::move(name), 2, 0, {-1.0f, 1.0f}};
  group.kind = ChannelKind::kTangent;
  return group;
}

/// Alone, behind colours (its channels in two vectors of four), many, and between others.
std::vector<ChannelLayout> tangentLayouts() {
  return {*ChannelLayout::make({tangentGroup("v")}),
          *ChannelLayout::make({{"base_color", 3}, tangentGroup("v")}),
          *ChannelLayout::make({{"base_color", 3}, {"alpha", 1}, tangentGroup("v"), tangentGroup("w")}),
          *ChannelLayout::make({tangentGroup("v"), {"a", 5}, tangentGroup("w")})};
}

/// A block of queries: random responses of random kernels, each pair with a rotation of its own.
struct TurnedBlock {
  KernelSet kernels;
  FilterTable filter;
  ResponseBlock responses;
  std::vector<double> angles;  // [Q, stride]

  TurnedBlock(const ChannelLayout& layout, std::size_t count, std::size_t queries, std::size_t candidates,
              std::uint64_t seed, double size = 1)
      : kernels(layout) {
    const RandomStream random(seed, 0), values(seed, 1), turns(seed, 2);
    kernels.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto a = random.uniform2(3 * i);
      kernels.sharpnesses[i] = static_cast<float>(10 + 40 * a[0]);
      kernels.thresholds[i] = static_cast<float>(0.3 + 0.65 * a[1]);
      for (std::size_t c = 0; c < layout.size(); ++c)
        kernels.channels.row(i)[c] = static_cast<float>(size * (values.uniform(kMaxChannels * i + c) - 0.5));
    }
    filter.build(kernels);
    responses.resize(queries, 50);
    responses.resizeTurns();
    angles.resize(responses.x.size());
    for (std::size_t q = 0; q < queries; ++q) {
      responses.counts[q] = static_cast<std::uint32_t>(candidates);
      for (std::size_t i = 0; i < candidates; ++i) {
        const std::size_t at = q * responses.stride + i;
        responses.kernels[at] = static_cast<std::uint32_t>((q * 7 + i) % count);
        responses.pairs[at] = static_cast<std::uint32_t>(at);
        responses.x[at] = static_cast<float>(random.uniform(2000000 + at));
        angles[at] = 2 * std::numbers::pi * turns.uniform(at);
      }
    }
  }

  /// Rotations of the pairs that are left, as an evaluator would give them.
  void turn() {
    for (std::size_t q = 0; q < responses.counts.size(); ++q) {
      for (std::size_t at = q * responses.stride; at < q * responses.stride + responses.counts[q]; ++at) {
        responses.cosines[at] = static_cast<float>(std::cos(angles[responses.pairs[at]]));
        responses.sines[at] = static_cast<float>(std::sin(angles[responses.pairs[at]]));
      }
    }
  }
};

void expectTangentTwins(const ChannelLayout& layout) {
  constexpr std::size_t kQueries = 100, kKernels = 80;
  const std::size_t channels = layout.size();
  TurnedBlock fast(layout, kKernels, kQueries, 43, 1), slow(layout, kKernels, kQueries, 43, 1);
  CompositeBlock a, b;
  composite(fast.responses, fast.filter, a);
  fast.turn();
  compositeTangents(fast.responses, fast.filter, a);
  compositeScalar(slow.responses, slow.filter, b);
  slow.turn();
  compositeTangentsScalar(slow.responses, slow.filter, b);
  std::vector<float> d_channels(kQueries * channels), errors(kQueries, 0.3f), curvatures(channels, 0.7f);
  for (std::size_t i = 0; i < d_channels.size(); ++i)
    d_channels[i] = 0.1f * static_cast<float>(i % 13) - 0.6f;
  GradientSums sums_a, sums_b;
  sums_a.reset(kKernels, channels);
  sums_b.reset(kKernels, channels);
  std::vector<float> dx_a, dx_b;
  compositeVjp(fast.responses, fast.filter, a, d_channels, errors, curvatures, dx_a, sums_a);
  compositeVjpScalar(slow.responses, slow.filter, b, d_channels, errors, curvatures, dx_b, sums_b);
  // As for plain channels (compositor_test.cpp): f is a difference of logistics in float.
  for (std::size_t q = 0; q < kQueries; ++q) {
    EXPECT_LT((a.channels[q] - b.channels[q]).cwiseAbs().maxCoeff(), 3e-6f);
    EXPECT_LT((a.sums[q] - b.sums[q]).cwiseAbs().maxCoeff(), 3e-6f * 30);
    for (std::size_t i = 0; i < fast.responses.counts[q]; ++i) {
      const std::size_t at = q * fast.responses.stride + i;
      EXPECT_NEAR(dx_a[at], dx_b[at], 1e-4f * (1 + std::abs(dx_b[at])));
    }
  }
  const auto near = [](float x, float y) { EXPECT_NEAR(x, y, 4e-4f * (1 + std::abs(y))); };
  for (std::uint32_t k = 0; k < kKernels; ++k) {
    const GradientRow *row_a = sums_a.find(k), *row_b = sums_b.find(k);
    ASSERT_NE(row_a, nullptr);
    near(row_a->filter.plain, row_b->filter.plain);
    near(row_a->filter.slope_x, row_b->filter.slope_x);
    near(row_a->use.cost, row_b->use.cost);
    near(row_a->use.error, row_b->use.error);
    for (std::size_t c = 0; c < channels; ++c)
      near(row_a->channels()[c], row_b->channels()[c]);
    for (std::size_t c = channels; c < sums_a.channelFloats(); ++c)
      EXPECT_EQ(row_a->channels()[c], 0.0f) << "padding";
  }
}

TEST(CompositeTangents, EverySimdLevelEqualsThePlainTwin) {
  for (const std::string& level : simdLevels()) {
    SCOPED_TRACE(level);
    ASSERT_TRUE(setSimdLevel(level));
    for (const ChannelLayout& layout : tangentLayouts())
      expectTangentTwins(layout);
  }
  ASSERT_TRUE(setSimdLevel(""));
}

/// The channels of one query in double, straight from the definition: x, s, eps, c of every kernel.
std::vector<double> turnedInDouble(std::span<const double> p, const ChannelLayout& layout,
                                   std::span<const double> angles) {
  const std::size_t channels = layout.size();
  std::vector<double> sum(channels, 0);
  double weight = 0;
  for (std::size_t i = 0; i < angles.size(); ++i) {
    const double* k = p.data() + (3 + channels) * i;
    std::vector<double> values(k + 3, k + 3 + channels);
    for (const ChannelGroup& group : layout.groups()) {
      if (!group.isTangent()) continue;
      const double x = values[group.first], y = values[group.first + 1];
      values[group.first] = std::cos(angles[i]) * x - std::sin(angles[i]) * y;
      values[group.first + 1] = std::sin(angles[i]) * x + std::cos(angles[i]) * y;
    }
    const double f = SoftThreshold<double>(k[1], k[2])(k[0]);
    for (std::size_t c = 0; c < channels; ++c)
      sum[c] += f * values[c];
    weight += f;
  }
  for (double& s : sum)
    s = 0.5 + s / std::max(weight, 1.0);
  return sum;
}

/// Gradients of one query against differences in double; `planted` is added to the angles the compositor is
/// told. The first disagreement, or nothing.
std::string gradientProblem(const ChannelLayout& layout, std::size_t count, std::uint64_t seed,
                            double planted = 0) {
  const std::size_t channels = layout.size(), parameters = 3 + channels;
  // Short vectors: nothing is clamped.
  TurnedBlock block(layout, count, 1, count, seed, 0.3);
  const RandomStream random(seed, 9);
  std::vector<double> p, angles(block.angles.begin(), block.angles.begin() + static_cast<long>(count));
  for (std::size_t i = 0; i < count; ++i) {
    block.responses.x[i] = (count == 2 ? 0.5f : 1.0f) * static_cast<float>(random.uniform(i));
    p.insert(p.end(), {block.responses.x[i], block.kernels.sharpnesses[i], block.kernels.thresholds[i]});
    p.insert(p.end(), block.kernels.channels.row(i), block.kernels.channels.row(i) + channels);
  }
  for (double& angle : block.angles)
    angle += planted;
  CompositeBlock out;
  composite(block.responses, block.filter, out);
  block.turn();
  compositeTangents(block.responses, block.filter, out);
  const std::vector<double> expected = turnedInDouble(p, layout, angles);
  for (std::size_t c = 0; c < channels; ++c) {
    if (!(std::abs(out.channels.row(0)[c] - expected[c]) < 1e-5)) return "value " + std::to_string(c);
  }
  std::vector<float> d_channels;
  for (std::size_t c = 0; c < channels; ++c)
    d_channels.push_back(static_cast<float>(random.uniform(100 + c) - 0.5));
  GradientSums sums;
  sums.reset(count, channels);
  std::vector<float> dx;
  compositeVjp(block.responses, block.filter, out, d_channels, {}, std::vector<float>(channels), dx, sums);
  std::vector<double> gradient(parameters * count, 0.0);
  for (std::size_t at = 0; at < block.responses.counts[0]; ++at) {
    const std::uint32_t i = block.responses.kernels[at];
    const GradientRow& row = *sums.find(i);
    const SoftThreshold<double> filter(block.kernels.sharpnesses[i], block.kernels.thresholds[i]);
    const FilterSums<double> filter_sums{row.filter.slope, row.filter.slope_x, row.filter.plain,
                                         row.filter.weighted};
    double* entry = gradient.data() + parameters * i;
    entry[0] = dx[at];
    filter_sums.finish(filter, entry[2], entry[1]);
    std::copy_n(row.channels(), channels, entry + 3);
  }
  const auto f = [&](std::span<const double> y) {
    const std::vector<double> values = turnedInDouble(y, layout, angles);
    double sum = 0;
    for (std::size_t c = 0; c < channels; ++c)
      sum += static_cast<double>(d_channels[c]) * values[c];
    return sum;
  };
  // Float gradients: seven digits, of which cancellation in df costs two.
  return testing::gradcheck(f, p, gradient, {.step = 1e-6, .tolerance = 1e-4});
}

TEST(CompositeTangents, GradientsEqualDifferencesInDouble) {
  for (const ChannelLayout& layout : tangentLayouts()) {
    for (const std::size_t count : {2, 12}) {  // weight sum below and above 1
      for (std::uint64_t seed = 0; seed < 20; ++seed)
        EXPECT_EQ(gradientProblem(layout, count, seed), "") << layout.size() << " channels, seed " << seed;
    }
  }
}

TEST(CompositeTangents, APlantedTurnIsFound) {
  EXPECT_NE(gradientProblem(tangentLayouts()[1], 12, 1, 0.01), "");
}

TEST(CompositeTangents, TheCostOfAKernelIsTheLossWithoutIt) {
  constexpr std::uint32_t kCount = 12;
  const ChannelLayout layout = tangentLayouts()[2];
  const std::size_t channels = layout.size();
  const auto valueOf = [&](std::uint32_t left_out, TurnedBlock& block, CompositeBlock& out) {
    std::uint32_t n = 0;
    for (std::uint32_t i = 0; i < kCount; ++i) {
      if (i == left_out) continue;
      block.responses.kernels[n] = block.responses.pairs[n] = i;
      block.responses.x[n++] = 0.3f + 0.05f * static_cast<float>(i);
    }
    block.responses.counts[0] = n;
    composite(block.responses, block.filter, out);
    block.turn();
    compositeTangents(block.responses, block.filter, out);
  };
  TurnedBlock block(layout, kCount, 1, kCount, 4, 0.4);
  CompositeBlock all, without;
  valueOf(kCount, block, all);
  ChannelValues target = ChannelValues::Constant(static_cast<Eigen::Index>(channels), 0.45f);
  const ChannelValues d_channels = 2 * (all.channels[0] - target);
  GradientSums sums;
  sums.reset(kCount, channels);
  std::vector<float> dx;
  compositeVjp(block.responses, block.filter, all, {d_channels.data(), channels}, {},
               std::vector<float>(channels, 1.0f), dx, sums);
  std::size_t seen = 0;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    if (sums.find(i) == nullptr) continue;
    valueOf(i, block, without);
    EXPECT_NEAR(sums.find(i)->use.cost,
                (without.channels[0] - target).squaredNorm() - (all.channels[0] - target).squaredNorm(),
                1e-5);
    ++seen;
  }
  EXPECT_GT(seen, 3u);
}

TEST(CompositeTangents, VectorsThatAreTooLongKeepTheirDirection) {
  const ChannelLayout layout = tangentLayouts()[0];
  for (const double angle : {0.0, 0.3, 2.0, 5.5}) {
    TurnedBlock block(layout, 1, 1, 1, 4);
    block.kernels.channels.row(0)[0] = 0.6f;
    block.kernels.channels.row(0)[1] = 0.8f;
    block.filter.build(block.kernels);
    block.responses.x[0] = 1;
    block.angles[0] = angle;
    CompositeBlock out;
    composite(block.responses, block.filter, out);
    block.turn();
    compositeTangents(block.responses, block.filter, out);
    // Half of the range from its middle is the longest vector.
    EXPECT_NEAR(out.channels.row(0)[0], 0.5 + 0.5 * (0.6 * std::cos(angle) - 0.8 * std::sin(angle)), 1e-6);
    EXPECT_NEAR(out.channels.row(0)[1], 0.5 + 0.5 * (0.6 * std::sin(angle) + 0.8 * std::cos(angle)), 1e-6);
  }
}

}  // namespace
}  // namespace heatskin
