#pragma once

// Everything ThermalRF precomputes for a surface: heat factors and the routing embedding.

#include "heatskin/base/result.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/operators/routing.h"
#include "heatskin/operators/thermal_factors.h"
#include "heatskin/surface/surface.h"

namespace heatskin::thermal {

struct ThermalFeatures {
  ThermalFactors factors;
  RoutingEmbedding routing;
};

/// From the cache if it is there, else computed and stored. Fails when the factors would be too large or the
/// user cancels.
Result<ThermalFeatures> buildThermalFeatures(const Surface& surface, const ThermalOptions& options,
                                             PreprocessingCache& cache,
                                             Progress& progress = silentProgress());

}  // namespace heatskin::thermal
