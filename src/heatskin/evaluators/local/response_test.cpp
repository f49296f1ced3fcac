#include "heatskin/evaluators/local/response.h"

#include <array>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"

#include "support/gradcheck.h"

namespace heatskin::local {
namespace {

/// The response varies over lengths of 0.005 (across a strongly anisotropic kernel): the third derivative is
/// about 1e7, and a step of 2e-7 keeps h^2 times it below the tolerance.
constexpr testing::GradcheckOptions kSteep = {.step = 2e-7, .tolerance = 2e-6};
std::string gradcheck(const std::function<double(std::span<const double>)>& f, const std::vector<double>& x,
                      std::span<const double> gradient) {
  return testing::gradcheck(f, x, gradient, kSteep);
}

/// A pair; its parameters are S, p, angle, eta, log h.
struct Pair {
  Developed<double> kernel;
  Query<double> query;
};

Pair pairFrom(std::span<const double> x, const Query<double>& query) {
  Pair pair{{}, query};
  const double inverse = std::exp(-x[7]);
  pair.kernel = {x[0], x[1], inverse * std::cos(x[5]), inverse * std::sin(x[5]), x[6], x[2], x[3], x[4]};
  return pair;
}

std::vector<double> flat(const Gradient<double>& g) {
  return {g.center_x, g.center_y, g.space_x, g.space_y, g.space_z, g.angle, g.anisotropy, g.length};
}

/// A random pair whose chord is `chord` times its developed distance.
std::vector<double> randomParameters(std::uint64_t seed, double chord, Query<double>& query) {
  const RandomStream random(seed, 3);
  const auto a = random.uniform2(0), b = random.uniform2(1), c = random.uniform2(2), d = random.uniform2(3);
  query = {a[0] - 0.5, a[1] - 0.5, b[0], b[1], c[0]};
  const double angle = 2 * std::numbers::pi * c[1], distance = 0.02 + 0.15 * d[0];
  const double height = 2 * d[1] - 1;
  std::vector<double> x = {query.x - distance * std::cos(angle), query.y - distance * std::sin(angle)};
  const double ring = std::sqrt(1 - height * height);
  x.push_back(query.space_x - chord * distance * ring * std::cos(5 * angle));
  x.push_back(query.space_y - chord * distance * ring * std::sin(5 * angle));
  x.push_back(query.space_z - chord * distance * height);
  x.push_back(std::numbers::pi * random.uniform(9));
  x.push_back(1 + 199 * random.uniform(10));
  x.push_back(std::log(0.5 + 3 * random.uniform(11)));
  return x;
}

TEST(LocalResponse, GradientsEqualDifferences) {
  for (const bool window : {true, false}) {
    Shape<double> shape;
    if (!window) shape.window = 0;
    for (const double chord : {0.7, 1.5}) {  // the development counts, the chord counts
      for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Query<double> query;
        const std::vector<double> x = randomParameters(seed, chord, query);
        const Pair pair = pairFrom(x, query);
        const auto f = [&](std::span<const double> y) {
          const Pair moved = pairFrom(y, query);
          return 1.7 * response(moved.kernel, moved.query, shape);
        };
        EXPECT_EQ(gradcheck(f, x, flat(responseVjp(pair.kernel, pair.query, shape, 1.7))), "")
            << "seed " << seed << " chord " << chord;
      }
    }
  }
}

TEST(LocalResponse, TheCheckFindsAPlantedSign) {
  Query<double> query;
  const std::vector<double> x = randomParameters(4, 0.7, query);
  const Pair pair = pairFrom(x, query);
  const auto f = [&](std::span<const double> y) {
    const Pair moved = pairFrom(y, query);
    return response(moved.kernel, moved.query, Shape<double>());
  };
  const std::vector<double> right = flat(responseVjp(pair.kernel, pair.query, Shape<double>(), 1.0));
  ASSERT_EQ(gradcheck(f, x, right), "");
  for (const std::size_t entry : {0, 1, 5, 6, 7}) {
    std::vector<double> wrong = right;
    wrong[entry] = -wrong[entry];
    EXPECT_NE(gradcheck(f, x, wrong), "") << entry;
  }
}

TEST(LocalResponse, IsOneAndFlatAtTheCentre) {
  // Trap 11.5: u = v = 0, d = 0, eta = 200.
  const Developed<double> kernel = {0.3, -0.2, 1, 0, 200, 1, 2, 3};
  const Query<double> query = {0.3, -0.2, 1, 2, 3};
  EXPECT_EQ(response(kernel, query, Shape<double>()), 1.0);
  for (const double g : flat(responseVjp(kernel, query, Shape<double>(), 1.0)))
    EXPECT_EQ(g, 0.0);
  const Developed<float> kernel_f = {0.3f, -0.2f, 1, 0, 200, 1, 2, 3};
  EXPECT_EQ(response(kernel_f, Query<float>{0.3f, -0.2f, 1, 2, 3}, Shape<float>()), 1.0f);
}

TEST(LocalResponse, IsLongAlongItsAxis) {
  const Shape<double> shape;
  const double angle = 0.7, d = 0.05;
  const Developed<double> kernel = {0, 0, std::cos(angle), std::sin(angle), 30, 0, 0, 0};
  const auto at = [&](double direction) {
    const double x = d * std::cos(direction), y = d * std::sin(direction);
    return response(kernel, Query<double>{x, y, x, y, 0}, shape);
  };
  // eq:kernel on and across the long axis.
  const double window = std::exp(-d * d / (2 * 0.1 * 0.1));
  EXPECT_NEAR(at(angle), std::exp(-d * d / (4 * 0.0625)) * window, 1e-15);
  EXPECT_NEAR(at(angle + std::numbers::pi / 2), std::exp(-d * d * 31 / (4 * 0.0625)) * window, 1e-15);
  EXPECT_NEAR(at(angle), at(angle + std::numbers::pi), 1e-15) << "period pi";
}

TEST(LocalResponse, ALengthIsAUnitOfDistance) {
  const Shape<double> shape;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Query<double> query;
    std::vector<double> x = randomParameters(seed, 0.7, query);
    x[7] = 0;
    const double h = 0.1 + 0.2 * static_cast<double>(seed);
    Query<double> scaled_query = {h * query.x, h * query.y, h * query.space_x, h * query.space_y,
                                  h * query.space_z};
    std::vector<double> scaled = x;
    for (std::size_t i = 0; i < 5; ++i)
      scaled[i] *= h;
    scaled[7] = std::log(h);
    const Pair one = pairFrom(x, query), other = pairFrom(scaled, scaled_query);
    EXPECT_NEAR(response(one.kernel, one.query, shape), response(other.kernel, other.query, shape), 1e-13);
  }
}

TEST(LocalResponse, NeverShorterThanTheChord) {
  const Developed<double> kernel = {0, 0, 1, 0, 1, 0, 0, 0};
  const Query<double> query = {0.01, 0, 0.3, 0, 0};
  EXPECT_EQ(squaredDistance(kernel, query), 0.09);
}

}  // namespace
}  // namespace heatskin::local
