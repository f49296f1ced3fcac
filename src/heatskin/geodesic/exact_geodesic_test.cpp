#include "heatskin/geodesic/exact_geodesic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <numbers>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"

#include "support/assets.h"
#include "support/sanitized.h"
#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

using namespace heatskin::testing;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Closed forms: a few dozen roundings of coordinates of size 1 and the square of the overlap of windows.
constexpr double kExact = 1e-12;

/// Shortest paths in a graph given as neighbour lists.
using Graph = std::vector<std::vector<std::pair<std::uint32_t, double>>>;
std::vector<double> dijkstra(const Graph& graph, std::uint32_t source) {
  std::vector<double> distance(graph.size(), kInfinity);
  std::priority_queue<std::pair<double, std::uint32_t>> queue;
  distance[source] = 0;
  queue.push({0, source});
  while (!queue.empty()) {
    const auto [negative, v] = queue.top();
    queue.pop();
    if (-negative > distance[v]) continue;
    for (const auto& [w, length] : graph[v]) {
      if (distance[v] + length < distance[w]) queue.push({-(distance[w] = distance[v] + length), w});
    }
  }
  return distance;
}

Graph edgeGraph(const Surface& surface) {
  Graph graph(surface.vertexCount());
  for (const auto& face : surface.faces()) {
    for (std::size_t k = 0; k < 3; ++k) {
      const std::uint32_t a = face[k], b = face[(k + 1) % 3];
      const double length = (surface.positions()[a] - surface.positions()[b]).norm();
      graph[a].push_back({b, length});
      graph[b].push_back({a, length});
    }
  }
  return graph;
}

/// Distances over `points` extra points on every edge, joined within faces: from above, and close.
std::vector<double> steinerDistances(const Surface& surface, std::uint32_t source, std::uint32_t points) {
  std::vector<Vec3> nodes(surface.positions().begin(), surface.positions().end());
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> on_edge;
  const auto edgeNodes = [&](std::uint32_t a, std::uint32_t b) -> const std::vector<std::uint32_t>& {
    auto& list = on_edge[{std::min(a, b), std::max(a, b)}];
    if (list.empty()) {
      for (std::uint32_t i = 1; i <= points; ++i) {
        list.push_back(static_cast<std::uint32_t>(nodes.size()));
        const double t = static_cast<double>(i) / (points + 1);
        nodes.push_back((1 - t) * surface.positions()[a] + t * surface.positions()[b]);
      }
    }
    return list;
  };
  std::vector<std::vector<std::uint32_t>> groups;
  for (const auto& face : surface.faces()) {
    std::vector<std::uint32_t> group(face.begin(), face.end());
    for (std::size_t k = 0; k < 3; ++k) {
      const auto& list = edgeNodes(face[k], face[(k + 1) % 3]);
      group.insert(group.end(), list.begin(), list.end());
    }
    groups.push_back(std::move(group));
  }
  Graph graph(nodes.size());
  for (const auto& group : groups) {
    for (const std::uint32_t a : group) {
      for (const std::uint32_t b : group) {
        if (a != b) graph[a].push_back({b, (nodes[a] - nodes[b]).norm()});
      }
    }
  }
  auto distance = dijkstra(graph, source);
  distance.resize(surface.vertexCount());
  return distance;
}

/// Between the chord and the way along edges; zero at the source; finite exactly on its component.
void expectBounds(const Surface& surface, std::uint32_t source, const ExactGeodesicOutcome& outcome,
                  const std::string& name, double radius = kInfinity) {
  ASSERT_TRUE(outcome.complete) << name;
  ASSERT_EQ(outcome.distances.size(), surface.vertexCount());
  const auto above = dijkstra(edgeGraph(surface), source);
  EXPECT_EQ(outcome.distances[source], 0);
  for (std::uint32_t v = 0; v < surface.vertexCount(); ++v) {
    const double d = outcome.distances[v];
    if (d == kInfinity) {
      ASSERT_GT(above[v], radius == kInfinity ? 1e300 : radius) << name << " " << v;
      continue;
    }
    const double chord = (surface.positions()[v] - surface.positions()[source]).norm();
    ASSERT_GE(d, chord * (1 - kExact)) << name << " " << v;
    ASSERT_LE(d, above[v] * (1 + kExact)) << name << " " << v;
    ASSERT_LE(d, radius);
  }
}

