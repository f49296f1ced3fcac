#include "heatskin/evaluators/make_evaluator.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "heatskin/evaluators/fields/field_evaluator.h"
#include "heatskin/evaluators/local/local_evaluator.h"
#include "heatskin/evaluators/spectral/spectral_heat.h"
#include "heatskin/evaluators/thermal/thermal_features.h"
#include "heatskin/evaluators/thermal/thermal_heat.h"
#include "heatskin/operators/spectral_bases.h"

namespace heatskin {
namespace {

Result<std::unique_ptr<Evaluator>> makeThermal(const Surface& surface, const thermal::ThermalOptions& options,
                                               Progress& progress, PreprocessingCache& cache) {
  auto features = thermal::buildThermalFeatures(surface, options, cache, progress);
  if (!features) return features.error();
  return std::unique_ptr<Evaluator>(std::make_unique<fields::FieldEvaluator>(
      surface, "thermal", features->routing.values, features->routing.dimension,
      std::make_unique<thermal::ThermalHeat>(std::move(features->factors)),
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
  PreprocessingCache& cache = preparation.cache != nullptr ? *preparation.cache : none;
  if (options.method == "thermal") return makeThermal(surface, options.thermal, progress, cache);
  if (options.method == "spectral") return makeSpectral(surface, options.spectral, progress, cache);
  if (options.method == "local") {
    return std::unique_ptr<Evaluator>(std::make_unique<local::LocalEvaluator>(surface, options.local));
  }
  return usageError(
      fmt::format("there is no method '{}'; there are {}", options.method, fmt::join(kMethods, ", ")));
}

}  // namespace heatskin
