#pragma once

// The finished texture: a kernel set bound to a surface and an evaluator; values for every surface point.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

class FilterTable;

/// Faces whose values need no kernels, all of them or those of some channels. A texture returns them as they
/// are.
struct ConstantFaces {
  std::vector<std::uint32_t> row_of_face;  // [F] row of values, kNone: has kernels; empty: no such face
  ChannelTable values;                     // [rows, C] within the ranges of the layout
  std::vector<std::uint32_t> channels;     // [rows] bits of the channels that count; empty: all of them

  bool empty() const { return row_of_face.empty(); }

  /// The C values of a face; null if kernels decide about all of them.
  const float* find(std::uint32_t face) const {
    return empty() || row_of_face[face] == kNone ? nullptr : values.row(row_of_face[face]);
  }

  /// Bits of the channels that find() has an answer for.
  std::uint32_t channelsOf(std::uint32_t face) const {
    if (empty() || row_of_face[face] == kNone) return 0;
    return channels.empty() ? ~0u : channels[row_of_face[face]];
  }
};

/// See the head of the file. Immutable; queries may run concurrently.
class KernelTexture {
 public:
  /// Fails as makeEvaluator() does, and when the kernels reach more faces than can be held or than the memory
  /// budget allows (base/memory_budget.h). Faces of `constants` have their values and, if these
  /// are all, a coverage of 1, whatever the kernels are; the constants have the kernels' channels.
  static Result<KernelTexture> create(std::shared_ptr<const Surface> surface, KernelSet kernels,
                                      const EvaluatorOptions& options, const Preparation& preparation = {},
                                      ConstantFaces constants = {});

  /// The same with an evaluator that was made for this surface and these options, such as that of the fit. It
  /// is rebuilt for `kernels`; from then on it belongs to the texture alone.
  static Result<KernelTexture> withEvaluator(std::shared_ptr<const Surface> surface, KernelSet kernels,
                                             const EvaluatorOptions& options,
                                             std::shared_ptr<Evaluator> evaluator,
                                             ConstantFaces constants = {});

  /// The same kernels with other values, another mean and other constants, such as those of a material
  /// variant; layout and everything else are the same. Evaluator and surface are shared.
  KernelTexture withValues(KernelSet kernels, ConstantFaces constants) const;

  const Surface& surface() const { return *surface_; }
  const KernelSet& kernels() const { return kernels_; }
  const ChannelLayout& layout() const { return kernels_.layout; }
  const EvaluatorOptions& options() const { return options_; }
  const Evaluator& evaluator() const { return *evaluator_; }
  const ConstantFaces& constants() const { return constants_; }

  /// Values of all channels, within the ranges of the layout, and weight sums ("coverage"; below 1 values
  /// fall back to the mean). Vectors of tangent groups are in face coordinates of the point's face, as those
  /// of a FitTarget. `values` is [points, C]; `weights` is [points] or empty.
  void values(std::span<const SurfacePoint> points, std::span<float> values,
              std::span<float> weights = {}) const;

  /// The same with the vectors of tangent groups in space, x, y and z in the axes of the asset's coordinates:
  /// nobody needs to know frames. Their lengths are those of the values. `values` is
  /// [points, layout().spaceSize()].
  void valuesInSpace(std::span<const SurfacePoint> points, std::span<float> values,
                     std::span<float> weights = {}) const;

  /// Colours alone (base_color, sRGB in [0, 1]), which the layout must have; `colors` is [points].
  void colors(std::span<const SurfacePoint> points, std::span<Vec3f> colors,
              std::span<float> weights = {}) const;

 private:
  KernelTexture() = default;

  /// Calls take(first, points, their values [points, C]) for pieces of moderate memory.
  template <class Take>
  void forPieces(std::span<const SurfacePoint> points, std::span<float> weights, std::size_t channels,
                 const Take& take) const;

  std::shared_ptr<const Surface> surface_;
  KernelSet kernels_;
  EvaluatorOptions options_;
  std::shared_ptr<const Evaluator> evaluator_;
  std::shared_ptr<const FilterTable> filter_;
  ConstantFaces constants_;
};

}  // namespace heatskin
