#pragma once

// What evaluators hand to the compositor: responses of a block of queries.

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

}  // namespace heatskin
