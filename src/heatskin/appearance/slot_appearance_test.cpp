// Values of material slots at surface points, against formulas written out by hand.

#include "heatskin/appearance/slot_appearance.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/appearance/appearance_target.h"
#include "heatskin/appearance/asset_channels.h"
#include "heatskin/base/fingerprint.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/color_space.h"

namespace heatskin {
namespace {

constexpr int kWide = 8, kHigh = 4;

/// All four components of a texel differ, and differ from those of other texels.
std::array<int, 4> texelOf(int x, int y) {
  return {20 * x + 3 * y, 255 - 25 * x - y, 30 * x + 7 * y, 200 - 10 * x + 5 * y};
}

/// The unit square (uv = (x, 1 - y) in set 0, half of that in set 1) with a texture; no slot uses it yet.
Asset slotSquare() {
  Asset asset;
  Image image;
  image.width = kWide;
  image.height = kHigh;
  for (int y = 0; y < kHigh; ++y) {
    for (int x = 0; x < kWide; ++x) {
      for (const int value : texelOf(x, y))
        image.rgba.push_back(static_cast<std::uint8_t>(value));
    }
  }
  asset.images.push_back(std::make_shared<const Image>(std::move(image)));
  asset.textures.push_back({0});
  asset.materials.emplace_back();
  asset.materials[0].slots = standardSlots();
  Primitive primitive;
  primitive.positions = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
  primitive.uv_sets = {{{0, 1}, {1, 1}, {1, 0}, {0, 0}}, {{0, 0.5f}, {0.5f, 0.5f}, {0.5f, 0}, {0, 0}}};
  primitive.triangles = {0, 1, 2, 0, 2, 3};
  primitive.material = 0;
  asset.meshes.push_back({"square", {primitive}});
  asset.instances.emplace_back().mesh = 0;
  return asset;
}

SlotUse& use(Asset& asset, std::string_view channel) {
  return asset.materials[0].slots[slotOf(channel)];
}

struct SlotScene {
  Asset asset;
  Surface surface;
  Appearance appearance;
  explicit SlotScene(Asset a)
      : asset(std::move(a)), surface(std::move(*buildSurface(asset))), appearance(asset, surface) {}

