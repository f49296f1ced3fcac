#pragma once

// What evaluators hand to the compositor: responses of a block of queries.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace heatskin {

/// Candidates a query may have (METHOD section 3).
inline constexpr std::size_t kDefaultCandidates = 50;

/// The most it may have, whatever options say.
inline constexpr std::size_t kMostCandidates = 256;

/// Queries that should go through evaluator and compositor together: their responses stay in the second-level
/// cache.
inline constexpr std::size_t kQueryBlock = 64;

/// Responses of a block of queries, in the caller's memory; reused from block to block.
struct ResponseBlock {
  std::size_t stride = 0;              ///< room per query: the candidates, rounded up to whole vectors
  std::vector<std::uint32_t> counts;   // [Q] candidates found
  std::vector<std::uint32_t> kernels;  // [Q, stride]; up to the next whole vector entries are valid kernels
  std::vector<std::uint32_t> pairs;    // [Q, stride] where the evaluator has the geometry of kernel and query
  std::vector<float> x;                // [Q, stride]
  // For textures with tangent groups: the rotation by which a kernel's vector appears in the face coordinates
  // of the query. Valid for the candidates that were left when EvaluatorBatch::turns() ran.
  std::vector<float> cosines, sines;  // [Q, stride], or empty

  /// Makes room for `count` queries with up to `candidates` candidates.
  void resize(std::size_t count, std::size_t candidates) {
    stride = (candidates + kWholeVector - 1) / kWholeVector * kWholeVector;
    counts.resize(count);
    kernels.resize(count * stride + kPadding);
    pairs.resize(count * stride + kPadding);
    x.resize(count * stride + kPadding);
  }

  /// Makes room for the rotations.
  void resizeTurns() {
    cosines.resize(x.size());
    sines.resize(x.size());
  }

  /// No vector has more floats on the machines we compile for by blocks; wider ones read into the padding.
  static constexpr std::size_t kWholeVector = 16;
  static constexpr std::size_t kPadding = 64;
};

/// What an evaluator keeps between respond() and respondVjp(), and its memory while it looks for candidates.
struct EvaluatorScratch {
  virtual ~EvaluatorScratch() = default;
};

/// Memory for one range of a batch after the other. Each caller (thread) has its own, for any evaluator, and
/// keeps it from batch to batch.
struct Workspace {
  ResponseBlock responses;                    ///< of the range asked about last
  std::unique_ptr<EvaluatorScratch> scratch;  ///< the evaluator's

  /// The scratch of an evaluator, made if there is none or another evaluator's.
  template <class Scratch>
  Scratch& scratchOf() {
    auto* known = dynamic_cast<Scratch*>(scratch.get());
    if (known != nullptr) return *known;
    auto made = std::make_unique<Scratch>();
    Scratch& result = *made;
    scratch = std::move(made);
    return result;
  }
};

}  // namespace heatskin
