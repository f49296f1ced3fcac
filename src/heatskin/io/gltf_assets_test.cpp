// The shared assets: what the manifest says, variants against each other, and every hostile file.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "heatskin/io/gltf_reader.h"

#include "support/asset_checks.h"
#include "support/assets.h"

namespace heatskin {
namespace {

namespace fs = std::filesystem;

bool isGltf(const fs::path& path) {
  return path.extension() == ".glb" || path.extension() == ".gltf";
}

struct Corner {
  Vec3 position;
  Vec2f uv;
};
using Soup = std::vector<std::array<Corner, 3>>;

/// World triangles; a mirroring transform turns them over, as the surface builder does.
Soup soupOf(const Asset& asset) {
  Soup soup;
  for (const Instance& instance : asset.instances) {
    const bool mirrored = instance.asset_from_mesh.linear().determinant() < 0;
    for (const Primitive& p : asset.meshes[static_cast<std::size_t>(instance.mesh)].primitives) {
      for (std::size_t t = 0; t < p.triangleCount(); ++t) {
        std::array<Corner, 3> triangle;
        for (std::size_t c = 0; c < 3; ++c) {
          const std::uint32_t v = p.triangles[3 * t + (mirrored ? 2 - c : c)];
          triangle[c] = {instance.asset_from_mesh * p.positions[v],
                         p.uv_sets.empty() ? Vec2f(0, 0) : p.uv_sets[0][v]};
        }
        soup.push_back(triangle);
      }
    }
  }
  return soup;
}

/// Triangles of `a` that have no counterpart in `b`: the same corners in the same cyclic order.
std::size_t unmatched(const Soup& a, const Soup& b, double position_tolerance, float uv_tolerance) {
  std::size_t missing = 0;
  for (const auto& x : a) {
    const bool found = std::any_of(b.begin(), b.end(), [&](const auto& y) {
      for (std::size_t shift = 0; shift < 3; ++shift) {
        bool same = true;
        for (std::size_t c = 0; c < 3 && same; ++c) {
          const Corner& p = x[c];
          const Corner& q = y[(c + shift) % 3];
          same = (p.position - q.position).cwiseAbs().maxCoeff() <= position_tolerance &&
                 (p.uv - q.uv).cwiseAbs().maxCoeff() <= uv_tolerance;
        }
        if (same) return true;
      }
      return false;
    });
    missing += found ? 0 : 1;
  }
  return missing;
}

struct ManifestRow {
  std::string file;
  unsigned long stored = 0;
  unsigned long faces = 0;
};

/// "| `file` | welded (stored) | faces | ..."; false for every other line.
bool parseRow(const std::string& line, ManifestRow& row) {
  const std::size_t name_end = line.find("` | ");
  if (!line.starts_with("| `") || name_end == std::string::npos) return false;
  row.file = line.substr(3, name_end - 3);
  const std::string numbers = line.substr(name_end + 4);
  unsigned long welded = 0;
  return isGltf(row.file) &&
         std::sscanf(numbers.c_str(), "%lu (%lu) | %lu |", &welded, &row.stored, &row.faces) == 3;
}

TEST(GltfAssets, GoodFilesHaveTheVerticesAndFacesOfTheManifest) {
  HEATSKIN_REQUIRE_ASSETS();
  const fs::path folder = testing::assetsFolder();
  std::ifstream manifest(folder / "MANIFEST.md");
  std::size_t files = 0;
  for (std::string line; std::getline(manifest, line);) {
    ManifestRow row;
    if (!parseRow(line, row)) continue;
    ++files;
    const Result<Asset> asset = readGltf(folder / row.file);
    ASSERT_TRUE(asset) << asset.error().message;
    EXPECT_EQ(testing::assetProblem(*asset), "") << row.file;
    EXPECT_EQ(asset->stored_vertices, row.stored) << row.file;
    EXPECT_EQ(soupOf(*asset).size(), row.faces) << row.file;
    // Only the file of all primitive modes has something to warn of.
    const bool modes = row.file.find("primitive_modes") != std::string::npos;
    for (const Notice& notice : asset->notices) {
      EXPECT_EQ(notice.warning, modes) << row.file << ": " << notice.message;
    }
  }
  EXPECT_GE(files, 25u);
}

TEST(GltfAssets, TheFoxIsTheSameInEveryEncoding) {
  HEATSKIN_REQUIRE_ASSETS();
  const fs::path folder = testing::assetsFolder();
  const Result<Asset> base = readGltf(folder / "variants/fox_static.glb");
  ASSERT_TRUE(base) << base.error().message;
  const Soup expected = soupOf(*base);
  struct Variant {
    const char* file;
    double position_tolerance;  // units of the fox, which is 155 long
    float uv_tolerance;
  };
  // 14 and more bits over 155 units, 12 and more over the texture.
  constexpr double kQuantised = 0.01;
  constexpr float kQuantisedUv = 1.0f / 4096;
  for (const Variant& variant : {Variant{"fox.glb", 0, 0}, Variant{"variants/fox_separate/fox.gltf", 0, 0},
                                 Variant{"variants/fox_embedded.gltf", 0, 0},
                                 Variant{"variants/fox_quantized.glb", kQuantised, kQuantisedUv},
                                 Variant{"variants/fox_draco.glb", kQuantised, kQuantisedUv},
                                 Variant{"variants/fox_meshopt.glb", kQuantised, kQuantisedUv}}) {
    const Result<Asset> asset = readGltf(folder / variant.file);
    ASSERT_TRUE(asset) << asset.error().message;
    const Soup soup = soupOf(*asset);
    EXPECT_EQ(soup.size(), expected.size());
    EXPECT_EQ(unmatched(soup, expected, variant.position_tolerance, variant.uv_tolerance), 0u)
        << variant.file;
    EXPECT_EQ(unmatched(expected, soup, variant.position_tolerance, variant.uv_tolerance), 0u)
        << variant.file;
    EXPECT_EQ(asset->images.at(0)->rgba, base->images.at(0)->rgba) << variant.file;
  }
  // The comparison notices a turned triangle and a moved corner.
  Soup damaged = expected;
  std::swap(damaged[5][0], damaged[5][1]);
  damaged[9][2].position.x() += 1;
  EXPECT_EQ(unmatched(damaged, expected, kQuantised, kQuantisedUv), 2u);
}

TEST(GltfAssets, SpotIsTheSameInEveryImageFormat) {
  HEATSKIN_REQUIRE_ASSETS();
  const fs::path folder = testing::assetsFolder() / "variants";
  const Result<Asset> base = readGltf(folder / "spot.glb");
  ASSERT_TRUE(base) << base.error().message;
  const Image& reference = *base->images.at(0);
  struct Variant {
    const char* file;
    const char* format;
    int channels, bits;
    double mean_tolerance;  // levels of 255, averaged over the picture; lossy formats and 64 colours differ a
                            // little
  };
  for (const Variant& v :
       {Variant{"spot_interleaved_palette_png.glb", "png", 3, 8, 4},
        Variant{"spot_progressive_jpeg.glb", "jpeg", 3, 8, 3}, Variant{"spot_webp.glb", "webp", 3, 8, 3}}) {
    const Result<Asset> asset = readGltf(folder / v.file);
    ASSERT_TRUE(asset) << asset.error().message;
    EXPECT_EQ(asset->meshes[0].primitives[0].positions, base->meshes[0].primitives[0].positions) << v.file;
    EXPECT_EQ(asset->meshes[0].primitives[0].uv_sets, base->meshes[0].primitives[0].uv_sets) << v.file;
    const Image& image = *asset->images.at(0);
    EXPECT_EQ(image.format, v.format);
    EXPECT_EQ(image.stored_channels, v.channels);
    EXPECT_EQ(image.stored_bits, v.bits);
    ASSERT_EQ(image.rgba.size(), reference.rgba.size());
    double sum = 0;
    for (std::size_t i = 0; i < image.rgba.size(); ++i)
      sum += std::abs(int{image.rgba[i]} - int{reference.rgba[i]});
    EXPECT_LT(sum / (0.75 * static_cast<double>(image.rgba.size())), v.mean_tolerance) << v.file;
  }
  const Result<Asset> grey = readGltf(folder / "spot_grey_png.glb");
  ASSERT_TRUE(grey) << grey.error().message;
  EXPECT_EQ(grey->images.at(0)->stored_channels, 1);
  const Result<Asset> deep = readGltf(folder / "spot_png16.glb");
  ASSERT_TRUE(deep) << deep.error().message;
  EXPECT_EQ(deep->images.at(0)->stored_bits, 16);
  // Half the size of the reference: compare the means of the two pictures.
  const auto mean = [](const Image& image) {
    double sum = 0;
    for (const std::uint8_t v : image.rgba)
      sum += v;
    return sum / static_cast<double>(image.rgba.size());
  };
  EXPECT_NEAR(mean(*deep->images[0]), mean(reference), 1.0);
}

/// What the message of each refused file must say, besides the file's name.
const std::map<std::string, std::string> kCauses = {
    {"glb_bad_magic.glb", "not a GLB file"},
    {"glb_bin_length_too_big.glb", "BIN chunk runs past the end"},
    {"glb_chunk_length_ffffffff.glb", "JSON chunk runs past the end"},
    {"glb_empty_file.glb", "empty"},
    {"glb_invalid_json.glb", "invalid JSON at line"},
    {"glb_no_bin_chunk.glb", "buffer 0 has no data"},
    {"glb_total_length_too_big.glb", "the GLB header says"},
    {"glb_total_length_too_small.glb", "the GLB header says"},
    {"glb_truncated_bin.glb", "the GLB header says"},
    {"glb_truncated_header.glb", "too short for a GLB header"},
    {"glb_truncated_json.glb", "the GLB header says"},
    {"glb_version_1.glb", "GLB version 1 is not supported"},
    {"gltf_accessor_past_view.gltf", "accessor 0 is out of range of bufferView 0"},
    {"gltf_bad_base64.gltf", "buffer 0: invalid base64"},
    {"gltf_bad_component_type.gltf", "unknown componentType 9999"},
    {"gltf_binary_garbage.gltf", "invalid JSON"},
    {"gltf_bmp_called_png.glb", "not a PNG, JPEG or WebP image"},
    {"gltf_buffer_path_traversal.gltf", "path leaves the asset's folder"},
    {"gltf_corrupt_png.glb", "image 0: the PNG image is corrupt"},
    {"gltf_deep_nesting.gltf", "nested too deep"},
    {"gltf_draco_garbage.gltf", "Draco data is corrupt"},
    {"gltf_empty_image.glb", "image 0: the image is empty"},
    {"gltf_file_uri_dev_zero.gltf", "only relative paths and data URIs"},
    {"gltf_float_count.gltf", "accessor 0: invalid count"},
    {"gltf_http_buffer.gltf", "only relative paths and data URIs"},
    {"gltf_huge_buffer_length.gltf", "buffer 0 is shorter than its byteLength"},
    {"gltf_huge_count.gltf", "accessor 0 is out of range"},
    {"gltf_huge_zero_accessor.gltf", "too many vertices"},
    {"gltf_index_ffffffff.glb", "index 4294967295"},
    {"gltf_index_out_of_range.glb", "index 77"},
    {"gltf_inf_position.glb", "not finite"},
    {"gltf_material_index_out_of_range.gltf", "material 5 does not exist"},
    {"gltf_meshopt_garbage.gltf", "meshopt data is corrupt"},
    {"gltf_missing_accessor.gltf", "accessor 99 does not exist"},
    {"gltf_missing_buffer.gltf", "'missing_buffer.bin'"},
    {"gltf_nan_literal.gltf", "invalid JSON"},
    {"gltf_nan_position.glb", "the position of vertex 1 is not finite"},
    {"gltf_negative_count.gltf", "accessor 0: invalid count -4"},
    {"gltf_negative_offset.gltf", "bufferView 0: invalid byteOffset"},
    {"gltf_no_mesh.gltf", "no triangles in the file"},
    {"gltf_no_position.gltf", "POSITION"},
    {"gltf_no_primitives.gltf", "no triangles in the file"},
    {"gltf_node_cycle.gltf", "cycle in the node hierarchy"},
    {"gltf_png_bomb_header.glb", "image 0: the image is too large"},
    {"gltf_png_real_bomb.glb", "image 0: the image is too large"},
    {"gltf_png_zero_size.glb", "image 0: the image has no pixels"},
    {"gltf_points_only.gltf", "no triangles in the file (only points and lines)"},
    {"gltf_position_vec2.gltf", "POSITION must be VEC3"},
    {"gltf_stride_past_end.gltf", "accessor 0 is out of range"},
    {"gltf_texture_index_out_of_range.gltf", "texture 7 does not exist"},
    {"gltf_texture_path_traversal.gltf", "path leaves the asset's folder"},
    {"gltf_truncated_png.glb", "truncated"},
    {"gltf_unknown_required_extension.gltf", "'KHR_does_not_exist'"},
    {"gltf_uv_count_mismatch.glb", "the count of TEXCOORD_0"},
    {"gltf_view_past_buffer.gltf", "bufferView 0 out of range of buffer 0"},
    {"obj_content_called.glb", "not a GLB file"},
};

TEST(GltfAssets, EveryHostileFileBehavesAsExpected) {
  HEATSKIN_REQUIRE_ASSETS();
  const fs::path folder = testing::assetsFolder() / "bad";
  std::ifstream stream(folder / "expected.json");
  const nlohmann::json rows = nlohmann::json::parse(stream, nullptr, false);
  ASSERT_TRUE(rows.is_array());
  std::size_t files = 0;
  for (const nlohmann::json& row : rows) {
    const std::string name = row.at("file").get<std::string>();
    if (!isGltf(name)) continue;
    ++files;
    const std::string expected = row.at("expect").get<std::string>();
    const Result<Asset> asset = readGltf(folder / name);
    if (asset) {
      EXPECT_EQ(testing::assetProblem(*asset), "") << name;
    }
    const bool warned = asset && std::any_of(asset->notices.begin(), asset->notices.end(),
                                             [](const Notice& notice) { return notice.warning; });
    if (expected == "ok") {
      ASSERT_TRUE(asset) << asset.error().message;
      EXPECT_FALSE(warned) << name;
    } else if (expected == "warn") {
      EXPECT_TRUE(!asset || warned) << name;
    } else if (name == "gltf_zero_scale_node.gltf") {
      // Readable; that it has no area is for the surface to say.
      EXPECT_TRUE(asset);
    } else {
      EXPECT_FALSE(asset) << name;
    }
    if (asset) continue;
    const std::string& message = asset.error().message;
    EXPECT_EQ(asset.error().kind, ErrorKind::kInput) << message;
    EXPECT_TRUE(message.starts_with((folder / name).string() + ": ")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    const auto cause = kCauses.find(name);
    ASSERT_NE(cause, kCauses.end()) << message;
    EXPECT_NE(message.find(cause->second), std::string::npos) << message;
  }
  EXPECT_GE(files, 60u);
}

}  // namespace
}  // namespace heatskin
