#include "heatskin/evaluation/unfolding_accuracy.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"

#include "support/assets.h"
#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

/// The paper's rule and ours.
local::LocalOptions lastEdge() {
  return {};
}
local::LocalOptions carried() {
  local::LocalOptions options;
  options.sight = local::Sight::kCarried;
  options.edge_tolerance = 0.5;
  return options;
}

TEST(UnfoldingAccuracy, InThePlaneNothingIsWrongOrMissed) {
  const Surface surface = testing::build(testing::flatGrid(8, 8));
  const std::vector<std::uint32_t> sources = {40, 12, 0};
  const auto exact = exactDistances(surface, sources, 0.6);
  ASSERT_EQ(exact.size(), sources.size());
  for (std::uint32_t v = 0; v < surface.vertexCount(); ++v) {
    const double chord = (surface.positions()[v] - surface.positions()[40]).norm();
    if (chord < 0.59) {
      EXPECT_NEAR(exact[0].vertices[v], chord, 1e-12);
    }
  }
  for (const auto& options : {lastEdge(), carried()}) {
    const UnfoldingAccuracy result = unfoldingAccuracy(surface, exact, 0.6, options);
    EXPECT_GT(result.pairs, 40u);
    EXPECT_GT(result.face_pairs, 50u);
    EXPECT_EQ(result.missed, 0);
    EXPECT_EQ(result.faces_missed, 0);
    EXPECT_LT(result.p99, 0.01);  // the sources lie kInside off their vertices
  }
}

TEST(UnfoldingAccuracy, SeesAPlantedError) {
  const Surface surface = testing::build(testing::flatGrid(8, 8));
  const std::vector<std::uint32_t> sources = {40};
  auto exact = exactDistances(surface, sources, 0.6);
  ASSERT_EQ(exact.size(), 1u);
  for (double& distance : exact[0].vertices)
    distance /= 1.02;
  EXPECT_NEAR(unfoldingAccuracy(surface, exact, 0.55, lastEdge()).median, 2, 0.01);
}

// METHOD 11.6: a kernel exactly at a vertex behaves like one just inside a face, in whichever face it is.
TEST(UnfoldingAccuracy, AVertexIsAsGoodAsJustInside) {
  const Surface surface = testing::build(testing::bumpySphere(3, 0.15, 2));
  std::vector<std::uint32_t> sources;
  for (std::uint32_t v = 0; v < surface.vertexCount(); v += 60)
    sources.push_back(v);
  const auto exact = exactDistances(surface, sources, 0.3);
  for (const auto& options : {lastEdge(), carried()}) {
    const auto at = unfoldingAccuracy(surface, exact, 0.3, options, 0);
    const auto inside = unfoldingAccuracy(surface, exact, 0.3, options);
    EXPECT_EQ(at.pairs, inside.pairs);
    EXPECT_NEAR(at.missed, inside.missed, 0.002);
    EXPECT_NEAR(at.median, inside.median, 0.005);
    EXPECT_NEAR(at.p90, inside.p90, 0.05);
  }
}

TEST(UnfoldingAccuracy, OnSpotItIsAsGoodAsThePaper) {
  HEATSKIN_REQUIRE_ASSETS();
  LoadOptions load;
  load.load_images = false;
  const auto asset = loadAsset(testing::assetsFolder() / "spot" / "spot_triangulated.obj", load);
  ASSERT_TRUE(asset);
  const auto surface = buildSurface(*asset);
  ASSERT_TRUE(surface);
  std::vector<std::uint32_t> sources;
  for (std::uint32_t v = 20; v < surface->vertexCount(); v += 293)
    sources.push_back(v);
  const auto exact = exactDistances(*surface, sources, 0.4);
  const auto result = unfoldingAccuracy(*surface, exact, 0.4, lastEdge());
  // The paper's figures (0.03 / 1.0 / 6.9 %, 2.8 % missed) with room for ten other sources.
  EXPECT_GT(result.pairs, 1000u);
  EXPECT_LT(result.median, 0.03);
  EXPECT_LT(result.p90, 1.0);
  EXPECT_LT(result.p99, 10);
  EXPECT_LT(result.missed, 0.045);
  // What carrying the visible part along is for: our goal of 0.01 / 0.5 / 2.5 %, on sources it was not tuned
  // on (p99 with room for ten of them), and next to nothing missed.
  const auto better = unfoldingAccuracy(*surface, exact, 0.4, carried());
  EXPECT_LT(better.median, 0.01);
  EXPECT_LT(better.p90, 0.5);
  EXPECT_LT(better.p99, 4);
  EXPECT_LT(better.missed, 0.005);
}

}  // namespace
}  // namespace heatskin
