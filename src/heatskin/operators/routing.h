#pragma once

// The routing embedding: points whose distances say which kernels may matter to a query (paper section 5,
// METHOD section 9). Z = M^-1/2 A0^+ exp(-tau A0) G / sqrt(d), G Gaussian [V, d], A0 the isotropic operator:
// a random sketch of the biharmonic embedding from one sparse factorisation, no eigenvector.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/operators/heat_action.h"
#include "heatskin/operators/operators.h"

namespace heatskin {

struct RoutingOptions {
  std::size_t dimension = 128;  ///< d
  double time = 0.0025;         ///< tau
  std::uint64_t seed = 0;
  HeatScheme scheme = HeatScheme::kAutomatic;
};

/// Z per vertex. The mean over a component, weighted by mass, is zero: distances have a meaning within a
/// component only, and whoever searches keeps components apart (evaluators/fields/near_lists.h).
struct RoutingEmbedding {
  std::size_t dimension = 0;
  std::vector<float> values;  // [V, dimension]

  const float* row(std::size_t vertex) const { return values.data() + vertex * dimension; }
  std::size_t bytes() const { return values.size() * sizeof(float); }
};

/// Fails only when the operators hold numbers that are not finite.
Result<RoutingEmbedding> routingEmbedding(const Operators& operators, const RoutingOptions& options = {});

}  // namespace heatskin
