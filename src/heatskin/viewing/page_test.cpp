#include "heatskin/viewing/page.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "heatskin/base/base64.h"
#include "heatskin/base/files.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/gltf_document.h"

#include "support/assets.h"
#include "support/temporary_folder.h"

namespace heatskin {
namespace {

std::vector<ViewedFile> twoFiles(const std::string& name) {
  std::vector<ViewedFile> files(2);
  files[0].shown = {name, {1, 2, 3}};
  files[0].original = std::make_unique<ViewedBytes>(ViewedBytes{"original.glb", {4, 5}});
  files[1].shown = {"second.glb", {6}};
  return files;
}

/// The list of files in a page.
nlohmann::json listIn(const std::string& page) {
  const std::string begin = R"(id="heatskin-files">)";
  const std::size_t from = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST(ViewerPage, NoncesAreReplacedEverywhere) {
  EXPECT_EQ(withNonce("a HEATSKIN_NONCE b HEATSKIN_NONCE", "7"), "a 7 b 7");
  EXPECT_EQ(withNonce("none", "7"), "none");
  EXPECT_EQ(withNonce("HEATSKIN_NONC", "7"), "HEATSKIN_NONC");
}

TEST(ViewerPage, FilesAndOriginalsHaveAddressesInOrder) {
  const auto files = twoFiles("one.glb");
  const auto served = servedFiles(files);
  ASSERT_EQ(served.size(), 3U);
  EXPECT_EQ(served[0].file, &files[0].shown);
  EXPECT_EQ(served[1].file, files[0].original.get());
  EXPECT_EQ(served[1].address, "files/1.glb");
  EXPECT_EQ(served[2].file, &files[1].shown);
}

TEST(ViewerPage, NamesOfFilesCannotEndTheScript) {
  if (viewerPage().empty()) GTEST_SKIP() << "built without the viewer's page; 'make viewer' builds it";
  const std::string name = "</script><script>alert(1)</script>\"'.glb";
  const auto files = twoFiles(name);
  for (const auto& page : {linkedPage(files), singlePage(files)}) {
    ASSERT_TRUE(page) << page.error().message;
    EXPECT_EQ(page->find("<script>alert"), std::string::npos);
    const auto list = listIn(*page);
    ASSERT_EQ(list.size(), 2U);
    EXPECT_EQ(list[0]["name"], name);
    EXPECT_EQ(list[0]["bytes"], 3);
    EXPECT_EQ(list[0]["original"]["name"], "original.glb");
    EXPECT_FALSE(list[1].contains("original"));
  }
}

TEST(ViewerPage, APageThatOpensFromDiskHoldsTheBytes) {
  if (viewerPage().empty()) GTEST_SKIP() << "built without the viewer's page; 'make viewer' builds it";
  const auto files = twoFiles("one.glb");
  const auto page = singlePage(files);
  ASSERT_TRUE(page);
  const auto list = listIn(*page);
  const std::string id = list[0]["original"]["data"];
  EXPECT_NE(page->find("id=\"" + id + "\">" + base64(files[0].original->bytes) + "</script>"),
            std::string::npos);
  EXPECT_EQ(page->find("src=\""), std::string::npos) << "refers to something outside";
}

TEST(ViewerPage, OtherFormatsBecomeGlb) {
  testing::TemporaryFolder folder;
  const auto path = folder.write("triangle.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
  const auto read = readForViewing(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->name, "triangle.obj");
  ASSERT_GE(read->bytes.size(), 4U);
  EXPECT_EQ(std::string(read->bytes.begin(), read->bytes.begin() + 4), "glTF");
  const auto broken = readForViewing(folder.write("broken.glb", "glTF, but no more"));
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().kind, ErrorKind::kInput);
}

TEST(ViewerPage, DracoIsUndoneAndEverythingElseStays) {
  HEATSKIN_REQUIRE_ASSETS();
  const auto path = testing::assetsFolder() / "variants" / "fox_draco.glb";
  const auto bytes = readFile(path);
  ASSERT_TRUE(bytes);
  auto document = GltfDocument::open(*bytes, path);
  ASSERT_TRUE(document);
  GltfJson& material = document->root()["materials"][0];
  material["emissiveTexture"] = material["pbrMetallicRoughness"]["baseColorTexture"];
  material["emissiveFactor"] = {0.5, 0.25, 1.0};
  const auto more = document->finish();
  ASSERT_TRUE(more);
  testing::TemporaryFolder folder;
  const auto file = folder.write("more.glb", std::string(more->begin(), more->end()));

  const auto before = loadAsset(file);
  const auto shown = readForViewing(file);
  ASSERT_TRUE(before) << before.error().message;
  ASSERT_TRUE(shown) << shown.error().message;
  const std::string text(shown->bytes.begin(), shown->bytes.end());
  EXPECT_EQ(text.find("draco"), std::string::npos);
  EXPECT_NE(text.find("\"emissiveTexture\""), std::string::npos);
  const auto after = loadAsset(folder.write("shown.glb", text));
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->materials.size(), before->materials.size());
  const Primitive &a = after->meshes.at(0).primitives.at(0), &b = before->meshes.at(0).primitives.at(0);
  EXPECT_EQ(a.positions, b.positions);
  EXPECT_EQ(a.triangles, b.triangles);
  EXPECT_EQ(a.uv_sets, b.uv_sets);
}

}  // namespace
}  // namespace heatskin
