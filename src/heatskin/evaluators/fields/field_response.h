#pragma once

// Responses x = exp(-d^2 / (2 sigma^2)) h / self of kernels whose heat and squared embedding distance are
// known at the vertices: h is linear in the query's barycentric coordinates b, and
// d^2 = sum_a b_a D_a - sum_{a<c} b_a b_c |Z_a - Z_c|^2 (METHOD section 7). Vectorised
// (field_response_simd.cpp) and as plain twins.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/evaluators/fields/near_lists.h"
#include "heatskin/kernels/gradient_sums.h"
#include "heatskin/kernels/response_block.h"

namespace heatskin::fields {

/// A kernel's normalised heat at a vertex, and the derivatives of heat and squared distance: one aligned
/// block.
struct alignas(32) PairHeat {
  float heat_x, heat_y, heat_angle, heat_anisotropy;
  float distance_x, distance_y;
  float heat;
  float unused;
};
static_assert(sizeof(PairHeat) == 32);

/// What the loops read. "Place" is an index of NearLists::vertex_kernels.
struct FieldTables {
  const NearLists* lists;
  const float* distances;  // [P] squared embedding distance of kernel and vertex
  const PairHeat* heats;   // [P]
  const float* cutoffs;    // [N] squared distance from which a kernel's weight is negligible
  float window;            ///< 1 / (2 sigma^2)
  std::size_t candidates;
};

/// A query as the loops read it.
struct FieldQuery {
  std::uint32_t face;
  float b[3];
  float bend;  ///< sum_{a<c} b_a b_c |Z_a - Z_c|^2
};

/// Memory: what queries of a face share, and the selection of one of them.
struct Selection {
  std::vector<float> distances[3], corner_heats[3];  // of the face's pairs, corner by corner
  std::vector<float> squared, heats;
  std::vector<std::uint32_t> pairs, kernels;

  void reserve(std::size_t count) {
    if (squared.size() >= count + ResponseBlock::kPadding) return;
    const std::size_t size = 2 * count + ResponseBlock::kPadding;
    for (auto* values : {&distances[0], &distances[1], &distances[2], &corner_heats[0], &corner_heats[1],
                         &corner_heats[2], &squared, &heats})
      values->resize(size);
    pairs.resize(size);
    kernels.resize(size);
  }
};

/// Candidates (the nearest); out.x holds squared distances. `out` has been resized.
void selectBlock(const FieldTables& tables, std::span<const FieldQuery> queries, Selection& scratch,
                 ResponseBlock& out);

/// Responses of the candidates in place of their squared distances.
void heatBlock(const FieldTables& tables, std::span<const FieldQuery> queries, ResponseBlock& block);

/// Both: candidates and responses.
void respondBlock(const FieldTables& tables, std::span<const FieldQuery> queries, Selection& scratch,
                  ResponseBlock& out);
void respondBlockScalar(const FieldTables& tables, std::span<const FieldQuery> queries, ResponseBlock& out);

/// Gradients into the evaluator's entries of `sums`.
void respondVjpBlock(const FieldTables& tables, std::span<const FieldQuery> queries,
                     const ResponseBlock& responses, std::span<const float> dx, GradientSums& sums);
void respondVjpBlockScalar(const FieldTables& tables, std::span<const FieldQuery> queries,
                           const ResponseBlock& responses, std::span<const float> dx, GradientSums& sums);

}  // namespace heatskin::fields
