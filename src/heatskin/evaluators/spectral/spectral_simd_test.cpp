#include "heatskin/evaluators/spectral/spectral_simd.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"
#include "heatskin/kernels/simd_level.h"
#include "heatskin/operators/dense_kernels.h"

namespace heatskin::spectral {
namespace {

std::vector<float> randomFloats(std::size_t count, std::uint64_t seed) {
  const RandomStream random(seed, 1);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(2 * random.uniform(i) - 1);
  return values;
}

TEST(SpectralSimd, ModeProductsEqualThePlainTwinAtEveryLevel) {
  for (const std::string& level : simdLevels()) {
    SCOPED_TRACE(level);
    ASSERT_TRUE(setSimdLevel(level));
    for (const std::size_t count : {std::size_t{16}, std::size_t{80}, std::size_t{256}}) {
      constexpr std::size_t kVertices = 5;
      const std::vector<float> modes = randomFloats(5 * count, 1);
      const KernelModes kernel = {&modes[0],         &modes[count],     &modes[2 * count],
                                  &modes[3 * count], &modes[4 * count], {0.1f, 0.2f, 0.3f, 0.4f}};
      std::vector<std::uint16_t> halves(4 * kVertices * count);
      halfFromFloat(randomFloats(halves.size(), 2), halves);
      std::vector<const std::uint16_t*> vertex_rows;
      for (std::size_t i = 0; i < 4 * kVertices; ++i)
        vertex_rows.push_back(halves.data() + i * count);
      std::vector<float> fast(9 * kVertices), slow(9 * kVertices);
      std::vector<float*> to_fast, to_slow;
      for (std::size_t r = 0; r < 9; ++r) {
        to_fast.push_back(&fast[r * kVertices]);
        to_slow.push_back(&slow[r * kVertices]);
      }
      modeProducts(kernel, count, vertex_rows.data(), kVertices, to_fast.data());
      modeProductsScalar(kernel, count, vertex_rows.data(), kVertices, to_slow.data());
      // Sums of `count` products of size below 1 in another order.
      for (std::size_t i = 0; i < fast.size(); ++i)
        ASSERT_NEAR(fast[i], slow[i], 1e-7 * static_cast<double>(count)) << count;
    }
  }
  ASSERT_TRUE(setSimdLevel(""));
}

// The kernel's side in double, straight from h = sum_e exp(-t lambda_e) phi_e(p) phi_e(q).
TEST(SpectralSimd, KernelModesAreThoseOfTheFormulaAtEveryLevel) {
  constexpr std::size_t kCount = 48;
  std::vector<std::uint16_t> halves(12 * kCount);
  halfFromFloat(randomFloats(halves.size(), 5), halves);
  std::vector<float> phi(halves.size()), exponents = randomFloats(4 * kCount, 6);
  floatFromHalf(halves, phi);
  for (float& e : exponents)
    e = 8 * std::abs(e);
  KernelPlace place = {{},
                       {},
                       {0.1f, 0.2f, 0.3f, 0.4f},
                       {-0.5f, 0.7f, -0.6f, 0.4f},
                       {0.02f, -0.03f, 0.04f, -0.03f},
                       {0.2f, 0.3f, 0.5f},
                       {1.5f, -2.0f, 0.5f},
                       {-1.0f, 0.25f, 0.75f}};
  for (std::size_t i = 0; i < 12; ++i)
    place.rows[i] = halves.data() + i * kCount;
  for (std::size_t j = 0; j < 4; ++j)
    place.exponents[j] = exponents.data() + j * kCount;
  for (const std::string& level : simdLevels()) {
    SCOPED_TRACE(level);
    ASSERT_TRUE(setSimdLevel(level));
    std::vector<float> modes(5 * kCount);
    float self[5];
    kernelModes(place, kCount, modes.data(), self);
    double own[5] = {};
    for (std::size_t e = 0; e < kCount; ++e) {
      // phi_e(p), its four derivatives, and those of t lambda.
      double p[5] = {}, exponent = 0, exponent_angle = 0, exponent_anisotropy = 0;
      for (std::size_t j = 0; j < 4; ++j) {
        const auto w = static_cast<double>(place.weights[j]), wa = static_cast<double>(place.d_angle[j]),
                   we = static_cast<double>(place.d_anisotropy[j]);
        const auto lambda = static_cast<double>(place.exponents[j][e]);
        exponent += w * lambda;
        exponent_angle += wa * lambda;
        exponent_anisotropy += we * lambda;
        for (std::size_t c = 0; c < 3; ++c) {
          const auto at = static_cast<double>(phi[(3 * j + c) * kCount + e]);
          p[0] += w * static_cast<double>(place.b[c]) * at;
          p[1] += w * static_cast<double>(place.bx[c]) * at;
          p[2] += w * static_cast<double>(place.by[c]) * at;
          p[3] += wa * static_cast<double>(place.b[c]) * at;
          p[4] += we * static_cast<double>(place.b[c]) * at;
        }
      }
      const double decay = std::exp(-exponent);
      const double expected[5] = {decay * p[0], decay * p[1], decay * p[2],
                                  decay * (p[3] - exponent_angle * p[0]),
                                  decay * (p[4] - exponent_anisotropy * p[0])};
      for (std::size_t r = 0; r < 5; ++r)
        EXPECT_NEAR(modes[r * kCount + e], expected[r], 1e-5) << "mode " << e << " row " << r;
      own[0] += decay * p[0] * p[0];
      own[1] += 2 * decay * p[0] * p[1];
      own[2] += 2 * decay * p[0] * p[2];
      own[3] += decay * (2 * p[0] * p[3] - exponent_angle * p[0] * p[0]);
      own[4] += decay * (2 * p[0] * p[4] - exponent_anisotropy * p[0] * p[0]);
    }
    for (std::size_t r = 0; r < 5; ++r)
      EXPECT_NEAR(self[r], own[r], 1e-5 * std::max(1.0, std::abs(own[r]))) << "row " << r;
  }
  ASSERT_TRUE(setSimdLevel(""));
}

}  // namespace
}  // namespace heatskin::spectral
