#include "heatskin/io/mtl_reader.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/asset.h"
#include "heatskin/io/color_space.h"
#include "heatskin/io/image.h"
#include "heatskin/io/obj_reader.h"

#include "support/asset_views.h"
#include "support/mutations.h"
#include "support/temporary_folder.h"

namespace heatskin {
namespace {

using testing::findNotice;
using testing::warnings;

MtlFile parsedMtl(std::string_view text) {
  return parseMtl({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, "test.mtl");
}

/// A folder with a quad that uses material "m" of m.mtl, and a 2 x 2 texture.
class MtlFolder {
 public:
  explicit MtlFolder(const std::string& mtl, const std::string& obj_head = "mtllib m.mtl\nusemtl m\n") {
    folder.write("m.mtl", mtl);
    folder.write("quad.obj", obj_head +
                                 "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n"
                                 "f 1/1 2/2 3/3 4/4\n");
    const std::vector<std::uint8_t> pixels = {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9};
    png = *encodePng(pixels, 2, 2, 3);
    addPng("tex.png");
  }
  void addPng(const std::string& name) {
    folder.write(name, {reinterpret_cast<const char*>(png.data()), png.size()});
  }
  Result<Asset> load(const LoadOptions& options = {}) { return readObj(folder / "quad.obj", options); }

  testing::TemporaryFolder folder;
  std::vector<std::uint8_t> png;
};

TEST(MtlReader, Statements) {
  const MtlFile file = parsedMtl(
      "# comment\nnewmtl first one \r\nKd 0.25 0.5 1\nKa 1 1 1\nillum 2\nd 0.5\n\tmap_Kd  a b.png  \r\n"
      "newmtl second\nKd 0.5\nTr 0.25\nnewmtl third\nd 1\nTr 1\nmap_Ks x.png\n");
  ASSERT_EQ(file.materials.size(), 3u);
  EXPECT_TRUE(file.notices.empty());
  EXPECT_EQ(file.materials[0].name, "first one");
  EXPECT_EQ(*file.materials[0].diffuse, Vec3f(0.25f, 0.5f, 1));
  EXPECT_EQ(file.materials[0].dissolve, 0.5f);
  ASSERT_TRUE(file.materials[0].diffuse_map);
  EXPECT_EQ(file.materials[0].diffuse_map->file, "a b.png");
  EXPECT_EQ(*file.materials[1].diffuse, Vec3f(0.5f, 0.5f, 0.5f));
  EXPECT_EQ(file.materials[1].dissolve, 0.75f);
  EXPECT_EQ(file.materials[2].dissolve, 1.0f);  // d wins over Tr
  EXPECT_FALSE(file.materials[2].diffuse_map);
}

TEST(MtlReader, MapOptions) {
  const auto map = [](const std::string& text) {
    const MtlFile file = parsedMtl("newmtl m\nmap_Kd " + text + "\n");
    EXPECT_EQ(file.materials.size(), 1u);
    return file.materials.at(0).diffuse_map.value_or(MtlTexture{});
  };
  EXPECT_EQ(map("tex.png").file, "tex.png");
  const MtlTexture all =
      map("-blendu on -blendv off -cc on -clamp on -mm 0 1 -o 0.5 0.25 0 -s 2 3 1 -t 1 1 1 -texres 512 -bm 1 "
          "-boost 2 -imfchan r -type sphere my tex.png");
  EXPECT_EQ(all.file, "my tex.png");
  EXPECT_TRUE(all.clamp);
  EXPECT_EQ(all.scale, Vec2(2, 3));
  EXPECT_EQ(all.offset, Vec2(0.5, 0.25));
  EXPECT_EQ(map("-s 2 tex.png").scale, Vec2(2, 1));  // missing numbers keep their default
  EXPECT_EQ(map("-s 2 2 tex.png").file, "tex.png");
  EXPECT_EQ(map("-o 1 2 3 4").file, "4");  // the last field is the file
  EXPECT_EQ(map("-o 1 2 3 4").offset, Vec2(1, 2));
  EXPECT_EQ(map("-unknown.png").file, "-unknown.png");
  EXPECT_FALSE(map("-clamp off x.png").clamp);
}

TEST(MtlReader, NonsenseIsMentionedWithItsLine) {
  const MtlFile file = parsedMtl("Kd 1 1 1\nnewmtl m\nKd a b c\nKd\nd\nmap_Kd\nnewmtl m\nKd 0 0 0\n");
  ASSERT_EQ(file.materials.size(), 1u);
  EXPECT_FALSE(file.materials[0].diffuse);  // the second block named m does not count
  ASSERT_EQ(file.notices.size(), 2u);
  EXPECT_EQ(file.notices[0].code, "mtl_statement");
  EXPECT_EQ(file.notices[0].count, 5u);
  EXPECT_EQ(file.notices[0].message.find("test.mtl:1: "), 0u);
  EXPECT_EQ(file.notices[1].code, "duplicate_material");
}

TEST(MtlReader, ATexturedMaterial) {
  MtlFolder m("newmtl m\nKd 1 1 1\nmap_Kd tex.png\n");
  const Result<Asset> asset = m.load();
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_EQ(warnings(*asset), 0u);
  ASSERT_EQ(asset->images.size(), 1u);
  EXPECT_EQ(asset->images[0]->name, "tex.png");
  EXPECT_EQ(asset->images[0]->texel(1, 0)[1], 255);
  ASSERT_EQ(asset->materials.size(), 1u);
  EXPECT_EQ(asset->materials[0].name, "m");
  EXPECT_EQ(asset->materials[0].base_color_factor, Vec4f::Ones());
  EXPECT_EQ(asset->materials[0].base_color.offset, Vec2f(0, 0));
  EXPECT_EQ(asset->materials[0].base_color.scale, Vec2f(1, 1));
  EXPECT_EQ(asset->meshes[0].primitives.at(0).material, 0);
}

// The option formulas act on v-up coordinates; ours act on flipped ones and must give the flipped result.
TEST(MtlReader, ScaleAndOffsetCommuteWithTheFlip) {
  MtlFolder m("newmtl m\nmap_Kd -clamp on -s 2 3 1 -o 0.5 0.125 0 tex.png\n");
  const Result<Asset> asset = m.load();
  ASSERT_TRUE(asset) << asset.error().message;
  const TextureUse& use = asset->materials.at(0).base_color;
  for (const float u : {0.0f, 0.25f, 1.0f}) {
    for (const float v : {-1.0f, 0.0f, 0.75f, 1.0f}) {
      const Vec2f expected(2 * u + 0.5f, 1 - (3 * v + 0.125f));
      const Vec2f flipped(u, 1 - v);
      EXPECT_EQ(use.scale.cwiseProduct(flipped) + use.offset, expected);
    }
  }
  EXPECT_EQ(asset->textures.at(static_cast<std::size_t>(use.texture)).wrap_u, Wrap::kClampToEdge);
  EXPECT_EQ(asset->textures.at(static_cast<std::size_t>(use.texture)).wrap_v, Wrap::kClampToEdge);
}

TEST(MtlReader, KdIsADisplayColor) {
  MtlFolder m("newmtl m\nKd 0.5 0 1\nd 0.25\n");
  const Result<Asset> asset = m.load();
  ASSERT_TRUE(asset);
  EXPECT_EQ(asset->materials.at(0).base_color_factor, Vec4f(linearFromSrgb(0.5f), 0, 1, 0.25f));
  EXPECT_EQ(asset->materials.at(0).alpha_mode, AlphaMode::kBlend);
}

TEST(MtlReader, BlackKdWithATextureIsAnExportersMistake) {
  MtlFolder m("newmtl m\nKd 0 0 0\nmap_Kd tex.png\n");
  const Result<Asset> asset = m.load();
  ASSERT_TRUE(asset);
  EXPECT_EQ(asset->materials.at(0).base_color_factor, Vec4f::Ones());
  EXPECT_NE(findNotice(*asset, "black_diffuse"), nullptr);
  // Without a texture, black is black.
  MtlFolder plain("newmtl m\nKd 0 0 0\n");
  EXPECT_EQ(plain.load()->materials.at(0).base_color_factor, Vec4f(0, 0, 0, 1));
}

TEST(MtlReader, FileNames) {
  MtlFolder m(
      "newmtl a\nmap_Kd .\\tex.png\nnewmtl b\nmap_Kd my tex.png\nnewmtl c\nmap_Kd テクスチャ.png\r\nnewmtl "
      "d\n"
      "map_Kd \"tex.png\"\nnewmtl e\nmap_Kd C:\\art\\tex.png\n");
  m.addPng("my tex.png");
  m.addPng("テクスチャ.png");
  for (const auto& [name, warned] : std::vector<std::pair<std::string, bool>>{
           {"a", true}, {"b", false}, {"c", false}, {"d", false}, {"e", true}}) {
    m.folder.write("quad.obj", "mtllib m.mtl\nusemtl " + name +
                                   "\nv 0 0 0\nv 1 0 0\nv 1 1 0\nvt 0 0\nvt 1 0\nf 1/1 2/2 3/2\n");
    const Result<Asset> asset = m.load();
    ASSERT_TRUE(asset) << asset.error().message;
    EXPECT_GE(asset->materials.at(0).base_color.texture, 0) << name;
    EXPECT_EQ(warnings(*asset) > 0, warned) << name;
  }
}

TEST(MtlReader, UnusableTexturesAreWarnings) {
  for (const char* file : {"no_such.png", "/dev/zero", "../../../../../../etc/passwd", ".", "m.mtl", "sub"}) {
    MtlFolder m(std::string("newmtl m\nKd 1 0 0\nmap_Kd ") + file + "\n");
    std::filesystem::create_directory(m.folder.path() / "sub");
    const Result<Asset> asset = m.load();
    ASSERT_TRUE(asset) << asset.error().message;
    EXPECT_EQ(asset->materials.at(0).base_color.texture, -1) << file;
    EXPECT_TRUE(asset->images.empty());
    EXPECT_GE(warnings(*asset), 1u) << file;
    EXPECT_NE(asset->notices[0].message.find(std::string(file).substr(0, 5)), std::string::npos)
        << asset->notices[0].message;
  }
}

TEST(MtlReader, BrokenImagesAreErrorsThatNameThem) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{40}}) {
    MtlFolder m("newmtl m\nmap_Kd cut.png\n");
    m.folder.write("cut.png", {reinterpret_cast<const char*>(m.png.data()), bytes});
    const Result<Asset> asset = m.load();
    ASSERT_FALSE(asset);
    EXPECT_NE(asset.error().message.find("cut.png"), std::string::npos);
    EXPECT_NE(asset.error().message.find("quad.obj"), std::string::npos);
  }
}

