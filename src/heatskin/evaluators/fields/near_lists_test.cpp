#include "heatskin/evaluators/fields/near_lists.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"

#include "support/products.h"
#include "support/tiny_surfaces.h"

namespace heatskin::fields {
namespace {

using Rows = Embedding::Rows;
constexpr std::size_t kDimensions = 5;

/// A crooked embedding: positions, stretched, with two coordinates that wave. No method is needed to test
/// lists.
std::vector<float> coordinatesOf(const Surface& surface) {
  std::vector<float> z;
  for (const Vec3& p : surface.positions()) {
    for (const double c : {0.5 * p.x(), 0.3 * p.y(), 0.6 * p.z(), 0.1 * std::sin(4 * p.x() + p.y()),
                           0.05 * std::cos(7 * p.z())})
      z.push_back(static_cast<float>(c));
  }
  return z;
}

Rows placesOf(const Surface& surface, const Embedding& embedding, const std::vector<SurfacePoint>& points) {
  Rows rows(points.size(), kDimensions);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto& f = surface.faces()[points[i].face];
    const Vec3f b = points[i].barycentric.cast<float>();
    rows.row(static_cast<Eigen::Index>(i)) = b[0] * embedding.rows().row(f[0]) +
                                             b[1] * embedding.rows().row(f[1]) +
                                             b[2] * embedding.rows().row(f[2]);
  }
  return rows;
}

/// How many of the nearest kernels of points all over the faces are missing in the faces' lists.
std::size_t missing(const Surface& surface, const Embedding& embedding, const KernelSet& set,
                    const Rows& kernels, const NearListBuilder::Nearness& nearness, const NearLists& lists) {
  std::vector<SurfacePoint> points = sampleSurface(surface, 200, 21);
  for (std::uint32_t f = 0; f < surface.faceCount(); f += 7) {  // corners and edges decide
    points.push_back({f, Vec3::UnitX()});
    points.push_back({f, Vec3::UnitZ()});
    points.push_back({f, {0.5, 0.5, 0}});
  }
  const Rows places = placesOf(surface, embedding, points);
  std::size_t count = 0;
  for (std::size_t q = 0; q < points.size(); ++q) {
    const std::uint32_t face = points[q].face;
    const std::set<std::uint32_t> listed(lists.face_kernels.begin() + lists.face_begin[face],
                                         lists.face_kernels.begin() + lists.face_begin[face + 1]);
    std::vector<std::pair<double, std::uint32_t>> near;
    for (std::uint32_t k = 0; k < kernels.rows(); ++k) {
      if (surface.components()[set.positions[k].face] != surface.components()[face]) continue;
      const double distance =
          (kernels.row(k) - places.row(static_cast<Eigen::Index>(q))).cast<double>().norm();
      if (distance < static_cast<double>(nearness.farthest)) near.emplace_back(distance, k);
    }
    std::sort(near.begin(), near.end());
    for (std::size_t n = 0; n < std::min(nearness.wanted, near.size()); ++n)
      count += listed.count(near[n].second) == 0;
  }
  return count;
}

void expectWellFormed(const Surface& surface, const NearLists& lists, std::size_t kernel_count) {
  ASSERT_EQ(lists.face_begin.size(), surface.faceCount() + 1);
  ASSERT_EQ(lists.vertex_begin.size(), surface.vertexCount() + 1);
  ASSERT_EQ(lists.kernel_begin.size(), kernel_count);
  ASSERT_EQ(lists.kernel_end.size(), kernel_count);
  ASSERT_EQ(lists.order.size(), kernel_count);
  ASSERT_EQ(lists.vertex_begin.back(), lists.pairCount());
  std::vector<std::size_t> seen(lists.pairCount(), 0), used(lists.pairCount(), 0);
  std::uint32_t begin = 0;
  for (const std::uint32_t k : lists.order) {
    ASSERT_EQ(lists.kernel_begin[k], begin) << "pairs lie in the order of the kernels";
    begin = lists.kernel_end[k];
    for (std::uint32_t n = lists.kernel_begin[k]; n < lists.kernel_end[k]; ++n) {
      const std::uint32_t v = lists.vertices[n], place = lists.places[n];
      EXPECT_EQ(lists.vertex_kernels[place], k);
      EXPECT_TRUE(place >= lists.vertex_begin[v] && place < lists.vertex_begin[v + 1]);
      ++seen[place];
    }
  }
  ASSERT_EQ(begin, lists.pairCount());
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    for (std::uint32_t n = lists.face_begin[f]; n < lists.face_begin[f + 1]; ++n) {
      if (n > lists.face_begin[f]) {
        EXPECT_LT(lists.face_kernels[n - 1], lists.face_kernels[n]);
      }
      for (std::size_t c = 0; c < 3; ++c) {
        const std::uint32_t v = surface.faces()[f][c], place = lists.corners[c][n];
        EXPECT_EQ(lists.vertex_kernels[place], lists.face_kernels[n]);
        EXPECT_TRUE(place >= lists.vertex_begin[v] && place < lists.vertex_begin[v + 1]);
        ++used[place];
      }
    }
  }
  for (std::size_t place = 0; place < lists.pairCount(); ++place) {
    EXPECT_EQ(seen[place], 1u);
    EXPECT_GT(used[place], 0u) << "pairs no face needs cost time";
  }
}

