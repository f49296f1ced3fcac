#include "heatskin/io/ply_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/color_space.h"
#include "heatskin/io/image.h"

#include "support/asset_views.h"
#include "support/mutations.h"
#include "support/temporary_folder.h"

namespace heatskin {
namespace {

using testing::corners;
using testing::findNotice;

Result<Asset> parse(std::string_view text, const LoadOptions& options = {}) {
  return parsePly({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, "/nowhere/test.ply",
                  options);
}

std::string errorOf(std::string_view text) {
  const Result<Asset> asset = parse(text);
  return asset ? "" : asset.error().message;
}

const std::vector<Vec3> kTriangleAndQuad = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 0}, {0, 1, 0},
                                            {0, 1, 1}, {0, 0, 0}, {0, 1, 1}, {0, 0, 1}};

constexpr std::string_view kAscii =
    "ply\nformat ascii 1.0\ncomment a test\nelement vertex 5\nproperty float x\nproperty double y\n"
    "property float32 z\nelement face 2\nproperty list uchar int vertex_indices\nend_header\n"
    "0 0 0\n1 0 0\n0 1 0\n0 1 1\n0 0 1\n3 0 1 2\n4 0 2 3 4\n";

/// Binary numbers in either byte order.
class PlyBytes {
 public:
  explicit PlyBytes(bool big) : big_(big) {}
  template <class T>
  PlyBytes& add(T value) {
    std::array<char, sizeof(T)> raw;
    std::memcpy(raw.data(), &value, sizeof(T));
    if (big_ == (std::endian::native == std::endian::little)) std::reverse(raw.begin(), raw.end());
    text.append(raw.data(), raw.size());
    return *this;
  }
  std::string text;

 private:
  bool big_;
};

/// The triangle and the quad again, with a vertex list, an extra element and a face property to be skipped.
std::string binaryFile(bool big, const char* line_end = "\n") {
  std::string header =
      std::string("ply\nformat binary_") + (big ? "big" : "little") +
      "_endian 1.0\nelement vertex 5\nproperty short x\nproperty list ushort double junk\nproperty float y\n"
      "property double z\nelement extra 3\nproperty list int8 uint16 a\nproperty char b\nelement face 2\n"
      "property int16 flags\nproperty list uint32 uint8 vertex_index\nend_header\n";
  for (std::size_t at = 0; (at = header.find('\n', at)) != std::string::npos; at += std::strlen(line_end)) {
    header.replace(at, 1, line_end);
  }
  PlyBytes data(big);
  const std::vector<std::array<int, 3>> points = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 1, 1}, {0, 0, 1}};
  std::uint16_t length = 0;
  for (const auto& p : points) {
    data.add(static_cast<std::int16_t>(p[0])).add(length);
    for (int i = 0; i < length; ++i)
      data.add(1.5);
    ++length;
    data.add(static_cast<float>(p[1])).add(static_cast<double>(p[2]));
  }
  data.add(std::int8_t{0}).add(std::int8_t{7});
  data.add(std::int8_t{2}).add(std::uint16_t{1}).add(std::uint16_t{2}).add(std::int8_t{7});
  data.add(std::int8_t{1}).add(std::uint16_t{1}).add(std::int8_t{7});
  data.add(std::int16_t{-1}).add(std::uint32_t{3});
  for (const int i : {0, 1, 2})
    data.add(static_cast<std::uint8_t>(i));
  data.add(std::int16_t{-1}).add(std::uint32_t{4});
  for (const int i : {0, 2, 3, 4})
    data.add(static_cast<std::uint8_t>(i));
  return header + data.text;
}

TEST(PlyReader, Ascii) {
  const Result<Asset> asset = parse(kAscii);
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_EQ(asset->format, "ply");
  EXPECT_EQ(corners(*asset), kTriangleAndQuad);
  EXPECT_TRUE(asset->notices.empty());
}

