// Our tangents against those of the npm package mikktspace: the code of the algorithm's author, in
// WebAssembly.

#include <cmath>
#include <cstring>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"
#include "heatskin/io/asset.h"

#include "support/assets.h"
#include "support/paths.h"
#include "support/run_process.h"
#include "support/tangent_corners.h"
#include "support/temporary_folder.h"

namespace heatskin::testing {
namespace {

using Corners = TangentCorners;
using Point = TangentPoint;

class MikkTSpaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto installed = runProcess(
        {"/bin/bash", inSource("scripts/get_npm_packages.sh"), inSource("tests/mikktspace"), packages_});
    if (installed.exit_code == 77 || installed.timed_out) GTEST_SKIP() << installed.out;
    ASSERT_EQ(installed.exit_code, 0) << installed.out << installed.err;
  }

  /// Tangents of the package for glTF: v is turned up, as its authors do.
  std::vector<Vec4f> theirs(const Corners& corners) {
    std::vector<float> values;
    for (const Vec3& p : corners.positions)
      values.insert(values.end(),
                    {static_cast<float>(p.x()), static_cast<float>(p.y()), static_cast<float>(p.z())});
    for (const Vec3f& n : corners.normals)
      values.insert(values.end(), {n.x(), n.y(), n.z()});
    for (const Vec2f& t : corners.uvs)
      values.insert(values.end(), {t.x(), 1 - t.y()});
    const std::string in = folder_.write(
        "corners", {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
    const std::string out = folder_ / "tangents";
    const auto ran =
        runProcess({"/usr/bin/env", "node", inSource("tests/mikktspace/tangents.js"), packages_, in, out});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const std::string bytes = folder_.read("tangents");
    std::vector<Vec4f> tangents(corners.positions.size());
    EXPECT_EQ(bytes.size(), tangents.size() * sizeof(Vec4f));
    if (bytes.size() == tangents.size() * sizeof(Vec4f))
      std::memcpy(tangents.data()->data(), bytes.data(), bytes.size());
    return tangents;
  }

  /// The part of corners whose tangents differ by more than `degrees` or have another sign.
  static double different(const std::vector<Vec4f>& a, const std::vector<Vec4f>& b, double degrees) {
    std::size_t count = 0;
    for (std::size_t c = 0; c < a.size(); ++c) {
      const double cosine = a[c].head<3>().cast<double>().normalized().dot(b[c].head<3>().cast<double>());
      if (!(cosine > std::cos(degrees * std::numbers::pi / 180)) || a[c].w() != b[c].w()) ++count;
    }
    return static_cast<double>(count) / static_cast<double>(a.size());
  }

  const std::string packages_ = inBuild("mikktspace");
  TemporaryFolder folder_;
};

TEST_F(MikkTSpaceTest, AgreesOnABumpyMirroredPatch) {
  const RandomStream random(3, 9);
  const Corners corners = gridOf(20, 20, [&](double x, double y) {
    const auto words = random.words(static_cast<std::uint64_t>(1000 * x + 100000 * y));
    const auto noise = [&](std::size_t i) { return static_cast<double>(unitFloat(words[i])) - 0.5; };
    const Vec3 position(2 * x - 1, y, 0.1 * noise(0));
    const Vec3 normal = Vec3(0.4 * noise(1), 0.4 * noise(2), 1).normalized();
    return Point(position, normal, Vec2(std::abs(position.x()) + 0.02 * noise(3), 1 - y + 0.02 * noise(0)));
  });
  const std::vector<Vec4f> ours = corners.tangents(), reference = theirs(corners);
  // Single precision against double: hundredths of a degree.
  EXPECT_EQ(different(ours, reference, 0.05), 0);
  // The check sees an error: angles not weighted would move most tangents; a single turned one is found.
  std::vector<Vec4f> planted = ours;
  planted[77].w() = -planted[77].w();
  EXPECT_GT(different(planted, reference, 0.05), 0);
}

TEST_F(MikkTSpaceTest, AgreesOnAssets) {
  HEATSKIN_REQUIRE_ASSETS();
  for (const char* name :
       {"pbr/normal_tangent_test.glb", "pbr/normal_tangent_mirror_test.glb", "fox.glb", "boombox.glb"}) {
    LoadOptions options;
    options.load_images = false;
    const auto asset = loadAsset(assetsFolder() / name, options);
    ASSERT_TRUE(asset) << asset.error().message;
    Corners corners;
    for (const Mesh& mesh : asset->meshes) {
      for (const Primitive& primitive : mesh.primitives) {
        if (primitive.uv_sets.empty()) continue;
        for (std::size_t c = 0; c < primitive.triangles.size(); ++c) {
          const std::uint32_t v = primitive.triangles[c];
          Vec3 normal;
          if (primitive.normals.empty()) {
            const std::size_t t = c / 3 * 3;
            const auto at = [&](std::size_t k) { return primitive.positions[primitive.triangles[t + k]]; };
            normal = (at(1) - at(0)).cross(at(2) - at(0)).normalized();
          } else {
            normal = primitive.normals[v].cast<double>();
          }
          corners.add(primitive.positions[v], normal, primitive.uv_sets[0][v].cast<double>());
        }
      }
    }
    const double part = different(corners.tangents(), theirs(corners), 0.5);
    // Slivers, where single precision decides about sense and direction.
    EXPECT_LT(part, 0.002) << name;
  }
}

}  // namespace
}  // namespace heatskin::testing
