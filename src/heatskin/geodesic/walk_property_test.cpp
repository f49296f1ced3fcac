// What must be true of every walk, on every good asset and on meshes nobody would make on purpose; more than
// a million walks. The checkers are checked first.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/geodesic/walk.h"
#include "heatskin/geodesic/walk_checker.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/surface/sampling.h"

#include "support/assets.h"
#include "support/sanitized.h"
#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

using namespace heatskin::testing;
using walk_internal::Pair;
using walk_internal::SurfaceFaces;

constexpr auto kWalksPerAsset = casesToTry<std::size_t>(40'000, 2'000);
constexpr auto kWalksPerSoup = casesToTry<std::size_t>(4'000, 500);

struct Task {
  SurfacePoint start;
  Vec2 direction;
};

/// Task i of a surface. Of ten: four start area-uniformly, two in a face chosen uniformly (small faces get
/// their share), one on an edge, one at a vertex, one aims exactly at a corner, one runs exactly along an
/// edge.
Task makeTask(const Surface& surface, const SurfaceSampler& sampler, std::uint64_t seed, std::uint64_t i) {
  const RandomStream random(seed, 9);
  const auto [u0, u1] = random.uniform2(4 * i);
  const auto [u2, u3] = random.uniform2(4 * i + 1);
  const auto [u4, u5] = random.uniform2(4 * i + 2);
  const auto face = static_cast<std::uint32_t>(random.below(4 * i + 3, surface.faceCount()));
  const auto k = static_cast<std::uint32_t>(3 * u5);
  const double length = std::pow(10.0, -4 + 4.2 * u0);
  const Vec2 turned = length * Vec2(std::cos(2 * std::numbers::pi * u1), std::sin(2 * std::numbers::pi * u1));
  const auto& corners = surface.corners()[face];
  SurfacePoint p{face, {1 - std::sqrt(u2), std::sqrt(u2) * u3, std::sqrt(u2) * (1 - u3)}};
  switch (i % 10) {
    case 0:
    case 1:
    case 2:
    case 3:
      return {sampler.point(u2, u3, u4), turned};
    case 4:
    case 5:
      return {p, turned};
    case 6:
      p.barycentric[k] = 0;
      p.barycentric[(k + 1) % 3] = u2;
      p.barycentric[(k + 2) % 3] = 1 - u2;
      return {p, turned};
    case 7:
      p.barycentric.setZero();
      p.barycentric[k] = 1;
      return {p, turned};
    case 8: {
      const Vec2 aim = corners[k] - surface.faceCoordinates(p);
      return {p, aim.norm() > 0 ? Vec2(aim.normalized() * (aim.norm() + length)) : turned};
    }
    default: {
      p.barycentric.setZero();
      p.barycentric[k] = 1 - u2;
      p.barycentric[(k + 1) % 3] = u2;
      if (u4 < 0.3) p.barycentric.setZero(), p.barycentric[k] = 1;
      const Vec2 along = (corners[(k + 1) % 3] - corners[k]).normalized();
      return {p, (u3 < 0.5 ? length : -length) * along};
    }
  }
}

/// Problems found, by kind, with the first example of each.
using Problems = std::map<std::string, std::pair<std::size_t, std::size_t>>;

template <class Faces>
Problems runChecks(const Surface& surface, const Faces& faces, std::size_t count, std::uint64_t seed,
                   std::size_t* vertices_passed = nullptr) {
  const SurfaceSampler sampler(surface);
  std::vector<std::string> found(count);
  std::vector<std::uint32_t> vertices(count);
  parallelFor(count, 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Task task = makeTask(surface, sampler, seed, i);
      WalkOutcome outcome;
      found[i] = checkWalk(surface, faces, task.start, task.direction, &outcome);
      vertices[i] = outcome.vertices;
    }
  });
  Problems problems;
  for (std::size_t i = 0; i < count; ++i) {
    if (vertices_passed != nullptr) *vertices_passed += vertices[i];
    if (found[i].empty()) continue;
    auto [place, is_new] = problems.try_emplace(found[i], 0, i);
    ++place->second.first;
  }
  return problems;
}

std::string describe(const Problems& problems) {
  std::string text;
  for (const auto& [what, where] : problems) {
    text +=
        what + ": " + std::to_string(where.first) + " times, first " + std::to_string(where.second) + "\n";
  }
  return text;
}

