#pragma once

#include <cstddef>

namespace heatskin::spectral {

/// Options of HKTex; the defaults are its own.
struct HktexOptions {
  double diffusion_time = 0.06245046192097831;  ///< t; the paper says 0.0625
  double window_sigma = 0.05;                   ///< of the Gaussian window over biharmonic distance
  std::size_t candidates = 50;                  ///< kernels a query looks at
  std::size_t modes = 256;                      ///< eigenpairs per operator
};

}  // namespace heatskin::spectral
