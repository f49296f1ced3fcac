#pragma once

// Area-uniform surface points (METHOD section 1). Point i of a stream is a pure function of (surface, seed,
// stream, i).

#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/surface/surface.h"

namespace heatskin {

/// Draws faces with probability proportional to area or another weight. Build once, draw anywhere.
class SurfaceSampler {
 public:
  explicit SurfaceSampler(const Surface& surface);

  /// Faces with these weights: not negative, their sum positive. A face without weight is never drawn.
  explicit SurfaceSampler(std::span<const double> face_weights);  // [F]

  /// The point for three uniforms in [0, 1): `u` chooses the face, (v, w) the place inside.
  SurfacePoint point(double u, double v, double w) const;

  /// Points first .. first + out.size() - 1 of the stream, in parallel.
  void sample(std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
              std::span<SurfacePoint> out) const;

 private:
  std::vector<double> cumulative_;    // [F] weight of faces 0..f; ends with the last face that has any
  std::vector<std::uint32_t> guide_;  // [G + 1] first face whose cumulative area reaches g / G of the total
};

/// `count` area-uniform points: SurfaceSampler for the common case.
std::vector<SurfacePoint> sampleSurface(const Surface& surface, std::size_t count, std::uint64_t seed,
                                        std::uint64_t stream = 0);

}  // namespace heatskin
