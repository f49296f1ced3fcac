#pragma once

#include <memory>
#include <string_view>

#include "heatskin/evaluators/evaluator.h"
#include "heatskin/evaluators/local/options.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Which evaluator, with its options: everything besides surface and kernels that decides a colour.
struct EvaluatorOptions {
  std::string_view method = "local";  ///< one of kMethods
  local::LocalOptions local;
};

/// Names an EvaluatorOptions::method may have; the option points to one of these.
inline constexpr std::string_view kMethods[] = {"local"};

/// The evaluator `options` ask for. The surface must outlive it.
std::unique_ptr<Evaluator> makeEvaluator(const Surface& surface, const EvaluatorOptions& options);

}  // namespace heatskin
