#include "heatskin/surface/surface.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"

#include "support/assets.h"
#include "support/surface_checks.h"

namespace heatskin {
namespace {

using testing::checkSurface;
using testing::SurfaceArrays;
using Triangle = std::array<std::uint32_t, 3>;

const std::vector<Vec3> kTetrahedronPositions = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
const std::vector<Triangle> kTetrahedronFaces = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};

Surface build(const std::vector<Vec3>& positions, const std::vector<Triangle>& faces) {
  Result<Surface> surface = Surface::build(positions, faces);
  EXPECT_TRUE(surface) << (surface ? "" : surface.error().message);
  return std::move(*surface);
}

/// A parametric patch on an n x m grid, wrapped in u and / or v by welding.
template <class Map>
Surface grid(int n, int m, Map map) {
  std::vector<Vec3> positions;
  std::vector<Triangle> faces;
  for (int j = 0; j <= m; ++j) {
    for (int i = 0; i <= n; ++i)
      positions.push_back(map(static_cast<double>(i) / n, static_cast<double>(j) / m));
  }
  const auto at = [&](int i, int j) { return static_cast<std::uint32_t>(j * (n + 1) + i); };
  for (int j = 0; j < m; ++j) {
    for (int i = 0; i < n; ++i) {
      faces.push_back({at(i, j), at(i + 1, j), at(i + 1, j + 1)});
      faces.push_back({at(i, j), at(i + 1, j + 1), at(i, j + 1)});
    }
  }
  return build(positions, faces);
}

Vec3 circle(double turn, double radius, double z) {
  // Whole turns give exactly the same point, so that the seam welds.
  const double angle = 2 * std::numbers::pi * (turn - std::floor(turn));
  return {radius * std::cos(angle), radius * std::sin(angle), z};
}

TEST(Surface, TetrahedronHasTheCountsOfATetrahedron) {
  const Surface s = build(kTetrahedronPositions, kTetrahedronFaces);
  EXPECT_EQ(s.vertexCount(), 4u);
  EXPECT_EQ(s.faceCount(), 4u);
  EXPECT_EQ(s.componentCount(), 1u);
  EXPECT_TRUE(s.boundaryLoops().empty());
  EXPECT_TRUE(s.notices().empty());
  EXPECT_EQ(checkSurface(s), "");
}

TEST(Surface, NormalisationFollowsTheMethodAndGoesBack) {
  std::vector<Vec3> positions = kTetrahedronPositions;
  for (Vec3& x : positions)
    x = 3.0 * x + Vec3(10, -20, 30);
  const Surface s = build(positions, kTetrahedronFaces);
  Vec3 low = s.positions()[0], high = low, centroid = Vec3::Zero();
  double area = 0;
  for (std::uint32_t f = 0; f < s.faceCount(); ++f) {
    centroid += s.areas()[f] * s.position({f, {1.0 / 3, 1.0 / 3, 1.0 / 3}});
    area += s.areas()[f];
  }
  for (std::uint32_t v = 0; v < s.vertexCount(); ++v) {
    low = low.cwiseMin(s.positions()[v]);
    high = high.cwiseMax(s.positions()[v]);
    EXPECT_LT((s.assetFromSurface()(s.positions()[v]) - positions[v]).norm(), 1e-13 * 40);
  }
  EXPECT_NEAR((high - low).maxCoeff(), 2.0, 1e-14);
  EXPECT_LT((centroid / area).norm(), 1e-14);
  EXPECT_NEAR(area, s.totalArea(), 1e-14);
}

TEST(Surface, ExtremeUnitsGiveTheSameSurface) {
  const Surface plain = build(kTetrahedronPositions, kTetrahedronFaces);
  for (const double unit : {1e-300, 1e-25, 3e38, 1e300}) {
    std::vector<Vec3> positions = kTetrahedronPositions;
    for (Vec3& x : positions)
      x *= unit;
    const Surface s = build(positions, kTetrahedronFaces);
    ASSERT_EQ(s.vertexCount(), 4u) << unit;
    for (std::uint32_t v = 0; v < 4; ++v)
      EXPECT_LT((s.positions()[v] - plain.positions()[v]).norm(), 1e-13);
  }
  std::vector<Vec3> far = kTetrahedronPositions;  // float32 spacing at 1e9 is 64: the mesh would collapse
  for (Vec3& x : far)
    x += Vec3(1e9, 0, 0);
  EXPECT_EQ(build(far, kTetrahedronFaces).vertexCount(), 4u);
}

TEST(Surface, RefusesWhatHasNoArea) {
  const std::vector<Vec3> line = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}};
  const std::vector<Triangle> one = {{0, 1, 2}};
  const Result<Surface> collinear = Surface::build(line, one);
  ASSERT_FALSE(collinear);
  EXPECT_EQ(collinear.error().kind, ErrorKind::kInput);
  EXPECT_NE(collinear.error().message.find("no area"), std::string::npos);
  const std::vector<Vec3> point(3, Vec3(1, 2, 3));
  EXPECT_FALSE(Surface::build(point, one));
  const std::vector<Triangle> beyond = {{0, 1, 7}};
  EXPECT_FALSE(Surface::build(line, beyond));
  EXPECT_FALSE(Surface::build(line, std::vector<Triangle>{}));
}

