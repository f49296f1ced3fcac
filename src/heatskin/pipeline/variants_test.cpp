// Material variants from a file to its product and back.

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "heatskin/io/gltf_container.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/pipeline/test_jobs.h"
#include "heatskin/surface/sampling.h"

#include "support/variant_file.h"

namespace heatskin::testing {
namespace {

using Json = nlohmann::json;

LoadedAsset toFit(const GltfBuilder& builder) {
  auto asset = readGltfBytes(builder.glb(), "variants.glb");
  EXPECT_TRUE(asset);
  auto loaded = openAssetToFit(std::move(*asset), Method::kLocal, quietly());
  EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
  return std::move(*loaded);
}

Result<FitOutcome> fitVariants(const LoadedAsset& asset, Fallback fallback = Fallback::kTexture) {
  FitJob job = smallJob();
  job.config.train.steps = 150;
  setKernelBudget(job.config, 300);
  job.config.train.sampling.pool = 0;  // as many as the budget wants
  job.fallback = fallback;
  job.layout = *fitChannels(asset);
  return fitProduct(asset, job);
}

Result<LoadedProduct> opened(const std::vector<std::uint8_t>& bytes, const std::string& variant) {
  auto asset = readGltfBytes(bytes, "product.glb");
  if (!asset) return asset.error();
  OpenOptions options = quietly();
  options.variant = variant;
  return openProduct(std::move(*asset), options);
}

Json documentOf(const std::vector<std::uint8_t>& bytes) {
  const auto container = gltf::splitGlb(bytes);
  EXPECT_TRUE(container);
  return Json::parse(container->json.begin(), container->json.end());
}

/// Mean colour error of a product in a variant against the asset in it, over the left or the right square.
double colorError(const LoadedProduct& product, const GltfBuilder& builder, const std::string& variant,
                  int square) {
  auto asset = readGltfBytes(builder.glb(), "variants.glb");
  OpenOptions options = quietly();
  options.variant = variant;
  const auto truth = openAsset(std::move(*asset), options);
  EXPECT_TRUE(truth);
  std::vector<SurfacePoint> points;
  for (const SurfacePoint& p : sampleSurface(product.texture.surface(), 4000, 5)) {
    if (static_cast<int>(product.texture.surface().sources()[p.face].instance) == square) points.push_back(p);
  }
  std::vector<Vec3f> colors(points.size());
  product.texture.colors(points, colors);
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i)
    sum += static_cast<double>((colors[i] - truth->appearance.color(points[i])).squaredNorm());
  return std::sqrt(sum / static_cast<double>(3 * points.size()));
}

TEST(MaterialVariants, EachHasItsColoursOnOneGeometry) {
  const GltfBuilder builder = variantFile();
  const LoadedAsset asset = toFit(builder);
  const auto outcome = fitVariants(asset);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_EQ(outcome->variants.size(), 2u);
  EXPECT_EQ(outcome->variants[0].name, "stripes");
  EXPECT_GT(outcome->variants[0].bytes, 0u);
  EXPECT_EQ(outcome->variants[1].name, "plain");
  EXPECT_EQ(outcome->variants[1].bytes, 0u) << "a factor needs no values";
  ASSERT_TRUE(outcome->variants[0].evaluation);
  EXPECT_GT(outcome->variants[0].evaluation->surface_psnr, 20);
  EXPECT_EQ(outcome->stored->product.variants, std::vector<std::string>{"stripes"});
  EXPECT_GT(outcome->stored->product.variant_bytes, 0u);

  const auto by_default = opened(outcome->bytes, "");
  ASSERT_TRUE(by_default) << by_default.error().message;
  for (const char* name : {"", "stripes", "plain", "usual"}) {
    const auto product = opened(outcome->bytes, name);
    ASSERT_TRUE(product) << product.error().message;
    EXPECT_EQ(product->product.kernels.angles, by_default->product.kernels.angles);
    EXPECT_EQ(product->product.kernels.lengths, by_default->product.kernels.lengths);
    EXPECT_LT(colorError(*product, builder, name, 1), 0.06) << name;
    EXPECT_LT(colorError(*product, builder, name, 0), std::string(name) == "plain" ? 1e-6 : 0.1) << name;
  }
  // The colours that the fit measured are those that readers get.
  const auto striped = opened(outcome->bytes, "stripes");
  EXPECT_GT(colorError(*striped, builder, "", 0), 0.2) << "it is another look";
  EXPECT_NEAR(-20 * std::log10(colorError(*striped, builder, "stripes", 0)),
              outcome->variants[0].evaluation->surface_psnr, 3);
  const auto unknown = opened(outcome->bytes, "nothing");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::kUsage);
  EXPECT_NE(unknown.error().message.find("stripes"), std::string::npos);
}

