#include "heatskin/study/admission.h"

#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/demo/pumpkin.h"
#include "heatskin/io/asset_surface.h"

namespace heatskin::study {
namespace {

/// Boxes around the origin, one inside the other, as one asset with vertex colours.
Asset boxes(int count) {
  Asset asset;
  Primitive primitive;
  for (int b = 0; b < count; ++b) {
    const double r = 1 + b;
    const auto first = static_cast<std::uint32_t>(primitive.positions.size());
    for (int corner = 0; corner < 8; ++corner) {
      primitive.positions.push_back({(corner & 1) != 0 ? r : -r, (corner & 2) != 0 ? 1.1 * r : -1.1 * r,
                                     (corner & 4) != 0 ? 1.3 * r : -1.3 * r});
      primitive.colors.push_back({0.1f * static_cast<float>(corner), 0, 0, 1});
    }
    for (const std::uint32_t v : {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                  2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5})
      primitive.triangles.push_back(first + v);
  }
  Mesh mesh;
  mesh.primitives.push_back(primitive);
  asset.meshes.push_back(mesh);
  Instance instance;
  instance.mesh = 0;
  asset.instances.push_back(instance);
  return asset;
}

Admission admissionOf(const Asset& asset, const AdmissionOptions& options = {}) {
  const auto surface = buildSurface(asset);
  EXPECT_TRUE(surface.ok());
  return checkAdmission(asset, *surface, options);
}

// A ray through a box meets two faces, whatever edges and corners lie on it.
TEST(MostRayHits, TwoForEachBox) {
  for (int count = 1; count <= 3; ++count) {
    const auto surface = buildSurface(boxes(count));
    ASSERT_TRUE(surface.ok());
    EXPECT_EQ(mostRayHits(*surface), 2 * count);
  }
}

TEST(Admission, TakesACleanTexturedMesh) {
  PumpkinOptions small;
  small.resolution = 600;
  small.texture_size = 256;
  const Admission admission = admissionOf(makePumpkin(small));
  EXPECT_TRUE(admission.admitted()) << admission.text();
  EXPECT_TRUE(admissionOf(boxes(1)).admitted());
}

TEST(Admission, NamesEveryReason) {
  EXPECT_EQ(admissionOf(boxes(2)).text(), "2 components");
  EXPECT_EQ(admissionOf(boxes(1), {.max_vertices = 7}).text(), "8 vertices, more than 7");
  EXPECT_EQ(admissionOf(boxes(1), {.max_hits = 1}).text(), "a ray meets 2 faces, more than 1");
  Asset plain = boxes(1);
  plain.meshes[0].primitives[0].colors.clear();
  EXPECT_EQ(admissionOf(plain).text(), "not textured");
}

TEST(Admission, RefusesEdgesAndVerticesThatAreNotManifold) {
  // A fin on an edge of the box.
  Asset fin = boxes(1);
  Primitive& p = fin.meshes[0].primitives[0];
  p.positions.push_back({3, 3, 3});
  p.colors.push_back({0, 0, 0, 1});
  p.triangles.insert(p.triangles.end(), {0, 1, 8});
  EXPECT_NE(admissionOf(fin).text().find("edge with more than two faces"), std::string::npos);
  // Two boxes that touch in a corner.
  Asset touching = boxes(1);
  Primitive& q = touching.meshes[0].primitives[0];
  const std::vector<Vec3> corners = q.positions;
  const std::vector<std::uint32_t> triangles = q.triangles;
  for (const Vec3& x : corners) {
    q.positions.push_back(x + 2 * corners[7]);
    q.colors.push_back({0, 0, 0, 1});
  }
  for (const std::uint32_t v : triangles)
    q.triangles.push_back(v + 8);
  EXPECT_NE(admissionOf(touching).text().find("vertex with several fans"), std::string::npos);
}

}  // namespace
}  // namespace heatskin::study
