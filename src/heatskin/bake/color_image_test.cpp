#include "heatskin/bake/color_image.h"

#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/surface/sampling.h"

#include "support/tiny_surfaces.h"

namespace heatskin::testing {
namespace {

/// A flat grid over [0, 1] x [0, 1] of an image whose left `part` it covers.
struct BakeSubject {
  Surface surface = build(flatGrid(6, 6));
  double part = 1;

  Vec2 uv(const SurfacePoint& p) const {
    const Vec3 x = surface.position(p);
    return {part * (x.x() + 1) / 2, (x.y() + 1) / 2};
  }
  SheetFaces faces() const {
    SheetFaces sheet;
    for (std::uint32_t face = 0; face < surface.faceCount(); ++face) {
      sheet.faces.push_back(face);
      std::array<Vec2f, 3>& out = sheet.uvs.emplace_back();
      for (std::size_t c = 0; c < 3; ++c) {
        SurfacePoint corner{face, Vec3::Zero()};
        corner.barycentric[static_cast<Eigen::Index>(c)] = 1;
        out[c] = uv(corner).cast<float>();
      }
    }
    return sheet;
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

TEST(ColorImage, AnImageShowsTheSurfacesColours) {
  const BakeSubject subject;
  SheetOptions options;
  options.width = 96;
  options.height = 64;
  const ColorImage image = drawColors(subject.surface, subject.faces(), subject.colors(), options);
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

TEST(ColorImage, GuttersHaveTheColoursOfTheChartsBesideThem) {
  BakeSubject subject;
  subject.part = 0.5;
  SheetOptions options;
  options.width = options.height = 64;
  const ColorImage image = drawColors(subject.surface, subject.faces(), subject.colors(), options);
  EXPECT_NEAR(static_cast<double>(image.covered_texels), 64 * 32, 64);
  for (int y = 8; y < 56; ++y) {
    const Vec3f edge = image.at({31.5 / 64, (y + 0.5) / 64}), beside = image.at({33.5 / 64, (y + 0.5) / 64});
    EXPECT_LT((edge - beside).cwiseAbs().maxCoeff(), 0.1f) << y;
  }
  // Blue is the same everywhere: nothing else came in.
  for (std::size_t i = 2; i < image.rgb.size(); i += 3)
    EXPECT_NEAR(image.rgb[i], 0.7 * 255, 1.01);
}

TEST(ColorImage, SizesThatCannotBeAreEmpty) {
  const BakeSubject subject;
  SheetOptions options;
  options.width = 0;
  EXPECT_TRUE(drawColors(subject.surface, subject.faces(), subject.colors(), options).rgb.empty());
}

}  // namespace
}  // namespace heatskin::testing
