// The outer shell: GLB chunks, JSON limits, version and extension checks, buffers.

#include "heatskin/io/gltf_container.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/gltf_json.h"
#include "heatskin/io/gltf_reader.h"

#include "support/asset_views.h"
#include "support/gltf_builder.h"
#include "support/gltf_outcome.h"
#include "support/temporary_folder.h"

namespace heatskin {
namespace {

using testing::findNotice;
using testing::GltfBuilder;
using testing::outcome;
using testing::squareBuilder;
using Bytes = std::vector<std::uint8_t>;
using Json = nlohmann::json;

std::string outcome(const Bytes& file, const std::string& name = "test.glb") {
  const Result<Asset> asset = readGltfBytes(file, name);
  return asset ? "ok" : asset.error().message;
}

void putU32(Bytes& file, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i)
    file[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

Bytes bytesOfText(const std::string& text) {
  return {text.begin(), text.end()};
}

TEST(Glb, GoodFileLoadsWithoutNotices) {
  const Result<Asset> asset = readGltfBytes(squareBuilder().glb(), "a.glb");
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_TRUE(asset->notices.empty());
  EXPECT_EQ(asset->format, "glb");
  EXPECT_EQ(asset->path, "a.glb");
  ASSERT_EQ(asset->meshes.size(), 1u);
  EXPECT_EQ(asset->meshes[0].primitives[0].triangles, (std::vector<std::uint32_t>{0, 1, 2, 0, 2, 3}));
  EXPECT_EQ(asset->stored_vertices, 4u);
}

TEST(Glb, EveryTruncationIsRefused) {
  const Bytes file = squareBuilder().glb();
  for (std::size_t length = 0; length < file.size(); ++length) {
    EXPECT_NE(outcome(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length))), "ok")
        << length;
  }
}

TEST(Glb, HeaderAndChunksAreChecked) {
  const Bytes good = squareBuilder().glb();
  Bytes file = good;
  file[0] = 'x';
  EXPECT_EQ(outcome(file), "test.glb: not a GLB file (wrong magic number)");
  file = good;
  putU32(file, 4, 1);
  EXPECT_EQ(outcome(file), "test.glb: GLB version 1 is not supported, only version 2");
  file = good;
  putU32(file, 8, static_cast<std::uint32_t>(good.size() + 4));
  EXPECT_NE(outcome(file).find("the GLB header says"), std::string::npos);
  file = good;
  putU32(file, 12, 0xFFFFFFFF);
  EXPECT_NE(outcome(file).find("JSON chunk runs past the end"), std::string::npos);
  file = good;
  putU32(file, 16, 0x004E4942);
  EXPECT_EQ(outcome(file), "test.glb: the first GLB chunk is not JSON");
  // Unknown chunks after the known ones are skipped.
  file = good;
  const Bytes extra = {4, 0, 0, 0, 'X', 'T', 'R', 'A', 1, 2, 3, 4};
  file.insert(file.end(), extra.begin(), extra.end());
  putU32(file, 8, static_cast<std::uint32_t>(file.size()));
  EXPECT_EQ(outcome(file), "ok");
}

TEST(Glb, NamedGltfIsReadAllTheSameAndSaid) {
  const Result<Asset> asset = readGltfBytes(squareBuilder().glb(), "a.gltf");
  ASSERT_TRUE(asset);
  EXPECT_NE(findNotice(*asset, "glb_content"), nullptr);
  EXPECT_NE(outcome(squareBuilder().gltf(), "a.glb"), "ok");
}

TEST(GltfJsonText, ByteOrderMarkAndEmbeddedBuffer) {
  Bytes file = squareBuilder().gltf();
  EXPECT_EQ(outcome(file, "a.gltf"), "ok");
  file.insert(file.begin(), {0xEF, 0xBB, 0xBF});
  const Result<Asset> asset = readGltfBytes(file, "a.gltf");
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_EQ(asset->format, "gltf");
  EXPECT_TRUE(asset->notices.empty());
}

TEST(GltfJsonText, ZerosInsteadOfSpacesAsPadding) {
  Bytes file = squareBuilder().gltf();
  file.insert(file.end(), 3, 0);
  EXPECT_EQ(outcome(file, "a.gltf"), "ok");
}

TEST(GltfJsonText, SyntaxErrorsHaveAPosition) {
  EXPECT_EQ(outcome(bytesOfText("{\n \"asset\": nan}"), "a.gltf"),
            "a.gltf: invalid JSON at line 2, column 12");
  EXPECT_NE(outcome(bytesOfText(""), "a.gltf"), "ok");
  EXPECT_NE(outcome(bytesOfText("[]"), "a.gltf").find("not a glTF file"), std::string::npos);
  EXPECT_NE(
      outcome(bytesOfText("{\"asset\":{\"version\":\"2.0\"},\"x\":1e999}"), "a.gltf").find("invalid JSON"),
      std::string::npos);
}

TEST(GltfJsonText, DepthAndNumberOfValuesAreBounded) {
  const std::string deep = std::string(200000, '[');
  EXPECT_NE(outcome(bytesOfText(deep), "a.gltf").find("nested too deep"), std::string::npos);
  // Brackets inside strings are text, also after an escaped quote.
  const std::string quoted =
      R"({"asset":{"version":"2.0"},"extras":"\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[)" +
      std::string(100, '[') + "\"}";
  EXPECT_NE(outcome(bytesOfText(quoted), "a.gltf").find("no triangles"), std::string::npos);
  std::string many = "[0";
  for (int i = 0; i < 5000000; ++i)
    many += ",0";
  many += "]";
  EXPECT_NE(outcome(bytesOfText(many), "a.gltf").find("values"), std::string::npos);
}

TEST(GltfJsonText, BrokenUtf8InNamesIsReplaced) {
  GltfBuilder builder = squareBuilder();
  builder.json["meshes"][0]["name"] = "NAME";
  Bytes file = builder.gltf();
  const std::string text(file.begin(), file.end());
  file[text.find("NAME")] = 0xFF;
  const Result<Asset> asset = readGltfBytes(file, "a.gltf");
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_EQ(asset->meshes[0].name,
            "\xEF\xBF\xBD"
            "AME");
  EXPECT_NE(findNotice(*asset, "not_utf8"), nullptr);
}

TEST(GltfJsonFields, SizesMustBeNonNegativeIntegers) {
  const Json json = Json::parse(
      R"({"a": 3, "b": 3.0, "c": -4, "d": 1.5, "e": 1e300, "f": "3", "g": null, "h": 9007199254740993, "i": 18446744073709551615})");
  for (const char* key : {"a", "b"}) {
    gltf::Fields fields(json, "x");
    EXPECT_EQ(fields.size(key, 0), 3u);
    EXPECT_TRUE(fields.ok());
  }
  for (const char* key : {"c", "d", "e", "f", "g", "i"}) {
    gltf::Fields fields(json, "x");
    EXPECT_EQ(fields.size(key, 7), 7u) << key;
    EXPECT_FALSE(fields.ok()) << key;
  }
  gltf::Fields negative(json, "accessor 0");
  negative.size("c", 0);
  EXPECT_EQ(negative.error().message, "accessor 0: invalid c -4");
  gltf::Fields missing(json, "accessor 0");
  missing.requiredSize("count");
  EXPECT_EQ(missing.error().message, "accessor 0: has no count");
  gltf::Fields index(json, "node 1");
  EXPECT_FALSE(index.index("a", 3, "mesh"));
  EXPECT_EQ(index.error().message, "node 1: mesh 3 does not exist (the file has 3)");
}

TEST(GltfDocument, VersionIsChecked) {
  GltfBuilder builder = squareBuilder();
  builder.json["asset"]["version"] = "1.0";
  EXPECT_NE(outcome(builder).find("glTF version '1.0' is not supported"), std::string::npos);
  builder.json["asset"] = Json::object();
  EXPECT_NE(outcome(builder).find("no asset.version"), std::string::npos);
  builder.json["asset"] = {{"version", "2.1"}, {"minVersion", "2.1"}};
  EXPECT_NE(outcome(builder).find("only 2.0"), std::string::npos);
  builder.json["asset"] = {{"version", "2.0"}};
  builder.json["nodes"].push_back(17);
  EXPECT_EQ(outcome(builder), "test.glb: nodes[1] must be a JSON object");
}

TEST(GltfDocument, RequiredExtensionsMustBeKnown) {
  GltfBuilder builder = squareBuilder();
  for (const char* name : {"KHR_texture_basisu", "XYZ_unknown", "MSFT_texture_dds"}) {
    builder.json["extensionsRequired"] = {name};
    EXPECT_EQ(outcome(builder),
              std::string("test.glb: the required extension '") + name + "' is not supported");
  }
  builder.json["extensionsRequired"] = {"KHR_materials_unlit", "KHR_texture_transform"};
  builder.json["extensionsUsed"] = {"KHR_materials_unlit", "KHR_texture_transform", "XYZ_unknown"};
  const Result<Asset> asset = readGltfBytes(builder.glb(), "a.glb");
  ASSERT_TRUE(asset);
  ASSERT_EQ(asset->notices.size(), 1u);
  EXPECT_EQ(asset->notices[0].code, "unknown_extension");
  EXPECT_FALSE(asset->notices[0].warning);
  EXPECT_EQ(asset->extensions.size(), 3u);
}

TEST(GltfBuffers, LengthsAndRangesAreChecked) {
  GltfBuilder builder = squareBuilder();
  builder.json["buffers"] = Json::array({{{"byteLength", 1000000000000}}});
  EXPECT_NE(outcome(builder).find("buffer 0 is shorter than its byteLength"), std::string::npos);
  builder.json["buffers"] = Json::array({{{"byteLength", 20}}});
  EXPECT_NE(outcome(builder).find("bufferView 0 out of range of buffer 0"), std::string::npos);
  builder = squareBuilder();
  builder.json["bufferViews"][0]["byteOffset"] = 9007199254740991;
  EXPECT_NE(outcome(builder).find("bufferView 0 out of range"), std::string::npos);
  builder.json["bufferViews"][0]["byteOffset"] = -16;
  EXPECT_EQ(outcome(builder), "test.glb: bufferView 0: invalid byteOffset -16");
  builder = squareBuilder();
  builder.json["bufferViews"][0].erase("byteLength");
  EXPECT_EQ(outcome(builder), "test.glb: bufferView 0: has no byteLength");
  builder = squareBuilder();
  builder.json["buffers"] = Json::array({{{"byteLength", 4}, {"uri", "data:;base64,!!!!"}}});
  EXPECT_EQ(outcome(builder), "test.glb: buffer 0: invalid base64 in data URI");
}

TEST(GltfBuffers, ExternalFilesAreReadFromTheFolderOnly) {
  const testing::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "asset");
  GltfBuilder builder = squareBuilder();
  const std::string data(builder.bin.begin(), builder.bin.end());
  folder.write("asset/名 1.bin", data);
  folder.write("outside.bin", data);
  const auto load = [&](const std::string& uri) {
    builder.json["buffers"] = Json::array({{{"byteLength", data.size()}, {"uri", uri}}});
    const std::string text = builder.json.dump();
    const Result<Asset> asset = readGltf(folder.write("asset/a.gltf", text));
    return asset ? std::string("ok") : asset.error().message;
  };
  EXPECT_EQ(load("%E5%90%8D%201.bin"), "ok");
  EXPECT_EQ(load("名 1.bin"), "ok");
  EXPECT_NE(load("../outside.bin").find("path leaves the asset's folder"), std::string::npos);
  EXPECT_NE(load("%2e%2e/outside.bin").find("path leaves the asset's folder"), std::string::npos);
  EXPECT_NE(load("http://127.0.0.1:9/a.bin").find("only relative paths"), std::string::npos);
  EXPECT_NE(load("file:///dev/zero").find("only relative paths"), std::string::npos);
  EXPECT_NE(load("/dev/zero").find("only relative paths"), std::string::npos);
  EXPECT_NE(load("missing.bin").find("'missing.bin': cannot be opened"), std::string::npos)
      << load("missing.bin");
  EXPECT_NE(load("a%").find("hexadecimal"), std::string::npos);
  std::filesystem::create_directory(folder.path() / "asset" / "dir.bin");
  EXPECT_NE(load("dir.bin").find("folder"), std::string::npos);
}

