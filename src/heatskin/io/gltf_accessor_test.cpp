// Accessors and primitives: every way to store numbers gives the numbers.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/gltf_reader.h"

#include "support/asset_views.h"
#include "support/gltf_builder.h"
#include "support/gltf_outcome.h"

namespace heatskin {
namespace {

using testing::bytesOf;
using testing::findNotice;
using testing::GltfBuilder;
using testing::gltfComponentType;
using testing::load;
using testing::outcome;
using testing::squareBuilder;
using Json = nlohmann::json;
using Triangles = std::vector<std::uint32_t>;

/// The only primitive, or a test failure.
Primitive primitiveOf(const GltfBuilder& builder) {
  const Result<Asset> asset = load(builder);
  if (!asset) {
    ADD_FAILURE() << asset.error().message;
    return {};
  }
  EXPECT_EQ(asset->meshes.size(), 1u);
  return asset->meshes.at(0).primitives.at(0);
}

/// A builder with one triangle whose TEXCOORD_0 is given, 3 pairs.
template <class T>
GltfBuilder withTexcoords(const std::vector<T>& values, bool normalized, bool quantization) {
  GltfBuilder builder;
  builder.addAccessor<float>({0, 0, 0, 1, 0, 0, 0, 1, 0}, "VEC3");
  builder.addAccessor<T>(values, "VEC2", normalized);
  builder.addMesh({{"attributes", {{"POSITION", 0}, {"TEXCOORD_0", 1}}}});
  if (quantization) builder.json["extensionsUsed"] = {"KHR_mesh_quantization"};
  return builder;
}

template <class T>
class NormalizedIntegers : public ::testing::Test {};
using IntegerTypes = ::testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t>;
TYPED_TEST_SUITE(NormalizedIntegers, IntegerTypes);

TYPED_TEST(NormalizedIntegers, FollowTheSpecification) {
  using T = TypeParam;
  constexpr T kMax = std::numeric_limits<T>::max(), kMin = std::numeric_limits<T>::min();
  const std::vector<T> values = {kMax, kMin, 0, 1, static_cast<T>(kMax / 3), static_cast<T>(kMin + 1)};
  const Primitive p = primitiveOf(withTexcoords<T>(values, true, true));
  ASSERT_EQ(p.uv_sets.size(), 1u);
  for (std::size_t i = 0; i < 6; ++i) {
    const double expected = std::max(static_cast<double>(values[i]) / kMax, -1.0);
    // One rounding to float.
    EXPECT_NEAR(p.uv_sets[0][i / 2][static_cast<int>(i % 2)], expected, 6e-8) << i;
  }
  const Primitive raw = primitiveOf(withTexcoords<T>(values, false, true));
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(raw.uv_sets[0][i / 2][static_cast<int>(i % 2)], static_cast<float>(values[i]));
  }
  // Plain integers need the extension that allows them.
  EXPECT_NE(outcome(withTexcoords<T>(values, false, false)), "ok");
}

TYPED_TEST(NormalizedIntegers, PositionsNeedQuantization) {
  using T = TypeParam;
  constexpr T kMax = std::numeric_limits<T>::max();
  for (const bool normalized : {false, true}) {
    GltfBuilder builder;
    // Elements of 3 bytes or 3 halves are padded to a multiple of 4 by writers; here they are packed.
    builder.addAccessor<T>({0, 0, 0, kMax, 0, 0, 0, kMax, 1}, "VEC3", normalized);
    builder.addMesh({{"attributes", {{"POSITION", 0}}}});
    EXPECT_EQ(outcome(builder), "test.glb: mesh 0, primitive 0: POSITION must be VEC3 of floats");
    builder.json["extensionsRequired"] = {"KHR_mesh_quantization"};
    const Primitive p = primitiveOf(builder);
    EXPECT_EQ(p.positions[1].x(), normalized ? 1.0 : static_cast<double>(kMax));
    EXPECT_EQ(p.positions[2].z(), normalized ? 1.0 / kMax : 1.0);
  }
}

TEST(Accessor, IndicesOfEveryWidth) {
  const auto triangles = [](auto zero) {
    using T = decltype(zero);
    GltfBuilder builder = squareBuilder();
    builder.primitive()["indices"] = builder.addAccessor<T>({0, 1, 2, 0, 2, 3}, "SCALAR");
    return primitiveOf(builder).triangles;
  };
  const Triangles expected = {0, 1, 2, 0, 2, 3};
  EXPECT_EQ(triangles(std::uint8_t{}), expected);
  EXPECT_EQ(triangles(std::uint16_t{}), expected);
  EXPECT_EQ(triangles(std::uint32_t{}), expected);
  GltfBuilder builder = squareBuilder();
  builder.primitive()["indices"] = builder.addAccessor<std::int16_t>({0, 1, 2}, "SCALAR");
  EXPECT_NE(outcome(builder).find("indices must be unsigned"), std::string::npos);
  builder.primitive()["indices"] = builder.addAccessor<float>({0, 1, 2}, "SCALAR");
  EXPECT_NE(outcome(builder).find("indices must be unsigned"), std::string::npos);
  builder.primitive()["indices"] = 0;
  EXPECT_NE(outcome(builder).find("indices must be unsigned"), std::string::npos);
}

TEST(Accessor, InterleavedAndUnaligned) {
  // Position, texture coordinate and a byte of colour share one view with a stride of 26; nothing is aligned.
  GltfBuilder builder;
  constexpr std::size_t kStride = 26, kOffset = 3;
  std::vector<std::uint8_t> bytes(kOffset + 3 * kStride, 0xEE);
  const float numbers[3][5] = {{0, 0, 0, 0.25f, 0.5f}, {1, 0, 0, 0.75f, 0.5f}, {0, 1, 5, 1.5f, -2}};
  for (std::size_t i = 0; i < 3; ++i) {
    std::memcpy(bytes.data() + kOffset + i * kStride, numbers[i], sizeof numbers[i]);
    for (std::size_t c = 0; c < 4; ++c)
      bytes[kOffset + i * kStride + 20 + c] = static_cast<std::uint8_t>(51 * (i + c));
  }
  builder.addView(bytes, kStride);
  builder.add(
      "accessors",
      {{"bufferView", 0}, {"byteOffset", kOffset}, {"componentType", 5126}, {"count", 3}, {"type", "VEC3"}});
  builder.add("accessors", {{"bufferView", 0},
                            {"byteOffset", kOffset + 12},
                            {"componentType", 5126},
                            {"count", 3},
                            {"type", "VEC2"}});
  builder.add("accessors", {{"bufferView", 0},
                            {"byteOffset", kOffset + 20},
                            {"componentType", 5121},
                            {"normalized", true},
                            {"count", 3},
                            {"type", "VEC4"}});
  builder.addMesh({{"attributes", {{"POSITION", 0}, {"TEXCOORD_0", 1}, {"COLOR_0", 2}}}});
  const Primitive p = primitiveOf(builder);
  EXPECT_EQ(p.triangles, (Triangles{0, 1, 2}));
  EXPECT_EQ(p.positions[2], Vec3(0, 1, 5));
  EXPECT_EQ(p.uv_sets[0][2], Vec2f(1.5f, -2));
  EXPECT_EQ(p.colors[1], Vec4f(51 / 255.0f, 102 / 255.0f, 153 / 255.0f, 204 / 255.0f));
  // One byte less and the last element does not fit.
  builder.json["bufferViews"][0]["byteLength"] = kOffset + 2 * kStride + 23;
  EXPECT_NE(outcome(builder).find("accessor 2 is out of range of bufferView 0"), std::string::npos)
      << outcome(builder);
  builder.json["bufferViews"][0]["byteStride"] = 8;
  EXPECT_NE(outcome(builder).find("smaller than an element"), std::string::npos) << outcome(builder);
}

TEST(Accessor, SparseReplacesElements) {
  GltfBuilder builder = squareBuilder();
  const std::size_t indices = builder.addView(bytesOf<std::uint8_t>({1, 3}));
  const std::size_t values = builder.addView(bytesOf<float>({7, 8, 9, 10, 11, 12}));
  builder.json["accessors"][0]["sparse"] = {{"count", 2},
                                            {"indices", {{"bufferView", indices}, {"componentType", 5121}}},
                                            {"values", {{"bufferView", values}}}};
  Primitive p = primitiveOf(builder);
  EXPECT_EQ(p.positions, (std::vector<Vec3>{{0, 0, 0}, {7, 8, 9}, {1, 1, 0}, {10, 11, 12}}));

  // Without a base the rest is zero.
  builder.json["accessors"][0].erase("bufferView");
  p = primitiveOf(builder);
  EXPECT_EQ(p.positions, (std::vector<Vec3>{{0, 0, 0}, {7, 8, 9}, {0, 0, 0}, {10, 11, 12}}));
}

TEST(Accessor, SparseIsChecked) {
  const auto with = [](const std::vector<std::uint16_t>& targets, std::size_t count, int component) {
    GltfBuilder builder = squareBuilder();
    const std::size_t indices = builder.addView(bytesOf<std::uint16_t>(targets));
    const std::size_t values = builder.addView(bytesOf<float>(std::vector<float>(3 * targets.size())));
    builder.json["accessors"][0]["sparse"] = {
        {"count", count},
        {"indices", {{"bufferView", indices}, {"componentType", component}}},
        {"values", {{"bufferView", values}}}};
    return outcome(builder);
  };
  EXPECT_EQ(with({0, 2}, 2, 5123), "ok");
  EXPECT_NE(with({0, 4}, 2, 5123).find("out of range"), std::string::npos);
  EXPECT_NE(with({2, 1}, 2, 5123).find("out of order"), std::string::npos);
  EXPECT_NE(with({1, 1}, 2, 5123).find("out of order"), std::string::npos);
  EXPECT_NE(with({0, 2}, 3, 5123).find("out of range of their buffer views"), std::string::npos);
  EXPECT_NE(with({0, 2}, 5, 5123).find("larger than the accessor"), std::string::npos);
  EXPECT_NE(with({0, 2}, 2, 5126).find("not an unsigned integer"), std::string::npos);
}

TEST(Accessor, BoundsAndTypesAreChecked) {
  GltfBuilder builder = squareBuilder();
  Json& accessor = builder.json["accessors"][0];
  const Json good = accessor;
  const auto with = [&](const char* key, const Json& value) {
    accessor = good;
    accessor[key] = value;
    return outcome(builder);
  };
  EXPECT_EQ(with("count", 4), "ok");
  EXPECT_NE(with("count", 5).find("accessor 0 is out of range of bufferView 0"), std::string::npos);
  EXPECT_NE(with("count", 4294967295u).find("out of range"), std::string::npos);
  EXPECT_NE(with("count", 9007199254740992).find("out of range"), std::string::npos);
  EXPECT_EQ(with("count", -4), "test.glb: accessor 0: invalid count -4");
  EXPECT_NE(with("count", 1.5e300).find("accessor 0: invalid count 1.5e+300"), std::string::npos);
  EXPECT_NE(with("byteOffset", 4).find("out of range"), std::string::npos);
  EXPECT_NE(with("byteOffset", 9007199254740992).find("out of range"), std::string::npos);
  EXPECT_EQ(with("componentType", 9999), "test.glb: accessor 0: unknown componentType 9999");
  EXPECT_EQ(with("componentType", 5124), "test.glb: accessor 0: unknown componentType 5124");
  EXPECT_NE(with("type", "MAT4").find("cannot be used here"), std::string::npos);
  EXPECT_NE(with("type", "VEC2").find("POSITION must be VEC3"), std::string::npos);
  EXPECT_NE(with("bufferView", 99).find("bufferView 99 does not exist"), std::string::npos);
  EXPECT_NE(with("count", 3).find("index 3 at position 5 is out of range, there are 3 vertices"),
            std::string::npos);
  accessor = good;
  builder.primitive()["attributes"]["POSITION"] = 99;
  EXPECT_NE(outcome(builder).find("accessor 99 does not exist"), std::string::npos);
}

TEST(Primitive, StripsAndFansKeepTheWinding) {
  // The five points of a strip along x; every triangle must be counter-clockwise seen from +z.
  const std::vector<float> strip = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 2, 0};
  const std::vector<float> fan = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, -1, 1, 0};
  for (const int mode : {5, 6}) {
    for (const bool indexed : {false, true}) {
      GltfBuilder builder;
      builder.addAccessor<float>(mode == 5 ? strip : fan, "VEC3");
      builder.addMesh({{"attributes", {{"POSITION", 0}}}, {"mode", mode}});
      if (indexed)
        builder.primitive()["indices"] = builder.addAccessor<std::uint8_t>({0, 1, 2, 3, 4}, "SCALAR");
      const Primitive p = primitiveOf(builder);
      ASSERT_EQ(p.triangleCount(), 3u);
      double area = 0;
      for (std::size_t t = 0; t < 3; ++t) {
        const Vec3& a = p.positions[p.triangles[3 * t]];
        const Vec3& b = p.positions[p.triangles[3 * t + 1]];
        const Vec3& c = p.positions[p.triangles[3 * t + 2]];
        const double twice = (b - a).cross(c - a).z();
        EXPECT_GT(twice, 0) << "mode " << mode << ", triangle " << t;
        area += 0.5 * twice;
      }
      EXPECT_DOUBLE_EQ(area, 1.5);
    }
  }
}