/// Every kernel moved by `length` in a direction of its own.
Rows moved(Rows places, float length, std::uint64_t seed) {
  const RandomStream random(seed, 4);
  for (Eigen::Index k = 0; k < places.rows(); ++k) {
    Eigen::RowVectorXf step(places.cols());
    for (Eigen::Index c = 0; c < step.size(); ++c)
      step[c] = static_cast<float>(random.uniform(static_cast<std::uint64_t>(k * step.size() + c)) - 0.5);
    places.row(k) += length * step.normalized();
  }
  return places;
}

struct Case {
  Surface surface;
  Embedding embedding;
  KernelSet kernels;
  Rows places;

  Case(const testing::Soup& soup, std::size_t count)
      : surface(testing::build(soup)), embedding(surface, coordinatesOf(surface), kDimensions) {
    kernels = testing::randomKernels(surface, count, 3);
    places = placesOf(surface, embedding, kernels.positions);
  }
};

TEST(NearLists, HoldTheNearestOfEveryPointAlsoAfterMoves) {
  const Case c(testing::bumpySphere(3, 0.2, 5), 900);
  NearListBuilder builder(c.surface, c.embedding);
  std::size_t pairs = 0;
  for (const float farthest : {10.0f, 0.15f}) {
    for (const float margin : {0.0f, 0.03f}) {
      const NearListBuilder::Nearness nearness{12, farthest, margin};
      NearLists lists;
      builder.build(c.kernels, c.places, nearness, lists);
      expectWellFormed(c.surface, lists, c.kernels.size());
      EXPECT_EQ(missing(c.surface, c.embedding, c.kernels, c.places, nearness, lists), 0u);
      for (const std::uint64_t seed : {1, 2}) {
        const Rows there = moved(c.places, margin, seed);
        EXPECT_EQ(missing(c.surface, c.embedding, c.kernels, there, nearness, lists), 0u)
            << "margin " << margin;
      }
      pairs = std::max(pairs, lists.pairCount());
    }
  }
  EXPECT_LT(pairs, c.kernels.size() * c.surface.vertexCount() / 4) << "not simply everything";
}

// The check above can fail: without a margin, moves lose kernels.
TEST(NearLists, TheCheckSeesMovesBeyondTheMargin) {
  const Case c(testing::bumpySphere(3, 0.2, 5), 900);
  NearListBuilder builder(c.surface, c.embedding);
  NearLists lists;
  const NearListBuilder::Nearness nearness{12, 10, 0};
  builder.build(c.kernels, c.places, nearness, lists);
  EXPECT_GT(missing(c.surface, c.embedding, c.kernels, moved(c.places, 0.1f, 1), nearness, lists), 0u);
}

