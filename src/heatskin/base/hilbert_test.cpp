#include "heatskin/base/hilbert.h"

#include <cstdlib>
#include <map>

#include <gtest/gtest.h>

namespace heatskin {
namespace {

TEST(Hilbert, VisitsEveryCellOnceAndStepsToANeighbour) {
  for (const int bits : {1, 2, 3, 4}) {
    const std::uint32_t side = 1u << bits;
    std::map<std::uint64_t, std::array<std::uint32_t, 3>> curve;
    for (std::uint32_t x = 0; x < side; ++x) {
      for (std::uint32_t y = 0; y < side; ++y) {
        for (std::uint32_t z = 0; z < side; ++z)
          curve[hilbertIndex({x, y, z}, bits)] = {x, y, z};
      }
    }
    ASSERT_EQ(curve.size(), std::size_t{side} * side * side);
    EXPECT_EQ(curve.rbegin()->first, curve.size() - 1) << "no gaps";
    for (auto at = curve.begin(), next = std::next(at); next != curve.end(); ++at, ++next) {
      int steps = 0;
      for (std::size_t c = 0; c < 3; ++c)
        steps += std::abs(static_cast<int>(at->second[c]) - static_cast<int>(next->second[c]));
      ASSERT_EQ(steps, 1) << "from place " << at->first << " with " << bits << " bits";
    }
  }
}

TEST(Hilbert, OrdersPointsOfAnyExtent) {
  EXPECT_TRUE(hilbertOrder({}).empty());
  const std::vector<Vec3> same(4, Vec3(1, 2, 3));
  EXPECT_EQ(hilbertOrder(same), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  const std::vector<Vec3> line = {{5, 0, 0}, {-3, 0, 0}, {1, 0, 0}};
  const std::vector<std::uint32_t> order = hilbertOrder(line);
  EXPECT_EQ(order[1], 2u) << "the point between the two others";
}

}  // namespace
}  // namespace heatskin
