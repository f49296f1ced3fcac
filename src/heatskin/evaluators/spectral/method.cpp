#include "heatskin/evaluators/spectral/method.h"

#include <utility>

#include "heatskin/evaluators/fields/field_evaluator.h"
#include "heatskin/evaluators/fields/field_method.h"
#include "heatskin/evaluators/spectral/spectral_heat.h"
#include "heatskin/operators/spectral_bases.h"

namespace heatskin::spectral {
namespace {

// clang-format off
constexpr Option kOptions[] = {
    option<&HktexOptions::diffusion_time>("diffusion_time", 1e-6, 1e3, "t of the heat kernel"),
    option<&HktexOptions::window_sigma>("window_sigma", 1e-6, 1e3, "sigma of the window over biharmonic distance"),
    option<&HktexOptions::candidates>("candidates", 1, 256, "kernels a query looks at"),
    option<&HktexOptions::modes>("modes", 2, 1024, "eigenpairs per operator"),
};
// clang-format on

const HktexOptions& own(const EvaluatorOptions& options) {
  return std::get<HktexOptions>(options);
}

double reach(const EvaluatorOptions& options, double response) {
  return fields::planarReach(own(options).diffusion_time, own(options).window_sigma, response);
}

Result<void> check(const EvaluatorOptions& options, const Surface& surface, const KernelSet&, double) {
  return fields::checkLists(surface, own(options).candidates);
}

Result<std::unique_ptr<Evaluator>> make(const EvaluatorOptions& options, const Surface& surface,
                                        Progress& progress, PreprocessingCache& cache) {
  SpectralOptions spectral;
  spectral.eigen.count = own(options).modes;
  auto bases = buildSpectralBases(surface, cache, spectral, progress);
  if (!bases) return bases.error();
  const std::vector<float> embedding = std::move(bases->embedding);
  const std::size_t dimensions = bases->embedding_dimensions;
  return std::unique_ptr<Evaluator>(std::make_unique<fields::FieldEvaluator>(
      surface, "spectral", embedding, dimensions,
      std::make_unique<SpectralHeat>(std::move(*bases), own(options).diffusion_time),
      fields::FieldOptions{own(options).window_sigma, own(options).candidates}));
}

}  // namespace

MethodTraits methodTraits() {
  MethodTraits row{};
  row.name = "spectral";
  row.title = "HKTex";
  row.principal_axes = true;
  row.periodic_angle = false;
  row.carries_angle = false;
  row.leads_colors_back = true;
  row.options = kOptions;
  row.reach = reach;
  row.check = check;
  row.make = make;
  return row;
}

}  // namespace heatskin::spectral