TEST(Primitive, StripsLeaveOutTheTrianglesOfAJump) {
  GltfBuilder builder;
  builder.addAccessor<float>(std::vector<float>(24, 1), "VEC3");
  builder.addMesh({{"attributes", {{"POSITION", 0}}}, {"mode", 5}});
  builder.primitive()["indices"] = builder.addAccessor<std::uint8_t>({0, 1, 2, 2, 4, 4, 5, 6}, "SCALAR");
  EXPECT_EQ(primitiveOf(builder).triangles, (Triangles{0, 1, 2, 4, 6, 5}));  // the jump has odd length
}

TEST(Primitive, NonIndexedAndIncompleteTriangles) {
  GltfBuilder builder;
  builder.addAccessor<float>(std::vector<float>(3 * 7, 0.5f), "VEC3");
  builder.addMesh({{"attributes", {{"POSITION", 0}}}});
  const Result<Asset> asset = load(builder);
  ASSERT_TRUE(asset);
  EXPECT_EQ(asset->meshes[0].primitives[0].triangles, (Triangles{0, 1, 2, 3, 4, 5}));
  EXPECT_NE(findNotice(*asset, "incomplete_triangle"), nullptr);
}

TEST(Primitive, OutOfRangeIndicesAreRefused) {
  GltfBuilder builder = squareBuilder();
  builder.primitive()["indices"] = builder.addAccessor<std::uint32_t>({0, 1, 2, 0, 2, 0xFFFFFFFF}, "SCALAR");
  EXPECT_NE(outcome(builder).find("index 4294967295 at position 5"), std::string::npos);
  builder.primitive()["indices"] = builder.addAccessor<std::uint8_t>({0, 1, 77}, "SCALAR");
  EXPECT_NE(outcome(builder).find("index 77 at position 2 is out of range, there are 4 vertices"),
            std::string::npos);
}

