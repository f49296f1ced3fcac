#pragma once

#include <span>

#include "heatskin/base/vec.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/kernels/composite_block.h"

namespace heatskin {

/// Colours of surface points, with all threads. The evaluator is up to date with the kernels, `filter` was
/// built from them. `colors` is [points]; `weights` (weight sums, "coverage") is [points] or empty.
void evaluateColors(const Evaluator& evaluator, const FilterTable& filter,
                    std::span<const SurfacePoint> points, std::span<Vec3f> colors, std::span<float> weights);

}  // namespace heatskin
