#include "heatskin/kernels/channel_layout.h"

#include <gtest/gtest.h>

namespace heatskin {
namespace {

TEST(ChannelLayout, TheDefaultIsABaseColour) {
  const ChannelLayout layout;
  EXPECT_EQ(layout.size(), 3u);
  ASSERT_NE(layout.find("base_color"), nullptr);
  EXPECT_EQ(layout.find("base_color")->count, 3u);
  EXPECT_EQ(layout, *ChannelLayout::make({{"base_color", 3}}));
}

TEST(ChannelLayout, GroupsFollowEachOther) {
  const auto layout = ChannelLayout::make(
      {{"base_color", 3}, {"alpha", 1}, {"metallic_roughness", 2}, {"normal", 3}, {"emissive", 3}});
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->size(), 12u);
  EXPECT_EQ(layout->find("alpha")->first, 3u);
  EXPECT_EQ(layout->find("emissive")->first, 9u);
  EXPECT_EQ(layout->find("height"), nullptr);
  EXPECT_FALSE(*layout == ChannelLayout());
}

TEST(ChannelLayout, RefusesWhatCannotBe) {
  EXPECT_FALSE(ChannelLayout::make({}).ok());
  EXPECT_FALSE(ChannelLayout::make({{"a", 0}}).ok());
  EXPECT_FALSE(ChannelLayout::make({{"", 1}}).ok());
  EXPECT_FALSE(ChannelLayout::make({{"a", 1}, {"b", 1}, {"a", 1}}).ok());
  EXPECT_FALSE(ChannelLayout::make({{"a", 9}, {"b", 8}}).ok());
  EXPECT_FALSE(ChannelLayout::make({{"a", ~std::size_t{0}}, {"b", 2}}).ok());
  EXPECT_TRUE(ChannelLayout::make({{"a", 16}}).ok());
}

TEST(ChannelTable, RowsAreViews) {
  ChannelTable table{4, {}};
  table.resize(3);
  table[1] = Vec4f(1, 2, 3, 4);
  EXPECT_EQ(table.size(), 3u);
  EXPECT_EQ(table.values, (std::vector<float>{0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0}));
  EXPECT_EQ(sumOfSquares(table.row(1), 4), 30.0f);
  EXPECT_EQ(sumOfProducts(table.row(1), table.row(1), 3), 14.0f);
}

TEST(ChannelTable, SumsOverThreeChannelsAreEigensToTheBit) {
  for (int i = 0; i < 1000; ++i) {
    const auto x = static_cast<float>(i);
    const Vec3f a(std::sin(x), std::sin(2 * x), 1e3f * std::sin(3 * x));
    const Vec3f b(std::cos(x), 1e4f * std::cos(5 * x), std::cos(7 * x));
    ASSERT_EQ(sumOfSquares(a.data(), 3), a.squaredNorm());
    ASSERT_EQ(sumOfProducts(a.data(), b.data(), 3), a.dot(b));
  }
}

}  // namespace
}  // namespace heatskin
