// Whole materials, from a file to its product and back: what is fitted, what stays a factor, what others see.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/appearance/asset_channels.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/gltf_container.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/io/image.h"
#include "heatskin/product/asset_constants.h"
#include "heatskin/product/fit_appearance.h"
#include "heatskin/product/product.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/texture/kernel_texture.h"

#include "support/gltf_builder.h"

namespace heatskin::testing {
namespace {

using Json = GltfBuilder::Json;

/// A picture of 8 x 8 texels, four components each as `texel` says.
std::vector<std::uint8_t> picture(const std::function<std::array<int, 4>(int, int)>& texel) {
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 8; ++x) {
      for (const int value : texel(x, y))
        pixels.push_back(static_cast<std::uint8_t>(value));
    }
  }
  return *encodePng(pixels, 8, 8, 4);
}

/// Three squares side by side: everything textured; the base colour a factor and the rest textured; factors
/// only. Texture 0 is a colour, texture 1 has occlusion, roughness and metalness.
GltfBuilder threeSquares() {
  GltfBuilder b;
  for (int i = 0; i < 3; ++i) {
    const auto x = static_cast<float>(1.5 * i);
    std::vector<float> positions, uvs;
    std::vector<std::uint16_t> indices;
    // A grid: kernels find their places on more than two faces.
    constexpr int kCells = 4;
    for (int v = 0; v <= kCells; ++v) {
      for (int u = 0; u <= kCells; ++u) {
        const float s = static_cast<float>(u) / kCells, t = static_cast<float>(v) / kCells;
        positions.insert(positions.end(), {x + s, t, 0});
        uvs.insert(uvs.end(), {s, 1 - t});
      }
    }
    for (int v = 0; v < kCells; ++v) {
      for (int u = 0; u < kCells; ++u) {
        const int a = v * (kCells + 1) + u, c = a + kCells + 1;
        for (const int index : {a, a + 1, c + 1, a, c + 1, c})
          indices.push_back(static_cast<std::uint16_t>(index));
      }
    }
    Json attributes;
    attributes["POSITION"] = b.addAccessor<float>(positions, "VEC3");
    attributes["TEXCOORD_0"] = b.addAccessor<float>(uvs, "VEC2");
    b.addMesh({{"attributes", attributes},
               {"indices", b.addAccessor<std::uint16_t>(indices, "SCALAR")},
               {"material", i}});
  }
  b.add("images", {{"bufferView", b.addView(picture([](int x, int y) {
                      return std::array<int, 4>{30 * x, 30 * y, 128, 255};
                    }))},
                   {"mimeType", "image/png"}});
  b.add("images", {{"bufferView", b.addView(picture([](int x, int y) {
                      return std::array<int, 4>{255 - 20 * y, 100 + 20 * x, x < 4 ? 0 : 255, 255};
                    }))},
                   {"mimeType", "image/png"}});
  b.add("textures", {{"source", 0}});
  b.add("textures", {{"source", 1}});
  const Json color = {{"index", 0}}, orm = {{"index", 1}};
  b.add("materials",
        {{"name", "all"},
         {"pbrMetallicRoughness",
          {{"baseColorTexture", color}, {"metallicRoughnessTexture", orm}, {"roughnessFactor", 0.5}}},
         {"occlusionTexture", orm},
         {"emissiveTexture", color},
         {"emissiveFactor", {1, 0.5, 0}},
         {"extensions", {{"KHR_materials_emissive_strength", {{"emissiveStrength", 4}}}}}});
  b.add("materials", {{"name", "some"},
                      {"alphaMode", "MASK"},
                      {"alphaCutoff", 0.25},
                      {"pbrMetallicRoughness",
                       {{"baseColorFactor", {0.9, 0.5, 0.1, 1}}, {"metallicRoughnessTexture", orm}}},
                      {"emissiveFactor", {0, 0.25, 0}}});
  b.add("materials",
        {{"name", "none"},
         {"pbrMetallicRoughness",
          {{"baseColorFactor", {0.95, 0.95, 0.95, 1}}, {"metallicFactor", 1}, {"roughnessFactor", 0.125}}}});
  b.json["extensionsUsed"] = {"KHR_materials_emissive_strength"};
  return b;
}

struct Subject {
  Asset asset;
  std::shared_ptr<const Surface> surface;
  explicit Subject(const GltfBuilder& builder)
      : asset(*readGltfBytes(builder.glb(), "in.glb")),
        surface(std::make_shared<const Surface>(std::move(*buildSurface(asset)))) {}
  Appearance appearance() const { return Appearance(asset, *surface); }
};

FitConfig shortFit() {
  FitConfig config = *presetConfig("draft");
  config.train.steps = 120;
  config.train.batch = 1024;
  config.train.sampling.pool = 20'000;
  setKernelBudget(config, 300);
  return config;
}

