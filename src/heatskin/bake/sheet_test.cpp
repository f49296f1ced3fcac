#include "heatskin/bake/sheet.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/bake/gutters.h"

#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

/// A flat square; sheets of some of its faces with coordinates equal to positions, in the middle of the
/// image.
struct FlatSheet {
  Surface surface = testing::build(testing::flatGrid(8, 8));
  SheetFaces faces;

  /// Surface coordinates of the square are -1 .. 1; it fills the middle half of the image.
  static Vec2 uvOf(const Vec3& p) { return {0.5 + 0.25 * p.x(), 0.5 - 0.25 * p.y()}; }

  explicit FlatSheet(double right_end) {
    for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
      if (surface.frames()[f].origin.x() > right_end) continue;
      faces.faces.push_back(f);
      auto& uvs = faces.uvs.emplace_back();
      for (std::size_t c = 0; c < 3; ++c)
        uvs[c] = uvOf(surface.positions()[surface.faces()[f][c]]).cast<float>();
    }
  }

  SheetValues position() const {
    return [this](std::span<const SurfacePoint> points, std::span<float> out) {
      for (std::size_t i = 0; i < points.size(); ++i) {
        out[2 * i] = static_cast<float>(surface.position(points[i]).x());
        out[2 * i + 1] = static_cast<float>(surface.position(points[i]).y());
      }
    };
  }
};

TEST(SheetTest, TexelsHaveTheMeanOfWhatTheyStandForAlsoBeyondTheBorder) {
  // Half of the square is in the sheet; the surface goes on where the chart ends, to the right, and ends
  // itself elsewhere.
  const FlatSheet sheet(0);
  for (const int finer : {1, 2, 3}) {
    SheetOptions options;
    options.width = 1024;  // several bands
    options.height = 512;
    options.supersampling = finer;
    std::size_t filled = 0, beyond = 0, bands = 0;
    const auto counts =
        sampleSheet(sheet.surface, sheet.faces, 2, sheet.position(), options, [&](SheetBand& band) {
          ++bands;
          for (std::size_t i = 0; i < band.filled.size(); ++i) {
            if (band.filled[i] == 0) continue;
            ++filled;
            const double u = (static_cast<double>(i % 1024) + 0.5) / 1024,
                         v = (band.first_row + static_cast<double>(i / 1024) + 0.5) / 512;
            const double x = 4 * (u - 0.5), y = -4 * (v - 0.5);
            if (x > 0) ++beyond;
            // Where the surface itself ends, points stay at its edge: within a texel.
            const bool inside = x > -1 + 4.0 / 1024 && y > -1 + 4.0 / 512 && y < 1 - 4.0 / 512;
            EXPECT_NEAR(static_cast<double>(band.values[2 * i]), x, inside ? 1e-4 : 6.0 / 1024);
            EXPECT_NEAR(static_cast<double>(band.values[2 * i + 1]), y, inside ? 1e-4 : 6.0 / 512);
          }
        });
    ASSERT_TRUE(counts);
    EXPECT_GT(bands, 1u);
    // 256 x 256 texels in the chart, and one or two more around it.
    EXPECT_GE(filled, 258u * 258u);
    EXPECT_LE(filled, 260u * 260u);
    EXPECT_GE(beyond, 256u);
    EXPECT_EQ(counts->overlapped_texels, 0u);
  }
}

TEST(SheetTest, FacesBetweenAllSamplesHaveTexelsToo) {
  FlatSheet sheet(-2);
  ASSERT_TRUE(sheet.faces.faces.empty());
  // A point and a line between rows of centres.
  sheet.faces.faces = {0, 1};
  sheet.faces.uvs = {{Vec2f(0.2f, 0.2f), Vec2f(0.2f, 0.2f), Vec2f(0.2f, 0.2f)},
                     {Vec2f(0.5f, 0.5f), Vec2f(0.9f, 0.5f), Vec2f(0.7f, 0.50001f)}};
  SheetOptions options;
  options.width = options.height = 64;
  options.supersampling = 1;
  std::vector<std::uint8_t> filled;
  ASSERT_TRUE(sampleSheet(sheet.surface, sheet.faces, 2, sheet.position(), options, [&](SheetBand& band) {
    filled.insert(filled.end(), band.filled.begin(), band.filled.end());
  }));
  EXPECT_EQ(filled[12 * 64 + 12], 1);
  for (std::size_t x = 33; x < 57; ++x)
    EXPECT_EQ(filled[32 * 64 + x], 1) << x;
}

TEST(SheetTest, OverlappingFacesAreCounted) {
  FlatSheet sheet(0);
  sheet.faces.faces.push_back(sheet.faces.faces[0]);
  sheet.faces.uvs.push_back(sheet.faces.uvs[0]);
  SheetOptions options;
  options.width = options.height = 256;
  const auto counts =
      sampleSheet(sheet.surface, sheet.faces, 2, sheet.position(), options, [](SheetBand&) {});
  ASSERT_TRUE(counts);
  EXPECT_GT(counts->overlapped_texels, 50u);
}

TEST(GuttersTest, ChartsGrowAndNothingStaysEmpty) {
  constexpr int kSide = 33;
  std::vector<std::uint8_t> pixels(3 * kSide * kSide, 0), filled(kSide * kSide, 0);
  const auto set = [&](int x, int y, std::uint8_t value) {
    const auto at = static_cast<std::size_t>(y * kSide + x);
    filled[at] = 1;
    for (std::size_t c = 0; c < 3; ++c)
      pixels[3 * at + c] = value;
  };
  // Two charts, sixteen texels apart.
  set(8, 8, 200);
  set(25, 8, 100);
  fillGutters(pixels, filled, kSide, kSide, 3, 4);
  const auto at = [&](int x, int y) { return pixels[3 * static_cast<std::size_t>(y * kSide + x)]; };
  for (int y = 4; y <= 12; ++y) {
    for (int x = 4; x <= 12; ++x)
      EXPECT_EQ(at(x, y), 200) << x << ' ' << y;
    for (int x = 21; x <= 29; ++x)
      EXPECT_EQ(at(x, y), 100) << x << ' ' << y;
  }
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      EXPECT_GE(at(x, y), 100);
      EXPECT_LE(at(x, y), 200);
    }
  }
}

TEST(GuttersTest, AnImageWithoutChartsStaysAsItIs) {
  std::vector<std::uint8_t> pixels(4 * 16, 7), filled(16, 0);
  fillGutters(pixels, filled, 4, 4, 4, 2);
  EXPECT_EQ(pixels, std::vector<std::uint8_t>(4 * 16, 7));
}

}  // namespace
}  // namespace heatskin
