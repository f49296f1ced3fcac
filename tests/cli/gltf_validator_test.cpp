// Products under the Khronos glTF validator (npm package gltf-validator).

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/glb_writer.h"
#include "heatskin/product/product.h"

#include "support/paths.h"
#include "support/products.h"
#include "support/run_process.h"
#include "support/temporary_folder.h"

namespace heatskin::testing {
namespace {

using nlohmann::json;

class ValidatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto installed = runProcess(
        {"/bin/bash", inSource("scripts/get_npm_packages.sh"), inSource("tests/gltf_validator"), packages_});
    if (installed.exit_code == 77 || installed.timed_out) GTEST_SKIP() << installed.out;
    ASSERT_EQ(installed.exit_code, 0) << installed.out << installed.err;
  }

  /// What the validator says about each file; one process, because starting it costs more than its work.
  std::vector<json> validate(const std::vector<std::vector<std::uint8_t>>& glbs) {
    std::vector<std::string> command = {"/usr/bin/env", "node", inSource("tests/gltf_validator/validate.js"),
                                        packages_};
    for (const auto& glb : glbs) {
      const std::string name = std::to_string(command.size()) + ".glb";
      command.push_back(folder_.write(name, {reinterpret_cast<const char*>(glb.data()), glb.size()}));
    }
    const auto outcome = runProcess(command);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::vector<json> reports;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);)
      reports.push_back(json::parse(line, nullptr, false));
    EXPECT_EQ(reports.size(), glbs.size());
    reports.resize(glbs.size());
    return reports;
  }

  /// Makes a product to be looked at by expectAllValid().
  void add(const std::string& name, const Asset& asset) {
    const auto surface = buildSurface(asset);
    ASSERT_TRUE(surface) << name;
    const auto glb =
        encodeProduct(asset, *surface, randomKernels(*surface, 200), {}, {"heatskin", "draft", 0, 5});
    ASSERT_TRUE(glb) << name << ": " << glb.error().message;
    names_.push_back(name);
    glbs_.push_back(*glb);
  }

  /// No error, no warning, and no remark but the expected ones.
  void expectAllValid() {
    const std::vector<json> reports = validate(glbs_);
    for (std::size_t i = 0; i < reports.size(); ++i) {
      const std::string& name = names_[i];
      ASSERT_TRUE(reports[i].is_object()) << name;
      EXPECT_EQ(reports[i]["errors"], 0) << name << ": " << reports[i];
      EXPECT_EQ(reports[i]["warnings"], 0) << name << ": " << reports[i];
      for (const std::string message : reports[i]["messages"])
        EXPECT_TRUE(isExpected(message)) << name << ": " << message;
    }
  }

  /// The validator does not know our extension and hence not that it uses a buffer view; texture coordinates
  /// are kept for baking although no texture is left.
  static bool isExpected(const std::string& message) {
    return message == "UNSUPPORTED_EXTENSION /extensionsUsed/0" ||
           message.starts_with("UNUSED_OBJECT /bufferViews/") ||
           (message.starts_with("UNUSED_OBJECT /meshes/") &&
            message.find("/attributes/TEXCOORD_") != std::string::npos);
  }

  const std::string packages_ = inBuild("gltf_validator");
  TemporaryFolder folder_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::uint8_t>> glbs_;
};

TEST_F(ValidatorTest, ProductsAreValid) {
  add("plain mesh", assetOf(bumpySphere(2, 0.2, 1)));
  add("many materials", manyMaterials());
  add("mirrored instances", mirroredInstances());

  Asset sheared = assetOf(cube(2));
  sheared.instances[0].asset_from_mesh.linear() << 1, 0.5, 0, 0, 1, 0.2, 0, 0, -1;
  add("sheared and mirrored", sheared);

  Soup far = icosphere(2);
  for (Vec3& p : far.positions)
    p += Vec3(1e6, -2e6, 5);
  add("far from the origin", assetOf(far));

  add("damaged mesh", assetOf(damagedSphere(2, 2)));
  expectAllValid();
}

TEST_F(ValidatorTest, ProductsOfFilesAreValid) {
  folder_.write("a.mtl", "newmtl a\nKd 1 0 0\nd 0.5\nnewmtl b\nKd 0 0 1\n");
  const std::string obj = folder_.write(
      "a.obj",
      "mtllib a.mtl\nv 0.1 0 0\nv 1 0.3 0\nv 1 1 0\nv 0 1 0.12345678901\nv .5 .5 1\nvt 0 0\nvt 1 0\nvt 1 1\n"
      "usemtl a\nf 4/1 3/2 2/3 1/1\nf 1/1 2/2 5/3\nf 2 3 5\nusemtl b\nf 3 4 5\nf 4 1 5\n");
  const std::string ply = folder_.write(
      "a.ply",
      "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
      "property uchar red\nproperty uchar green\nproperty uchar blue\n"
      "element face 3\nproperty list uchar int vertex_indices\nend_header\n"
      "0 0 0 255 0 0\n1 0 0 0 255 0\n1 1 0 0 0 255\n0 1 1 9 9 9\n3 0 1 2\n3 0 2 3\n3 0 3 1\n");
  for (const std::string& path : {obj, ply}) {
    const auto asset = loadAsset(path);
    ASSERT_TRUE(asset) << asset.error().message;
    add(path, *asset);
  }
  expectAllValid();
}

TEST_F(ValidatorTest, FindsPlantedErrors) {
  const auto glb = encodeGlb(assetOf(cube(1)));
  ASSERT_TRUE(glb);
  std::vector<std::uint8_t> bad = *glb;
  const std::string from = "\"POSITION\"", to = "\"POSITIOM\"";
  const auto at = std::search(bad.begin(), bad.end(), from.begin(), from.end());
  ASSERT_NE(at, bad.end());
  std::copy(to.begin(), to.end(), at);
  const std::vector<json> reports = validate({*glb, bad});
  EXPECT_EQ(reports[0]["errors"], 0);
  EXPECT_GT(reports[1]["errors"].get<int>(), 0);
}

}  // namespace
}  // namespace heatskin::testing
