// Every slot of a material: read from a file, refused or clamped where the file is wrong, written back.

#include "heatskin/io/material_slots.h"

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/glb_writer.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/io/image.h"

#include "support/asset_views.h"
#include "support/gltf_builder.h"
#include "support/gltf_outcome.h"

namespace heatskin {
namespace {

using testing::findNotice;
using testing::GltfBuilder;
using testing::load;
using testing::squareBuilder;
using Json = nlohmann::json;

/// The square with two textures and a material that is `material`.
GltfBuilder squareWith(const Json& material) {
  GltfBuilder builder = squareBuilder();
  for (const std::uint8_t grey : {std::uint8_t{10}, std::uint8_t{200}}) {
    const std::vector<std::uint8_t> pixels = {grey, static_cast<std::uint8_t>(255 - grey)};
    builder.add("images",
                {{"bufferView", builder.addView(*encodePng(pixels, 2, 1, 1))}, {"mimeType", "image/png"}});
  }
  builder.add("textures", {{"source", 0}});
  builder.add("textures", {{"source", 1}});
  builder.add("materials", material);
  builder.primitive()["material"] = 0;
  return builder;
}

const SlotUse& slot(const Asset& asset, std::string_view channel) {
  return asset.materials.at(0).slots.at(slotOf(channel));
}

/// glTF and its extensions in their own words, for the table's: channel, material, factor.
struct Spelled {
  const char* channel;
  const char* material;
  Vec3f factor;
};

const std::vector<Spelled>& spelled() {
  static const std::vector<Spelled> all = {
      {"metallic", R"({"pbrMetallicRoughness": {"metallicRoughnessTexture": T, "metallicFactor": 0.25}})",
       Vec3f::Constant(0.25f)},
      {"roughness", R"({"pbrMetallicRoughness": {"metallicRoughnessTexture": T, "roughnessFactor": 0.25}})",
       Vec3f::Constant(0.25f)},
      {"occlusion", R"({"occlusionTexture": {"index": 1, "texCoord": 0, "strength": 0.25}})",
       Vec3f::Constant(0.25f)},
      {"emissive",
       R"({"emissiveTexture": T, "emissiveFactor": [0.5, 1, 0.25], "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 8}}})",
       {4, 8, 2}},
      {"normal", R"({"normalTexture": {"index": 1, "scale": -2}})", Vec3f::Constant(-2)},
      {"clearcoat",
       R"({"extensions": {"KHR_materials_clearcoat": {"clearcoatTexture": T, "clearcoatFactor": 0.25}}})",
       Vec3f::Constant(0.25f)},
      {"clearcoat_roughness",
       R"({"extensions": {"KHR_materials_clearcoat": {"clearcoatRoughnessTexture": T, "clearcoatRoughnessFactor": 0.25}}})",
       Vec3f::Constant(0.25f)},
      {"clearcoat_normal",
       R"({"extensions": {"KHR_materials_clearcoat": {"clearcoatNormalTexture": {"index": 1, "scale": 0.5}}}})",
       Vec3f::Constant(0.5f)},
      {"sheen_color",
       R"({"extensions": {"KHR_materials_sheen": {"sheenColorTexture": T, "sheenColorFactor": [0.5, 1, 0.25]}}})",
       {0.5f, 1, 0.25f}},
      {"sheen_roughness",
       R"({"extensions": {"KHR_materials_sheen": {"sheenRoughnessTexture": T, "sheenRoughnessFactor": 0.25}}})",
       Vec3f::Constant(0.25f)},
      {"transmission",
       R"({"extensions": {"KHR_materials_transmission": {"transmissionTexture": T, "transmissionFactor": 0.25}}})",
       Vec3f::Constant(0.25f)},
      {"thickness",
       R"({"extensions": {"KHR_materials_volume": {"thicknessTexture": T, "thicknessFactor": 3}}})",
       Vec3f::Constant(3)},
      {"specular",
       R"({"extensions": {"KHR_materials_specular": {"specularTexture": T, "specularFactor": 0.25}}})",
       Vec3f::Constant(0.25f)},
      {"specular_color",
       R"({"extensions": {"KHR_materials_specular": {"specularColorTexture": T, "specularColorFactor": [2, 1, 0.25]}}})",
       {2, 1, 0.25f}},
      {"anisotropy",
       R"({"extensions": {"KHR_materials_anisotropy": {"anisotropyTexture": T, "anisotropyStrength": 0.25, "anisotropyRotation": 0.5}}})",
       Vec3f::Constant(0.25f)},
      {"iridescence",
       R"({"extensions": {"KHR_materials_iridescence": {"iridescenceTexture": T, "iridescenceFactor": 0.25}}})",
       Vec3f::Constant(0.25f)},
      {"iridescence_thickness",
       R"({"extensions": {"KHR_materials_iridescence": {"iridescenceThicknessTexture": T, "iridescenceThicknessMaximum": 700}}})",
       Vec3f::Constant(700)},
      {"diffuse_transmission",
       R"({"extensions": {"KHR_materials_diffuse_transmission": {"diffuseTransmissionTexture": T, "diffuseTransmissionFactor": 0.25}}})",
       Vec3f::Constant(0.25f)},
      {"diffuse_transmission_color",
       R"({"extensions": {"KHR_materials_diffuse_transmission": {"diffuseTransmissionColorTexture": T, "diffuseTransmissionColorFactor": [0.5, 1, 0.25]}}})",
       {0.5f, 1, 0.25f}},
  };
  return all;
}

