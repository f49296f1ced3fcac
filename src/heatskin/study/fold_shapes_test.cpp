#include "heatskin/study/fold_shapes.h"

#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/io/asset_surface.h"

namespace heatskin::study {
namespace {

TEST(FoldShapes, AreCleanSurfacesWithColours) {
  for (const FoldShape& shape : foldShapes()) {
    const auto asset = makeFoldShape(shape.name);
    ASSERT_TRUE(asset.ok()) << shape.name;
    const auto surface = buildSurface(*asset);
    ASSERT_TRUE(surface.ok()) << shape.name;
    EXPECT_TRUE(surface->notices().empty()) << shape.name;
    EXPECT_TRUE(Appearance(*asset, *surface).hasColor()) << shape.name;
    EXPECT_EQ(surface->report().components, shape.name == "plates" ? 2u : 1u) << shape.name;
    EXPECT_EQ(surface->boundaryLoops().empty(), shape.name == "sheet") << shape.name;
    EXPECT_LT(surface->vertexCount(), 20'000u) << shape.name;
  }
  EXPECT_FALSE(makeFoldShape("knot").ok());
}

// What they are for: points that are near in space and far over the surface.
TEST(FoldShapes, HaveLayersCloseToEachOther) {
  for (const char* name : {"sheet", "accordion", "coil", "plates"}) {
    const auto surface = buildSurface(*makeFoldShape(name));
    ASSERT_TRUE(surface.ok());
    const double unit = surface->surfaceFromAsset().scale;
    // From a vertex in the middle: another one within 0.08 that no chain of edges inside that distance leads
    // to.
    const auto& positions = surface->positions();
    std::uint32_t middle = 0;
    for (std::uint32_t v = 0; v < surface->vertexCount(); ++v) {
      if (positions[v].norm() < positions[middle].norm()) middle = v;
    }
    const double near = 0.08 * unit;
    std::vector<std::uint8_t> reached(surface->vertexCount(), 0);
    reached[middle] = 1;
    for (bool more = true; more;) {
      more = false;
      for (const auto& face : surface->faces()) {
        for (std::size_t e = 0; e < 3; ++e) {
          const std::uint32_t a = face[e], b = face[(e + 1) % 3];
          for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
            if (reached[from] == 0 || reached[to] != 0 || (positions[to] - positions[middle]).norm() > near)
              continue;
            reached[to] = 1;
            more = true;
          }
        }
      }
    }
    std::size_t apart = 0;
    for (std::uint32_t v = 0; v < surface->vertexCount(); ++v)
      apart += reached[v] == 0 && (positions[v] - positions[middle]).norm() <= near ? 1 : 0;
    EXPECT_GT(apart, 0u) << name;
  }
}

}  // namespace
}  // namespace heatskin::study