TEST(Surface, DropsDegenerateAndDuplicateFacesAndSaysSo) {
  std::vector<Vec3> positions = kTetrahedronPositions;
  positions.emplace_back(0.5, 0, 0);  // on edge 0-1
  std::vector<Triangle> faces = kTetrahedronFaces;
  faces.push_back({0, 4, 1});  // collinear
  faces.push_back({2, 2, 3});  // repeats a vertex
  faces.push_back({2, 3, 1});  // face 3 again, rotated
  const Surface s = build(positions, faces);
  EXPECT_EQ(s.faceCount(), 4u);
  EXPECT_EQ(s.report().degenerate_faces, 2u);
  EXPECT_EQ(s.report().duplicate_faces, 1u);
  EXPECT_EQ(s.report().faces, 7u);
  EXPECT_EQ(s.notices().size(), 3u) << "degenerate, duplicate and the non-manifold edges of the duplicate";
  EXPECT_EQ(checkSurface(s), "");
}

TEST(Surface, TurnsAFlippedFaceAround) {
  std::vector<Triangle> faces = kTetrahedronFaces;
  std::swap(faces[2][1], faces[2][2]);
  const Surface s = build(kTetrahedronPositions, faces);
  EXPECT_EQ(s.report().flipped_faces, 1u);
  EXPECT_EQ(s.sources()[2].corners, (std::array<std::uint8_t, 3>{0, 2, 1}));
  EXPECT_EQ(checkSurface(s), "");
  for (std::uint32_t f = 0; f < 4; ++f)
    EXPECT_GT(s.frames()[f].normal().dot(s.frames()[f].origin), 0) << f;
}

TEST(Surface, CutsThreeFacesAtAnEdgeKeepingTheFlattestPairJoined) {
  const std::vector<Vec3> positions = {{0, 0, 0}, {0, 1, 0}, {-1, 0.5, 0}, {1, 0.5, 0.1}, {0.1, 0.5, 1}};
  const std::vector<Triangle> faces = {{0, 1, 2}, {1, 0, 3}, {1, 0, 4}};
  const Surface s = build(positions, faces);
  EXPECT_EQ(s.report().nonmanifold_edges, 1u);
  EXPECT_EQ(s.vertexCount(), 7u) << "both ends of the edge are doubled";
  EXPECT_EQ(s.componentCount(), 2u);
  EXPECT_EQ(s.components()[0], s.components()[1]);
  EXPECT_NE(s.components()[0], s.components()[2]);
  EXPECT_EQ(checkSurface(s), "");
}

TEST(Surface, KeepsBothSidesOfADoubledSheetAsAPillow) {
  const std::vector<Vec3> positions = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
  const std::vector<Triangle> faces = {{0, 1, 2}, {0, 2, 3}, {0, 2, 1}, {0, 3, 2}};
  const Surface s = build(positions, faces);
  EXPECT_EQ(s.faceCount(), 4u);
  EXPECT_EQ(s.componentCount(), 1u);
  EXPECT_TRUE(s.boundaryLoops().empty());
  EXPECT_EQ(s.twins()[0][2] / 3, 1u) << "front continues to front";
  EXPECT_EQ(checkSurface(s), "");
}

TEST(Surface, SplitsABowTie) {
  const std::vector<Vec3> positions = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {-1, 0, 0}, {-1, -1, 0}};
  const Surface s = build(positions, {{0, 1, 2}, {0, 3, 4}});
  EXPECT_EQ(s.report().nonmanifold_vertices, 1u);
  EXPECT_EQ(s.report().components, 1u) << "as in the file: joined through the vertex";
  EXPECT_EQ(s.componentCount(), 2u);
  EXPECT_EQ(s.vertexCount(), 6u);
  EXPECT_EQ(s.boundaryLoops().size(), 2u);
  EXPECT_EQ(checkSurface(s), "");
}

