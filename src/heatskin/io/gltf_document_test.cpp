#include "heatskin/io/gltf_document.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/files.h"
#include "heatskin/io/gltf_container.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/io/image.h"

#include "support/gltf_builder.h"

namespace heatskin {
namespace {

using testing::GltfBuilder;
using Json = GltfBuilder::Json;

std::vector<std::uint8_t> png(std::uint8_t level, int size) {
  const std::vector<std::uint8_t> pixels(static_cast<std::size_t>(3 * size * size), level);
  return *encodePng(pixels, size, size, 3);
}

/// A triangle with base colour and normal texture, and things that a reader of triangles never looks at.
GltfBuilder richFile() {
  GltfBuilder b;
  const auto base = b.addView(png(200, 8));
  const auto positions = b.addAccessor<float>({0, 0, 0, 1, 0, 0, 0, 1, 0}, "VEC3");
  const auto normal = b.addView(png(128, 4));
  const auto uvs = b.addAccessor<float>({0, 0, 1, 0, 0, 1}, "VEC2");
  const auto mystery = b.addView(testing::bytesOf(std::vector<std::uint16_t>{1, 2, 3, 4, 5}));
  b.add("images", {{"bufferView", base}, {"mimeType", "image/png"}, {"name", "base"}});
  b.add("images", {{"bufferView", normal}, {"mimeType", "image/png"}, {"name", "normal"}});
  b.add("samplers", {{"wrapS", 33071}});
  b.add("samplers", {{"wrapS", 33648}});
  b.add("textures", {{"source", 0}, {"sampler", 0}});
  b.add("textures", {{"source", 1}, {"sampler", 1}});
  b.add("materials", {{"name", "m"},
                      {"pbrMetallicRoughness",
                       {{"baseColorTexture",
                         {{"index", 0}, {"extensions", {{"KHR_texture_transform", {{"scale", {2, 2}}}}}}}},
                        {"roughnessFactor", 0.25}}},
                      {"normalTexture", {{"index", 1}, {"scale", 0.5}}}});
  b.addMesh({{"attributes", {{"POSITION", positions}, {"TEXCOORD_0", uvs}}}, {"material", 0}});
  b.json["extensionsUsed"] = {"KHR_texture_transform"};
  b.json["nodes"][0]["extras"] = {{"answer", 42}, {"bufferView", "not one"}};
  b.json["cameras"] =
      Json::array({{{"type", "perspective"}, {"perspective", {{"yfov", 1}, {"znear", 0.1}}}}});
  b.json["asset"]["copyright"] = "(c) somebody";
  b.json["extras"] = {{"mystery", mystery}};
  return b;
}

struct Written {
  Json json;
  std::vector<std::uint8_t> bin;

