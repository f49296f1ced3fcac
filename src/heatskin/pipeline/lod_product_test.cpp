// Levels of detail with everything else their product's file holds.

#include "heatskin/pipeline/lod_product.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "heatskin/io/gltf_container.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/pipeline/test_jobs.h"

#include "support/variant_file.h"

namespace heatskin::testing {
namespace {

/// The squares of variantFile(), the left one below a node that moves it, bound to a joint that turns.
GltfBuilder skinnedSquares() {
  GltfBuilder b = variantFile();
  const std::size_t count = b.json["accessors"][0]["count"];
  std::vector<std::uint8_t> joints(4 * count, 0);
  std::vector<float> weights(4 * count, 0.0f);
  for (std::size_t i = 0; i < count; ++i) {
    joints[4 * i + 1] = 1;
    // Every vertex has other weights, so that one can be told from another.
    weights[4 * i] = static_cast<float>(i + 1) / static_cast<float>(count + 2);
    weights[4 * i + 1] = 1 - weights[4 * i];
  }
  b.primitive(0)["attributes"]["JOINTS_0"] = b.addAccessor(joints, "VEC4");
  b.primitive(0)["attributes"]["WEIGHTS_0"] = b.addAccessor(weights, "VEC4");
  const std::size_t root = b.add("nodes", {{"name", "root joint"}, {"children", {3}}});
  b.add("nodes", {{"name", "tip"}, {"translation", {0, 0.5, 0}}});
  b.add("skins", {{"joints", {root, root + 1}}});
  b.json["nodes"][0]["skin"] = 0;
  b.json["nodes"][0]["name"] = "left";
  b.json["scenes"][0]["nodes"].push_back(root);
  const std::size_t times = b.addAccessor(std::vector<float>{0, 1}, "SCALAR");
  b.json["accessors"][times]["min"] = {0};
  b.json["accessors"][times]["max"] = {1};
  const std::size_t turns = b.addAccessor(std::vector<float>{0, 0, 0, 1, 0, 0, 1, 0}, "VEC4");
  b.add("animations",
        {{"samplers", {{{"input", times}, {"output", turns}}}},
         {"channels", {{{"sampler", 0}, {"target", {{"node", root + 1}, {"path", "rotation"}}}}}}});
  return b;
}

LoadedProduct fittedSquares(const GltfBuilder& builder) {
  auto loaded = openAssetToFit(*readGltfBytes(builder.glb(), "squares.glb"), Method::kLocal, quietly());
  EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
  FitJob job = smallJob();
  job.config.train.steps = 40;
  setKernelBudget(job.config, 120);
  job.config.train.sampling.pool = 0;
  job.evaluate = false;
  job.layout = *fitChannels(*loaded);
  auto outcome = fitProduct(*loaded, job);
  EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().message);
  return std::move(*outcome->stored);
}

LodOptions twoLevels() {
  LodOptions options;
  options.levels = 2;
  options.face_ratio = 0.5;
  options.samples = 2000;
  options.open = quietly();
  return options;
}

nlohmann::json lodDocument(const std::vector<std::uint8_t>& bytes) {
  const auto container = gltf::splitGlb(bytes);
  EXPECT_TRUE(container);
  return nlohmann::json::parse(container->json.begin(), container->json.end());
}

TEST(LodProduct, LevelsKeepHierarchySkinsAndAnimations) {
  const LoadedProduct product = fittedSquares(skinnedSquares());
  const auto outcome = lodProduct(product, twoLevels());
  ASSERT_TRUE(outcome) << outcome.error().message;
  const LodLevel& level = outcome->levels[1];
  EXPECT_FALSE(level.bare);
  EXPECT_LT(level.triangles, outcome->levels[0].triangles * 7 / 10);
  EXPECT_GT(level.surface_psnr_source, 25);
  const nlohmann::json before = lodDocument(*product.product.asset.file), after = lodDocument(level.bytes);
  EXPECT_EQ(after["nodes"], before["nodes"]);
  EXPECT_EQ(after["skins"], before["skins"]);
  EXPECT_EQ(after["animations"].size(), 1u);
  EXPECT_EQ(after["animations"][0]["channels"], before["animations"][0]["channels"]);

  // Every vertex has the weights of the vertex it was: weights name vertices, and those name positions.
  const Asset &fine = product.product.asset, &coarse = level.stored->product.asset;
  const nlohmann::json& attributes = after["meshes"][0]["primitives"][0]["attributes"];
  const auto floats = [](const nlohmann::json& document, std::span<const std::uint8_t> file,
                         const nlohmann::json& number) {
    const nlohmann::json& accessor = document["accessors"][number.get<std::size_t>()];
    const nlohmann::json& view = document["bufferViews"][accessor["bufferView"].get<std::size_t>()];
    EXPECT_EQ(accessor["componentType"], 5126);
    std::vector<float> out(4 * accessor["count"].get<std::size_t>());
    const auto container = gltf::splitGlb(file);
    const std::size_t stride = view.value("byteStride", 16);
    const std::size_t at =
        view.value("byteOffset", std::size_t{0}) + accessor.value("byteOffset", std::size_t{0});
    for (std::size_t i = 0; i < out.size() / 4; ++i)
      std::memcpy(&out[4 * i], container->bin->data() + at + i * stride, 16);
    return out;
  };
  ASSERT_TRUE(attributes.contains("JOINTS_0"));
  const std::vector<float> weights = floats(after, level.bytes, attributes["WEIGHTS_0"]);
  const Primitive &from = fine.meshes[0].primitives[0], &to = coarse.meshes[0].primitives[0];
  ASSERT_EQ(weights.size(), 4 * to.positions.size());
  EXPECT_LT(to.positions.size(), from.positions.size());
  for (std::size_t i = 0; i < to.positions.size(); ++i) {
    const auto was = static_cast<std::size_t>(
        std::lround(static_cast<double>(weights[4 * i]) * static_cast<double>(from.positions.size() + 2)) -
        1);
    ASSERT_LT(was, from.positions.size());
    EXPECT_EQ(to.positions[i], from.positions[was]) << i;
  }
}

TEST(LodProduct, MeshesThatArePlacedTwiceHaveBareLevels) {
  GltfBuilder b = variantFile();
  b.json["scenes"][0]["nodes"].push_back(b.add("nodes", {{"mesh", 0}, {"translation", {0, 2, 0}}}));
  b.add("cameras", {{"type", "perspective"}, {"perspective", {{"yfov", 0.7}, {"znear", 0.01}}}});
  b.json["nodes"][1]["camera"] = 0;
  const auto outcome = lodProduct(fittedSquares(b), twoLevels());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->levels[1].bare);
  ASSERT_EQ(outcome->notices.size(), 1u);
  EXPECT_EQ(outcome->notices[0].code, "levels_without");
}

TEST(LodProduct, OneFileTakesBareLevels) {
  const LoadedProduct product = fittedSquares(skinnedSquares());
  LodOptions options = twoLevels();
  options.bare = true;
  const auto outcome = lodProduct(product, options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->levels[1].bare);
  const auto joined = joinLevels(*outcome);
  ASSERT_TRUE(joined) << joined.error().message;
  const nlohmann::json document = lodDocument(*joined);
  EXPECT_EQ(document["skins"].size(), 1u) << "level 0 keeps what it has";
  OpenOptions chosen = quietly();
  chosen.level = 1;
  chosen.variant = "stripes";
  const auto level = openProduct(*readGltfBytes(*joined, "joined.glb"), chosen);
  ASSERT_TRUE(level) << level.error().message;
  EXPECT_EQ(level->product.surface->faceCount(), outcome->levels[1].triangles);
}

}  // namespace
}  // namespace heatskin::testing
