#include "heatskin/evaluators/make_evaluator.h"

#include <utility>

#include "heatskin/evaluators/fields/field_evaluator.h"
#include "heatskin/evaluators/local/local_evaluator.h"
#include "heatskin/evaluators/spectral/spectral_heat.h"
#include "heatskin/evaluators/thermal/thermal_heat.h"
#include "heatskin/operators/routing.h"
#include "heatskin/operators/spectral_bases.h"
#include "heatskin/operators/thermal_factors.h"

namespace heatskin {
namespace {

Result<std::unique_ptr<Evaluator>> makeThermal(const Surface& surface, const thermal::ThermalOptions& options,
                                               Progress& progress) {
  progress.begin("assembling the operators", 0);
  const Operators operators = assembleOperators(surface);
  progress.end();
  FactorOptions factor;
  factor.time = options.diffusion_time;
  factor.rank = options.rank;
  factor.oversampling = options.oversampling;
  factor.seed = options.seed;
  auto factors = thermalFactors(operators, factor, progress);
  if (!factors) return factors.error();
  RoutingOptions routing;
  routing.dimension = options.routing_dimensions;
  routing.time = options.routing_time;
  routing.seed = options.seed;
  const auto embedding = routingEmbedding(operators, routing);
  if (!embedding) return embedding.error();
  return std::unique_ptr<Evaluator>(std::make_unique<fields::FieldEvaluator>(
      surface, "thermal", embedding->values, embedding->dimension,
      std::make_unique<thermal::ThermalHeat>(std::move(*factors)),
      fields::FieldOptions{options.window_sigma, options.candidates}));
}

Result<std::unique_ptr<Evaluator>> makeSpectral(const Surface& surface, const spectral::HktexOptions& options,
                                                Progress& progress, PreprocessingCache& cache) {
  SpectralOptions spectral;
  spectral.eigen.count = options.modes;
  auto bases = buildSpectralBases(surface, cache, spectral, progress);
  if (!bases) return bases.error();
  const std::vector<float> embedding = std::move(bases->embedding);
  const std::size_t dimensions = bases->embedding_dimensions;
  return std::unique_ptr<Evaluator>(std::make_unique<fields::FieldEvaluator>(
      surface, "spectral", embedding, dimensions,
      std::make_unique<spectral::SpectralHeat>(std::move(*bases), options.diffusion_time),
      fields::FieldOptions{options.window_sigma, options.candidates}));
}

}  // namespace

Result<std::unique_ptr<Evaluator>> makeEvaluator(const Surface& surface, const EvaluatorOptions& options,
                                                 const Preparation& preparation) {
  Progress& progress = preparation.progress != nullptr ? *preparation.progress : silentProgress();
  PreprocessingCache none;
  if (options.method == "thermal") return makeThermal(surface, options.thermal, progress);
  if (options.method == "spectral") {
    return makeSpectral(surface, options.spectral, progress,
                        preparation.cache != nullptr ? *preparation.cache : none);
  }
  return std::unique_ptr<Evaluator>(std::make_unique<local::LocalEvaluator>(surface, options.local));
}

}  // namespace heatskin
