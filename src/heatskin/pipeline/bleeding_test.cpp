// Colours stay on their own side: sheets close together with different colours, with and without a support
// proxy.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/evaluators/local/local_evaluator.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/texture/kernel_texture.h"
#include "heatskin/training/fit.h"

#include "support/sanitized.h"
#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

/// Between the sheets. The shapes are 2 long, which is the size of every surface.
constexpr double kGap = 0.01;

/// Cells of a sheet along x and y: 32,000 faces and more for the two sheets together.
constexpr std::uint32_t kAlong = 160, kAcross = 50;

/// A sheet from x = begin to 2 and y = 0 to 0.6 at height z; with `down` it looks down.
void addSheet(testing::Soup& soup, double begin, double z, bool down) {
  const auto first = static_cast<std::uint32_t>(soup.positions.size());
  for (std::uint32_t i = 0; i <= kAlong; ++i) {
    for (std::uint32_t j = 0; j <= kAcross; ++j)
      soup.positions.emplace_back(begin + (2 - begin) * i / kAlong, 0.6 * j / kAcross, z);
  }
  for (std::uint32_t i = 0; i < kAlong; ++i) {
    for (std::uint32_t j = 0; j < kAcross; ++j) {
      const std::uint32_t a = first + i * (kAcross + 1) + j, b = a + kAcross + 1;
      soup.faces.push_back({a, b, b + 1});
      soup.faces.push_back({a, b + 1, a + 1});
      if (!down) continue;
      for (std::size_t f = soup.faces.size() - 2; f < soup.faces.size(); ++f)
        std::swap(soup.faces[f][1], soup.faces[f][2]);
    }
  }
}

/// The wall between the ends of the sheets at x = `at`, which are soups of vertices [first, + kAcross + 1).
void addWall(testing::Soup& soup, std::uint32_t upper, std::uint32_t lower, bool flipped) {
  for (std::uint32_t j = 0; j < kAcross; ++j) {
    const std::uint32_t a = upper + j, b = lower + j;
    soup.faces.push_back({a, b, b + 1});
    soup.faces.push_back({a, b + 1, a + 1});
    if (!flipped) continue;
    for (std::size_t f = soup.faces.size() - 2; f < soup.faces.size(); ++f)
      std::swap(soup.faces[f][1], soup.faces[f][2]);
  }
}

/// The upper sheet is 2 long; the lower one is under its second half alone, so that the first half is
/// "elsewhere".
testing::Soup twoSheets(bool same_side) {
  testing::Soup soup{same_side ? "two sheets that look the same way" : "two sheets back to back", {}, {}};
  addSheet(soup, 0, kGap, false);
  addSheet(soup, 1, 0, !same_side);
  return soup;
}

/// The same folded from one strip.
testing::Soup foldedStrip() {
  testing::Soup soup = twoSheets(false);
  soup.name = "folded strip";
  const std::uint32_t sheet = (kAlong + 1) * (kAcross + 1), end = kAlong * (kAcross + 1);
  addWall(soup, end, sheet + end, false);
  return soup;
}

/// A box without its long sides' walls would be a tube; this one is closed.
testing::Soup thinBox() {
  testing::Soup soup = foldedStrip();
  soup.name = "thin box";
  // The first half of the upper sheet stays outside of the box: a tongue.
  const std::uint32_t row = kAcross + 1, sheet = (kAlong + 1) * row;
  addWall(soup, (kAlong / 2) * row, sheet, true);
  for (std::uint32_t side = 0; side < 2; ++side) {
    const std::uint32_t j = side == 0 ? 0 : kAcross;
    for (std::uint32_t i = 0; i < kAlong / 2; ++i) {
      // Two cells of the lower sheet for each of the upper one.
      const std::uint32_t a = (kAlong / 2 + i) * row + j, b = a + row;
      const std::uint32_t c = sheet + 2 * i * row + j, d = c + row, e = d + row;
      for (std::array<std::uint32_t, 3> face : {std::array{a, c, d}, {a, d, b}, {b, d, e}}) {
        if (side == 1) std::swap(face[1], face[2]);
        soup.faces.push_back(face);
      }
    }
  }
  return soup;
}