TEST(Primitive, PointsAndLinesAreSkipped) {
  GltfBuilder builder = squareBuilder();
  for (int mode = 0; mode < 4; ++mode) {
    builder.json["meshes"][0]["primitives"].push_back({{"attributes", {{"POSITION", 0}}}, {"mode", mode}});
  }
  Result<Asset> asset = load(builder);
  ASSERT_TRUE(asset);
  EXPECT_EQ(asset->meshes[0].primitives.size(), 1u);
  const Notice* notice = findNotice(*asset, "lines_and_points");
  ASSERT_NE(notice, nullptr);
  EXPECT_EQ(notice->count, 4u);
  EXPECT_NE(notice->message.find("mesh 0, primitive 1"), std::string::npos);
  EXPECT_NE(notice->message.find("3 more such cases"), std::string::npos);

  builder.json["meshes"][0]["primitives"].erase(0);
  EXPECT_EQ(outcome(builder), "test.glb: no triangles in the file (only points and lines)");
  builder.json["meshes"][0]["primitives"] = Json::array({{{"attributes", Json::object()}}});
  EXPECT_EQ(outcome(builder), "test.glb: no triangles in the file (primitives without POSITION)");
  builder.json["meshes"][0]["primitives"] = Json::array();
  EXPECT_EQ(outcome(builder), "test.glb: no triangles in the file (its meshes are empty)");
  builder = squareBuilder();
  builder.primitive()["mode"] = 7;
  EXPECT_NE(outcome(builder).find("unknown mode 7"), std::string::npos);
}

