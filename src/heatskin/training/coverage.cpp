#include "heatskin/training/coverage.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "heatskin/evaluators/method_traits.h"
#include "heatskin/kernels/compositor.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/training/fit.h"

namespace heatskin {
namespace {

/// Half as many again as it takes at least, because kernels do not lie where it would take least; at most a
/// hundred thousand, where fits get long.
std::size_t ampleBudget(std::size_t needed) {
  return std::min<std::size_t>(needed + needed / 2, 100'000);
}

/// Area of the discs in the thinnest covering of the plane (hexagonal), relative to what they cover.
const double kCoveringDensity = 2 * std::numbers::pi / std::sqrt(27.0);

/// In the middle of where sharpnesses start; the reach hardly depends on it.
constexpr double kUsualSharpness = 30;

/// The longest that options allow.
constexpr double kLongest = 10;

/// Lengths grow no further: a kernel ten times as wide reaches everything already.
constexpr double kMostGrowth = 10;

double discArea(const EvaluatorOptions& options) {
  const double reach = widestReach(options);
  return std::numbers::pi * reach * reach / kCoveringDensity;
}

}  // namespace

double widestReach(const EvaluatorOptions& options) {
  const double x = SoftThreshold<double>(kUsualSharpness, KernelRanges::kMinThreshold).invert(0.5);
  return traits(methodOf(options)).reach(options, x);
}

std::size_t kernelsToCover(const Surface& surface, const EvaluatorOptions& options) {
  std::vector<double> areas(surface.componentCount(), 0.0);
  for (std::size_t f = 0; f < surface.faceCount(); ++f)
    areas[surface.components()[f]] += surface.areas()[f];
  const double disc = discArea(options);
  double count = 0;
  for (const double area : areas)
    count += std::max(1.0, area / disc);
  return static_cast<std::size_t>(std::ceil(count));
}

double fitLengthsToBudget(FitConfig& config, const Surface& surface) {
  local::LocalOptions& lengths = config.evaluator.local;
  const double spare = config.train.density.cover_spare;
  if (config.evaluator.method != Method::kLocal || !(spare > 0)) return 1;
  if (config.train.lengths == Lengths::kSpacing) return 1;  // each kernel has its own
  const double discs = surface.totalArea() / discArea(lengths);
  const double growth =
      std::min(kMostGrowth, std::sqrt(spare * discs / static_cast<double>(config.train.density.max_kernels)));
  constexpr double kRounding = 1e-9;  // what is left of a growth of 1 the second time
  if (!(growth > 1 + kRounding)) return 1;
  lengths.window_sigma = std::min(kLongest, lengths.window_sigma * growth);
  lengths.max_radius = std::min(kLongest, lengths.max_radius * growth);
  lengths.diffusion_time *= growth * growth;
  return growth;
}

BudgetReport settleBudget(FitConfig& config, const Surface& surface, bool keep_budget) {
  fitLengthsToBudget(config, surface);
  BudgetReport report;
  report.needed = kernelsToCover(surface, config.evaluator.options());
  report.ample = ampleBudget(report.needed);
  report.before = report.after = config.train.density.max_kernels;
  const bool published = !(config.train.density.cover_spare > 0);
  if (report.too_small() && !keep_budget && !published) {
    setKernelBudget(config, report.ample);
    report.after = config.train.density.max_kernels;
  }
  return report;
}

}  // namespace heatskin
