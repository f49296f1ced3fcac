#include "heatskin/io/variants.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/gltf_reader.h"

#include "support/variant_file.h"

namespace heatskin::testing {
namespace {

using Json = GltfBuilder::Json;

Asset read(const GltfBuilder& builder) {
  auto asset = readGltfBytes(builder.glb(), "variants.glb");
  EXPECT_TRUE(asset) << (asset ? "" : asset.error().message);
  return asset ? std::move(*asset) : Asset();
}

Json& mappings(GltfBuilder& b) {
  return b.primitive(0)["extensions"]["KHR_materials_variants"]["mappings"];
}

Json& names(GltfBuilder& b) {
  return b.json["extensions"]["KHR_materials_variants"]["variants"];
}

bool warned(const Asset& asset) {
  return std::any_of(asset.notices.begin(), asset.notices.end(),
                     [](const Notice& notice) { return notice.code == "material_variants"; });
}

TEST(Variants, AreReadWithTheirMappings) {
  const Asset asset = read(variantFile());
  EXPECT_EQ(asset.variants, (std::vector<std::string>{"stripes", "plain", "usual"}));
  EXPECT_FALSE(warned(asset));
  const Primitive& left = asset.meshes[0].primitives[0];
  ASSERT_EQ(left.variants.size(), 3u);
  EXPECT_EQ(left.variants[1].material, 2);
  EXPECT_EQ(left.variants[1].variants, std::vector<std::uint32_t>{1});
  EXPECT_TRUE(asset.meshes[1].primitives[0].variants.empty());
}

TEST(Variants, LooksAreWhatDiffers) {
  GltfBuilder b = variantFile();
  names(b).push_back({{"name", "also stripes"}});
  mappings(b)[0]["variants"] = {0, 3};
  const std::vector<VariantLook> looks = variantLooks(read(b));
  ASSERT_EQ(looks.size(), 2u) << "'usual' changes nothing";
  EXPECT_EQ(looks[0].names, (std::vector<std::string>{"stripes", "also stripes"}));
  ASSERT_EQ(looks[0].changes.size(), 1u);
  EXPECT_EQ(looks[0].changes[0].material, 1);
  EXPECT_EQ(looks[1].names, std::vector<std::string>{"plain"});

  Asset asset = read(b);
  const Asset original = asset;
  setLook(asset, looks[1]);
  EXPECT_EQ(asset.meshes[0].primitives[0].material, 2);
  EXPECT_EQ(asset.meshes[1].primitives[0].material, 3);
  unsetLook(asset, original, looks[1]);
  EXPECT_EQ(asset.meshes[0].primitives[0].material, 0);
}

TEST(Variants, AreSelectedByName) {
  Asset asset = read(variantFile());
  ASSERT_TRUE(selectVariant(asset, "plain"));
  EXPECT_EQ(asset.variant, "plain");
  EXPECT_EQ(asset.meshes[0].primitives[0].material, 2);
  EXPECT_EQ(asset.meshes[1].primitives[0].material, 3);
  const auto unknown = selectVariant(asset, "Plain");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::kUsage);
  for (const char* name : {"stripes", "plain", "usual"})
    EXPECT_NE(unknown.error().message.find(name), std::string::npos) << unknown.error().message;
  Asset none;
  EXPECT_FALSE(selectVariant(none, "plain"));
}

/// Whatever is wrong with them, the file shows its default.
TEST(Variants, WhatCannotBeUsedIsLeftOutWithANotice) {
  const auto broken = [](const auto& change) {
    GltfBuilder b = variantFile();
    change(b);
    const Asset asset = read(b);
    EXPECT_EQ(asset.meshes.size(), 2u);
    EXPECT_EQ(asset.meshes[0].primitives[0].material, 0);
    EXPECT_TRUE(warned(asset));
    return asset;
  };
  EXPECT_EQ(broken([](GltfBuilder& b) { mappings(b)[0]["variants"] = {99}; })
                .meshes[0]
                .primitives[0]
                .variants.size(),
            2u);
  EXPECT_EQ(
      broken([](GltfBuilder& b) { mappings(b)[0]["material"] = 4; }).meshes[0].primitives[0].variants.size(),
      2u);
  for (const Json& wrong : {Json(-1), Json("1"), Json(1.5), Json(nullptr), Json::object()}) {
    broken([&](GltfBuilder& b) { mappings(b)[0]["material"] = wrong; });
    broken([&](GltfBuilder& b) { mappings(b)[0]["variants"] = {wrong}; });
    if (!wrong.is_string()) broken([&](GltfBuilder& b) { names(b)[0]["name"] = wrong; });
    broken([&](GltfBuilder& b) { mappings(b)[0] = wrong; });
  }
  const Asset twice = broken([](GltfBuilder& b) { names(b)[1]["name"] = "stripes"; });
  EXPECT_EQ(twice.variants, (std::vector<std::string>{"stripes", "usual"}));
  EXPECT_EQ(variantLooks(twice).size(), 1u) << "what was mapped to the second one goes with it";
  const Asset mapped_twice = broken([](GltfBuilder& b) { mappings(b)[1]["variants"] = {0, 1}; });
  EXPECT_EQ(variantLooks(mapped_twice)[0].changes[0].material, 1) << "the first mapping counts";
  broken([](GltfBuilder& b) { names(b)[0]["name"] = std::string(kMaxVariantName + 1, 'x'); });
  broken([](GltfBuilder& b) { names(b)[0]["name"] = ""; });
}

TEST(Variants, EmptyListsAndThousandsAreFine) {
  GltfBuilder empty = variantFile();
  names(empty) = Json::array();
  mappings(empty) = Json::array();
  EXPECT_TRUE(read(empty).variants.empty());
  GltfBuilder no_list = variantFile();
  no_list.json["extensions"]["KHR_materials_variants"] = 7;
  EXPECT_TRUE(read(no_list).variants.empty());

  GltfBuilder many = variantFile();
  names(many) = Json::array();
  mappings(many) = Json::array();
  for (int i = 0; i < 5000; ++i) {
    names(many).push_back({{"name", "v" + std::to_string(i)}});
    mappings(many).push_back({{"material", 1 + i % 3}, {"variants", {i}}});
  }
  const Asset asset = read(many);
  EXPECT_EQ(asset.variants.size(), kMaxVariants);
  EXPECT_TRUE(warned(asset));
  EXPECT_EQ(variantLooks(asset).size(), 3u);
}

}  // namespace
}  // namespace heatskin::testing