/// Ends and transported frames of the walk in space agree; counts the comparisons that were fair.
std::size_t compareWithSpace(const Surface& surface, std::size_t count, std::uint64_t seed,
                             const std::string& name) {
  const SurfaceSampler sampler(surface);
  const Walker walker(surface);
  std::size_t compared = 0;
  // The twin subtracts positions of size 1 to get normals and edges: it is good to ulp / height of a face,
  // and it decides by ray parameters, so only paths that stay clear of vertices are comparable.
  for (std::uint64_t i = 0; i < count; ++i) {
    Task task = makeTask(surface, sampler, seed, 10 * i);
    if (task.direction.norm() > 0.5) task.direction *= 0.5 / task.direction.norm();
    const Vec3 way = surface.frames()[task.start.face].directionFromFace(task.direction);
    const SpaceWalk space = walkInSpace(surface, task.start, way);
    if (!space.complete || space.clearance < 1e-4) continue;
    const WalkOutcome outcome = walker.walk(task.start, task.direction);
    EXPECT_EQ(outcome.stop, WalkStop::kComplete);
    const FaceFrame& frame = surface.frames()[outcome.end.face];
    const Vec3 carried = frame.directionFromFace(outcome.end_from_start.rotate(task.direction));
    const Vec3 companion = frame.directionFromFace(outcome.end_from_start.rotate(perp(task.direction)));
    const double close = 1e-9;
    EXPECT_LT((surface.position(outcome.end) - space.end).norm(), close) << name << " " << i;
    EXPECT_LT((carried - space.direction).norm(), close) << name << " " << i;
    EXPECT_LT((companion - space.companion).norm(), close) << name << " " << i;
    ++compared;
    if (::testing::Test::HasFailure()) return compared;
  }
  return compared;
}

std::vector<std::filesystem::path> goodAssets() {
  std::vector<std::filesystem::path> list;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(assetsFolder())) {
    const auto extension = entry.path().extension();
    if (entry.path().string().find("/bad/") != std::string::npos) continue;
    if (extension == ".glb" || extension == ".gltf" || extension == ".obj") list.push_back(entry.path());
  }
  std::sort(list.begin(), list.end());
  return list;
}

std::vector<Soup> tinySoups() {
  return {flatGrid(5, 4),
          tetrahedron(),
          cube(),
          cube(3),
          icosphere(2),
          cone(0.3, 5, 3),
          cone(5.9, 11, 4),
          saddle(),
          saddle(20, 2.0),
          cylinderBand(7, 3),
          moebius(15),
          torus(9, 14),
          bumpySphere(3, 0.6, 1),
          bumpySphere(2, 0.9, 2),
          sliverStrip(20, 1e-3),
          sliverStrip(20, 1e-5)};
}

// A wrong hinge and a displaced corner, for one face out of seven.
class WrongTurn : public SurfaceFaces {
 public:
  WrongTurn(const Surface& surface, double angle) : SurfaceFaces(surface), angle_(angle) {}
  Pair turn(std::uint32_t face, std::uint32_t e) const {
    const Pair right = SurfaceFaces::turn(face, e);
    return face % 7 == 0 ? walk_internal::times(right, {std::cos(angle_), std::sin(angle_)}) : right;
  }

 private:
  double angle_;
};
class WrongCorner : public SurfaceFaces {
 public:
  using SurfaceFaces::SurfaceFaces;
  Pair corner(std::uint32_t face, std::uint32_t k) const {
    Pair p = SurfaceFaces::corner(face, k);
    if (face % 7 == 0 && k == 1) p.x += 1e-9;
    return p;
  }
};

