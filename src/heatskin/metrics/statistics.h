#pragma once

// Statistics over seeds and meshes, as METHOD section 10 asks: seeds are averaged per mesh first, meshes then
// have equal weight; methods are compared mesh by mesh.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/result.h"

namespace heatskin {

/// Arithmetic mean; not-a-number for an empty list.
double mean(std::span<const double> values);

/// Standard deviation with n - 1; not-a-number below two values.
double sampleStandardDeviation(std::span<const double> values);

/// The q-th percentile, q in 0..100, linear between order statistics (numpy's default); not-a-number for an
/// empty list or q outside the range.
double percentile(std::span<const double> values, double q);

/// percentile(values, 50).
double median(std::span<const double> values);

struct Summary {
  std::size_t count = 0;
  double mean = 0.0;
  double sample_sd = 0.0;  ///< not-a-number below two values
  double median = 0.0;
  double minimum = 0.0;
  double maximum = 0.0;
};

/// All fields but `count` are not-a-number for an empty list.
Summary summarise(std::span<const double> values);

/// Mean over the seeds of each mesh; `runs[m]` holds the results of mesh m, one per available seed. A mesh
/// without a result is an error that names its index.
Result<std::vector<double>> meshMeans(std::span<const std::vector<double>> runs);

/// Mean over meshes of the means over seeds: a mesh with more seeds does not weigh more.
Result<double> meanOverMeshes(std::span<const std::vector<double>> runs);

/// Exact one-sided sign test: the probability of at least `wins` wins in `wins + losses` fair coin tosses.
/// Ties are left out by the caller. 1 when there is no toss. Exact up to 62 tosses, beyond that to a relative
/// 1e-10 or so up to 10^5.
double signTest(std::uint32_t wins, std::uint32_t losses);

enum class Better { kHigher, kLower };

struct PairedComparison {
  std::size_t meshes = 0;
  double mean_difference = 0.0;  ///< candidate - baseline
  double sample_sd = 0.0;        ///< of the differences across meshes; not-a-number for one mesh
  std::size_t wins = 0;          ///< meshes on which the candidate is better
  std::size_t losses = 0;
  std::size_t ties = 0;
  double p_value = 1.0;  ///< signTest(wins, losses)
};

/// Compares two methods mesh by mesh; entry m of both lists belongs to mesh m.
Result<PairedComparison> comparePaired(std::span<const double> candidate, std::span<const double> baseline,
                                       Better better = Better::kHigher);

}  // namespace heatskin
