#pragma once

// Colours of a block of queries from their responses, and the gradients back (METHOD section 3). The formulas
// are in compositor.h; here they run over many queries, vectorised over candidates.

#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/kernels/response_block.h"

namespace heatskin {

/// Kernel parameters the compositor reads, eight floats a kernel: s, eps, floor, inverse range, residual
/// colour, 0.
class FilterTable {
 public:
  static constexpr std::size_t kStride = 8;

  void build(const KernelSet& kernels);
  const float* row(std::uint32_t kernel) const { return rows_.data() + kStride * kernel; }
  const float* data() const { return rows_.data(); }
  const Vec3f& meanColor() const { return mean_color_; }

 private:
  std::vector<float> rows_;
  std::vector<float> floors_, inverse_ranges_;  // scratch of build()
  Vec3f mean_color_ = Vec3f::Zero();
};

/// The outcome for a block; reused from block to block.
struct CompositeBlock {
  std::vector<float> f;        // [Q, stride] soft-thresholded responses of the kept candidates
  std::vector<Vec3f> colors;   // [Q] clamped to [0, 1]
  std::vector<Vec3f> sums;     // [Q] sum of f c
  std::vector<float> weights;  // [Q] sum of f ("coverage")
};

/// Weights f up to this one are left out: fifty of them change a colour by less than a hundredth of an 8-bit
/// level.
inline constexpr float kNegligibleWeight = 5e-7f;

/// Forms colours. Candidates with a negligible weight or that are not among the `kept` strongest of their
/// query are removed from `responses` (counts shrink, the order of the others stays; ties go to the earlier
/// candidate).
void composite(ResponseBlock& responses, const FilterTable& filter, CompositeBlock& out,
               std::size_t kept = 30);

/// Backward of composite(): from dL/dcolour (already zero where the colour was clamped, if that is wanted) to
/// dL/dx (`dx`, [Q, stride], resized) and the compositor's entries of the rows in `sums`. `errors` is [Q],
/// the point error that is shared out to the kept kernels by their part of the weight (density control), or
/// empty. `curvature` is half the second derivative of the loss in a colour (1 / batch for the mean squared
/// error): the loss without a kernel follows from it exactly, as far as no colour is clamped.
void compositeVjp(const ResponseBlock& responses, const FilterTable& filter, const CompositeBlock& block,
                  std::span<const Vec3f> d_colors, std::span<const float> errors, float curvature,
                  std::vector<float>& dx, GradientSums& sums);

/// The same, one candidate after the other in plain code: the twins of the vectorised versions.
void compositeScalar(ResponseBlock& responses, const FilterTable& filter, CompositeBlock& out,
                     std::size_t kept = 30);
void compositeVjpScalar(const ResponseBlock& responses, const FilterTable& filter,
                        const CompositeBlock& block, std::span<const Vec3f> d_colors,
                        std::span<const float> errors, float curvature, std::vector<float>& dx,
                        GradientSums& sums);

}  // namespace heatskin
