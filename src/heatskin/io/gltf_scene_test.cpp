// Nodes, scenes and instances.

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/gltf_reader.h"

#include "support/asset_views.h"
#include "support/gltf_builder.h"
#include "support/gltf_outcome.h"

namespace heatskin {
namespace {

using testing::findNotice;
using testing::GltfBuilder;
using testing::load;
using testing::outcome;
using testing::squareBuilder;
using Json = nlohmann::json;

/// The square with these nodes; scene 0 has node 0.
GltfBuilder withNodes(const Json& nodes) {
  GltfBuilder builder = squareBuilder();
  builder.json["nodes"] = nodes;
  builder.json["scenes"] = Json::array({{{"nodes", {0}}}});
  return builder;
}

/// Quarter turn about z.
const double kHalf = std::numbers::sqrt2 / 2;
const Json kQuarterTurn = {0, 0, kHalf, kHalf};

void expectNear(const Vec3& a, const Vec3& b) {
  // A handful of double roundings on numbers below 100.
  EXPECT_NEAR((a - b).norm(), 0, 1e-13) << a.transpose() << " against " << b.transpose();
}

TEST(Scene, TrsIsScaleThenRotationThenTranslation) {
  const Result<Asset> asset = load(withNodes(Json::array({{{"mesh", 0},
                                                           {"name", "n"},
                                                           {"translation", {10, 20, 30}},
                                                           {"rotation", kQuarterTurn},
                                                           {"scale", {2, 3, 4}}}})));
  ASSERT_TRUE(asset) << asset.error().message;
  ASSERT_EQ(asset->instances.size(), 1u);
  EXPECT_EQ(asset->instances[0].name, "n");
  EXPECT_EQ(asset->instances[0].mesh, 0);
  // (1, 1, 1) -> (2, 3, 4) -> (-3, 2, 4) -> (7, 22, 34)
  expectNear(asset->instances[0].asset_from_mesh * Vec3(1, 1, 1), Vec3(7, 22, 34));
}

TEST(Scene, QuaternionsNeedNotBeQuiteUnit) {
  Result<Asset> asset = load(withNodes(Json::array({{{"mesh", 0}, {"rotation", {0, 0, 3, 3}}}})));
  ASSERT_TRUE(asset);
  expectNear(asset->instances[0].asset_from_mesh * Vec3(1, 0, 0), Vec3(0, 1, 0));
  EXPECT_NE(outcome(withNodes(Json::array({{{"mesh", 0}, {"rotation", {0, 0, 0, 0}}}}))).find("quaternion"),
            std::string::npos);
  EXPECT_NE(outcome(withNodes(Json::array({{{"mesh", 0}, {"rotation", {0, 0, 1}}}}))).find("4 numbers"),
            std::string::npos);
}

TEST(Scene, MatricesAreColumnMajorAndCompose) {
  const Json matrix = {0, 2, 0, 0, -2, 0, 0, 0, 0, 0, 2, 0, 5, 6, 7, 1};
  const Result<Asset> asset = load(withNodes(Json::array({{{"matrix", matrix}, {"children", {1}}},
                                                          {{"translation", {1, 0, 0}}, {"children", {2}}},
                                                          {{"mesh", 0}, {"scale", {-1, 1, 1}}}})));
  ASSERT_TRUE(asset) << asset.error().message;
  // (1, 2, 3) -> (-1, 2, 3) -> (0, 2, 3) -> 2 * (-2, 0, 3) + (5, 6, 7)
  expectNear(asset->instances[0].asset_from_mesh * Vec3(1, 2, 3), Vec3(1, 6, 13));
  EXPECT_LT(asset->instances[0].asset_from_mesh.linear().determinant(), 0);
  EXPECT_NE(outcome(withNodes(Json::array(
                        {{{"mesh", 0}, {"matrix", {1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}}}})))
                .find("not affine"),
            std::string::npos);
  EXPECT_NE(outcome(withNodes(Json::array({{{"mesh", 0}, {"matrix", {1, 2}}}}))).find("16 numbers"),
            std::string::npos);
}

TEST(Scene, OverflowingTransformsAreRefused) {
  const Json huge = {{"scale", {1e200, 1e200, 1e200}}, {"children", {1}}};
  EXPECT_NE(outcome(withNodes(Json::array({huge, {{"mesh", 0}, {"scale", {1e200, 1e200, 1e200}}}})))
                .find("not finite"),
            std::string::npos);
  EXPECT_NE(outcome(withNodes(Json::array(
                        {{{"mesh", 0}, {"scale", {1e308, 1e308, 1e308}}, {"translation", {1.7e308, 0, 0}}}})))
                .find("too large"),
            std::string::npos);
}

TEST(Scene, CyclesAndSecondParentsAreRefused) {
  EXPECT_NE(
      outcome(withNodes(Json::array({{{"children", {1}}, {"mesh", 0}}, {{"children", {0}}}}))).find("cycle"),
      std::string::npos);
  EXPECT_NE(outcome(withNodes(Json::array({{{"children", {0}}, {"mesh", 0}}}))).find("cycle"),
            std::string::npos);
  // A cycle that the scene does not reach is still no hierarchy.
  EXPECT_NE(outcome(withNodes(Json::array(
                        {{{"mesh", 0}}, {{"children", {2}}}, {{"children", {3}}}, {{"children", {1}}}})))
                .find("cycle"),
            std::string::npos);
  EXPECT_NE(outcome(withNodes(Json::array({{{"children", {1, 2}}}, {{"children", {2}}}, {{"mesh", 0}}})))
                .find("node 2 has two parents, nodes 0 and 1"),
            std::string::npos);
  GltfBuilder builder = squareBuilder();
  builder.json["scenes"][0]["nodes"] = {0, 0};
  EXPECT_NE(outcome(builder).find("node 0 appears twice"), std::string::npos);
  builder.json["scenes"][0]["nodes"] = {3};
  EXPECT_NE(outcome(builder).find("node 3 does not exist"), std::string::npos);
}

TEST(Scene, VeryDeepHierarchiesAreFine) {
  Json nodes = Json::array();
  constexpr int kDepth = 100000;
  for (int i = 0; i < kDepth; ++i)
    nodes.push_back({{"children", {i + 1}}, {"translation", {1, 0, 0}}});
  nodes.push_back({{"mesh", 0}});
  const Result<Asset> asset = load(withNodes(nodes));
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_EQ(asset->instances[0].asset_from_mesh.translation(), Vec3(kDepth, 0, 0));
}

TEST(Scene, TheDefaultSceneIsChosen) {
  GltfBuilder builder = squareBuilder();
  builder.json["nodes"] = Json::array({{{"mesh", 0}, {"name", "a"}}, {{"mesh", 0}, {"name", "b"}}});
  builder.json["scenes"] = Json::array({{{"nodes", {0}}}, {{"nodes", {1}}}});
  builder.json["scene"] = 1;
  EXPECT_EQ(load(builder)->instances.at(0).name, "b");
  builder.json.erase("scene");
  EXPECT_EQ(load(builder)->instances.at(0).name, "a");
  EXPECT_EQ(load(builder)->instances.size(), 1u);
  builder.json["scene"] = 2;
  EXPECT_NE(outcome(builder).find("scene 2 does not exist"), std::string::npos);
  builder.json["scene"] = 0;
  builder.json["scenes"][0]["nodes"] = Json::array();
  EXPECT_EQ(outcome(builder), "test.glb: no triangles in the file (no mesh is in the scene)");
}

TEST(Scene, WithoutASceneEverythingIsLoadedAndSaid) {
  GltfBuilder builder = squareBuilder();
  builder.json.erase("scene");
  builder.json.erase("scenes");
  builder.json["nodes"] =
      Json::array({{{"children", {1}}, {"scale", {2, 2, 2}}}, {{"mesh", 0}}, {{"mesh", 0}}});
  Result<Asset> asset = load(builder);
  ASSERT_TRUE(asset);
  EXPECT_EQ(asset->instances.size(), 2u);
  expectNear(asset->instances[0].asset_from_mesh * Vec3(1, 0, 0), Vec3(2, 0, 0));
  EXPECT_TRUE(findNotice(*asset, "no_scene"));
  builder.json.erase("nodes");
  asset = load(builder);
  ASSERT_TRUE(asset);
  EXPECT_EQ(asset->instances.size(), 1u);
  EXPECT_TRUE(findNotice(*asset, "no_scene"));
}

TEST(Scene, AMeshUsedTwiceIsReadOnce) {
  GltfBuilder builder = squareBuilder();
  builder.json["nodes"] = Json::array({{{"mesh", 0}}, {{"mesh", 0}, {"translation", {5, 0, 0}}}});
  builder.json["scenes"][0]["nodes"] = {0, 1};
  const Result<Asset> asset = load(builder);
  ASSERT_TRUE(asset);
  EXPECT_EQ(asset->meshes.size(), 1u);
  EXPECT_EQ(asset->instances.size(), 2u);
  EXPECT_EQ(asset->stored_vertices, 8u);
  EXPECT_TRUE(asset->notices.empty());
}

TEST(Scene, MeshesOutsideTheSceneAreNotRead) {
  GltfBuilder builder = squareBuilder();
  builder.add("meshes", {{"primitives", Json::array({{{"attributes", {{"POSITION", 77}}}}})}});
  EXPECT_EQ(outcome(builder), "ok");
  builder.json["nodes"][0]["mesh"] = 2;
  EXPECT_NE(outcome(builder).find("mesh 2 does not exist"), std::string::npos);
}

TEST(Scene, SkinnedMeshesStandWhereTheirVerticesAre) {
  GltfBuilder builder = withNodes(Json::array({{{"scale", {100, 100, 100}}, {"children", {1}}},
                                               {{"mesh", 0}, {"skin", 0}, {"translation", {7, 7, 7}}}}));
  builder.add("skins", {{"joints", {0}}});
  builder.add("animations", {{"channels", Json::array()}, {"samplers", Json::array()}});
  builder.primitive()["targets"] = Json::array({{{"POSITION", 0}}});
  const Result<Asset> asset = load(builder);
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_TRUE(asset->instances[0].asset_from_mesh.matrix().isIdentity(0));
  for (const char* code : {"skin", "animations", "morph_targets"})
    EXPECT_TRUE(findNotice(*asset, code)) << code;
  for (const Notice& notice : asset->notices)
    EXPECT_FALSE(notice.warning);
}

TEST(Scene, GpuInstancingIsExpanded) {
  GltfBuilder builder = withNodes(Json::array({{{"mesh", 0}, {"translation", {0, 0, 100}}}}));
  const std::size_t translation = builder.addAccessor<float>({1, 0, 0, 2, 0, 0}, "VEC3");
  const std::size_t rotation = builder.addAccessor<std::int8_t>({0, 0, 0, 127, 0, 0, 90, 90}, "VEC4", true);
  builder.json["nodes"][0]["extensions"]["EXT_mesh_gpu_instancing"]["attributes"] = {
      {"TRANSLATION", translation}, {"ROTATION", rotation}};
  const Result<Asset> asset = load(builder);
  ASSERT_TRUE(asset) << asset.error().message;
  ASSERT_EQ(asset->instances.size(), 2u);
  expectNear(asset->instances[0].asset_from_mesh * Vec3(1, 0, 0), Vec3(2, 0, 100));
  expectNear(asset->instances[1].asset_from_mesh * Vec3(1, 0, 0), Vec3(2, 1, 100));
  // A claim of four thousand million instances costs nothing.
  builder.json["accessors"][translation] = {{"componentType", 5126}, {"count", 4000000000}, {"type", "VEC3"}};
  EXPECT_NE(outcome(builder).find("too many instances"), std::string::npos);
}

TEST(Scene, ExtremeSizesAreSaid) {
  for (const double scale : {1e30, 1e-30}) {
    const Result<Asset> asset =
        load(withNodes(Json::array({{{"mesh", 0}, {"scale", {scale, scale, scale}}}})));
    ASSERT_TRUE(asset);
    EXPECT_TRUE(findNotice(*asset, "extreme_coordinates"));
  }
}

}  // namespace
}  // namespace heatskin
