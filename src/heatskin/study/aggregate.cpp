#include "heatskin/study/aggregate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace heatskin::study {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Regularised incomplete beta function I_x(a, b) by its continued fraction (Lentz's method; Abramowitz and
/// Stegun 26.5.8), which converges quickly for x < (a + 1) / (a + b + 2).
double betaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kEnough = 1e-15;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double h = d;
  for (int m = 1; m < 1000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double factor = 1;
    for (const double term : {even, odd}) {
      d = 1 + term * d;
      c = 1 + term / c;
      d = 1 / (std::abs(d) < kTiny ? kTiny : d);
      if (std::abs(c) < kTiny) c = kTiny;
      factor = d * c;
      h *= factor;
    }
    if (std::abs(factor - 1) < kEnough) break;
  }
  return h;
}

double incompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * betaFraction(a, b, x) / a;
  return 1 - front * betaFraction(b, a, 1 - x) / b;
}

/// Probability that |T| > t.
double studentTails(double t, double degrees) {
  return incompleteBeta(0.5 * degrees, 0.5, degrees / (degrees + t * t));
}

std::size_t placeIn(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  names.push_back(name);
  return names.size() - 1;
}

std::string number(double value, int decimals, bool sign) {
  return sign ? fmt::format("{:+.{}f}", value, decimals) : fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

double studentQuantile(double confidence, std::size_t degrees) {
  if (degrees == 0 || !(confidence > 0 && confidence < 1)) return kNaN;
  const auto nu = static_cast<double>(degrees);
  double low = 0, high = 1;
  while (studentTails(high, nu) > 1 - confidence && high < 1e12)
    high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-12 * high; ++i) {
    const double middle = 0.5 * (low + high);
    (studentTails(middle, nu) > 1 - confidence ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

MeanInterval meanInterval(std::span<const double> values) {
  MeanInterval interval;
  interval.count = values.size();
  interval.mean = mean(values);
  interval.sample_sd = sampleStandardDeviation(values);
  interval.low = interval.high = kNaN;
  if (values.size() >= 2) {
    const double half = studentQuantile(kConfidence, values.size() - 1) * interval.sample_sd /
                        std::sqrt(static_cast<double>(values.size()));
    interval.low = interval.mean - half;
    interval.high = interval.mean + half;
  }
  return interval;
}

std::string intervalText(const MeanInterval& interval, int decimals, bool sign) {
  if (interval.count == 0) return "-";
  const std::string middle = number(interval.mean, decimals, sign);
  if (interval.count < 2) return fmt::format("{} (1)", middle);
  return fmt::format("{} ± {:.{}f} ({})", middle, 0.5 * (interval.high - interval.low), decimals,
                     interval.count);
}

const std::vector<std::optional<double>>& MeshTable::of(std::string_view method) const {
  static const std::vector<std::optional<double>> kNothing;
  for (std::size_t m = 0; m < methods.size(); ++m) {
    if (methods[m] == method) return means[m];
  }
  return kNothing;
}

std::vector<double> MeshTable::values(std::string_view method) const {
  std::vector<double> found;
  for (const auto& value : of(method)) {
    if (value) found.push_back(*value);
  }
  return found;
}

MeshTable tabulate(std::span<const StudyRow> rows, std::string_view figure,
                   const std::function<bool(const StudyRow&)>& keep, const Grouping& grouping) {
  MeshTable table;
  std::vector<std::vector<std::vector<double>>> runs;  // [methods][meshes][seeds]
  for (const StudyRow& row : rows) {
    if (keep && !keep(row)) continue;
    const std::size_t mesh = placeIn(table.meshes, row.text(grouping.mesh)),
                      method = placeIn(table.methods, row.text(grouping.method));
    if (runs.size() <= method) runs.resize(method + 1);
    if (runs[method].size() <= mesh) runs[method].resize(mesh + 1);
    const double value = row.error.empty() ? row.number(figure) : kNaN;
    if (std::isfinite(value)) runs[method][mesh].push_back(value);
  }
  for (auto& of_method : runs) {
    of_method.resize(table.meshes.size());
    auto& means = table.means.emplace_back();
    auto& seeds = table.seeds.emplace_back();
    auto& sd = table.seed_sd.emplace_back();
    for (const std::vector<double>& values : of_method) {
      means.push_back(values.empty() ? std::nullopt : std::optional(mean(values)));
      seeds.push_back(values.size());
      sd.push_back(sampleStandardDeviation(values));
    }
  }
  return table;
}

Comparison compare(const MeshTable& table, std::string_view candidate, std::string_view baseline,
                   Better better) {
  Comparison result;
  const auto &a = table.of(candidate), &b = table.of(baseline);
  std::vector<double> first, second, differences;
  for (std::size_t m = 0; m < std::min(a.size(), b.size()); ++m) {
    if (!a[m] || !b[m]) continue;
    first.push_back(*a[m]);
    second.push_back(*b[m]);
    differences.push_back(*a[m] - *b[m]);
    result.meshes.push_back(table.meshes[m]);
  }
  if (const auto paired = comparePaired(first, second, better)) result.paired = *paired;
  result.difference = meanInterval(differences);
  return result;
}

std::string comparisonText(const Comparison& comparison, int decimals) {
  if (comparison.difference.count == 0) return "no mesh in common";
  std::string text = number(comparison.difference.mean, decimals, true);
  if (comparison.difference.count > 1) {
    text +=
        fmt::format(" ± {:.{}f} (sd {:.{}f})", 0.5 * (comparison.difference.high - comparison.difference.low),
                    decimals, comparison.difference.sample_sd, decimals);
  }
  return text + fmt::format(", {}/{} wins, p = {:.4f}", comparison.paired.wins, comparison.paired.meshes,
                            comparison.paired.p_value);
}

Json toJson(const MeanInterval& interval) {
  return {{"meshes", interval.count},
          {"mean", jsonNumber(interval.mean)},
          {"sample_sd", jsonNumber(interval.sample_sd)},
          {"ci95_low", jsonNumber(interval.low)},
          {"ci95_high", jsonNumber(interval.high)}};
}

Json toJson(const Comparison& comparison) {
  Json json = toJson(comparison.difference);
  json["wins"] = comparison.paired.wins;
  json["losses"] = comparison.paired.losses;
  json["ties"] = comparison.paired.ties;
  json["sign_test_p"] = jsonNumber(comparison.paired.p_value);
  return json;
}

}  // namespace heatskin::study
