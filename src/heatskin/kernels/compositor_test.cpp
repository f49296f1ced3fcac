#include "heatskin/kernels/compositor.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"
#include "heatskin/kernels/composite_block.h"

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

  Fixture(std::size_t count, std::size_t queries, std::size_t candidates, std::uint64_t seed) {
    const RandomStream random(seed, 0);
    kernels.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto a = random.uniform2(3 * i), b = random.uniform2(3 * i + 1), c = random.uniform2(3 * i + 2);
      kernels.sharpnesses[i] = static_cast<float>(10 + 40 * a[0]);
      kernels.thresholds[i] = static_cast<float>(0.3 + 0.65 * a[1]);
      kernels.colors[i] = Vec3(b[0] - 0.5, b[1] - 0.5, c[0] - 0.5).cast<float>();
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

TEST(Composite, VectorisedEqualsPlain) {
  Fixture fast(200, 300, 50, 1), slow(200, 300, 50, 1);
  CompositeBlock a, b;
  composite(fast.responses, fast.filter, a);
  compositeScalar(slow.responses, slow.filter, b);
  GradientSums sums_a, sums_b;
  sums_a.reset(200);
  sums_b.reset(200);
  std::vector<Vec3f> d_colors(300);
  std::vector<float> errors(300), dx_a, dx_b;
  for (std::size_t q = 0; q < 300; ++q) {
    d_colors[q] = Vec3f(0.1f, -0.2f, 0.3f) * static_cast<float>(q % 7);
    errors[q] = 0.01f * static_cast<float>(q % 5);
    ASSERT_EQ(fast.responses.counts[q], slow.responses.counts[q]);
    // f is a difference of logistics in float: 1e-6 absolute.
    EXPECT_LT((a.colors[q] - b.colors[q]).norm(), 3e-6f);
    EXPECT_NEAR(a.weights[q], b.weights[q], 3e-6f * 30);
  }
  compositeVjp(fast.responses, fast.filter, a, d_colors, errors, 0.5f, dx_a, sums_a);
  compositeVjpScalar(slow.responses, slow.filter, b, d_colors, errors, 0.5f, dx_b, sums_b);
  for (std::size_t q = 0; q < 300; ++q) {
    for (std::size_t i = 0; i < fast.responses.counts[q]; ++i) {
      const std::size_t at = q * fast.responses.stride + i;
      ASSERT_EQ(fast.responses.kernels[at], slow.responses.kernels[at]);
      ASSERT_EQ(fast.responses.pairs[at], slow.responses.pairs[at]);
      EXPECT_NEAR(dx_a[at], dx_b[at], 1e-4f * (1 + std::abs(dx_b[at])));
    }
  }
  for (std::uint32_t k = 0; k < 200; ++k) {
    const float *row_a = sums_a.find(k), *row_b = sums_b.find(k);
    ASSERT_EQ(row_a == nullptr, row_b == nullptr);
    if (row_a == nullptr) continue;
    for (std::size_t c = 0; c < GradientRow::kSize; ++c)
      EXPECT_NEAR(row_a[c], row_b[c], 2e-4f * (1 + std::abs(row_b[c])));
  }
}

/// The colour of one query in double, straight from METHOD section 3: x, s, eps, c of every kernel, then m.
Vec3 colorInDouble(std::span<const double> p, std::size_t count) {
  Vec3 sum = Vec3::Zero();
  double weight = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double* k = p.data() + 6 * i;
    const double f = SoftThreshold<double>(k[1], k[2])(k[0]);
    sum += f * Vec3(k[3], k[4], k[5]);
    weight += f;
  }
  const double* m = p.data() + 6 * count;
  return (Vec3(m[0], m[1], m[2]) + sum / std::max(weight, 1.0)).cwiseMax(0).cwiseMin(1);
}

