#include "heatskin/rendering/principled.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"

#include "support/sanitized.h"

namespace heatskin {
namespace {

Vec3 direction(double cosine, double turn = 0) {
  const double sine = std::sqrt(1 - cosine * cosine);
  return {sine * std::cos(turn), sine * std::sin(turn), cosine};
}

/// The integral over the hemisphere; midpoints in cosine and turn.
double overHemisphere(const std::function<double(const Vec3&)>& f, int rings = 400, int turns = 400) {
  double sum = 0;
  for (int i = 0; i < rings; ++i) {
    for (int j = 0; j < turns; ++j)
      sum += f(direction((i + 0.5) / rings, 2 * std::numbers::pi * (j + 0.5) / turns));
  }
  return sum * 2 * std::numbers::pi / (rings * turns);
}

std::vector<PrincipledOptions> materials() {
  return {{0.5, 0, 1.5}, {0.5, 1, 1.5}, {0.3, 0.4, 1.5}, {1, 0, 1.33}, {0.8, 1, 1.5}};
}

Vec2 pairOf(const RandomStream& random, std::uint64_t index) {
  const auto u = random.uniform2(index);
  return {u[0], u[1]};
}

/// Part of the light from everywhere that is reflected, by quadrature.
ByBaseColor albedo(const PrincipledBsdf& bsdf, const Vec3& out) {
  return {overHemisphere([&](const Vec3& in) { return bsdf.value(out, in).plain * in.z(); }),
          overHemisphere([&](const Vec3& in) { return bsdf.value(out, in).tinted * in.z(); })};
}

TEST(Fresnel, KnownValues) {
  EXPECT_NEAR(fresnelReflectance(1, 1.5), 0.04, 1e-15);
  EXPECT_NEAR(fresnelReflectance(0, 1.5), 1, 1e-15);
  // At Brewster's angle, tan = n, the parallel part vanishes and the other is ((n^2 - 1) / (n^2 + 1))^2.
  const double across = 1.25 / 3.25;
  EXPECT_NEAR(fresnelReflectance(std::cos(std::atan(1.5)), 1.5), 0.5 * across * across, 1e-15);
}

TEST(Principled, IsReciprocalAndOneSided) {
  const RandomStream random(1, 1);
  for (const PrincipledOptions& material : materials()) {
    const PrincipledBsdf bsdf(material);
    for (std::uint64_t i = 0; i < 200; ++i) {
      const Vec2 a = pairOf(random, 2 * i), b = pairOf(random, 2 * i + 1);
      const Vec3 out = direction(0.01 + 0.99 * a.x(), 6 * a.y()),
                 in = direction(0.01 + 0.99 * b.x(), 6 * b.y());
      const ByBaseColor one = bsdf.value(out, in), other = bsdf.value(in, out);
      EXPECT_NEAR(one.plain, other.plain, 1e-12 * (1 + one.plain));
      EXPECT_NEAR(one.tinted, other.tinted, 1e-12 * (1 + one.tinted));
      EXPECT_GE(one.plain, 0);
      EXPECT_GE(one.tinted, 0);
      EXPECT_EQ(bsdf.value(out, -in).tinted, 0);
      EXPECT_EQ(bsdf.value(-out, in).plain, 0);
      EXPECT_EQ(bsdf.density(out, -in), 0);
      EXPECT_FALSE(bsdf.sample(-out, b, 0.5).has_value());
    }
  }
}

TEST(Principled, LooksStraightOnLikeLambertWithAHighlight) {
  const Vec3 up(0, 0, 1);
  const ByBaseColor value = PrincipledBsdf().value(up, up);
  EXPECT_NEAR(value.tinted, 1 / std::numbers::pi, 1e-15);
  EXPECT_NEAR(value.plain, 0.04 / (std::numbers::pi * 0.25 * 0.25) / 4, 1e-12);  // F D / 4, alpha 0.25
}

/// Chi-squared of drawn directions against a density, divided by the degrees of freedom: near 1 if both
/// agree.
double histogramMisfit(const PrincipledBsdf& drawn_from, const PrincipledBsdf& expected_of, const Vec3& out) {
  constexpr int kRings = 12, kTurns = 16;
  constexpr int kFine = 40;  // quadrature points per cell and axis
  const auto draws = testing::casesToTry<std::uint64_t>(200'000, 20'000);
  std::vector<double> expected(kRings * kTurns, 0.0), seen(kRings * kTurns, 0.0);
  for (int i = 0; i < kRings * kFine; ++i) {
    for (int j = 0; j < kTurns * kFine; ++j) {
      const double z = (i + 0.5) / (kRings * kFine),
                   turn = 2 * std::numbers::pi * (j + 0.5) / (kTurns * kFine);
      expected[static_cast<std::size_t>(i / kFine * kTurns + j / kFine)] +=
          expected_of.density(out, direction(z, turn)) * 2 * std::numbers::pi /
          (kRings * kFine * kTurns * kFine);
    }
  }
  const RandomStream random(5, 1);
  for (std::uint64_t n = 0; n < draws; ++n) {
    const auto sample = drawn_from.sample(out, pairOf(random, 2 * n), random.uniform(2 * n + 1));
    if (!sample) continue;
    double turn = std::atan2(sample->in.y(), sample->in.x());
    if (turn < 0) turn += 2 * std::numbers::pi;
    const int i = std::min(kRings - 1, static_cast<int>(sample->in.z() * kRings));
    const int j = std::min(kTurns - 1, static_cast<int>(turn / (2 * std::numbers::pi) * kTurns));
    seen[static_cast<std::size_t>(i * kTurns + j)] += 1;
  }
  double misfit = 0;
  int cells = 0;
  for (std::size_t c = 0; c < seen.size(); ++c) {
    const double mean = expected[c] * static_cast<double>(draws);
    if (mean < 25) continue;
    misfit += (seen[c] - mean) * (seen[c] - mean) / mean;
    ++cells;
  }
  return misfit / cells;
}

TEST(Principled, DirectionsAreDrawnWithTheDensityThatIsSaid) {
  for (const PrincipledOptions& material : materials()) {
    const PrincipledBsdf bsdf(material);
    for (const double cosine : {0.15, 0.6, 1.0})
      EXPECT_LT(histogramMisfit(bsdf, bsdf, direction(cosine, 0.4)), 1.35)
          << material.roughness << " " << cosine;
  }
}

TEST(Principled, TheHistogramFindsAWrongDensity) {
  // Fewer draws, in sanitised builds, tell only larger errors.
  const double roughness = testing::casesToTry<double>(0.6, 1.0);
  const PrincipledBsdf bsdf({0.5, 0, 1.5}), rougher({roughness, 0, 1.5});
  EXPECT_GT(histogramMisfit(bsdf, rougher, direction(0.6, 0.4)), 2.0);
}

TEST(Principled, DensitiesIntegrateToTheShareOfDirectionsThatAreKept) {
  const auto draws = testing::casesToTry<std::uint64_t>(100'000, 5'000);
  const RandomStream random(7, 1);
  for (const PrincipledOptions& material : materials()) {
    const PrincipledBsdf bsdf(material);
    for (const double cosine : {0.1, 0.5, 0.95}) {
      const Vec3 out = direction(cosine, 1.1);
      std::uint64_t kept = 0;
      for (std::uint64_t n = 0; n < draws; ++n)
        kept += bsdf.sample(out, pairOf(random, 2 * n), random.uniform(2 * n + 1)) ? 1 : 0;
      const double share = static_cast<double>(kept) / static_cast<double>(draws);
      const double integral = overHemisphere([&](const Vec3& in) { return bsdf.density(out, in); });
      EXPECT_NEAR(integral, share, 4 * std::sqrt(0.25 / static_cast<double>(draws))) << cosine;
      EXPECT_LT(integral, 1 + 1e-3);
    }
  }
  // Diffuse directions never fall below the surface. Seen from above, a glossy one does if its facet is
  // steeper than 45 degrees: alpha^2 / (1 + alpha^2) of them, and a tenth of all is glossy.
  const Vec3 up(0, 0, 1);
  EXPECT_NEAR(overHemisphere([&](const Vec3& in) { return PrincipledBsdf().density(up, in); }), 1 - 0.1 / 17,
              1e-4);
}

TEST(Principled, WeightsOfDrawnDirectionsAverageToTheAlbedo) {
  const auto draws = testing::casesToTry<std::uint64_t>(200'000, 10'000);
  const RandomStream random(11, 1);
  for (const PrincipledOptions& material : materials()) {
    const PrincipledBsdf bsdf(material);
    for (const double cosine : {0.2, 0.7, 1.0}) {
      const Vec3 out = direction(cosine, 2);
      ByBaseColor sum;
      for (std::uint64_t n = 0; n < draws; ++n) {
        if (const auto sample = bsdf.sample(out, pairOf(random, 2 * n), random.uniform(2 * n + 1)))
          sum = sum + sample->weight;
      }
      const ByBaseColor exact = albedo(bsdf, out);
      const double tolerance = 6 / std::sqrt(static_cast<double>(draws));
      EXPECT_NEAR(sum.plain / static_cast<double>(draws), exact.plain, tolerance * exact.plain + 1e-4);
      EXPECT_NEAR(sum.tinted / static_cast<double>(draws), exact.tinted, tolerance * exact.tinted + 1e-4);
    }
  }
}

TEST(Principled, FacetsGainNoEnergy) {
  for (double cosine = 0.025; cosine <= 1; cosine += 0.075) {
    // A white metal: facets alone. Light that would be reflected twice between facets is lost, none is added.
    const ByBaseColor metal = albedo(PrincipledBsdf({0.5, 1, 1.5}), direction(cosine));
    EXPECT_LT(metal.plain + metal.tinted, 1 + 1e-3) << cosine;
    EXPECT_GT(metal.plain + metal.tinted, 0.8) << cosine;
  }
}

TEST(Principled, AlbedosAreThoseOfAnIndependentQuadrature) {
  // Of the formulas in a few lines of Python (200 x 200 midpoints): cosine, highlight, diffuse part of white.
  // The model's diffuse lobe ignores the highlight, so that the sum exceeds 1.
  constexpr double kKnown[][3] = {{0.1, 0.1588, 1.0235},
                                  {0.25, 0.1160, 1.0225},
                                  {0.4, 0.0828, 1.0131},
                                  {0.7, 0.0466, 1.0047},
                                  {1.0, 0.0370, 1.0060}};
  for (const auto& [cosine, plain, tinted] : kKnown) {
    const ByBaseColor found = albedo(PrincipledBsdf(), direction(cosine));
    EXPECT_NEAR(found.plain, plain, 5e-4) << cosine;
    EXPECT_NEAR(found.tinted, tinted, 5e-4) << cosine;
  }
}

}  // namespace
}  // namespace heatskin