TEST(MaterialVariants, TheFileKeepsItsMappingsAndShowsEveryLook) {
  const LoadedAsset asset = toFit(variantFile());
  const auto outcome = fitVariants(asset);
  ASSERT_TRUE(outcome) << outcome.error().message;
  const Json file = documentOf(outcome->bytes), before = variantFile().json;
  const char* name = "KHR_materials_variants";
  EXPECT_EQ(file["extensions"][name], before["extensions"][name]);
  const Json& mappings = file["meshes"][0]["primitives"][0]["extensions"][name]["mappings"];
  ASSERT_EQ(mappings.size(), 3u);
  for (std::size_t m = 0; m < 3; ++m)
    EXPECT_EQ(mappings[m]["variants"],
              before["meshes"][0]["primitives"][0]["extensions"][name]["mappings"][m]["variants"]);
  EXPECT_EQ(mappings[2]["material"], file["meshes"][0]["primitives"][0]["material"]) << "'usual'";
  const auto material = [&](std::size_t m) {
    return file["materials"][mappings[m]["material"].get<std::size_t>()];
  };
  EXPECT_EQ(material(1)["pbrMetallicRoughness"]["baseColorFactor"], Json({0.25, 0.5, 1, 1}));
  ASSERT_TRUE(material(0)["pbrMetallicRoughness"].contains("baseColorTexture"));
  EXPECT_EQ(file["images"].size(), 2u) << "one for the texture of both squares, one for the stripes";
  const Json& extension = file["extensions"]["HSK_kernel_texture"];
  EXPECT_EQ(extension["version"], "2.2");
  ASSERT_EQ(extension["variants"].size(), 1u);
  EXPECT_EQ(extension["variants"][0]["names"], Json({"stripes"}));
  EXPECT_EQ(extension["variants"][0]["channels"][0]["name"], "base_color");

  // The fallback of a variant shows its colours.
  auto read = readGltfBytes(outcome->bytes, "product.glb");
  ASSERT_TRUE(read);
  OpenOptions options = quietly();
  options.variant = "stripes";
  const auto shown = openAsset(std::move(*read), options);
  ASSERT_TRUE(shown);
  const auto product = opened(outcome->bytes, "stripes");
  const std::vector<SurfacePoint> points = sampleSurface(product->texture.surface(), 2000, 5);
  std::vector<Vec3f> colors(points.size());
  product->texture.colors(points, colors);
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i)
    sum += static_cast<double>((colors[i] - shown->appearance.color(points[i])).squaredNorm());
  EXPECT_LT(std::sqrt(sum / static_cast<double>(3 * points.size())), 0.08);
}

TEST(MaterialVariants, ForgottenOnesStayInTheFile) {
  auto asset = readGltfBytes(variantFile().glb(), "variants.glb");
  ASSERT_TRUE(asset);
  forgetVariants(*asset);
  const auto loaded = openAssetToFit(std::move(*asset), Method::kLocal, quietly());
  ASSERT_TRUE(loaded);
  const auto outcome = fitVariants(*loaded);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->variants.empty());
  const Json file = documentOf(outcome->bytes);
  EXPECT_FALSE(file["extensions"]["HSK_kernel_texture"].contains("variants"));
  EXPECT_EQ(file["extensions"]["KHR_materials_variants"]["variants"].size(), 3u);
}