TEST(PlyReader, BinaryInBothByteOrdersAndAllLineEnds) {
  for (const bool big : {false, true}) {
    for (const char* line_end : {"\n", "\r\n", "\r"}) {
      const Result<Asset> asset = parse(binaryFile(big, line_end));
      ASSERT_TRUE(asset) << asset.error().message;
      EXPECT_EQ(corners(*asset), kTriangleAndQuad);
    }
  }
}

TEST(PlyReader, EveryTypeUnderBothNames) {
  for (const char* type : {"char", "int8", "uchar", "uint8", "short", "int16", "ushort", "uint16", "int",
                           "int32", "uint", "uint32", "float", "float32", "double", "float64"}) {
    std::string text(kAscii);
    text.replace(text.find("float x"), 5, type);
    EXPECT_TRUE(parse(text)) << type;
  }
}

TEST(PlyReader, FacesMayComeFirst) {
  const std::string text =
      "ply\nformat ascii 1.0\nelement face 1\nproperty list uchar int vertex_indices\nelement vertex 3\n"
      "property float x\nproperty float y\nproperty float z\nend_header\n3 0 1 2\n0 0 0 1 0 0\n0 1 0";
  const Result<Asset> asset = parse(text);
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_EQ(corners(*asset).size(), 3u);
}

std::string colored(const std::string& type, const std::string& values) {
  std::string text =
      "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n";
  for (const char* name : {"red", "green", "blue", "alpha"})
    text += "property " + type + " " + name + "\n";
  text += "element face 1\nproperty list uchar int vertex_indices\nend_header\n";
  for (const char* point : {"0 0 0 ", "1 0 0 ", "0 1 0 "})
    text += point + values + "\n";
  return text + "3 0 1 2\n";
}

TEST(PlyReader, ColorsAreDisplayValuesOfTheirType) {
  for (const auto& [type, values] : std::vector<std::pair<std::string, std::string>>{
           {"uchar", "255 51 0 102"}, {"ushort", "65535 13107 0 26214"}, {"float", "1 0.2 0 0.4"}}) {
    const Result<Asset> asset = parse(colored(type, values));
    ASSERT_TRUE(asset) << asset.error().message;
    const Vec4f color = asset->meshes[0].primitives[0].colors.at(0);
    EXPECT_FLOAT_EQ(color[0], 1);
    EXPECT_FLOAT_EQ(color[1], linearFromSrgb(0.2f));
    EXPECT_FLOAT_EQ(color[2], 0);
    EXPECT_FLOAT_EQ(color[3], 0.4f);
    EXPECT_TRUE(asset->notices.empty());
  }
  EXPECT_NE(findNotice(*parse(colored("float", "2 0 0 1")), "color_range"), nullptr);
  EXPECT_NE(findNotice(*parse(colored("float", "nan 0 0 1")), "bad_color"), nullptr);
}

TEST(PlyReader, TexturePerVertexAndPerCorner) {
  const testing::TemporaryFolder folder;
  const std::vector<std::uint8_t> pixels = {255, 0, 0, 0, 255, 0};
  for (const char* name : {"a.png", "b c.png"}) {
    const auto png = *encodePng(pixels, 2, 1, 3);
    folder.write(name, {reinterpret_cast<const char*>(png.data()), png.size()});
  }
  const std::string head =
      "ply\nformat ascii 1.0\ncomment TextureFile a.png\ncomment TextureFile b c.png\nelement vertex 4\n"
      "property float x\nproperty float y\nproperty float z\n";
  const Result<Asset> vertex = readPly(folder.write(
      "vertex.ply",
      head + "property float s\nproperty float t\nelement face 1\nproperty list uchar int vertex_indices\n"
             "end_header\n0 0 0 0 0\n1 0 0 1 0\n1 1 0 1 1\n0 1 0 0 0.25\n4 0 1 2 3\n"));
  ASSERT_TRUE(vertex) << vertex.error().message;
  ASSERT_EQ(vertex->images.size(), 1u);
  EXPECT_EQ(vertex->images[0]->name, "a.png");
  const Primitive& quad = vertex->meshes[0].primitives.at(0);
  EXPECT_EQ(quad.material, 0);
  EXPECT_EQ(quad.uv_sets.at(0).at(0), Vec2f(0, 1));
  EXPECT_EQ(quad.uv_sets.at(0).at(3), Vec2f(0, 0.75f));

  const Result<Asset> wedge = readPly(folder.write(
      "wedge.ply",
      head + "element face 3\nproperty list uchar int vertex_indices\nproperty list uchar float texcoord\n"
             "property int texnumber\nend_header\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n"
             "3 0 1 2 6 0 0 1 0 1 1 0\n3 0 2 3 6 0 0 1 1 0 1 1\n3 0 1 3 4 0 0 1 1 0\n"));
  ASSERT_TRUE(wedge) << wedge.error().message;
  EXPECT_EQ(wedge->images.size(), 2u);
  ASSERT_EQ(wedge->meshes[0].primitives.size(), 3u);
  EXPECT_EQ(wedge->meshes[0].primitives[0].uv_sets.at(0).at(1), Vec2f(1, 1));
  EXPECT_NE(wedge->meshes[0].primitives[0].material, wedge->meshes[0].primitives[1].material);
  EXPECT_NE(findNotice(*wedge, "bad_texcoord"), nullptr);
  EXPECT_NE(findNotice(*wedge, "missing_uv"), nullptr);
}

