// Whole materials on the command line: fit --channels, eval, query --channels, render --channel.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "heatskin/io/glb_writer.h"
#include "heatskin/io/image.h"
#include "heatskin/io/table_file.h"

#include "support/products.h"
#include "support/run_process.h"
#include "support/temporary_folder.h"

namespace heatskin::testing {
namespace {

using nlohmann::json;

/// A torus whose material has a base colour with holes and a picture for occlusion, roughness and metalness.
Asset paintedTorus() {
  Asset asset = assetOf(torus(24, 12));
  Primitive& primitive = asset.meshes[0].primitives[0];
  std::vector<Vec2f>& uvs = primitive.uv_sets.emplace_back();
  for (const Vec3& p : primitive.positions)
    uvs.push_back(Vec2f(static_cast<float>(0.5 + 0.2 * p.x()), static_cast<float>(0.5 + 0.2 * p.y())));
  for (int picture = 0; picture < 2; ++picture) {
    Image image;
    image.width = image.height = 16;
    for (int y = 0; y < 16; ++y) {
      for (int x = 0; x < 16; ++x) {
        const int hole = picture == 0 && x < 5 ? 0 : 255;
        for (const int value : {15 * x, 15 * y, x > y ? 255 : 0, hole})
          image.rgba.push_back(static_cast<std::uint8_t>(value));
      }
    }
    asset.images.push_back(std::make_shared<const Image>(std::move(image)));
    asset.textures.push_back({picture});
  }
  Material& material = asset.materials.emplace_back();
  material.base_color.texture = 0;
  material.alpha_mode = AlphaMode::kMask;
  material.slots = standardSlots();
  for (const char* channel : {"metallic", "roughness", "occlusion"})
    material.slots[slotOf(channel)].texture.texture = 1;
  primitive.material = static_cast<int>(asset.materials.size()) - 1;
  return asset;
}

class ChannelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    asset_ = path("torus.glb");
    ASSERT_TRUE(writeGlb(asset_, paintedTorus()));
  }

  ProcessOutcome fit(const std::string& out, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"fit", asset_, "-o", path(out), "--preset", "draft", "--steps", "60",
                               "--kernels", "400", "--json", path(out + ".json")});
    return runHeatskin(more);
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  json read(const std::string& name) const {
    std::ifstream file(path(name));
    return json::parse(file);
  }
  static std::vector<std::string> keys(const json& object) {
    std::vector<std::string> names;
    for (const auto& item : object.items())
      names.push_back(item.key());
    std::sort(names.begin(), names.end());
    return names;
  }

  TemporaryFolder folder_;
  std::string asset_;
};

TEST_F(ChannelsTest, FitTakesWhatTheAssetHas) {
  const auto outcome = fit("a.glb");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json fitted = read("a.glb.json");
  EXPECT_EQ(keys(fitted["channels"]),
            (std::vector<std::string>{"alpha", "base_color", "metallic", "occlusion", "roughness"}));
  for (const auto& [name, figures] : fitted["channels"].items())
    EXPECT_GT(figures["psnr"].get<double>(), 8) << name;
  EXPECT_GT(fitted["channels"]["alpha"]["iou"].get<double>(), 0.8);
  EXPECT_FALSE(fitted["channels"]["roughness"].contains("iou"));
  const auto dropped = fitted["dropped"].get<std::vector<std::string>>();
  for (const char* word : {"metallicRoughnessTexture", "occlusionTexture"})
    EXPECT_NE(std::find(dropped.begin(), dropped.end(), word), dropped.end()) << word;
  EXPECT_NE(outcome.out.find("roughness"), std::string::npos) << "people see it, too";
  EXPECT_NE(outcome.out.find("IoU"), std::string::npos);

  const auto evaluated = runHeatskin({"eval", path("a.glb"), "--reference", asset_, "--json", path("e.json"),
                                      "--report", path("report"), "--samples", "5000"});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_EQ(keys(read("e.json")["channels"]), keys(fitted["channels"]));
  std::ifstream page(path("report/report.html"));
  const std::string html((std::istreambuf_iterator<char>(page)), {});
  EXPECT_NE(html.find("metallic"), std::string::npos);
}