TEST(ExactGeodesic, OnAFlatGridIsEuclidean) {
  const Surface surface = build(flatGrid(12, 9));
  for (const std::uint32_t source : {0u, 5u, 47u, 66u}) {
    const auto outcome = exactGeodesics(surface, source);
    for (std::uint32_t v = 0; v < surface.vertexCount(); ++v) {
      ASSERT_NEAR(outcome.distances[v], (surface.positions()[v] - surface.positions()[source]).norm(),
                  kExact);
    }
  }
  // Inside a face, on an edge, on a boundary edge.
  for (const SurfacePoint& source : {SurfacePoint{100, {0.2, 0.3, 0.5}}, SurfacePoint{101, {0.25, 0, 0.75}},
                                     SurfacePoint{101, {0.5, 0.5, 0}}, SurfacePoint{0, {0.5, 0.5, 0}}}) {
    const auto outcome = exactGeodesics(surface, source);
    for (std::uint32_t v = 0; v < surface.vertexCount(); ++v) {
      ASSERT_NEAR(outcome.distances[v], (surface.positions()[v] - surface.position(source)).norm(), kExact);
    }
  }
}

TEST(ExactGeodesic, WorkOnFlatGridsIsInProportion) {
  // Rays meet vertices exactly all over the grid: twice as many windows behind each of them would never end.
  // Each vertex cuts the light in two, so that an edge is crossed by as many windows as there are vertices in
  // its way.
  for (const std::uint32_t size : {20u, 80u}) {
    const Surface surface = build(flatGrid(size, size));
    for (const std::uint32_t source : {0u, surface.vertexCount() / 2, surface.vertexCount() / 3 + 7}) {
      const auto outcome = exactGeodesics(surface, source);
      EXPECT_TRUE(outcome.complete);
      EXPECT_LT(outcome.windows, std::size_t{size} * surface.faceCount() / 2) << size << " " << source;
      for (std::uint32_t v = 0; v < surface.vertexCount(); ++v) {
        const double straight = (surface.positions()[v] - surface.positions()[source]).norm();
        ASSERT_NEAR(outcome.distances[v], straight, kExact * std::max(1.0, straight));
      }
    }
  }
}

TEST(ExactGeodesic, GoesRoundAReflexCorner) {
  Soup soup = flatGrid(6, 6);
  std::erase_if(soup.faces, [&](const auto& f) {
    const Vec3 middle = (soup.positions[f[0]] + soup.positions[f[1]] + soup.positions[f[2]]) / 3;
    return middle.x() > 3 && middle.y() > 3;
  });
  const Surface surface = build(soup);
  const auto& map = surface.surfaceFromAsset();
  const Vec3 corner = map(Vec3(3, 3, 0));
  std::uint32_t source = kNone;
  for (std::uint32_t v = 0; v < surface.vertexCount(); ++v) {
    if ((surface.positions()[v] - map(Vec3(1, 6, 0))).norm() < 1e-9) source = v;
  }
  ASSERT_NE(source, kNone);
  const Vec3 from = surface.positions()[source];
  const auto outcome = exactGeodesics(surface, source);
  for (std::uint32_t v = 0; v < surface.vertexCount(); ++v) {
    const Vec3 to = surface.positions()[v];
    // Below the line through source and corner, to the right of the corner: the corner is in the way.
    const Vec3 line = corner - from, way = to - from;
    const bool hidden = to.x() > corner.x() && line.x() * way.y() - line.y() * way.x() > 0;
    const double expected = hidden ? (corner - from).norm() + (to - corner).norm() : way.norm();
    ASSERT_NEAR(outcome.distances[v], expected, kExact);
  }
}

