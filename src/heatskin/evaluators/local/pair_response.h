#pragma once

// The inner loops of LocalHK over blocks of queries: vectorised (pair_response_simd.cpp) and as plain twins.

#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/evaluators/local/response.h"
#include "heatskin/evaluators/local/supports.h"
#include "heatskin/kernels/response_block.h"

namespace heatskin::local {

/// Kernel parameters as the inner loops read them: 16 floats, one cache line.
struct alignas(64) KernelRow {
  float center_x,
      center_y;  ///< in the coordinates of the face the supports were built from ("reference" coordinates)
  float axis_x, axis_y;  ///< long axis in reference coordinates, unit
  float anisotropy;
  float space_x, space_y, space_z;  ///< centre in space
  float basis_x[4], basis_y[4];     ///< tangent vectors in space that belong to the reference coordinates; 0
};
static_assert(sizeof(KernelRow) == 64);

/// A query as the inner loops read it.
struct QueryRow {
  std::uint32_t face;
  float x, y;                       ///< face coordinates
  float space_x, space_y, space_z;  ///< position in space
};

/// The pairs of faces with very many kernels (trap 11.7) in leaves of some that are close together, with the
/// boxes of their developed centres: a query looks only into the leaves near it, however kernels crowd.
struct LeafTable {
  /// Pairs in a leaf, except in the last of a face. Whole vectors at every SIMD level.
  static constexpr std::size_t kLeaf = 16;

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

/// Everything the loops read.
struct PairTables {
  const SupportTable* supports;
  const KernelRow* kernels;
  const float* weights;  ///< of squared distances, per kernel, when candidates are chosen; or null
  const LeafTable* leaves;
  Shape<float> shape;
  std::size_t candidates;  ///< per query
  bool euclidean;          ///< chord distance and spatial frame instead of the development
};

/// Candidates (all pairs of the face, or the `candidates` with the least weighted distances) and responses.
/// `out` has been resized.
void respondBlock(const PairTables& tables, std::span<const QueryRow> queries, ResponseBlock& out);
void respondBlockScalar(const PairTables& tables, std::span<const QueryRow> queries, ResponseBlock& out);

/// Centres, weights and boxes of the leaves of faces[first] .. faces[last - 1], as the kernels' rows have
/// them now.
void refitLeaves(const PairTables& tables, LeafTable& leaves, std::size_t first, std::size_t last);

/// Gradients into the evaluator's entries of `sums`; positions in reference coordinates.
void respondVjpBlock(const PairTables& tables, std::span<const QueryRow> queries,
                     const ResponseBlock& responses, std::span<const float> dx, GradientSums& sums);
void respondVjpBlockScalar(const PairTables& tables, std::span<const QueryRow> queries,
                           const ResponseBlock& responses, std::span<const float> dx, GradientSums& sums);

/// The kernel of a pair seen from the pair's face, by its development.
Developed<float> develop(const PairTables& tables, std::uint32_t pair);

}  // namespace heatskin::local
