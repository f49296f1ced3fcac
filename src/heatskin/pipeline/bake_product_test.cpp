#include "heatskin/pipeline/bake_product.h"

#include <fstream>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "heatskin/base/memory_budget.h"
#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/gltf_document.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/pipeline/export_arrays.h"
#include "heatskin/pipeline/export_usdz.h"
#include "heatskin/pipeline/test_jobs.h"
#include "heatskin/product/product_extension.h"
#include "heatskin/surface/sampling.h"

#include "support/sanitized.h"

namespace heatskin {
namespace {

/// Smooth kernels: what a fit has, without the fit.
KernelSet softKernels(const Surface& surface, std::size_t count, ChannelLayout layout) {
  KernelSet kernels(std::move(layout));
  const auto points = sampleSurface(surface, count, 3);
  kernels.resize(count);
  const RandomStream random(4, 0);
  for (std::size_t i = 0; i < count; ++i) {
    kernels.positions[i] = points[i];
    kernels.angles[i] = static_cast<float>(3 * random.uniform(3 * i));
    kernels.anisotropies[i] = 1.5f;
    kernels.thresholds[i] = 0.3f;
    kernels.sharpnesses[i] = 10;
    kernels.lengths[i] = 0.4f;
    for (std::size_t c = 0; c < kernels.layout.size(); ++c)
      kernels.channels[i][static_cast<Eigen::Index>(c)] =
          static_cast<float>(random.uniform(1000 + 40 * i + c) - 0.5);
    kernels.clampChannels(i);
  }
  return kernels;
}

ChannelLayout layoutOf(const std::vector<std::string>& names) {
  std::vector<ChannelGroup> groups;
  for (const std::string& name : names) {
    const std::size_t slot = slotOf(name);
    if (slot < kSlotCount && kMaterialSlots[slot].rule == SlotRule::kTangent) {
      groups.push_back(tangentGroup(slot));
      continue;
    }
    ChannelGroup group;
    group.name = name;
    group.count = name == "base_color" || name == "emissive" ? 3 : 1;
    if (name == "emissive") group.range = {0.0f, 3.0f};
    groups.push_back(group);
  }
  return *ChannelLayout::make(groups);
}

LoadedProduct productOf(Asset asset, const std::vector<std::string>& channels = {"base_color"},
                        std::size_t kernels = 150) {
  EXPECT_TRUE(useStoredGeometry(asset));
  const auto surface = buildSurface(asset, productSurfaceOptions(Method::kLocal));
  EXPECT_TRUE(surface);
  const auto glb = encodeProduct(asset, *surface, softKernels(*surface, kernels, layoutOf(channels)), {},
                                 {"heatskin test", "draft", 1, 1});
  EXPECT_TRUE(glb) << glb.error().message;
  auto read = readGltfBytes(*glb, "product.glb");
  EXPECT_TRUE(read);
  auto product = openProduct(std::move(*read), testing::quietly());
  EXPECT_TRUE(product) << product.error().message;
  return std::move(*product);
}

/// A sphere with normals, a material and texture coordinates that do not overlap: each half in its own disc.
Asset sphere(int level = 3) {
  Asset asset = testing::coloredSphere(level);
  asset.materials.emplace_back();
  asset.materials[0].slots = standardSlots();
  Primitive& primitive = asset.meshes[0].primitives[0];
  primitive.material = 0;
  for (const Vec3& p : primitive.positions)
    primitive.normals.push_back(p.normalized().cast<float>());
  return asset;
}

BakeJob jobOf(BakeTo to, int size = 256) {
  BakeJob job;
  job.to = to;
  job.size = size;
  job.samples = 20000;
  return job;
}

double psnrOf(const BakeOutcome& outcome, const std::string& channel) {
  for (const ChannelQuality& quality : outcome.evaluation->channels) {
    if (quality.name == channel) return quality.psnr;
  }
  ADD_FAILURE() << "no channel " << channel;
  return 0;
}

TEST(BakeProductTest, AnAtlasShowsWhatKernelsShow) {
  const LoadedProduct product = productOf(sphere());
  double before = 0, jump = 0;
  for (const int size : {64, 256, 1024}) {
    const auto baked = bakeProduct(product, jobOf(BakeTo::kAtlas, size));
    ASSERT_TRUE(baked) << baked.error().message;
    EXPECT_EQ(baked->width, size);
    EXPECT_GT(baked->charts, 1u);
    EXPECT_GT(baked->area_used, size == 64 ? 0.05 : 0.25);  // gutters take their share of few texels
    EXPECT_GT(psnrOf(*baked, "base_color"), before + 3);
    before = psnrOf(*baked, "base_color");
    // Both sides of a border interpolate the same function: they differ by no more than two errors of
    // interpolation, of which the samples know the largest up to a level. Without what lies beyond borders in
    // the texels there, the jump would be that of colours a texel apart.
    ASSERT_TRUE(baked->evaluation->reference_seam);
    const SeamJump& seam = *baked->evaluation->reference_seam;
    EXPECT_LT(seam.maximum, 2 * 255 * baked->evaluation->surface_max_error + 1);
    jump = seam.p99;
  }
  EXPECT_GT(before, 48);
  EXPECT_LT(jump, 1);
}

TEST(BakeProductTest, TheFileIsOrdinaryAndHasEverythingElse) {
  Asset asset = sphere();
  const LoadedProduct product = productOf(asset);
  for (const BakeTo to : {BakeTo::kUv, BakeTo::kAtlas, BakeTo::kVertex, BakeTo::kFace}) {
    const auto baked = bakeProduct(product, jobOf(to, 128));
    ASSERT_TRUE(baked) << baked.error().message;
    const auto document = GltfDocument::open(baked->bytes, "baked.glb");
    ASSERT_TRUE(document);
    const std::string text = document->root().dump();
    EXPECT_EQ(text.find(kExtensionName), std::string::npos);
    const auto read = readGltfBytes(baked->bytes, "baked.glb");
    ASSERT_TRUE(read);
    EXPECT_FALSE(isProduct(*read));
    EXPECT_EQ(read->meshes[0].primitives[0].triangleCount(), asset.meshes[0].primitives[0].triangleCount());
    EXPECT_EQ(read->meshes[0].primitives[0].normals.size(), read->meshes[0].primitives[0].positions.size());
    const bool colors = to == BakeTo::kVertex || to == BakeTo::kFace;
    EXPECT_EQ(read->meshes[0].primitives[0].colors.empty(), !colors);
    EXPECT_EQ(read->images.size(), colors ? 0u : 1u);
    EXPECT_GT(psnrOf(*baked, "base_color"), 15);
  }
}

TEST(BakeProductTest, AllChannelsArePackedAsGltfWantsThem) {
  const std::vector<std::string> channels = {"base_color", "alpha",    "metallic", "roughness",
                                             "occlusion",  "emissive", "normal",   "clearcoat_normal",
                                             "anisotropy"};
  Asset asset = sphere();
  asset.materials[0].alpha_mode = AlphaMode::kBlend;
  // Textures in every slot, so that kernels have something to take the place of.
  asset.images.push_back(std::make_shared<Image>(testing::patternImage(16, true)));
  Texture texture;
  texture.image = 0;
  asset.textures.push_back(texture);
  asset.materials[0].base_color.texture = 0;
  for (const char* name :
       {"metallic", "roughness", "occlusion", "emissive", "normal", "clearcoat_normal", "anisotropy"}) {
    asset.materials[0].slots[slotOf(name)].texture.texture = 0;
    asset.materials[0].slots[slotOf(name)].factor = Vec3f::Ones();
  }
  const LoadedProduct product = productOf(asset, channels);
  for (const BakeTo to : {BakeTo::kAtlas, BakeTo::kUv}) {
    const auto baked = bakeProduct(product, jobOf(to, 512));
    ASSERT_TRUE(baked) << baked.error().message;
    std::set<std::string> names;
    for (const BakedFileImage& image : baked->images)
      names.insert(image.name);
    EXPECT_EQ(names, (std::set<std::string>{"base_color", "orm", "emissive", "normal", "clearcoat_normal",
                                            "anisotropy"}));
    const auto document = GltfDocument::open(baked->bytes, "baked.glb");
    ASSERT_TRUE(document);
    const GltfJson& material = document->list("materials")[0];
    EXPECT_EQ(material["alphaMode"], "BLEND");
    EXPECT_EQ(material["occlusionTexture"]["index"],
              material["pbrMetallicRoughness"]["metallicRoughnessTexture"]["index"]);
    EXPECT_EQ(material["extensions"]["KHR_materials_emissive_strength"]["emissiveStrength"], 3);
    if (to == BakeTo::kUv) continue;  // coordinates of a sphere from above overlap
    int directions = 0;
    for (const char* name : {"base_color", "alpha", "metallic", "roughness", "occlusion", "emissive"})
      EXPECT_GT(psnrOf(*baked, name), 35) << name;
    for (const ChannelQuality& quality : baked->evaluation->channels) {
      if (kMaterialSlots[std::min(slotOf(quality.name), kSlotCount - 1)].rule != SlotRule::kTangent) continue;
      ASSERT_TRUE(quality.angles) << quality.name;
      // Eight bits are 0.2 to 0.4 degrees; more where anisotropy is weak.
      EXPECT_LT(quality.angles->mean_deg, quality.name == "anisotropy" ? 1.5 : 0.8) << quality.name;
      ++directions;
    }
    EXPECT_EQ(directions, 3);
    EXPECT_GT(psnrOf(*baked, "anisotropy"), 35);
    EXPECT_EQ(material["extensions"]["KHR_materials_anisotropy"]["anisotropyStrength"], 1);
  }
}

TEST(BakeProductTest, EveryFormatIsRead) {
  const LoadedProduct product = productOf(sphere());
  for (const BakeFormat format : {BakeFormat::kPng, BakeFormat::kJpeg, BakeFormat::kWebp}) {
    BakeJob job = jobOf(BakeTo::kAtlas, 256);
    job.format = format;
    const auto baked = bakeProduct(product, job);
    ASSERT_TRUE(baked) << baked.error().message;
    EXPECT_GT(psnrOf(*baked, "base_color"), 30);
    EXPECT_EQ(baked->images[0].mime_type,
              "image/" + std::string(kBakeFormatNames[static_cast<std::size_t>(format)]));
  }
}

TEST(BakeProductTest, SizesFollowTheContent) {
  const auto smooth = bakeProduct(productOf(sphere(), {"base_color"}, 30), jobOf(BakeTo::kAtlas, 0));
  ASSERT_TRUE(smooth) << smooth.error().message;
  EXPECT_GE(psnrOf(*smooth, "base_color"), kBakePsnr - 1.5);
  EXPECT_LE(smooth->width, 1024);
}

TEST(BakeProductTest, EdgesAreCutUntilTheBoundHolds) {
  const LoadedProduct product = productOf(sphere(2));
  BakeJob job = jobOf(BakeTo::kVertex);
  const auto plain = bakeProduct(product, job);
  ASSERT_TRUE(plain) << plain.error().message;
  job.max_error = 4;
  const auto finer = bakeProduct(product, job);
  ASSERT_TRUE(finer) << finer.error().message;
  EXPECT_GT(finer->faces, 2 * plain->faces);
  EXPECT_GT(psnrOf(*finer, "base_color"), psnrOf(*plain, "base_color") + 5);
  // Bounds hold in the middle of edges and faces; elsewhere errors are of that size.
  EXPECT_LT(finer->evaluation->surface_max_error, 4 * job.max_error / 255);
  job.max_faces = 2 * plain->faces;
  const auto limited = bakeProduct(product, job);
  ASSERT_TRUE(limited);
  EXPECT_LE(limited->faces, job.max_faces);
  ASSERT_EQ(limited->notices.size(), 1u);
  EXPECT_EQ(limited->notices[0].code, "error_bound");
  EXPECT_NE(limited->notices[0].message.find("4 levels"), std::string::npos);
}

TEST(BakeProductTest, TheSameBytesOnAnyNumberOfThreads) {
  const LoadedProduct product = productOf(sphere(2), {"base_color", "roughness"});
  std::vector<std::uint8_t> first;
  for (const int threads : {1, 4}) {
    setThreadCount(threads);
    const auto baked = bakeProduct(product, jobOf(BakeTo::kAtlas, 128));
    ASSERT_TRUE(baked);
    if (first.empty()) first = baked->bytes;
    EXPECT_EQ(baked->bytes, first);
  }
  setThreadCount(0);
}

/// Peak of this process's memory since the last call, in bytes.
std::size_t peakSinceLastCall() {
  std::size_t peak = 0;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) peak = 1024 * std::stoul(line.substr(6));
  }
  std::ofstream("/proc/self/clear_refs") << "5";
  return peak;
}