/// Red above, blue below, both with soft waves; the walls are above as far as colours are concerned.
Vec3 colorAt(const Vec3& x) {
  const double wave = 0.15 * std::sin(7 * x.x()) * std::cos(9 * x.y());
  return x.z() > 0.5 * kGap ? Vec3(0.8 + wave, 0.2 - wave, 0.15) : Vec3(0.1, 0.3 - wave, 0.8 + wave);
}

class Bleeding : public ::testing::TestWithParam<std::size_t> {
 protected:
  /// Fits a shape and compares the error of the upper sheet over the lower one with that beyond it.
  void expectClean(const testing::Soup& soup, std::uint32_t components) {
    SCOPED_TRACE(soup.name);
    const auto surface = std::make_shared<const Surface>(testing::build(soup));
    ASSERT_EQ(surface->componentCount(), components);
    const FunctionTarget target(*surface, [](const Vec3& x, std::span<float> values) {
      const Vec3 color = colorAt(x);
      for (std::size_t c = 0; c < 3; ++c)
        values[c] = static_cast<float>(color[static_cast<Eigen::Index>(c)]);
    });
    FitConfig config = *presetConfig("compact");
    config.train.steps = testing::kSanitized ? 20 : 150;
    config.train.density.max_kernels = 400;
    config.evaluator.local.proxy_faces = GetParam();
    const auto fitted = fit(*surface, target, config);
    ASSERT_TRUE(fitted) << fitted.error().message;
    const auto& evaluator = static_cast<const local::LocalEvaluator&>(*fitted->evaluator);
    ASSERT_EQ(evaluator.supportSurface().faceCount() < surface->faceCount() / 2, GetParam() > 0);
    const auto texture =
        KernelTexture::withEvaluator(surface, fitted->kernels, config.evaluator.options(), fitted->evaluator);
    ASSERT_TRUE(texture);

    const auto points = sampleSurface(*surface, 20'000, 11);
    std::vector<Vec3f> colors(points.size());
    texture->colors(points, colors);
    std::vector<double> near, elsewhere;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Vec3 x = surface->assetFromSurface()(surface->position(points[i]));
      if (std::abs(surface->frames()[points[i].face].normal().z()) < 0.9) continue;  // the walls
      // Beside the fold and the ends colours change on the surface itself.
      if (x.x() > 1.85 || std::abs(x.x() - 1) < 0.15 || x.x() < 0.15 || std::abs(x.y() - 0.3) > 0.2) continue;
      const double error = (colors[i].cast<double>() - colorAt(x)).cwiseAbs().maxCoeff();
      (x.x() > 1 ? near : elsewhere).push_back(error);
    }
    ASSERT_GT(near.size(), 1000u);
    ASSERT_GT(elsewhere.size(), 1000u);
    if (testing::kSanitized) return;
    std::sort(near.begin(), near.end());
    std::sort(elsewhere.begin(), elsewhere.end());
    const auto quantile = [](const std::vector<double>& sorted, double q) {
      return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1))];
    };
    // The sheets differ by 0.7: what came from the other one would stand out. 0.01: fits vary.
    EXPECT_LT(quantile(near, 0.5), 1.5 * quantile(elsewhere, 0.5) + 0.01);
    EXPECT_LT(quantile(near, 0.99), 1.5 * quantile(elsewhere, 0.99) + 0.02);
    EXPECT_LT(near.back(), 0.2);
  }
};

TEST_P(Bleeding, TwoSheets) {
  expectClean(twoSheets(true), 2);
  expectClean(twoSheets(false), 2);
}

TEST_P(Bleeding, FoldedStrip) {
  expectClean(foldedStrip(), 1);
}

TEST_P(Bleeding, ClosedThinBox) {
  expectClean(thinBox(), 1);
}

INSTANTIATE_TEST_SUITE_P(Proxy, Bleeding, ::testing::Values(0, 3000), [](const auto& test) {
  return test.param == 0 ? std::string("Without") : std::string("With");
});

}  // namespace
}  // namespace heatskin
