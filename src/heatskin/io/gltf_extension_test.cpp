#include "heatskin/io/gltf_extension.h"

#include <string>

#include <gtest/gtest.h>

#include "heatskin/io/gltf_reader.h"

#include "support/gltf_builder.h"

namespace heatskin {
namespace {

using testing::GltfBuilder;
using testing::squareBuilder;

constexpr const char* kName = "HSK_kernel_texture";

std::string text(const Result<std::optional<std::string_view>>& member) {
  if (!member) return "refused";
  return *member ? std::string(**member) : "nothing";
}

TEST(MemberText, FindsTheValueAsWritten) {
  const std::string object = R"( { "a" : 1 , "b":{"a": [1, "}", {"c":"\"]"}]} , "\u0063" : "x,y" })";
  EXPECT_EQ(text(gltf::memberText(object, "a")), "1");
  EXPECT_EQ(text(gltf::memberText(object, "b")), R"({"a": [1, "}", {"c":"\"]"}]})");
  EXPECT_EQ(text(gltf::memberText(object, "c")), "\"x,y\"");
  EXPECT_EQ(text(gltf::memberText(object, "d")), "nothing");
  EXPECT_EQ(text(gltf::memberText("{}", "a")), "nothing");
  EXPECT_EQ(text(gltf::memberText("[1]", "a")), "nothing");
  EXPECT_EQ(text(gltf::memberText("", "a")), "nothing");
}

TEST(MemberText, RefusesTwoOfTheSameName) {
  EXPECT_EQ(text(gltf::memberText(R"({"a":1,"b":2,"a":1})", "a")), "refused");
  EXPECT_EQ(text(gltf::memberText(R"({"a":1,"\u0061":1})", "a")), "refused");
}

TEST(MemberText, SurvivesTextThatEndsAnywhere) {
  const std::string object = R"({"a\\":[{"b":"c\"d"}],"x":{"y":null}})";
  for (std::size_t length = 0; length <= object.size(); ++length)
    (void)gltf::memberText(std::string_view(object).substr(0, length), "x");
}

/// A square with the extension; the views are 3 and 4.
GltfBuilder extended() {
  GltfBuilder builder = squareBuilder();
  builder.json["extensionsUsed"] = {kName};
  builder.addView(std::vector<std::uint8_t>{1, 2, 3, 4, 5});
  builder.addView(std::vector<std::uint8_t>{9, 8, 7});
  builder.json["extensions"][kName] = {
      {"list", {{{"bufferView", 4}}, {{"bufferView", 3}}, {{"bufferView", 4}}}}, {"number", 0.5}};
  return builder;
}

TEST(RawExtension, IsHandedOnWithItsViews) {
  const GltfBuilder builder = extended();
  for (const auto& bytes : {builder.glb(), builder.gltf()}) {
    const auto asset = readGltfBytes(bytes, "a");
    ASSERT_TRUE(asset) << asset.error().message;
    ASSERT_EQ(asset->raw_extensions.size(), 1u);
    const RawExtension& raw = asset->raw_extensions[0];
    EXPECT_EQ(raw.name, kName);
    EXPECT_TRUE(raw.listed);
    EXPECT_EQ(raw.json, builder.json["extensions"][kName].dump());
    ASSERT_EQ(raw.views.size(), 2u);
    EXPECT_EQ(raw.views[0].index, 3u);
    EXPECT_EQ(raw.views[0].bytes, (std::vector<std::uint8_t>{1, 2, 3, 4, 5}));
    EXPECT_EQ(raw.views[1].index, 4u);
    EXPECT_EQ(raw.views[1].bytes, (std::vector<std::uint8_t>{9, 8, 7}));
  }
}

TEST(RawExtension, ViewsOfVerticesAreRefused) {
  const std::pair<const char*, int> properties[] = {{"byteStride", 4}, {"target", 34962}, {"target", 34963}};
  for (const auto& [property, value] : properties) {
    GltfBuilder builder = extended();
    builder.json["bufferViews"][3][property] = value;
    for (const auto& bytes : {builder.glb(), builder.gltf()}) {
      const auto asset = readGltfBytes(bytes, "a");
      ASSERT_FALSE(asset) << property;
      EXPECT_EQ(asset.error().kind, ErrorKind::kInput);
      EXPECT_NE(asset.error().message.find(std::string(kName) + ": bufferView 3 must not have a " + property),
                std::string::npos)
          << asset.error().message;
    }
  }
}