TEST(Surface, CutsAMoebiusStripOpen) {
  constexpr int kSegments = 24;
  std::vector<Vec3> positions;
  std::vector<Triangle> faces;
  for (int i = 0; i < kSegments; ++i) {
    const double a = 2 * std::numbers::pi * i / kSegments;
    for (const double side : {-0.3, 0.3}) {
      const double r = 1 + side * std::cos(a / 2);
      positions.emplace_back(r * std::cos(a), r * std::sin(a), side * std::sin(a / 2));
    }
  }
  for (std::uint32_t i = 0; i < kSegments; ++i) {
    const std::uint32_t a = 2 * i, b = 2 * i + 1;
    const bool last = i + 1 == kSegments;
    const std::uint32_t c = last ? 1 : a + 2, d = last ? 0 : b + 2;
    faces.push_back({a, c, b});
    faces.push_back({b, c, d});
  }
  const Surface s = build(positions, faces);
  EXPECT_EQ(s.report().nonorientable_components, 1u);
  EXPECT_EQ(s.report().boundary_edges, 2u * kSegments);
  EXPECT_EQ(s.componentCount(), 1u);
  EXPECT_EQ(s.boundaryLoops().size(), 1u) << "cut open it is a plain strip";
  EXPECT_EQ(checkSurface(s), "");
}

TEST(Surface, WeldsASoup) {
  std::vector<Vec3> positions;
  std::vector<Triangle> faces;
  for (const Triangle& t : kTetrahedronFaces) {
    const auto n = static_cast<std::uint32_t>(positions.size());
    for (const std::uint32_t v : t)
      positions.push_back(kTetrahedronPositions[v]);
    faces.push_back({n, n + 1, n + 2});
  }
  positions[3] = Vec3(-0.0, 0, -0.0);  // minus zero is the same place
  const Surface s = build(positions, faces);
  EXPECT_EQ(s.vertexCount(), 4u);
  EXPECT_TRUE(s.boundaryLoops().empty());
}

TEST(Surface, MirroredInstanceKeepsNormalsOutward) {
  Asset asset;
  Primitive primitive;
  primitive.positions = kTetrahedronPositions;
  for (const Triangle& t : kTetrahedronFaces)
    primitive.triangles.insert(primitive.triangles.end(), t.begin(), t.end());
  asset.meshes.push_back({"", {primitive}});
  Instance instance;
  instance.mesh = 0;
  instance.asset_from_mesh.linear() = Vec3(-1, 1, 1).asDiagonal();
  asset.instances.push_back(instance);
  const Result<Surface> s = buildSurface(asset);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->report().flipped_faces, 0u) << "the instance says so itself, it is not a defect";
  for (const FaceFrame& frame : s->frames())
    EXPECT_GT(frame.normal().dot(frame.origin), 0);
  EXPECT_EQ(s->sources()[0].corners, (std::array<std::uint8_t, 3>{0, 2, 1}));
}

TEST(Surface, AnnulusHasTwoBoundaryLoops) {
  const Surface s = grid(40, 3, [](double u, double v) { return circle(u, 1 + v, 0); });
  ASSERT_EQ(s.boundaryLoops().size(), 2u);
  EXPECT_EQ(s.boundaryLoops()[0].size(), 40u);
  EXPECT_EQ(s.boundaryLoops()[1].size(), 40u);
  EXPECT_EQ(checkSurface(s), "");
}

TEST(Surface, PrincipalDirectionsOfACylinderRunAround) {
  const Surface s = grid(48, 12, [](double u, double v) { return circle(u, 0.5, 2 * v); });
  for (std::uint32_t v = 0; v < s.vertexCount(); ++v) {
    // Also at the two rims, where the neighbourhood is one-sided. 0.5 degrees: the facets of 7.5 degrees are
    // fitted symmetrically but for the diagonals.
    EXPECT_LT(std::abs(s.principalDirections()[v].z()), std::sin(0.5 * std::numbers::pi / 180)) << v;
    EXPECT_NEAR(s.principalDirections()[v].dot(s.vertexNormals()[v]), 0, 1e-12);
  }
  for (const FaceFrame& frame : s.frames())
    EXPECT_LT(std::abs(frame.x_axis.z()), 0.02);
}

TEST(Surface, PrincipalDirectionsOfATorusRunAroundTheTubeOutside) {
  // Curvature around the tube is 1/r everywhere and always the larger one.
  const Surface s = grid(96, 48, [](double u, double v) {
    const Vec3 tube = circle(v, 0.3, 0);
    return circle(u, 1 + tube.x(), tube.y());
  });
  EXPECT_EQ(s.boundaryLoops().size(), 0u);
  for (std::uint32_t v = 0; v < s.vertexCount(); ++v) {
    const Vec3& x = s.positions()[v];
    const Vec3 along = Vec3(-x.y(), x.x(), 0).normalized();
    EXPECT_LT(std::abs(s.principalDirections()[v].dot(along)), 0.05) << v;
  }
}

