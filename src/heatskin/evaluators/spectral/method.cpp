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
    option<&HktexOptions::diffusion_time>("diffusion_time", 1e-6, 1e3, "diffusion time t of the heat kernel"),
    option<&HktexOptions::window_sigma>("window_sigma", 1e-6, 1e3, "sigma of the window over biharmonic distance"),
    option<&HktexOptions::candidates>("candidates", 1, kMostCandidates, "most kernels considered for one query point"),
    option<&HktexOptions::modes>("modes", 2, 1024, "eigenpairs per operator"),
};
// clang-format on

const HktexOptions& own(const EvaluatorOptions& options) {
  return std::get<HktexOptions>(options);
}

double reach(const EvaluatorOptions& options, double response) {
  return fields::planarReach(own(options).diffusion_time, own(options).window_sigma, response);
}

Result<std::unique_ptr<Evaluator>> make(const EvaluatorOptions& options, const Surface& surface,
                                        const Preparation& preparation) {
  if (auto held = fields::checkLists(surface, own(options).candidates); !held) return held.error();
  SpectralOptions spectral;
  spectral.eigen.count = own(options).modes;
  auto bases = buildSpectralBases(surface, *preparation.cache, spectral, *preparation.progress);
  if (!bases) return bases.error();
  const std::vector<float> embedding = std::move(bases->embedding);
  const std::size_t dimensions = bases->embedding_dimensions;
  return std::unique_ptr<Evaluator>(std::make_unique<fields::FieldEvaluator>(
      surface, embedding, dimensions,
      std::make_unique<SpectralHeat>(std::move(*bases), own(options).diffusion_time),
      fields::FieldOptions{own(options).window_sigma, own(options).candidates}));
}

}  // namespace

MethodTraits methodTraits() {
  return {.name = "spectral",
          .title = "HKTex",
          .principal_axes = true,
          .periodic_angle = false,
          .carries_angle = false,
          .has_lengths = false,
          .tangents = false,
          .straight_through_clamp = true,
          .rebuild_slowdown = fields::kRebuildSlowdown,
          .options = kOptions,
          .reach = reach,
          .make = make};
}

}  // namespace heatskin::spectral
