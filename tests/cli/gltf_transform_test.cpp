// Products in other tools: glTF-Transform with our extension (packages/gltf-transform), gltfpack and attach.
// Packages come from npm.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "heatskin/io/asset_surface.h"
#include "heatskin/pipeline/attach_product.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/product/product.h"
#include "heatskin/surface/closest_point.h"
#include "heatskin/surface/sampling.h"

#include "support/paths.h"
#include "support/products.h"
#include "support/run_process.h"
#include "support/temporary_folder.h"

namespace heatskin::testing {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// Differences of colours in 8-bit levels.
struct Difference {
  double mean = 0, p99 = 0;
};

class OtherToolsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto installed = runProcess(
        {"/bin/bash", inSource("scripts/get_npm_packages.sh"), inSource("tests/gltf_transform"), packages_});
    if (installed.exit_code == 77 || installed.timed_out) GTEST_SKIP() << installed.out;
    ASSERT_EQ(installed.exit_code, 0) << installed.out << installed.err;
    // Packages are found from where a script is: ours moves in with the others, under a name of this process.
    package_ = folder_.path() / "package";
    fs::create_directories(package_ / "node_modules");
    for (const auto& entry : fs::directory_iterator(fs::path(packages_) / "node_modules"))
      fs::create_directory_symlink(entry.path(), package_ / "node_modules" / entry.path().filename());
    fs::copy(inSource("packages/gltf-transform"), package_ / "node_modules" / "heatskin-gltf-transform",
             fs::copy_options::recursive);
  }

  std::string makeProduct(const std::string& name, const Asset& asset, const ProductFile& file = {}) {
    const auto surface = buildSurface(asset);
    EXPECT_TRUE(surface);
    const auto glb = encodeProduct(asset, *surface, randomKernels(*surface, 300), {},
                                   {"heatskin", "draft", 0, 5}, {}, file);
    EXPECT_TRUE(glb) << glb.error().message;
    return folder_.write(name + ".glb", {reinterpret_cast<const char*>(glb->data()), glb->size()});
  }

  /// What the script says about every function it ran.
  std::vector<json> roundTrips(const std::string& product, const std::string& out) {
    const auto outcome =
        runProcess({"/usr/bin/env", "node", "--preserve-symlinks",
                    (package_ / "node_modules/heatskin-gltf-transform/test/round_trips.js").string(), product,
                    (folder_.path() / out).string()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::vector<json> lines;
    std::istringstream stream(outcome.out);
    for (std::string line; std::getline(stream, line);) {
      if (line.starts_with("{")) lines.push_back(json::parse(line));
    }
    EXPECT_GT(lines.size(), 20u) << outcome.out << outcome.err;
    return lines;
  }

  /// Of two products of one shape, which may be moved: asked at the same places of their normalised surfaces.
  static Difference difference(const std::string& a, const std::string& b) {
    const auto before = openProduct(fs::path(a)), after = openProduct(fs::path(b));
    EXPECT_TRUE(before) << before.error().message;
    EXPECT_TRUE(after) << after.error().message;
    if (!before || !after) return {1e9, 1e9};
    const Surface& surface = before->texture.surface();
    // Away from edges: the nearest point of a rounded mesh must not be on another face, or another sheet.
    std::vector<SurfacePoint> points = sampleSurface(surface, 4000, 3), there;
    const ClosestPointQuery nearest(after->texture.surface());
    for (SurfacePoint& p : points) {
      p.barycentric = 0.8 * p.barycentric + Vec3::Constant(0.2 / 3);
      there.push_back(nearest(surface.position(p)).point);
    }
    std::vector<Vec3f> old_colors(points.size()), new_colors(points.size());
    before->texture.colors(points, old_colors);
    after->texture.colors(there, new_colors);
    std::vector<double> largest;
    Difference out;
    for (std::size_t i = 0; i < points.size(); ++i) {
      largest.push_back(255 * static_cast<double>((old_colors[i] - new_colors[i]).cwiseAbs().maxCoeff()));
      out.mean += largest.back() / static_cast<double>(points.size());
    }
    std::sort(largest.begin(), largest.end());
    out.p99 = largest[largest.size() * 99 / 100];
    return out;
  }

  const std::string packages_ = inBuild("gltf_transform");
  TemporaryFolder folder_;
  fs::path package_;
};

/// Functions that move no vertex.
const std::set<std::string> kExact = {"copy",        "clone",  "inspect", "dedup",    "prune",
                                      "dedup_prune", "weld",   "unweld",  "resample", "resize",
                                      "join",        "center", "flatten", "reorder",  "swapped"};

TEST_F(OtherToolsTest, GltfTransformKeepsKernelsOrSaysThatTheyAreGone) {
  for (const auto& [name, asset] : {std::pair<std::string, Asset>{"sphere", assetOf(bumpySphere(3, 0.2, 1))},
                                    {"materials", manyMaterials()},
                                    {"instances", mirroredInstances()}}) {
    const std::string product = makeProduct(name, asset);
    for (const json& line : roundTrips(product, name)) {
      const std::string what = name + ", " + line["name"].get<std::string>() + ": " + line["warnings"].dump();
      if (line["name"] == "unaware") continue;
      ASSERT_EQ(line["there"].get<bool>(), line["kept"].get<bool>()) << what;
      if (!line["kept"].get<bool>()) {
        const bool said = std::any_of(line["warnings"].begin(), line["warnings"].end(), [](const json& text) {
          return text.get<std::string>().find("HSK_kernel_texture") != std::string::npos;
        });
        EXPECT_TRUE(said) << what;
        if (line["file"].is_string()) {
          EXPECT_FALSE(openProduct(fs::path(line["file"].get<std::string>()))) << what;
        }
        continue;
      }
      const std::string file = line["file"];
      const Difference once = difference(product, file);
      const Difference twice = difference(product, file.substr(0, file.size() - 4) + "_again.glb");
      // Kernels on the same positions: angles of rotated corners are rounded to 14 bits, 0.005 degrees.
      const bool exact = kExact.contains(line["name"]);
      EXPECT_LT(once.p99, exact ? 0.5 : 8) << what;
      EXPECT_LT(once.mean, exact ? 0.1 : 0.7) << what;
      EXPECT_LT(twice.p99, exact ? 0.5 : 8) << what;
    }
  }
}

TEST_F(OtherToolsTest, ExtrasSurviveProgramsThatDropExtensions) {
  ProductFile file;
  file.extras = true;
  const std::string product = makeProduct("extras", assetOf(bumpySphere(3, 0.2, 1)), file);
  for (const json& line : roundTrips(product, "extras")) {
    if (line["name"] != "unaware") continue;
    EXPECT_LT(difference(product, line["file"]).p99, 1e-6);
  }
  const std::string plain = makeProduct("plain", assetOf(bumpySphere(3, 0.2, 1)));
  for (const json& line : roundTrips(plain, "plain")) {
    if (line["name"] != "unaware") continue;
    EXPECT_FALSE(openProduct(fs::path(line["file"].get<std::string>())));
  }
}

TEST_F(OtherToolsTest, AttachPutsKernelsBackAfterGltfpack) {
  ProductFile file;
  file.extras = true;
  for (const auto& [name, asset] : {std::pair<std::string, Asset>{"sphere", assetOf(bumpySphere(3, 0.2, 1))},
                                    {"materials", manyMaterials()},
                                    {"instances", mirroredInstances()}}) {
    const std::string product = makeProduct(name, asset, file);
    const auto original = openProduct(fs::path(product));
    ASSERT_TRUE(original) << original.error().message;
    for (const std::vector<std::string>& flags :
         {std::vector<std::string>{}, {"-cc"}, {"-noq"}, {"-ke", "-kn"}, {"-vp", "12"}}) {
      const std::string packed = (folder_.path() / "packed.glb").string();
      std::vector<std::string> command = {
          "/usr/bin/env", "node", packages_ + "/node_modules/gltfpack/cli.js", "-i", product, "-o", packed};
      command.insert(command.end(), flags.begin(), flags.end());
      const auto outcome = runProcess(command);
      ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
      const std::string what = name + (flags.empty() ? "" : ", " + flags[0]);
      auto model = loadAsset(packed);
      ASSERT_TRUE(model) << model.error().message;
      if (isProduct(*model)) {
        const auto refused = openProduct(*model);
        ASSERT_FALSE(refused) << "gltfpack reorders triangles";
        EXPECT_EQ(refused.error().code, error_code::kOtherGeometry) << what;
      }
      const auto attached = attachKernels(*original, std::move(*model));
      ASSERT_TRUE(attached) << what << ": " << attached.error().message;
      EXPECT_LT(attached->mean_difference, 1) << what;
      const std::string out = folder_.write(
          "attached.glb", {reinterpret_cast<const char*>(attached->bytes.data()), attached->bytes.size()});
      EXPECT_LT(difference(product, out).mean, 1) << what;
    }
  }
}

}  // namespace
}  // namespace heatskin::testing