TEST(Composite, GradientsEqualDifferencesInDouble) {
  for (const std::size_t count : {2, 12}) {  // weight sum below and above 1
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      Fixture fixture(count, 1, 0, seed);
      fixture.responses.counts[0] = static_cast<std::uint32_t>(count);
      const RandomStream random(seed, 9);
      const float top = count == 2 ? 0.5f : 1.0f;
      std::vector<double> p;
      for (std::size_t i = 0; i < count; ++i) {
        fixture.responses.kernels[i] = static_cast<std::uint32_t>(i);
        fixture.responses.x[i] = top * static_cast<float>(random.uniform(i));
        p.insert(p.end(), {fixture.responses.x[i], fixture.kernels.sharpnesses[i],
                           fixture.kernels.thresholds[i], fixture.kernels.colors[i].x(),
                           fixture.kernels.colors[i].y(), fixture.kernels.colors[i].z()});
      }
      p.insert(p.end(), {0.5, 0.5, 0.5});
      CompositeBlock block;
      composite(fixture.responses, fixture.filter, block);
      const Vec3f d_color(0.3f, -0.5f, 0.9f);
      GradientSums sums;
      sums.reset(count);
      std::vector<float> dx;
      compositeVjp(fixture.responses, fixture.filter, block, std::span(&d_color, 1), {}, 0, dx, sums);
      // Candidates with a negligible weight were removed: their gradient is zero up to the tolerance.
      std::vector<double> gradient(6 * count, 0.0);
      for (std::size_t at = 0; at < fixture.responses.counts[0]; ++at) {
        const std::uint32_t i = fixture.responses.kernels[at];
        const float* row = sums.find(i);
        ASSERT_NE(row, nullptr);
        const SoftThreshold<double> filter(fixture.kernels.sharpnesses[i], fixture.kernels.thresholds[i]);
        const FilterSums<double> filter_sums{row[GradientRow::kFilter], row[GradientRow::kFilter + 1],
                                             row[GradientRow::kFilter + 2], row[GradientRow::kFilter + 3]};
        double* entry = gradient.data() + 6 * i;
        entry[0] = dx[at];
        filter_sums.finish(filter, entry[2], entry[1]);
        for (std::size_t c = 0; c < 3; ++c)
          entry[3 + c] = row[GradientRow::kColor + c];
      }
      gradient.insert(gradient.end(), {d_color.x(), d_color.y(), d_color.z()});
      const auto f = [&](std::span<const double> y) {
        return d_color.cast<double>().dot(colorInDouble(y, count));
      };
      // Float gradients: seven digits, of which cancellation in df costs two.
      EXPECT_EQ(gradcheck(f, p, gradient, {.step = 1e-6, .tolerance = 1e-4}), "") << "seed " << seed;
    }
  }
}

TEST(Composite, TheCostOfAKernelIsTheLossWithoutIt) {
  // Loss = |colour - target|^2: its half second derivative is 1. Colours stay within [0, 1] here.
  for (const std::size_t count : {2, 12}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Fixture fixture(count, 1, 0, seed);
      for (Vec3f& c : fixture.kernels.colors)
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
      const Vec3f target(0.4f, 0.7f, 0.5f);
      CompositeBlock block;
      fill(count);
      composite(fixture.responses, fixture.filter, block);
      const double loss = (block.colors[0] - target).squaredNorm();
      const Vec3f d_color = 2 * (block.colors[0] - target);
      GradientSums sums;
      sums.reset(count);
      std::vector<float> dx;
      compositeVjp(fixture.responses, fixture.filter, block, std::span(&d_color, 1), {}, 1, dx, sums);
      for (std::uint32_t i = 0; i < count; ++i) {
        const float* row = sums.find(i);
        if (row == nullptr) continue;
        const float cost = row[GradientRow::kCost];
        fill(i);
        CompositeBlock without;
        composite(fixture.responses, fixture.filter, without);
        EXPECT_NEAR(cost, (without.colors[0] - target).squaredNorm() - loss, 1e-5) << seed << " " << i;
      }
    }
  }
}

TEST(Composite, NoCandidatesMeansTheMeanColour) {
  Fixture fixture(5, 1, 0, 0);
  fixture.responses.counts[0] = 0;
  CompositeBlock block;
  composite(fixture.responses, fixture.filter, block);
  EXPECT_EQ(block.colors[0], fixture.kernels.mean_color);
  EXPECT_EQ(block.weights[0], 0.0f);
}

}  // namespace
}  // namespace heatskin
