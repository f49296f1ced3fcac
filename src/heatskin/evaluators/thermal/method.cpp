#include "heatskin/evaluators/thermal/method.h"

#include <utility>

#include "heatskin/evaluators/fields/field_evaluator.h"
#include "heatskin/evaluators/fields/field_method.h"
#include "heatskin/evaluators/thermal/thermal_features.h"
#include "heatskin/evaluators/thermal/thermal_heat.h"

namespace heatskin::thermal {
namespace {

// clang-format off
constexpr Option kOptions[] = {
    option<&ThermalOptions::diffusion_time>("diffusion_time", 1e-6, 1e3, "diffusion time t of the heat kernel"),
    option<&ThermalOptions::window_sigma>("window_sigma", 1e-6, 1e3, "sigma of the window over routing distance"),
    option<&ThermalOptions::candidates>("candidates", 1, kMostCandidates, "most kernels considered for one query point"),
    option<&ThermalOptions::rank>("rank", 1, 512, "rank of the heat factors"),
    option<&ThermalOptions::oversampling>("oversampling", 0, 256, "random vectors beyond the rank"),
    option<&ThermalOptions::routing_time>("routing_time", 1e-9, 1e3, "diffusion time tau that smooths the routing embedding"),
    option<&ThermalOptions::routing_dimensions>("routing_dimensions", 1, 512, "dimensions of the routing embedding"),
    option<&ThermalOptions::seed>("seed", 0, 0x1p63, "seed of the random vectors behind factors and routing"),
};
// clang-format on

const ThermalOptions& own(const EvaluatorOptions& options) {
  return std::get<ThermalOptions>(options);
}

double reach(const EvaluatorOptions& options, double response) {
  return fields::planarReach(own(options).diffusion_time, own(options).window_sigma, response);
}

Result<std::unique_ptr<Evaluator>> make(const EvaluatorOptions& options, const Surface& surface,
                                        const Preparation& preparation) {
  if (auto held = fields::checkLists(surface, own(options).candidates); !held) return held.error();
  auto features = buildThermalFeatures(surface, own(options), *preparation.cache, *preparation.progress);
  if (!features) return features.error();
  return std::unique_ptr<Evaluator>(std::make_unique<fields::FieldEvaluator>(
      surface, features->routing.values, features->routing.dimension,
      std::make_unique<ThermalHeat>(std::move(features->factors)),
      fields::FieldOptions{own(options).window_sigma, own(options).candidates}));
}

}  // namespace

MethodTraits methodTraits() {
  return {.name = "thermal",
          .title = "ThermalRF",
          .principal_axes = true,
          .periodic_angle = true,
          .carries_angle = false,
          .has_lengths = false,
          .tangents = false,
          .straight_through_clamp = true,
          .rebuild_slowdown = fields::kRebuildSlowdown,
          .options = kOptions,
          .reach = reach,
          .make = make};
}

}  // namespace heatskin::thermal