Json materialOf(const Spelled& spelled, const std::string& texture = R"({"index": 1})") {
  std::string text = spelled.material;
  if (const std::size_t at = text.find(": T"); at != std::string::npos) text.replace(at + 2, 1, texture);
  return Json::parse(text);
}

TEST(MaterialSlots, TableIsConsistent) {
  std::set<std::string_view> names;
  for (const MaterialSlot& s : kMaterialSlots) {
    EXPECT_TRUE(names.insert(s.channel).second) << s.channel;
    EXPECT_TRUE(s.count == 1 || s.count == 3) << s.channel;
    EXPECT_EQ(s.rule == SlotRule::kBetween, !s.low.empty()) << s.channel;
    EXPECT_EQ(s.strength.empty(), s.strength_in.empty()) << s.channel;
    EXPECT_TRUE(s.bounded || s.values == ColorSpace::kLinear) << s.channel << ": sRGB ends at 1";
    EXPECT_TRUE(!s.bounded || s.standard <= 1) << s.channel;
    for (std::size_t c = 0; c < s.count; ++c)
      EXPECT_LE(s.components[c], 3) << s.channel;
    EXPECT_TRUE(s.rotation.empty() || s.rule == SlotRule::kTangent) << s.channel;
  }
  EXPECT_EQ(slotOf("metallic"), 0u);
  EXPECT_EQ(slotOf("base_color"), kSlotCount) << "not a slot of this table";
  EXPECT_EQ(spelled().size(), kSlotCount) << "every line of the table is tested below";
}

TEST(MaterialSlots, EachIsReadWhereGltfHasIt) {
  for (const Spelled& s : spelled()) {
    SCOPED_TRACE(s.channel);
    const Result<Asset> asset = load(squareWith(materialOf(s)));
    ASSERT_TRUE(asset) << asset.error().message;
    EXPECT_TRUE(asset->notices.empty());
    const SlotUse& use = slot(*asset, s.channel);
    ASSERT_GE(use.texture.texture, 0);
    const int image = asset->textures.at(static_cast<std::size_t>(use.texture.texture)).image;
    EXPECT_EQ(asset->images.at(static_cast<std::size_t>(image))->texel(0, 0)[0], 200);
    EXPECT_EQ(use.factor, s.factor);
    EXPECT_EQ(use.rotation, std::string_view(s.channel) == "anisotropy" ? 0.5f : 0.0f);
    // Nothing but the slots that share the texture is read.
    for (std::size_t other = 0; other < kSlotCount; ++other) {
      const MaterialSlot& slot = kMaterialSlots[other];
      if (slot.texture == kMaterialSlots[slotOf(s.channel)].texture) continue;
      EXPECT_EQ(asset->materials[0].slots[other].texture.texture, -1) << slot.channel;
      EXPECT_EQ(asset->materials[0].slots[other].factor, Vec3f(Vec3f::Constant(slot.standard)))
          << slot.channel;
    }
  }
}

