// Colours must not depend on the rounding of coordinates: positions that move by a ten-millionth may move
// colours by no more than that suggests.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"
#include "heatskin/evaluators/evaluate_colors.h"
#include "heatskin/evaluators/local/local_evaluator.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/surface/sampling.h"

#include "support/assets.h"
#include "support/tiny_surfaces.h"

namespace heatskin::local {
namespace {

/// What preset default says of geometry (training/ is above this folder).
LocalOptions ours() {
  LocalOptions options;
  options.window_sigma = 0.07;
  options.support_tail = 0.003;
  options.edge_tolerance = 0.3;
  options.sight = Sight::kCarried;
  options.join_corners = true;
  options.rule = CandidateRule::kByReach;
  options.proxy_faces = 0;  // simplification makes other choices when coordinates change
  return options;
}

/// Random kernels of every shape with strong colours: worse than any fit.
KernelSet kernelsOn(const Surface& surface, std::size_t count) {
  KernelSet kernels;
  kernels.resize(count);
  kernels.positions = sampleSurface(surface, count, 7);
  const RandomStream random(7, 1);
  for (std::size_t i = 0; i < count; ++i) {
    const auto a = random.uniform2(4 * i), b = random.uniform2(4 * i + 1), c = random.uniform2(4 * i + 2),
               d = random.uniform2(4 * i + 3);
    kernels.angles[i] = static_cast<float>(std::numbers::pi * a[0]);
    kernels.anisotropies[i] = static_cast<float>(1 + 50 * a[1]);
    kernels.thresholds[i] = static_cast<float>(0.3 + 0.6 * b[0]);
    kernels.sharpnesses[i] = static_cast<float>(10 + 40 * b[1]);
    kernels.channels[i] = Vec3f((Vec3(c[0], c[1], d[0]) - Vec3::Constant(0.5)).cast<float>());
  }
  return kernels;
}

/// Moves each coordinate by up to `size`, the same for equal positions: what was welded stays welded.
Vec3 moved(const Vec3& x, double size) {
  Vec3 result = x;
  const Vec3 key = x + Vec3::Zero();  // -0 is 0
  for (int axis = 0; axis < 3; ++axis) {
    std::uint64_t bits[3];
    std::memcpy(bits, key.data(), sizeof(bits));
    const RandomStream random(bits[0] ^ (bits[1] << 1) ^ (bits[2] << 2), static_cast<std::uint64_t>(axis));
    result[axis] += size * (2 * random.uniform(0) - 1);
  }
  return result;
}

/// The largest and the 99.9th percentile of the changes of colour between two surfaces, 8-bit levels.
struct Change {
  double largest = 0, p999 = 0;
};

Change changeOf(const Surface& surface, const Surface& other, std::size_t count) {
  EXPECT_EQ(surface.faceCount(), other.faceCount());
  const KernelSet kernels = kernelsOn(surface, count);
  const auto points = sampleSurface(surface, 50'000, 3);
  std::vector<Vec3f> before(points.size()), after(points.size());
  FilterTable filter;
  filter.build(kernels);
  const auto colors = [&](const Surface& on, const KernelSet& set, std::vector<Vec3f>& out) {
    LocalEvaluator evaluator(on, ours());
    evaluator.rebuild(set);
    evaluateColors(evaluator, filter, points, out, {});
  };
  colors(surface, kernels, before);
  // Angles count from a face's first axis, here its longest edge: among equally long ones rounding chooses.
  KernelSet same = kernels;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t face = kernels.positions[i].face;
    const double angle = static_cast<double>(kernels.angles[i]);
    const FaceFrame& frame = surface.frames()[face];
    const Vec2 direction =
        other.frames()[face].directionToFace(std::cos(angle) * frame.x_axis + std::sin(angle) * frame.y_axis);
    const double there = std::atan2(direction.y(), direction.x());
    same.angles[i] = static_cast<float>(there < 0 ? there + std::numbers::pi : there);
  }
  colors(other, same, after);
  std::vector<double> changes;
  for (std::size_t i = 0; i < points.size(); ++i)
    changes.push_back(255 * static_cast<double>((after[i] - before[i]).cwiseAbs().maxCoeff()));
  std::sort(changes.begin(), changes.end());
  return {changes.back(), changes[changes.size() * 999 / 1000]};
}

constexpr double kJitter = 1e-7;  // of the longest side

/// Between a surface and the same one with its vertices moved.
Change changeByJitter(const Surface& surface, std::size_t kernels) {
  testing::Soup still, jittered;
  still.positions.assign(surface.positions().begin(), surface.positions().end());
  still.faces.assign(surface.faces().begin(), surface.faces().end());
  jittered = still;
  for (Vec3& x : jittered.positions)
    x = moved(x, 2 * kJitter);  // the longest side of a surface is 2
  return changeOf(testing::build(still), testing::build(jittered), kernels);
}

// Half an 8-bit level: no stored picture shows it. A jitter of 1e-7 moves distances by about as much, and a
// kernel as sharp as they come (f rises by 200 / 4 per unit of response, responses fall by 20 per unit of
// length) turns that into 1e-4; anything above a hundredth of a level is another choice of way.
constexpr double kAllowed = 0.5, kUsual = 0.01;

TEST(Jitter, ColoursDoNotDependOnRounding) {
  for (const testing::Soup& soup :
       {testing::cube(6), testing::cone(5, 12, 6), testing::saddle(12), testing::cylinderBand(16, 8),
        testing::bumpySphere(3, 0.2, 5), testing::torus(24, 40)}) {
    const Change change = changeByJitter(testing::build(soup), 300);
    EXPECT_LT(change.largest, kAllowed) << soup.name;
    EXPECT_LT(change.p999, kUsual) << soup.name;
  }
}

TEST(Jitter, ColoursOfBoomboxDoNotDependOnRounding) {
  HEATSKIN_REQUIRE_ASSETS();
  const auto asset = loadAsset(testing::assetsFolder() / "boombox.glb");
  ASSERT_TRUE(asset);
  const Change change = changeByJitter(std::move(*buildSurface(*asset)), 2000);
  EXPECT_LT(change.largest, kAllowed);
  EXPECT_LT(change.p999, kUsual);
}

}  // namespace
}  // namespace heatskin::local
