// Scenes: many objects in one fit. Kernels go where there is area and detail, however many parts there are.

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/appearance/appearance_target.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/training/fit.h"

#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

constexpr int kBeads = 30;

/// A ball with fine stripes around x = 0, a calm one around x = 3, and a row of beads above x = 6.
Asset scene() {
  Asset asset;
  const auto add = [&](const testing::Soup& soup, const Vec3& at, double size, auto color) {
    Primitive primitive;
    for (const Vec3& x : soup.positions) {
      primitive.positions.push_back(at + size * x);
      primitive.colors.push_back(color(x));
    }
    for (const auto& f : soup.faces)
      primitive.triangles.insert(primitive.triangles.end(), f.begin(), f.end());
    Instance instance;
    instance.mesh = static_cast<std::uint32_t>(asset.meshes.size());
    asset.meshes.push_back({"", {primitive}});
    asset.instances.push_back(instance);
  };
  const auto gray = [](double value) {
    const auto v = static_cast<float>(value);
    return Vec4f(v, v, v, 1.0f);
  };
  add(testing::icosphere(5), Vec3::Zero(), 1,
      [&](const Vec3& x) { return gray(0.5 + 0.5 * std::sin(25 * x.z())); });
  add(testing::icosphere(5), Vec3(3, 0, 0), 1, [&](const Vec3& x) { return gray(0.5 + 0.2 * x.z()); });
  for (int i = 0; i < kBeads; ++i) {
    add(testing::icosphere(1), Vec3(6 + 0.3 * i, 0, 0), 0.08,
        [&](const Vec3& x) { return gray(0.4 + 0.2 * x.y()); });
  }
  return asset;
}

TEST(Scene, KernelsAreSharedOutByAreaAndDetailNotByParts) {
  const Asset asset = scene();
  const auto surface = buildSurface(asset);
  ASSERT_TRUE(surface);
  ASSERT_EQ(surface->componentCount(), 2u + kBeads);
  const Appearance appearance(asset, *surface);
  FitConfig config = *presetConfig("compact");
  config.train.steps = 120;
  config.train.density.max_kernels = 1500;
  const AppearanceTarget target(appearance, config.train.filter);
  const auto fitted = fit(*surface, target, config);
  ASSERT_TRUE(fitted);
  ASSERT_GT(fitted->kernels.size(), 1400u);

  // The surface is the scene, shifted and scaled: the beads' end is at the largest x.
  double low = 1e9, high = -1e9;
  for (const Vec3& x : surface->positions()) {
    low = std::min(low, x.x());
    high = std::max(high, x.x());
  }
  const double last = 6 + 0.3 * (kBeads - 1) + 0.08;
  std::size_t striped = 0, calm = 0;
  std::vector<std::size_t> beads(kBeads, 0);
  for (const SurfacePoint& p : fitted->kernels.positions) {
    const double x = -1 + (surface->position(p).x() - low) / (high - low) * (last + 1);
    if (x < 1.5) {
      ++striped;
    } else if (x < 5) {
      ++calm;
    } else {
      ++beads[static_cast<std::size_t>(std::clamp<long>(std::lround((x - 6) / 0.3), 0, kBeads - 1))];
    }
  }
  EXPECT_GT(striped, 2 * calm) << "detail counts";
  const std::size_t on_beads = fitted->kernels.size() - striped - calm;
  // 94 % of the parts, 9 % of the area, and not much to see.
  EXPECT_LT(on_beads, fitted->kernels.size() / 5);
  EXPECT_GE(*std::min_element(beads.begin(), beads.end()), 1u) << "but none is left out";
}

}  // namespace
}  // namespace heatskin
