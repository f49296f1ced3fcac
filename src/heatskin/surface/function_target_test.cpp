#include <gtest/gtest.h>

#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/sampling.h"

#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

ChannelLayout fiveChannels() {
  return *ChannelLayout::make({{"base_color", 3}, {"height", 2, 0, {-8, 8}}});
}

TEST(FunctionTarget, IsCalledWithPlacesInTheInputsCoordinates) {
  testing::Soup soup = testing::cube();
  for (Vec3& x : soup.positions)
    x = 3 * x + Vec3(10, 20, 30);
  const Surface surface = testing::build(soup);
  const FunctionTarget target(surface, [](const Vec3& x, std::span<float> out) {
    for (int axis = 0; axis < 3; ++axis)
      out[static_cast<std::size_t>(axis)] = static_cast<float>(x[axis]);
  });
  EXPECT_EQ(target.layout(), ChannelLayout());
  const auto points = sampleSurface(surface, 3000, 1);
  std::vector<float> values(3 * points.size());
  target.values(points, values);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Vec3 expected = surface.assetFromSurface()(surface.position(points[i]));
    for (std::size_t axis = 0; axis < 3; ++axis)
      ASSERT_NEAR(values[3 * i + axis], expected[static_cast<Eigen::Index>(axis)], 1e-5);
    ASSERT_GE(values[3 * i], 5);
  }
}

TEST(FunctionTarget, HasTheChannelsItIsGiven) {
  const FunctionTarget target(
      [](const SurfacePoint& p, std::span<float> out) {
        ASSERT_EQ(out.size(), 5u);
        for (std::size_t c = 0; c < 5; ++c)
          out[c] = static_cast<float>(p.face + 10 * c);
      },
      fiveChannels());
  std::vector<SurfacePoint> points(2000);
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i].face = static_cast<std::uint32_t>(i % 7);
  std::vector<float> values(5 * points.size());
  target.values(points, values);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], static_cast<float>(i / 5 % 7 + 10 * (i % 5)));
}

TEST(VertexTarget, LinearFunctionsAreExactOnTheMeshTheyAreGivenOn) {
  // The torus is closed by welding, and the surface may turn corners: vertex numbers are those of the input.
  const testing::Soup soup = testing::torus(12, 8);
  const Surface surface = testing::build(soup);
  std::vector<float> given;
  for (const Vec3& x : soup.positions) {
    for (int c = 0; c < 5; ++c)
      given.push_back(static_cast<float>((c + 1) * x.x() - x.y() + c * x.z()));
  }
  const auto target = VertexTarget::make(surface, soup.faces, given, fiveChannels());
  ASSERT_TRUE(target.ok()) << target.error().message;
  const auto points = sampleSurface(surface, 500, 2);
  std::vector<float> values(5 * points.size());
  target->values(points, values);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Vec3 x = surface.assetFromSurface()(surface.position(points[i]));
    for (int c = 0; c < 5; ++c) {
      ASSERT_NEAR(values[5 * i + static_cast<std::size_t>(c)], (c + 1) * x.x() - x.y() + c * x.z(), 1e-5);
    }
  }
}

TEST(VertexTarget, CornersMayJumpAcrossEdges) {
  const testing::Soup soup = testing::icosphere(1);
  const Surface surface = testing::build(soup);
  // Every triangle has its own number, and its corners differ.
  std::vector<float> values;
  for (std::size_t t = 0; t < soup.faces.size(); ++t) {
    for (std::size_t c = 0; c < 3; ++c)
      values.insert(values.end(), {static_cast<float>(t) / 100, static_cast<float>(c) / 2, 0.25f});
  }
  const auto target = VertexTarget::ofCorners(surface, values);
  ASSERT_TRUE(target.ok());
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    const FaceSource& source = surface.sources()[f];
    const SurfacePoint point{f, {0.5, 0.3, 0.2}};
    float out[3];
    target->values({&point, 1}, out);
    EXPECT_FLOAT_EQ(out[0], static_cast<float>(source.triangle) / 100);
    double expected = 0;
    for (std::size_t c = 0; c < 3; ++c)
      expected += point.barycentric[static_cast<Eigen::Index>(c)] * source.corners[c] / 2;
    EXPECT_NEAR(static_cast<double>(out[1]), expected, 1e-6);
    EXPECT_FLOAT_EQ(out[2], 0.25f);
  }
  EXPECT_FALSE(VertexTarget::ofCorners(surface, std::span(values).first(values.size() - 3)).ok());
  EXPECT_FALSE(VertexTarget::ofCorners(surface, std::span(values).first(values.size() - 9)).ok());
}

TEST(VertexTarget, RefusesWhatDoesNotGoTogether) {
  const testing::Soup soup = testing::cube();
  const Surface surface = testing::build(soup);
  const std::vector<float> values(3 * soup.positions.size(), 0.5f);
  EXPECT_TRUE(VertexTarget::make(surface, soup.faces, values).ok());
  EXPECT_FALSE(VertexTarget::make(surface, soup.faces, std::span(values).first(values.size() - 1)).ok());
  EXPECT_FALSE(VertexTarget::make(surface, soup.faces, std::span(values).first(values.size() - 3)).ok());
  EXPECT_FALSE(VertexTarget::make(surface, std::span(soup.faces).first(3), values).ok());
  EXPECT_FALSE(VertexTarget::make(surface, soup.faces, {}).ok());
}

}  // namespace
}  // namespace heatskin
