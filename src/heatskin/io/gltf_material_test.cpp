// Materials, textures and images.

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/gltf_reader.h"
#include "heatskin/io/image.h"

#include "support/asset_views.h"
#include "support/gltf_builder.h"
#include "support/gltf_outcome.h"
#include "support/temporary_folder.h"

namespace heatskin {
namespace {

using testing::findNotice;
using testing::GltfBuilder;
using testing::load;
using testing::outcome;
using testing::squareBuilder;
using Bytes = std::vector<std::uint8_t>;
using Json = nlohmann::json;

/// A 2 x 1 picture: one texel of this grey, one of 255 minus it.
Bytes smallPng(std::uint8_t grey) {
  const Bytes pixels = {grey, static_cast<std::uint8_t>(255 - grey)};
  return *encodePng(pixels, 2, 1, 1);
}

/// The square with material 0 textured by texture 0, image 0.
GltfBuilder texturedSquare() {
  GltfBuilder builder = squareBuilder();
  builder.add("images", {{"bufferView", builder.addView(smallPng(10))}, {"mimeType", "image/png"}});
  builder.add("textures", {{"source", 0}});
  builder.add("materials", {{"name", "m"}, {"pbrMetallicRoughness", {{"baseColorTexture", {{"index", 0}}}}}});
  builder.primitive()["material"] = 0;
  return builder;
}

TEST(GltfMaterial, DefaultsAndFields) {
  GltfBuilder builder = texturedSquare();
  Result<Asset> asset = load(builder);
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_TRUE(asset->notices.empty());
  const Material& plain = asset->materials.at(0);
  EXPECT_EQ(plain.name, "m");
  EXPECT_EQ(plain.base_color_factor, Vec4f(1, 1, 1, 1));
  EXPECT_EQ(plain.base_color.texture, 0);
  EXPECT_EQ(plain.base_color.uv_set, 0);
  EXPECT_EQ(plain.alpha_mode, AlphaMode::kOpaque);
  EXPECT_FALSE(plain.double_sided);
  EXPECT_EQ(asset->textures.at(0).image, 0);
  EXPECT_EQ(asset->textures.at(0).wrap_u, Wrap::kRepeat);
  EXPECT_EQ(asset->images.at(0)->texel(0, 0)[0], 10);
  EXPECT_EQ(asset->meshes[0].primitives[0].material, 0);

  builder.json["materials"][0].update({{"alphaMode", "MASK"}, {"alphaCutoff", 0.25}, {"doubleSided", true}});
  builder.json["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"] = {0.5, 0.25, 1, 0.125};
  builder.add("samplers", {{"wrapS", 33071}, {"wrapT", 33648}});
  builder.json["textures"][0]["sampler"] = 0;
  asset = load(builder);
  ASSERT_TRUE(asset) << asset.error().message;
  const Material& full = asset->materials.at(0);
  EXPECT_EQ(full.base_color_factor, Vec4f(0.5f, 0.25f, 1, 0.125f));
  EXPECT_EQ(full.alpha_mode, AlphaMode::kMask);
  EXPECT_EQ(full.alpha_cutoff, 0.25f);
  EXPECT_TRUE(full.double_sided);
  EXPECT_EQ(asset->textures[0].wrap_u, Wrap::kClampToEdge);
  EXPECT_EQ(asset->textures[0].wrap_v, Wrap::kMirroredRepeat);
}

TEST(GltfMaterial, SamplersFilter) {
  const auto filterOf = [](const Json& sampler) {
    GltfBuilder builder = texturedSquare();
    builder.add("samplers", sampler);
    builder.json["textures"][0]["sampler"] = 0;
    const Result<Asset> asset = load(builder);
    EXPECT_TRUE(asset) << asset.error().message;
    return asset->textures.at(0).filter;
  };
  EXPECT_EQ(load(texturedSquare())->textures.at(0).filter, TexelFilter::kLinear) << "no sampler";
  EXPECT_EQ(filterOf(Json::object()), TexelFilter::kLinear);
  EXPECT_EQ(filterOf({{"magFilter", 9728}}), TexelFilter::kNearest);
  EXPECT_EQ(filterOf({{"magFilter", 9729}}), TexelFilter::kLinear);
  EXPECT_EQ(filterOf({{"magFilter", 9728}, {"minFilter", 9987}}), TexelFilter::kNearest) << "mag decides";
  EXPECT_EQ(filterOf({{"magFilter", 9729}, {"minFilter", 9728}}), TexelFilter::kLinear) << "mag decides";
  for (const int nearest : {9728, 9984, 9986})
    EXPECT_EQ(filterOf({{"minFilter", nearest}}), TexelFilter::kNearest) << nearest;
  for (const int linear : {9729, 9985, 9987})
    EXPECT_EQ(filterOf({{"minFilter", linear}}), TexelFilter::kLinear) << linear;
  EXPECT_EQ(filterOf({{"magFilter", 77}}), TexelFilter::kLinear) << "unknown: a notice";
}

TEST(GltfMaterial, TextureTransformAndItsTexcoordOverride) {
  GltfBuilder builder = texturedSquare();
  builder.primitive()["attributes"]["TEXCOORD_1"] = 1;
  builder.primitive()["attributes"]["TEXCOORD_2"] = 1;
  Json& use = builder.json["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"];
  use["texCoord"] = 1;
  EXPECT_EQ(load(builder)->materials[0].base_color.uv_set, 1);
  use["extensions"]["KHR_texture_transform"] = {
      {"offset", {0.5, -0.25}}, {"rotation", 1.5}, {"scale", {30, -30}}};
  Result<Asset> asset = load(builder);
  ASSERT_TRUE(asset);
  EXPECT_EQ(asset->materials[0].base_color.offset, Vec2f(0.5f, -0.25f));
  EXPECT_EQ(asset->materials[0].base_color.scale, Vec2f(30, -30));
  EXPECT_EQ(asset->materials[0].base_color.rotation, 1.5f);
  EXPECT_EQ(asset->materials[0].base_color.uv_set, 1);
  use["extensions"]["KHR_texture_transform"]["texCoord"] = 2;
  EXPECT_EQ(load(builder)->materials[0].base_color.uv_set, 2);
  use["extensions"]["KHR_texture_transform"]["scale"] = {1};
  EXPECT_NE(outcome(builder).find("scale must be an array of 2 numbers"), std::string::npos);
}

TEST(GltfMaterial, SpecularGlossinessIsAFallback) {
  GltfBuilder builder = texturedSquare();
  builder.json["extensionsUsed"] = {"KHR_materials_pbrSpecularGlossiness"};
  Json& material = builder.json["materials"][0];
  material["extensions"]["KHR_materials_pbrSpecularGlossiness"] = {{"diffuseFactor", {0, 0, 1, 1}}};
  EXPECT_EQ(load(builder)->materials[0].base_color_factor, Vec4f(1, 1, 1, 1));
  material.erase("pbrMetallicRoughness");
  material["extensions"]["KHR_materials_pbrSpecularGlossiness"]["diffuseTexture"] = {{"index", 0}};
  const Result<Asset> asset = load(builder);
  ASSERT_TRUE(asset);
  EXPECT_EQ(asset->materials[0].base_color_factor, Vec4f(0, 0, 1, 1));
  EXPECT_EQ(asset->materials[0].base_color.texture, 0);
  const Notice* notice = findNotice(*asset, "specular_glossiness");
  ASSERT_NE(notice, nullptr);
  EXPECT_FALSE(notice->warning);
}

TEST(GltfMaterial, IndicesMustExist) {
  GltfBuilder builder = texturedSquare();
  builder.json["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"]["index"] = 7;
  EXPECT_EQ(outcome(builder), "test.glb: material 0: texture 7 does not exist (the file has 1)");
  builder = texturedSquare();
  builder.json["textures"][0]["source"] = 3;
  EXPECT_EQ(outcome(builder), "test.glb: texture 0: image 3 does not exist (the file has 1)");
  builder = texturedSquare();
  builder.json["textures"][0]["sampler"] = 0;
  EXPECT_EQ(outcome(builder), "test.glb: texture 0: sampler 0 does not exist (the file has 0)");
  builder = texturedSquare();
  builder.primitive()["material"] = 5;
  EXPECT_EQ(outcome(builder), "test.glb: mesh 0, primitive 0: material 5 does not exist (the file has 1)");
}

TEST(GltfMaterial, OddValuesAreMendedAndSaid) {
  GltfBuilder builder = texturedSquare();
  builder.json["materials"][0]["alphaMode"] = "GLASS";
  builder.json["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"] = {2, -1, 0.5, 1e300};
  builder.add("samplers", {{"wrapS", 1}});
  builder.json["textures"][0]["sampler"] = 0;
  const Result<Asset> asset = load(builder);
  ASSERT_TRUE(asset);
  EXPECT_EQ(asset->materials[0].base_color_factor, Vec4f(1, 0, 0.5f, 1));
  for (const char* code : {"alpha_mode", "factor_clamped", "wrap_mode"}) {
    EXPECT_NE(findNotice(*asset, code), nullptr) << code;
  }
}

TEST(GltfMaterial, TexturesWithoutCoordinatesAreSaid) {
  GltfBuilder builder = texturedSquare();
  builder.json["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"]["texCoord"] = 3;
  Result<Asset> asset = load(builder);
  ASSERT_TRUE(asset);
  const Notice* notice = findNotice(*asset, "missing_texcoord");
  ASSERT_NE(notice, nullptr);
  EXPECT_NE(notice->message.find("TEXCOORD_3"), std::string::npos);
  builder = texturedSquare();
  builder.primitive()["attributes"].erase("TEXCOORD_0");
  asset = load(builder);
  ASSERT_TRUE(asset);
  EXPECT_NE(findNotice(*asset, "missing_texcoord"), nullptr);
  builder.json["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"]["texCoord"] = 4000000000;
  EXPECT_NE(outcome(builder).find("TEXCOORD_4000000000 cannot be used"), std::string::npos);
  builder = texturedSquare();
  builder.primitive()["attributes"]["TEXCOORD_0"] =
      builder.addAccessor<float>({.5, .5, .5, .5, .5, .5, .5, .5}, "VEC2");
  asset = load(builder);
  ASSERT_TRUE(asset);
  EXPECT_NE(findNotice(*asset, "constant_uv"), nullptr);
}

TEST(GltfImage, EachIsDecodedOnceAndOnlyBaseColorsMustBeReadable) {
  GltfBuilder builder = texturedSquare();
  const Bytes garbage = {1, 2, 3, 4};
  builder.add("images", {{"bufferView", builder.addView(garbage)}, {"mimeType", "image/png"}});
  builder.add("textures", {{"source", 1}});
  builder.add("textures", {{"source", 0}});
  builder.json["materials"][0]["normalTexture"] = {{"index", 1}};
  builder.add("materials", {{"pbrMetallicRoughness", {{"baseColorTexture", {{"index", 2}}}}}});
  const Result<Asset> asset = load(builder);
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_NE(findNotice(*asset, "image_left_out"), nullptr);
  EXPECT_EQ(asset->images.size(), 1u);
  ASSERT_EQ(asset->textures.size(), 3u) << "base colours first";
  EXPECT_EQ(asset->textures[1].image, 0);
  EXPECT_EQ(asset->textures[2].image, -1);
  EXPECT_EQ(asset->materials[0].slots[slotOf("normal")].texture.texture, 2);
  EXPECT_EQ(asset->materials[1].base_color.texture, 1);
  builder.json["textures"][0]["source"] = 1;
  EXPECT_EQ(outcome(builder), "test.glb: image 1: not a PNG, JPEG or WebP image");
}

TEST(GltfImage, WebpAndBasisSources) {
  GltfBuilder builder = texturedSquare();
  builder.add("images", {{"bufferView", builder.addView(smallPng(99))}, {"name", "other"}});
  builder.json["textures"][0]["extensions"]["EXT_texture_webp"] = {{"source", 1}};
  Result<Asset> asset = load(builder);
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_EQ(asset->images.at(0)->texel(0, 0)[0], 99);
  EXPECT_EQ(asset->images[0]->name, "other");

  builder = texturedSquare();
  builder.json["extensionsUsed"] = {"KHR_texture_basisu"};
  builder.json["textures"][0]["extensions"]["KHR_texture_basisu"] = {{"source", 0}};
  asset = load(builder);
  ASSERT_TRUE(asset);
  EXPECT_TRUE(asset->notices.empty());
  EXPECT_EQ(asset->images.size(), 1u);
  builder.json["textures"][0].erase("source");
  asset = load(builder);
  ASSERT_TRUE(asset);
  EXPECT_EQ(asset->textures.at(0).image, -1);
  const Notice* notice = findNotice(*asset, "texture_without_image");
  ASSERT_NE(notice, nullptr);
  EXPECT_NE(notice->message.find("KHR_texture_basisu"), std::string::npos);
}

TEST(GltfImage, ExternalFilesAndDataUris) {
  const testing::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "asset");
  const Bytes png = smallPng(42);
  const std::string data(png.begin(), png.end());
  folder.write("asset/テ クス.png", data);
  folder.write("outside.png", data);
  folder.write("asset/text.png", "hello, I am text");
  GltfBuilder builder = texturedSquare();
  const auto with = [&](const std::string& uri) {
    builder.json["images"][0] = {{"uri", uri}};
    const Bytes file = builder.glb();
    return readGltf(folder.write("asset/a.glb", std::string(file.begin(), file.end())));
  };
  Result<Asset> asset = with("%E3%83%86%20%E3%82%AF%E3%82%B9.png");
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_EQ(asset->images.at(0)->texel(0, 0)[0], 42);
  EXPECT_EQ(asset->images[0]->name, "テ クス.png");
  asset = with("data:image/png;base64," + testing::base64(png));
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_EQ(asset->images.at(0)->texel(1, 0)[0], 213);