TEST(PlyReader, MissingTextureIsAWarning) {
  std::string text(kAscii);
  text.insert(text.find("element vertex"), "comment TextureFile gone.png\n");
  const Result<Asset> asset = parse(text);
  ASSERT_TRUE(asset);
  ASSERT_NE(findNotice(*asset, "missing_texture"), nullptr);
  EXPECT_NE(findNotice(*asset, "missing_texture")->message.find("gone.png"), std::string::npos);
}

TEST(PlyReader, TriangleStrips) {
  const std::string text =
      "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
      "element tristrips 1\nproperty list int int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n1 1 0\n"
      "9 0 1 2 3 -1 2 1 1 0\n";
  const Result<Asset> asset = parse(text);
  ASSERT_TRUE(asset) << asset.error().message;
  const std::vector<Vec3> points = corners(*asset);
  ASSERT_EQ(points.size(), 6u);  // the second strip has only triangles with a repeated vertex
  for (std::size_t t = 0; t < points.size(); t += 3) {
    EXPECT_GT((points[t + 1] - points[t]).cross(points[t + 2] - points[t]).z(), 0) << "orientation kept";
  }
}

TEST(PlyReader, ErrorsSayWhatAndWhere) {
  const auto change = [](std::string_view what, std::string_view by) {
    std::string text(kAscii);
    text.replace(text.find(what), what.size(), by);
    return errorOf(text);
  };
  EXPECT_EQ(change("ply\n", "plx\n"), "/nowhere/test.ply: not a PLY file (it does not begin with 'ply')");
  EXPECT_EQ(change("ascii", "binary_middle_endian"),
            "/nowhere/test.ply:2: unknown PLY format 'binary_middle_endian'; ascii, binary_little_endian and "
            "binary_big_endian are known");
  EXPECT_EQ(change("1.0", "2.0"), "/nowhere/test.ply:2: unknown PLY version '2.0', only 1.0 exists");
  EXPECT_EQ(change("vertex 5", "vertex -5"),
            "/nowhere/test.ply:4: element 'vertex' has an invalid count '-5'");
  EXPECT_EQ(change("vertex 5", "vertex 99999999999999999999"),
            "/nowhere/test.ply:4: element 'vertex' has an invalid count '99999999999999999999'");
  EXPECT_EQ(change("float x", "quadruple x"), "/nowhere/test.ply:5: unknown property type 'quadruple'");
  EXPECT_EQ(change("list uchar int", "list float int"),
            "/nowhere/test.ply:9: list count type 'float' is not an integer type");
  EXPECT_NE(change("end_header\n", "").find("end_header"), std::string::npos);
  EXPECT_EQ(change("0 0 1\n3", "0 0 one\n3"),
            "/nowhere/test.ply:15: vertex 4: 'one' is not a number of the declared type");
  EXPECT_EQ(change("0 0 1\n3", "0 0 nan\n3"),
            "/nowhere/test.ply:15: vertex 4: coordinate is not a finite number");
  EXPECT_EQ(change("3 0 1 2", "3 0 1 5"),
            "/nowhere/test.ply:16: face 0: vertex index 5 out of range (5 vertices)");
  EXPECT_EQ(change("3 0 1 2", "3 0 1 -1"),
            "/nowhere/test.ply:16: face 0: vertex index -1 out of range (5 vertices)");
  EXPECT_EQ(change("3 0 1 2", "3 0 1 0.5"),
            "/nowhere/test.ply:16: face 0: '0.5' is not a number of the declared type");
  EXPECT_EQ(change("4 0 2 3 4\n", "4 0 2 3"), "/nowhere/test.ply: the file ends early: in face 1 of 2");
  EXPECT_EQ(change("4 0 2 3 4\n", "4000000000 0 2 3 4\n"),
            "/nowhere/test.ply:17: face 1: the file ends early: a list of 4000000000 values does not fit "
            "into the 9 bytes left");
  EXPECT_EQ(
      change("face 2", "face 4000000000"),
      "/nowhere/test.ply: the file ends early: 4000000000 of element 'face' do not fit into the 48 bytes "
      "after the header");
  EXPECT_EQ(change("property float x", "property float a"),
            "/nowhere/test.ply: the vertices have no x, y and z");
  EXPECT_EQ(change("face 2", "fact 2"),
            "/nowhere/test.ply: no triangles in file: it has vertices but no faces (a point cloud?)");
}

