// Draco and meshopt: what their own encoders write comes back, and damage is refused.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <draco/compression/encode.h>
#include <draco/mesh/triangle_soup_mesh_builder.h>
#include <gtest/gtest.h>
#include <meshoptimizer.h>

#include "heatskin/base/rng.h"
#include "heatskin/io/gltf_draco.h"
#include "heatskin/io/gltf_reader.h"

#include "support/gltf_builder.h"
#include "support/gltf_outcome.h"

namespace heatskin {
namespace {

using testing::bytesOf;
using testing::GltfBuilder;
using testing::outcome;
using Bytes = std::vector<std::uint8_t>;
using Json = nlohmann::json;

/// A bumpy n x n grid with texture coordinates equal to x and y in 0..1.
struct Grid {
  explicit Grid(std::uint32_t n) {
    for (std::uint32_t y = 0; y <= n; ++y) {
      for (std::uint32_t x = 0; x <= n; ++x) {
        const float u = static_cast<float>(x) / static_cast<float>(n),
                    v = static_cast<float>(y) / static_cast<float>(n);
        positions.insert(positions.end(), {u, v, 0.3f * std::sin(7 * u) * std::cos(5 * v)});
        uvs.insert(uvs.end(), {u, v});
        const Vec3f normal =
            Vec3f(-2.1f * std::cos(7 * u) * std::cos(5 * v), 1.5f * std::sin(7 * u) * std::sin(5 * v), 1)
                .normalized();
        normals.insert(normals.end(), {normal.x(), normal.y(), normal.z()});
      }
    }
    for (std::uint32_t y = 0; y < n; ++y) {
      for (std::uint32_t x = 0; x < n; ++x) {
        const std::uint32_t a = y * (n + 1) + x, b = a + 1, c = a + n + 1, d = c + 1;
        indices.insert(indices.end(), {a, b, d, a, d, c});
      }
    }
  }
  std::size_t vertexCount() const { return positions.size() / 3; }

