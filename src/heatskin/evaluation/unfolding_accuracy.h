#pragma once

// How well LocalHK's developments measure distance (paper, "Locality and geometric validation"): against
// exact geodesics, from vertices to everything within a radius.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/evaluators/method.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Exact geodesic distances from one vertex.
struct ExactDistances {
  std::uint32_t source = 0;       ///< vertex
  std::vector<double> vertices;   // [V]; infinite beyond the radius they were computed for
  std::vector<double> centroids;  // [F]; the same, to the faces' centroids; or empty
};

/// From our own solver: vertices and centroids within `radius`. Every face is split at its centroid, which
/// changes no distance.
std::vector<ExactDistances> exactDistances(const Surface& surface, std::span<const std::uint32_t> sources,
                                           double radius);

/// Percentiles are of |developed - exact| / exact, in percent. A vertex is measured from the face around it
/// that the propagation reached first; the developed distance is that to the developed centre, not shorter
/// than the chord in space (as the evaluator's).
struct UnfoldingAccuracy {
  std::size_t pairs = 0;                ///< of a source and another vertex within the radius, exactly
  double missed = 0;                    ///< share of the pairs no face around which was reached
  double median = 0, p90 = 0, p99 = 0;  ///< of the pairs that were reached
  double below_exact = 0;               ///< share of the reached pairs developed too short, by 1e-6 or more
  std::size_t face_pairs = 0;           ///< of a source and a face whose centroid is within the radius
  double faces_missed = 0;              ///< share of these that were not reached
};

/// Where a source vertex lies for the propagation: in a corner of one of its faces, this part of the way to
/// the centroid inside. Less than float rounding of a distance, but on the right side of every edge.
inline constexpr double kInside = 1e-5;

/// Propagates supports of `radius` from the sources, with the sight and edge tolerance of `options`.
UnfoldingAccuracy unfoldingAccuracy(const Surface& surface, std::span<const ExactDistances> exact,
                                    double radius, const local::LocalOptions& options,
                                    double inside = kInside);

}  // namespace heatskin
