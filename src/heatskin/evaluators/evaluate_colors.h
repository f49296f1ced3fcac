#pragma once

#include <span>

#include "heatskin/base/vec.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/kernels/composite_block.h"

namespace heatskin {

/// Channels of surface points, with all threads. The evaluator is up to date with the kernels, `filter` was
/// built from them. `channels` is [points, C], parts of ranges, vectors of tangent groups in face
/// coordinates; `weights` (weight sums, "coverage") is [points] or empty.
void evaluateChannels(const Evaluator& evaluator, const FilterTable& filter,
                      std::span<const SurfacePoint> points, std::span<float> channels,
                      std::span<float> weights);

/// The same for three channels. `colors` is [points].
void evaluateColors(const Evaluator& evaluator, const FilterTable& filter,
                    std::span<const SurfacePoint> points, std::span<Vec3f> colors, std::span<float> weights);

}  // namespace heatskin