TEST(ExactGeodesic, OnACubeIsTheBestUnfolding) {
  const Surface surface = build(cube(5));
  const auto& map = surface.assetFromSurface();
  std::uint32_t source = kNone;
  for (std::uint32_t v = 0; v < surface.vertexCount(); ++v) {
    if ((map(surface.positions()[v]) - Vec3(-1, -1, -1)).norm() < 1e-9) source = v;
  }
  ASSERT_NE(source, kNone);
  const auto outcome = exactGeodesics(surface, source);
  for (std::uint32_t v = 0; v < surface.vertexCount(); ++v) {
    const Vec3 p = map(surface.positions()[v]) + Vec3::Ones();  // in [0, 2]^3, the source at 0
    double expected = p.norm();                                 // the three faces at the source
    if (p.minCoeff() > 1e-9) {  // the other three: unfolded over one of two edges
      expected = kInfinity;
      for (int far = 0; far < 3; ++far) {
        if (p[far] < 2 - 1e-9) continue;
        const double x = p[(far + 1) % 3], y = p[(far + 2) % 3];
        expected = std::min({expected, std::hypot(2 + x, y), std::hypot(x, 2 + y)});
      }
    }
    ASSERT_NEAR(outcome.distances[v], expected * surface.surfaceFromAsset().scale, 4 * kExact);
  }
}

TEST(ExactGeodesic, OnATetrahedronIsTheNearestLatticeImage) {
  const Surface surface = build(tetrahedron());
  const double edge = (surface.positions()[0] - surface.positions()[1]).norm();
  const RandomStream random(4, 0);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto [u, v] = random.uniform2(2 * i);
    const auto face = static_cast<std::uint32_t>(random.below(2 * i + 1, 4));
    const SurfacePoint source{face, {1 - std::sqrt(u), std::sqrt(u) * v, std::sqrt(u) * (1 - v)}};
    const auto outcome = exactGeodesics(surface, source);
    // The plane covers the surface; vertices are the points of the triangular lattice, told apart by parity.
    const Vec2 e1(edge, 0), e2(edge / 2, edge * std::sqrt(3.0) / 2);
    const Vec2 p = source.barycentric[1] * e1 + source.barycentric[2] * e2;
    std::array<double, 4> best = {kInfinity, kInfinity, kInfinity, kInfinity};
    for (int a = -4; a <= 4; ++a) {
      for (int b = -4; b <= 4; ++b) {
        double& d = best[static_cast<std::size_t>((a & 1) + 2 * (b & 1))];
        d = std::min(d, (a * e1 + b * e2 - p).norm());
      }
    }
    const auto& f = surface.faces()[face];
    ASSERT_NEAR(outcome.distances[f[0]], best[0], kExact);
    ASSERT_NEAR(outcome.distances[f[1]], best[1], kExact);
    ASSERT_NEAR(outcome.distances[f[2]], best[2], kExact);
    ASSERT_NEAR(outcome.distances[6 - f[0] - f[1] - f[2]], best[3], kExact);
  }
}

TEST(ExactGeodesic, OnACylinderUnrolls) {
  constexpr std::uint32_t kSectors = 14, kRings = 6;
  const Surface surface = build(cylinderBand(kSectors, kRings));
  const double scale = surface.surfaceFromAsset().scale;
  const double side = scale * 2 * std::sin(std::numbers::pi / kSectors), step = scale * 2 / kRings;
  const auto place = [&](std::uint32_t v) {
    const Vec3 q = surface.assetFromSurface()(surface.positions()[v]);
    const double sector = std::atan2(q.y(), q.x()) * kSectors / (2 * std::numbers::pi);
    return std::pair{std::lround(sector), std::lround((q.z() + 1) / 2 * kRings)};
  };
  for (const std::uint32_t source : {0u, 20u, 45u}) {
    const auto outcome = exactGeodesics(surface, source);
    for (std::uint32_t v = 0; v < surface.vertexCount(); ++v) {
      const auto [s0, r0] = place(source);
      const auto [s1, r1] = place(v);
      const long around = std::abs(s1 - s0) % kSectors;
      const double expected = std::hypot(side * static_cast<double>(std::min(around, kSectors - around)),
                                         step * static_cast<double>(r1 - r0));
      ASSERT_NEAR(outcome.distances[v], expected, kExact);
    }
  }
}

