// Normal maps end to end: fitted, measured, dropped from the product, and lit alike.

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "heatskin/io/glb_writer.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/io/image.h"

#include "support/run_process.h"
#include "support/temporary_folder.h"

namespace heatskin::testing {
namespace {

using nlohmann::json;

/// A wavy sheet whose normal map adds smooth bumps, tilted by up to 25 degrees.
Asset bumpySheet() {
  Asset asset;
  asset.format = "glb";
  constexpr int kTexels = 256;
  Image normals, colors;
  normals.width = normals.height = colors.width = colors.height = kTexels;
  for (int j = 0; j < kTexels; ++j) {
    for (int i = 0; i < kTexels; ++i) {
      const double u = (i + 0.5) / kTexels, v = (j + 0.5) / kTexels;
      const Vec3 n =
          Vec3(0.45 * std::sin(14 * u) * std::cos(9 * v), 0.35 * std::cos(11 * u + 3 * v), 1).normalized();
      for (int c = 0; c < 3; ++c)
        normals.rgba.push_back(static_cast<std::uint8_t>(std::lround(127.5 * (n[c] + 1))));
      normals.rgba.push_back(255);
      for (const double value : {0.3 + 0.3 * u, 0.5, 0.4 + 0.2 * v, 1.0})
        colors.rgba.push_back(static_cast<std::uint8_t>(std::lround(255 * value)));
    }
  }
  asset.images = {std::make_shared<const Image>(std::move(colors)),
                  std::make_shared<const Image>(std::move(normals))};
  asset.textures = {{0}, {1}};
  Material material;
  material.slots = standardSlots();
  material.base_color.texture = 0;
  material.slots[slotOf("normal")].texture.texture = 1;
  material.slots[slotOf("metallic")].factor.setZero();
  material.slots[slotOf("roughness")].factor.setConstant(0.4f);
  asset.materials.push_back(material);
  Primitive primitive;
  primitive.uv_sets.resize(1);
  primitive.material = 0;
  constexpr std::uint32_t kSide = 12;
  for (std::uint32_t j = 0; j <= kSide; ++j) {
    for (std::uint32_t i = 0; i <= kSide; ++i) {
      const double x = static_cast<double>(i) / kSide, y = static_cast<double>(j) / kSide;
      primitive.positions.push_back({x, y, 0.1 * std::sin(4 * x)});
      primitive.normals.push_back(Vec3(-0.4 * std::cos(4 * x), 0, 1).normalized().cast<float>());
      primitive.uv_sets[0].push_back(Vec2(x, 1 - y).cast<float>());
    }
  }
  for (std::uint32_t j = 0; j < kSide; ++j) {
    for (std::uint32_t i = 0; i < kSide; ++i) {
      const std::uint32_t a = j * (kSide + 1) + i, b = a + 1, c = a + kSide + 1, d = c + 1;
      for (const std::uint32_t corner : {a, b, d, a, d, c})
        primitive.triangles.push_back(corner);
    }
  }
  asset.meshes.push_back({"sheet", {primitive}});
  asset.instances.push_back({"sheet", 0, Affine3::Identity()});
  return asset;
}

class NormalMapsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto glb = encodeGlb(bumpySheet());
    ASSERT_TRUE(glb) << glb.error().message;
    asset_ = folder_.write("sheet.glb", {reinterpret_cast<const char*>(glb->data()), glb->size()});
  }

  /// Fits with a method and returns the figures.
  json fit(const std::string& method, const std::string& product) {
    const auto ran = runHeatskin({"fit", asset_, "-o", product, "--method", method, "--kernels", "600",
                                  "--steps", "150", "--seed", "3", "--json", folder_ / "fit.json"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(folder_.read("fit.json"), nullptr, false);
  }

  Image picture(const std::string& file) {
    const std::string png = folder_ / "picture.png";
    const auto ran =
        runHeatskin({"render", file, "-o", png, "--mode", "pbr", "--size", "128", "--azimuth", "10"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    auto image = readImage(png);
    EXPECT_TRUE(image);
    return image ? std::move(*image) : Image{};
  }

  static double levels(const Image& a, const Image& b) {
    double sum = 0;
    EXPECT_EQ(a.rgba.size(), b.rgba.size());
    for (std::size_t i = 0; i < std::min(a.rgba.size(), b.rgba.size()); ++i)
      sum += std::pow(static_cast<double>(a.rgba[i]) - static_cast<double>(b.rgba[i]), 2);
    return std::sqrt(sum / static_cast<double>(a.rgba.size()));
  }

  TemporaryFolder folder_;
  std::string asset_;
};

TEST_F(NormalMapsTest, AreFittedAsSlopes) {
  const std::string product = folder_ / "fit.glb";
  const json figures = fit("local", product);
  ASSERT_TRUE(figures.contains("channels")) << figures;
  ASSERT_TRUE(figures["channels"].contains("normal")) << figures["channels"];
  EXPECT_LT(figures["channels"]["normal"]["angle_mean_deg"].get<double>(), 2);
  EXPECT_GE(figures["channels"]["normal"]["angle_p95_deg"].get<double>(),
            figures["channels"]["normal"]["angle_mean_deg"].get<double>());

  // The product has slopes instead of the texture, and its vertices' normals.
  const std::string bytes = folder_.read("fit.glb");
  EXPECT_EQ(bytes.find("normalTexture"), std::string::npos);
  EXPECT_NE(bytes.find("\"kind\":\"tangent\""), std::string::npos);

  // Lit, it looks like the asset; without the normals it would not.
  const Image truth = picture(asset_), fitted = picture(product);
  Asset smooth = bumpySheet();
  smooth.materials[0].slots[slotOf("normal")].texture.texture = -1;
  const auto glb = encodeGlb(smooth);
  ASSERT_TRUE(glb);
  const Image flat =
      picture(folder_.write("flat.glb", {reinterpret_cast<const char*>(glb->data()), glb->size()}));
  EXPECT_LT(levels(truth, fitted), 0.3 * levels(truth, flat));
}

TEST_F(NormalMapsTest, AreFittedAsResidualsWithOtherMethods) {
  const std::string product = folder_ / "thermal.glb";
  const json figures = fit("thermal", product);
  ASSERT_TRUE(figures["channels"].contains("normal")) << figures["channels"];
  EXPECT_LT(figures["channels"]["normal"]["angle_mean_deg"].get<double>(), 5);
  EXPECT_NE(folder_.read("thermal.glb").find("\"object_normal\""), std::string::npos);
}

TEST_F(NormalMapsTest, CanBeLeftOut) {
  const std::string product = folder_ / "plain.glb";
  const auto ran = runHeatskin({"fit", asset_, "-o", product, "--channels", "base_color", "--kernels", "200",
                                "--steps", "20", "--json", folder_ / "fit.json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(folder_.read("plain.glb").find("normalTexture"), std::string::npos);
}

}  // namespace
}  // namespace heatskin::testing
