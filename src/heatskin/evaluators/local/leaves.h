#pragma once

// Leaves: the spatial structure inside faces with very many kernels.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heatskin/evaluators/local/support_table.h"

namespace heatskin::local {

struct PairTables;

/// The pairs of faces with very many kernels (trap 11.7) in leaves of some that are close together, with the
/// boxes of their developed centres: a query looks only into the leaves near it, however kernels crowd.
struct LeafTable {
  /// Pairs in a leaf, except in the last of a face. Whole vectors at every SIMD level.
  static constexpr std::size_t kLeaf = 16;

  /// Where leaves have no pair their centres are this far away: more than any query, and the square is
  /// finite.
  static constexpr float kFar = 1e15f;

  struct Face {
    std::uint32_t face, first_leaf, leaves;
  };
  std::vector<std::uint32_t> index_of_face;  // [F] into faces, or kNone; empty when no face is large
  std::vector<Face> faces;
  std::vector<float> center_x, center_y;            // [leaf, kLeaf] far away where a face has no more pairs
  std::vector<float> center_weight;                 // [leaf, kLeaf] makes bounds of squared distances there
  std::vector<float> low_x, low_y, high_x, high_y;  // [leaf + padding] boxes
  std::vector<float> weight;                        // [leaf + padding] the least of its pairs

  /// Makes leaves for the faces of `supports` with more than `threshold` pairs; refitLeaves() fills them.
  void layOut(const SupportTable& supports, std::size_t threshold);
};

/// Centres, weights and boxes of the leaves of faces[first] .. faces[last - 1], as the kernels' rows have
/// them now.
void refitLeaves(const PairTables& tables, LeafTable& leaves, std::size_t first, std::size_t last);

}  // namespace heatskin::local