  std::vector<float> positions, uvs, normals;
  std::vector<std::uint32_t> indices;
};

// ---------------------------------------------------------------- Draco

struct Encoded {
  Bytes bytes;
  int position_id = 0;
  int uv_id = 0;
  int normal_id = 0;
};

Encoded encodeDraco(const Grid& grid, int method, int bits) {
  draco::TriangleSoupMeshBuilder builder;
  builder.Start(static_cast<int>(grid.indices.size() / 3));
  Encoded encoded;
  encoded.position_id = builder.AddAttribute(draco::GeometryAttribute::POSITION, 3, draco::DT_FLOAT32);
  encoded.uv_id = builder.AddAttribute(draco::GeometryAttribute::TEX_COORD, 2, draco::DT_FLOAT32);
  encoded.normal_id = builder.AddAttribute(draco::GeometryAttribute::NORMAL, 3, draco::DT_FLOAT32);
  for (std::uint32_t f = 0; f < grid.indices.size() / 3; ++f) {
    const std::uint32_t* i = grid.indices.data() + 3 * f;
    builder.SetAttributeValuesForFace(encoded.normal_id, draco::FaceIndex(f), &grid.normals[3 * i[0]],
                                      &grid.normals[3 * i[1]], &grid.normals[3 * i[2]]);
    builder.SetAttributeValuesForFace(encoded.position_id, draco::FaceIndex(f), &grid.positions[3 * i[0]],
                                      &grid.positions[3 * i[1]], &grid.positions[3 * i[2]]);
    builder.SetAttributeValuesForFace(encoded.uv_id, draco::FaceIndex(f), &grid.uvs[2 * i[0]],
                                      &grid.uvs[2 * i[1]], &grid.uvs[2 * i[2]]);
  }
  const std::unique_ptr<draco::Mesh> mesh = builder.Finalize();
  encoded.position_id = static_cast<int>(mesh->attribute(encoded.position_id)->unique_id());
  encoded.uv_id = static_cast<int>(mesh->attribute(encoded.uv_id)->unique_id());
  encoded.normal_id = static_cast<int>(mesh->attribute(encoded.normal_id)->unique_id());
  draco::Encoder encoder;
  encoder.SetEncodingMethod(method);
  encoder.SetAttributeQuantization(draco::GeometryAttribute::POSITION, bits);
  encoder.SetAttributeQuantization(draco::GeometryAttribute::TEX_COORD, bits);
  encoder.SetAttributeQuantization(draco::GeometryAttribute::NORMAL, bits);
  draco::EncoderBuffer buffer;
  EXPECT_TRUE(encoder.EncodeMeshToBuffer(*mesh, &buffer).ok());
  encoded.bytes.assign(buffer.data(), buffer.data() + buffer.size());
  return encoded;
}

GltfBuilder dracoFile(const Grid& grid, const Encoded& encoded) {
  GltfBuilder builder;
  const std::size_t view = builder.addView(encoded.bytes);
  builder.add("accessors", {{"componentType", 5126}, {"count", grid.vertexCount()}, {"type", "VEC3"}});
  builder.add("accessors", {{"componentType", 5126}, {"count", grid.vertexCount()}, {"type", "VEC2"}});
  builder.add("accessors", {{"componentType", 5125}, {"count", grid.indices.size()}, {"type", "SCALAR"}});
  builder.add("accessors", {{"componentType", 5126}, {"count", grid.vertexCount()}, {"type", "VEC3"}});
  builder.addMesh({{"attributes", {{"POSITION", 0}, {"TEXCOORD_0", 1}, {"NORMAL", 3}}}, {"indices", 2}});
  builder.primitive()["extensions"]["KHR_draco_mesh_compression"] = {
      {"bufferView", view},
      {"attributes",
       {{"POSITION", encoded.position_id}, {"TEXCOORD_0", encoded.uv_id}, {"NORMAL", encoded.normal_id}}}};
  builder.json["extensionsUsed"] = {"KHR_draco_mesh_compression"};
  builder.json["extensionsRequired"] = {"KHR_draco_mesh_compression"};
  return builder;
}

class DracoMethods : public ::testing::TestWithParam<int> {};

TEST_P(DracoMethods, RoundTripWithinQuantisation) {
  const Grid grid(12);
  constexpr int kBits = 14;
  const Result<Asset> asset =
      readGltfBytes(dracoFile(grid, encodeDraco(grid, GetParam(), kBits)).glb(), "d.glb");
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_TRUE(asset->notices.empty());
  const Primitive& p = asset->meshes.at(0).primitives.at(0);
  ASSERT_EQ(p.triangleCount(), grid.indices.size() / 3);
  ASSERT_EQ(p.positions.size(), grid.vertexCount());
  ASSERT_EQ(p.uv_sets.at(0).size(), grid.vertexCount());
  ASSERT_EQ(p.normals.size(), grid.vertexCount());

  // Texture coordinates name the grid point; half a quantisation step of a unit box, and rounding.
  constexpr double kTolerance = 0.5 / (1 << kBits) + 1e-6;
  std::set<std::set<std::uint32_t>> triangles;
  std::vector<std::uint32_t> grid_vertex(p.positions.size());
  for (std::size_t i = 0; i < p.positions.size(); ++i) {
    const Vec2f uv = p.uv_sets[0][i];
    const auto x = static_cast<std::uint32_t>(std::lround(uv.x() * 12)),
               y = static_cast<std::uint32_t>(std::lround(uv.y() * 12));
    const std::uint32_t v = y * 13 + x;
    grid_vertex[i] = v;
    EXPECT_NEAR(uv.x(), grid.uvs[2 * v], kTolerance);
    EXPECT_NEAR(uv.y(), grid.uvs[2 * v + 1], kTolerance);
    for (int c = 0; c < 3; ++c) {
      EXPECT_NEAR(p.positions[i][c], grid.positions[3 * v + static_cast<std::size_t>(c)], kTolerance);
      // An octahedron of side 2 in 2^14 steps, stretched by at most two on its way to the sphere.
      EXPECT_NEAR(p.normals[i][c], grid.normals[3 * v + static_cast<std::size_t>(c)], 8 * kTolerance);
    }
  }
  // The triangles are the same, in another order, and still look the same way.
  std::set<std::set<std::uint32_t>> expected;
  for (std::size_t t = 0; t < p.triangleCount(); ++t) {
    const std::uint32_t* a = p.triangles.data() + 3 * t;
    triangles.insert({grid_vertex[a[0]], grid_vertex[a[1]], grid_vertex[a[2]]});
    const std::uint32_t* b = grid.indices.data() + 3 * t;
    expected.insert({b[0], b[1], b[2]});
    const Vec3 normal = (p.positions[a[1]] - p.positions[a[0]]).cross(p.positions[a[2]] - p.positions[a[0]]);
    EXPECT_GT(normal.z(), 0);
  }
  EXPECT_EQ(triangles, expected);
}

INSTANTIATE_TEST_SUITE_P(Both, DracoMethods,
                         ::testing::Values(draco::MESH_SEQUENTIAL_ENCODING,
                                           draco::MESH_EDGEBREAKER_ENCODING));

TEST(Draco, UncompressedAttributesBesideCompressedOnes) {
  const Grid grid(3);
  GltfBuilder builder = dracoFile(grid, encodeDraco(grid, draco::MESH_SEQUENTIAL_ENCODING, 14));
  const std::size_t colors =
      builder.addAccessor<float>(std::vector<float>(3 * grid.vertexCount(), 0.5f), "VEC3");
  builder.primitive()["attributes"]["COLOR_0"] = colors;
  const Result<Asset> asset = readGltfBytes(builder.glb(), "d.glb");
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_EQ(asset->meshes[0].primitives[0].colors.size(), grid.vertexCount());
  builder.json["accessors"][colors]["count"] = 5;
  EXPECT_NE(outcome(builder).find("the count of COLOR_0 (5) differs"), std::string::npos);
}

TEST(Draco, WrongReferencesAreRefused) {
  const Grid grid(3);
  const Encoded encoded = encodeDraco(grid, draco::MESH_EDGEBREAKER_ENCODING, 14);
  GltfBuilder builder = dracoFile(grid, encoded);
  Json& extension = builder.primitive()["extensions"]["KHR_draco_mesh_compression"];
  extension["attributes"]["TEXCOORD_0"] = 99;
  EXPECT_NE(outcome(builder).find("no attribute 99 for TEXCOORD_0"), std::string::npos) << outcome(builder);
  extension["attributes"]["TEXCOORD_0"] = encoded.position_id;
  EXPECT_NE(outcome(builder).find("TEXCOORD_0 must be VEC2"), std::string::npos) << outcome(builder);
  extension["attributes"].erase("POSITION");
  EXPECT_NE(outcome(builder), "ok");
  extension.erase("bufferView");
  EXPECT_NE(outcome(builder).find("needs bufferView and attributes"), std::string::npos);
}

TEST(Draco, EveryTruncationAndGarbageIsRefused) {
  const Grid grid(4);
  const Encoded encoded = encodeDraco(grid, draco::MESH_EDGEBREAKER_ENCODING, 11);
  const std::vector<gltf::DracoAttribute> wanted = {
      {"POSITION", static_cast<std::uint32_t>(encoded.position_id), false}};
  for (std::size_t length = 0; length < encoded.bytes.size(); ++length) {
    gltf::MemoryBudget budget(0);
    EXPECT_FALSE(gltf::decodeDraco(std::span(encoded.bytes).first(length), wanted, budget)) << length;
  }
  gltf::MemoryBudget budget(0);
  EXPECT_TRUE(gltf::decodeDraco(encoded.bytes, wanted, budget));
}

TEST(Draco, AnnouncedSizesAreNotBelieved) {
  // A sequential stream of bitstream version 2.2 that announces 2^28 triangles and vertices, and then ends.
  const Bytes huge = {'D',  'R',  'A',  'C',  'O',  2,    2,    1,    0,    0,   0,
                      0x80, 0x80, 0x80, 0x80, 0x01, 0x80, 0x80, 0x80, 0x80, 0x01};
  gltf::MemoryBudget budget(huge.size());
  const Result<gltf::DracoMesh> mesh = gltf::decodeDraco(huge, {}, budget);
  ASSERT_FALSE(mesh);
  EXPECT_NE(mesh.error().message.find("too large: it announces 268435456 triangles"), std::string::npos)
      << mesh.error().message;
}

TEST(Draco, DamagedStreamsNeverCrash) {
  const Grid grid(6);
  const RandomStream random(21, 4);
  std::uint64_t draw = 0;
  std::size_t refused = 0;
  for (const int method : {draco::MESH_SEQUENTIAL_ENCODING, draco::MESH_EDGEBREAKER_ENCODING}) {
    const Encoded encoded = encodeDraco(grid, method, 12);
    const std::vector<gltf::DracoAttribute> wanted = {
        {"POSITION", static_cast<std::uint32_t>(encoded.position_id), false},
        {"TEXCOORD_0", static_cast<std::uint32_t>(encoded.uv_id), false}};
    for (int round = 0; round < 2000; ++round) {
      Bytes bytes = encoded.bytes;
      const std::uint64_t damages = 1 + random.below(draw++, 3);
      for (std::uint64_t d = 0; d < damages; ++d, draw += 2) {
        bytes[random.below(draw, bytes.size())] = static_cast<std::uint8_t>(random.below(draw + 1, 256));
      }
      gltf::MemoryBudget budget(bytes.size());
      const Result<gltf::DracoMesh> mesh = gltf::decodeDraco(bytes, wanted, budget);
      if (!mesh) {
        ++refused;
        continue;
      }
      for (const std::uint32_t index : mesh->indices)
        ASSERT_LT(index, mesh->vertex_count);
      for (const auto& [name, view] : mesh->attributes)
        ASSERT_EQ(view.count, mesh->vertex_count);
    }
  }
  EXPECT_GT(refused, 500u);
}

// ---------------------------------------------------------------- meshopt

/// Adds a compressed view of count x stride bytes and returns its index.
std::size_t addMeshoptView(GltfBuilder& builder, const Bytes& packed, std::size_t count, std::size_t stride,
                           const char* mode, const char* filter = nullptr, bool with_stride = true) {
  const std::size_t source = builder.addView(packed);
  const Json source_view = builder.json["bufferViews"][source];
  Json view = {{"buffer", 0}, {"byteLength", count * stride}};
  if (with_stride) view["byteStride"] = stride;
  view["extensions"]["EXT_meshopt_compression"] = {{"buffer", 0},
                                                   {"byteOffset", source_view["byteOffset"]},
                                                   {"byteLength", packed.size()},
                                                   {"byteStride", stride},
                                                   {"count", count},
                                                   {"mode", mode}};
  if (filter != nullptr) view["extensions"]["EXT_meshopt_compression"]["filter"] = filter;
  return builder.add("bufferViews", view);
}

Bytes encodeVertices(const Bytes& data, std::size_t count, std::size_t stride) {
  Bytes packed(meshopt_encodeVertexBufferBound(count, stride));
  packed.resize(meshopt_encodeVertexBuffer(packed.data(), packed.size(), data.data(), count, stride));
  return packed;
}

/// The grid with compressed positions and indices; `mode` is that of the indices.
GltfBuilder meshoptFile(const Grid& grid, const char* mode, bool wide) {
  GltfBuilder builder;
  const std::size_t count = grid.vertexCount(), corners = grid.indices.size();
  const std::size_t positions =
      addMeshoptView(builder, encodeVertices(bytesOf(grid.positions), count, 12), count, 12, "ATTRIBUTES");
  Bytes packed;
  if (mode == std::string("TRIANGLES")) {
    meshopt_encodeIndexVersion(1);
    packed.resize(meshopt_encodeIndexBufferBound(corners, count));
    packed.resize(meshopt_encodeIndexBuffer(packed.data(), packed.size(), grid.indices.data(), corners));
  } else {
    packed.resize(meshopt_encodeIndexSequenceBound(corners, count));
    packed.resize(meshopt_encodeIndexSequence(packed.data(), packed.size(), grid.indices.data(), corners));
  }
  const std::size_t indices = addMeshoptView(builder, packed, corners, wide ? 4 : 2, mode, nullptr, false);
  builder.add("accessors",
              {{"bufferView", positions}, {"componentType", 5126}, {"count", count}, {"type", "VEC3"}});
  builder.add("accessors", {{"bufferView", indices},
                            {"componentType", wide ? 5125 : 5123},
                            {"count", corners},
                            {"type", "SCALAR"}});
  builder.addMesh({{"attributes", {{"POSITION", 0}}}, {"indices", 1}});
  builder.json["extensionsRequired"] = {"EXT_meshopt_compression"};
  builder.json["extensionsUsed"] = {"EXT_meshopt_compression"};
  return builder;
}

TEST(Meshopt, AttributesTrianglesAndIndicesRoundTrip) {
  const Grid grid(9);
  for (const char* mode : {"TRIANGLES", "INDICES"}) {
    for (const bool wide : {false, true}) {
      const Result<Asset> asset = readGltfBytes(meshoptFile(grid, mode, wide).glb(), "m.glb");
      ASSERT_TRUE(asset) << asset.error().message;
      EXPECT_TRUE(asset->notices.empty());
      const Primitive& p = asset->meshes.at(0).primitives.at(0);
      ASSERT_EQ(p.positions.size(), grid.vertexCount());
      for (std::size_t i = 0; i < p.positions.size(); ++i) {
        for (int c = 0; c < 3; ++c) {
          ASSERT_EQ(p.positions[i][c],
                    static_cast<double>(grid.positions[3 * i + static_cast<std::size_t>(c)]));
        }
      }
      ASSERT_EQ(p.triangles.size(), grid.indices.size());
      for (std::size_t t = 0; t < p.triangleCount(); ++t) {
        // The codec may rotate a triangle's corners but keeps triangles in order and their orientation.
        std::array<std::uint32_t, 3> a = {p.triangles[3 * t], p.triangles[3 * t + 1], p.triangles[3 * t + 2]};
        std::array<std::uint32_t, 3> b = {grid.indices[3 * t], grid.indices[3 * t + 1],
                                          grid.indices[3 * t + 2]};
        std::rotate(a.begin(), std::min_element(a.begin(), a.end()), a.end());
        std::rotate(b.begin(), std::min_element(b.begin(), b.end()), b.end());
        ASSERT_EQ(a, b) << t;
      }
    }
  }
}

TEST(Meshopt, ExponentialFilterRestoresFloats) {
  const Grid grid(6);
  const std::size_t count = grid.vertexCount();
  Bytes filtered(count * 12);
  constexpr int kBits = 20;
  meshopt_encodeFilterExp(filtered.data(), count, 12, kBits, grid.positions.data());
  GltfBuilder builder = meshoptFile(grid, "TRIANGLES", true);
  const std::size_t view =
      addMeshoptView(builder, encodeVertices(filtered, count, 12), count, 12, "ATTRIBUTES", "EXPONENTIAL");
  builder.json["accessors"][0]["bufferView"] = view;
  const Result<Asset> asset = readGltfBytes(builder.glb(), "m.glb");
  ASSERT_TRUE(asset) << asset.error().message;
  const Primitive& p = asset->meshes[0].primitives[0];
  for (std::size_t i = 0; i < count; ++i) {
    for (int c = 0; c < 3; ++c) {
      // A vector shares its exponent, coordinates are at most 1.
      EXPECT_NEAR(p.positions[i][c], grid.positions[3 * i + static_cast<std::size_t>(c)],
                  std::pow(2.0, 2 - kBits));
    }
  }
}

TEST(Meshopt, OctahedralAndQuaternionFilters) {
  // Both filters make 16-bit normalised vectors; read back as positions, the rotations as instances.
  std::vector<float> normals, quaternions;
  for (int i = 0; i < 6; ++i) {
    Eigen::Vector4f n(std::sin(static_cast<float>(i) + 1), std::cos(2.0f * static_cast<float>(i)), 0.4f, 0);
    n.normalize();
    normals.insert(normals.end(), {n.x(), n.y(), n.z(), 0});
    Eigen::Vector4f q(0.3f * static_cast<float>(i), 0.2f, -0.1f, 0.8f);
    q.normalize();
    quaternions.insert(quaternions.end(), {q.x(), q.y(), q.z(), q.w()});
  }
  Bytes oct(6 * 8), quat(6 * 8);
  meshopt_encodeFilterOct(oct.data(), 6, 8, 16, normals.data());
  meshopt_encodeFilterQuat(quat.data(), 6, 8, 16, quaternions.data());
  GltfBuilder builder;
  const std::size_t oct_view =
      addMeshoptView(builder, encodeVertices(oct, 6, 8), 6, 8, "ATTRIBUTES", "OCTAHEDRAL");
  const std::size_t quat_view =
      addMeshoptView(builder, encodeVertices(quat, 6, 8), 6, 8, "ATTRIBUTES", "QUATERNION");
  builder.add("accessors", {{"bufferView", oct_view},
                            {"componentType", 5122},
                            {"normalized", true},
                            {"count", 6},
                            {"type", "VEC3"}});
  builder.add("accessors", {{"bufferView", quat_view},
                            {"componentType", 5122},
                            {"normalized", true},
                            {"count", 6},
                            {"type", "VEC4"}});
  builder.addMesh({{"attributes", {{"POSITION", 0}}}});
  builder.json["nodes"][0]["extensions"]["EXT_mesh_gpu_instancing"]["attributes"]["ROTATION"] = 1;
  builder.json["extensionsUsed"] = {"KHR_mesh_quantization", "EXT_meshopt_compression",
                                    "EXT_mesh_gpu_instancing"};
  const Result<Asset> asset = readGltfBytes(builder.glb(), "m.glb");
  ASSERT_TRUE(asset) << asset.error().message;
  ASSERT_EQ(asset->instances.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    // 16-bit components: errors of a few 1 / 32767.
    constexpr double kTolerance = 3e-4;
    const Vec3& n = asset->meshes[0].primitives[0].positions[i];
    for (int c = 0; c < 3; ++c)
      EXPECT_NEAR(n[c], normals[4 * i + static_cast<std::size_t>(c)], kTolerance);
    const float* q = quaternions.data() + 4 * i;
    const Mat3 expected = Eigen::Quaterniond(q[3], q[0], q[1], q[2]).toRotationMatrix();
    EXPECT_NEAR((asset->instances[i].asset_from_mesh.linear() - expected).norm(), 0, 4 * kTolerance);
  }
}

TEST(Meshopt, DescriptionsAreChecked) {
  const Grid grid(3);
  GltfBuilder builder = meshoptFile(grid, "TRIANGLES", true);
  // View 1 is the compressed positions, view 3 the indices.
  const auto with = [&](std::size_t view, const char* key, const Json& value) {
    GltfBuilder changed = builder;
    changed.json["bufferViews"][view]["extensions"]["EXT_meshopt_compression"][key] = value;
    return outcome(changed);
  };
  EXPECT_EQ(with(1, "mode", "ATTRIBUTES"), "ok");
  for (const auto& [view, key, value] :
       std::vector<std::tuple<std::size_t, const char*, Json>>{{1, "mode", "SOMETHING"},
                                                               {1, "byteStride", 10},
                                                               {1, "byteStride", 0},
                                                               {1, "byteStride", 260},
                                                               {1, "count", 1 << 30},
                                                               {1, "count", -1},
                                                               {1, "filter", "SOMETHING"},
                                                               {1, "filter", "QUATERNION"},
                                                               {1, "filter", "OCTAHEDRAL"},
                                                               {3, "filter", "EXPONENTIAL"},
                                                               {3, "byteStride", 3},
                                                               {3, "count", 53},
                                                               {1, "buffer", 9},
                                                               {1, "byteLength", 1 << 30},
                                                               {1, "byteOffset", 1 << 30},
                                                               {1, "mode", "INDICES"}}) {
    EXPECT_NE(with(view, key, value), "ok") << view << " " << key << " " << value;
  }
  EXPECT_NE(with(1, "byteOffset", 4).find("the meshopt data is corrupt"), std::string::npos)
      << with(1, "byteOffset", 4);
}

TEST(Meshopt, DamagedStreamsNeverCrash) {
  const Grid grid(8);
  const RandomStream random(22, 4);
  std::uint64_t draw = 0;
  std::size_t refused = 0;
  for (const char* mode : {"TRIANGLES", "INDICES"}) {
    const GltfBuilder seed = meshoptFile(grid, mode, false);
    for (int round = 0; round < 1000; ++round) {
      GltfBuilder builder = seed;
      for (int d = 0; d < 3; ++d, draw += 2) {
        builder.bin[random.below(draw, builder.bin.size())] =
            static_cast<std::uint8_t>(random.below(draw + 1, 256));
      }
      refused += readGltfBytes(builder.glb(), "m.glb") ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 100u);
}

}  // namespace
}  // namespace heatskin