TEST(BakeProductTest, MemoryStaysBelowTwiceTheImages) {
  if (testing::kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  const LoadedProduct product = productOf(sphere(2), {"base_color"}, 20);
  constexpr int kSide = 4096;
  constexpr double kImageBytes = 3.0 * kSide * kSide, kBeside = 100e6;
  BakeJob job = jobOf(BakeTo::kAtlas, kSide);
  job.supersampling = 1;
  job.evaluate = false;  // whoever reads the file again has its images in memory
  peakSinceLastCall();
  const std::size_t before = residentBytes();
  const auto baked = bakeProduct(product, job);
  const std::size_t peak = peakSinceLastCall();
  ASSERT_TRUE(baked) << baked.error().message;
  EXPECT_LT(static_cast<double>(peak - before), 2 * kImageBytes + kBeside);
  RecordProperty("megabytes", static_cast<int>((peak - before) / 1'000'000));
}

TEST(BakeProductTest, WhatDoesNotFitIsRefusedBeforeItBegins) {
  const LoadedProduct product = productOf(sphere(2));
  setMemoryBudget(residentBytes() + 400'000'000);
  const auto refused = bakeProduct(product, jobOf(BakeTo::kAtlas, 16384));
  setMemoryBudget(0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::kMemoryLimit);
  EXPECT_FALSE(bakeProduct(product, jobOf(BakeTo::kAtlas, 16385)));
  const auto tiny = bakeProduct(product, jobOf(BakeTo::kAtlas, 2));
  ASSERT_FALSE(tiny);
  EXPECT_EQ(tiny.error().kind, ErrorKind::kUsage);
}

TEST(BakeProductTest, UsdzFollowsTheRules) {
  const LoadedProduct product = productOf(sphere(2), {"base_color", "roughness"});
  const auto baked = bakeProduct(product, jobOf(BakeTo::kAtlas, 64));
  ASSERT_TRUE(baked);
  auto usdz = encodeUsdz(baked->bytes);
  ASSERT_TRUE(usdz) << usdz.error().message;
  EXPECT_EQ(usdz->meshes, 1u);
  EXPECT_EQ(checkUsdz(usdz->bytes), "");
  // The check is checked: data that begin elsewhere, a compressed entry, a missing image, a cut file.
  std::vector<std::uint8_t> moved = usdz->bytes;
  moved.insert(moved.begin() + 30, std::uint8_t{'x'});
  moved[26] = static_cast<std::uint8_t>(moved[26] + 1);
  EXPECT_NE(checkUsdz(moved).find("64"), std::string::npos);
  std::vector<std::uint8_t> deflated = usdz->bytes;
  deflated[8] = 8;
  EXPECT_NE(checkUsdz(deflated).find("compressed"), std::string::npos);
  std::string text(usdz->bytes.begin(), usdz->bytes.end());
  text.replace(text.find("@textures/image_0") + 1, 8, "texturez");
  EXPECT_NE(checkUsdz({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}), "");
  EXPECT_NE(checkUsdz(std::span(usdz->bytes).first(usdz->bytes.size() / 2)), "");
}

TEST(BakeProductTest, PlyAndKernelsAreReadByOthers) {
  const LoadedProduct product = productOf(sphere(2), {"base_color", "normal"});
  const std::vector<std::uint8_t> ply = encodePly(product);
  const std::string header(ply.begin(), ply.begin() + 400);
  EXPECT_TRUE(header.starts_with("ply\nformat binary_little_endian 1.0\n"));
  const std::string json = kernelJson(product.product);
  for (const char* field : {"\"triangle\"", "\"barycentric\"", "\"position\"", "\"axis\"", "\"anisotropy\"",
                            "\"channel_base_color\"", "\"mean_base_color\"", "\"channel_normal\""})
    EXPECT_NE(json.find(field), std::string::npos) << field;
  EXPECT_GT(encodeKernelArrays(product.product).size(), 1000u);
}

}  // namespace
}  // namespace heatskin
