// What a finer mesh costs: one asset at vertex numbers that grow by four each time, everything else the same
// (preset `compact`, few steps). Every row is a process of its own, so that its memory is its own: set-up
// from file to first step, median step, query rate, memory beyond the input, quality, jumps across edges. A
// method goes on until it refuses a mesh or until a row would take too long; from there on times and memory
// are extrapolated, and said to be.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "heatskin/base/plural.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/study/scale_figure.h"
#include "heatskin/study/scale_level.h"
#include "heatskin/training/config.h"

#include "bench/harness.h"
#include "bench/row_process.h"

namespace heatskin::bench::scale {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kSteps = 300, kLevels = 5;

/// A row expected to take longer than this is extrapolated.
constexpr double kMostSeconds = 240;

/// Vertices of the coarsest pumpkin, where there is no asset; and of the finest it can be made with.
constexpr int kPumpkin = 3000, kFinestPumpkin = 1'000'000;

/// "--row make:LEVEL:PATH" writes the asset of a level, "--row METHOD" measures it.
constexpr std::string_view kMake = "make:";

// ---- in a child ----

Result<void> makeLevel(const BenchOptions& options, int level, const fs::path& path) {
  return study::writeScaleLevel(options.asset.empty() ? spotIfThere() : options.asset, kPumpkin, level, path);
}

Result<BenchReport> measureRow(const BenchOptions& options) {
  const auto method = methodNamed(options.row);
  if (!method) return usageError(fmt::format("there is no method '{}'", options.row));
  FitConfig config = *presetConfig("compact");
  config.evaluator.method = *method;
  config.train.steps = options.steps > 0 ? options.steps : kSteps;
  config.train.seed = options.seed;
  const auto figures = study::measureScale(options.asset, config);
  if (!figures) return figures.error();

  BenchReport report;
  report.name = "scale";
  report.subject = "one row";
  const auto add = [&](const char* name, const char* unit, double value) {
    report.rows.push_back(countedRow(name, unit, value));
  };
  add("vertices", "vertices", static_cast<double>(figures->vertices));
  add("faces", "faces", static_cast<double>(figures->faces));
  add("load_s", "s", figures->load_s);
  add("surface_s", "s", figures->surface_s);
  add("proxy_s", "s", figures->proxy_s);
  add("init_s", "s", figures->init_s);
  add("setup_s", "s", figures->setup_s);
  add("step_ms", "ms", figures->step_ms);
  add("query_mpoints_s", "Mpoints/s", figures->query_mpoints_s);
  add("input_mb", "MB", figures->input_mb);
  add("load_peak_mb", "MB", figures->load_peak_mb);
  add("beyond_mb", "MB", figures->beyond_mb);
  add("psnr", "dB", figures->psnr);
  add("seam_p99", "levels", figures->seam_p99);
  add("seam_max", "levels", figures->seam_max);
  return report;
}

// ---- in the parent ----

/// One method at one level.
struct Cell {
  json values;  ///< by the names of measureRow(); null where there is nothing
  bool extrapolated = false;
  std::string refused;  ///< why there is nothing
  double seconds = 0;   ///< of the whole row
};

constexpr const char* kExtrapolatable[] = {"setup_s", "step_ms", "beyond_mb"};

/// From the last two measured levels on, as powers of the number of vertices.
Cell extrapolate(const Cell& before, const Cell& last, double vertices) {
  Cell cell;
  cell.extrapolated = true;
  cell.values["vertices"] = vertices;
  const auto power = [&](double a, double b, double n_a, double n_b, double n) {
    const double exponent = std::log(std::max(b, 1e-9) / std::max(a, 1e-9)) / std::log(n_b / n_a);
    return b * std::pow(n / n_b, std::max(0.0, exponent));
  };
  const double n_a = before.values["vertices"], n_b = last.values["vertices"];
  for (const char* name : kExtrapolatable)
    cell.values[name] = power(before.values[name], last.values[name], n_a, n_b, vertices);
  cell.seconds = power(before.seconds, last.seconds, n_a, n_b, vertices);
  return cell;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

struct Column {
  const char* name;
  const char* title;
  const char* unit;
  int digits;
};

constexpr Column kColumns[] = {{"setup_s", "set-up s", "s", 2},
                               {"step_ms", "step ms", "ms", 2},
                               {"query_mpoints_s", "queries M/s", "Mpoints/s", 2},
                               {"beyond_mb", "beyond the input MB", "MB", 0},
                               {"psnr", "PSNR dB", "dB", 2},
                               {"seam_p99", "seam p99", "levels", 2},
                               {"seam_max", "seam max", "levels", 1}};

/// What the parts of the set-up and the input take: in the JSON only.
constexpr Column kDetails[] = {{"faces", "", "faces", 0},    {"load_s", "", "s", 2},
                               {"surface_s", "", "s", 2},    {"proxy_s", "", "s", 2},
                               {"init_s", "", "s", 2},       {"input_mb", "", "MB", 0},
                               {"load_peak_mb", "", "MB", 0}};

void addCell(BenchReport& report, const std::string& method, const Cell& cell) {
  const double vertices = cell.values["vertices"];
  const std::string name = fmt::format("{}_{:.0f}_", method, vertices);
  std::vector<std::string> line = {method, grouped(static_cast<std::size_t>(vertices))};
  if (!cell.refused.empty()) {
    report.rows.push_back(countedRow(name + "refused", "vertices", vertices, cell.refused));
    line.push_back("refused: " + cell.refused);
    report.table.push_back(line);
    return;
  }
  const std::string note = cell.extrapolated ? "extrapolated" : "measured";
  for (const Column& column : kColumns) {
    if (!cell.values.contains(column.name)) {
      line.emplace_back("-");
      continue;
    }
    const double value = cell.values[column.name];
    report.rows.push_back(countedRow(name + column.name, column.unit, value, note));
    line.push_back(fmt::format("{}{:.{}f}", cell.extrapolated ? "~" : "", value, column.digits));
  }
  for (const Column& column : kDetails) {
    if (cell.values.contains(column.name))
      report.rows.push_back(countedRow(name + column.name, column.unit, cell.values[column.name], note));
  }
  report.table.push_back(line);
}

Result<BenchReport> runScaleBench(const BenchOptions& options) {
  if (options.row.starts_with(kMake)) {
    const std::string rest = options.row.substr(kMake.size());
    const std::size_t colon = rest.find(':');
    if (auto made = makeLevel(options, std::atoi(rest.c_str()), rest.substr(colon + 1)); !made)
      return made.error();
    BenchReport report;
    report.name = "scale";
    return report;
  }
  if (!options.row.empty()) return measureRow(options);

  const fs::path source = options.asset.empty() ? spotIfThere() : options.asset;
  int levels = options.levels > 0 ? options.levels : kLevels;
  if (source.empty()) {
    while ((static_cast<long>(kPumpkin) << (2 * (levels - 1))) > kFinestPumpkin)
      --levels;
  }
  const std::vector<std::string> methods = split(options.methods.empty() ? "local" : options.methods);
  for (const std::string& method : methods) {
    if (!methodNamed(method))
      return usageError(fmt::format("there is no method '{}'; choose from local, thermal, spectral", method));
  }
  BenchReport report;
  report.name = "scale";
  report.subject = fmt::format("{}, preset compact, {} steps",
                               source.empty() ? std::string("the built-in pumpkin") : source.stem().string(),
                               options.steps > 0 ? options.steps : kSteps);
  report.table.push_back({"method", "vertices"});
  for (const Column& column : kColumns)
    report.table.back().emplace_back(column.title);

  const RowFolder folder;
  std::vector<std::vector<Cell>> cells(methods.size());
  for (int level = 0; level < levels; ++level) {
    const fs::path mesh = folder.path / "mesh.glb";
    if (options.progress != nullptr) options.progress->begin(fmt::format("level {}", level + 1), 0);
    if (auto made = runRow("scale", options, options.asset,
                           fmt::format("{}{}:{}", kMake, level, mesh.string()), folder.path);
        !made)
      return made.error();
    double vertices = 0;
    for (std::size_t m = 0; m < methods.size(); ++m) {
      std::vector<Cell>& column = cells[m];
      const bool known =
          column.size() >= 2 && column[level - 2].refused.empty() && column[level - 1].refused.empty();
      if (level > 0 && !column.back().refused.empty()) {
        Cell cell;
        cell.refused = column.back().refused;
        cell.values["vertices"] =
            vertices > 0 ? vertices : 4 * column.back().values["vertices"].get<double>();
        column.push_back(cell);
        continue;
      }
      if (known) {
        const double expected = vertices > 0 ? vertices : 4 * column.back().values["vertices"].get<double>();
        const Cell next = extrapolate(column[level - 2], column[level - 1], expected);
        if (next.seconds > kMostSeconds && methods[m] != "local") {
          column.push_back(next);
          continue;
        }
      }
      if (options.progress != nullptr)
        options.progress->begin(fmt::format("level {}, {}", level + 1, methods[m]), 0);
      Stopwatch watch;
      auto values = runRow("scale", options, mesh, methods[m], folder.path);
      Cell cell;
      cell.seconds = watch.lap();
      if (values) {
        cell.values = std::move(*values);
        vertices = cell.values["vertices"];
      } else if (values.error().kind == ErrorKind::kInput && (level > 0 || m > 0)) {
        cell.refused = values.error().message;
        cell.values["vertices"] =
            vertices > 0 ? vertices : 4 * column.back().values["vertices"].get<double>();
      } else {
        return values.error();
      }
      column.push_back(std::move(cell));
    }
  }
  if (options.progress != nullptr) options.progress->end();

  std::vector<study::ScalePoint> points;
  for (std::size_t m = 0; m < methods.size(); ++m) {
    for (const Cell& cell : cells[m]) {
      addCell(report, methods[m], cell);
      if (!cell.refused.empty()) continue;
      for (const char* panel : study::kScalePanels) {
        if (cell.values.contains(panel))
          points.push_back({panel, methods[m], methods[m], cell.values["vertices"], cell.values[panel],
                            cell.extrapolated});
      }
    }
  }
  report.figure = drawPlot(study::scalePlot(points));
  return report;
}

const RegisterBench registration{"scale",
                                 "what finer meshes cost: set-up, step, queries, memory, quality (minutes)",
                                 &runScaleBench,
                                 {"--repeats"}};

}  // namespace
}  // namespace heatskin::bench::scale