TEST(MtlReader, PhysicallyBasedStatementsBecomeSlots) {
  MtlFolder m(
      "newmtl m\nPr 0.25\nPm 0.5\nKe 2 0.5 0\nmap_Pr tex.png\nmap_Pm -o 0.5 0 other.png\nmap_Ke tex.png\n"
      "norm -clamp on tex.png\nmap_bump nowhere.png\n");
  const std::vector<std::uint8_t> grey = {7};
  const auto other = *encodePng(grey, 1, 1, 1);
  m.folder.write("other.png", {reinterpret_cast<const char*>(other.data()), other.size()});
  const Result<Asset> asset = m.load();
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_EQ(warnings(*asset), 0u) << "bump maps are heights, nobody asks for them";
  const SlotUses& slots = asset->materials.at(0).slots;
  const SlotUse &rough = slots[slotOf("roughness")], &metal = slots[slotOf("metallic")];
  EXPECT_EQ(rough.factor.x(), 0.25f);
  EXPECT_EQ(metal.factor.x(), 0.5f);
  EXPECT_EQ(slots[slotOf("emissive")].factor, Vec3f(2, 0.5f, 0));
  EXPECT_GE(slots[slotOf("emissive")].texture.texture, 0);
  EXPECT_GE(slots[slotOf("normal")].texture.texture, 0);
  // Green of one picture and blue of the other.
  ASSERT_GE(rough.texture.texture, 0);
  EXPECT_EQ(metal.texture.texture, rough.texture.texture);
  const Texture& both = asset->textures.at(static_cast<std::size_t>(rough.texture.texture));
  const Image& image = *asset->images.at(static_cast<std::size_t>(both.image));
  const Image& tex = *asset->images.at(0);
  EXPECT_EQ(image.width, tex.width);
  EXPECT_EQ(image.texel(0, 0)[1], tex.texel(0, 0)[1]);
  EXPECT_EQ(image.texel(0, 0)[2], 7);
  EXPECT_EQ(image.texel(image.width - 1, image.height - 1)[2], 7);
}