TEST(NearLists, FewerKernelsThanWantedAreAllListedWithinReach) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{12}}) {
    const Case c(testing::torus(12, 9), count);
    NearListBuilder builder(c.surface, c.embedding);
    for (const float farthest : {10.0f, 0.2f}) {
      const NearListBuilder::Nearness nearness{12, farthest, 0.02f};
      NearLists lists;
      builder.build(c.kernels, c.places, nearness, lists);
      expectWellFormed(c.surface, lists, count);
      EXPECT_EQ(missing(c.surface, c.embedding, c.kernels, moved(c.places, 0.02f, 5), nearness, lists), 0u);
      if (farthest > 1) {
        EXPECT_EQ(lists.face_begin.back(), count * c.surface.faceCount());
      }
    }
  }
}

TEST(NearLists, LargeFacesAndOneBlock) {
  const Case c(testing::cube(1), 300);
  NearListBuilder builder(c.surface, c.embedding);
  const NearListBuilder::Nearness nearness{12, 10, 0.02f};
  NearLists lists;
  builder.build(c.kernels, c.places, nearness, lists);
  expectWellFormed(c.surface, lists, c.kernels.size());
  EXPECT_EQ(missing(c.surface, c.embedding, c.kernels, moved(c.places, 0.02f, 5), nearness, lists), 0u);
}

TEST(NearLists, NothingIsNearAcrossAGap) {
  testing::Soup soup = testing::icosphere(2);
  const testing::Soup other = soup;
  const auto first = static_cast<std::uint32_t>(soup.positions.size());
  for (const Vec3& p : other.positions)
    soup.positions.push_back(p + Vec3(40, 0, 0));
  for (const auto& f : other.faces)
    soup.faces.push_back({f[0] + first, f[1] + first, f[2] + first});
  const Case c(soup, 60);
  NearListBuilder builder(c.surface, c.embedding);
  // Components are some 0.9 apart.
  const NearListBuilder::Nearness nearness{50, 0.3f, 0.01f};
  NearLists lists;
  builder.build(c.kernels, c.places, nearness, lists);
  for (std::uint32_t f = 0; f < c.surface.faceCount(); ++f) {
    for (std::uint32_t n = lists.face_begin[f]; n < lists.face_begin[f + 1]; ++n)
      EXPECT_EQ(c.surface.components()[f],
                c.surface.components()[c.kernels.positions[lists.face_kernels[n]].face]);
  }
  EXPECT_EQ(missing(c.surface, c.embedding, c.kernels, c.places, nearness, lists), 0u);
}

TEST(NearLists, DoNotDependOnThreadsOrOnEarlierLists) {
  const Case c(testing::bumpySphere(3, 0.2, 5), 900);
  NearListBuilder used(c.surface, c.embedding);
  const NearListBuilder::Nearness nearness{12, 0.5f, 0.02f};
  NearLists first, lists;
  used.build(c.kernels, c.places, nearness, first);
  used.build(c.kernels, c.places, {30, 10, 0.1f}, lists);
  for (const int threads : {1, 2, 3, 8}) {
    setThreadCount(threads);
    used.build(c.kernels, c.places, nearness, lists);
    EXPECT_EQ(lists.vertex_kernels, first.vertex_kernels);
    EXPECT_EQ(lists.vertices, first.vertices);
    EXPECT_EQ(lists.places, first.places);
    EXPECT_EQ(lists.face_begin, first.face_begin);
    EXPECT_EQ(lists.face_kernels, first.face_kernels);
    EXPECT_EQ(lists.corners[1], first.corners[1]);
  }
  setThreadCount(0);
}

}  // namespace
}  // namespace heatskin::fields