/// Fits, stores and reads back.
struct Made {
  std::vector<std::uint8_t> glb;
  Product product;
  Json json;
};

Made make(const Subject& subject, const ChannelLayout& layout, Fallback fallback = Fallback::kVertex) {
  Made made;
  const FitConfig config = shortFit();
  const Appearance appearance = subject.appearance();
  const auto fitted = fit(*subject.surface, appearance, config, {}, layout);
  EXPECT_TRUE(fitted) << fitted.error().message;
  auto glb = encodeProduct(subject.asset, *subject.surface, fitted->kernels, config.evaluator.options(),
                           {"test", "draft", 0, config.train.steps}, {}, fallback);
  EXPECT_TRUE(glb) << glb.error().message;
  made.glb = std::move(*glb);
  auto product = decodeProduct(*readGltfBytes(made.glb, "product.glb"));
  EXPECT_TRUE(product) << product.error().message;
  made.product = std::move(*product);
  const auto split = gltf::splitGlb(made.glb);
  made.json = Json::parse(split->json.begin(), split->json.end());
  return made;
}

ChannelLayout namedChannels(const Subject& subject, std::vector<std::string> names) {
  const auto layout = channelsOf(subject.appearance(), *subject.surface, names);
  EXPECT_TRUE(layout) << layout.error().message;
  return *layout;
}

TEST(MaterialChannels, AnAssetsChannelsAreThoseThatVary) {
  const Subject subject(threeSquares());
  const auto names = varyingChannels(subject.appearance(), *subject.surface);
  EXPECT_EQ(names,
            (std::vector<std::string>{"base_color", "metallic", "roughness", "occlusion", "emissive"}));
  const ChannelLayout layout = channelsOf(subject.appearance(), *subject.surface);
  EXPECT_EQ(layout.size(), 9u);
  EXPECT_EQ(layout.find("emissive")->range, (std::array{0.0f, 4.0f}));
  const auto refused = [&](std::vector<std::string> given) {
    const auto made = channelsOf(subject.appearance(), *subject.surface, given);
    return made ? std::string("taken") : made.error().message;
  };
  EXPECT_NE(refused({"base_color", "chrome"}).find("no channel 'chrome'"), std::string::npos);
  EXPECT_NE(refused({"base_color", "clearcoat"}).find("does not vary"), std::string::npos);
  EXPECT_NE(refused({"roughness"}).find("base_color"), std::string::npos);
  // A texture of one colour is no reason for kernels.
  GltfBuilder b = threeSquares();
  b.json["images"][1]["bufferView"] = b.addView(picture([](int, int) {
    return std::array<int, 4>{9, 9, 9, 255};
  }));
  const Subject even(b);
  EXPECT_EQ(varyingChannels(even.appearance(), *even.surface),
            (std::vector<std::string>{"base_color", "emissive"}));
}

TEST(MaterialChannels, FactorsAreExactAndTexturesAreFitted) {
  const Subject subject(threeSquares());
  const Appearance appearance = subject.appearance();
  const ChannelLayout layout = channelsOf(appearance, *subject.surface);
  const Made made = make(subject, layout);
  const auto texture = KernelTexture::create(made.product.surface, made.product.kernels, made.product.options,
                                             {}, made.product.constants);
  ASSERT_TRUE(texture) << texture.error().message;
  const auto points = sampleSurface(*subject.surface, 6000, 5);
  std::vector<float> truth(points.size() * layout.size()), values(truth.size());
  appearance.values(points, layout, truth);
  texture->values(points, values);  // faces of a clean mesh keep their numbers
  std::vector<double> squared(layout.groups().size()), variance(squared), counted(squared), mean(squared);
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      for (std::size_t g = 0; g < layout.groups().size(); ++g) {
        const ChannelGroup& group = layout.groups()[g];
        const std::size_t at = i * layout.size() + group.first;
        if (appearance.faceConstant(points[i].face, group.name)) {
          for (std::size_t c = 0; c < group.count; ++c)
            ASSERT_EQ(values[at + c], truth[at + c]) << group.name << ": exactly the material's";
          continue;
        }
        const auto a = static_cast<double>(truth[at]), b = static_cast<double>(values[at]);
        if (pass == 0) {
          mean[g] += a;
          ++counted[g];
        } else {
          squared[g] += (a - b) * (a - b);
          variance[g] += std::pow(a - mean[g] / counted[g], 2);
        }
      }
    }
  }
  for (std::size_t g = 0; g < layout.groups().size(); ++g) {
    ASSERT_GT(counted[g], 1000) << layout.groups()[g].name;
    EXPECT_LT(squared[g], 0.1 * variance[g]) << layout.groups()[g].name << ": 10 dB better than a constant";
  }
}