TEST(MtlReader, WithoutThemAMaterialIsPlain) {
  for (const char* bad : {"", "Pr\nPm much\nKe\nKe x\n", "map_Pr\nnorm\nmap_Ke gone.png\n"}) {
    MtlFolder m(std::string("newmtl m\n") + bad);
    const Result<Asset> asset = m.load();
    ASSERT_TRUE(asset) << asset.error().message;
    const SlotUses &slots = asset->materials.at(0).slots, plain = plainSlots();
    for (std::size_t s = 0; s < kSlotCount; ++s) {
      EXPECT_EQ(slots[s].factor, plain[s].factor) << kMaterialSlots[s].channel;
      EXPECT_EQ(slots[s].texture.texture, -1);
    }
    EXPECT_EQ(warnings(*asset) > 0, *bad != 0);
  }
  MtlFolder m("newmtl m\nPr 7\nKe -1 1e30 1\n");
  const Result<Asset> asset = m.load();
  ASSERT_TRUE(asset);
  EXPECT_EQ(asset->materials[0].slots[slotOf("roughness")].factor.x(), 1);
  EXPECT_EQ(asset->materials[0].slots[slotOf("emissive")].factor, Vec3f(0, kMaxFactor, 1));
  EXPECT_NE(findNotice(*asset, "mtl_range"), nullptr);
}