TEST(WalkChecker, PassesRightHingesAndCatchesPlantedErrors) {
  const Surface surface = build(bumpySphere(3, 0.4, 1));
  EXPECT_EQ(describe(runChecks(surface, SurfaceFaces(surface), 2'000, 1)), "");
  EXPECT_FALSE(runChecks(surface, WrongTurn(surface, 1e-9), 2'000, 1).empty());
  EXPECT_FALSE(runChecks(surface, WrongTurn(surface, 1e-3), 2'000, 1).empty());
  EXPECT_FALSE(runChecks(surface, WrongTurn(surface, 0.5), 2'000, 1).empty());
  EXPECT_FALSE(runChecks(surface, WrongCorner(surface), 2'000, 1).empty());
}

TEST(WalkChecker, CatchesOutcomesThatWereTamperedWith) {
  const Surface surface = build(bumpySphere(3, 0.4, 1));
  const WalkChecker checker(surface);
  const SurfacePoint start{5, {0.2, 0.3, 0.5}};
  const Vec2 direction(0.3, 0.4);
  const SurfaceFaces faces(surface);
  const RecordingFaces<SurfaceFaces> recording(faces);
  const WalkOptions options;
  const WalkOutcome good =
      walk_internal::Walk<RecordingFaces<SurfaceFaces>>(recording, surface, options).run(start, direction);
  const auto complaint = [&](const WalkOutcome& outcome) {
    const std::string first = checker.checkOutcome(start, direction, outcome);
    return first.empty() ? checker.checkUnrolled(start, direction, outcome, recording.crossed) : first;
  };
  ASSERT_EQ(complaint(good), "");
  WalkOutcome bad = good;
  bad.end.barycentric[0] -= 1e-9, bad.end.barycentric[1] += 1e-9;
  EXPECT_NE(complaint(bad), "");
  bad = good, bad.length *= 1 + 1e-9;
  EXPECT_NE(complaint(bad), "");
  bad = good, bad.end_from_start.sine += 1e-9;
  EXPECT_NE(complaint(bad), "");
  bad = good, bad.end_from_start.translation.x() += 1e-9;
  EXPECT_NE(complaint(bad), "");
  bad = good, bad.stop = WalkStop::kBoundary;
  EXPECT_NE(complaint(bad), "");
  bad = good, bad.end.face = (bad.end.face + 1) % surface.faceCount();
  EXPECT_NE(complaint(bad), "");
}

TEST(WalkProperties, HoldOnTinySurfaces) {
  std::size_t vertices = 0;
  for (const Soup& soup : tinySoups()) {
    const Surface surface = build(soup);
    EXPECT_EQ(describe(runChecks(surface, SurfaceFaces(surface), kWalksPerSoup, 2, &vertices)), "")
        << soup.name;
  }
  EXPECT_GT(vertices, kWalksPerSoup);
}

TEST(WalkProperties, HoldOnRandomDirtySurfaces) {
  std::size_t vertices = 0;
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    const Soup soup = seed % 2 == 0 ? dirtySoup(seed, 20 + 15 * static_cast<std::uint32_t>(seed), 200)
                                    : damagedSphere(seed);
    const Surface surface = build(soup);
    EXPECT_EQ(describe(runChecks(surface, SurfaceFaces(surface), kWalksPerSoup, seed, &vertices)), "")
        << soup.name << ", " << surface.faceCount() << " faces";
  }
  EXPECT_GT(vertices, kWalksPerSoup);
}

TEST(WalkProperties, AgreeWithAWalkInSpace) {
  for (const Soup& soup : {bumpySphere(3, 0.4, 1), torus(20, 40), cube(3), saddle(20, 2.0)}) {
    EXPECT_GT(compareWithSpace(build(soup), kWalksPerSoup, 3, soup.name), kWalksPerSoup / 20) << soup.name;
  }
}

TEST(WalkProperties, HoldOnEveryGoodAsset) {
  HEATSKIN_REQUIRE_ASSETS();
  LoadOptions load;
  load.load_images = false;
  std::size_t walks = 0, compared = 0;
  const auto assets = goodAssets();
  ASSERT_GE(assets.size(), 28u);
  for (const auto& path : assets) {
    const auto asset = loadAsset(path, load);
    ASSERT_TRUE(asset) << path << ": " << asset.error().message;
    SurfaceOptions options;
    options.principal_axes = path.stem() == "spot_triangulated";
    const auto surface = buildSurface(*asset, options);
    ASSERT_TRUE(surface) << path << ": " << surface.error().message;
    EXPECT_EQ(describe(runChecks(*surface, SurfaceFaces(*surface), kWalksPerAsset, 1)), "") << path;
    walks += kWalksPerAsset;
    compared += compareWithSpace(*surface, kWalksPerAsset / 40, 4, path.filename().string());
  }
  RecordProperty("walks", std::to_string(walks));
  EXPECT_GE(walks, casesToTry(1'000'000u, 50'000u));
  EXPECT_GT(compared, walks / 400);
}

}  // namespace
}  // namespace heatskin
