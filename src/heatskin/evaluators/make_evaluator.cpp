#include "heatskin/evaluators/make_evaluator.h"

#include "heatskin/evaluators/local/local_evaluator.h"

namespace heatskin {

std::unique_ptr<Evaluator> makeEvaluator(const Surface& surface, const EvaluatorOptions& options) {
  return std::make_unique<local::LocalEvaluator>(surface, options.local);
}

}  // namespace heatskin
