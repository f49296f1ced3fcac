#pragma once

// Timing programs behind `heatskin bench NAME`. A bench is a function in one file of this folder; it
// registers itself and returns rows. Speed is measured, not remembered: every row carries median, spread,
// repeats and the machine, and ratios compare what ran side by side in one run.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "heatskin/base/machine.h"
#include "heatskin/base/result.h"
#include "heatskin/kernels/simd_level.h"

namespace heatskin::bench {

struct BenchOptions {
  std::filesystem::path asset;  ///< empty: the bench's default, or something built in when that is not there
  int repeats = 9;              ///< measured runs of every subject, after one that does not count
  int steps = 0;                ///< of fits, where a bench makes some; 0: as many as the bench thinks best
  int levels = 0;               ///< of `scale`: meshes, each four times as fine; 0: its default
  std::string budgets;          ///< of `budgets`: "5000,20000"; empty: its default
  std::string methods;          ///< of `scale`: "local,thermal"; empty: its default
  std::string row;              ///< of `scale` and `budgets`: the part that its own process does
  std::uint64_t seed = 1;
  Progress* progress = nullptr;  ///< may be null
};

/// Order statistics of repeated measurements of one quantity.
struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
  double p10 = 0;
  double p90 = 0;
  int repeats = 0;
};

/// Percentiles interpolate linearly between the sorted values. An empty span gives zeros.
Spread spreadOf(std::span<const double> values);

/// One figure. `value` is what a table prints (the median, or a count); `spread` is in the same unit.
struct BenchRow {
  std::string name;  ///< stable, such as "walk_0.05_1t"
  double value = 0;
  std::string unit;
  Spread spread;
  std::string note;  ///< may be empty
};

/// A row for a quantity measured several times.
BenchRow measuredRow(std::string name, std::string unit, std::span<const double> values,
                     std::string note = {});

/// A row for something counted once.
BenchRow countedRow(std::string name, std::string unit, double value, std::string note = {});

struct BenchReport {
  std::string name;
  std::string subject;  ///< what was measured on, such as the asset's name and its face count
  std::vector<BenchRow> rows;
  std::vector<std::vector<std::string>> table;  ///< what people see instead of the rows; may be empty
  std::string figure;                           ///< an SVG document; may be empty
  Machine machine = describeMachine(simdLevel());
};

/// {name, subject, rows: [{name, value, unit, median, min, p10, p90, repeats, note}], machine}
nlohmann::json toJson(const BenchReport& report);

/// Seconds of `repeats` runs of each subject, round by round: one run of every subject, then the next round,
/// so that a busy moment of the machine hits all of them. One round before does not count. [subject][round]
std::vector<std::vector<double>> measureTogether(std::span<const std::function<void()>> subjects, int repeats,
                                                 Progress* progress = nullptr);

/// Seconds one call takes.
template <class Function>
double secondsOf(Function&& function) {
  const auto begin = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The folder of the shared test assets ($HEATSKIN_ASSETS or ../shared/assets seen from here or from the
/// program), empty when there is none.
std::filesystem::path assetsFolder();

using BenchFunction = Result<BenchReport> (*)(const BenchOptions& options);

struct BenchInfo {
  std::string name;
  std::string summary;  ///< one line for the list
  BenchFunction function = nullptr;
  std::vector<std::string> ignored = {};  ///< options of `heatskin bench` without effect: "--repeats"
};

/// "1 thread", "2 threads".
std::string threadsText(int threads);

/// All benches, sorted by name.
std::span<const BenchInfo> benches();

/// Runs one; an unknown name is a usage error that lists the known ones.
Result<BenchReport> runBench(const std::string& name, const BenchOptions& options);

/// At file scope of a bench's source: `const RegisterBench registration{"walk", "...", &runWalkBench};`
struct RegisterBench {
  RegisterBench(std::string name, std::string summary, BenchFunction function,
                std::vector<std::string> ignored = {});
};

}  // namespace heatskin::bench
