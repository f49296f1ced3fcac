#pragma once

// Where samples lie and what the channels should be there (METHOD section 1), by number; which of them make
// up a batch is the pool's business (pool.h).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "heatskin/base/channel_layout.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"
#include "heatskin/training/config.h"

namespace heatskin {

/// Samples in an order in which neighbours on the surface are near each other: a sorted batch then walks over
/// the surface instead of jumping, which is kind to caches and lets stratified draws cover it evenly.
class SampleSource {
 public:
  virtual ~SampleSource() = default;

  virtual std::size_t size() const = 0;

  /// The points of `indices` at their `draw`-th draw; `at` is the number of the first of them within the
  /// draw.
  virtual void points(std::uint64_t draw, std::size_t at, std::span<const std::uint32_t> indices,
                      std::span<SurfacePoint> out) const = 0;

  /// What the channels should be at points that points() gave: `values` is [points, C], parts of the ranges;
  /// `visibilities` is [points] if masked(), else empty.
  virtual void values(std::span<const std::uint32_t> indices, std::span<const SurfacePoint> points,
                      std::span<float> values, std::span<float> visibilities) const = 0;

  /// Whether channels that matter only where they are seen want their errors multiplied by visibilities.
  /// Their mean is 1 unless some channels matter everywhere.
  virtual bool masked() const = 0;
};

/// Sampling::kPaper: a stored pool of points drawn once, with a density proportional to visibility.
/// Sampling::kStratified: a part of the surface each, with another point at every draw, so that kernels
/// cannot overfit to the samples and none is stored. Something of the target must be visible. Surface and
/// target must outlive it.
std::unique_ptr<SampleSource> makeSamples(const Surface& surface, const FitTarget& target,
                                          const SamplingOptions& options, std::uint64_t seed);

}  // namespace heatskin