TEST(MtlReader, PixelLimits) {
  MtlFolder m("newmtl m\nmap_Kd tex.png\n");
  LoadOptions options;
  options.max_image_pixels = 3;
  EXPECT_FALSE(m.load(options));
  options = {};
  options.max_total_pixels = 3;
  EXPECT_FALSE(m.load(options));
  options.load_images = false;
  const Result<Asset> asset = m.load(options);
  ASSERT_TRUE(asset);
  EXPECT_TRUE(asset->images.empty());
}

TEST(MtlReader, SeveralLibrariesAndUnknownMaterials) {
  MtlFolder m("newmtl m\nmap_Kd tex.png\n",
              "mtllib m.mtl more.mtl\nmtllib with blank.mtl\nmtllib gone.mtl\nusemtl nope\n");
  m.folder.write("more.mtl", "newmtl x\nKd 1 0 0\n");
  m.folder.write("with blank.mtl", "newmtl y\nKd 0 1 0\n");
  m.folder.write(
      "quad.obj",
      m.folder.read("quad.obj") +
          "usemtl m\nf 1/1 2/2 3/3\nusemtl x\nf 1/1 2/2 4/4\nusemtl y\nf 1 3 4\nusemtl m\nf 2/2 3/3 4/4\n");
  const Result<Asset> asset = m.load();
  ASSERT_TRUE(asset) << asset.error().message;
  ASSERT_EQ(asset->materials.size(), 4u);
  EXPECT_EQ(asset->materials[0].name, "nope");
  EXPECT_EQ(asset->materials[2].base_color_factor, Vec4f(1, 0, 0, 1));
  EXPECT_EQ(asset->materials[3].base_color_factor, Vec4f(0, 1, 0, 1));
  ASSERT_EQ(asset->meshes[0].primitives.size(), 4u);
  EXPECT_EQ(asset->meshes[0].primitives[1].material, 1);
  EXPECT_EQ(asset->meshes[0].primitives[1].triangleCount(), 2u);
  ASSERT_NE(findNotice(*asset, "missing_mtl"), nullptr);
  EXPECT_NE(findNotice(*asset, "missing_mtl")->message.find("gone.mtl"), std::string::npos);
  ASSERT_NE(findNotice(*asset, "unknown_material"), nullptr);
  EXPECT_NE(findNotice(*asset, "unknown_material")->message.find("'nope'"), std::string::npos);
}

TEST(MtlReader, OneImageForManyMaterials) {
  MtlFolder m(
      "newmtl m\nmap_Kd tex.png\nnewmtl n\nmap_Kd -clamp on tex.png\nnewmtl o\nKd 1 0 0\nmap_Kd tex.png\n");
  m.folder.write("quad.obj",
                 m.folder.read("quad.obj") + "usemtl n\nf 1/1 2/2 3/3\nusemtl o\nf 1/1 2/2 4/4\n");
  const Result<Asset> asset = m.load();
  ASSERT_TRUE(asset);
  EXPECT_EQ(asset->images.size(), 1u);
  EXPECT_EQ(asset->textures.size(), 2u);
}

TEST(MtlReader, TexturedFacesWithoutTextureCoordinatesAreMentioned) {
  MtlFolder m("newmtl m\nmap_Kd tex.png\n");
  m.folder.write("quad.obj", m.folder.read("quad.obj") + "f 1 2 3\n");
  const Result<Asset> asset = m.load();
  ASSERT_TRUE(asset);
  ASSERT_NE(findNotice(*asset, "missing_uv"), nullptr);
  EXPECT_EQ(findNotice(*asset, "missing_uv")->count, 1u);
  EXPECT_TRUE(findNotice(*asset, "missing_uv")->warning);
}

TEST(MtlReader, MutatedFilesNeverCrash) {
  const std::string seed =
      "newmtl a b\nKd 1 0.5 0\nd -halo 0.5\nTr 0.1\nmap_Kd -s 1 2 3 -o 1 -clamp on -mm 0 1 t.png\n";
  testing::forEachMutation(seed, 5000, [&](std::string_view text) {
    for (const MtlMaterial& material : parsedMtl(text).materials) {
      if (material.diffuse) {
        ASSERT_TRUE(material.diffuse->allFinite());
      }
      ASSERT_TRUE(material.dissolve >= 0 && material.dissolve <= 1);
    }
  });
}

}  // namespace
}  // namespace heatskin
