#include "heatskin/io/gltf_vertices.h"

#include <gtest/gtest.h>

#include "heatskin/io/glb_writer.h"
#include "heatskin/io/gltf_reader.h"

#include "support/products.h"

namespace heatskin {
namespace {

/// A sphere with normals, coordinates and colours, as a file.
std::vector<std::uint8_t> sphereFile() {
  Asset asset = testing::assetOf(testing::icosphere(1));
  Primitive& primitive = asset.meshes[0].primitives[0];
  for (const Vec3& p : primitive.positions) {
    primitive.normals.push_back(p.normalized().cast<float>());
    primitive.colors.emplace_back(0.5f, 0.25f, 1.0f, 1.0f);
  }
  auto glb = encodeGlb(asset);
  EXPECT_TRUE(glb);
  return std::move(*glb);
}

TEST(GltfVerticesTest, SplitVerticesKeepTheirAttributes) {
  const std::vector<std::uint8_t> file = sphereFile();
  const auto before = readGltfBytes(file, "sphere.glb");
  ASSERT_TRUE(before);
  const Primitive& old = before->meshes[0].primitives[0];
  auto document = GltfDocument::open(file, "sphere.glb");
  auto vertices = GltfVertices::open(file, "sphere.glb");
  ASSERT_TRUE(document && vertices);
  vertices->noteUsed(*document);
  // Every corner a vertex of its own.
  std::vector<VertexBlend> blends;
  std::vector<std::uint32_t> triangles;
  VertexAttribute uvs{"TEXCOORD_1", 2, {}};
  for (const std::uint32_t v : old.triangles) {
    VertexBlend vertex;
    vertex.from = {v, v, v};
    triangles.push_back(static_cast<std::uint32_t>(blends.size()));
    blends.push_back(vertex);
    uvs.rows.insert(uvs.rows.end(), {0.25f, 0.01f * static_cast<float>(v)});
  }
  const std::string removed[] = {"COLOR_0"};
  const VertexAttribute added[] = {uvs};
  ASSERT_TRUE(vertices->rewrite(*document, 0, 0, blends, triangles, added, removed));
  vertices->dropUnused(*document);
  document->dropUnused();
  const auto bytes = document->finish();
  ASSERT_TRUE(bytes);
  const auto after = readGltfBytes(*bytes, "split.glb");
  ASSERT_TRUE(after) << after.error().message;
  const Primitive& split = after->meshes[0].primitives[0];
  ASSERT_EQ(split.positions.size(), old.triangles.size());
  EXPECT_TRUE(split.colors.empty());
  ASSERT_EQ(split.uv_sets.size(), 2u);
  for (std::size_t c = 0; c < old.triangles.size(); ++c) {
    const std::uint32_t v = old.triangles[c];
    EXPECT_EQ(split.positions[split.triangles[c]], old.positions[v]);
    EXPECT_EQ(split.normals[split.triangles[c]], old.normals[v]);
    EXPECT_EQ(split.uv_sets[0][split.triangles[c]], old.uv_sets[0][v]);
    EXPECT_EQ(split.uv_sets[1][split.triangles[c]], Vec2f(0.25f, 0.01f * static_cast<float>(v)));
  }
  // The old vertices are gone from the file.
  EXPECT_LT(bytes->size(), file.size() + split.positions.size() * 40 + 8000);
}

TEST(GltfVerticesTest, VerticesInBetweenAreInterpolated) {
  const std::vector<std::uint8_t> file = sphereFile();
  const auto before = readGltfBytes(file, "sphere.glb");
  ASSERT_TRUE(before);
  const Primitive& old = before->meshes[0].primitives[0];
  auto document = GltfDocument::open(file, "sphere.glb");
  auto vertices = GltfVertices::open(file, "sphere.glb");
  ASSERT_TRUE(document && vertices);
  std::vector<VertexBlend> blends(3);
  for (std::size_t c = 0; c < 3; ++c) {
    blends[c].from = {old.triangles[c], old.triangles[(c + 1) % 3], old.triangles[c]};
    blends[c].weight = {0.5f, 0.5f, 0};
  }
  const std::uint32_t triangle[] = {0, 1, 2};
  ASSERT_TRUE(vertices->rewrite(*document, 0, 0, blends, triangle, {}));
  const auto bytes = document->finish();
  ASSERT_TRUE(bytes);
  const auto after = readGltfBytes(*bytes, "middle.glb");
  ASSERT_TRUE(after) << after.error().message;
  const Primitive& middle = after->meshes[0].primitives[0];
  ASSERT_EQ(middle.positions.size(), 3u);
  for (std::size_t c = 0; c < 3; ++c) {
    const Vec3 mean = 0.5 * (old.positions[old.triangles[c]] + old.positions[old.triangles[(c + 1) % 3]]);
    EXPECT_LT((middle.positions[c] - mean).norm(), 1e-6);
    EXPECT_NEAR(middle.normals[c].norm(), 1, 1e-5);
    EXPECT_NEAR(middle.colors[c][1], 0.25, 0.01);
  }
}

TEST(GltfVerticesTest, VerticesThatDoNotExistAreRefused) {
  const std::vector<std::uint8_t> file = sphereFile();
  auto document = GltfDocument::open(file, "sphere.glb");
  auto vertices = GltfVertices::open(file, "sphere.glb");
  ASSERT_TRUE(document && vertices);
  std::vector<VertexBlend> blends(3);
  blends[1].from = {100000, 0, 0};
  const std::uint32_t triangle[] = {0, 1, 2};
  EXPECT_FALSE(vertices->rewrite(*document, 0, 0, blends, triangle, {}));
}

}  // namespace
}  // namespace heatskin
