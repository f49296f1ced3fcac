// Normals and tangents of files: read as they are, checked, never a reason to refuse a shape.

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/glb_writer.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/io/obj_reader.h"
#include "heatskin/io/ply_reader.h"

#include "support/asset_checks.h"
#include "support/gltf_builder.h"
#include "support/gltf_outcome.h"

namespace heatskin {
namespace {

using testing::GltfBuilder;

const Primitive& onlyPrimitive(const Asset& asset) {
  EXPECT_EQ(testing::assetProblem(asset), "");
  return asset.meshes.at(0).primitives.at(0);
}

bool mentions(const Asset& asset, const std::string& code) {
  for (const Notice& notice : asset.notices) {
    if (notice.code == code) return true;
  }
  return false;
}

std::span<const std::uint8_t> bytesOfText(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

const std::vector<float> kNormals = {0, 0, 2, 0, 0.6f, 0.8f, 1, 0, 0, 0, -1, 0};

TEST(GltfNormals, AreReadAndNormalised) {
  GltfBuilder builder = testing::squareBuilder();
  builder.primitive()["attributes"]["NORMAL"] = builder.addAccessor<float>(kNormals, "VEC3");
  builder.primitive()["attributes"]["TANGENT"] =
      builder.addAccessor<float>({3, 0, 0, 1, 1, 0, 0, -1, 0, 1, 0, 0.5f, 0, 0, 0, -7}, "VEC4");
  const auto asset = testing::load(builder);
  ASSERT_TRUE(asset) << asset.error().message;
  const Primitive& p = onlyPrimitive(*asset);
  EXPECT_EQ(p.normals[0], Vec3f(0, 0, 1));
  EXPECT_LT((p.normals[1] - Vec3f(0, 0.6f, 0.8f)).norm(), 1e-6f);
  EXPECT_EQ(p.tangents[0], Vec4f(1, 0, 0, 1));
  EXPECT_EQ(p.tangents[1], Vec4f(1, 0, 0, -1));
  EXPECT_EQ(p.tangents[2].w(), 1);
  EXPECT_EQ(p.tangents[3], Vec4f(0, 0, 0, -1));  // no direction
}

TEST(GltfNormals, QuantisedAndSparseOnes) {
  GltfBuilder builder = testing::squareBuilder();
  builder.json["extensionsUsed"] = {"KHR_mesh_quantization"};
  builder.primitive()["attributes"]["NORMAL"] =
      builder.addAccessor<std::int8_t>({0, 0, 127, 0, 0, 127, 127, 0, 0, 0, 127, 0}, "VEC3", true);
  const std::size_t tangents = builder.addAccessor<std::int16_t>(
      {32767, 0, 0, 32767, 32767, 0, 0, -32767, 0, 32767, 0, 32767, 0, 0, 32767, 32767}, "VEC4", true);
  builder.primitive()["attributes"]["TANGENT"] = tangents;
  // Vertex 3's tangent is replaced by a sparse one.
  builder.json["accessors"][tangents]["sparse"] = {
      {"count", 1},
      {"indices",
       {{"bufferView", builder.addView(testing::bytesOf(std::vector<std::uint16_t>{3}))},
        {"componentType", 5123}}},
      {"values",
       {{"bufferView", builder.addView(testing::bytesOf(std::vector<std::int16_t>{-32767, 0, 0, -32767}))}}}};
  const auto asset = testing::load(builder);
  ASSERT_TRUE(asset) << asset.error().message;
  const Primitive& p = onlyPrimitive(*asset);
  EXPECT_EQ(p.normals[2], Vec3f(1, 0, 0));
  EXPECT_EQ(p.tangents[1], Vec4f(1, 0, 0, -1));
  EXPECT_EQ(p.tangents[3], Vec4f(-1, 0, 0, -1));
}

TEST(GltfNormals, OfASharedVertexBufferAreThoseOfTheVerticesUsed) {
  GltfBuilder builder = testing::squareBuilder();
  builder.primitive()["attributes"]["NORMAL"] = builder.addAccessor<float>(kNormals, "VEC3");
  const std::size_t other = builder.addAccessor<std::uint16_t>({1, 2, 3}, "SCALAR");
  auto second = builder.primitive();
  second["indices"] = other;
  builder.json["meshes"][0]["primitives"].push_back(second);
  const auto asset = testing::load(builder);
  ASSERT_TRUE(asset) << asset.error().message;
  const Primitive& p = asset->meshes[0].primitives.at(1);
  ASSERT_EQ(p.normals.size(), 3u);
  EXPECT_EQ(p.normals[1], Vec3f(1, 0, 0));
}

TEST(GltfNormals, ThatCannotBeUsedAreLeftOutWithANotice) {
  const auto with = [](auto change) {
    GltfBuilder builder = testing::squareBuilder();
    change(builder, builder.primitive()["attributes"]);
    auto asset = testing::load(builder);
    EXPECT_TRUE(asset) << asset.error().message;
    return std::move(*asset);
  };
  // Another count, another type, integers without sign.
  for (const Asset& asset : {with([](auto&b, auto&a) {
                               a["NORMAL"] = b.template addAccessor<float>({0, 0, 1}, "VEC3");
                             }),
                             with([](auto&b, auto&a) {
                               a["NORMAL"] =
                                   b.template addAccessor<float>(std::vector<float>(8, 1.0f), "VEC2");
                             }),
                             with([](auto&b, auto&a) {
                               a["NORMAL"] = b.template addAccessor<std::uint8_t>(
                                   std::vector<std::uint8_t>(12, 255), "VEC3", true);
                             })}) {
    EXPECT_TRUE(onlyPrimitive(asset).normals.empty());
    EXPECT_TRUE(mentions(asset, "directions_ignored"));
  }
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Asset broken = with([&](auto& b, auto& a) {
    a["NORMAL"] =
        b.template addAccessor<float>({0, 0, 0, kNan, 0, 1, kInfinity, 0, 0, 3e38f, 3e38f, 0}, "VEC3");
  });
  EXPECT_TRUE(mentions(broken, "unusable_normal"));
  for (std::size_t v = 0; v < 3; ++v)
    EXPECT_TRUE(onlyPrimitive(broken).normals[v].isZero());
  EXPECT_NEAR(onlyPrimitive(broken).normals[3].norm(), 1, 1e-6f);
  // Tangents without normals are to be ignored.
  const Asset alone = with([&](auto& b, auto& a) {
    a["TANGENT"] = b.template addAccessor<float>(std::vector<float>(16, 1.0f), "VEC4");
  });
  EXPECT_TRUE(onlyPrimitive(alone).tangents.empty());
  // Bytes that are not there are another matter: the file is damaged.
  GltfBuilder outside = testing::squareBuilder();
  outside.primitive()["attributes"]["NORMAL"] = 99;
  EXPECT_FALSE(testing::load(outside));
}

TEST(ObjNormals, SplitVerticesWhereTheyDiffer) {
  const std::string text =
      "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 0 0 2\nvn 0 1 0\nvn 0 0 0\n"
      "f 1//1 2//1 3//1\nf 1//2 4//2 2//2\nf 1//1 3//1 4//3\nf 2 4 3\n";
  const auto asset = parseObj(bytesOfText(text), "a.obj");
  ASSERT_TRUE(asset) << asset.error().message;
  const Primitive& p = onlyPrimitive(*asset);
  EXPECT_TRUE(mentions(*asset, "bad_normal"));
  ASSERT_EQ(p.normals.size(), p.positions.size());
  EXPECT_EQ(p.normals[p.triangles[0]], Vec3f(0, 0, 1));
  EXPECT_EQ(p.normals[p.triangles[3]], Vec3f(0, 1, 0));
  EXPECT_EQ(p.triangles[6], p.triangles[0]);  // the same position and normal: the same vertex
  EXPECT_TRUE(p.normals[p.triangles[8]].isZero());
  EXPECT_TRUE(p.normals[p.triangles[9]].isZero());
  // A file without usable normals has none.
  const auto plain = parseObj(bytesOfText("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1//3 2//9 3//-1\n"), "a.obj");
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_TRUE(onlyPrimitive(*plain).normals.empty());
}

TEST(PlyNormals, AreReadPerVertex) {
  const std::string text =
      "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
      "property float nx\nproperty float ny\nproperty float nz\nelement face 1\nproperty list uchar int "
      "vertex_indices\nend_header\n0 0 0 0 0 5\n1 0 0 0 1 0\n0 1 0 nan 0 0\n3 0 1 2\n";
  const auto asset = parsePly(bytesOfText(text), "a.ply");
  ASSERT_TRUE(asset) << asset.error().message;
  const Primitive& p = onlyPrimitive(*asset);
  ASSERT_EQ(p.normals.size(), 3u);
  EXPECT_EQ(p.normals[0], Vec3f(0, 0, 1));
  EXPECT_EQ(p.normals[1], Vec3f(0, 1, 0));
  EXPECT_TRUE(p.normals[2].isZero());
  EXPECT_TRUE(mentions(*asset, "bad_normal"));
}

TEST(GlbWriter, WritesTheNormalsAPrimitiveHas) {
  auto asset = parseObj(bytesOfText("v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0.6 0 0.8\nf 1//1 2//1 3//1\n"), "a.obj");
  ASSERT_TRUE(asset);
  const auto glb = encodeGlb(*asset);
  ASSERT_TRUE(glb);
  const auto again = readGltfBytes(*glb, "a.glb");
  ASSERT_TRUE(again);
  for (const Vec3f& normal : onlyPrimitive(*again).normals)
    EXPECT_LT((normal - Vec3f(0.6f, 0, 0.8f)).norm(), 1e-6f);
}

}  // namespace
}  // namespace heatskin