TEST(ExactGeodesic, IsAMetricBetweenItsBounds) {
  for (const Soup& soup : {bumpySphere(2, 0.6, 1), torus(9, 16), saddle(12, 1.5), cone(0.7, 9, 4),
                           moebius(17), icosphere(2), sliverStrip(8, 1e-3)}) {
    const Surface surface = build(soup);
    const std::uint32_t count = surface.vertexCount();
    std::vector<ExactGeodesicOutcome> all;
    for (std::uint32_t v = 0; v < count; ++v) {
      all.push_back(exactGeodesics(surface, v));
      if (v % 8 == 0) expectBounds(surface, v, all.back(), soup.name);
    }
    for (std::uint32_t a = 0; a < count; ++a) {
      for (std::uint32_t b = 0; b < a; ++b) {
        const double d = all[a].distances[b];
        ASSERT_NEAR(d, all[b].distances[a], 1e-9 * d) << soup.name << " " << a << " " << b;
        for (std::uint32_t c = 0; c < count; c += 7) {
          ASSERT_LE(d, (all[a].distances[c] + all[c].distances[b]) * (1 + 1e-9)) << soup.name;
        }
      }
    }
  }
}

TEST(ExactGeodesic, IsTheLimitOfFineGraphs) {
  for (const Soup& soup : {bumpySphere(1, 0.8, 3), torus(5, 8), saddle(9, 1.2)}) {
    const Surface surface = build(soup);
    const auto coarse = steinerDistances(surface, 0, 4), fine = steinerDistances(surface, 0, 16);
    const auto outcome = exactGeodesics(surface, 0);
    for (std::uint32_t v = 0; v < surface.vertexCount(); ++v) {
      ASSERT_LE(outcome.distances[v], fine[v] * (1 + kExact)) << soup.name;
      // The error falls with the square of the spacing, 5 / 17: what is left of it is below a third of the
      // step.
      ASSERT_GE(outcome.distances[v], fine[v] - (coarse[v] - fine[v]) - 0.003 * fine[v])
          << soup.name << " " << v;
    }
  }
}

TEST(ExactGeodesic, FromInsideAFaceEqualsAnInsertedVertex) {
  const Soup soup = bumpySphere(2, 0.6, 7);
  const Surface surface = build(soup);
  for (const std::uint32_t face : {0u, 17u, 200u}) {
    const SurfacePoint source{face, {0.5, 0.2, 0.3}};
    std::vector<Vec3> positions(surface.positions().begin(), surface.positions().end());
    std::vector<std::array<std::uint32_t, 3>> faces(surface.faces().begin(), surface.faces().end());
    const auto inserted = static_cast<std::uint32_t>(positions.size());
    positions.push_back(surface.position(source));
    const auto f = faces[face];
    faces[face] = {f[0], f[1], inserted};
    faces.push_back({f[1], f[2], inserted});
    faces.push_back({f[2], f[0], inserted});
    const Surface split = build({"split", positions, faces});
    ASSERT_EQ(split.vertexCount(), inserted + 1);
    const auto expected = exactGeodesics(split, inserted);
    const auto outcome = exactGeodesics(surface, source);
    const double scale = split.surfaceFromAsset().scale;  // 1 up to rounding
    for (std::uint32_t v = 0; v < inserted; ++v) {
      ASSERT_NEAR(outcome.distances[v] * scale, expected.distances[v], 1e-10);
    }
  }
}

