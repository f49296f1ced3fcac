// Damage of every kind: whatever the bytes are, the reader answers, and what it accepts keeps the promises.

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <meshoptimizer.h>

#include "heatskin/base/rng.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/io/image.h"

#include "support/asset_checks.h"
#include "support/assets.h"
#include "support/gltf_builder.h"
#include "support/mutations.h"

namespace heatskin {
namespace {

using testing::bytesOf;
using testing::GltfBuilder;
using Bytes = std::vector<std::uint8_t>;
using Json = nlohmann::json;

/// Small limits, so that a damaged count that happens to be legal costs nothing.
LoadOptions smallLimits() {
  LoadOptions options;
  options.max_image_pixels = options.max_total_pixels = 1 << 14;
  options.max_vertices = options.max_triangles = 1 << 14;
  return options;
}

/// Reads and checks; counts both outcomes.
struct Tally {
  std::size_t loaded = 0;
  std::size_t refused = 0;

  void read(std::span<const std::uint8_t> bytes, const char* path) {
    const Result<Asset> asset = readGltfBytes(bytes, path, smallLimits());
    if (asset) {
      ++loaded;
      ASSERT_EQ(testing::assetProblem(*asset), "");
    } else {
      ++refused;
      ASSERT_TRUE(asset.error().message.starts_with(path)) << asset.error().message;
      ASSERT_EQ(asset.error().message.find('\n'), std::string::npos) << asset.error().message;
    }
  }
  void read(std::string_view text, const char* path) {
    read(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()), path);
  }
};

/// Everything the reader knows in one small file: textures, sparse and interleaved data, colours, a strip,
/// meshopt, instancing, a hierarchy.
GltfBuilder richFile() {
  GltfBuilder builder = testing::squareBuilder();
  const Bytes pixels = {0, 50, 100, 150, 200, 250, 10, 20, 30, 40, 60, 70};
  builder.add("images",
              {{"bufferView", builder.addView(*encodePng(pixels, 2, 2, 3))}, {"mimeType", "image/png"}});
  builder.add("samplers", {{"wrapS", 33071}, {"wrapT", 10497}});
  builder.add("textures", {{"source", 0}, {"sampler", 0}});
  builder.add("materials",
              {{"name", "m"},
               {"alphaMode", "MASK"},
               {"pbrMetallicRoughness",
                {{"baseColorFactor", {1, 0.5, 0.25, 1}},
                 {"baseColorTexture",
                  {{"index", 0},
                   {"texCoord", 0},
                   {"extensions", {{"KHR_texture_transform", {{"offset", {0, 1}}, {"rotation", 0.5}}}}}}}}}});
  builder.primitive()["material"] = 0;
  const std::size_t sparse_indices = builder.addView(bytesOf<std::uint16_t>({1, 2}));
  const std::size_t sparse_values = builder.addView(bytesOf<float>({1, 0, 1, 1, 1, 1}));
  builder.json["accessors"][0]["sparse"] = {
      {"count", 2},
      {"indices", {{"bufferView", sparse_indices}, {"componentType", 5123}}},
      {"values", {{"bufferView", sparse_values}}}};
  const std::size_t colors = builder.addAccessor<std::uint8_t>(
      {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, "VEC4", true);
  builder.primitive()["attributes"]["COLOR_0"] = colors;
  builder.json["meshes"][0]["primitives"].push_back({{"attributes", {{"POSITION", 0}}}, {"mode", 5}});

  const std::vector<float> positions = {0, 0, 0, 1, 0, 0, 0, 1, 0, 3, 3, 3};
  Bytes packed(meshopt_encodeVertexBufferBound(4, 12));
  packed.resize(meshopt_encodeVertexBuffer(packed.data(), packed.size(), positions.data(), 4, 12));
  const std::size_t source = builder.addView(packed);
  Json view = {{"buffer", 0}, {"byteLength", 48}, {"byteStride", 12}};
  view["extensions"]["EXT_meshopt_compression"] = {
      {"buffer", 0},
      {"byteOffset", builder.json["bufferViews"][source]["byteOffset"]},
      {"byteLength", packed.size()},
      {"byteStride", 12},
      {"count", 4},
      {"mode", "ATTRIBUTES"}};
  const std::size_t compressed = builder.add("bufferViews", view);
  const std::size_t accessor = builder.add(
      "accessors", {{"bufferView", compressed}, {"componentType", 5126}, {"count", 4}, {"type", "VEC3"}});
  builder.addMesh({{"attributes", {{"POSITION", accessor}}}, {"mode", 6}});
  builder.json["nodes"][1]["translation"] = {1, 2, 3};
  builder.json["nodes"][1]["rotation"] = {0, 0, 0, 1};
  const std::size_t offsets = builder.addAccessor<float>({0, 0, 0, 5, 5, 5}, "VEC3");
  builder.json["nodes"][1]["extensions"]["EXT_mesh_gpu_instancing"]["attributes"]["TRANSLATION"] = offsets;
  builder.add("nodes", {{"children", {0}}, {"matrix", {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 4, 5, 6, 1}}});
  builder.json["scenes"][0]["nodes"] = {2, 1};
  builder.json["extensionsUsed"] = {"EXT_meshopt_compression", "KHR_texture_transform",
                                    "EXT_mesh_gpu_instancing"};
  return builder;
}

TEST(AssetCheck, NoticesPlantedErrors) {
  const Result<Asset> asset = readGltfBytes(richFile().glb(), "rich.glb");
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_TRUE(asset->notices.empty());
  ASSERT_EQ(testing::assetProblem(*asset), "");
  Asset broken = *asset;
  broken.meshes[0].primitives[0].triangles[1] = 4;
  EXPECT_NE(testing::assetProblem(broken), "");
  broken = *asset;
  broken.meshes[0].primitives[0].positions[0].x() = std::nan("");
  EXPECT_NE(testing::assetProblem(broken), "");
  broken = *asset;
  broken.meshes[0].primitives[0].uv_sets[0].pop_back();
  EXPECT_NE(testing::assetProblem(broken), "");
  broken = *asset;
  broken.materials[0].base_color.texture = 1;
  EXPECT_NE(testing::assetProblem(broken), "");
  broken = *asset;
  broken.instances[0].mesh = -1;
  EXPECT_NE(testing::assetProblem(broken), "");
  broken = *asset;
  broken.instances.clear();
  EXPECT_EQ(testing::assetProblem(broken), "no triangles");
}

TEST(GltfMutation, JsonTextAndContainer) {
  const GltfBuilder builder = richFile();
  const Bytes text = builder.gltf(), glb = builder.glb();
  Tally tally;
  testing::forEachMutation(std::string(text.begin(), text.end()), 4000,
                           [&](std::string_view t) { tally.read(t, "none/a.gltf"); });
  testing::forEachMutation(std::string(glb.begin(), glb.end()), 1000,
                           [&](std::string_view t) { tally.read(t, "none/a.glb"); });
  EXPECT_GT(tally.loaded, 50u);
  EXPECT_GT(tally.refused, 1000u);
}

TEST(GltfMutation, BinaryChunk) {
  const GltfBuilder seed = richFile();
  const RandomStream random(31, 1);
  std::uint64_t draw = 0;
  Tally tally;
  for (int round = 0; round < 4000; ++round) {
    GltfBuilder builder = seed;
    const std::uint64_t damages = 1 + random.below(draw++, 6);
    for (std::uint64_t d = 0; d < damages; ++d, draw += 2) {
      builder.bin[random.below(draw, builder.bin.size())] =
          static_cast<std::uint8_t>(random.below(draw + 1, 256));
    }
    tally.read(builder.glb(), "none/a.glb");
  }
  EXPECT_GT(tally.loaded, 500u);
  EXPECT_GT(tally.refused, 500u);
}

TEST(GltfMutation, EveryJsonValueReplacedByEveryStrangeOne) {
  const GltfBuilder seed = richFile();
  const std::vector<Json> strange = {-1,
                                     0,
                                     1,
                                     2,
                                     3,
                                     7,
                                     255,
                                     65536,
                                     2147483647,
                                     4294967295u,
                                     9007199254740992,
                                     18446744073709551615u,
                                     1.5,
                                     -0.0,
                                     1e300,
                                     -1e308,
                                     "",
                                     "x",
                                     "VEC4",
                                     "MAT4",
                                     "SCALAR",
                                     "../x",
                                     "data:;base64,AAAA",
                                     nullptr,
                                     true,
                                     Json::array(),
                                     Json::object(),
                                     Json::array({0, 0}),
                                     Json::array({-1})};
  Tally tally;
  const Json flat = seed.json.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    // The value itself and everything that contains it.
    for (Json::json_pointer where(pointer); !where.empty(); where.pop_back()) {
      for (const Json& replacement : strange) {
        GltfBuilder builder = seed;
        builder.json[where] = replacement;
        tally.read(builder.glb(), "none/a.glb");
      }
    }
  }
  EXPECT_GT(tally.loaded, 500u);
  EXPECT_GT(tally.refused, 2000u);
}

TEST(GltfMutation, PairsOfStrangeValues) {
  // Offsets, counts and strides work together; single changes do not reach every check.
  const GltfBuilder seed = richFile();
  std::vector<std::string> numbers;
  const Json flat = seed.json.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    if (value.is_number_integer()) numbers.push_back(pointer);
  }
  const std::array<std::uint64_t, 14> values = {0,  1,  2,  3,   4,    5,    8,
                                                12, 16, 48, 252, 5121, 5126, 4294967295u};
  const RandomStream random(33, 1);
  std::uint64_t draw = 0;
  Tally tally;
  for (int round = 0; round < 6000; ++round) {
    GltfBuilder builder = seed;
    for (int i = 0; i < 3; ++i, draw += 2) {
      builder.json[Json::json_pointer(numbers[random.below(draw, numbers.size())])] =
          values[random.below(draw + 1, values.size())];
    }
    tally.read(builder.glb(), "none/a.glb");
  }
  EXPECT_GT(tally.loaded, 50u);
  EXPECT_GT(tally.refused, 1000u);
}

TEST(GltfMutation, SharedHostileFilesDamagedFurther) {
  HEATSKIN_REQUIRE_ASSETS();
  Tally tally;
  for (const auto& entry : std::filesystem::directory_iterator(testing::assetsFolder() / "bad")) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".glb" && extension != ".gltf") continue;
    constexpr std::uintmax_t kSmall = 8192;  // the few large ones are a single trick each
    if (entry.file_size() > kSmall) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string seed{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const std::string path = "none/a" + extension;
    const RandomStream random(34, seed.size());
    for (std::uint64_t round = 0; round < 60 && !seed.empty(); ++round) {
      std::string text = seed;
      for (std::uint64_t d = 0; d < 1 + round % 4; ++d) {
        text[random.below(8 * round + 2 * d, text.size())] =
            static_cast<char>(random.below(8 * round + 2 * d + 1, 256));
      }
      tally.read(text, path.c_str());
    }
  }
  EXPECT_GT(tally.refused, 1000u);
}

}  // namespace
}  // namespace heatskin