  std::vector<std::uint8_t> view(std::size_t i) const {
    const Json& v = json["bufferViews"][i];
    const auto begin = v.value("byteOffset", std::size_t{0}), size = v["byteLength"].get<std::size_t>();
    return {bin.begin() + static_cast<std::ptrdiff_t>(begin),
            bin.begin() + static_cast<std::ptrdiff_t>(begin + size)};
  }
};

Written parts(const std::vector<std::uint8_t>& glb) {
  const auto split = gltf::splitGlb(glb);
  EXPECT_TRUE(split);
  return {Json::parse(split->json.begin(), split->json.end()), {split->bin->begin(), split->bin->end()}};
}

Written written(GltfDocument& document) {
  const auto glb = document.finish();
  EXPECT_TRUE(glb) << glb.error().message;
  EXPECT_TRUE(readGltfBytes(*glb, "out.glb"));
  return parts(*glb);
}

GltfDocument opened(const std::vector<std::uint8_t>& bytes, const std::filesystem::path& path = "in.glb") {
  auto document = GltfDocument::open(bytes, path);
  EXPECT_TRUE(document) << document.error().message;
  return std::move(*document);
}

TEST(GltfDocument, UnchangedItIsWrittenAsItWas) {
  const GltfBuilder b = richFile();
  const auto glb = b.glb();
  for (const auto& bytes : {glb, b.gltf()}) {
    GltfDocument document = opened(bytes);
    document.dropUnused();
    const Written out = written(document), in = parts(glb);
    Json a = in.json, c = out.json;
    for (Json* json : {&a, &c})
      json->erase("buffers"), json->erase("bufferViews");
    EXPECT_EQ(a, c);
    ASSERT_EQ(out.json["bufferViews"].size(), in.json["bufferViews"].size());
    for (std::size_t v = 0; v < in.json["bufferViews"].size(); ++v)
      EXPECT_EQ(out.view(v), in.view(v)) << v;
  }
}

TEST(GltfDocument, WhatATextureAloneUsedGoesWithIt) {
  GltfDocument document = opened(richFile().glb());
  document.root()["materials"][0]["pbrMetallicRoughness"].erase("baseColorTexture");
  document.dropUnused();
  const Written out = written(document), in = parts(richFile().glb());
  ASSERT_EQ(out.json["textures"].size(), 1u);
  EXPECT_EQ(out.json["materials"][0]["normalTexture"]["index"], 0) << "numbers follow";
  EXPECT_EQ(out.json["textures"][0]["source"], 0);
  EXPECT_EQ(out.json["textures"][0]["sampler"], 0);
  EXPECT_EQ(out.json["images"][0]["name"], "normal");
  EXPECT_EQ(out.json["samplers"][0]["wrapS"], 33648);
  EXPECT_EQ(out.view(out.json["images"][0]["bufferView"].get<std::size_t>()), in.view(2));
  EXPECT_FALSE(out.json.contains("extensionsUsed")) << "nothing uses KHR_texture_transform any more";
  EXPECT_EQ(out.json["asset"]["copyright"], "(c) somebody");
  EXPECT_EQ(out.json["nodes"][0]["extras"]["answer"], 42);
  EXPECT_EQ(out.json["bufferViews"].size(), in.json["bufferViews"].size() - 1);
  EXPECT_LT(out.bin.size(), in.bin.size());
  EXPECT_EQ(out.view(out.json["accessors"][1]["bufferView"].get<std::size_t>()), in.view(3));
}

TEST(GltfDocument, AnImageThatAnotherSlotUsesStays) {
  GltfBuilder b = richFile();
  b.json["materials"][0]["emissiveTexture"] = {{"index", 0}};
  GltfDocument document = opened(b.glb());
  document.root()["materials"][0]["pbrMetallicRoughness"].erase("baseColorTexture");
  document.dropUnused();
  EXPECT_EQ(written(document).json["images"].size(), 2u);
}

TEST(GltfDocument, NumbersStayWhereAnUnknownExtensionMayCountOnThem) {
  GltfBuilder b = richFile();
  b.json["extensionsUsed"].push_back("ACME_strange");
  b.json["extensions"]["ACME_strange"] = {{"texture_number", 1}, {"view_number", 4}};
  GltfDocument document = opened(b.glb());
  document.root()["materials"][0]["pbrMetallicRoughness"].erase("baseColorTexture");
  document.dropUnused();
  const Written out = written(document), in = parts(b.glb());
  EXPECT_EQ(out.json["textures"].size(), 2u);
  ASSERT_EQ(out.json["images"].size(), 2u);
  EXPECT_EQ(out.json["materials"][0]["normalTexture"]["index"], 1);
  EXPECT_EQ(out.view(4), in.view(4)) << "view_number";
  const auto pixel = decodeImage(out.view(out.json["images"][0]["bufferView"].get<std::size_t>()), "pixel");
  ASSERT_TRUE(pixel) << pixel.error().message;
  EXPECT_EQ(pixel->width, 1) << "it is small now";
  EXPECT_LT(out.view(0).size(), in.view(0).size());
}

TEST(GltfDocument, SharedBytesAreWrittenOnceAndAllBuffersBecomeOne) {
  GltfBuilder b = richFile();
  // Two views on the same bytes, a part of one of them, and a second buffer.
  const Json view = b.json["bufferViews"][1];
  b.add("bufferViews", view);
  b.add("bufferViews",
        {{"buffer", 0}, {"byteOffset", view["byteOffset"].get<std::size_t>() + 4}, {"byteLength", 8}});
  const std::vector<std::uint8_t> second = {9, 8, 7, 6, 5};
  b.json["buffers"] = Json::array(
      {{{"byteLength", b.bin.size()}},
       {{"byteLength", 5}, {"uri", "data:application/octet-stream;base64," + testing::base64(second)}}});
  b.add("bufferViews", {{"buffer", 1}, {"byteOffset", 1}, {"byteLength", 4}});
  b.json["extensions"]["ACME_uses"] = {{"a", {{"bufferView", 6}}}, {"b", {{"bufferView", 7}}}};
  GltfDocument document = opened(b.glb());
  const std::size_t added = document.addBufferView(std::vector<std::uint8_t>{1, 2, 3});
  const Written out = written(document), in = parts(b.glb());
  ASSERT_EQ(out.json["buffers"].size(), 1u);
  EXPECT_FALSE(out.json["buffers"][0].contains("uri"));
  for (std::size_t v = 0; v < 7; ++v)
    EXPECT_EQ(out.view(v), in.view(v)) << v;
  EXPECT_EQ(out.view(7), (std::vector<std::uint8_t>{8, 7, 6, 5}));
  EXPECT_EQ(out.view(added), (std::vector<std::uint8_t>{1, 2, 3}));
  EXPECT_LE(out.bin.size(), in.bin.size() + 3 + 4 + 24) << "nothing is there twice";
  EXPECT_EQ(out.json["bufferViews"][5]["byteOffset"], out.json["bufferViews"][1]["byteOffset"]);
}

TEST(GltfDocument, ImagesBesideTheFileComeIn) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "gltf_document_images";
  std::filesystem::create_directories(folder);
  const auto bytes = png(77, 3);
  ASSERT_TRUE(writeFileAtomically(folder / "the base.png", bytes));
  GltfBuilder b = richFile();
  b.json["images"][0] = {{"uri", "the%20base.png"}};
  b.json["images"][1] = {{"uri", "not_there.png"}};
  GltfDocument document = opened(b.gltf(), folder / "in.gltf");
  const Written out = written(document);
  EXPECT_EQ(out.json["images"][0]["name"], "the base");
  EXPECT_EQ(out.json["images"][0]["mimeType"], "image/png");
  EXPECT_EQ(out.view(out.json["images"][0]["bufferView"].get<std::size_t>()), bytes);
  EXPECT_EQ(out.json["images"][1]["uri"], "not_there.png") << "what is missing stays a reference";
  std::filesystem::remove_all(folder);
}

TEST(GltfDocument, ViewsThatLieStayHarmless) {
  GltfBuilder b = richFile();
  b.add("bufferViews", {{"buffer", 0}, {"byteOffset", 1u << 30}, {"byteLength", 1u << 30}});
  b.add("bufferViews", {{"buffer", 77}, {"byteLength", 4}});
  b.add("bufferViews", {{"buffer", "zero"}, {"byteLength", -1}});
  b.add("bufferViews", 3);
  b.json["textures"].push_back("no object");
  b.json["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"]["index"] = 0;
  auto document = GltfDocument::open(b.glb(), "in.glb");
  ASSERT_TRUE(document) << document.error().message;
  document->dropUnused();
  EXPECT_TRUE(document->finish());
}

}  // namespace
}  // namespace heatskin
