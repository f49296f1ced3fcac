#include "heatskin/demo/pumpkin.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/demo/pumpkin_atlas.h"
#include "heatskin/demo/pumpkin_drawing.h"
#include "heatskin/demo/pumpkin_shape.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/glb_writer.h"

namespace heatskin {
namespace {

PumpkinOptions withResolution(int resolution, std::uint64_t seed = 1) {
  PumpkinOptions options;
  options.resolution = resolution;
  options.seed = seed;
  return options;
}

/// The mesh welded by exact position, with the edges and their triangles.
struct Welded {
  std::vector<std::uint32_t> vertex;  // [P]
  std::size_t count = 0;
  /// directed edge (from, to) -> triangles that run through it
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::size_t>> edges;
};

Welded weld(const PumpkinMesh& mesh) {
  Welded welded;
  std::map<std::array<double, 3>, std::uint32_t> known;
  for (const Vec3& p : mesh.positions) {
    const auto [it, added] =
        known.emplace(std::array<double, 3>{p.x(), p.y(), p.z()}, static_cast<std::uint32_t>(known.size()));
    welded.vertex.push_back(it->second);
  }
  welded.count = known.size();
  for (std::size_t t = 0; t < mesh.parts.size(); ++t) {
    for (std::size_t k = 0; k < 3; ++k) {
      const std::uint32_t a = welded.vertex[mesh.triangles[3 * t + k]];
      const std::uint32_t b = welded.vertex[mesh.triangles[3 * t + (k + 1) % 3]];
      welded.edges[{a, b}].push_back(t);
    }
  }
  return welded;
}

std::array<Vec3, 3> corners(const PumpkinMesh& mesh, std::size_t t) {
  return {mesh.positions[mesh.triangles[3 * t]], mesh.positions[mesh.triangles[3 * t + 1]],
          mesh.positions[mesh.triangles[3 * t + 2]]};
}

Vec3 areaVector(const PumpkinMesh& mesh, std::size_t t) {
  const auto [a, b, c] = corners(mesh, t);
  return 0.5 * (b - a).cross(c - a);
}

class PumpkinMeshes : public ::testing::TestWithParam<std::pair<int, int>> {
 protected:
  PumpkinMesh mesh_ =
      makePumpkinMesh(withResolution(GetParam().first, static_cast<std::uint64_t>(GetParam().second)));
};

TEST_P(PumpkinMeshes, IsOneClosedOrientedSphere) {
  const Welded welded = weld(mesh_);
  EXPECT_EQ(welded.count, mesh_.welded_vertices);
  for (const auto& [edge, triangles] : welded.edges) {
    ASSERT_NE(edge.first, edge.second);
    ASSERT_EQ(triangles.size(), 1u) << "two triangles run through an edge in the same direction";
    ASSERT_TRUE(welded.edges.contains({edge.second, edge.first})) << "an edge has one triangle only";
  }
  const auto v = static_cast<long>(welded.count), e = static_cast<long>(welded.edges.size() / 2),
             f = static_cast<long>(mesh_.parts.size());
  EXPECT_EQ(v - e + f, 2) << "genus 0";

  std::vector<std::uint32_t> parent(welded.count);
  std::iota(parent.begin(), parent.end(), 0u);
  const auto root = [&](std::uint32_t i) {
    while (parent[i] != i)
      i = parent[i] = parent[parent[i]];
    return i;
  };
  for (const auto& [edge, triangles] : welded.edges)
    parent[root(edge.first)] = root(edge.second);
  for (std::uint32_t i = 0; i < welded.count; ++i)
    ASSERT_EQ(root(i), root(0)) << "more than one piece";

  double volume = 0;
  for (std::size_t t = 0; t < mesh_.parts.size(); ++t) {
    volume += areaVector(mesh_, t).dot(corners(mesh_, t)[0]) / 3;
  }
  EXPECT_GT(volume, 0) << "outward orientation";
}

TEST_P(PumpkinMeshes, HasNoSlivers) {
  double worst_aspect = 0, worst_angle = 180;
  for (std::size_t t = 0; t < mesh_.parts.size(); ++t) {
    const auto p = corners(mesh_, t);
    const double area = areaVector(mesh_, t).norm();
    ASSERT_GT(area, 0);
    double longest = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const Vec3 u = p[(k + 1) % 3] - p[k], v = p[(k + 2) % 3] - p[k];
      longest = std::max(longest, u.norm());
      worst_angle = std::min(worst_angle, std::atan2(u.cross(v).norm(), u.dot(v)) * 180 / M_PI);
    }
    worst_aspect = std::max(worst_aspect, longest * longest / (2 * area));
  }
  EXPECT_LT(worst_aspect, 20);
  EXPECT_GT(worst_angle, 5);
}

TEST_P(PumpkinMeshes, HasAboutTheWantedNumberOfVertices) {
  EXPECT_NEAR(static_cast<double>(mesh_.welded_vertices), GetParam().first, 0.05 * GetParam().first);
  EXPECT_EQ(mesh_.parts.size(), 2 * mesh_.welded_vertices - 4);
}

TEST_P(PumpkinMeshes, StemIsThinAndItsAttachmentSharp) {
  const Welded welded = weld(mesh_);
  double low = 1e9, high = -1e9, stem_area = 0, total_area = 0;
  for (std::size_t t = 0; t < mesh_.parts.size(); ++t) {
    const double area = areaVector(mesh_, t).norm();
    total_area += area;
    if (mesh_.parts[t] != PumpkinPart::kBody) stem_area += area;
    for (const Vec3& p : corners(mesh_, t)) {
      low = std::min(low, p.x());
      high = std::max(high, p.x());
    }
  }
  EXPECT_GT(stem_area, 0.01 * total_area);
  EXPECT_LT(stem_area, 0.05 * total_area);

  // Both creases, and the ring of the attachment.
  std::vector<Vec3> ring;
  for (const auto& [edge, triangles] : welded.edges) {
    const std::size_t here = triangles[0], there = welded.edges.at({edge.second, edge.first})[0];
    if (mesh_.parts[here] == mesh_.parts[there]) continue;
    const Vec3 a = areaVector(mesh_, here).normalized(), b = areaVector(mesh_, there).normalized();
    EXPECT_GT(std::acos(std::clamp(a.dot(b), -1.0, 1.0)) * 180 / M_PI, 50);
    if (mesh_.parts[here] != PumpkinPart::kBody) continue;
    for (std::size_t k = 0; k < 3; ++k) {
      if (welded.vertex[mesh_.triangles[3 * here + k]] == edge.first) ring.push_back(corners(mesh_, here)[k]);
    }
  }
  ASSERT_GE(ring.size(), 10u);
  double diameter = 0;
  for (const Vec3& a : ring) {
    for (const Vec3& b : ring)
      diameter = std::max(diameter, (a - b).norm());
  }
  EXPECT_LT(diameter, 0.12 * (high - low)) << "the stem is widest where it is attached";

  // The mean diameter of a tube is 4 volume / side area; the volume is closed off by the attachment's disc.
  const Vec3 center =
      std::accumulate(ring.begin(), ring.end(), Vec3(Vec3::Zero())) / static_cast<double>(ring.size());
  double volume = 0, side = 0;
  for (std::size_t t = 0; t < mesh_.parts.size(); ++t) {
    if (mesh_.parts[t] == PumpkinPart::kBody) continue;
    volume += areaVector(mesh_, t).dot(corners(mesh_, t)[0] - center) / 3;
    if (mesh_.parts[t] == PumpkinPart::kStem) side += areaVector(mesh_, t).norm();
  }
  EXPECT_LT(4 * volume / side, 0.08 * (high - low));
}

TEST_P(PumpkinMeshes, TextureCoordinatesDoNotOverlap) {
  // Which triangle holds each pixel centre of a fine grid; strictly inside, so that shared edges do not
  // count.
  constexpr int kSide = 1024;
  std::vector<int> chart_of(kSide * kSide, -1);
  for (std::size_t t = 0; t < mesh_.parts.size(); ++t) {
    std::array<Vec2, 3> q;
    for (std::size_t k = 0; k < 3; ++k) {
      const Vec2f uv = mesh_.uvs[mesh_.triangles[3 * t + k]];
      ASSERT_TRUE(uv.x() > 0 && uv.x() < 1 && uv.y() > 0 && uv.y() < 1);
      ASSERT_EQ(mesh_.charts[mesh_.triangles[3 * t + k]], mesh_.charts[mesh_.triangles[3 * t]]);
      q[k] = kSide * uv.cast<double>();
    }
    const double area = cross2(q[1] - q[0], q[2] - q[0]);
    ASSERT_LT(area, 0) << "v points down: seen from outside, charts are not mirrored";
    const auto range = [&](int axis) {
      const auto [a, b] = std::minmax({q[0][axis], q[1][axis], q[2][axis]});
      return std::pair{static_cast<int>(a), static_cast<int>(b)};
    };
    const auto [x0, x1] = range(0);
    const auto [y0, y1] = range(1);
    for (int y = y0; y <= y1; ++y) {
      for (int x = x0; x <= x1; ++x) {
        const Vec2 p(x + 0.5, y + 0.5);
        bool inside = true;
        for (std::size_t k = 0; k < 3; ++k) {
          // A thousandth of a pixel away from every edge, more than floats blur.
          const Vec2 edge = q[(k + 1) % 3] - q[k];
          inside = inside && cross2(edge, p - q[k]) < -1e-3 * edge.norm();
        }
        if (!inside) continue;
        int& owner = chart_of[static_cast<std::size_t>(y * kSide + x)];
        ASSERT_EQ(owner, -1) << "overlap at " << x << ", " << y;
        owner = mesh_.charts[mesh_.triangles[3 * t]];
      }
    }
  }
  // Different charts keep 4 texels of the smallest texture apart, two to each side.
  constexpr int kGap = 4 * kSide / 256;
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x + kGap < kSide; ++x) {
      const int here = chart_of[static_cast<std::size_t>(y * kSide + x)];
      if (here < 0) continue;
      for (int d = 1; d <= kGap; ++d) {
        const int right = chart_of[static_cast<std::size_t>(y * kSide + x + d)];
        ASSERT_TRUE(right < 0 || right == here);
        if (y + d >= kSide) continue;
        const int below = chart_of[static_cast<std::size_t>((y + d) * kSide + x)];
        ASSERT_TRUE(below < 0 || below == here);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Resolutions, PumpkinMeshes,
                         ::testing::Values(std::pair{500, 1}, std::pair{1000, 4}, std::pair{3000, 1},
                                           std::pair{3000, 2}, std::pair{3000, 99}, std::pair{30000, 3}));

TEST(Pumpkin, AMillionVerticesStayDistinct) {
  const PumpkinMesh mesh = makePumpkinMesh(withResolution(1'000'000));
  EXPECT_NEAR(static_cast<double>(mesh.welded_vertices), 1e6, 5e4);
  std::vector<std::array<float, 3>> keys;
  keys.reserve(mesh.positions.size());
  for (const Vec3& p : mesh.positions) {
    const Vec3f q = p.cast<float>();
    ASSERT_EQ(q.cast<double>(), p) << "positions are floats";
    keys.push_back({q.x(), q.y(), q.z()});
  }
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(static_cast<std::size_t>(std::unique(keys.begin(), keys.end()) - keys.begin()),
            mesh.welded_vertices);
}

TEST(Pumpkin, OptionsAreClamped) {
  EXPECT_EQ(makePumpkinMesh(withResolution(-5)).positions, makePumpkinMesh(withResolution(500)).positions);
  PumpkinOptions options;
  options.texture_size = 0;
  EXPECT_EQ(paintPumpkin(options).width, 256);
}

TEST(PumpkinShape, TurnAndAroundAreInverse) {
  const PumpkinShape shape(3);
  for (int i = -300; i < 300; ++i) {
    const double around = 0.137 * i;
    EXPECT_NEAR(shape.around(shape.turn(around)), around, 1e-9);
    EXPECT_NEAR(shape.turn(around + 10), shape.turn(around) + 1, 1e-12);
    EXPECT_GT(shape.turn(around + 0.01), shape.turn(around));
  }
}

TEST(PumpkinShape, PartsMeet) {
  const PumpkinShape shape(3);
  for (double around = 0; around < 10; around += 0.1) {
    const Vec3 body = shape.position(PumpkinPart::kBody, shape.length(PumpkinPart::kBody), around);
    const Vec3 stem = shape.position(PumpkinPart::kStem, 0, around);
    EXPECT_LT((body - stem).norm(), 1e-9);
    const Vec3 rim = shape.position(PumpkinPart::kStem, shape.length(PumpkinPart::kStem), around);
    EXPECT_LT((rim - shape.position(PumpkinPart::kStemEnd, 0, around)).norm(), 1e-9);
  }
}

TEST(PumpkinAtlas, PlaceInvertsUv) {
  const PumpkinShape shape(7);
  const PumpkinAtlas atlas(shape);
  for (std::size_t chart = 0; chart < PumpkinAtlas::kCharts; ++chart) {
    const auto [first, last] = PumpkinAtlas::ribs(chart);
    const double length = shape.length(PumpkinAtlas::part(chart));
    for (int i = 1; i < 20; ++i) {
      for (int j = 1; j < 20; ++j) {
        const double along = length * i / 20, around = first + (last - first) * j / 20.0;
        const Vec2 uv = atlas.uv(chart, along, around);
        EXPECT_EQ(atlas.chartAt(uv), chart);
        const PumpkinPlace place = atlas.place(chart, uv);
        EXPECT_TRUE(place.near);
        EXPECT_EQ(place.part, PumpkinAtlas::part(chart));
        EXPECT_NEAR(place.along, along, 1e-9);
        const double laps = (place.around - around) / PumpkinShape::kRibs;
        EXPECT_NEAR(laps, std::round(laps), 1e-9);
      }
    }
  }
}

TEST(PumpkinDrawing, FaceHasEyesNoseAndTeeth) {
  EXPECT_GT(carvedDepth({-0.36, 0.28}), 0);
  EXPECT_GT(carvedDepth({0.36, 0.28}), 0);
  EXPECT_GT(carvedDepth({0, 0.08}), 0);
  EXPECT_GT(carvedDepth({0, -0.22}), 0);
  EXPECT_LT(carvedDepth({0, -0.13}) * carvedDepth({0.1, -0.13}), 0) << "a notch between upper teeth";
  EXPECT_LT(carvedDepth({0, 0.4}), 0);
  EXPECT_LT(carvedDepth({0.9, 0.9}), 0);
  // Exact distance: half a step across a straight part of the outline changes it by half a step.
  EXPECT_NEAR(carvedDepth({0, -0.100}) - carvedDepth({0, -0.097}), 0.003, 1e-12);
}

Vec3 bilinear(const Image& image, const Vec2& uv) {
  const double x = uv.x() * image.width - 0.5, y = uv.y() * image.height - 0.5;
  const int ix = static_cast<int>(std::floor(x)), iy = static_cast<int>(std::floor(y));
  Vec3 sum = Vec3::Zero();
  for (int dy = 0; dy < 2; ++dy) {
    for (int dx = 0; dx < 2; ++dx) {
      const std::uint8_t* texel =
          image.texel(std::clamp(ix + dx, 0, image.width - 1), std::clamp(iy + dy, 0, image.height - 1));
      const double weight = (dx == 0 ? 1 - (x - ix) : x - ix) * (dy == 0 ? 1 - (y - iy) : y - iy);
      sum += weight * Vec3(texel[0], texel[1], texel[2]);
    }
  }
  return sum;
}

/// Differences in 8-bit levels (largest channel) between the two sides of the seams inside the body and
/// inside the stem, sorted.
std::vector<double> seamDifferences(const PumpkinMesh& mesh, const Image& image) {
  const Welded welded = weld(mesh);
  std::vector<double> differences;
  const auto cornerOf = [&](std::size_t t, std::uint32_t vertex) {
    for (std::size_t k = 0; k < 3; ++k) {
      if (welded.vertex[mesh.triangles[3 * t + k]] == vertex) return mesh.triangles[3 * t + k];
    }
    return mesh.triangles[3 * t];
  };
  for (const auto& [edge, triangles] : welded.edges) {
    if (edge.first > edge.second) continue;
    const std::size_t here = triangles[0], there = welded.edges.at({edge.second, edge.first})[0];
    if (mesh.parts[here] != mesh.parts[there]) continue;
    const std::uint32_t a0 = cornerOf(here, edge.first), a1 = cornerOf(here, edge.second);
    const std::uint32_t b0 = cornerOf(there, edge.first), b1 = cornerOf(there, edge.second);
    if (a0 == b0 && a1 == b1) continue;
    for (int i = 0; i < 8; ++i) {
      const float t = (static_cast<float>(i) + 0.5f) / 8;
      const Vec2f left = (1 - t) * mesh.uvs[a0] + t * mesh.uvs[a1];
      const Vec2f right = (1 - t) * mesh.uvs[b0] + t * mesh.uvs[b1];
      const Vec3 difference = bilinear(image, left.cast<double>()) - bilinear(image, right.cast<double>());
      differences.push_back(difference.cwiseAbs().maxCoeff());
    }
  }
  std::sort(differences.begin(), differences.end());
  return differences;
}

TEST(PumpkinPaint, SeamsAreInvisible) {
  const Image image = paintPumpkin();
  PumpkinMesh mesh = makePumpkinMesh();
  const auto differences = seamDifferences(mesh, image);
  ASSERT_GT(differences.size(), 500u);
  // Both sides show the same paint through different texel grids: alike to a few levels in smooth paint,
  // further apart on the borders of the small marks.
  EXPECT_LT(differences[differences.size() / 2], 5);
  EXPECT_LT(differences[differences.size() * 9 / 10], 24);

  // The measure itself: charts that are off by eight texels are seen.
  for (std::size_t i = 0; i < mesh.uvs.size(); ++i) {
    if (mesh.charts[i] == 1) mesh.uvs[i].y() += 8.0f / 1024;
  }
  const auto shifted = seamDifferences(mesh, image);
  EXPECT_GT(shifted[shifted.size() / 2], 2 * differences[differences.size() / 2]);
  EXPECT_GT(shifted[shifted.size() * 9 / 10], 24);
}

TEST(PumpkinPaint, HasSharpEdgesAndBothParts) {
  const Image image = paintPumpkin();
  std::size_t sharp = 0, dark = 0, orange = 0, green = 0;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x + 1 < image.width; ++x) {
      const std::uint8_t* a = image.texel(x, y);
      const std::uint8_t* b = image.texel(x + 1, y);
      if (std::abs(a[0] - b[0]) > 80) ++sharp;
      if (a[0] < 60 && a[1] < 40) ++dark;
      if (a[0] > 200 && a[1] > 80 && a[1] < 170 && a[2] < 80) ++orange;
      if (a[1] > a[0] && a[1] > a[2] + 30) ++green;
      ASSERT_EQ(a[3], 255);
    }
  }
  // An outline of the face alone is some 2,000 texels long.
  EXPECT_GT(sharp, 1500u);
  EXPECT_GT(dark, 3000u) << "the hollow";
  EXPECT_GT(orange, 200000u);
  EXPECT_GT(green, 20000u) << "the stem";
}

