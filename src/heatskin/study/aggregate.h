#pragma once

// Rows to figures as METHOD section 10 asks: seeds are averaged per mesh first, meshes have equal weight,
// methods are compared mesh by mesh; never a mean without how sure it is. The statistics themselves are in
// metrics/statistics.h.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/metrics/statistics.h"
#include "heatskin/study/study.h"

namespace heatskin::study {

/// Two-sided quantile of Student's t distribution: |t| stays below it with probability `confidence`. To a
/// relative 1e-9; not-a-number without degrees of freedom.
double studentQuantile(double confidence, std::size_t degrees);

inline constexpr double kConfidence = 0.95;

/// A mean over meshes with its interval.
struct MeanInterval {
  std::size_t count = 0;     ///< meshes
  double mean = 0;           ///< not-a-number for none
  double sample_sd = 0;      ///< across meshes; not-a-number below two
  double low = 0, high = 0;  ///< kConfidence interval of the mean by Student's t; not-a-number below two
};
MeanInterval meanInterval(std::span<const double> values);

/// "31.35 ± 0.42 (3)": mean, half of the interval, number of meshes; "31.35 (1)" where there is no interval,
/// "-" for none.
std::string intervalText(const MeanInterval& interval, int decimals, bool sign = false);

/// Which rows are one method on one mesh: rows with equal texts at these paths.
struct Grouping {
  std::string mesh = "mesh/name";
  std::string method = "method/name";
};

/// The means over seeds of one figure: [methods][meshes]; empty where no run gave a finite number.
struct MeshTable {
  std::vector<std::string> meshes, methods;               // in the order of the rows
  std::vector<std::vector<std::optional<double>>> means;  // [methods][meshes]
  std::vector<std::vector<std::size_t>> seeds;            // [methods][meshes] runs that count
  std::vector<std::vector<double>> seed_sd;               // [methods][meshes] NaN below two

  const std::vector<std::optional<double>>& of(
      std::string_view method) const;  ///< empty list for an unknown one
  /// The values of a method over all meshes that have one.
  std::vector<double> values(std::string_view method) const;
};

/// A figure (StudyRow::number) of all rows without errors that pass `keep`.
MeshTable tabulate(std::span<const StudyRow> rows, std::string_view figure,
                   const std::function<bool(const StudyRow&)>& keep = {}, const Grouping& grouping = {});

/// Candidate against baseline on the meshes that both have.
struct Comparison {
  PairedComparison paired;
  MeanInterval difference;          ///< candidate - baseline
  std::vector<std::string> meshes;  ///< that both have
};
Comparison compare(const MeshTable& table, std::string_view candidate, std::string_view baseline,
                   Better better = Better::kHigher);

/// "+0.65 ± 1.03 (sd 1.44), 9/10 wins, p = 0.0107"; "no mesh in common" for none.
std::string comparisonText(const Comparison& comparison, int decimals);

/// For programs.
Json toJson(const MeanInterval& interval);
Json toJson(const Comparison& comparison);

}  // namespace heatskin::study