TEST(Primitive, NonFiniteNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  GltfBuilder builder;
  builder.addAccessor<float>({0, 0, 0, 1, 0, nan, 0, 1, 0}, "VEC3");
  builder.addMesh({{"attributes", {{"POSITION", 0}}}});
  EXPECT_NE(outcome(builder).find("the position of vertex 1 is not finite"), std::string::npos);

  builder = withTexcoords<float>({0, 1, nan, 2, 3, inf}, false, false);
  Result<Asset> asset = load(builder);
  ASSERT_TRUE(asset);
  const Notice* notice = findNotice(*asset, "nonfinite_uv");
  ASSERT_NE(notice, nullptr);
  EXPECT_NE(notice->message.find("2 vertices"), std::string::npos);
  EXPECT_EQ(asset->meshes[0].primitives[0].uv_sets[0], (std::vector<Vec2f>{{0, 1}, {0, 0}, {0, 0}}));

  builder = GltfBuilder();
  builder.addAccessor<float>({0, 0, 0, 1, 0, 0, 0, 1, 0}, "VEC3");
  builder.addAccessor<float>({nan, 0, 0, 2, -1, 0.5f, 0, 0, 0}, "VEC3");
  builder.addMesh({{"attributes", {{"POSITION", 0}, {"COLOR_0", 1}}}});
  asset = load(builder);
  ASSERT_TRUE(asset);
  EXPECT_NE(findNotice(*asset, "nonfinite_color"), nullptr);
  const Primitive& p = asset->meshes[0].primitives[0];
  EXPECT_EQ(p.colors[0], Vec4f(1, 1, 1, 1));
  EXPECT_EQ(p.colors[1], Vec4f(1, 0, 0.5f, 1));
}

