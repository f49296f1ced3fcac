#pragma once

#include <memory>
#include <string_view>

#include "heatskin/base/progress.h"
#include "heatskin/base/result.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/evaluators/local/options.h"
#include "heatskin/evaluators/spectral/options.h"
#include "heatskin/evaluators/thermal/options.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Which evaluator, with its options: everything besides surface and kernels that decides a colour.
struct EvaluatorOptions {
  std::string_view method = "local";  ///< one of kMethods
  local::LocalOptions local;
  thermal::ThermalOptions thermal;
  spectral::HktexOptions spectral;
};

/// Names an EvaluatorOptions::method may have; the option points to one of these.
inline constexpr std::string_view kMethods[] = {"local", "thermal", "spectral"};

/// How an evaluator is prepared; without influence on its answers.
struct Preparation {
  Progress* progress = nullptr;         ///< may be null
  PreprocessingCache* cache = nullptr;  ///< null: everything is computed
};

/// The evaluator `options` ask for. The surface must outlive it. Fails when there is no such method (one of
/// kMethods), when the surface is too large for the method, when its operators cannot be solved, or when the
/// user cancels.
Result<std::unique_ptr<Evaluator>> makeEvaluator(const Surface& surface, const EvaluatorOptions& options,
                                                 const Preparation& preparation = {});

}  // namespace heatskin
