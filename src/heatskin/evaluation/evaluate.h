#pragma once

// How good a texture is: the protocol of METHOD section 10 and the seam jump of 11.6.

#include "heatskin/appearance/appearance.h"
#include "heatskin/base/result.h"
#include "heatskin/evaluation/evaluation.h"
#include "heatskin/evaluation/reference.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {

/// Everything an Evaluation has; pictures and seams are of base_color. Same texture, reference and options:
/// same numbers on any number of threads, but for the query rate. Fails when cancelled, when the texture has
/// no base_color, or when a metric refuses its input (a picture too small for LPIPS).
Result<Evaluation> evaluate(const KernelTexture& texture, const Reference& reference,
                            const EvaluationOptions& options = {}, Progress& progress = silentProgress());

/// The same against the appearance of the texture's own surface.
Result<Evaluation> evaluate(const KernelTexture& texture, const Appearance& reference,
                            const EvaluationOptions& options = {}, Progress& progress = silentProgress());

}  // namespace heatskin