TEST_F(ChannelsTest, NamesChooseAndWrongOnesAreRefused) {
  ASSERT_EQ(fit("b.glb", {"--channels", "roughness,base_color"}).exit_code, 0);
  EXPECT_EQ(keys(read("b.glb.json")["channels"]), (std::vector<std::string>{"base_color", "roughness"}));
  ASSERT_EQ(fit("c.glb", {"--channels", "base_color"}).exit_code, 0);
  EXPECT_EQ(keys(read("c.glb.json")["channels"]), (std::vector<std::string>{"base_color"}));
  const auto refused = [&](const std::string& names, int code, const std::string& part) {
    const auto outcome = fit("no.glb", {"--channels", names});
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(path("no.glb")));
  };
  refused("base_color,chrome", 2, "chrome");
  refused("roughness", 2, "base_color");
  refused("base_color,clearcoat", 3, "clearcoat");
}

TEST_F(ChannelsTest, TheSameBytesWithAnyNumberOfThreads) {
  ASSERT_EQ(fit("one.glb", {"--threads", "1"}).exit_code, 0);
  ASSERT_EQ(fit("two.glb", {"--threads", "2"}).exit_code, 0);
  EXPECT_EQ(folder_.read("one.glb"), folder_.read("two.glb"));
}

TEST_F(ChannelsTest, QueryPrintsAllOfThem) {
  ASSERT_EQ(fit("q.glb", {"--no-eval"}).exit_code, 0);
  const std::string points = folder_.write("p.csv", "face,b0,b1,b2\n0,0.2,0.3,0.5\n40,0.2,0.3,0.5\n");
  const auto all = runHeatskin({"query", path("q.glb"), "--points", points, "--channels", "--coverage"});
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(all.out.substr(0, all.out.find('\n')), "r,g,b,alpha,metallic,roughness,occlusion,coverage");
  const auto colors = runHeatskin({"query", path("q.glb"), "--points", points});
  EXPECT_EQ(colors.out.substr(0, colors.out.find('\n')), "r,g,b");
  // The first three columns are the same.
  const auto row = [](const std::string& text) { return text.substr(text.find('\n') + 1); };
  const std::string three = row(colors.out).substr(0, row(colors.out).find('\n'));
  EXPECT_EQ(row(all.out).substr(0, three.size()), three);
}

TEST_F(ChannelsTest, RenderDrawsOneOfAssetAndProduct) {
  ASSERT_EQ(fit("r.glb", {"--no-eval"}).exit_code, 0);
  for (const std::string& file : {asset_, path("r.glb")}) {
    const auto outcome = runHeatskin(
        {"render", file, "-o", path("r.png"), "--channel", "metallic", "--size", "64", "--aa", "1"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto picture = readImage(path("r.png"));
    ASSERT_TRUE(picture);
    // Grey, and not all of one grey; the background is bluish.
    int least = 255, most = 0, grey = 0;
    for (int y = 0; y < 64; ++y) {
      for (int x = 0; x < 64; ++x) {
        const std::uint8_t* texel = picture->texel(x, y);
        if (texel[0] != texel[1] || texel[1] != texel[2]) continue;
        ++grey;
        least = std::min(least, int{texel[0]});
        most = std::max(most, int{texel[0]});
      }
    }
    EXPECT_GT(grey, 300);
    EXPECT_GT(most - least, 100);
  }
  const auto wrong = runHeatskin({"render", asset_, "-o", path("r.png"), "--channel", "chrome"});
  EXPECT_EQ(wrong.exit_code, 2) << wrong.err;
  const auto lit =
      runHeatskin({"render", asset_, "-o", path("r.png"), "--channel", "alpha", "--mode", "shaded"});
  EXPECT_EQ(lit.exit_code, 2) << lit.err;
}

}  // namespace
}  // namespace heatskin::testing
