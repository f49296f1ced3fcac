#pragma once

// What evaluators and the compositor hand to each other: responses of a block of queries, and gradient sums
// per kernel.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heatskin {

/// Candidates a query may have (METHOD section 3).
inline constexpr std::size_t kDefaultCandidates = 50;

/// Queries that should go through evaluator and compositor together: their responses stay in the second-level
/// cache.
inline constexpr std::size_t kQueryBlock = 64;

/// Responses of a block of queries, in the caller's memory; reused from block to block.
struct ResponseBlock {
  std::size_t stride = 0;              ///< room per query: the candidates, rounded up to whole vectors
  std::vector<std::uint32_t> counts;   // [Q] candidates found
  std::vector<std::uint32_t> kernels;  // [Q, stride]; up to the next whole vector entries are valid kernels
  std::vector<std::uint32_t> pairs;    // [Q, stride] private to the evaluator (where a pair's geometry is)
  std::vector<float> x;                // [Q, stride]
  std::vector<float> queries;          // private to the evaluator (what it worked out about the queries)

  /// Makes room for `count` queries with up to `candidates` candidates.
  void resize(std::size_t count, std::size_t candidates) {
    stride = (candidates + kWholeVector - 1) / kWholeVector * kWholeVector;
    counts.resize(count);
    kernels.resize(count * stride + kPadding);
    pairs.resize(count * stride + kPadding);
    x.resize(count * stride + kPadding);
  }

  /// No vector has more floats on the machines we compile for by blocks; wider ones read into the padding.
  static constexpr std::size_t kWholeVector = 16;
  static constexpr std::size_t kPadding = 64;
};

/// What the queries of a batch ask of one kernel: a row of float sums, one cache line. The evaluator fills
/// the first four, the compositor the rest.
struct GradientRow {
  static constexpr std::size_t kPositionX =
      0;  ///< dL/d(centre), in the coordinates Evaluator::finish() knows
  static constexpr std::size_t kPositionY = 1;
  static constexpr std::size_t kAngle = 2;
  static constexpr std::size_t kAnisotropy = 3;
  static constexpr std::size_t kFilter =
      4;  ///< four sums from which threshold and sharpness follow (compositor.h)
  static constexpr std::size_t kColor = 8;          ///< dL/d(residual colour), three channels
  static constexpr std::size_t kHits = 11;          ///< times among the kept kernels
  static constexpr std::size_t kContribution = 12;  ///< sum of f
  static constexpr std::size_t kError = 13;         ///< sum of point error x share of f
  static constexpr std::size_t kCost = 14;          ///< by how much the loss would rise without the kernel
  static constexpr std::size_t kSize = 16;
};

/// Sums over a part of the batch. Rows are zeroed when first touched, so a part that sees few kernels costs
/// little.
class GradientSums {
 public:
  /// Forgets everything; room for `kernels` rows.
  void reset(std::size_t kernels) {
    if (rows_.size() < kernels * GradientRow::kSize) {
      rows_.resize(kernels * GradientRow::kSize);
      stamps_.assign(kernels, 0);
      epoch_ = 0;
    }
    ++epoch_;
  }

  /// The row of a kernel, zero at first.
  float* row(std::uint32_t kernel) {
    float* row = rows_.data() + std::size_t{kernel} * GradientRow::kSize;
    if (stamps_[kernel] != epoch_) {
      stamps_[kernel] = epoch_;
      for (std::size_t i = 0; i < GradientRow::kSize; ++i)
        row[i] = 0;
    }
    return row;
  }

  /// The row of a kernel that row() returned since reset().
  float* present(std::uint32_t kernel) { return rows_.data() + std::size_t{kernel} * GradientRow::kSize; }

  /// The row, or null when nothing was added to it since reset().
  const float* find(std::uint32_t kernel) const {
    return stamps_[kernel] == epoch_ ? rows_.data() + std::size_t{kernel} * GradientRow::kSize : nullptr;
  }

 private:
  std::vector<float> rows_;
  std::vector<std::uint32_t> stamps_;
  std::uint32_t epoch_ = 0;
};

}  // namespace heatskin
