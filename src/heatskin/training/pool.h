#pragma once

// The sample pool and the batches drawn from it (METHOD section 1).

#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"
#include "heatskin/training/options.h"

namespace heatskin {

/// Samples with what the channels should be there, uniform over the visible surface (sampleVisible()), in an
/// order in which neighbours on the surface are near each other: a sorted batch then walks over the surface
/// instead of jumping, which is kind to caches and lets stratified draws cover it evenly.
class SamplePool {
 public:
  /// Something of the target must be visible.
  SamplePool(const Surface& surface, const FitTarget& target, const SamplingOptions& options,
             std::uint64_t seed);

  std::size_t size() const { return points_.size(); }
  std::span<const SurfacePoint> points() const { return points_; }
  const ChannelTable& targets() const { return targets_; }  ///< [size, C] parts of the ranges

  /// [size] how much of each sample is seen, where samples are everywhere (ChannelLayout::everywhere()) and
  /// some are not seen; empty otherwise: then density is proportional to visibility.
  std::span<const float> visibilities() const { return visibilities_; }
  std::span<const float> errors() const { return errors_; }

  const ChannelLayout& layout() const { return layout_; }

  /// Of all constants the one with the least squared error on the pool; what nobody sees does not count,
  /// except for channels that matter everywhere.
  ChannelValues mean() const;

  /// Prepares batch `step` of `count` samples: increasing pool indices (the same sample may come twice).
  void prepareDraw(int step, bool uniform, std::size_t count);

  /// Samples [first, first + indices.size()) of the batch prepared last; parts may be drawn concurrently.
  void draw(std::size_t first, std::span<std::uint32_t> indices) const;

  /// True if losses of the batch prepared last want lossWeight().
  bool weighted() const { return !uniform_ && options_.correction > 0; }

  /// How much less often than in uniform batches a sample of the batch prepared last is drawn: the mean of
  /// losses times this is the mean over the surface.
  double inverseProbabilityWeight(std::uint32_t index) const;

  /// Factor for the loss of a sample that makes up, in part, for being drawn more or less often than others.
  float lossWeight(std::uint32_t index) const;

  /// Tells the losses of a batch that was drawn.
  void visit(std::span<const std::uint32_t> indices, std::span<const float> losses);

  /// For checkpoints.
  void restoreErrors(std::span<const float> errors);

 private:
  /// Before the first draw that is not uniform.
  void beginFollowing();
  void renewSum(std::size_t block);

  SamplingOptions options_;
  std::uint64_t seed_;
  std::vector<SurfacePoint> points_;
  ChannelLayout layout_;
  ChannelTable targets_;
  std::vector<float> visibilities_;
  std::vector<float> errors_;
  std::vector<double> sums_;  // [blocks] of kSumBlock errors (weights); empty while draws are uniform
  // The batch prepared last.
  bool uniform_ = true;
  std::vector<double> draws_;   // [batch] increasing, in [0, 1)
  std::vector<double> before_;  // [coarse blocks + 1] sums before each group of kGroup blocks
};

}  // namespace heatskin