TEST(PlyReader, CountsAreCheckedBeforeAnythingIsAllocated) {
  for (const char* count : {"4294967295", "9223372036854775807"}) {
    std::string text = binaryFile(false);
    text.replace(text.find("vertex 5"), 8, std::string("vertex ") + count);
    EXPECT_NE(errorOf(text).find("ends early"), std::string::npos);
  }
  // Rows without bytes: nothing to read, nothing to loop over.
  std::string text(kAscii);
  text.insert(text.find("element face"), "element ghost 9223372036854775807\n");
  EXPECT_TRUE(parse(text));
}

TEST(PlyReader, EveryCutBinaryFileIsRefused) {
  const std::string whole = binaryFile(false);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(parse(std::string_view(whole).substr(0, length))) << length;
  }
}

TEST(PlyReader, ShortFacesAreSkippedWithANotice) {
  std::string text(kAscii);
  text.replace(text.find("4 0 2 3 4"), 9, "2 0 2");
  const Result<Asset> asset = parse(text);
  ASSERT_TRUE(asset);
  EXPECT_EQ(corners(*asset).size(), 3u);
  EXPECT_NE(findNotice(*asset, "short_faces"), nullptr);
}

TEST(PlyReader, LimitsAreKept) {
  LoadOptions options;
  options.max_triangles = 2;
  EXPECT_FALSE(parse(kAscii, options));
  options = {};
  options.max_vertices = 4;
  EXPECT_FALSE(parse(kAscii, options));
}

TEST(PlyReader, MutatedFilesNeverCrash) {
  const auto check = [](std::string_view text) {
    const Result<Asset> asset = parse(text);
    if (!asset) {
      EXPECT_FALSE(asset.error().message.empty());
      EXPECT_EQ(asset.error().message.find('\n'), std::string::npos);
      return;
    }
    for (const Primitive& primitive : asset->meshes.at(0).primitives) {
      EXPECT_EQ(primitive.triangles.size() % 3, 0u);
      for (const std::uint32_t vertex : primitive.triangles)
        ASSERT_LT(vertex, primitive.positions.size());
      for (const Vec3& p : primitive.positions)
        ASSERT_TRUE(p.allFinite());
    }
  };
  testing::forEachMutation(std::string(kAscii), 4000, check);
  testing::forEachMutation(colored("float", "1 0 0.5 1"), 3000, check);
  testing::forEachMutation(binaryFile(false), 4000, check);
  testing::forEachMutation(binaryFile(true), 4000, check);
}

}  // namespace
}  // namespace heatskin
