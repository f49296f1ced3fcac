#pragma once

// Which samples make up a batch (METHOD section 1).

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"
#include "heatskin/training/config.h"
#include "heatskin/training/samples.h"

namespace heatskin {

/// Batches of samples, drawn uniformly or by importance: in proportion to the errors that visits told.
class SamplePool {
 public:
  /// Something of the target must be visible. Surface and target must outlive it.
  SamplePool(const Surface& surface, const FitTarget& target, const SamplingOptions& options,
             std::uint64_t seed);

  std::size_t size() const { return errors_.size(); }
  const SampleSource& samples() const { return *samples_; }
  std::span<const float> errors() const { return errors_; }
  const ChannelLayout& layout() const { return layout_; }

  /// Whether channels are left out on some faces: those of groups that have one known value there
  /// (FitTarget::constantGroups()). Their errors count nothing.
  bool partial() const { return !left_out_.empty(); }

  /// Bits of the channels that are left out on a face.
  std::uint32_t leftOut(std::uint32_t face) const { return left_out_.empty() ? 0 : left_out_[face]; }

  /// Of all constants the one with the least squared error on the pool; what nobody sees does not count,
  /// except for channels that matter everywhere.
  ChannelValues mean() const;

  /// Prepares batch `step` of `count` samples: increasing pool indices (the same sample may come twice).
  void prepareDraw(int step, bool uniform, std::size_t count);

  /// Samples [first, first + indices.size()) of the batch prepared last; parts may be drawn concurrently.
  /// Their points are samples().points(step, first, indices, ...).
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
  void drawFollowing(std::size_t first, std::span<std::uint32_t> indices) const;

  SamplingOptions options_;
  std::uint64_t seed_;
  std::unique_ptr<const SampleSource> samples_;
  ChannelLayout layout_;
  std::vector<std::uint32_t> left_out_;  // [F] or empty
  std::vector<float> errors_;
  std::vector<double> sums_;  // [blocks] of kSumBlock errors (weights); empty while draws are uniform
  // The batch prepared last.
  bool uniform_ = true;
  std::vector<double> draws_;   // [batch] increasing, in [0, 1)
  std::vector<double> before_;  // [coarse blocks + 1] sums before each group of kGroup blocks
  double mean_weight_ = 1;
};

}  // namespace heatskin