TEST(ExactGeodesic, RadiusCutsOffAndNothingElse) {
  const Surface surface = build(bumpySphere(3, 0.4, 2));
  const auto all = exactGeodesics(surface, 5);
  ExactGeodesicOptions options;
  options.radius = 0.5;
  const auto near = exactGeodesics(surface, 5, options);
  EXPECT_LT(near.windows, all.windows / 2);
  for (std::uint32_t v = 0; v < surface.vertexCount(); ++v) {
    if (all.distances[v] <= 0.5) {
      ASSERT_NEAR(near.distances[v], all.distances[v], kExact);
    } else {
      ASSERT_EQ(near.distances[v], kInfinity);
    }
  }
}

TEST(ExactGeodesic, OddSourcesAndLimitsAreHarmless) {
  const Surface surface = build(bumpySphere(2, 0.4, 2));
  const double nan = std::nan("");
  for (const SurfacePoint& source :
       {SurfacePoint{surface.faceCount(), {1, 0, 0}}, SurfacePoint{kNone, {1, 0, 0}},
        SurfacePoint{0, {nan, 0, 0}}, SurfacePoint{0, {0, 0, 0}}}) {
    for (const double d : exactGeodesics(surface, source).distances)
      EXPECT_EQ(d, kInfinity);
  }
  for (const double d : exactGeodesics(surface, kNone).distances)
    EXPECT_EQ(d, kInfinity);
  ExactGeodesicOptions options;
  options.max_windows_per_face = 1;
  const auto cut = exactGeodesics(surface, 0, options);
  EXPECT_FALSE(cut.complete);
  const auto all = exactGeodesics(surface, 0);
  for (std::uint32_t v = 0; v < surface.vertexCount(); ++v) {
    EXPECT_GE(cut.distances[v], all.distances[v] * (1 - kExact));
  }
}

TEST(ExactGeodesic, SurvivesDirtySurfaces) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Soup soup = seed % 2 == 0 ? dirtySoup(seed, 60, 300) : damagedSphere(seed);
    const Surface surface = build(soup);
    for (const std::uint32_t source : {0u, surface.vertexCount() / 2}) {
      expectBounds(surface, source, exactGeodesics(surface, source), soup.name);
    }
  }
}

std::vector<Vec3> objPositions(const std::filesystem::path& path) {
  std::vector<Vec3> positions;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    Vec3 p;
    if (std::sscanf(line.c_str(), "v %lf %lf %lf", &p[0], &p[1], &p[2]) == 3) positions.push_back(p);
  }
  return positions;
}

TEST(ExactGeodesic, AgreesWithTheTableOfSpot) {
  HEATSKIN_REQUIRE_ASSETS();
  LoadOptions load;
  load.load_images = false;
  const auto asset = loadAsset(assetsFolder() / "spot" / "spot_triangulated.obj", load);
  ASSERT_TRUE(asset) << asset.error().message;
  SurfaceOptions surface_options;
  surface_options.principal_axes = false;
  const auto surface = buildSurface(*asset, surface_options);
  ASSERT_TRUE(surface);
  // The table counts vertices as the file does; ours are found by position.
  const std::vector<Vec3> in_file = objPositions(assetsFolder() / "spot" / "spot_triangulated.obj");
  ASSERT_EQ(in_file.size(), 2930u);
  std::vector<std::uint32_t> ours(in_file.size(), kNone);
  for (std::size_t i = 0; i < in_file.size(); ++i) {
    const Vec3 p = surface->surfaceFromAsset()(in_file[i]);
    double best = 1e-6;
    for (std::uint32_t v = 0; v < surface->vertexCount(); ++v) {
      const double d = (surface->positions()[v] - p).norm();
      if (d < best) best = d, ours[i] = v;
    }
    ASSERT_NE(ours[i], kNone) << i;
  }

  const auto table = assetsFolder() / "spot" / "exact_distances.csv.gz";
  gzFile file = gzopen(table.c_str(), "rb");
  ASSERT_NE(file, nullptr);
  char line[256];
  gzgets(file, line, sizeof(line));
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, double>>>
      rows;  // source -> (target, distance)
  while (gzgets(file, line, sizeof(line)) != nullptr) {
    unsigned index = 0, source = 0, target = 0;
    double distance = 0;
    ASSERT_EQ(std::sscanf(line, "%u,%u,%u,%lf", &index, &source, &target, &distance), 4) << line;
    rows[source].push_back({target, distance});
  }
  gzclose(file);
  ASSERT_EQ(rows.size(), 40u);
  const std::size_t sources = casesToTry<std::size_t>(40, 2);
  double worst = 0, total = 0;
  std::size_t compared = 0, done = 0, windows = 0;
  for (const auto& [source, list] : rows) {
    if (done++ == sources) break;
    const auto outcome = exactGeodesics(*surface, ours[source]);
    ASSERT_TRUE(outcome.complete);
    windows += outcome.windows;
    for (const auto& [target, distance] : list) {
      const double error = std::abs(outcome.distances[ours[target]] - distance);
      worst = std::max(worst, error / std::max(distance, 1e-3));
      total += error;
      ++compared;
    }
  }
  RecordProperty("worst_relative_error", std::to_string(worst));
  std::printf("spot: %zu distances, worst relative error %.3g, mean error %.3g, %.0f windows per source\n",
              compared, worst, total / static_cast<double>(compared),
              static_cast<double>(windows) / static_cast<double>(sources));
  // The table has 12 digits; positions in the file have 6 to 7, the same for both.
  EXPECT_LT(worst, 1e-9);
  EXPECT_EQ(compared, sources * 2930);
}