  asset = with("no_such_texture.png");
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_TRUE(asset->images.empty());
  EXPECT_EQ(asset->textures.at(0).image, -1);
  const Notice* notice = findNotice(*asset, "missing_image");
  ASSERT_NE(notice, nullptr);
  EXPECT_NE(notice->message.find("no_such_texture.png"), std::string::npos);

  const auto refusal = [&](const std::string& uri) {
    const Result<Asset> refused = with(uri);
    return refused ? std::string("ok") : refused.error().message;
  };
  EXPECT_NE(refusal("../outside.png").find("path leaves the asset's folder"), std::string::npos);
  EXPECT_NE(refusal("http://127.0.0.1:9/a.png").find("only relative paths"), std::string::npos);
  EXPECT_NE(refusal("text.png").find("'text.png'"), std::string::npos);
  EXPECT_NE(refusal("text.png").find("not a PNG"), std::string::npos);
  EXPECT_NE(refusal("data:image/png;base64,AAAA").find("not a PNG"), std::string::npos);
}

TEST(GltfImage, LimitsAndGeometryOnly) {
  GltfBuilder builder = texturedSquare();
  builder.add("images", {{"bufferView", builder.addView(smallPng(1))}});
  builder.add("textures", {{"source", 1}});
  builder.add("materials", {{"pbrMetallicRoughness", {{"baseColorTexture", {{"index", 1}}}}}});
  LoadOptions options;
  options.max_image_pixels = 2;
  options.max_total_pixels = 4;
  EXPECT_TRUE(load(builder, options));
  options.max_total_pixels = 3;
  Result<Asset> asset = load(builder, options);
  ASSERT_FALSE(asset);
  EXPECT_NE(asset.error().message.find("image 1: the image is too large"), std::string::npos);
  options.max_total_pixels = 4;
  options.max_image_pixels = 1;
  EXPECT_FALSE(load(builder, options));
  options.load_images = false;
  asset = load(builder, options);
  ASSERT_TRUE(asset);
  EXPECT_TRUE(asset->images.empty());
  EXPECT_EQ(asset->materials[1].base_color.texture, 1);
  EXPECT_EQ(asset->textures.at(1).image, -1);
  EXPECT_TRUE(asset->notices.empty());
}

TEST(GltfImage, DamageIsAnError) {
  GltfBuilder builder = texturedSquare();
  builder.json["bufferViews"][3]["byteLength"] = 40;
  EXPECT_NE(outcome(builder).find("image 0: the PNG image is corrupt: the file is truncated"),
            std::string::npos)
      << outcome(builder);
  builder.json["bufferViews"][3]["byteLength"] = 0;
  EXPECT_NE(outcome(builder).find("image 0: the image is empty"), std::string::npos);
  builder.json["images"][0] = Json::object();
  EXPECT_NE(outcome(builder).find("image 0: has neither a uri nor a bufferView"), std::string::npos);
}

}  // namespace
}  // namespace heatskin