  Vec3f at(std::string_view channel, double u, double v, Filter filter = Filter::kNearest) const {
    return appearance.slots().value(point(u, v), slotOf(channel), filter);
  }
  static SurfacePoint point(double u, double v) {
    const double x = u, y = 1 - v;
    if (y <= x) return {0, {1 - x, x - y, y}};
    return {1, {1 - y, x, y - x}};
  }
};

/// What the specification makes of the texel (x, y), in double, spelled out for every slot.
Vec3 expected(const std::string& channel, const std::array<int, 4>& t, double f, double low) {
  const auto linear = [](int byte) {
    const double s = byte / 255.0;
    return s <= 0.04045 ? s / 12.92 : std::pow((s + 0.055) / 1.055, 2.4);
  };
  const auto srgb = [](double l) {
    return l <= 0.0031308 ? 12.92 * l : 1.055 * std::pow(l, 1 / 2.4) - 0.055;
  };
  const double r = t[0] / 255.0, g = t[1] / 255.0, b = t[2] / 255.0, a = t[3] / 255.0;
  const Vec3 color(linear(t[0]), linear(t[1]), linear(t[2]));
  if (channel == "metallic") return Vec3::Constant(f * b);
  if (channel == "roughness" || channel == "clearcoat_roughness" || channel == "thickness")
    return Vec3::Constant(f * g);
  if (channel == "occlusion") return Vec3::Constant(1 + f * (r - 1));
  if (channel == "emissive" || channel == "specular_color") return f * color;
  if (channel == "clearcoat" || channel == "transmission" || channel == "iridescence")
    return Vec3::Constant(f * r);
  if (channel == "sheen_color" || channel == "diffuse_transmission_color")
    return {srgb(f * color.x()), srgb(f * color.y()), srgb(f * color.z())};
  if (channel == "sheen_roughness" || channel == "specular" || channel == "diffuse_transmission")
    return Vec3::Constant(f * a);
  if (channel == "iridescence_thickness") return Vec3::Constant(low + (f - low) * g);
  ADD_FAILURE() << "no formula for " << channel;
  return Vec3::Zero();
}

TEST(SlotAppearance, EverySlotHasTheValueOfTheSpecification) {
  for (const MaterialSlot& slot : kMaterialSlots) {
    if (slot.rule == SlotRule::kTangent) continue;
    const std::string channel(slot.channel);
    SCOPED_TRACE(channel);
    Asset asset = slotSquare();
    SlotUse& used = use(asset, channel);
    used.texture.texture = 0;
    const float factor = slot.bounded ? 0.75f : 6.0f;
    used.factor.setConstant(factor);
    used.low = slot.rule == SlotRule::kBetween ? 2.0f : 0.0f;
    const SlotScene scene(std::move(asset));
    for (const auto& [x, y] : {std::pair(0, 0), std::pair(3, 1), std::pair(7, 3)}) {
      const Vec3f value = scene.at(channel, (x + 0.5) / kWide, (y + 0.5) / kHigh);
      const Vec3 truth = expected(channel, texelOf(x, y), double{factor}, double{used.low});
      for (Eigen::Index c = 0; c < static_cast<Eigen::Index>(slot.count); ++c)
        EXPECT_NEAR(value[c], truth[c], 2e-6 * double{factor})
            << x << " " << y << ": float, and a table for sRGB";
    }
    // As a channel it has its range, and the same value.
    const auto group = scene.appearance.group(channel);
    ASSERT_TRUE(group);
    EXPECT_EQ(group->count, slot.count);
    EXPECT_EQ(group->range, (std::array{0.0f, slot.bounded ? 1.0f : 6.0f}));
    const ChannelLayout layout = *ChannelLayout::make({*scene.appearance.group("base_color"), *group});
    ASSERT_TRUE(Appearance::knows(layout));
    const SurfacePoint p = SlotScene::point(0.3, 0.6);
    std::vector<float> row(layout.size());
    scene.appearance.values({&p, 1}, layout, row, Filter::kNearest);
    EXPECT_EQ(row[3], scene.at(channel, 0.3, 0.6)[0]);
    EXPECT_EQ(row[0], scene.appearance.color(p).x());
    EXPECT_FALSE(scene.appearance.faceConstant(0, channel));
    EXPECT_TRUE(scene.appearance.slots().textured(slotOf(channel)));
  }
}

TEST(SlotAppearance, WithoutTextureOrCoordinatesTheFactorDecides) {
  for (const MaterialSlot& slot : kMaterialSlots) {
    if (slot.rule == SlotRule::kTangent) continue;
    const std::string channel(slot.channel);
    SCOPED_TRACE(channel);
    Asset asset = slotSquare();
    use(asset, channel).factor.setConstant(0.5f);
    const std::array<int, 4> white = {255, 255, 255, 255};
    const double truth = expected(channel, white, 0.5, 100).x();
    EXPECT_NEAR(SlotScene(asset).at(channel, 0.3, 0.3).x(), truth, 1e-6);
    use(asset, channel).texture.texture = 0;
    use(asset, channel).texture.uv_set = 7;  // the primitive has no such set
    const SlotScene scene(std::move(asset));
    EXPECT_NEAR(scene.at(channel, 0.3, 0.3).x(), truth, 1e-6);
    EXPECT_TRUE(scene.appearance.faceConstant(0, channel));
    EXPECT_FALSE(scene.appearance.slots().textured(slotOf(channel)));
  }
}

TEST(SlotAppearance, EverySlotHasItsTransformItsCoordinatesAndItsSampler) {
  Asset asset = slotSquare();
  asset.textures.push_back({0, Wrap::kClampToEdge, Wrap::kClampToEdge, TexelFilter::kNearest});
  use(asset, "metallic").texture = {.texture = 0, .offset = {0.25f, 0.5f}, .scale = {0.5f, 1}};
  use(asset, "roughness").texture = {.texture = 1, .uv_set = 1};
  use(asset, "occlusion").texture = {.texture = 1, .offset = {2, 0}};
  const SlotScene scene(std::move(asset));
  const auto texel = [](int x, int y, std::size_t c) {
    return static_cast<float>(texelOf(x, y)[c]) / 255.0f;
  };
  // (0.6, 0.4) -> (0.55, 0.9): texel (4, 3); half of it: (0.3, 0.2), texel (2, 0); moved and clamped: (7, 1).
  EXPECT_EQ(scene.at("metallic", 0.6, 0.4).x(), texel(4, 3, 2));
  EXPECT_EQ(scene.at("roughness", 0.6, 0.4).x(), texel(2, 0, 1));
  EXPECT_EQ(scene.at("occlusion", 0.6, 0.4).x(), texel(7, 1, 0));
  // The first texture is filtered linearly, the second one is not.
  EXPECT_EQ(scene.at("roughness", 0.6, 0.4, Filter::kAuto).x(), texel(2, 0, 1));
  EXPECT_NE(scene.at("metallic", 0.6, 0.4, Filter::kAuto).x(), texel(4, 3, 2));
  std::array<Vec2f, 3> uvs;
  ASSERT_TRUE(scene.appearance.slots().faceUvs(0, slotOf("metallic"), uvs));
  EXPECT_EQ(uvs[1], Vec2f(0.75f, 1.5f));
  EXPECT_EQ(scene.appearance.slots().faceUvSet(0, slotOf("roughness")), 1);
  EXPECT_EQ(scene.appearance.slots().faceUvSet(0, slotOf("emissive")), -1);
}

TEST(SlotAppearance, BlendsNumbersAsTheyAreAndColoursInLinearLight) {
  Asset asset = slotSquare();
  use(asset, "roughness").texture.texture = 0;
  use(asset, "emissive").texture.texture = 0;
  use(asset, "emissive").factor.setConstant(2);
  const SlotScene scene(std::move(asset));
  // Half-way between the centres of texels (2, 1) and (3, 1).
  const double u = 3.0 / kWide, v = 1.5 / kHigh;
  const auto a = texelOf(2, 1), b = texelOf(3, 1);
  EXPECT_NEAR(scene.at("roughness", u, v, Filter::kBilinear).x(), (a[1] + b[1]) / 510.0, 1e-6);
  EXPECT_NEAR(
      scene.at("emissive", u, v, Filter::kBilinear).x(),
      linearFromSrgb8[static_cast<std::size_t>(a[0])] + linearFromSrgb8[static_cast<std::size_t>(b[0])],
      1e-6f);
}

TEST(SlotAppearance, VertexColoursMultiplyTheBaseColourAlone) {
  Asset asset = slotSquare();
  use(asset, "emissive").texture.texture = 0;
  use(asset, "emissive").factor.setConstant(1);
  const Vec3f plain = SlotScene(asset).at("emissive", 0.4, 0.4);
  asset.meshes[0].primitives[0].colors.assign(4, Vec4f(0.5f, 0.5f, 0.5f, 1));
  EXPECT_EQ(SlotScene(std::move(asset)).at("emissive", 0.4, 0.4), plain);
}

/// A texture in every slot there is makes more channels than kernels have: the last slots keep theirs, whole
/// groups at a time.
TEST(SlotAppearance, OfMoreChannelsThanThereAreTheLastOnesStayTextures) {
  Asset asset = slotSquare();
  asset.materials[0].base_color.texture = 0;
  asset.materials[0].alpha_mode = AlphaMode::kBlend;
  for (SlotUse& slot : asset.materials[0].slots) {
    slot.texture.texture = 0;
    slot.factor.setOnes();
  }
  const SlotScene scene(std::move(asset));
  const ChannelLayout layout = channelsOf(scene.appearance, scene.surface);
  EXPECT_LE(layout.size(), kMaxChannels);
  EXPECT_GT(layout.size(), kMaxChannels - 3) << "as many as there is room for";
  EXPECT_TRUE(Appearance::knows(layout));
  for (const char* name : {"base_color", "alpha", "normal", "clearcoat_normal", "anisotropy"})
    EXPECT_NE(layout.find(name), nullptr) << name;
  EXPECT_EQ(layout.find("diffuse_transmission_color"), nullptr);
}

TEST(SlotAppearance, DirectionsOfTangentSpaceAreTexelsNotValues) {
  Asset asset = slotSquare();
  use(asset, "normal").texture.texture = 0;
  use(asset, "normal").factor.setConstant(-2);
  const SlotScene scene(std::move(asset));
  // Normal maps are slopes or residuals of normals (shading_normals.h), not what their texels hold.
  ASSERT_TRUE(scene.appearance.group("normal"));
  EXPECT_TRUE(scene.appearance.group("normal")->isTangent());
  ASSERT_TRUE(scene.appearance.group("object_normal"));
  EXPECT_FALSE(scene.appearance.group("anisotropy")) << "no texture";
  const auto texel =
      scene.appearance.slots().texel(SlotScene::point(0.3, 0.3), slotOf("normal"), Filter::kNearest);
  ASSERT_TRUE(texel);
  const auto t = texelOf(2, 1);
  EXPECT_EQ(*texel,
            Vec3f(static_cast<float>(t[0]), static_cast<float>(t[1]), static_cast<float>(t[2])) / 255.0f);
  EXPECT_EQ(scene.appearance.slots().factor(0, slotOf("normal")).x(), -2);
  EXPECT_FALSE(scene.appearance.slots().texel(SlotScene::point(0.3, 0.3), slotOf("occlusion")));
}

TEST(SlotAppearance, FitsOfOtherChannelsDoNotDependOnTheirTextures) {
  const auto identity = [](const Asset& asset, std::initializer_list<std::string_view> names) {
    const SlotScene scene(asset);
    std::vector<ChannelGroup> groups;
    for (const std::string_view name : names)
      groups.push_back(*scene.appearance.group(name));
    Fingerprint fingerprint;
    AppearanceTarget(scene.appearance, Filter::kAuto, *ChannelLayout::make(groups))
        .identify(scene.surface, fingerprint);
    return fingerprint.value();
  };
  Asset asset = slotSquare();
  use(asset, "roughness").texture.texture = 0;
  Asset other = asset;
  auto image = std::make_shared<Image>(*other.images[0]);
  image->rgba[1] = 0;  // green of one texel, between the points that are looked at
  other.images[0] = image;
  EXPECT_EQ(identity(asset, {"base_color"}), identity(other, {"base_color"}));
  EXPECT_NE(identity(asset, {"base_color", "roughness"}), identity(other, {"base_color", "roughness"}));
}

}  // namespace
}  // namespace heatskin