TEST(MaterialSlots, WithoutAWordTheyHaveTheFactorsOfTheSpecification) {
  const Result<Asset> asset = load(squareWith(Json::object()));
  ASSERT_TRUE(asset);
  EXPECT_EQ(slot(*asset, "metallic").factor.x(), 1);
  EXPECT_EQ(slot(*asset, "roughness").factor.x(), 1);
  EXPECT_EQ(slot(*asset, "emissive").factor, Vec3f(0, 0, 0));
  EXPECT_EQ(slot(*asset, "clearcoat").factor.x(), 0);
  EXPECT_EQ(slot(*asset, "specular_color").factor, Vec3f(1, 1, 1));
  EXPECT_EQ(slot(*asset, "iridescence_thickness").factor.x(), 400);
  EXPECT_EQ(slot(*asset, "iridescence_thickness").low, 100);
}

TEST(MaterialSlots, EachHasItsOwnTransformAndCoordinates) {
  for (const Spelled& s : spelled()) {
    if (std::string(s.material).find(": T") == std::string::npos) continue;
    SCOPED_TRACE(s.channel);
    GltfBuilder builder = squareWith(materialOf(
        s,
        R"({"index": 1, "texCoord": 1, "extensions": {"KHR_texture_transform": {"offset": [0.5, 0.25], "scale": [2, 3], "rotation": 1}}})"));
    builder.primitive()["attributes"]["TEXCOORD_1"] = 1;
    const Result<Asset> asset = load(builder);
    ASSERT_TRUE(asset) << asset.error().message;
    const TextureUse& use = slot(*asset, s.channel).texture;
    EXPECT_EQ(use.uv_set, 1);
    EXPECT_EQ(use.offset, Vec2f(0.5f, 0.25f));
    EXPECT_EQ(use.scale, Vec2f(2, 3));
    EXPECT_EQ(use.rotation, 1);
  }
}

TEST(MaterialSlots, WrongTypesAndIndicesAreRefused) {
  for (const Spelled& s : spelled()) {
    SCOPED_TRACE(s.channel);
    if (std::string(s.material).find(": T") != std::string::npos) {
      for (const char* texture :
           {R"({"index": 2})", R"({"index": -1})", R"({})", "7", R"({"index": 1, "texCoord": 64})"}) {
        const Result<Asset> asset = load(squareWith(materialOf(s, texture)));
        ASSERT_FALSE(asset) << texture;
        EXPECT_EQ(asset.error().kind, ErrorKind::kInput);
      }
    }
    Json text = materialOf(s);
    // Every factor becomes a word.
    const std::string factor(kMaterialSlots[slotOf(s.channel)].factor);
    std::string dumped = text.dump();
    const std::size_t at = dumped.find("\"" + factor + "\":");
    ASSERT_NE(at, std::string::npos);
    const std::size_t value = at + factor.size() + 3;
    const std::size_t end =
        dumped[value] == '[' ? dumped.find(']', value) + 1 : dumped.find_first_of(",}", value);
    for (const char* wrong : {"\"much\"", "[1]", "null", "{}"}) {
      std::string bad = dumped;
      bad.replace(value, end - value, wrong);
      EXPECT_FALSE(load(squareWith(Json::parse(bad)))) << wrong;
    }
  }
}

TEST(MaterialSlots, FactorsOutOfRangeAreClampedWithANotice) {
  const auto factorOf = [](const char* material, const char* channel) {
    const Result<Asset> asset = load(squareWith(Json::parse(material)));
    EXPECT_TRUE(asset) << asset.error().message;
    EXPECT_NE(findNotice(*asset, "factor_clamped"), nullptr);
    return slot(*asset, channel).factor;
  };
  EXPECT_EQ(factorOf(R"({"pbrMetallicRoughness": {"metallicFactor": 7}})", "metallic").x(), 1);
  EXPECT_EQ(factorOf(R"({"pbrMetallicRoughness": {"roughnessFactor": -7}})", "roughness").x(), 0);
  EXPECT_EQ(factorOf(R"({"emissiveFactor": [1, -1, 1e30]})", "emissive"), Vec3f(1, 0, kMaxFactor));
  EXPECT_EQ(factorOf(R"({"normalTexture": {"index": 0, "scale": -1e30}})", "normal").x(), -kMaxFactor);
  // Products of two factors stay finite, too.
  const Result<Asset> asset = load(squareWith(Json::parse(
      R"({"emissiveFactor": [1e6, 0, 1], "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 1e300}}})")));
  ASSERT_TRUE(asset);
  EXPECT_EQ(slot(*asset, "emissive").factor, Vec3f(kMaxFactor, 0, kMaxFactor));
}