TEST(GltfBuffers, BrokenBuffersNobodyNeedsDoNoHarm) {
  GltfBuilder builder = squareBuilder();
  builder.json["buffers"] =
      Json::array({{{"byteLength", builder.bin.size()}}, {{"byteLength", 10}, {"uri", "gone.bin"}}});
  builder.add("bufferViews", {{"buffer", 1}, {"byteLength", 10}});
  EXPECT_EQ(outcome(builder), "ok");
}

TEST(GltfMemory, SmallFilesCannotClaimLargeMemory) {
  // 2^27 vertices are within the vertex limit and would take 3 GiB.
  GltfBuilder builder = squareBuilder();
  builder.json["accessors"][0] = {{"componentType", 5126}, {"count", 1 << 27}, {"type", "VEC3"}};
  builder.primitive()["attributes"].erase("TEXCOORD_0");
  EXPECT_NE(outcome(builder).find("too many vertices"), std::string::npos) << outcome(builder);
  builder.json["accessors"][0]["count"] = 4000000000;
  EXPECT_NE(outcome(builder).find("too many vertices: 4000000000"), std::string::npos);
  // Sparse accessors have to be laid out, so their claim counts as well.
  builder.json["accessors"][0]["count"] = 1 << 27;
  builder.json["accessors"][0]["sparse"] = {{"count", 1},
                                            {"indices", {{"bufferView", 2}, {"componentType", 5123}}},
                                            {"values", {{"bufferView", 0}}}};
  EXPECT_NE(outcome(builder).find("too large"), std::string::npos) << outcome(builder);
}

TEST(GltfMemory, OptionsLimitVerticesTrianglesAndInstances) {
  const Bytes file = squareBuilder().glb();
  LoadOptions options;
  options.max_vertices = 4;
  options.max_triangles = 2;
  EXPECT_TRUE(readGltfBytes(file, "a.glb", options));
  options.max_vertices = 3;
  EXPECT_FALSE(readGltfBytes(file, "a.glb", options));
  options.max_vertices = 4;
  options.max_triangles = 1;
  EXPECT_FALSE(readGltfBytes(file, "a.glb", options));
  // The second instance counts again.
  GltfBuilder builder = squareBuilder();
  builder.json["scenes"][0]["nodes"].push_back(builder.add("nodes", {{"mesh", 0}}));
  options.max_triangles = 4;
  EXPECT_FALSE(readGltfBytes(builder.glb(), "a.glb", options));
  options.max_vertices = 8;
  EXPECT_TRUE(readGltfBytes(builder.glb(), "a.glb", options));
}

}  // namespace
}  // namespace heatskin
