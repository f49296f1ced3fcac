#include "heatskin/io/glb_writer.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/files.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/glb_builder.h"
#include "heatskin/io/image.h"

namespace heatskin {
namespace {

/// A GLB taken apart by the rules of the specification; every rule is an expectation.
struct Chunks {
  GltfJson json;
  std::vector<std::uint8_t> bin;
};

std::uint32_t wordAt(const std::vector<std::uint8_t>& bytes, std::size_t offset) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + offset, 4);
  return word;
}

Chunks takeApart(const std::vector<std::uint8_t>& glb) {
  Chunks chunks;
  EXPECT_EQ(wordAt(glb, 0), 0x46546C67u);
  EXPECT_EQ(wordAt(glb, 4), 2u);
  EXPECT_EQ(wordAt(glb, 8), glb.size());
  const std::size_t json_bytes = wordAt(glb, 12);
  EXPECT_EQ(json_bytes % 4, 0u);
  EXPECT_EQ(wordAt(glb, 16), 0x4E4F534Au);
  chunks.json = GltfJson::parse(glb.begin() + 20, glb.begin() + 20 + static_cast<std::ptrdiff_t>(json_bytes));
  if (20 + json_bytes < glb.size()) {
    const std::size_t start = 20 + json_bytes;
    EXPECT_EQ(wordAt(glb, start) % 4, 0u);
    EXPECT_EQ(wordAt(glb, start + 4), 0x004E4942u);
    EXPECT_EQ(start + 8 + wordAt(glb, start), glb.size());
    chunks.bin.assign(glb.begin() + static_cast<std::ptrdiff_t>(start) + 8, glb.end());
    const std::size_t buffer = chunks.json.at("buffers").at(0).at("byteLength").get<std::size_t>();
    EXPECT_LE(buffer, chunks.bin.size());
    EXPECT_LT(chunks.bin.size(), buffer + 4);
    for (const auto& view : chunks.json.at("bufferViews")) {
      EXPECT_EQ(view.at("byteOffset").get<std::size_t>() % 4, 0u);
      EXPECT_LE(view.at("byteOffset").get<std::size_t>() + view.at("byteLength").get<std::size_t>(), buffer);
    }
  }
  return chunks;
}

std::vector<float> floats(const Chunks& chunks, int accessor) {
  const auto& a = chunks.json.at("accessors").at(static_cast<std::size_t>(accessor));
  EXPECT_EQ(a.at("componentType").get<int>(), 5126);
  const auto& view = chunks.json.at("bufferViews").at(a.at("bufferView").get<std::size_t>());
  std::vector<float> values(view.at("byteLength").get<std::size_t>() / 4);
  std::memcpy(values.data(), chunks.bin.data() + view.at("byteOffset").get<std::size_t>(), 4 * values.size());
  return values;
}

Image checkers() {
  Image image;
  image.name = "Schachbrett-äöü";
  image.width = 5;
  image.height = 3;
  for (int i = 0; i < 15; ++i) {
    const auto shade = static_cast<std::uint8_t>(i * 17);
    const auto dark = static_cast<std::uint8_t>(255 - i);
    image.rgba.insert(image.rgba.end(), {shade, dark, static_cast<std::uint8_t>(i % 2 * 255), 255});
  }
  return image;
}

/// Two textured triangles of a square in the plane z = 0.5.
Asset square() {
  Asset asset;
  asset.images = {std::make_shared<const Image>(checkers())};
  asset.textures = {{0, Wrap::kClampToEdge, Wrap::kMirroredRepeat}};
  Material material;
  material.name = "Oberfläche 面";
  material.base_color_factor = {0.5f, 0.25f, 1.0f, 0.75f};
  material.base_color.texture = 0;
  material.base_color.offset = {0.25f, -0.5f};
  material.base_color.scale = {2.0f, 3.0f};
  material.base_color.rotation = 0.5f;
  material.alpha_mode = AlphaMode::kMask;
  material.alpha_cutoff = 0.25f;
  material.double_sided = true;
  asset.materials = {material};
  Primitive primitive;
  primitive.positions = {{-1, 0, 0.5}, {1, 0, 0.5}, {1, 2, 0.5}, {-1, 2, 0.5}};
  primitive.uv_sets = {{{0, 1}, {1, 1}, {1, 0}, {0, 0}}};
  primitive.colors = {{1, 0, 0, 1}, {0, 1, 0, 1}, {0, 0, 1, 0.5f}, {1, 1, 1, 1}};
  primitive.triangles = {0, 1, 2, 0, 2, 3};
  primitive.material = 0;
  asset.meshes = {{"Käse🧀", {primitive}}};
  Instance instance;
  instance.name = "Knoten";
  instance.mesh = 0;
  asset.instances = {instance};
  return asset;
}

