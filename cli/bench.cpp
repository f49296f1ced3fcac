// heatskin bench: speed figures of this machine.

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/harness.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

/// Enough for the parts of a fit that are compared from one state.
constexpr int kFewestSteps = 100;

class Bench : public Verb {
 public:
  void describe(CLI::App& app) override {
    app.add_option("NAME", name_, "The benchmark to run; without a name all are listed");
    app.add_option("--asset", asset_, "Measure on FILE instead of the benchmark's own asset")
        ->type_name("FILE");
    app.add_option("--repeats", repeats_, "Number of measured runs; the median is reported")
        ->type_name("N")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option(
           "--steps", steps_,
           "Steps of the fits in `speed` (default: the preset's), `scale` (300) and `budgets` (150); steps "
           "measured in `thermal` and `spectral` (60)")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000));
    app.add_option("--budgets", budgets_,
                   "Numbers of kernels in `budgets` (default: 5000,20000,80000,320000), increasing")
        ->type_name("LIST");
    app.add_option("--levels", levels_,
                   "Meshes in `scale`: the asset and finer ones, each with four times as many vertices "
                   "(default: 5; spot then ends at 749,570)")
        ->type_name("N")
        ->check(CLI::Range(1, 8));
    app.add_option("--methods", methods_,
                   "Methods in `scale` (default: local), such as local,thermal,spectral")
        ->type_name("LIST");
    app.add_option("--figure", figure_, "Draw the figures of `scale` into FILE.svg")->type_name("FILE.svg");
    app.add_option("--row", row_)->group("");  // what a process of its own is started for
    app.add_flag("--names", names_only_, "Print only the names, for scripts");
    app_ = &app;
    app.footer("Example:\n  heatskin bench walk --json walk.json");
  }

  Result<void> prepare(Session& session) override {
    const auto given = [&](const char* option) { return app_->count(option) > 0; };
    if (name_.empty()) {
      for (const char* option : {"--asset", "--repeats", "--steps", "--budgets", "--levels", "--methods",
                                 "--figure", "--seed", "--threads"}) {
        if (given(option)) {
          return usageError(
              fmt::format("{} needs the NAME of a benchmark; 'heatskin bench' lists them", option));
        }
      }
    } else if (names_only_) {
      return usageError("--names lists all benchmarks; leave out the NAME or --names");
    }
    if (given("--steps")) {
      const bool whole_fits = name_ == "speed" || name_ == "scale";
      if (!whole_fits && name_ != "budgets" && name_ != "thermal" && name_ != "spectral") {
        return usageError(fmt::format(
            "--steps applies to 'heatskin bench speed', 'scale', 'budgets', 'thermal' and 'spectral' only, "
            "not to {}",
            name_));
      }
      if (whole_fits && steps_ < kFewestSteps)
        return usageError(fmt::format("--steps must be at least {} for {}", kFewestSteps, name_));
    }
    if (given("--budgets") && name_ != "budgets")
      return usageError(fmt::format("--budgets applies to 'heatskin bench budgets' only, not to {}", name_));
    if (given("--row") && name_ != "budgets" && name_ != "scale")
      return usageError("--row is for rows of 'heatskin bench scale' and 'bench budgets'");
    for (const char* option : {"--levels", "--methods", "--figure"}) {
      if (given(option) && name_ != "scale")
        return usageError(fmt::format("{} applies to 'heatskin bench scale' only, not to {}", option, name_));
    }
    for (const bench::BenchInfo& info : bench::benches()) {
      if (info.name != name_) continue;
      for (const std::string& option : info.ignored) {
        if (given(option.c_str()))
          return usageError(
              fmt::format("{} has no effect on 'heatskin bench {}'; leave it out", option, name_));
      }
    }
    session.files.reads(asset_, "--asset");
    session.files.writes(figure_, "--figure", ".svg");
    return {};
  }

  Result<void> run(Session& session) override {
    Console& console = session.console;
    if (name_.empty()) return list(session);
    bench::BenchOptions options;
    options.asset = asset_;
    options.repeats = repeats_;
    options.steps = steps_;
    options.budgets = budgets_;
    options.levels = levels_;
    options.methods = methods_;
    options.row = row_;
    options.seed = session.common.seed;
    options.progress = &console;
    const auto report = bench::runBench(name_, options);
    if (!report) return report.error();

    const Machine& machine = report->machine;
    console.heading(fmt::format("{}: {}", report->name, report->subject));
    std::vector<std::vector<std::string>> rows;
    if (!report->table.empty()) rows = report->table;
    for (const bench::BenchRow& row : report->rows) {
      if (!report->table.empty()) break;
      const bench::Spread& s = row.spread;
      const std::string spread =
          s.repeats > 1 ? fmt::format("({:.4g} .. {:.4g}, {} runs)", s.p10, s.p90, s.repeats) : "";
      rows.push_back({row.name, fmt::format("{:.6g}", row.value), row.unit, spread, row.note});
    }
    console.table(rows);
    console.line();
    console.line(fmt::format("{}, {}, {}, {:.0f} GB, {}, {} build", machine.cpu,
                             counted(static_cast<std::size_t>(machine.cores), "core", "cores"), machine.simd,
                             machine.memory_gb, machine.compiler, machine.build));
    if (!figure_.empty()) {
      if (auto saved = saveText(figure_, report->figure); !saved) return saved.error();
    }
    return saveJson(console, session.common.json, Json(bench::toJson(*report)));
  }

 private:
  Result<void> list(Session& session) {
    Json json = {{"benches", Json::array()}};
    std::vector<std::vector<std::string>> rows;
    for (const bench::BenchInfo& info : bench::benches()) {
      json["benches"].push_back({{"name", info.name}, {"summary", info.summary}});
      if (names_only_) {
        session.console.line(info.name);
      } else {
        rows.push_back({info.name, info.summary});
      }
    }
    session.console.table(rows, 0);
    return saveJson(session.console, session.common.json, json);
  }

  const CLI::App* app_ = nullptr;
  std::string name_;
  std::string asset_;
  int repeats_ = bench::BenchOptions{}.repeats;
  int steps_ = 0, levels_ = 0;
  std::string budgets_, methods_, figure_, row_;
  bool names_only_ = false;
};

}  // namespace

std::unique_ptr<Verb> makeBench() {
  return std::make_unique<Bench>();
}

}  // namespace heatskin::cli
