#include "heatskin/rendering/bake.h"

#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"
#include "heatskin/rendering/test_meshes.h"
#include "heatskin/rendering/test_views.h"
#include "heatskin/surface/sampling.h"

namespace heatskin::testing {
namespace {

/// Six by six squares in the plane z = 0.
TriangleMesh squares() {
  constexpr std::uint32_t kSide = 6;
  TriangleMesh mesh;
  for (std::uint32_t y = 0; y <= kSide; ++y) {
    for (std::uint32_t x = 0; x <= kSide; ++x)
      mesh.positions.emplace_back(x, y, 0);
  }
  for (std::uint32_t y = 0; y < kSide; ++y) {
    for (std::uint32_t x = 0; x < kSide; ++x) {
      const std::uint32_t a = y * (kSide + 1) + x, b = a + 1, c = b + kSide + 1, d = c - 1;
      mesh.faces.push_back({a, b, c});
      mesh.faces.push_back({a, c, d});
    }
  }
  return mesh;
}

/// A flat grid over [0, 1] x [0, 1] of an image whose left `part` it covers.
struct BakeSubject {
  Surface surface = surfaceOf(squares());
  double part = 1;

  Vec2 uv(const SurfacePoint& p) const {
    const Vec3 x = surface.position(p);
    return {part * (x.x() + 1) / 2, (x.y() + 1) / 2};
  }
  FaceUvs uvs() const {
    return [this](std::uint32_t face, std::array<Vec2f, 3>& out) {
      for (std::size_t c = 0; c < 3; ++c) {
        SurfacePoint corner{face, Vec3::Zero()};
        corner.barycentric[static_cast<Eigen::Index>(c)] = 1;
        out[c] = uv(corner).cast<float>();
      }
      return true;
    };
  }
  /// Waves that a few texels resolve.
  ColorSource colors() const {
    return [this](std::span<const SurfacePoint> points, std::span<Vec3f> out) {
      for (std::size_t i = 0; i < points.size(); ++i) {
        const Vec2 at = uv(points[i]);
        out[i] = Vec3f(static_cast<float>(0.5 + 0.3 * std::sin(6 * at.x())),
                       static_cast<float>(0.5 + 0.3 * std::cos(5 * at.y())), 0.7f);
      }
    };
  }
};

TEST(Bake, AnImageShowsTheSurfacesColours) {
  const BakeSubject subject;
  BakeOptions options;
  options.width = 96;
  options.height = 64;
  const BakedImage image = bakeImage(subject.surface.faceCount(), subject.uvs(), subject.colors(), options);
  ASSERT_EQ(image.rgb.size(), 3u * 96 * 64);
  const std::vector<SurfacePoint> points = sampleSurface(subject.surface, 2000, 1);
  std::vector<Vec3f> truth(points.size());
  subject.colors()(points, truth);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Vec2 uv = subject.uv(points[i]);
    // The outermost half texel is interpolated with the opposite border.
    if (uv.x() < 1.0 / 96 || uv.x() > 95.0 / 96 || uv.y() < 1.0 / 64 || uv.y() > 63.0 / 64) continue;
    // Half a level of rounding, and the curvature of the waves over a texel: 11 (1/64)^2 / 4 of a level of 1.
    EXPECT_LT((image.at(uv) - truth[i]).cwiseAbs().maxCoeff(), 1.5f / 255);
  }
}

TEST(Bake, GuttersHaveTheColoursOfTheChartsBesideThem) {
  BakeSubject subject;
  subject.part = 0.5;
  BakeOptions options;
  options.width = options.height = 64;
  const BakedImage image = bakeImage(subject.surface.faceCount(), subject.uvs(), subject.colors(), options);
  EXPECT_NEAR(static_cast<double>(image.covered_texels), 64 * 32, 64);
  for (int y = 8; y < 56; ++y) {
    const Vec3f edge = image.at({31.5 / 64, (y + 0.5) / 64}), beside = image.at({33.5 / 64, (y + 0.5) / 64});
    EXPECT_LT((edge - beside).cwiseAbs().maxCoeff(), 0.1f) << y;
  }
  // Blue is the same everywhere: nothing else came in.
  for (std::size_t i = 2; i < image.rgb.size(); i += 3)
    EXPECT_NEAR(image.rgb[i], 0.7 * 255, 1.01);
}

TEST(Bake, SizesThatCannotBeAreEmpty) {
  const BakeSubject subject;
  BakeOptions options;
  options.width = 0;
  EXPECT_TRUE(bakeImage(subject.surface.faceCount(), subject.uvs(), subject.colors(), options).rgb.empty());
}

}  // namespace
}  // namespace heatskin::testing
