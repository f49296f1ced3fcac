#include "heatskin/base/channel_layout.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

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
  EXPECT_FALSE(ChannelLayout::make({{"a", 17}, {"b", 16}}).ok());
  EXPECT_FALSE(ChannelLayout::make({{"a", ~std::size_t{0}}, {"b", 2}}).ok());
  EXPECT_TRUE(ChannelLayout::make({{"a", 32}}).ok());
}

TEST(ChannelLayout, RefusesNamesRangesAndWeightsThatCannotBe) {
  const auto group = [](std::string name, std::size_t count, float low, float high) {
    return ChannelLayout::make({{std::move(name), count, 0, {low, high}}});
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(group("height_2", 1, -5, 1000).ok());
  for (const char* name : {"Height", "a b", "a-b", "\xff", "\n"})
    EXPECT_FALSE(group(name, 1, 0, 1).ok()) << name;
  EXPECT_TRUE(group(std::string(kMaxChannelName, 'a'), 1, 0, 1).ok());
  EXPECT_FALSE(group(std::string(kMaxChannelName + 1, 'a'), 1, 0, 1).ok());
  EXPECT_FALSE(group("a", 1, 1, 1).ok());
  EXPECT_FALSE(group("a", 1, 1, 0).ok());
  EXPECT_FALSE(group("a", 1, kNan, 1).ok());
  EXPECT_FALSE(group("a", 1, 0, kNan).ok());
  EXPECT_FALSE(group("a", 1, -kInfinity, 1).ok());
  EXPECT_FALSE(group("a", 1, 0, 1e30f).ok());
  EXPECT_FALSE(group("a", 1, 1000, 1000.001f).ok());
  EXPECT_FALSE(ChannelLayout::make({{"a", 1, 0, {0, 1}, 0, 1}}).ok());
  EXPECT_FALSE(ChannelLayout::make({{"a", 1, 0, {0, 1}, 1, -1}}).ok());
  EXPECT_FALSE(ChannelLayout::make({{"a", 1, 0, {0, 1}, 1, static_cast<double>(kNan)}}).ok());
}

TEST(ChannelLayout, AKnownNameMeansOneThing) {
  EXPECT_FALSE(ChannelLayout::make({{"base_color", 4}}).ok());
  EXPECT_FALSE(ChannelLayout::make({{"alpha", 1, 0, {0, 2}}}).ok());
  const auto layout = ChannelLayout::ofNames({"base_color", "alpha"});
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(*layout, *ChannelLayout::make({{"base_color", 3}, {"alpha", 1}}));
  EXPECT_FALSE(layout->find("base_color")->everywhere);
  EXPECT_TRUE(layout->find("alpha")->everywhere);
  EXPECT_TRUE(layout->everywhere());
  EXPECT_FALSE(ChannelLayout().everywhere());
  EXPECT_FALSE(ChannelLayout::ofNames({"base_color", "base_color"}).ok());
  EXPECT_NE(ChannelLayout::ofNames({"colour"}).error().message.find("known are base_color, alpha"),
            std::string::npos);
}

TEST(ChannelLayout, PartsOfRangesMeetBothEndsAndLeaveUnitRangesAlone) {
  const auto layout = *ChannelLayout::make({{"base_color", 3}, {"height", 2, 0, {-3, 5}, 2, 0.5}});
  EXPECT_FALSE(layout.isUnit());
  EXPECT_EQ(layout.totalWeight(), 4.0);
  EXPECT_EQ(layout.groupOf(2).name, "base_color");
  EXPECT_EQ(layout.groupOf(3).name, "height");
  std::vector<float> values = {0.1f, 0.2f, 0.3f, -3, 5, 0.4f, 0.5f, 0.6f, 1, -1};
  const std::vector<float> before = values;
  layout.toUnit(values);
  EXPECT_EQ(values, (std::vector<float>{0.1f, 0.2f, 0.3f, 0, 1, 0.4f, 0.5f, 0.6f, 0.5f, 0.25f}));
  layout.fromUnit(values);
  EXPECT_EQ(values, before);
  EXPECT_TRUE(layout.sameChannels(*ChannelLayout::make({{"base_color", 3}, {"height", 2, 0, {-3, 5}}})));
  EXPECT_FALSE(layout.sameChannels(*ChannelLayout::make({{"base_color", 3}, {"height", 2, 0, {-3, 4}}})));
  EXPECT_FALSE(layout.sameChannels(ChannelLayout()));
}

TEST(ChannelLayout, TangentGroupsAreTwoNumbersInASymmetricRange) {
  const auto tangent = [](std::size_t count, float low, float high) {
    ChannelGroup group{"v", count, 0, {low, high}};
    group.kind = ChannelKind::kTangent;
    return ChannelLayout::make({{"base_color", 3}, group});
  };
  const auto layout = tangent(2, -4, 4);
  ASSERT_TRUE(layout.ok());
  EXPECT_TRUE(layout->hasTangents());
  EXPECT_EQ(layout->size(), 5u);
  EXPECT_EQ(layout->spaceSize(), 6u);
  EXPECT_FALSE(ChannelLayout().hasTangents());
  EXPECT_FALSE(tangent(1, -4, 4).ok());
  EXPECT_FALSE(tangent(3, -4, 4).ok());
  EXPECT_FALSE(tangent(2, 0, 1).ok());
  EXPECT_FALSE(tangent(2, -4, 4.001f).ok());
  EXPECT_FALSE(layout->sameChannels(*ChannelLayout::make({{"base_color", 3}, {"v", 2, 0, {-4, 4}}})));
  ChannelGroup alpha{"alpha", 1};
  alpha.kind = ChannelKind::kTangent;
  EXPECT_FALSE(ChannelLayout::make({alpha}).ok());
  // The vector 0 is the middle of the range, exactly.
  std::vector<float> values = {0, 0, 0, 0, 0};
  layout->toUnit(values);
  EXPECT_EQ(values[3], kTangentZero);
  layout->fromUnit(values);
  EXPECT_EQ(values[3], 0.0f);
}

TEST(ChannelLayout, ShorteningKeepsTheDirection) {
  float x = 3, y = -4;
  shortenTo(6, x, y);
  EXPECT_EQ(x, 3.0f);
  shortenTo(1, x, y);
  EXPECT_NEAR(x, 0.6f, 1e-7f);
  EXPECT_NEAR(y, -0.8f, 1e-7f);
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