TEST(MaterialChannels, TheValueOfAFactorHasNoInfluenceOnKernels) {
  // Material 1 has a factor in base_color and emissive, and textures elsewhere.
  const Subject subject(threeSquares());
  GltfBuilder other = threeSquares();
  other.json["materials"][1]["pbrMetallicRoughness"]["baseColorFactor"] = {0, 0, 1, 1};
  other.json["materials"][1]["emissiveFactor"] = {1, 1, 1};
  other.json["materials"][2]["pbrMetallicRoughness"]["roughnessFactor"] = 1;
  const Subject changed(other);
  const FitConfig config = shortFit();
  const auto kernelsOf = [&](const Subject& of) {
    auto fitted = fit(*of.surface, of.appearance(), config, {}, channelsOf(of.appearance(), *of.surface));
    EXPECT_TRUE(fitted) << fitted.error().message;
    return std::move(fitted->kernels);
  };
  const KernelSet a = kernelsOf(subject), b = kernelsOf(changed);
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(a.channels.values, b.channels.values);
  EXPECT_EQ(a.mean, b.mean);
  EXPECT_EQ(a.angles, b.angles);
}

TEST(MaterialChannels, OthersSeeMeansAndWhateverIsNotFitted) {
  const Subject subject(threeSquares());
  const Made made = make(subject, channelsOf(subject.appearance(), *subject.surface));
  const Json& all = made.json["materials"][0];
  EXPECT_FALSE(all.contains("occlusionTexture"));
  EXPECT_FALSE(all.contains("emissiveTexture"));
  EXPECT_FALSE(all["pbrMetallicRoughness"].contains("metallicRoughnessTexture"));
  EXPECT_FALSE(all["pbrMetallicRoughness"].contains("baseColorTexture"));
  // Half of the texels are metal; roughness is 0.5 (100 + 20 x) / 255.
  EXPECT_NEAR(all["pbrMetallicRoughness"]["metallicFactor"].get<double>(), 0.5, 0.01);
  EXPECT_NEAR(all["pbrMetallicRoughness"]["roughnessFactor"].get<double>(), 0.5 * 170 / 255, 0.01);
  EXPECT_EQ(all["extensions"]["KHR_materials_emissive_strength"]["emissiveStrength"], 4);
  // The mean of what is emitted, without the strength: the mean of linear red.
  double red = 0;
  for (int x = 0; x < 8; ++x)
    red += std::pow((30 * x / 255.0 + 0.055) / 1.055, 2.4) / 8;
  EXPECT_NEAR(all["emissiveFactor"][0].get<double>(), red, 0.02);
  EXPECT_EQ(all["emissiveFactor"][2], 0);

  const Json& some = made.json["materials"][1];
  EXPECT_EQ(some["alphaMode"], "MASK");
  EXPECT_EQ(some["alphaCutoff"], 0.25);
  EXPECT_EQ(some["pbrMetallicRoughness"]["baseColorFactor"], (Json{0.9, 0.5, 0.1, 1}));
  EXPECT_EQ(some["emissiveFactor"], (Json{0, 0.25, 0}));
  EXPECT_FALSE(some["pbrMetallicRoughness"].contains("metallicRoughnessTexture"));
  EXPECT_EQ(made.json["materials"][2], Json::parse(threeSquares().json["materials"][2].dump()));
  EXPECT_FALSE(made.json.contains("images"));
  // Colours at vertices are for the first square alone.
  EXPECT_TRUE(made.json["meshes"][0]["primitives"][0]["attributes"].contains("COLOR_0"));
  EXPECT_FALSE(made.json["meshes"][1]["primitives"][0]["attributes"].contains("COLOR_0"));
  EXPECT_FALSE(made.json["meshes"][2]["primitives"][0]["attributes"].contains("COLOR_0"));

  const Json& extension = made.json["extensions"]["HSK_kernel_texture"];
  EXPECT_EQ(extension["version"], "2.1");
  EXPECT_EQ(extension["constantMaterials"], Json{2});
  EXPECT_EQ(extension["channels"][0]["constantMaterials"], Json{1});
  EXPECT_FALSE(extension["channels"][1].contains("constantMaterials"));
  EXPECT_EQ(extension["channels"][4]["name"], "emissive");
  EXPECT_EQ(extension["channels"][4]["constantMaterials"], Json{1});
}

