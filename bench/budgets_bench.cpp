// What more kernels cost: one asset with budgets that grow by four each time, as many samples for each kernel
// (preset `compact`, few steps). Every row is a process of its own, so that its memory is its own: time of a
// sample, query rate, and memory beyond the mesh and the pool of samples, by kernel.

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "heatskin/base/plural.h"
#include "heatskin/study/scale_level.h"
#include "heatskin/training/config.h"
#include "heatskin/training/fit_memory.h"

#include "bench/harness.h"
#include "bench/row_process.h"

namespace heatskin::bench::budgets {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kBudgets = "5000,20000,80000,320000";
constexpr long kMostKernels = 1'000'000;

/// Steps, and solves for colours among them: so many that most steps are without density control, which comes
/// fifty times in any fit. A step costs the same from the first to the last, and
/// memory is largest in a solve.
constexpr int kSteps = 150, kSolves = 2;

/// Vertices of the pumpkin, where there is no asset.
constexpr int kPumpkin = 3000;

Result<std::vector<long>> budgetsOf(const std::string& list) {
  std::vector<long> budgets;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    long value = 0;
    const auto read = std::from_chars(list.data() + begin, list.data() + end, value);
    const bool follows = budgets.empty() || value > budgets.back();
    if (read.ec != std::errc() || read.ptr != list.data() + end || value < 1 || value > kMostKernels ||
        !follows)
      return usageError(
          fmt::format("'{}' is no list of increasing numbers of kernels, such as {}", list, kBudgets));
    budgets.push_back(value);
    begin = end + 1;
  }
  return budgets;
}

FitConfig configFor(const BenchOptions& options, long kernels) {
  FitConfig config = *presetConfig("compact");
  config.train.density.max_kernels = static_cast<std::size_t>(kernels);
  config.train.steps = options.steps > 0 ? options.steps : kSteps;
  config.train.solves = std::min(kSolves, config.train.steps);
  config.train.seed = options.seed;
  return config;
}

// ---- in a child ----

Result<BenchReport> measureRow(const BenchOptions& options) {
  const auto budgets = budgetsOf(options.row);
  if (!budgets) return budgets.error();
  const FitConfig config = configFor(options, budgets->front());
  const auto figures = study::measureScale(options.asset, config);
  if (!figures) return figures.error();
  TrainOptions train = config.train;
  followBudget(train);

  BenchReport report;
  report.name = "budgets";
  report.subject = "one row";
  const auto add = [&](const char* name, const char* unit, double value) {
    report.rows.push_back(countedRow(name, unit, value));
  };
  add("sample_us", "us", 1e3 * figures->step_ms / static_cast<double>(train.batch));
  add("step_ms", "ms", figures->step_ms);
  add("query_mpoints_s", "Mpoints/s", figures->query_mpoints_s);
  add("beyond_mb", "MB", figures->beyond_mb);
  add("pool_mb", "MB", 1e-6 * poolBytes(train, figures->channels));
  add("psnr", "dB", figures->psnr);
  return report;
}

// ---- in the parent ----

Result<BenchReport> runBudgetsBench(const BenchOptions& options) {
  if (!options.row.empty()) return measureRow(options);
  const auto budgets = budgetsOf(options.budgets.empty() ? kBudgets : options.budgets);
  if (!budgets) return budgets.error();
  const RowFolder folder;
  fs::path asset = options.asset.empty() ? spotIfThere() : options.asset;
  BenchReport report;
  report.name = "budgets";
  report.subject = fmt::format("{}, preset compact, {} steps",
                               asset.empty() ? std::string("the built-in pumpkin") : asset.stem().string(),
                               options.steps > 0 ? options.steps : kSteps);
  if (asset.empty()) {
    asset = folder.path / "pumpkin.glb";
    if (auto made = study::writeScaleLevel({}, kPumpkin, 0, asset); !made) return made.error();
  }
  report.table.push_back(
      {"kernels", "sample us", "queries M/s", "memory MB", "pool MB", "bytes per kernel", "PSNR dB"});
  json first;
  for (const long kernels : *budgets) {
    const std::string name = std::to_string(kernels);
    if (options.progress != nullptr)
      options.progress->begin(plural(static_cast<std::size_t>(kernels), "kernel", "kernels"), 0);
    auto values = runRow("budgets", options, asset, name, folder.path);
    if (!values) return values.error();
    if (first.is_null()) {
      first = *values;
      first["kernels"] = kernels;
    }
    for (const auto& [figure, unit] : {std::pair{"sample_us", "us"},
                                       {"step_ms", "ms"},
                                       {"query_mpoints_s", "Mpoints/s"},
                                       {"beyond_mb", "MB"},
                                       {"pool_mb", "MB"},
                                       {"psnr", "dB"}})
      report.rows.push_back(countedRow(fmt::format("{}_{}", name, figure), unit, (*values)[figure]));
    // Code, threads and textures are there with any number of kernels: what the first row has, too.
    const auto own = [](const json& row) {
      return row["beyond_mb"].get<double>() - row["pool_mb"].get<double>();
    };
    std::string bytes = "-";
    if (kernels > first["kernels"].get<long>()) {
      const double each =
          1e6 * (own(*values) - own(first)) / static_cast<double>(kernels - first["kernels"].get<long>());
      report.rows.push_back(
          countedRow(name + "_kernel_bytes", "bytes", each, "beyond mesh and pool, against the first row"));
      bytes = fmt::format("{:.0f}", each);
      const auto ratio = [&](const char* figure) {
        return (*values)[figure].get<double>() / first[figure].get<double>();
      };
      report.rows.push_back(
          countedRow(name + "_sample_ratio", "", ratio("sample_us"), "against the first row"));
      report.rows.push_back(
          countedRow(name + "_query_ratio", "", ratio("query_mpoints_s"), "against the first row"));
    }
    const auto number = [&](const char* figure, int digits) {
      return fmt::format("{:.{}f}", (*values)[figure].get<double>(), digits);
    };
    report.table.push_back({grouped(static_cast<std::size_t>(kernels)), number("sample_us", 2),
                            number("query_mpoints_s", 2), number("beyond_mb", 0), number("pool_mb", 0), bytes,
                            number("psnr", 1)});
  }
  if (options.progress != nullptr) options.progress->end();
  return report;
}

const RegisterBench registration{"budgets",
                                 "what more kernels cost: time of a sample, queries, memory (minutes)",
                                 &runBudgetsBench,
                                 {"--repeats"}};

}  // namespace
}  // namespace heatskin::bench::budgets
