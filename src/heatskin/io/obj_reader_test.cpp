#include "heatskin/io/obj_reader.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"
#include "heatskin/io/color_space.h"

#include "support/asset_views.h"
#include "support/mutations.h"

namespace heatskin {
namespace {

using testing::corners;
using testing::findNotice;
using testing::warnings;

constexpr std::string_view kTetrahedron =
    "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
    "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

Result<Asset> parseObj(std::string_view text, const LoadOptions& options = {}) {
  return parseObj({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, "/nowhere/test.obj",
                  options);
}

std::string objError(std::string_view text) {
  const Result<Asset> asset = parseObj(text);
  return asset ? "" : asset.error().message;
}

TEST(ObjReader, ATetrahedron) {
  const Result<Asset> asset = parseObj(kTetrahedron);
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_EQ(asset->format, "obj");
  ASSERT_EQ(asset->meshes.size(), 1u);
  ASSERT_EQ(asset->instances.size(), 1u);
  ASSERT_EQ(asset->meshes[0].primitives.size(), 1u);
  const Primitive& primitive = asset->meshes[0].primitives[0];
  EXPECT_EQ(primitive.positions.size(), 4u);
  EXPECT_EQ(primitive.triangleCount(), 4u);
  EXPECT_EQ(primitive.material, -1);
  EXPECT_EQ(asset->stored_vertices, 4u);
  EXPECT_EQ(warnings(*asset), 0u);
  EXPECT_EQ(corners(*asset)[1], Vec3(0, 1, 0));
}

TEST(ObjReader, EveryWayToWriteTheSameFile) {
  const std::vector<Vec3> expected = corners(*parseObj(kTetrahedron));
  const std::vector<std::string> variants = {
      "\xEF\xBB\xBF" + std::string(kTetrahedron),
      "v 0 0 0\r\nv 1 0 0\r\nv 0 1 0\r\nv 0 0 1\r\nf 1 3 2\r\nf 1 2 4\r\nf 1 4 3\r\nf 2 3 4\r\n",
      "v 0 0 0\rv 1 0 0\rv 0 1 0\rv 0 0 1\rf 1 3 2\rf 1 2 4\rf 1 4 3\rf 2 3 4\r",
      "\tv\t0  0 0 \n v +1 -0 0.0\nv 0e5 1.00 0 1.0\nv .0 0. 1\nf 1\t3  2 \nf 1 2 4\nf 1 4 3\nf 2 3 4",
      "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf -4 -2 -3\nf -4 -3 -1\nf -4 -1 -2\nf -3 -2 -1\n",
      "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n",
      "v 0 0 \\\n0\nv 1 0 0 # first axis\nv 0 1 0\nv 0 0 1\nvn 0 0 1\no a b\ng c\ns off\n"
      "f 1//1 3//1 2//1\nf 1 \\\n2 \\\n4 # comment\nf 1 4 3\nf 2 3 4\n"};
  for (const std::string& text : variants) {
    const Result<Asset> asset = parseObj(text);
    ASSERT_TRUE(asset) << asset.error().message << "\n" << text;
    EXPECT_EQ(corners(*asset), expected) << text;
  }
  EXPECT_NE(findNotice(*parseObj(variants[2]), "cr_line_ends"), nullptr);
}

TEST(ObjReader, ErrorsNameTheLine) {
  const auto with = [](const std::string& line) { return std::string(kTetrahedron) + line + "\n"; };
  EXPECT_EQ(objError(with("f 1 2 900")), "/nowhere/test.obj:9: vertex index 900 out of range (4 vertices)");
  EXPECT_EQ(objError(with("f 1/1 2/1 3/44")),
            "/nowhere/test.obj:9: vt index 1 out of range (0 texture coordinates)");
  EXPECT_EQ(objError(with("f 1 2 -99")), "/nowhere/test.obj:9: vertex index -99 out of range (4 so far)");
  EXPECT_EQ(objError(with("f 1 2 0")), "/nowhere/test.obj:9: vertex index 0: OBJ indices start at 1");
  EXPECT_EQ(objError(with("f 1 2 99999999999999999999999")),
            "/nowhere/test.obj:9: bad vertex index '99999999999999999999999'");
  EXPECT_EQ(objError(with("f 1 2 5000000000")), "/nowhere/test.obj:9: vertex index 5000000000 out of range");
  EXPECT_EQ(objError(with("f 1 2 3/1/1/1")), "/nowhere/test.obj:9: bad face corner '3/1/1/1'");
  EXPECT_EQ(objError(with("f 1 2 x")), "/nowhere/test.obj:9: bad vertex index 'x'");
  EXPECT_EQ(objError(with("f 1 2 /1")), "/nowhere/test.obj:9: bad vertex index ''");
  EXPECT_EQ(objError(with("v 0 0")), "/nowhere/test.obj:9: vertex needs three coordinates, found 2");
  EXPECT_EQ(objError(with("v 0 0 zero")), "/nowhere/test.obj:9: 'zero' is not a number");
  EXPECT_EQ(objError(with("v 0,5 0 0")), "/nowhere/test.obj:9: '0,5' is not a number");
  EXPECT_EQ(objError(with("v nan inf -inf")),
            "/nowhere/test.obj:9: vertex coordinate is not a finite number");
  EXPECT_EQ(objError(with("v 1e999 0 0")), "/nowhere/test.obj:9: vertex coordinate is not a finite number");
  EXPECT_EQ(objError(with("v 0 0 0 1 1")),
            "/nowhere/test.obj:9: vertex has 5 numbers; 3 or 4 coordinates, or 3 and a colour (r g b, r g b "
            "a) are known");
  EXPECT_EQ(objError(with("vt")),
            "/nowhere/test.obj:9: texture coordinate needs one to three numbers, found 0");
  EXPECT_EQ(objError(with(std::string("v 0 0 0\n") + '\0')),
            "/nowhere/test.obj:10: NUL byte: not an OBJ text file (or a damaged one)");
  EXPECT_EQ(objError(""), "/nowhere/test.obj: no triangles in file: it has no faces");
  EXPECT_EQ(objError("# nothing\n"), "/nowhere/test.obj: no triangles in file: it has no faces");
  EXPECT_EQ(objError("v 0 0 0\nv 1 0 0\nv 0 1 0\n"),
            "/nowhere/test.obj: no triangles in file: it has no faces");
}

TEST(ObjReader, LineNumbersCountContinuedLines) {
  EXPECT_EQ(objError("v 0 0 0\nf 1 \\\n1 \\\n1\nv bad\n"), "/nowhere/test.obj:5: 'bad' is not a number");
}

TEST(ObjReader, SkippedThingsAreMentioned) {
  const Result<Asset> asset =
      parseObj(std::string(kTetrahedron) + "l 1 2\np 1\ncurv 0 1 1 2\nf 1 2\nfoo\nf 1 2\n");
  ASSERT_TRUE(asset);
  EXPECT_EQ(corners(*asset).size(), 12u);
  ASSERT_NE(findNotice(*asset, "skipped_elements"), nullptr);
  EXPECT_EQ(findNotice(*asset, "skipped_elements")->count, 3u);
  ASSERT_NE(findNotice(*asset, "short_faces"), nullptr);
  EXPECT_EQ(findNotice(*asset, "short_faces")->count, 2u);
  EXPECT_EQ(findNotice(*asset, "short_faces")->message,
            "line 12: face with 2 corners skipped (the first of 2)");
  ASSERT_NE(findNotice(*asset, "unknown_statement"), nullptr);
}

TEST(ObjReader, UnusedVerticesAreLeftOutAndMentioned) {
  const Result<Asset> asset = parseObj(std::string(kTetrahedron) + "v 1e6 0 0\nv 0 1e6 0\n");
  ASSERT_TRUE(asset);
  EXPECT_EQ(asset->meshes[0].primitives[0].positions.size(), 4u);
  ASSERT_NE(findNotice(*asset, "unused_vertices"), nullptr);
  EXPECT_EQ(findNotice(*asset, "unused_vertices")->count, 2u);
}

TEST(ObjReader, PolygonsAreCutInsideTheirOutline) {
  const Result<Asset> asset =
      parseObj("v 0 0 0\nv 2 0 0\nv 2 2 0\nv 1 0.5 0\nv 0 2 0\nv 0 0 1\nv 2 0 1\nf 1 2 3 4 5\nf 1 6 7 2\n");
  ASSERT_TRUE(asset);
  const std::vector<Vec3> points = corners(*asset);
  ASSERT_EQ(points.size(), 15u);
  double area = 0;
  for (std::size_t t = 0; t < points.size(); t += 3) {
    area += 0.5 * (points[t + 1] - points[t]).cross(points[t + 2] - points[t]).norm();
  }
  EXPECT_DOUBLE_EQ(area, 2.5 + 2);
}

TEST(ObjReader, SelfCrossingPolygonsAreMentioned) {
  const Result<Asset> asset = parseObj("v 0 0 0\nv 1 1 0\nv 1 0 0\nv 0 1 0\nf 1 2 3 4\n");
  ASSERT_TRUE(asset);
  EXPECT_EQ(corners(*asset).size(), 6u);
  EXPECT_NE(findNotice(*asset, "broken_polygons"), nullptr);
}

TEST(ObjReader, TextureCoordinatesAreFlippedAndDivideVerticesAtSeams) {
  const Result<Asset> asset = parseObj(
      "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\n"
      "vt 0 0\nvt 1 0.25\nvt -3.5 7\nvt 0.5\nvt 1 0.25\n"
      "f 1/1 2/2 3/3\nf 2/5 4/4 3/1\n");
  ASSERT_TRUE(asset) << asset.error().message;
  ASSERT_EQ(asset->meshes[0].primitives.size(), 1u);
  const Primitive& primitive = asset->meshes[0].primitives[0];
  // Vertex 2 has two equal texture coordinates (shared), vertex 3 two different ones (divided).
  EXPECT_EQ(primitive.positions.size(), 5u);
  ASSERT_EQ(primitive.uv_sets.size(), 1u);
  const auto uv = [&](std::size_t corner) { return primitive.uv_sets[0][primitive.triangles[corner]]; };
  EXPECT_EQ(uv(0), Vec2f(0, 1));
  EXPECT_EQ(uv(1), Vec2f(1, 0.75f));
  EXPECT_EQ(uv(2), Vec2f(-3.5f, -6));
  EXPECT_EQ(uv(4), Vec2f(0.5f, 1));
  EXPECT_EQ(primitive.triangles[1], primitive.triangles[3]);
  EXPECT_NE(primitive.triangles[2], primitive.triangles[5]);
}

// METHOD section 1 reads row round((1 - v)(H - 1)), wrapped; with our v' = 1 - v it is round(v' (H - 1)).
TEST(ObjReader, TheFlipKeepsTheNearestTexelOutsideTheUnitSquare) {
  constexpr int kHeight = 1024;
  for (const double v : {-5.3, -0.05, 0.0, 0.123456, 0.5, 0.999, 1.0, 1.7, 12.25}) {
    const Result<Asset> asset =
        parseObj("v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 " + std::to_string(v) + "\nf 1/1 2/1 3/1\n");
    ASSERT_TRUE(asset);
    const float flipped = asset->meshes[0].primitives[0].uv_sets[0][0].y();
    EXPECT_EQ(std::lround(flipped * static_cast<float>(kHeight - 1)), std::lround((1 - v) * (kHeight - 1)))
        << v;
  }
}

TEST(ObjReader, FacesWithAndWithoutTextureCoordinatesAreSeparated) {
  const Result<Asset> asset =
      parseObj("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nf 1/1 2/1 3/1\nf 1 2 4\nf 1/1 2 3/1\n");
  ASSERT_TRUE(asset);
  ASSERT_EQ(asset->meshes[0].primitives.size(), 2u);
  EXPECT_EQ(asset->meshes[0].primitives[0].triangleCount(), 1u);
  EXPECT_EQ(asset->meshes[0].primitives[0].uv_sets.size(), 1u);
  EXPECT_EQ(asset->meshes[0].primitives[1].triangleCount(), 2u);
  EXPECT_TRUE(asset->meshes[0].primitives[1].uv_sets.empty());
  ASSERT_NE(findNotice(*asset, "mixed_uv"), nullptr);
  EXPECT_EQ(findNotice(*asset, "mixed_uv")->count, 2u);
}

TEST(ObjReader, NotFiniteTextureCoordinatesBecomeZeroWithAWarning) {
  const Result<Asset> asset = parseObj("v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 1 1\nvt nan inf\nf 1/1 2/2 3/1\n");
  ASSERT_TRUE(asset);
  for (const Vec2f& uv : asset->meshes[0].primitives[0].uv_sets[0])
    EXPECT_TRUE(uv.allFinite());
  ASSERT_NE(findNotice(*asset, "bad_uv"), nullptr);
  EXPECT_TRUE(findNotice(*asset, "bad_uv")->warning);
  EXPECT_NE(findNotice(*asset, "bad_uv")->message.find("line 5"), std::string::npos);
}

TEST(ObjReader, VertexColorsAreDisplayColors) {
  const Result<Asset> asset = parseObj("v 0 0 0 1 0 0.5\nv 1 0 0 0 1 0\nv 0 1 0 1 1 1 0.25\nf 1 2 3\n");
  ASSERT_TRUE(asset);
  const std::vector<Vec4f>& colors = asset->meshes[0].primitives[0].colors;
  ASSERT_EQ(colors.size(), 3u);
  EXPECT_EQ(colors[0], Vec4f(1, 0, linearFromSrgb(0.5f), 1));
  EXPECT_EQ(colors[2], Vec4f(1, 1, 1, 0.25f));
  EXPECT_EQ(warnings(*asset), 0u);

  const Result<Asset> bytes = parseObj("v 0 0 0 255 0 51\nv 1 0 0 0 1 0\nv 0 1 0\nf 1 2 3\n");
  ASSERT_TRUE(bytes);
  EXPECT_NE(findNotice(*bytes, "color_range"), nullptr);
  EXPECT_NE(findNotice(*bytes, "partial_colors"), nullptr);
  EXPECT_FLOAT_EQ(bytes->meshes[0].primitives[0].colors[0].z(), linearFromSrgb(0.2f));
}

TEST(ObjReader, PositionsKeepDoublePrecision) {
  const Result<Asset> asset = parseObj("v 1000000000.125 0 0\nv 1000000001 0 0\nv 1e9 1 0\nf 1 2 3\n");
  ASSERT_TRUE(asset);
  EXPECT_EQ(asset->meshes[0].primitives[0].positions[0].x(), 1000000000.125);
}

TEST(ObjReader, OneVertexWithManyTextureCoordinatesTakesLinearTime) {
  // A list per vertex would need 10^10 comparisons.
  std::string text = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
  constexpr int kCount = 200000;
  for (int i = 0; i < kCount; ++i)
    text += "vt " + std::to_string(i) + " 0\n";
  for (int i = 1; i <= kCount; ++i)
    text += "f 1/" + std::to_string(i) + " 2/1 3/1\n";
  const Result<Asset> asset = parseObj(text);
  ASSERT_TRUE(asset);
  EXPECT_EQ(asset->meshes[0].primitives[0].positions.size(), static_cast<std::size_t>(kCount) + 2);
}

TEST(ObjReader, LimitsAreKept) {
  LoadOptions options;
  options.max_triangles = 3;
  EXPECT_FALSE(parseObj(kTetrahedron, options));
  options = {};
  options.max_vertices = 3;
  EXPECT_FALSE(parseObj(kTetrahedron, options));
}

TEST(ObjReader, BrokenNormalsAreOnlyMentioned) {
  const Result<Asset> asset = parseObj(std::string(kTetrahedron) + "f 1//7 2//7 3//7\nf 1//x 2 3\n");
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_NE(findNotice(*asset, "bad_normal"), nullptr);
}

TEST(ObjReader, LongLinesAndNumbers) {
  std::string text = "# " + std::string(1 << 20, 'x') + "\n" + std::string(kTetrahedron);
  text += "v 1." + std::string(100000, '0') + "1 0 0\nf 5 2 3\n";
  EXPECT_TRUE(parseObj(text));
}

// Any bytes: an asset that keeps its promises or an error, never a crash.
TEST(ObjReader, MutatedFilesNeverCrash) {
  const std::string seed =
      "mtllib a.mtl\nusemtl m\nv 0 0 0 1 0 0\nv 1 0 0\nv 0 1 0.5e1\nv 0 0 1\nvt 0 0\nvt 1 0.5\nvn 0 0 1\n"
      "f 1/1/1 3/2 2/2/1\nf 1 2 4 -1\nf -1//1 -2 -3 \\\n-4\nl 1 2\n";
  std::size_t loaded = 0;
  testing::forEachMutation(seed, 6000, [&](std::string_view text) {
    const Result<Asset> asset = parseObj(text);
    if (!asset) {
      EXPECT_FALSE(asset.error().message.empty());
      EXPECT_EQ(asset.error().message.find('\n'), std::string::npos);
      return;
    }
    ++loaded;
    for (const Primitive& primitive : asset->meshes.at(0).primitives) {
      EXPECT_EQ(primitive.triangles.size() % 3, 0u);
      for (const std::uint32_t vertex : primitive.triangles)
        ASSERT_LT(vertex, primitive.positions.size());
      for (const Vec3& p : primitive.positions)
        ASSERT_TRUE(p.allFinite());
      for (const auto& set : primitive.uv_sets)
        ASSERT_EQ(set.size(), primitive.positions.size());
    }
  });
  EXPECT_GT(loaded, 100u);
}

/// Objects and groups are meshes of their names, in the order of their first faces.
TEST(ObjReader, KeepsNamesOfObjectsAndGroups) {
  const std::string vertices = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\n";
  const auto namesOf = [&](const std::string& text) {
    const auto asset = parseObj(vertices + text);
    std::vector<std::string> names;
    EXPECT_TRUE(asset) << asset.error().message;
    if (!asset) return names;
    EXPECT_EQ(asset->meshes.size(), asset->instances.size());
    for (const Instance& instance : asset->instances) {
      const Mesh& mesh = asset->meshes[static_cast<std::size_t>(instance.mesh)];
      EXPECT_EQ(mesh.name, instance.name);
      std::size_t triangles = 0;
      for (const Primitive& primitive : mesh.primitives)
        triangles += primitive.triangleCount();
      names.push_back(instance.name + " " + std::to_string(triangles));
    }
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(namesOf("f 1 2 3\n"), (Names{"test 1"}));
  EXPECT_EQ(namesOf("o\ng\nf 1 2 3\n"), (Names{"test 1"}));
  EXPECT_EQ(namesOf("o left wheel\nf 1 2 3\n"), (Names{"left wheel 1"}));
  EXPECT_EQ(namesOf("f 1 2 3\no a\nf 2 4 3\no unused\ng b\nf 1 2 4\no a\nf 1 4 3\n"),
            (Names{"test 1", "a 2", "unused/b 1"}));
  EXPECT_EQ(namesOf("g a\nf 1 2 3\nusemtl x\nf 2 4 3\ng b\nf 1 2 4\n"), (Names{"a 2", "b 1"}));
  EXPECT_EQ(namesOf("o a\ng a\nf 1 2 3\n"), (Names{"a 1"}));
  std::string many;
  for (int i = 0; i < 5000; ++i)
    many += "g part" + std::to_string(i) + "\nf 1 2 3\n";
  EXPECT_EQ(namesOf(many), (Names{"test 5000"})) << "a file cannot ask for any number of meshes";
}

}  // namespace
}  // namespace heatskin