TEST(MaterialChannels, SlotsThatAreNotFittedKeepTheirTextures) {
  const Subject subject(threeSquares());
  const Made base = make(subject, {});
  EXPECT_FALSE(base.json["extensions"]["HSK_kernel_texture"]["channels"][0].contains("constantMaterials"));
  Json expected = threeSquares().json["materials"][0];
  expected["pbrMetallicRoughness"].erase("baseColorTexture");
  // The textures are numbered anew.
  EXPECT_EQ(base.json["materials"][0]["occlusionTexture"]["index"],
            base.json["materials"][0]["pbrMetallicRoughness"]["metallicRoughnessTexture"]["index"]);
  EXPECT_TRUE(base.json["materials"][0].contains("emissiveTexture"));
  EXPECT_EQ(base.json["materials"][0]["pbrMetallicRoughness"]["roughnessFactor"], 0.5);

  // Metalness is in the same picture as roughness: as long as one needs it, it stays, and so do the factors.
  const Made rough = make(subject, namedChannels(subject, {"base_color", "roughness"}));
  EXPECT_TRUE(rough.json["materials"][0]["pbrMetallicRoughness"].contains("metallicRoughnessTexture"));
  EXPECT_EQ(rough.json["materials"][0]["pbrMetallicRoughness"]["roughnessFactor"], 0.5);
  EXPECT_NE(rough.product.kernels.layout.find("roughness"), nullptr);

  const Made kept = make(subject, channelsOf(subject.appearance(), *subject.surface), Fallback::kOriginal);
  EXPECT_EQ(kept.json["materials"], threeSquares().json["materials"]);
}

TEST(MaterialChannels, PrimitivesOfOneMaterialMayDiffer) {
  // The third square gets the first one's material but has no coordinates: factors, with a copy of it.
  GltfBuilder b = threeSquares();
  b.json["meshes"][2]["primitives"][0]["material"] = 0;
  b.json["meshes"][2]["primitives"][0]["attributes"].erase("TEXCOORD_0");
  const Subject subject(b);
  for (const Fallback fallback : {Fallback::kVertex, Fallback::kOriginal}) {
    const Made made = make(subject, channelsOf(subject.appearance(), *subject.surface), fallback);
    const auto own = made.json["meshes"][2]["primitives"][0]["material"].get<std::size_t>();
    const auto first = made.json["meshes"][0]["primitives"][0]["material"].get<std::size_t>();
    EXPECT_NE(own, first);
    EXPECT_EQ(made.json["extensions"]["HSK_kernel_texture"]["constantMaterials"], Json{own});
    const auto texture = KernelTexture::create(made.product.surface, made.product.kernels,
                                               made.product.options, {}, made.product.constants);
    ASSERT_TRUE(texture);
    const ChannelLayout& layout = texture->layout();
    std::vector<float> row(layout.size());
    const SurfacePoint last{made.product.surface->faceCount() - 1, Vec3::Constant(1.0 / 3)};
    texture->values({&last, 1}, row);
    EXPECT_EQ(row[layout.find("roughness")->first], 0.5f);
    EXPECT_EQ(row[layout.find("metallic")->first], 1.0f);
    EXPECT_EQ(row[layout.find("occlusion")->first], 1.0f);
    EXPECT_EQ(row[layout.find("emissive")->first + 1], 2.0f);
  }
}

TEST(MaterialChannels, ListsOfMaterialsInHostileFilesAreRefused) {
  const Subject subject(threeSquares());
  const Made made = make(subject, channelsOf(subject.appearance(), *subject.surface));
  const auto outcome = [&](const std::function<void(Json&)>& change) {
    auto asset = readGltfBytes(made.glb, "p.glb");
    Json json = Json::parse(asset->raw_extensions.at(0).json);
    change(json);
    asset->raw_extensions[0].json = json.dump();
    const auto product = decodeProduct(std::move(*asset));
    EXPECT_TRUE(product || product.error().kind == ErrorKind::kInput);
    return product ? std::string("read") : product.error().message;
  };
  EXPECT_EQ(outcome([](Json&) {}), "read");
  for (const char* bad :
       {"[]", "[1, 1]", "[2, 1]", "[-1]", "[0.5]", "{}", "[99999999999]", "7", "[3]", "[null]"}) {
    EXPECT_NE(outcome([&](Json& json) { json["channels"][4]["constantMaterials"] = Json::parse(bad); }),
              "read")
        << bad;
  }
  EXPECT_NE(outcome([](Json& json) { json["version"] = "2.0"; }).find("constantMaterials"), std::string::npos)
      << "2.0 has no such property";
  EXPECT_NE(outcome([](Json& json) { json["channels"][3]["name"] = "humidity"; }), "read")
      << "no material says how humid it is";
  // A range that is too small for the factor: values stay within it.
  EXPECT_EQ(outcome([](Json& json) { json["channels"][4]["range"] = {0, 0.125}; }), "read");
}

}  // namespace
}  // namespace heatskin::testing