TEST(Primitive, ColorsOfEveryAllowedType) {
  const auto colors = [](auto zero, const char* type, bool normalized) {
    using T = decltype(zero);
    const T most = std::is_same_v<T, float> ? T(1) : std::numeric_limits<T>::max();
    GltfBuilder builder;
    builder.addAccessor<float>({0, 0, 0, 1, 0, 0, 0, 1, 0}, "VEC3");
    const bool alpha = type[3] == '4';
    const std::vector<T> values =
        alpha ? std::vector<T>{most, T(0), most, T(0), most, T(0), most, T(0), most, T(0), most, T(0)}
              : std::vector<T>{most, T(0), most, most, T(0), most, most, T(0), most};
    builder.addAccessor<T>(values, type, normalized);
    builder.addMesh({{"attributes", {{"POSITION", 0}, {"COLOR_0", 1}}}});
    return builder;
  };
  for (const char* type : {"VEC3", "VEC4"}) {
    const Vec4f expected(1, 0, 1, type[3] == '4' ? 0.0f : 1.0f);
    for (const GltfBuilder& builder : {colors(float{}, type, false), colors(std::uint8_t{}, type, true),
                                       colors(std::uint16_t{}, type, true)}) {
      const Result<Asset> asset = load(builder);
      ASSERT_TRUE(asset) << asset.error().message;
      EXPECT_TRUE(asset->notices.empty());
      EXPECT_EQ(asset->meshes[0].primitives[0].colors[1], expected);
    }
    // A common exporter's mistake: bytes without the flag.
    const Result<Asset> asset = load(colors(std::uint8_t{}, type, false));
    ASSERT_TRUE(asset);
    EXPECT_NE(findNotice(*asset, "color_not_normalized"), nullptr);
    EXPECT_EQ(asset->meshes[0].primitives[0].colors[1], expected);
  }
  EXPECT_NE(outcome(colors(std::uint32_t{}, "VEC4", false)), "ok");
  EXPECT_NE(outcome(colors(float{}, "VEC2", false)), "ok");
}

