#pragma once

// Steps and queries of a method that works with fields (thermal, spectral), for the benches of both.

#include <string_view>
#include <vector>

#include "heatskin/evaluators/evaluator.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/io/asset.h"
#include "heatskin/surface/surface.h"

#include "bench/harness.h"

namespace heatskin::bench {

/// Appends: step_ms (late in a fit, all kernels), lists_ms and refresh_ms (what a step spends on near lists
/// and on heat), pairs, query_mpoints_s, simd_vs_scalar (answering queries, one thread) and
/// two_threads_vs_one.
Result<void> measureFieldSteps(const Asset& asset, const Surface& surface, Method method,
                               const BenchOptions& options, std::vector<BenchRow>& rows);

}  // namespace heatskin::bench
