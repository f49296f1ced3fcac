#include "heatskin/evaluation/seam_jump.h"

#include <algorithm>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/metrics/statistics.h"

namespace heatskin {
namespace {

constexpr std::uint64_t kEdgeStream = 42;
constexpr std::size_t kPairsPerBlock = 4096;

}  // namespace

std::vector<EdgePoint> sampleEdges(const Surface& surface, std::size_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> half_edges;  // one of each pair
  std::vector<double> cumulative;
  double total = 0;
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    for (std::uint32_t e = 0; e < 3; ++e) {
      const std::uint32_t twin = surface.twins()[f][e];
      if (twin == kNone || twin < 3 * f + e) continue;
      const auto& corners = surface.corners()[f];
      total += (corners[(e + 1) % 3] - corners[e]).norm();
      half_edges.push_back(3 * f + e);
      cumulative.push_back(total);
    }
  }
  if (half_edges.empty()) return {};

  std::vector<EdgePoint> points(count);
  const RandomStream random(seed, kEdgeStream);
  parallelFor(count, kPairsPerBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto [where, t] = random.uniform2(i);
      const auto found = std::upper_bound(cumulative.begin(), cumulative.end(), where * total);
      const auto edge = std::min(static_cast<std::size_t>(found - cumulative.begin()), half_edges.size() - 1);
      const std::uint32_t here = half_edges[edge], there = surface.twins()[here / 3][here % 3];
      Vec3 first = Vec3::Zero(), second = Vec3::Zero();
      first[here % 3] = 1 - t;
      first[(here % 3 + 1) % 3] = t;
      // The twin runs the other way.
      second[there % 3] = t;
      second[(there % 3 + 1) % 3] = 1 - t;
      points[i] = {{here / 3, first}, {there / 3, second}};
    }
  });
  return points;
}

SeamJump seamJump(const Surface& surface, const ColorSource& colors, std::size_t count, std::uint64_t seed,
                  const VisibilitySource& visibility) {
  const std::vector<EdgePoint> edges = sampleEdges(surface, count, seed);
  SeamJump result;
  std::vector<double> jumps;
  jumps.reserve(edges.size());
  std::vector<SurfacePoint> points;
  std::vector<Vec3f> first, second;
  std::vector<float> seen_first, seen_second;
  for (std::size_t begin = 0; begin < edges.size(); begin += kColorBatch) {
    const std::size_t size = std::min(kColorBatch, edges.size() - begin);
    const std::span batch = std::span(edges).subspan(begin, size);
    points.resize(size);
    first.resize(size);
    second.resize(size);
    seen_first.assign(size, 1.0f);
    seen_second.assign(size, 1.0f);
    std::transform(batch.begin(), batch.end(), points.begin(), [](const EdgePoint& e) { return e.first; });
    colors(points, first);
    if (visibility) visibility(points, seen_first);
    std::transform(batch.begin(), batch.end(), points.begin(), [](const EdgePoint& e) { return e.second; });
    colors(points, second);
    if (visibility) visibility(points, seen_second);
    for (std::size_t i = 0; i < size; ++i) {
      if (!(std::min(seen_first[i], seen_second[i]) > 0)) continue;
      jumps.push_back(255 * static_cast<double>((first[i] - second[i]).cwiseAbs().maxCoeff()));
    }
  }
  result.points = jumps.size();
  if (jumps.empty()) return result;
  result.median = percentile(jumps, 50);
  result.p99 = percentile(jumps, 99);
  result.maximum = *std::max_element(jumps.begin(), jumps.end());
  result.above_one =
      static_cast<double>(std::count_if(jumps.begin(), jumps.end(), [](double jump) { return jump > 1; })) /
      static_cast<double>(jumps.size());
  return result;
}

}  // namespace heatskin
