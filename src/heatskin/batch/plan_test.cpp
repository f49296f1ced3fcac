#include "heatskin/batch/plan.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/batch/asset_size.h"
#include "heatskin/io/image.h"

#include "support/temporary_folder.h"

namespace heatskin::batch {
namespace {

using heatskin::testing::TemporaryFolder;

class Sizes : public ::testing::Test {
 protected:
  std::string png(int width, int height) {
    const std::vector<std::uint8_t> pixels(
        static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3, 90);
    const auto bytes = encodePng(pixels, width, height, 3);
    return {bytes->begin(), bytes->end()};
  }
  /// A GLB file with a document and binary data.
  std::string glb(std::string json, std::string binary) {
    json.resize((json.size() + 3) / 4 * 4, ' ');
    binary.resize((binary.size() + 3) / 4 * 4, '\0');
    const auto number = [](std::size_t n) {
      std::string bytes;
      for (int i = 0; i < 4; ++i)
        bytes += static_cast<char>(n >> (8 * i) & 255);
      return bytes;
    };
    return "glTF" + number(2) + number(28 + json.size() + binary.size()) + number(json.size()) + "JSON" +
           json + number(binary.size()) + std::string("BIN\0", 4) + binary;
  }
  TemporaryFolder folder_;
};

TEST_F(Sizes, OfGlbFiles) {
  const std::string image = png(64, 32);
  const std::string document =
      R"({"meshes": [{"primitives": [{"indices": 0, "attributes": {"POSITION": 1}}]}, )"
      R"({"primitives": [{"mode": 1, "indices": 0, "attributes": {"POSITION": 1}}, {"attributes": {"POSITION": 1}}]}], )"
      R"("nodes": [{"mesh": 0}, {"mesh": 0}, {"mesh": 1}, {"mesh": 77}], )"
      R"("accessors": [{"count": 300}, {"count": 90}], "images": [{"bufferView": 0}, {"uri": "b.png"}], )"
      R"("bufferViews": [{"byteOffset": 8, "byteLength": )" +
      std::to_string(image.size()) + "}]}";
  folder_.write("b.png", png(10, 20));
  const AssetSize size = measureAsset(folder_.write("a.glb", glb(document, "12345678" + image)));
  EXPECT_TRUE(size.found);
  EXPECT_EQ(size.triangles, 2 * 100 + 30) << "an instance counts, a line does not";
  EXPECT_EQ(size.vertices, 2 * 90 + 90);
  EXPECT_EQ(size.texels, 64 * 32 + 10 * 20);
  EXPECT_GT(size.image_bytes, static_cast<double>(image.size()));
}

TEST_F(Sizes, OfTextFiles) {
  folder_.write("t.png", png(16, 16));
  folder_.write("m.mtl", "newmtl a\nmap_Kd -clamp on t.png\r\n");
  const AssetSize obj = measureAsset(folder_.write("a.obj", "mtllib m.mtl\n" + std::string(60'000, '#')));
  EXPECT_EQ(obj.texels, 256);
  EXPECT_NEAR(obj.triangles, 1000, 10);
  const AssetSize ply = measureAsset(folder_.write(
      "a.PLY",
      "ply\nformat ascii 1.0\ncomment TextureFile t.png\nelement vertex 12\nelement face 20\nend_header\n"));
  EXPECT_EQ(ply.vertices, 12);
  EXPECT_EQ(ply.triangles, 20);
  EXPECT_EQ(ply.texels, 256);
}

TEST_F(Sizes, OfHostileFilesAreSomeNumber) {
  EXPECT_FALSE(measureAsset(folder_ / "missing.glb").found);
  EXPECT_FALSE(measureAsset(folder_.write("a.xyz", "?")).found);
  EXPECT_FALSE(measureAsset(folder_.path()).found);
  for (const std::string& document :
       {std::string("[]"), std::string("{\"meshes\": 3, \"images\": [3, {\"bufferView\": -1}]}"),
        std::string("{\"meshes\": [{\"primitives\": [{\"indices\": 1e300, \"attributes\": []}]}]}"),
        std::string("{\"meshes\": [3], \"nodes\": [{\"mesh\": -5}], \"buffers\": [{\"uri\": 3}]}"),
        std::string(
            "{\"images\": [{\"uri\": \"../../etc/passwd\"}, {\"uri\": \"%zz\"}, {\"uri\": \"data:,\"}]}"),
        std::string(5000, '[')}) {
    const AssetSize size = measureAsset(folder_.write("h.glb", glb(document, "")));
    EXPECT_GE(size.triangles, 0) << document.substr(0, 60);
    EXPECT_LT(predictCost(size, {}).seconds, 1e12);
    measureAsset(folder_.write("h.gltf", document));
  }
  measureAsset(folder_.write("short.glb", "glTF"));
  measureAsset(folder_.write("h.ply", "ply\nelement face 99999999999999999999999999999\n"));
  for (const std::string& image : {std::string("\xff\xd8\xff\xc0", 4),
                                   std::string("\xff\xd8\xff\xe0\x00\x00", 6) + std::string(40, '\0'),
                                   std::string("RIFF1234WEBPVP8X"), std::string(40, '\xff')}) {
    const auto [width, height] =
        imageSize({reinterpret_cast<const std::uint8_t*>(image.data()), image.size()});
    EXPECT_EQ(width, 0u);
    EXPECT_EQ(height, 0u);
  }
}

TEST_F(Sizes, OfImages) {
  const std::array<std::uint8_t, 21> jpeg = {0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 1, 0xff, 0xc2, 0,
                                             17,   8,    0x01, 0x02, 3, 4, 3, 0, 0,    0};
  EXPECT_EQ(imageSize(jpeg), (std::pair<std::uint32_t, std::uint32_t>(0x304, 0x102)));
  std::string webp = "RIFF....WEBPVP8X....";
  webp += std::string(4, '\0') + std::string("\x0f\x00\x00\x1f\x00\x00", 6);
  EXPECT_EQ(imageSize({reinterpret_cast<const std::uint8_t*>(webp.data()), webp.size()}),
            (std::pair<std::uint32_t, std::uint32_t>(16, 32)));
}

LineOptions withOptions(std::vector<LineOption> list) {
  LineOptions options;
  options.options = std::move(list);
  return options;
}

TEST(Cost, FollowsWhatIsAskedFor) {
  AssetSize size;
  size.found = true;
  size.triangles = 6000;
  size.vertices = 3000;
  size.texels = 1 << 20;
  size.image_bytes = 400'000;
  const auto seconds = [&](std::vector<LineOption> list) {
    return predictCost(size, withOptions(std::move(list))).seconds;
  };
  const double draft = seconds({{"preset", "draft"}});
  EXPECT_LT(seconds({{"preset", "draft"}, {"no_eval", ""}}), draft);
  EXPECT_LT(draft, seconds({}));
  EXPECT_LT(draft, seconds({{"preset", "draft"}, {"steps", "1200", true}}));
  EXPECT_LT(draft, seconds({{"preset", "draft"}, {"kernels", "9000"}}));
  EXPECT_LT(draft, seconds({{"preset", "draft"}, {"method", "thermal", true}}));
  EXPECT_LT(seconds({{"max_kernels", "5000"}}), seconds({}));
  // Ten times the kernels, ten times the optimisation: the evaluation and the rest stay.
  const double some = seconds({{"kernels", "10000"}, {"no_eval", ""}}),
               many = seconds({{"kernels", "100000"}, {"no_eval", ""}});
  EXPECT_GT(many / some, 7);
  EXPECT_LT(many / some, 10.1);
  AssetSize detailed = size;
  detailed.image_bytes = 4e6;
  EXPECT_GT(predictCost(detailed, {}).seconds, predictCost(size, {}).seconds);
  // Wrong options and missing files fail at once.
  EXPECT_LT(seconds({{"preset", "no such"}}), 1);
  EXPECT_LT(seconds({{"steps", "many", true}}), 1);
  EXPECT_LT(predictCost({}, {}).seconds, 1);
}

Manifest manifestOf(std::size_t count) {
  Manifest manifest;
  for (std::size_t i = 0; i < count; ++i) {
    BatchAsset asset;
    asset.line = i + 1;
    asset.output = std::to_string(i);
    manifest.assets.push_back(asset);
  }
  return manifest;
}

TEST(Plan, IsTheSmallestArrayThatKeepsTheTarget) {
  std::vector<Cost> costs;
  for (int i = 0; i < 1000; ++i)
    costs.push_back({10.0 + (i * 7) % 90, 1e8 + i * 1e6});
  PlanOptions options;
  options.target_seconds = 600;
  const Plan plan = makePlan(manifestOf(1000), costs, options);
  EXPECT_TRUE(plan.reached);
  EXPECT_LE(plan.chosen.longest_s, 600);
  EXPECT_NEAR(plan.total_s / 600, static_cast<double>(plan.chosen.tasks), 2);
  EXPECT_LE(plan.chosen.longest_s, plan.chosen.by_count_s);
  EXPECT_EQ(plan.largest_name, "999");
  EXPECT_EQ(plan.missing, 1000u);
  options.jobs = 4;
  const Plan four = makePlan(manifestOf(1000), costs, options);
  EXPECT_NEAR(static_cast<double>(four.chosen.tasks), plan.total_s / 2400, 2);
  EXPECT_NEAR(four.task_mb,
              1e-6 * (costs[999].bytes + costs[998].bytes + costs[997].bytes + costs[996].bytes), 1e-3);
}

TEST(Plan, SaysWhenOneAssetIsTooLong) {
  std::vector<Cost> costs(100, Cost{10, 1e8});
  costs[5].seconds = 500;
  PlanOptions options;
  options.target_seconds = 60;
  const Plan plan = makePlan(manifestOf(100), costs, options);
  EXPECT_FALSE(plan.reached);
  EXPECT_EQ(plan.longest_name, "5");
  EXPECT_LE(plan.chosen.tasks, 4u) << "more would be idle while the longest runs";
  EXPECT_LE(plan.chosen.longest_s, 510);
  EXPECT_EQ(makePlan(manifestOf(0), {}, options).assets, 0u);
}

TEST(Plan, WritesCostsIntoTheManifest) {
  TemporaryFolder folder;
  const auto manifest = readManifest(
      folder.write("m.jsonl",
                   "{\"input\": \"a.glb\", \"options\": {\"steps\": 3}}\nbad\n\n{\"input\": \"b.glb\"}\n"),
      folder.path() / "out");
  ASSERT_TRUE(manifest);
  const std::vector<Cost> costs = {{1.5, 1e6}, {20, 2e6}};
  const auto again =
      readManifest(folder.write("p.jsonl", plannedManifest(*manifest, costs, 2)), folder.path() / "out");
  ASSERT_TRUE(again);
  ASSERT_EQ(again->assets.size(), 2u);
  EXPECT_EQ(again->assets[0].cost, 3);
  EXPECT_EQ(again->assets[1].cost, 40);
  EXPECT_EQ(again->assets[1].memory, 2e6);
  EXPECT_EQ(again->assets[1].line, 4u);
  EXPECT_EQ(again->bad.size(), 1u);
  EXPECT_EQ(again->assets[0].options->identity(), manifest->assets[0].options->identity());
}

}  // namespace
}  // namespace heatskin::batch
