#include "heatskin/evaluation/unfolding_accuracy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "heatskin/base/parallel.h"
#include "heatskin/evaluators/local/supports.h"
#include "heatskin/geodesic/exact_geodesic.h"
#include "heatskin/metrics/statistics.h"

namespace heatskin {
namespace {

constexpr double kUnreached = std::numeric_limits<double>::infinity();
constexpr double kTooShort = 1e-6;  // relative; float developments are this uncertain

/// What one source contributes.
struct Part {
  std::vector<double> errors;  // percent
  std::size_t pairs = 0, missed = 0, below = 0, face_pairs = 0, faces_missed = 0;
};

Part measure(const Surface& surface, const local::SupportBuilder& builder, const ExactDistances& exact,
             double radius, double inside) {
  const std::uint32_t half_edge = surface.vertexHalfEdge()[exact.source];
  local::SupportSource source;
  source.face = half_edge / 3;
  // The centroid is the origin of face coordinates.
  source.center = ((1 - inside) * surface.corners()[source.face][half_edge % 3]).cast<float>();
  source.radius = static_cast<float>(radius);

  std::vector<double> developed(surface.vertexCount(), kUnreached);
  std::vector<std::uint8_t> reached(surface.faceCount(), 0);
  for (const auto& [face, motion] : builder.propagate(source)) {
    reached[face] = 1;
    const Vec2f center(motion.cosine * source.center.x() - motion.sine * source.center.y() + motion.x,
                       motion.sine * source.center.x() + motion.cosine * source.center.y() + motion.y);
    for (std::size_t c = 0; c < 3; ++c) {
      double& distance = developed[surface.faces()[face][c]];
      if (distance == kUnreached) distance = (surface.corners()[face][c] - center.cast<double>()).norm();
    }
  }

  Part part;
  for (std::uint32_t v = 0; v < surface.vertexCount(); ++v) {
    const double truth = exact.vertices[v];
    if (v == exact.source || !(truth <= radius)) continue;
    ++part.pairs;
    if (developed[v] == kUnreached) {
      ++part.missed;
      continue;
    }
    const double chord = (surface.positions()[v] - surface.positions()[exact.source]).norm();
    const double distance = std::max(developed[v], chord);
    part.errors.push_back(100 * std::abs(distance - truth) / truth);
    part.below += distance < (1 - kTooShort) * truth ? 1 : 0;
  }
  for (std::uint32_t f = 0; f < exact.centroids.size(); ++f) {
    if (!(exact.centroids[f] <= radius)) continue;
    ++part.face_pairs;
    part.faces_missed += reached[f] != 0 ? 0 : 1;
  }
  return part;
}

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::vector<ExactDistances> exactDistances(const Surface& surface, std::span<const std::uint32_t> sources,
                                           double radius) {
  std::vector<Vec3> positions(surface.positions().begin(), surface.positions().end());
  std::vector<std::array<std::uint32_t, 3>> faces;
  for (const auto& face : surface.faces()) {
    const auto center = static_cast<std::uint32_t>(positions.size());
    positions.push_back((positions[face[0]] + positions[face[1]] + positions[face[2]]) / 3);
    for (std::size_t e = 0; e < 3; ++e)
      faces.push_back({face[e], face[(e + 1) % 3], center});
  }
  SurfaceOptions options;
  options.principal_axes = false;
  std::vector<ExactDistances> result(sources.size());
  const auto split = Surface::build(positions, faces, options);
  const std::size_t vertices = surface.vertexCount(), centroids = surface.faceCount();
  // Our vertices come first and are all used, so the split surface keeps their numbers.
  if (!split || split->vertexCount() != vertices + centroids) return {};
  const double unit = 1 / split->surfaceFromAsset().scale;
  parallelFor(sources.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      ExactGeodesicOptions bounded;
      bounded.radius = radius / unit;
      auto outcome = exactGeodesics(*split, sources[i], bounded);
      for (double& distance : outcome.distances)
        distance *= unit;
      const auto middle = outcome.distances.begin() + static_cast<std::ptrdiff_t>(vertices);
      result[i] = {sources[i], {outcome.distances.begin(), middle}, {middle, outcome.distances.end()}};
    }
  });
  return result;
}

UnfoldingAccuracy unfoldingAccuracy(const Surface& surface, std::span<const ExactDistances> exact,
                                    double radius, const local::LocalOptions& options, double inside) {
  const local::SupportBuilder builder(surface, options);
  UnfoldingAccuracy result;
  std::vector<double> errors;
  std::size_t missed = 0, below = 0, faces_missed = 0;
  for (const ExactDistances& distances : exact) {
    const Part part = measure(surface, builder, distances, radius, inside);
    errors.insert(errors.end(), part.errors.begin(), part.errors.end());
    result.pairs += part.pairs;
    result.face_pairs += part.face_pairs;
    missed += part.missed;
    below += part.below;
    faces_missed += part.faces_missed;
  }
  result.missed = share(missed, result.pairs);
  result.below_exact = share(below, errors.size());
  result.faces_missed = share(faces_missed, result.face_pairs);
  if (!errors.empty()) {
    result.median = percentile(errors, 50);
    result.p90 = percentile(errors, 90);
    result.p99 = percentile(errors, 99);
  }
  return result;
}

}  // namespace heatskin
