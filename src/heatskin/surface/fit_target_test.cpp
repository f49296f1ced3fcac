#include "heatskin/surface/fit_target.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/base/fingerprint.h"

#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

/// One colour; faces with even numbers are seen by a half, the others not at all.
class HalfSeen final : public FitTarget {
 public:
  explicit HalfSeen(float grey) : grey_(grey) {}
  void values(std::span<const SurfacePoint>, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), grey_);
  }
  void visibilities(std::span<const SurfacePoint> points, std::span<float> out) const override {
    for (std::size_t i = 0; i < points.size(); ++i)
      out[i] = points[i].face % 2 == 0 ? 0.5f : 0.0f;
  }
  bool hasAlpha() const override { return true; }

 private:
  float grey_;
};

/// Opaque, with the colour of its position.
class Positions final : public FitTarget {
 public:
  explicit Positions(const Surface& surface) : surface_(&surface) {}
  void values(std::span<const SurfacePoint> points, std::span<float> out) const override {
    for (std::size_t i = 0; i < points.size(); ++i)
      Eigen::Map<Vec3f>(out.data() + 3 * i) = surface_->position(points[i]).cast<float>();
  }

 private:
  const Surface* surface_;
};

Fingerprint::Value identityOf(const Surface& surface, const FitTarget& target) {
  Fingerprint fingerprint;
  target.identify(surface, fingerprint);
  return fingerprint.value();
}

TEST(FitTarget, IsOpaqueAndWorthFittingUnlessItSaysOtherwise) {
  const Surface surface = testing::build(testing::cube());
  const Positions target(surface);
  EXPECT_FALSE(target.hasAlpha());
  EXPECT_TRUE(target.hasColor());
  EXPECT_FALSE(target.faceConstant(0));
  EXPECT_EQ(target.layout(), ChannelLayout());
  const std::vector<SurfacePoint> points(3);
  std::vector<float> visible(3, -1.0f);
  target.visibilities(points, visible);
  EXPECT_EQ(visible, std::vector<float>(3, 1.0f));
  EXPECT_EQ(visibleShare(surface, target), 1);
}

TEST(FitTarget, VisibleShareIsTheMeanOverTheArea) {
  const Surface surface = testing::build(testing::cube());
  double seen = 0;
  for (std::uint32_t f = 0; f < surface.faceCount(); f += 2)
    seen += 0.5 * surface.areas()[f] / surface.totalArea();
  // 100,000 points: one standard deviation is at most 0.0008.
  EXPECT_NEAR(visibleShare(surface, HalfSeen(0.3f)), seen, 0.005);
}

TEST(FitTarget, IdentityFollowsColoursAndVisibilities) {
  const Surface surface = testing::build(testing::cube());
  EXPECT_EQ(identityOf(surface, HalfSeen(0.3f)), identityOf(surface, HalfSeen(0.3f)));
  EXPECT_NE(identityOf(surface, HalfSeen(0.3f)), identityOf(surface, HalfSeen(0.31f)));
  EXPECT_NE(identityOf(surface, HalfSeen(0.3f)), identityOf(surface, Positions(surface)));
}

}  // namespace
}  // namespace heatskin