TEST(PumpkinPaint, SizesShowTheSamePicture) {
  PumpkinOptions options;
  options.texture_size = 512;
  const Image small = paintPumpkin(options);
  options.texture_size = 1024;
  const Image large = paintPumpkin(options);
  double sum = 0;
  for (int y = 0; y < 512; ++y) {
    for (int x = 0; x < 512; ++x) {
      for (int c = 0; c < 3; ++c) {
        const int mean = large.texel(2 * x, 2 * y)[c] + large.texel(2 * x + 1, 2 * y)[c] +
                         large.texel(2 * x, 2 * y + 1)[c] + large.texel(2 * x + 1, 2 * y + 1)[c];
        sum += std::abs(small.texel(x, y)[c] - mean / 4.0);
      }
    }
  }
  // Four samples per texel instead of sixteen: only borders of marks differ.
  EXPECT_LT(sum / (512.0 * 512 * 3), 2.0);
}

TEST(Pumpkin, SameOptionsSameBytesOnAnyThreadCount) {
  PumpkinOptions options;
  options.texture_size = 300;  // not a multiple of the block size
  const int threads = threadCount();
  setThreadCount(1);
  const Asset one = makePumpkin(options);
  setThreadCount(4);
  const Asset four = makePumpkin(options);
  setThreadCount(threads);
  EXPECT_EQ(one.images[0]->rgba, four.images[0]->rgba);
  EXPECT_EQ(one.meshes[0].primitives[0].positions, four.meshes[0].primitives[0].positions);
  EXPECT_EQ(*encodeGlb(one), *encodeGlb(four));

  options.seed = 2;
  const Asset other = makePumpkin(options);
  EXPECT_NE(one.images[0]->rgba, other.images[0]->rgba);
  EXPECT_NE(one.meshes[0].primitives[0].positions, other.meshes[0].primitives[0].positions);
}

TEST(Pumpkin, ComesBackFromAGlb) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "heatskin_pumpkin_test.glb";
  PumpkinOptions options;
  options.texture_size = 256;
  const Asset asset = makePumpkin(options);
  ASSERT_TRUE(writeGlb(path, asset).ok());
  const auto back = loadAsset(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_TRUE(back->notices.empty());
  ASSERT_EQ(back->meshes.size(), 1u);
  ASSERT_EQ(back->meshes[0].primitives.size(), 1u);
  const Primitive& was = asset.meshes[0].primitives[0];
  const Primitive& is = back->meshes[0].primitives[0];
  EXPECT_EQ(is.positions, was.positions);
  EXPECT_EQ(is.triangles, was.triangles);
  EXPECT_EQ(is.uv_sets, was.uv_sets);
  ASSERT_EQ(back->images.size(), 1u);
  EXPECT_EQ(back->images[0]->rgba, asset.images[0]->rgba);
  EXPECT_EQ(back->stored_vertices, asset.stored_vertices);
}

}  // namespace
}  // namespace heatskin
