#pragma once

// The inner loops of LocalHK over blocks of queries: vectorised (pair_response_simd.cpp) and as plain twins.

#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/evaluators/local/leaves.h"
#include "heatskin/evaluators/local/response.h"
#include "heatskin/evaluators/local/support_table.h"
#include "heatskin/kernels/gradient_sums.h"
#include "heatskin/kernels/response_block.h"

namespace heatskin::local {

/// Kernel parameters as the inner loops read them: 16 floats, one cache line.
struct alignas(64) KernelRow {
  float center_x,
      center_y;  ///< in the coordinates of the face the supports were built from ("reference" coordinates)
  float axis_x, axis_y;  ///< long axis in reference coordinates, of length 1 / h
  float anisotropy;
  float space_x, space_y, space_z;  ///< centre in space
  float basis_x[3], cosine;  ///< tangent vectors in space that belong to the reference coordinates, and
  float basis_y[3], sine;    ///< the rotation to these from the coordinates of the kernel's face
};
static_assert(sizeof(KernelRow) == 64);

/// A query as the inner loops read it.
struct QueryRow {
  std::uint32_t face;
  float x, y;                       ///< face coordinates
  float space_x, space_y, space_z;  ///< position in space
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

/// Memory for queries with more pairs than candidates.
struct Selection {
  std::vector<float> squared, x;
  std::vector<std::uint32_t> pairs, kernels;
  std::vector<float> leaf_squared;
  std::vector<std::uint32_t> near_leaves;

  void reserve(std::size_t count) {
    if (squared.size() >= count + ResponseBlock::kPadding) return;
    const std::size_t size = 2 * count + ResponseBlock::kPadding;
    squared.resize(size);
    x.resize(size);
    pairs.resize(size);
    kernels.resize(size);
    leaf_squared.resize(size);
    near_leaves.resize(size);
  }
};

/// Candidates (all pairs of the face, or the `candidates` with the least weighted distances) and responses.
/// `out` has been resized.
void respondBlock(const PairTables& tables, std::span<const QueryRow> queries, Selection& scratch,
                  ResponseBlock& out);
void respondBlockScalar(const PairTables& tables, std::span<const QueryRow> queries, ResponseBlock& out);

/// Gradients into the evaluator's entries of `sums`; positions in reference coordinates.
void respondVjpBlock(const PairTables& tables, std::span<const QueryRow> queries,
                     const ResponseBlock& responses, std::span<const float> dx, GradientSums& sums);
void respondVjpBlockScalar(const PairTables& tables, std::span<const QueryRow> queries,
                           const ResponseBlock& responses, std::span<const float> dx, GradientSums& sums);

/// Rotations of the kernels' vectors (ResponseBlock::cosines and sines) into the coordinates of the pairs'
/// faces: those of their developments; where corners are joined, the rotations nearest to the charts.
void turnBlock(const PairTables& tables, std::span<const QueryRow> queries, ResponseBlock& responses);
void turnBlockScalar(const PairTables& tables, std::span<const QueryRow> queries, ResponseBlock& responses);

/// The kernel of one of a face's pairs seen from the face, by its development or chart.
Developed<float> develop(const PairTables& tables, std::uint32_t face, std::uint32_t pair);

}  // namespace heatskin::local