TEST(Surface, DirectionsExistWhereCurvatureSaysNothing) {
  const Surface flat = grid(8, 8, [](double u, double v) { return Vec3(u, v, 0); });
  for (const FaceFrame& frame : flat.frames()) {
    EXPECT_LT((frame.x_axis - flat.frames()[0].x_axis).norm(), 1e-9) << "a flat region has one direction";
  }
  const Surface triangle = build({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, {{0, 1, 2}});
  EXPECT_EQ(checkSurface(triangle), "");
  const Surface sliver = build({{0, 0, 0}, {1, 0, 0}, {0.5, 1e-7, 0}, {0.5, 1, 0}}, {{0, 1, 2}, {0, 2, 3}});
  EXPECT_EQ(sliver.report().sliver_faces, 1u);
  EXPECT_EQ(checkSurface(sliver), "");
}

TEST(Surface, SameResultForAnyThreadCount) {
  const auto make = [] {
    return grid(96, 48, [](double u, double v) {
      const Vec3 tube = circle(v, 0.3, 0);
      return circle(u, 1 + tube.x(), tube.y());
    });
  };
  setThreadCount(1);
  const Surface one = make();
  for (const int threads : {2, 3, 8}) {
    setThreadCount(threads);
    const Surface other = make();
    EXPECT_TRUE(std::equal(one.principalDirections().begin(), one.principalDirections().end(),
                           other.principalDirections().begin()));
    EXPECT_TRUE(std::equal(one.corners().begin(), one.corners().end(), other.corners().begin()));
  }
  setThreadCount(0);
}

/// Random triangles over few vertices on a coarse lattice: every kind of defect at once.
TEST(Surface, RandomSoupsBecomeManifolds) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const RandomStream random(seed, 1);
    const std::uint64_t vertices = 3 + random.below(0, 40), triangles = 1 + random.below(1, 120);
    std::vector<Vec3> positions;
    for (std::uint64_t i = 0; i < vertices; ++i) {
      const auto w = random.words(100 + i);
      positions.emplace_back(w[0] % 5, w[1] % 5, w[2] % 5);
    }
    std::vector<Triangle> faces;
    for (std::uint64_t i = 0; i < triangles; ++i) {
      const auto w = random.words(1000 + i);
      faces.push_back({static_cast<std::uint32_t>(w[0] % vertices),
                       static_cast<std::uint32_t>(w[1] % vertices),
                       static_cast<std::uint32_t>(w[2] % vertices)});
    }
    const Result<Surface> s = Surface::build(positions, faces);
    if (!s) continue;
    EXPECT_EQ(checkSurface(*s), "") << "seed " << seed;
    EXPECT_EQ(s->faceCount() + s->report().degenerate_faces + s->report().duplicate_faces, s->report().faces);
  }
}

TEST(SurfaceChecks, FindPlantedErrors) {
  const Surface s = grid(6, 6, [](double u, double v) { return Vec3(u, v, u * v); });
  const SurfaceArrays good(s);
  ASSERT_EQ(good.check(), "");
  SurfaceArrays twin = good;
  twin.twins[3][1] = twin.twins[3][1] == 0 ? 1 : 0;
  EXPECT_NE(twin.check(), "");
  SurfaceArrays corner = good;
  corner.corners[5][2] *= 1.001;
  EXPECT_NE(corner.check(), "");
  SurfaceArrays vertex = good;
  vertex.faces[7][0] = (vertex.faces[7][0] + 1) % s.vertexCount();
  EXPECT_NE(vertex.check(), "");
  SurfaceArrays frame = good;
  std::swap(frame.frames[2].x_axis, frame.frames[2].y_axis);
  EXPECT_NE(frame.check(), "");
  SurfaceArrays umbrella = good;
  umbrella.vertex_half_edge[9] = umbrella.vertex_half_edge[8];
  EXPECT_NE(umbrella.check(), "");
}

TEST(Surface, EveryGoodAssetBecomesAConsistentSurface) {
  HEATSKIN_REQUIRE_ASSETS();
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(testing::assetsFolder())) {
    const auto extension = entry.path().extension();
    if (entry.path().string().find("/bad/") != std::string::npos) continue;
    if (extension != ".glb" && extension != ".gltf" && extension != ".obj") continue;
    const Result<Asset> asset = loadAsset(entry.path());
    ASSERT_TRUE(asset) << asset.error().message;
    const Result<Surface> s = buildSurface(*asset);
    ASSERT_TRUE(s) << s.error().message;
    EXPECT_EQ(checkSurface(*s), "") << entry.path();
    ++count;
  }
  EXPECT_GE(count, 29);
}

}  // namespace
}  // namespace heatskin