TEST(MaterialVariants, TooManyLooksAreRefused) {
  GltfBuilder b = variantFile();
  auto& names = b.json["extensions"]["KHR_materials_variants"]["variants"];
  auto& mappings = b.primitive(0)["extensions"]["KHR_materials_variants"]["mappings"];
  for (std::size_t v = 3; v < kMaxLooks + 5; ++v) {
    b.add("materials", b.json["materials"][1]);
    names.push_back({{"name", "v" + std::to_string(v)}});
    mappings.push_back({{"material", b.json["materials"].size() - 1}, {"variants", {v}}});
  }
  const LoadedAsset asset = toFit(b);
  FitJob job = smallJob();
  const auto outcome = fitProduct(asset, job);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kInput);
  EXPECT_FALSE(fitChannels(asset));
}

/// Whatever the buffer of a variant holds: refused, or within range; the default is not touched.
TEST(MaterialVariants, DamagedValuesAreRefused) {
  const LoadedAsset asset = toFit(variantFile());
  const auto outcome = fitVariants(asset, Fallback::kVertex);
  ASSERT_TRUE(outcome);
  auto read = readGltfBytes(outcome->bytes, "product.glb");
  ASSERT_TRUE(read);
  RawExtension& raw = read->raw_extensions.at(0);
  const Json good = Json::parse(raw.json);
  const auto open = [&](const Json& json, const std::vector<RawExtension::View>& views) {
    Asset changed = *read;
    changed.raw_extensions[0].json = json.dump();
    changed.raw_extensions[0].views = views;
    OpenOptions options = quietly();
    options.variant = "stripes";
    return openProduct(std::move(changed), options);
  };
  ASSERT_TRUE(open(good, raw.views));
  const auto view = good["variants"][0]["bufferView"].get<std::size_t>();
  for (std::vector<RawExtension::View> views = raw.views; RawExtension::View & v : views) {
    if (v.index != view) continue;
    const std::vector<std::uint8_t> bytes = v.bytes;
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, bytes.size() / 2, bytes.size() - 1}) {
      v.bytes.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(open(good, views)) << size;
    }
    v.bytes = bytes;
    v.bytes.push_back(0);
    EXPECT_FALSE(open(good, views)) << "overlong";
    for (std::size_t at = 0; at < bytes.size(); at += 7) {
      v.bytes = bytes;
      v.bytes[at] ^= 0x55;
      (void)open(good, views);  // no crash
    }
  }
  const auto refused = [&](const char* pointer, const Json& value) {
    Json json = good;
    json[Json::json_pointer(pointer)] = value;
    EXPECT_FALSE(open(json, raw.views)) << pointer << " " << value;
  };
  refused("/variants", Json::array());
  refused("/variants", 3);
  refused("/variants/0/names", Json::array());
  refused("/variants/0/names", {"stripes", "stripes"});
  refused("/variants/0/names", {std::string(300, 'x')});
  refused("/variants/0/bufferView", 999);
  refused("/variants/0/differences", 1);
  refused("/variants/0/channels", Json::array());
  refused("/variants/0/channels/0/name", "roughness");
  refused("/variants/0/channels/0/mean", {0.5, 0.5});
  refused("/variants/0/channels/0/mean", {0.5, 0.5, 2});
  refused("/variants/0/more", 1);
  refused("/version", "2.1");
  Json doubled = good;
  doubled["variants"].push_back(doubled["variants"][0]);
  EXPECT_FALSE(open(doubled, raw.views));
}

}  // namespace
}  // namespace heatskin::testing