TEST(ExactGeodesic, KeepsItsBoundsOnEveryGoodAsset) {
  HEATSKIN_REQUIRE_ASSETS();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(assetsFolder())) {
    const auto& path = entry.path();
    const auto extension = path.extension();
    if (path.string().find("/bad/") != std::string::npos) continue;
    // The other encodings in variants/ are the same surfaces again.
    if (path.string().find("/variants/") != std::string::npos) continue;
    if (extension != ".glb" && extension != ".gltf" && extension != ".obj") continue;
    LoadOptions load;
    load.load_images = false;
    const auto asset = loadAsset(path, load);
    ASSERT_TRUE(asset) << path << ": " << asset.error().message;
    SurfaceOptions surface_options;
    surface_options.principal_axes = false;
    const auto surface = buildSurface(*asset, surface_options);
    ASSERT_TRUE(surface) << path;
    ExactGeodesicOptions options;
    if (surface->faceCount() > 20'000) options.radius = 0.15;
    for (const std::uint32_t source : {0u, surface->vertexCount() / 2}) {
      expectBounds(*surface, source, exactGeodesics(*surface, source, options), path.filename().string(),
                   options.radius);
    }
  }
}

/// Asks to stop when it is looked at the n-th time.
class StopsAt final : public Progress {
 public:
  explicit StopsAt(int look) : look_(look) {}
  void begin(std::string_view, std::size_t) override {}
  void update(std::size_t, std::string_view) override {}
  void end() override {}
  bool cancelled() const override { return ++looks_ >= look_; }
  int looks() const { return looks_; }

 private:
  int look_;
  mutable int looks_ = 0;
};

TEST(ExactGeodesic, StopsWhenItIsAsked) {
  const Surface surface = build(bumpySphere(4, 0.2, 1));
  const ExactGeodesicOutcome whole = exactGeodesics(surface, 0);
  ExactGeodesicOptions options;
  const StopsAt never(1'000'000), soon(2);
  options.progress = &never;
  const ExactGeodesicOutcome same = exactGeodesics(surface, 0, options);
  EXPECT_EQ(same.distances, whole.distances);
  EXPECT_FALSE(same.cancelled);
  EXPECT_GT(never.looks(), 2) << "it looks more than once";
  options.progress = &soon;
  const ExactGeodesicOutcome part = exactGeodesics(surface, 0, options);
  EXPECT_TRUE(part.cancelled);
  EXPECT_FALSE(part.complete);
  EXPECT_LT(part.windows, whole.windows);
}

}  // namespace
}  // namespace heatskin
