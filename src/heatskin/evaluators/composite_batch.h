#pragma once

// The channels of points that an evaluator has responded to.

#include <cstddef>

#include "heatskin/evaluators/evaluator.h"
#include "heatskin/kernels/composite_block.h"

namespace heatskin {

/// The channels of the points [begin, end) of a batch, after respond() for them. `filter` was built from the
/// kernels the evaluator knows. Rotations are asked for only where there are tangent groups, and only for the
/// kernels that are kept.
inline void compositeBatch(const EvaluatorBatch& batch, std::size_t begin, std::size_t end,
                           const FilterTable& filter, Workspace& workspace, CompositeBlock& out) {
  composite(workspace.responses, filter, out);
  if (filter.tangents().empty()) return;
  batch.turns(begin, end, workspace);
  compositeTangents(workspace.responses, filter, out);
}

}  // namespace heatskin
