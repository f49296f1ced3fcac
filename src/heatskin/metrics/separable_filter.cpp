#include "heatskin/metrics/separable_filter.h"

#include <cmath>
#include <numeric>

namespace heatskin {

std::vector<double> gaussianKernel(double sigma, int radius) {
  std::vector<double> kernel;
  for (int x = -radius; x <= radius; ++x)
    kernel.push_back(std::exp(-0.5 * x * x / (sigma * sigma)));
  const double sum = std::accumulate(kernel.begin(), kernel.end(), 0.0);
  for (double& weight : kernel)
    weight /= sum;
  return kernel;
}

}  // namespace heatskin
