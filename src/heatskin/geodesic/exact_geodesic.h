#pragma once

// Exact geodesic distances on the polyhedral surface: the truth that walks, unfoldings and approximate
// distances are compared with. For tests and tables; seconds, not milliseconds, on large meshes.

#include <cstddef>
#include <limits>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

struct ExactGeodesicOptions {
  /// Vertices further away are not reported (their distance is infinite); bounds time and memory.
  double radius = std::numeric_limits<double>::infinity();

  /// Safety limit on the work, in windows per face of the surface; real meshes need a few hundred.
  std::size_t max_windows_per_face = 20'000;

  /// Whose cancelled() is asked now and then; null: nobody stops it.
  const Progress* progress = nullptr;
};

struct ExactGeodesicOutcome {
  std::vector<double> distances;  // [V] from the source to every vertex; infinity: out of reach or of radius
  std::size_t windows = 0;        ///< propagated
  bool complete = true;    ///< false: the safety limit was reached, or it was stopped; upper bounds then
  bool cancelled = false;  ///< it was stopped
};

/// Lengths of the shortest paths on the surface from `source` to all vertices. Exact up to rounding: relative
/// error below 1e-9 on meshes without slivers. A source that is not on the surface gives infinite distances.
ExactGeodesicOutcome exactGeodesics(const Surface& surface, const SurfacePoint& source,
                                    const ExactGeodesicOptions& options = {});

/// The same from a vertex.
ExactGeodesicOutcome exactGeodesics(const Surface& surface, std::uint32_t source_vertex,
                                    const ExactGeodesicOptions& options = {});

}  // namespace heatskin
