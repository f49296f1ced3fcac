#pragma once

// What the queries of a batch ask of the kernels: for each kernel the sums that evaluator and compositor add
// to, from which its gradients and the statistics of density control follow.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
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

/// Room for one row with any number of channels.
class GradientRowBuffer {
 public:
  GradientRowBuffer() { clear(); }
  GradientRow& clear() {
    auto* row = new (bytes_) GradientRow;
    std::fill_n(row->channels(), kMaxChannels + kPadding, 0.0f);
    return *row;
  }

 private:
  static constexpr std::size_t kPadding = 8;  ///< rows end with whole vectors
  alignas(64) std::byte bytes_[sizeof(GradientRow) + (kMaxChannels + kPadding) * sizeof(float)];
};

/// Sums over a part of the batch. Rows are made when first touched, one after the other: what a part costs,
/// in time and memory, goes with the kernels it sees, but for four bytes for each of all kernels: a table
/// that finds rows. Parts that are worked on one after the other can share it.
class GradientSums {
 public:
  /// Forgets everything and finds rows by a table that giveTable() returned, or an empty one. reset() must
  /// follow.
  void takeTable(std::vector<std::uint32_t> table) {
    touched_.clear();
    slots_ = std::move(table);
  }

  /// Hands the table out. Until the next takeTable() only touched() and at() can be used.
  std::vector<std::uint32_t> giveTable() {
    for (const std::uint32_t kernel : touched_)
      slots_[kernel] = kNoSlot;
    return std::move(slots_);
  }

  /// Forgets everything; kernels below `kernels` may come.
  void reset(std::size_t kernels, std::size_t channels) {
    for (const std::uint32_t kernel : touched_)
      slots_[kernel] = kNoSlot;
    touched_.clear();
    if (slots_.size() < kernels) slots_.resize(kernels, kNoSlot);
    const std::size_t floats = sizeof(GradientRow) / sizeof(float) + channels;
    stride_ = (floats + kWhole - 1) / kWhole * kWhole * sizeof(float);
  }

  /// The row of a kernel, zero at first. Rows move when another kernel comes for the first time.
  GradientRow& row(std::uint32_t kernel) {
    if (slots_[kernel] == kNoSlot) touch(kernel);
    return present(kernel);
  }

  /// The row of a kernel that row() returned since reset().
  GradientRow& present(std::uint32_t kernel) { return at(slots_[kernel]); }

  /// The row, or null when nothing was added to it since reset().
  const GradientRow* find(std::uint32_t kernel) const {
    return slots_[kernel] == kNoSlot ? nullptr : &at(slots_[kernel]);
  }

  /// The kernels that have rows, in the order they came; the n-th has row at(n).
  std::span<const std::uint32_t> touched() const { return touched_; }
  const GradientRow& at(std::size_t slot) const {
    return *std::launder(reinterpret_cast<const GradientRow*>(lines_.data()->bytes + slot * stride_));
  }

  /// Adds a row of other sums with as many channels to one of ours.
  void add(GradientRow& to, const GradientRow& other) const {
    auto* sum = reinterpret_cast<float*>(&to);
    const auto* from = reinterpret_cast<const float*>(&other);
    for (std::size_t i = 0; i < stride_ / sizeof(float); i += kWhole) {
      for (std::size_t c = 0; c < kWhole; ++c)
        sum[i + c] += from[i + c];
    }
  }

  /// Floats of a row behind its named sums: the channels and zeros.
  std::size_t channelFloats() const { return (stride_ - sizeof(GradientRow)) / sizeof(float); }

 private:
  static constexpr std::size_t kWhole = 8;  ///< rows are whole vectors of so many floats
  static constexpr std::uint32_t kNoSlot = 0xFFFFFFFFu;

  /// Rows of 64 bytes, the most usual ones, lie within one cache line.
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  GradientRow& at(std::size_t slot) {
    return *std::launder(reinterpret_cast<GradientRow*>(lines_.data()->bytes + slot * stride_));
  }

  void touch(std::uint32_t kernel) {
    const std::size_t slot = touched_.size();
    slots_[kernel] = static_cast<std::uint32_t>(slot);
    touched_.push_back(kernel);
    if (lines_.size() * sizeof(Line) < (slot + 1) * stride_) {
      // By a quarter, not by what vectors like to grow by: there are millions of rows in a large fit.
      const std::size_t lines = lines_.size() + lines_.size() / 4 + 64 + stride_ / sizeof(Line);
      lines_.reserve(lines);
      lines_.resize(lines);
    }
    auto* row = new (lines_.data()->bytes + slot * stride_) GradientRow;
    std::fill_n(row->channels(), channelFloats(), 0.0f);
  }

  std::size_t stride_ = 0;  ///< bytes
  std::vector<Line> lines_;
  std::vector<std::uint32_t> slots_;    // [kernels]
  std::vector<std::uint32_t> touched_;  // kernels with rows
};

}  // namespace heatskin
