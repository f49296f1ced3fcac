// What a product has of the file it was made from: everything but the textures that kernels replace.

#include "heatskin/product/product_document.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/appearance/shading_normals.h"
#include "heatskin/io/gltf_container.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/io/image.h"
#include "heatskin/product/product.h"
#include "heatskin/product/test_fitted.h"

#include "support/gltf_builder.h"

namespace heatskin::testing::product {
namespace {

using Json = GltfBuilder::Json;

std::vector<std::uint8_t> png(std::uint8_t level, std::uint8_t alpha) {
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < 16; ++i)
    pixels.insert(pixels.end(),
                  {level, static_cast<std::uint8_t>(16 * i), 0, i % 2 == 0 ? alpha : std::uint8_t{255}});
  return *encodePng(pixels, 4, 4, 4);
}

/// Two squares in the scene, a textured and a plain one with the same material but no coordinates; a third in
/// a scene of its own; a skin, an animation, a camera, a light, odd attributes.
GltfBuilder wholeFile() {
  GltfBuilder b;
  const auto square = [&](float z, bool with_uv) {
    Json attributes;
    attributes["POSITION"] = b.addAccessor<float>({0, 0, z, 1, 0, z, 1, 1, z, 0, 1, z}, "VEC3");
    attributes["NORMAL"] = b.addAccessor<float>({0.6f, 0, 0.8f, 0, 0, 1, 0, 0, 1, 0, 0, 1}, "VEC3");
    attributes["_TEMPERATURE"] = b.addAccessor<float>({1, 2, 3, 4}, "SCALAR");
    if (with_uv) attributes["TEXCOORD_0"] = b.addAccessor<float>({0, 0, 1, 0, 1, 1, 0, 1}, "VEC2");
    const auto indices = b.addAccessor<std::uint16_t>({0, 1, 2, 0, 2, 3}, "SCALAR");
    return Json{{"attributes", attributes}, {"indices", indices}, {"material", 0}};
  };
  b.addMesh(square(0, true));
  b.addMesh(square(1, false));
  b.add("meshes", {{"name", "elsewhere"}, {"primitives", Json::array({square(2, true)})}});
  b.add("nodes", {{"mesh", 2}});
  b.add("scenes", {{"name", "other"}, {"nodes", {2}}});
  b.add("images", {{"bufferView", b.addView(png(250, 255))}, {"mimeType", "image/png"}});
  b.add("images", {{"bufferView", b.addView(png(128, 255))}, {"mimeType", "image/png"}});
  b.add("textures", {{"source", 0}});
  b.add("textures", {{"source", 1}});
  b.add("materials", {{"name", "both"},
                      {"pbrMetallicRoughness",
                       {{"baseColorFactor", {0.5, 0.25, 1, 1}},
                        {"baseColorTexture", {{"index", 0}}},
                        {"metallicFactor", 0.125},
                        {"metallicRoughnessTexture", {{"index", 1}}}}},
                      {"extensions", {{"KHR_materials_ior", {{"ior", 1.3}}}}}});
  b.add("cameras", {{"type", "perspective"}, {"perspective", {{"yfov", 1}, {"znear", 0.1}}}});
  const auto times = b.addAccessor<float>({0, 1}, "SCALAR");
  const auto turns = b.addAccessor<float>({0, 0, 0, 0, 1, 0}, "VEC3");
  b.add("animations",
        {{"channels", Json::array({{{"sampler", 0}, {"target", {{"node", 0}, {"path", "translation"}}}}})},
         {"samplers", Json::array({{{"input", times}, {"output", turns}}})}});
  b.json["extensionsUsed"] = {"KHR_materials_ior", "KHR_lights_punctual"};
  b.json["extensions"]["KHR_lights_punctual"] = {{"lights", Json::array({{{"type", "point"}}})}};
  b.json["asset"]["copyright"] = "(c) somebody";
  b.json["asset"]["generator"] = "another program";
  b.json["nodes"][1]["extras"] = {{"weight", 12}};
  return b;
}

Json jsonOf(const std::vector<std::uint8_t>& glb) {
  const auto split = gltf::splitGlb(glb);
  EXPECT_TRUE(split);
  return Json::parse(split->json.begin(), split->json.end());
}

/// Bytes of a buffer view.
std::vector<std::uint8_t> viewOf(const std::vector<std::uint8_t>& glb, const Json& number) {
  const auto split = gltf::splitGlb(glb);
  const Json view = jsonOf(glb)["bufferViews"][number.get<std::size_t>()];
  const std::size_t first = view.value("byteOffset", std::size_t{0});
  const auto bytes = split->bin->subspan(first, view["byteLength"].get<std::size_t>());
  return {bytes.begin(), bytes.end()};
}

/// Type and bytes of an accessor, whatever the number of its view.
std::pair<Json, std::vector<std::uint8_t>> accessorOf(const std::vector<std::uint8_t>& glb,
                                                      const Json& number) {
  Json accessor = jsonOf(glb)["accessors"][number.get<std::size_t>()];
  const auto bytes = viewOf(glb, accessor["bufferView"]);
  accessor.erase("bufferView");
  return {accessor, bytes};
}

Fitted fittedFile(const GltfBuilder& b) {
  auto asset = readGltfBytes(b.glb(), "in.glb");
  EXPECT_TRUE(asset) << asset.error().message;
  return fitted(std::move(*asset), 20);
}

std::vector<std::uint8_t> encodedWith(const Fitted& f, Fallback fallback) {
  auto glb = encodeProduct(f.asset, *f.surface, f.kernels, f.options, kInfo, {}, fallback);
  EXPECT_TRUE(glb) << glb.error().message;
  return glb ? std::move(*glb) : std::vector<std::uint8_t>();
}

TEST(ProductDocument, NothingIsLostButTheColourThatIsFitted) {
  const Fitted f = fittedFile(wholeFile());
  const auto glb = encoded(f);
  const Json in = wholeFile().json, out = jsonOf(glb);
  for (const char* same : {"nodes", "scenes", "animations", "cameras"})
    EXPECT_EQ(out[same], in[same]) << same;
  EXPECT_EQ(out["extensions"]["KHR_lights_punctual"], in["extensions"]["KHR_lights_punctual"]);
  EXPECT_EQ(out["asset"]["copyright"], "(c) somebody");
  EXPECT_EQ(out["asset"]["generator"], kInfo.generator);
  for (std::size_t m = 0; m < 3; ++m) {
    Json attributes = out["meshes"][m]["primitives"][0]["attributes"];
    EXPECT_EQ(attributes.erase("COLOR_0"), m == 0 ? 1u : 0u) << m;
    EXPECT_EQ(attributes, in["meshes"][m]["primitives"][0]["attributes"]) << m;
  }
  // The other two keep the material as it was; the fitted square has a copy without base colour.
  ASSERT_EQ(out["materials"].size(), 2u);
  EXPECT_EQ(out["materials"][0], in["materials"][0]);
  EXPECT_EQ(out["meshes"][0]["primitives"][0]["material"], 1);
  EXPECT_EQ(out["meshes"][1]["primitives"][0]["material"], 0);
  EXPECT_EQ(out["meshes"][2]["primitives"][0]["material"], 0) << "in the other scene";
  Json stripped = in["materials"][0];
  stripped["pbrMetallicRoughness"].erase("baseColorFactor");
  stripped["pbrMetallicRoughness"].erase("baseColorTexture");
  EXPECT_EQ(out["materials"][1], stripped);
  EXPECT_EQ(out["images"].size(), 2u);
  EXPECT_EQ(out["extensions"]["HSK_kernel_texture"]["constantMaterials"], Json::array({0}));

  const auto product = decoded(glb);
  ASSERT_TRUE(product) << product.error().message;
  EXPECT_GT(agreement(f, *product), 50);
  EXPECT_EQ(product->kernels.size(), f.kernels.size());
}

/// A file whose first square has a skin, and morph targets that an animation blends.
GltfBuilder livingFile() {
  GltfBuilder b = wholeFile();
  const auto moved = b.addAccessor<float>({0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4}, "VEC3");
  const auto tilted = b.addAccessor<float>({1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0}, "VEC3");
  b.primitive(0)["targets"] = Json::array({{{"POSITION", moved}, {"NORMAL", tilted}}, {{"POSITION", moved}}});
  b.json["meshes"][0]["weights"] = {0, 0};
  b.json["meshes"][0]["extras"] = {{"targetNames", {"up", "up too"}}};
  const auto times = b.addAccessor<float>({0, 1}, "SCALAR");
  const auto weights = b.addAccessor<float>({0, 0.25f, 1, 0.75f}, "SCALAR");
  b.add("animations",
        {{"name", "blend"},
         {"channels", Json::array({{{"sampler", 0}, {"target", {{"node", 0}, {"path", "weights"}}}}})},
         {"samplers", Json::array({{{"input", times}, {"output", weights}, {"interpolation", "STEP"}}})}});
  b.primitive(0)["attributes"]["JOINTS_0"] =
      b.addAccessor<std::uint8_t>({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "VEC4");
  b.primitive(0)["attributes"]["WEIGHTS_0"] =
      b.addAccessor<float>({1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}, "VEC4");
  const auto bone = b.add("nodes", {{"name", "bone"}});
  const auto binding = b.addAccessor<float>({1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, "MAT4");
  b.json["accessors"][binding]["count"] = 1;
  b.add("skins", {{"name", "one"}, {"joints", {bone}}, {"skeleton", bone}, {"inverseBindMatrices", binding}});
  b.json["nodes"][0]["skin"] = 0;
  b.json["scenes"][0]["nodes"].push_back(bone);
  return b;
}

TEST(ProductDocument, SkinsMorphTargetsAndAnimationsStayByteForByte) {
  const GltfBuilder b = livingFile();
  const auto before = b.glb(), after = encoded(fittedFile(b));
  const Json in = b.json, out = jsonOf(after);
  for (const char* same : {"nodes", "scenes", "cameras"})
    EXPECT_EQ(out[same], in[same]) << same;
  const auto expectSame = [&](const Json& was, const Json& is, const std::string& what) {
    ASSERT_TRUE(is.is_number_unsigned()) << what;
    EXPECT_EQ(accessorOf(after, is), accessorOf(before, was)) << what;
  };
  const Json &old_primitive = in["meshes"][0]["primitives"][0],
             &primitive = out["meshes"][0]["primitives"][0];
  for (const auto& [name, number] : old_primitive["attributes"].items())
    expectSame(number, primitive["attributes"][name], name);
  expectSame(old_primitive["indices"], primitive["indices"], "indices");
  ASSERT_EQ(primitive["targets"].size(), 2u);
  for (std::size_t t = 0; t < 2; ++t) {
    ASSERT_EQ(primitive["targets"][t].size(), old_primitive["targets"][t].size());
    for (const auto& [name, number] : old_primitive["targets"][t].items())
      expectSame(number, primitive["targets"][t][name], "target's " + name);
  }
  EXPECT_EQ(out["meshes"][0]["weights"], in["meshes"][0]["weights"]);
  EXPECT_EQ(out["meshes"][0]["extras"], in["meshes"][0]["extras"]);
  Json skins = out["skins"], animations = out["animations"];
  ASSERT_EQ(skins.size(), 1u);
  expectSame(in["skins"][0]["inverseBindMatrices"], skins[0]["inverseBindMatrices"], "inverseBindMatrices");
  skins[0]["inverseBindMatrices"] = in["skins"][0]["inverseBindMatrices"];
  EXPECT_EQ(skins, in["skins"]);
  ASSERT_EQ(animations.size(), 2u);
  for (std::size_t a = 0; a < 2; ++a) {
    for (const char* part : {"input", "output"}) {
      const Json& was = in["animations"][a]["samplers"][0][part];
      expectSame(was, animations[a]["samplers"][0][part], part);
      animations[a]["samplers"][0][part] = was;
    }
  }
  EXPECT_EQ(animations, in["animations"]);
}

TEST(ProductDocument, AnUnknownExtensionKeepsWhatItPointsAt) {
  GltfBuilder b = livingFile();
  const std::vector<std::uint8_t> secret = {3, 1, 4, 1, 5, 9, 2, 6}, table(100, 7);
  b.json["extensionsUsed"].push_back("ACME_strange");
  b.json["extensions"]["ACME_strange"] = {{"payload", b.addView(secret)},
                                          {"tables", Json::array({{{"bufferView", b.addView(table)}}})},
                                          {"picture", 0}};
  const std::size_t heat = b.addAccessor<std::uint16_t>({7, 8, 9}, "SCALAR");
  b.json["meshes"][2]["extensions"]["ACME_strange"] = {{"accessor", heat}};
  const auto before = b.glb(), after = encoded(fittedFile(b));
  const Json in = b.json, out = jsonOf(after);
  EXPECT_EQ(out["extensions"]["ACME_strange"], in["extensions"]["ACME_strange"]);
  EXPECT_EQ(out["meshes"][2], in["meshes"][2]);
  EXPECT_EQ(out["extensionsUsed"][2], "ACME_strange");
  // Nobody can tell which of its numbers are indices: all views and accessors of the file keep theirs, with
  // their bytes, but for images that kernels replace.
  const Json& strange = out["extensions"]["ACME_strange"];
  EXPECT_EQ(viewOf(after, strange["payload"]), secret);
  EXPECT_EQ(viewOf(after, strange["tables"][0]["bufferView"]), table);
  EXPECT_EQ(accessorOf(after, heat), accessorOf(before, heat));
  for (std::size_t a = 0; a < in["accessors"].size(); ++a)
    EXPECT_EQ(accessorOf(after, a), accessorOf(before, a)) << a;
}

TEST(ProductDocument, TexturesGoWhenNobodyNeedsThem) {
  GltfBuilder b = wholeFile();
  for (std::size_t m : {1u, 2u}) {
    b.json["materials"].push_back({{"name", "plain"}});
    b.primitive(m)["material"] = b.json["materials"].size() - 1;
  }
  const Fitted f = fittedFile(b);
  const auto document = ProductDocument::create(f.asset, *f.surface, {}, Fallback::kVertex);
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->dropped(), std::vector<std::string>{"baseColorTexture"});
  for (const char* word : {"animations", "cameras", "copyright", "custom_attributes", "extras", "normals",
                           "scenes", "KHR_materials_ior", "metallicRoughnessTexture"}) {
    EXPECT_NE(std::find(document->kept().begin(), document->kept().end(), word), document->kept().end())
        << word;
  }
  const Json out = jsonOf(encoded(f));
  EXPECT_EQ(out["images"].size(), 1u);
  EXPECT_EQ(out["materials"][0]["pbrMetallicRoughness"]["metallicRoughnessTexture"]["index"], 0);
  EXPECT_EQ(out["materials"][0]["pbrMetallicRoughness"]["metallicFactor"], 0.125);
}

/// Textures whose directions no kernel holds, and those of extensions that nobody here knows, stay and are
/// named.
TEST(ProductDocument, TexturesThatAreNotFittedStayAndAreNamed) {
  GltfBuilder b = wholeFile();
  Json& material = b.json["materials"][0];
  material["extensions"]["KHR_materials_clearcoat"] = {{"clearcoatFactor", 0.5},
                                                       {"clearcoatNormalTexture", {{"index", 0}}}};
  material["extensions"]["KHR_materials_anisotropy"] = {{"anisotropyStrength", 0.5},
                                                        {"anisotropyTexture", {{"index", 0}}}};
  material["extensions"]["KHR_materials_of_tomorrow"] = {{"futureTexture", {{"index", 0}}}};
  for (const char* name :
       {"KHR_materials_clearcoat", "KHR_materials_anisotropy", "KHR_materials_of_tomorrow"})
    b.json["extensionsUsed"].push_back(name);
  const Fitted f = fittedFile(b);
  const auto document = ProductDocument::create(f.asset, *f.surface, {}, Fallback::kVertex);
  ASSERT_TRUE(document) << document.error().message;
  for (const char* word : {"clearcoatNormalTexture", "anisotropyTexture", "futureTexture"}) {
    EXPECT_NE(std::find(document->kept().begin(), document->kept().end(), word), document->kept().end())
        << word;
  }
  const Json out = jsonOf(encoded(f));
  EXPECT_EQ(out["materials"][0]["extensions"], material["extensions"]);
  EXPECT_EQ(out["textures"][0], b.json["textures"][0]);
}

/// Directions have no mean, and without tangents or a normal texture nothing says what they are relative to.
TEST(ProductDocument, AnisotropyGoesWithItsTextureOrKeepsItsCoordinates) {
  ChannelGroup color;
  color.name = "base_color";
  color.count = 3;
  const auto layout = ChannelLayout::make({color, tangentGroup(kNormalSlot), tangentGroup(kAnisotropySlot)});
  ASSERT_TRUE(layout);
  const auto slotsOf = [&](const GltfBuilder& b, const ChannelLayout& channels, std::size_t slot) {
    const Fitted f = fittedFile(b);
    const auto document = ProductDocument::create(f.asset, *f.surface, channels, Fallback::kVertex);
    EXPECT_TRUE(document) << document.error().message;
    const Asset& stored = document->stored();
    const int material = stored.meshes[0].primitives[0].material;
    return stored.materials[static_cast<std::size_t>(material)].slots[slot];
  };
  GltfBuilder b = wholeFile();
  Json& material = b.json["materials"][0];
  material["normalTexture"] = {{"index", 1}};
  Json& anisotropy = material["extensions"]["KHR_materials_anisotropy"];
  anisotropy = {{"anisotropyStrength", 0.5}, {"anisotropyTexture", {{"index", 1}}}};
  b.json["extensionsUsed"].push_back("KHR_materials_anisotropy");
  EXPECT_EQ(slotsOf(b, *layout, kAnisotropySlot).texture.texture, -1);
  EXPECT_EQ(slotsOf(b, *layout, kAnisotropySlot).factor.x(), 0);
  EXPECT_EQ(slotsOf(b, *layout, kNormalSlot).texture.texture, -1);
  // Not fitted, it stays, and with it what its directions are relative to ...
  const auto normals = ChannelLayout::make({color, tangentGroup(kNormalSlot)});
  EXPECT_GE(slotsOf(b, *normals, kAnisotropySlot).texture.texture, 0);
  EXPECT_GE(slotsOf(b, *normals, kNormalSlot).texture.texture, 0);
  anisotropy.erase("anisotropyTexture");
  EXPECT_EQ(slotsOf(b, *layout, kAnisotropySlot).factor.x(), 0.5f) << "a factor is no texture";
  EXPECT_GE(slotsOf(b, *layout, kNormalSlot).texture.texture, 0);
  // ... unless there are tangents.
  for (const std::size_t mesh : {0u, 1u}) {
    b.primitive(mesh)["attributes"]["TANGENT"] =
        b.addAccessor<float>({1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1}, "VEC4");
  }
  EXPECT_EQ(slotsOf(b, *layout, kNormalSlot).texture.texture, -1);
}

TEST(ProductDocument, FallbackOriginalKeepsAllTextures) {
  const Fitted f = fittedFile(wholeFile());
  const auto glb = encodedWith(f, Fallback::kOriginal);
  const Json in = wholeFile().json, out = jsonOf(glb);
  for (const char* same : {"textures", "nodes", "scenes", "accessors"})
    EXPECT_EQ(out[same], in[same]) << same;
  EXPECT_EQ(out["meshes"][0], in["meshes"][0]);
  EXPECT_EQ(out["meshes"][2], in["meshes"][2]);
  // The square without coordinates needs a material that can be told from that of the first.
  EXPECT_EQ(out["materials"], Json::array({in["materials"][0], in["materials"][0]}));
  EXPECT_EQ(out["meshes"][1]["primitives"][0]["material"], 1);
  EXPECT_EQ(out["images"].size(), in["images"].size());
  const auto product = decoded(glb);
  ASSERT_TRUE(product) << product.error().message;
  EXPECT_GT(agreement(f, *product), 50) << "kernels decide, whatever the textures say";
}

TEST(ProductDocument, FallbackNoneIsOneColour) {
  const Fitted f = fittedFile(wholeFile());
  const Json out = jsonOf(encodedWith(f, Fallback::kPlain));
  EXPECT_FALSE(out["meshes"][0]["primitives"][0]["attributes"].contains("COLOR_0"));
  const Json& factor = out["materials"][1]["pbrMetallicRoughness"]["baseColorFactor"];
  ASSERT_EQ(factor.size(), 4u);
  EXPECT_GT(factor[0].get<double>() + factor[1].get<double>() + factor[2].get<double>(), 0);
  EXPECT_EQ(factor[3], 1);
}

TEST(ProductDocument, OpaqueAndMaskStayWhatTheyAre) {
  for (const char* mode : {"OPAQUE", "MASK", "BLEND"}) {
    GltfBuilder b = wholeFile();
    b.json["materials"][0]["alphaMode"] = mode;
    b.json["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"][3] = 0.75;
    const Json out = jsonOf(encoded(fittedFile(b)));
    for (const Json& material : out["materials"])
      EXPECT_EQ(material["alphaMode"], mode);
    EXPECT_EQ(out["materials"][1]["pbrMetallicRoughness"]["baseColorFactor"], Json::array({1, 1, 1, 0.75}));
  }
}

TEST(ProductDocument, PrimitivesThatShareTheirVerticesShareTheirColours) {
  GltfBuilder b = wholeFile();
  Json second = b.primitive(0);
  second["indices"] = b.addAccessor<std::uint16_t>({0, 2, 3}, "SCALAR");
  b.primitive(0)["indices"] = b.addAccessor<std::uint16_t>({0, 1, 2}, "SCALAR");
  b.json["meshes"][0]["primitives"].push_back(second);
  const auto glb = encoded(fittedFile(b));
  const Json out = jsonOf(glb);
  const Json& primitives = out["meshes"][0]["primitives"];
  EXPECT_EQ(primitives[0]["attributes"]["COLOR_0"], primitives[1]["attributes"]["COLOR_0"]);
  EXPECT_EQ(out["accessors"][primitives[0]["attributes"]["COLOR_0"].get<std::size_t>()]["count"], 4);
  EXPECT_TRUE(decoded(glb));
}

TEST(ProductDocument, AnAssetThatWasChangedAfterReadingIsWrittenAsItIsNow) {
  Fitted f = fittedFile(wholeFile());
  for (Vec3& p : f.asset.meshes[0].primitives[0].positions)
    p *= 2;
  f = fitted(f.asset, 20);
  const auto product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  EXPECT_EQ(product->asset.meshes[0].primitives[0].positions, f.asset.meshes[0].primitives[0].positions);
}

}  // namespace
}  // namespace heatskin::testing::product