TEST(RawExtension, BelongsToTheRootAndToNothingElse) {
  for (const char* place : {"/nodes/0", "/meshes/0", "/meshes/0/primitives/0", "/scenes/0", "/accessors/0",
                            "/asset", "/extensions/OTHER_extension"}) {
    for (const bool also_root : {false, true}) {
      GltfBuilder builder = also_root ? extended() : squareBuilder();
      builder.json["extensionsUsed"] = {kName};
      builder.json[nlohmann::json::json_pointer(std::string(place) + "/extensions/" + kName)] = {
          {"version", "1.0"}};
      const auto asset = readGltfBytes(builder.glb(), "a");
      ASSERT_FALSE(asset) << place;
      EXPECT_NE(asset.error().message.find("belongs to the root of the document, not to '"),
                std::string::npos)
          << asset.error().message;
    }
  }
  // Extras are the author's own.
  GltfBuilder builder = squareBuilder();
  builder.json["nodes"][0]["extras"]["extensions"][kName] = 1;
  EXPECT_TRUE(readGltfBytes(builder.glb(), "a"));
}

TEST(RawExtension, IsAbsentFromOrdinaryFiles) {
  GltfBuilder builder = squareBuilder();
  auto asset = readGltfBytes(builder.glb(), "a.glb");
  ASSERT_TRUE(asset);
  EXPECT_TRUE(asset->raw_extensions.empty());
  builder.json["extensionsUsed"] = {kName};
  builder.json["extensions"]["OTHER_extension"] = {{"bufferView", 999}};
  asset = readGltfBytes(builder.glb(), "a.glb");
  ASSERT_TRUE(asset) << "what is not handed on is not looked at";
  EXPECT_TRUE(asset->raw_extensions.empty());
}

TEST(RawExtension, SaysWhenItIsNotListed) {
  GltfBuilder builder = extended();
  builder.json.erase("extensionsUsed");
  const auto asset = readGltfBytes(builder.glb(), "a.glb");
  ASSERT_TRUE(asset);
  EXPECT_FALSE(asset->raw_extensions.at(0).listed);
}

std::string refusal(const GltfBuilder& builder) {
  const auto asset = readGltfBytes(builder.glb(), "a.glb");
  if (asset) return "";
  EXPECT_EQ(asset.error().kind, ErrorKind::kInput);
  return asset.error().message;
}

TEST(RawExtension, ViewsMustExistInsideTheirBuffer) {
  GltfBuilder builder = extended();
  EXPECT_EQ(refusal(builder), "");
  builder.json["extensions"][kName]["list"][0]["bufferView"] = 5;
  EXPECT_EQ(refusal(builder), "a.glb: HSK_kernel_texture: bufferView 5 does not exist");
  for (const auto& wrong : {GltfBuilder::Json(-1), GltfBuilder::Json("3"), GltfBuilder::Json(1.5)}) {
    builder.json["extensions"][kName]["list"][0]["bufferView"] = wrong;
    EXPECT_NE(refusal(builder).find("not an index"), std::string::npos);
  }
  builder = extended();
  builder.json["bufferViews"][4]["byteLength"] = 1000000;
  EXPECT_NE(refusal(builder).find("HSK_kernel_texture: bufferView 4 out of range"), std::string::npos);
  builder = extended();
  builder.json["extensions"][kName] = 3;
  EXPECT_NE(refusal(builder).find("must be a JSON object"), std::string::npos);
}

TEST(RawExtension, ManyViewsOfTheSameBytesDoNotMultiplyThem) {
  GltfBuilder builder = extended();
  // 4,000 views of one megabyte: four gigabytes if each were copied without a thought.
  const std::size_t large = builder.addView(std::vector<std::uint8_t>(std::size_t{1} << 20));
  const auto view = builder.json["bufferViews"][large];
  for (int i = 0; i < 4000; ++i) {
    builder.json["bufferViews"].push_back(view);
    builder.json["extensions"][kName]["list"].push_back(
        {{"bufferView", builder.json["bufferViews"].size() - 1}});
  }
  EXPECT_NE(refusal(builder).find("too large"), std::string::npos);
}

TEST(RawExtension, GivenTwiceIsRefused) {
  GltfBuilder builder = extended();
  const auto bytes = builder.gltf();
  const std::string name = "\"" + std::string(kName) + "\":";
  for (const std::string& where : {name, std::string("\"extensions\":")}) {
    std::string json(bytes.begin(), bytes.end());
    // The root's own list of names comes without a colon.
    json.insert(json.find(where), where + "{},");
    const auto asset =
        readGltfBytes({reinterpret_cast<const std::uint8_t*>(json.data()), json.size()}, "a.gltf");
    ASSERT_FALSE(asset) << where;
    EXPECT_NE(asset.error().message.find("given twice"), std::string::npos) << asset.error().message;
  }
}

}  // namespace
}  // namespace heatskin