std::filesystem::path temporaryFolder() {
  const auto folder = std::filesystem::path(::testing::TempDir()) /
                      ("glb_writer_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
                       ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

Asset roundTrip(const Asset& asset) {
  const auto path = temporaryFolder() / "Rundreise-ü.glb";
  const auto written = writeGlb(path, asset);
  EXPECT_TRUE(written.ok()) << (written.ok() ? "" : written.error().message);
  auto read = loadAsset(path);
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message);
  return read.ok() ? *std::move(read) : Asset{};
}

TEST(GlbWriter, ChunksAlignmentAndBounds) {
  const auto glb = encodeGlb(square());
  ASSERT_TRUE(glb.ok());
  const Chunks chunks = takeApart(*glb);
  EXPECT_EQ(chunks.json.at("asset").at("generator"), "heatskin");
  EXPECT_EQ(chunks.json.at("asset").at("version"), "2.0");
  const auto& primitive = chunks.json.at("meshes").at(0).at("primitives").at(0);
  const auto& position =
      chunks.json.at("accessors").at(primitive.at("attributes").at("POSITION").get<std::size_t>());
  EXPECT_EQ(position.at("min"), GltfJson({-1.0, 0.0, 0.5}));
  EXPECT_EQ(position.at("max"), GltfJson({1.0, 2.0, 0.5}));
  EXPECT_EQ(position.at("count"), 4);
  const auto& indices = chunks.json.at("accessors").at(primitive.at("indices").get<std::size_t>());
  EXPECT_EQ(indices.at("componentType"), 5123);
  EXPECT_EQ(chunks.json.at("extensionsUsed"), GltfJson({"KHR_texture_transform"}));
  EXPECT_FALSE(chunks.json.contains("extensionsRequired"));
  EXPECT_FALSE(chunks.json.at("nodes").at(0).contains("matrix")) << "identity is the default";
}

TEST(GlbWriter, SameAssetSameBytes) {
  const auto first = encodeGlb(square());
  const auto second = encodeGlb(square());
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
}

TEST(GlbWriter, RoundTripKeepsEverything) {
  const Asset asset = square();
  const Asset back = roundTrip(asset);
  ASSERT_EQ(back.meshes.size(), 1u);
  EXPECT_EQ(back.meshes[0].name, asset.meshes[0].name);
  ASSERT_EQ(back.meshes[0].primitives.size(), 1u);
  const Primitive& was = asset.meshes[0].primitives[0];
  const Primitive& is = back.meshes[0].primitives[0];
  EXPECT_EQ(is.positions, was.positions);
  EXPECT_EQ(is.triangles, was.triangles);
  EXPECT_EQ(is.uv_sets, was.uv_sets);
  EXPECT_EQ(is.colors, was.colors);
  ASSERT_EQ(back.materials.size(), 1u);
  const Material& material = back.materials[0];
  EXPECT_EQ(material.name, asset.materials[0].name);
  EXPECT_EQ(material.base_color_factor, asset.materials[0].base_color_factor);
  EXPECT_EQ(material.base_color.texture, 0);
  EXPECT_EQ(material.base_color.offset, asset.materials[0].base_color.offset);
  EXPECT_EQ(material.base_color.scale, asset.materials[0].base_color.scale);
  EXPECT_EQ(material.base_color.rotation, asset.materials[0].base_color.rotation);
  EXPECT_EQ(material.alpha_mode, AlphaMode::kMask);
  EXPECT_EQ(material.alpha_cutoff, 0.25f);
  EXPECT_TRUE(material.double_sided);
  ASSERT_EQ(back.textures.size(), 1u);
  EXPECT_EQ(back.textures[0].wrap_u, Wrap::kClampToEdge);
  EXPECT_EQ(back.textures[0].wrap_v, Wrap::kMirroredRepeat);
  ASSERT_EQ(back.images.size(), 1u);
  EXPECT_EQ(back.images[0]->rgba, asset.images[0]->rgba);
  EXPECT_EQ(back.images[0]->stored_channels, 3) << "an opaque image is stored without alpha";
  ASSERT_EQ(back.instances.size(), 1u);
  EXPECT_EQ(back.instances[0].name, "Knoten");
}

TEST(GlbWriter, TransparentImageKeepsAlpha) {
  Asset asset = square();
  Image holed = *asset.images[0];
  holed.rgba[7] = 13;
  asset.images[0] = std::make_shared<const Image>(std::move(holed));
  const Asset back = roundTrip(asset);
  ASSERT_EQ(back.images.size(), 1u);
  EXPECT_EQ(back.images[0]->rgba, asset.images[0]->rgba);
}

TEST(GlbWriter, ShearAndMirrorComeBack) {
  Asset asset = square();
  Affine3 transform = Affine3::Identity();
  transform.linear() << 1, 0.7, 0.1, 0.2, -2, 0.3, 0, 0.5, 3;
  transform.translation() = Vec3(4, 5, 6);
  ASSERT_LT(transform.linear().determinant(), 0);
  asset.instances[0].asset_from_mesh = transform;
  const auto glb = encodeGlb(asset);
  ASSERT_TRUE(glb.ok());
  const Chunks chunks = takeApart(*glb);
  ASSERT_EQ(chunks.json.at("nodes").size(), 2u);
  // glTF: a node's matrix must be a translation, a rotation and a scale; its columns are then orthogonal.
  for (const auto& node : chunks.json.at("nodes")) {
    const auto m = node.at("matrix").get<std::vector<double>>();
    for (std::size_t a = 0; a < 3; ++a) {
      const std::size_t b = (a + 1) % 3;
      double dot = 0;
      for (std::size_t row = 0; row < 3; ++row)
        dot += m[4 * a + row] * m[4 * b + row];
      EXPECT_NEAR(dot, 0, 1e-13);
    }
  }
  const Asset back = roundTrip(asset);
  ASSERT_EQ(back.instances.size(), 1u);
  EXPECT_TRUE(back.instances[0].asset_from_mesh.matrix().isApprox(transform.matrix(), 1e-12))
      << back.instances[0].asset_from_mesh.matrix();
}

TEST(GlbWriter, FarFromTheOriginKeepsItsShape) {
  Asset asset = square();
  const Vec3 far(5e6, -4e6, 3e6);
  for (Vec3& p : asset.meshes[0].primitives[0].positions)
    p = far + 0.01 * p;
  const Asset back = roundTrip(asset);
  ASSERT_EQ(back.instances.size(), 1u);
  const Affine3& placed = back.instances[0].asset_from_mesh;
  for (std::size_t i = 0; i < 4; ++i) {
    const Vec3 position = placed * back.meshes[0].primitives[0].positions[i];
    // Half an ulp of a double at 5e6; a float there has steps of 0.5.
    EXPECT_LT((position - asset.meshes[0].primitives[0].positions[i]).norm(), 3e-9);
  }
}

TEST(GlbWriter, ManyVerticesUseWideIndices) {
  for (const std::uint32_t count : {65535u, 65536u}) {
    Asset asset;
    Primitive primitive;
    for (std::uint32_t i = 0; i < count; ++i)
      primitive.positions.emplace_back(i % 256, i / 256, 0);
    primitive.triangles = {0, 1, count - 1};
    asset.meshes = {{"", {primitive}}};
    const auto glb = encodeGlb(asset);
    ASSERT_TRUE(glb.ok());
    const Chunks chunks = takeApart(*glb);
    const auto& written = chunks.json.at("meshes").at(0).at("primitives").at(0);
    const auto& indices = chunks.json.at("accessors").at(written.at("indices").get<std::size_t>());
    EXPECT_EQ(indices.at("componentType"), count == 65535 ? 5123 : 5125);
    EXPECT_FALSE(written.contains("material"));
    EXPECT_FALSE(chunks.json.contains("scenes")) << "no instance, no node";
  }
}

TEST(GlbWriter, AbsentTextureCoordinates) {
  Asset asset = square();
  Primitive bare = asset.meshes[0].primitives[0];
  bare.uv_sets.clear();
  bare.colors.clear();
  Primitive gap = asset.meshes[0].primitives[0];
  gap.uv_sets = {{}, gap.uv_sets[0], {}};
  Primitive empty;
  asset.meshes[0].primitives.insert(asset.meshes[0].primitives.end(), {bare, gap, empty});
  asset.meshes.push_back({"nothing", {empty}});
  asset.instances.push_back(asset.instances[0]);
  asset.instances[1].mesh = 1;
  const auto glb = encodeGlb(asset);
  ASSERT_TRUE(glb.ok());
  const Chunks chunks = takeApart(*glb);
  EXPECT_EQ(chunks.json.at("meshes").size(), 1u) << "glTF has no mesh without primitives";
  EXPECT_EQ(chunks.json.at("nodes").size(), 1u);
  const auto& primitives = chunks.json.at("meshes").at(0).at("primitives");
  ASSERT_EQ(primitives.size(), 3u);
  const auto& materials = chunks.json.at("materials");
  const auto textured = [&](std::size_t p) {
    return materials.at(primitives.at(p).at("material").get<std::size_t>())
        .at("pbrMetallicRoughness")
        .contains("baseColorTexture");
  };
  EXPECT_TRUE(textured(0));
  EXPECT_FALSE(textured(1));
  EXPECT_FALSE(textured(2)) << "its set 0 is only filled up";
  EXPECT_FALSE(primitives.at(1).at("attributes").contains("TEXCOORD_0"));
  EXPECT_FALSE(primitives.at(1).at("attributes").contains("COLOR_0"));
  EXPECT_TRUE(primitives.at(2).at("attributes").contains("TEXCOORD_0"));
  EXPECT_TRUE(primitives.at(2).at("attributes").contains("TEXCOORD_1"));
  EXPECT_FALSE(primitives.at(2).at("attributes").contains("TEXCOORD_2"));
}

TEST(GlbWriter, NormalsAreSmoothAcrossSeamsAndSharpAtCreases) {
  // A ridge along the z axis whose two slopes do not share vertices.
  const auto ridge = [](double slope_degrees) {
    const double s = std::sin(slope_degrees * M_PI / 180), c = std::cos(slope_degrees * M_PI / 180);
    Primitive p;
    p.positions = {{0, 0, 0}, {0, 0, 1}, {c, -s, 1}, {0, 0, 0}, {0, 0, 1}, {-c, -s, 0}};
    p.triangles = {0, 1, 2, 3, 5, 4};
    return p;
  };
  const auto flat = shadingNormals(ridge(20), 50);  // 40 degrees apart: one surface
  EXPECT_TRUE(flat[0].isApprox(flat[3]));
  EXPECT_TRUE(flat[1].isApprox(flat[4]));
  EXPECT_GT(flat[0].y(), 0.9f);
  const auto sharp = shadingNormals(ridge(30), 50);  // 60 degrees apart: a crease
  EXPECT_TRUE(sharp[0].isApprox(Vec3f(0.5f, std::sqrt(0.75f), 0), 1e-6f)) << sharp[0];
  EXPECT_TRUE(sharp[3].isApprox(Vec3f(-0.5f, std::sqrt(0.75f), 0), 1e-6f)) << sharp[3];

  Primitive degenerate;
  degenerate.positions = {{0, 0, 0}, {0, 0, 0}, {1, 1, 1}};
  degenerate.triangles = {0, 1, 2};
  for (const Vec3f& n : shadingNormals(degenerate, 50))
    EXPECT_EQ(n, Vec3f(0, 1, 0));
}

TEST(GlbWriter, NormalsAreWrittenAsUnitVectorsOrNotAtAll) {
  const auto with = encodeGlb(square());
  ASSERT_TRUE(with.ok());
  const Chunks chunks = takeApart(*with);
  const auto& attributes = chunks.json.at("meshes").at(0).at("primitives").at(0).at("attributes");
  const auto normals = floats(chunks, attributes.at("NORMAL").get<int>());
  for (std::size_t i = 0; i < normals.size(); i += 3) {
    EXPECT_EQ(Vec3f(normals[i], normals[i + 1], normals[i + 2]), Vec3f(0, 0, 1));
  }
  GlbOptions options;
  options.normals = false;
  const auto without = encodeGlb(square(), options);
  ASSERT_TRUE(without.ok());
  EXPECT_FALSE(
      takeApart(*without).json.at("meshes").at(0).at("primitives").at(0).at("attributes").contains("NORMAL"));
}

TEST(GlbWriter, BrokenAssetsAreRefused) {
  Asset nan = square();
  nan.meshes[0].primitives[0].positions[2].y() = std::numeric_limits<double>::quiet_NaN();
  Asset huge = square();
  huge.meshes[0].primitives[0].positions[2].y() = 1e300;
  Asset out_of_range = square();
  out_of_range.meshes[0].primitives[0].triangles[4] = 4;
  Asset short_colors = square();
  short_colors.meshes[0].primitives[0].colors.pop_back();
  Asset torn_image = square();
  Image torn = *torn_image.images[0];
  torn.rgba.pop_back();
  torn_image.images[0] = std::make_shared<const Image>(std::move(torn));
  for (const Asset* asset : {&nan, &huge, &out_of_range, &short_colors, &torn_image}) {
    const auto path = temporaryFolder() / "refused.glb";
    const auto written = writeGlb(path, *asset);
    ASSERT_FALSE(written.ok());
    EXPECT_NE(written.error().message.find("refused.glb"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(path)) << "no part of a file stays behind";
    EXPECT_TRUE(std::filesystem::is_empty(path.parent_path()));
  }
}

TEST(GlbWriter, FailedWriteLeavesTheOldFile) {
  const auto folder = temporaryFolder();
  const auto path = folder / "model.glb";
  ASSERT_TRUE(writeGlb(path, square()).ok());
  const auto before = readFile(path);
  Asset broken = square();
  broken.meshes[0].primitives[0].triangles[0] = 99;
  ASSERT_FALSE(writeGlb(path, broken).ok());
  const auto after = readFile(path);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(*before, *after);
  EXPECT_FALSE(writeGlb(folder / "missing" / "model.glb", square()).ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST(GlbBuilder, ExtensionsAndInvalidUtf8) {
  GlbBuilder builder;
  ASSERT_TRUE(addAsset(builder, square(), {}).ok());
  const std::vector<std::uint8_t> payload = {1, 2, 3, 4, 5};
  const int view = builder.addBufferView(payload);
  builder.useExtension("HSK_example");
  builder.useExtension("HSK_example");
  builder.root()["extensions"]["HSK_example"]["bufferView"] = view;
  builder.root()["extensions"]["HSK_example"]["note"] = "\xff\xfe";
  const auto glb = builder.finish();
  ASSERT_TRUE(glb.ok());
  const Chunks chunks = takeApart(*glb);
  EXPECT_EQ(chunks.json.at("extensionsUsed"), GltfJson({"KHR_texture_transform", "HSK_example"}));
  const auto& stored = chunks.json.at("bufferViews").at(static_cast<std::size_t>(view));
  const auto offset = static_cast<std::ptrdiff_t>(stored.at("byteOffset").get<std::size_t>());
  EXPECT_TRUE(std::equal(payload.begin(), payload.end(), chunks.bin.begin() + offset));
}

TEST(GlbBuilder, EmptyAssetIsAJsonChunkOnly) {
  const auto glb = encodeGlb(Asset{});
  ASSERT_TRUE(glb.ok());
  const Chunks chunks = takeApart(*glb);
  EXPECT_TRUE(chunks.bin.empty());
  EXPECT_FALSE(chunks.json.contains("buffers"));
}

}  // namespace
}  // namespace heatskin