TEST(Primitive, AttributesMustHaveOneEntryPerVertex) {
  GltfBuilder builder = squareBuilder();
  builder.json["accessors"][1]["count"] = 2;
  EXPECT_EQ(outcome(builder),
            "test.glb: mesh 0, primitive 0: the count of TEXCOORD_0 (2) differs from POSITION (4)");
  builder = squareBuilder();
  builder.primitive()["attributes"]["COLOR_0"] = builder.addAccessor<float>({1, 1, 1}, "VEC3");
  EXPECT_NE(outcome(builder).find("the count of COLOR_0 (1) differs"), std::string::npos);
  builder = squareBuilder();
  builder.primitive()["attributes"]["TEXCOORD_0"] = 0;
  EXPECT_NE(outcome(builder).find("TEXCOORD_0 must be VEC2"), std::string::npos);
}

TEST(Primitive, ManyTexcoordSetsWithHoles) {
  GltfBuilder builder = squareBuilder();
  builder.primitive()["attributes"]["TEXCOORD_5"] = 1;
  builder.primitive()["attributes"]["TEXCOORD_4000000000"] = 1;
  builder.primitive()["attributes"]["TEXCOORD_99999999999999999999999"] = 1;
  builder.primitive()["attributes"]["TEXCOORD_"] = 1;
  const Result<Asset> asset = load(builder);
  ASSERT_TRUE(asset);
  const Primitive& p = asset->meshes[0].primitives[0];
  ASSERT_EQ(p.uv_sets.size(), 6u);
  EXPECT_EQ(p.uv_sets[5], p.uv_sets[0]);
  EXPECT_TRUE(p.uv_sets[3].empty());
  EXPECT_NE(findNotice(*asset, "texcoord_set_ignored"), nullptr);
}

TEST(Primitive, SlicesOfASharedVertexBufferTakeOnlyTheirVertices) {
  GltfBuilder builder;
  builder.addAccessor<float>({0, 0, 0, 1, 0, 0, 0, 1, 0, 5, 0, 0, 6, 0, 0, 5, 1, 0}, "VEC3");
  builder.addAccessor<float>({0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0}, "VEC2");
  builder.addAccessor<std::uint16_t>({0, 1, 2}, "SCALAR");
  builder.addAccessor<std::uint16_t>({5, 3, 4}, "SCALAR");
  const Json attributes = {{"POSITION", 0}, {"TEXCOORD_0", 1}};
  builder.addMesh({{"attributes", attributes}, {"indices", 2}});
  builder.json["meshes"][0]["primitives"].push_back({{"attributes", attributes}, {"indices", 3}});
  const Result<Asset> asset = load(builder);
  ASSERT_TRUE(asset) << asset.error().message;
  const Primitive& second = asset->meshes[0].primitives[1];
  ASSERT_EQ(second.positions.size(), 3u);
  EXPECT_EQ(second.positions[second.triangles[0]], Vec3(5, 1, 0));
  EXPECT_EQ(second.positions[second.triangles[1]], Vec3(5, 0, 0));
  EXPECT_EQ(second.positions[second.triangles[2]], Vec3(6, 0, 0));
  EXPECT_EQ(second.uv_sets[0][second.triangles[2]], Vec2f(4, 0));
  EXPECT_EQ(asset->stored_vertices, 12u);
}

}  // namespace
}  // namespace heatskin
