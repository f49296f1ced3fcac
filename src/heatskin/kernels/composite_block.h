#pragma once

// The channels (colours) of a block of queries from their responses, and the gradients back (METHOD section
// 3). The formulas are in compositor.h; here they run over many queries, vectorised over candidates.

#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/kernels/gradient_sums.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/kernels/response_block.h"

namespace heatskin {

/// Kernel parameters the compositor reads, a row of floats each: s, eps, floor, inverse range, then the
/// channels and zeros up to whole groups of four.
class FilterTable {
 public:
  static constexpr std::size_t kChannels = 4;  ///< where the channels begin in a row

  void build(const KernelSet& kernels);
  const float* row(std::uint32_t kernel) const { return rows_.data() + stride_ * kernel; }
  std::size_t channels() const { return static_cast<std::size_t>(mean_.size()); }
  const ChannelValues& mean() const { return mean_; }
  /// The first channel of every tangent group.
  std::span<const std::size_t> tangents() const { return tangents_; }

 private:
  static constexpr std::size_t kPadding = 4;  ///< vectors of two are read with what follows

  std::size_t stride_ = 0;
  std::vector<float> rows_;
  std::vector<float> floors_, inverse_ranges_;  // scratch of build()
  ChannelValues mean_;
  std::vector<std::size_t> tangents_;
};

/// The outcome for a block; reused from block to block.
struct CompositeBlock {
  std::vector<float> f;        // [Q, stride] soft-thresholded responses of the kept candidates
  ChannelTable channels;       // [Q, C] clamped to [0, 1]; vectors are shortened
  ChannelTable sums;           // [Q, C] sum of f c, vectors turned to the query's face coordinates
  std::vector<float> weights;  // [Q] sum of f ("coverage")

  /// Makes room for the outcome of `responses`.
  void resize(const ResponseBlock& responses, std::size_t channel_count);

  /// The vector of query `q` whose channels begin at `first`, from the sum of f R c.
  void setTangent(std::size_t q, std::size_t first, const Vec2f& sum, float divisor);
};

/// Weights f up to this one are left out: fifty of them change a channel by less than a hundredth of an 8-bit
/// level.
inline constexpr float kNegligibleWeight = 5e-7f;

/// Forms channels. Candidates with a negligible weight or that are not among the `kept` strongest of their
/// query are removed from `responses` (counts shrink, the order of the others stays; ties go to the earlier
/// candidate). Channels of tangent groups mean nothing until compositeTangents() has run.
void composite(ResponseBlock& responses, const FilterTable& filter, CompositeBlock& out,
               std::size_t kept = 30);

/// The tangent groups, after composite(), from the rotations in `responses`: sum of f R c, divided as other
/// channels are. A vector that is too long is shortened.
void compositeTangents(const ResponseBlock& responses, const FilterTable& filter, CompositeBlock& out);

/// Backward of composite() and compositeTangents(): from dL/dchannel (`d_channels`, [Q, C], already zero
/// where it was clamped, if that is wanted) to dL/dx (`dx`, [Q, stride], resized) and the compositor's part
/// of the rows in `sums`. `errors` is [Q], the point error that is shared out to the kept kernels by their
/// part of the weight (density control), or empty. `curvatures` are half the second derivatives of the loss
/// in the channels, [C] or [Q, C] (1 / batch for the mean squared error): the loss without a kernel follows
/// from them exactly, as far as nothing is clamped. Gradients of vectors are in face coordinates of the
/// kernel's face: rotations are constants.
void compositeVjp(const ResponseBlock& responses, const FilterTable& filter, const CompositeBlock& block,
                  std::span<const float> d_channels, std::span<const float> errors,
                  std::span<const float> curvatures, std::vector<float>& dx, GradientSums& sums);

/// The same, one candidate after the other in plain code: the twins of the vectorised versions.
void compositeScalar(ResponseBlock& responses, const FilterTable& filter, CompositeBlock& out,
                     std::size_t kept = 30);
void compositeTangentsScalar(const ResponseBlock& responses, const FilterTable& filter, CompositeBlock& out);
void compositeVjpScalar(const ResponseBlock& responses, const FilterTable& filter,
                        const CompositeBlock& block, std::span<const float> d_channels,
                        std::span<const float> errors, std::span<const float> curvatures,
                        std::vector<float>& dx, GradientSums& sums);

}  // namespace heatskin