TEST(MaterialSlots, ImagesThatCannotBeReadAreLeftOutButNotTheBaseColour) {
  GltfBuilder builder = squareWith(Json::parse(R"({"occlusionTexture": {"index": 1}})"));
  builder.add("materials", {{"pbrMetallicRoughness", {{"baseColorTexture", {{"index", 0}}}}}});
  LoadOptions options;
  options.max_total_pixels = 3;  // two images of two pixels
  const Result<Asset> asset = load(builder, options);
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_NE(findNotice(*asset, "image_left_out"), nullptr);
  ASSERT_EQ(asset->images.size(), 1u);
  EXPECT_EQ(asset->images[0]->texel(0, 0)[0], 10);
  EXPECT_EQ(asset->textures[static_cast<std::size_t>(slot(*asset, "occlusion").texture.texture)].image, -1);
}

TEST(MaterialSlots, SpecularAndGlossinessAreNoMetal) {
  const Result<Asset> asset = load(squareWith(Json::parse(
      R"({"extensions": {"KHR_materials_pbrSpecularGlossiness": {"diffuseFactor": [1, 0, 0, 1], "glossinessFactor": 0.25}}})")));
  ASSERT_TRUE(asset);
  EXPECT_EQ(slot(*asset, "metallic").factor.x(), 0);
  EXPECT_EQ(slot(*asset, "roughness").factor.x(), 0.75f);
}

TEST(MaterialSlots, AnAssetIsWrittenWithAllOfThem) {
  for (const Spelled& s : spelled()) {
    SCOPED_TRACE(s.channel);
    Result<Asset> asset = load(squareWith(materialOf(s)));
    ASSERT_TRUE(asset);
    asset->file = nullptr;
    const auto glb = encodeGlb(*asset);
    ASSERT_TRUE(glb);
    const Result<Asset> back = readGltfBytes(*glb, "back.glb");
    ASSERT_TRUE(back) << back.error().message;
    for (std::size_t i = 0; i < kSlotCount; ++i) {
      EXPECT_EQ(back->materials.at(0).slots[i].factor, asset->materials[0].slots[i].factor)
          << kMaterialSlots[i].channel;
      EXPECT_EQ(back->materials[0].slots[i].low, asset->materials[0].slots[i].low);
      EXPECT_EQ(back->materials[0].slots[i].rotation, asset->materials[0].slots[i].rotation);
      EXPECT_EQ(back->materials[0].slots[i].texture.texture >= 0,
                asset->materials[0].slots[i].texture.texture >= 0);
    }
  }
}

TEST(MaterialSlots, ValuesAreTexelTimesFactorAsTheSpecificationSays) {
  const auto value = [](const char* channel, float factor, float texel, float low = 0) {
    return slotValue(kMaterialSlots[slotOf(channel)], Vec3f::Constant(factor), low, Vec3f::Constant(texel))
        .x();
  };
  EXPECT_EQ(value("metallic", 0.5f, 0.25f), 0.125f);
  EXPECT_EQ(value("occlusion", 0.5f, 0.25f), 0.625f);
  EXPECT_EQ(value("occlusion", 0.5f, 1), 1) << "without texture";
  EXPECT_EQ(value("iridescence_thickness", 400, 0.25f, 100), 175);
  EXPECT_EQ(value("iridescence_thickness", 400, 1, 100), 400) << "without texture";
  EXPECT_EQ(value("emissive", 8, 0.25f), 2);
}

}  // namespace
}  // namespace heatskin
