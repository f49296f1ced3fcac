#pragma once

// The loss of a batch and its gradient: the squared error, summed over channels with the weights of their
// groups, mean over the samples (METHOD section 4). For a tangent group that is the squared length of the
// difference, relative to the range.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/kernels/composite_block.h"
#include "heatskin/training/config.h"

namespace heatskin {

/// What a block of queries is to be, and how much each counts.
struct LossSamples {
  std::span<const float> targets;                       // [Q, C]
  std::span<const float> weights;                       // [Q] factors of the gradients
  std::span<const double> inverse_probability_weights;  // [Q] factors of the loss that is reported
  std::span<const float> visibilities = {};  // [Q] factors for channels that matter only where they are seen;
                                             // empty: all 1
  std::span<const std::uint32_t> left_out = {};  // [Q] bits of channels that do not count; empty: all do
};

/// What follows for each query of a block; reused from block to block.
struct LossBlock {
  std::vector<float> d_channels;       // [Q, C]
  std::vector<float> absolute_errors;  // [Q] mean over channels: the point error of density control; vectors
                                       // by their lengths
  std::vector<float> curvatures;       // [Q, C] where samples differ in what counts, else empty
};

/// Sums over the samples of a part of the batch.
struct LossSums {
  double loss = 0;  ///< squared errors times inverse-probability weights
  std::array<double, kMaxChannels> d_mean{};
};

/// See the head of the file.
class Loss {
 public:
  /// `batch` samples make up a step. What follows from the method (ClampGradient::kByMethod) is decided.
  Loss(std::size_t batch, ClampGradient clamp_gradient, const ChannelLayout& layout);

  /// Half the second derivatives of the loss in the channels of one sample, [C], or of every sample of a
  /// block, [Q, C], where they differ.
  std::span<const float> curvatures(const LossBlock& block) const {
    return block.curvatures.empty() ? std::span(curvatures_).first(channels_) : std::span(block.curvatures);
  }

  /// Errors and gradients of composited channels. `squared_errors` is [Q]; `out` is resized; `sums` is added
  /// to.
  void evaluate(const CompositeBlock& block, const ChannelValues& mean, const LossSamples& samples,
                LossBlock& out, std::span<float> squared_errors, LossSums& sums) const;

 private:
  float scale_;
  ClampGradient clamp_gradient_;
  std::size_t channels_;
  std::array<float, kMaxChannels> weights_{}, roots_{}, curvatures_{};  // [C] roots of the weights
  std::array<bool, kMaxChannels> everywhere_{}, is_tangent_{};
  std::vector<std::size_t> tangents_;  // first channels of tangent groups
};

}  // namespace heatskin
