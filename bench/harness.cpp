#include "bench/harness.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "heatskin/metrics/statistics.h"

namespace heatskin::bench {
namespace {

std::vector<BenchInfo>& registry() {
  static std::vector<BenchInfo>
      benches;  // a function-local static exists before any registration asks for it
  return benches;
}

}  // namespace

Spread spreadOf(std::span<const double> values) {
  if (values.empty()) return {};
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {percentile(values, 50),         *least, *most, percentile(values, 10), percentile(values, 90),
          static_cast<int>(values.size())};
}

BenchRow measuredRow(std::string name, std::string unit, std::span<const double> values, std::string note) {
  const Spread spread = spreadOf(values);
  return {std::move(name), spread.median, std::move(unit), spread, std::move(note)};
}

BenchRow countedRow(std::string name, std::string unit, double value, std::string note) {
  return {std::move(name), value, std::move(unit), {value, value, value, value, value, 1}, std::move(note)};
}

nlohmann::json toJson(const BenchReport& report) {
  nlohmann::json rows = nlohmann::json::array();
  for (const BenchRow& row : report.rows) {
    rows.push_back({{"name", row.name},
                    {"value", row.value},
                    {"unit", row.unit},
                    {"median", row.spread.median},
                    {"min", row.spread.min},
                    {"max", row.spread.max},
                    {"p10", row.spread.p10},
                    {"p90", row.spread.p90},
                    {"repeats", row.spread.repeats},
                    {"note", row.note}});
  }
  const Machine& machine = report.machine;
  return {{"name", report.name},
          {"subject", report.subject},
          {"rows", std::move(rows)},
          {"machine",
           {{"cpu", machine.cpu},
            {"cores", machine.cores},
            {"simd", machine.simd},
            {"compiler", machine.compiler},
            {"build", machine.build},
            {"memory_gb", machine.memory_gb}}}};
}

std::vector<std::vector<double>> measureTogether(std::span<const std::function<void()>> subjects, int repeats,
                                                 Progress* progress) {
  std::vector<std::vector<double>> seconds(subjects.size());
  const int rounds = std::max(1, repeats);
  if (progress != nullptr) progress->begin("measuring", static_cast<std::size_t>(rounds) + 1);
  for (int round = 0; round <= rounds; ++round) {
    for (std::size_t s = 0; s < subjects.size(); ++s) {
      const double time = secondsOf(subjects[s]);
      if (round > 0) seconds[s].push_back(time);
    }
    if (progress != nullptr) progress->update(static_cast<std::size_t>(round) + 1, "");
  }
  if (progress != nullptr) progress->end();
  return seconds;
}

std::filesystem::path assetsFolder() {
  namespace fs = std::filesystem;
  std::vector<fs::path> candidates;
  if (const char* folder = std::getenv("HEATSKIN_ASSETS"); folder != nullptr && *folder != '\0') {
    candidates.emplace_back(folder);
  }
  std::error_code error;
  candidates.push_back(fs::path("..") / "shared" / "assets");
  if (const fs::path program = fs::read_symlink("/proc/self/exe", error); !error) {
    candidates.push_back(program.parent_path() / ".." / ".." / "shared" / "assets");
  }
  for (const fs::path& candidate : candidates) {
    if (fs::is_directory(candidate, error)) return fs::weakly_canonical(candidate, error);
  }
  return {};
}

std::string threadsText(int threads) {
  return fmt::format("{} {}", threads, threads == 1 ? "thread" : "threads");
}

std::span<const BenchInfo> benches() {
  static const bool sorted = [] {
    std::sort(registry().begin(), registry().end(),
              [](const BenchInfo& a, const BenchInfo& b) { return a.name < b.name; });
    return true;
  }();
  static_cast<void>(sorted);
  return registry();
}

Result<BenchReport> runBench(const std::string& name, const BenchOptions& options) {
  std::string known;
  for (const BenchInfo& info : benches()) {
    if (info.name == name) return info.function(options);
    known += (known.empty() ? "" : ", ") + info.name;
  }
  return usageError(fmt::format("there is no benchmark '{}'; choose one of: {}", name, known));
}

RegisterBench::RegisterBench(std::string name, std::string summary, BenchFunction function,
                             std::vector<std::string> ignored) {
  registry().push_back({std::move(name), std::move(summary), function, std::move(ignored)});
}

}  // namespace heatskin::bench
