#pragma once

// How few bits say what a fit shows.

#include "heatskin/base/result.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/product/product.h"
#include "heatskin/training/config.h"
#include "heatskin/training/fit.h"

namespace heatskin {

/// The coarsest rounding that costs no group of channels of a finished fit more than 0.015 dB against the
/// asset: a fit of 30 dB needs fewer bits than one of 45 dB. Rebuilds the fit's evaluator. `variants`: the
/// asset has material variants that are fitted, too.
Result<Rounding> sufficientRounding(const LoadedAsset& asset, const FitConfig& config, const FitResult& fit,
                                    bool variants);

}  // namespace heatskin
