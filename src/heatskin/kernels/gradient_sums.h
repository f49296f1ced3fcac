#pragma once

// What the queries of a batch ask of the kernels: for each kernel the sums that evaluator and compositor add
// to, from which its gradients and the statistics of density control follow.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/kernels/compositor.h"

namespace heatskin {

/// The evaluator's part.
struct GeometryGradient {
  float position_x = 0, position_y = 0;  ///< dL/d(centre), in the coordinates Evaluator::finish() knows
  float angle = 0;
  float anisotropy = 0;
};

/// What density control asks about a kernel.
struct KernelUse {
  float hits = 0;          ///< times among the kept kernels
  float contribution = 0;  ///< sum of f
  float error = 0;         ///< sum of point error x share of f
  float cost = 0;          ///< by how much the loss would rise without the kernel
};

/// The sums of one kernel: these, then dL/d(channel) for every channel. With up to four channels they are one
/// cache line.
struct GradientRow {
  GeometryGradient geometry;
  FilterSums<float> filter;  ///< threshold and sharpness follow from them
  KernelUse use;

  /// [C], then zeros up to whole vectors. Only of rows that a GradientSums made.
  float* channels() { return reinterpret_cast<float*>(this + 1); }
  const float* channels() const { return reinterpret_cast<const float*>(this + 1); }
};
// Vectorised code adds four floats at once.
static_assert(sizeof(GradientRow) == 12 * sizeof(float) && std::is_standard_layout_v<GradientRow> &&
              std::is_trivially_copyable_v<GradientRow>);

/// Sums over a part of the batch. Rows are zeroed when first touched, so a part that sees few kernels costs
/// little.
class GradientSums {
 public:
  /// Forgets everything; room for `kernels` rows.
  void reset(std::size_t kernels, std::size_t channels) {
    const std::size_t floats = sizeof(GradientRow) / sizeof(float) + channels;
    const std::size_t stride = (floats + kWhole - 1) / kWhole * kWhole * sizeof(float);
    if (lines_.size() * sizeof(Line) < kernels * stride || stride != stride_) {
      stride_ = stride;
      lines_.resize((kernels * stride + sizeof(Line) - 1) / sizeof(Line));
      stamps_.assign(std::max(kernels, stamps_.size()), 0);
      epoch_ = 0;
    }
    ++epoch_;
  }

  /// The row of a kernel, zero at first.
  GradientRow& row(std::uint32_t kernel) {
    if (stamps_[kernel] != epoch_) {
      stamps_[kernel] = epoch_;
      auto* row = new (at(kernel)) GradientRow;
      std::fill_n(row->channels(), channelFloats(), 0.0f);
    }
    return present(kernel);
  }

  /// The row of a kernel that row() returned since reset().
  GradientRow& present(std::uint32_t kernel) {
    return *std::launder(reinterpret_cast<GradientRow*>(at(kernel)));
  }

  /// The row, or null when nothing was added to it since reset().
  const GradientRow* find(std::uint32_t kernel) const {
    if (stamps_[kernel] != epoch_) return nullptr;
    return std::launder(reinterpret_cast<const GradientRow*>(at(kernel)));
  }

  /// Adds a row of other sums with as many channels.
  void add(std::uint32_t kernel, const GradientRow& other) {
    auto* to = reinterpret_cast<float*>(&row(kernel));
    const auto* from = reinterpret_cast<const float*>(&other);
    for (std::size_t i = 0; i < stride_ / sizeof(float); i += kWhole) {
      for (std::size_t c = 0; c < kWhole; ++c)
        to[i + c] += from[i + c];
    }
  }

  /// Floats of a row behind its named sums: the channels and zeros.
  std::size_t channelFloats() const { return (stride_ - sizeof(GradientRow)) / sizeof(float); }

 private:
  static constexpr std::size_t kWhole = 8;  ///< rows are whole vectors of so many floats

  /// Rows of 64 bytes, the most usual ones, lie within one cache line.
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  std::byte* at(std::uint32_t kernel) { return lines_.data()->bytes + kernel * stride_; }
  const std::byte* at(std::uint32_t kernel) const { return lines_.data()->bytes + kernel * stride_; }

  std::size_t stride_ = 0;  ///< bytes
  std::vector<Line> lines_;
  std::vector<std::uint32_t> stamps_;
  std::uint32_t epoch_ = 0;
};

}  // namespace heatskin
