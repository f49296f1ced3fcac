#pragma once

#include <cstddef>
#include <cstdint>

namespace heatskin::thermal {

/// Options of ThermalRF; the defaults are the paper's.
struct ThermalOptions {
  double diffusion_time = 0.0625;        ///< t
  double window_sigma = 0.05;            ///< of the Gaussian window over routing distance
  std::size_t candidates = 50;           ///< kernels a query looks at
  std::size_t rank = 192;                ///< of the heat factors
  std::size_t oversampling = 64;         ///< random vectors beyond the rank
  double routing_time = 0.0025;          ///< tau
  std::size_t routing_dimensions = 128;  ///< d
  std::uint64_t seed = 0;                ///< of the random vectors
};

}  // namespace heatskin::thermal
