// heatskin batch: fits of many assets, on one machine or as one task of many of a cluster.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/base/memory_budget.h"
#include "heatskin/base/parallel.h"
#include "heatskin/batch/manifest.h"
#include "heatskin/batch/plan.h"
#include "heatskin/batch/shard.h"
#include "heatskin/batch/status.h"
#include "heatskin/batch/worker.h"
#include "heatskin/pipeline/gallery.h"
#include "heatskin/version.h"

#include "cli/build_commit.h"
#include "cli/output.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

namespace fs = std::filesystem;

enum class Work { kRun, kPlan, kStatus, kMerge };

/// More products get a gallery only if someone asks for it: each is opened and drawn.
constexpr std::size_t kMostDrawn = 1000;

/// Running and stale leases, and reasons of failures, that status shows.
constexpr std::size_t kShown = 12;

std::optional<std::string> environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

class Batch : public Verb {
 public:
  bool random() const override { return true; }
  std::uint64_t defaultSeed() const override { return 0; }  // of fits, unless a line has its own

  void describe(CLI::App& app) override {
    app_ = &app;
    app.add_option("MANIFEST", first_,
                   "A file with one JSON object per line; or the word plan, status or merge")
        ->required();
    app.add_option("TARGET", second_,
                   "With plan: the MANIFEST. With status and merge: the folder of the batch");
    app.add_option(
           "-o,--output", output_,
           "Folder for products and rows, shared by all workers; created if it does not exist. With plan:\n"
           "the manifest with predicted costs in each line")
        ->type_name("DIR");
    app.add_option("--options", defaults_,
                   "Options of all assets as a JSON object; those of a line go before, such as "
                   "'{\"preset\": \"draft\"}'")
        ->type_name("JSON");
    app.add_option("--shard", shard_,
                   "This worker's part: I/N, the I-th of N (default: the task's place in the array of Slurm, "
                   "Kubernetes,\n"
                   "AWS Batch, SGE or PBS, otherwise everything)")
        ->type_name("I/N");
    app.add_option(
           "--shards", shards_,
           "How many shards there are, where the engine does not tell (Kubernetes, PBS) or only a part "
           "of the\n"
           "array was started; also $HEATSKIN_SHARDS")
        ->type_name("N")
        ->check(CLI::Range(1, 10'000'000));
    app.add_flag("--steal", steal_, "When the shard is done, go on with unfinished assets of other shards");
    app.add_option("--jobs", jobs_,
                   "Fits side by side, which share the threads (default: one for each thread)")
        ->type_name("N")
        ->check(CLI::Range(1, 1024));
    app.add_option("--max-asset-seconds", max_seconds_,
                   "A fit that takes longer is killed and has an error; another attempt goes on from its "
                   "checkpoint")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.001, 1e9));
    app.add_option("--attempts", attempts_,
                   "Runs in which an asset that crashes, hangs or takes its machine along is tried")
        ->type_name("N")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_flag("--retry-failed", retry_, "Try again what has used up its attempts, too");
    app.add_flag("--fresh", fresh_, "Repeat what is done already");
    app.add_flag("--no-wait", no_wait_, "Do not wait for assets that other workers have at the moment");
    app.add_flag("--strict", strict_, "Exit with 1 if an asset failed");
    app.add_option("--checkpoint-every", interval_, "Seconds between two checkpoints of a fit")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, 1e6))
        ->capture_default_str();
    app.add_option("--grace-seconds", grace_,
                   "After SIGTERM: how long fits may take to save their state. Below what the engine grants")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, 1e6))
        ->capture_default_str();
    app.add_option("--stale-seconds", stale_,
                   "A worker without a sign of life for so long is gone, and others take over its assets")
        ->type_name("SECONDS")
        ->check(CLI::Range(1.0, 1e6))
        ->capture_default_str();
    app.add_option("--target-minutes", target_, "With plan: how long a task of the array may take")
        ->type_name("MINUTES")
        ->check(CLI::Range(0.01, 1e6))
        ->capture_default_str();
    app.add_option("--max-tasks", most_, "With plan: tasks in an array, at most")
        ->type_name("N")
        ->check(CLI::Range(1, 10'000'000))
        ->capture_default_str();
    app.add_option(
           "--calibrate", calibrate_,
           "With plan: the folder of an earlier batch on the same kind of machine, whose times correct "
           "the predictions")
        ->type_name("DIR");
    app.add_option("--manifest", manifest_,
                   "With status and merge: the manifest, if it is not where the workers found it")
        ->type_name("FILE");
    app.add_flag("--gallery,!--no-gallery", gallery_,
                 "With merge: draw index.html, or do not (default: up to 1,000 products)");
    app.footer(
        "A line is {\"input\": \"a.glb\", \"output\": \"props/a\", \"options\": {\"preset\": \"draft\", "
        "\"rates.color\": 0.01}}:\n"
        "inputs are relative to the manifest, outputs stay in DIR, options are those of 'heatskin fit' "
        "(max_bytes,\n"
        "channels, no_eval, ...) and of its --set. DIR/props/a.glb is the product, DIR/rows/props/a.json the "
        "row: input,\n"
        "output, status, error and the keys of 'fit --json'. Assets whose input, options and version have "
        "not "
        "changed\n"
        "are skipped. SIGTERM saves the states of fits; the same command goes on. Any number of workers may "
        "share "
        "DIR.\n\n"
        "The exit code is 0 if this worker did its work, whatever became of single assets (--strict: 1 if "
        "one "
        "failed).\n"
        "--max-memory is for all fits of a worker together, --threads too. --json has done, skipped, failed "
        "and "
        "seconds.\n\n"
        "Example:\n"
        "  heatskin batch plan assets.jsonl --target-minutes 60\n"
        "  heatskin batch assets.jsonl -o fitted --jobs 4 --shard 3/20\n"
        "  heatskin batch status fitted\n"
        "  heatskin batch merge fitted");
  }

  Result<void> prepare(Session& session) override {
    work_ = first_ == "plan"     ? Work::kPlan
            : first_ == "status" ? Work::kStatus
            : first_ == "merge"  ? Work::kMerge
                                 : Work::kRun;
    if (work_ == Work::kRun) {
      if (!second_.empty()) {
        return usageError(fmt::format("'{}' is one argument too many; see 'heatskin batch --help'",
                                      oneLine(displayPath(second_))));
      }
      if (output_.empty()) return usageError("-o DIR is missing; see 'heatskin batch --help'");
      return prepareRun(session);
    }
    if (second_.empty()) {
      return usageError(fmt::format("'batch {}' needs {}; see 'heatskin batch --help'", first_,
                                    work_ == Work::kPlan ? "a MANIFEST" : "the folder of a batch"));
    }
    if (work_ == Work::kPlan) {
      session.files.reads(second_, "MANIFEST");
      session.files.writes(output_, "-o");
      return {};
    }
    if (!output_.empty()) return usageError(fmt::format("-o is not for 'batch {}'", first_));
    auto record = batch::readRecord(second_);
    if (!record) return record.error();
    record_ = std::move(*record);
    if (work_ == Work::kMerge)
      session.files.writesInto(second_, {"results.csv", "results.jsonl", "index.html"}, "merge");
    return {};
  }

  Result<void> run(Session& session) override {
    switch (work_) {
      case Work::kPlan:
        return plan(session);
      case Work::kStatus:
        return status(session);
      case Work::kMerge:
        return merge(session);
      case Work::kRun:
        break;
    }
    return work(session);
  }

 private:
  Result<void> prepareRun(Session& session) {
    session.files.reads(first_, "MANIFEST");
    session.files.writesInto(output_, {}, "-o");
    std::size_t count = static_cast<std::size_t>(shards_);
    if (const auto given = environment("HEATSKIN_SHARDS"); count == 0 && given) {
      const auto parsed = batch::parseShard("1/" + *given);
      if (!parsed)
        return usageError(fmt::format("HEATSKIN_SHARDS={} is not a number of shards", oneLine(*given)));
      count = parsed->count;
    }
    auto shard = shard_.empty() ? batch::shardOfEngine(environment, count) : batch::parseShard(shard_);
    if (!shard) {
      return shard_.empty() ? usageError(shard.error().message + " (--shards N or --shard I/N)")
                            : usageError("--" + shard.error().message);
    }
    chosen_ = std::move(*shard);
    return {};
  }

  int jobs() const { return jobs_ > 0 ? jobs_ : std::max(1, threadCount()); }

  /// The command line of a fit.
  std::vector<std::string> command(const Session& session, const batch::BatchAsset& asset,
                                   const batch::FitPlaces& places) const {
    std::vector<std::string> words = {"/proc/self/exe",
                                      "fit",
                                      asset.file.string(),
                                      "-o",
                                      places.product.string(),
                                      "--checkpoint",
                                      places.checkpoint.string(),
                                      "--checkpoint-every",
                                      fmt::format("{}", interval_),
                                      "--resume=auto",
                                      "--json",
                                      places.result.string(),
                                      "--threads",
                                      std::to_string(std::max(1, threadCount() / jobs())),
                                      "--max-memory",
                                      std::to_string(places.max_bytes),
                                      "--quiet"};
    bool seed = false;
    for (const batch::LineOption& option : asset.options->options) {
      if (option.of_fit) {
        seed = seed || option.key == "seed";
        words.push_back(fmt::format("--set={}={}", option.key, option.value));
        continue;
      }
      std::string flag = "--" + option.key;
      std::replace(flag.begin(), flag.end(), '_', '-');
      words.push_back(option.value.empty() ? flag : flag + "=" + option.value);
    }
    if (!seed && app_->count("--seed") > 0) words.push_back(fmt::format("--seed={}", session.common.seed));
    return words;
  }

  /// What rows belong to. The vector instructions are not part of it: where they differ between machines,
  /// HEATSKIN_SIMD makes them equal (docs/batch.md).
  std::string version(const Session& session) const {
    const std::string_view commit = buildCommit();
    return fmt::format("{}{}{}", kVersion, commit.empty() ? "" : fmt::format(" {}", commit),
                       app_->count("--seed") > 0 ? fmt::format(" seed {}", session.common.seed) : "");
  }

  Result<void> work(Session& session) {
    const auto manifest = batch::readManifest(first_, output_, defaults_);
    if (!manifest) return manifest.error();
    session.graceful.emplace();
    batch::WorkerOptions options;
    options.folder = fs::absolute(output_).lexically_normal();
    options.shard = chosen_;
    options.jobs = jobs();
    options.max_bytes = memoryBudget();
    options.max_asset_seconds = max_seconds_;
    options.stale_seconds = stale_;
    options.grace_seconds = grace_;
    options.attempts = attempts_;
    options.retry_failed = retry_;
    options.fresh = fresh_;
    options.wait = !no_wait_;
    options.steal = steal_;
    options.version = version(session);
    options.command = [&](const batch::BatchAsset& asset, const batch::FitPlaces& places) {
      return command(session, asset, places);
    };
    options.progress = &session.console;
    const auto report = batch::runWorker(*manifest, options);
    if (!report) return report.error();
    Console& console = session.console;
    console.heading(oneLine(displayPath(output_)));
    std::vector<std::vector<std::string>> lines;
    if (chosen_.count > 1) {
      lines.push_back({"shard", fmt::format("{} of {}{}", chosen_.index + 1, chosen_.count,
                                            chosen_.source.empty() ? "" : " (" + chosen_.source + ")")});
    }
    lines.push_back(
        {"assets", fmt::format("{}: {} done, {} skipped, {} failed{}", grouped(report->assets),
                               grouped(report->done), grouped(report->skipped), grouped(report->failed),
                               report->elsewhere > 0
                                   ? fmt::format(", {} left to other workers", grouped(report->elsewhere))
                                   : std::string())});
    lines.push_back({"time", humanSeconds(report->seconds)});
    console.table(lines);
    for (const std::string& reason : report->failures)
      console.warning(oneLine(reason));
    if (report->failed > report->failures.size())
      console.warning(fmt::format("{} more failed; 'heatskin batch status' counts the reasons",
                                  grouped(report->failed - report->failures.size())));
    const Json json = {{"done", report->done},       {"skipped", report->skipped},
                       {"failed", report->failed},   {"seconds", jsonNumber(report->seconds)},
                       {"assets", report->assets},   {"elsewhere", report->elsewhere},
                       {"shard", chosen_.index + 1}, {"shards", chosen_.count},
                       {"jobs", options.jobs},       {"threads", threadCount()},
                       {"version", kVersion}};
    if (auto saved = saveJson(console, session.common.json, json); !saved) return saved;
    if (strict_ && report->failed > 0) {
      if (auto flushed = console.flush(); !flushed) return flushed;
      return failure(
          fmt::format("{} failed; their rows have the reasons", counted(report->failed, "asset", "assets")));
    }
    return {};
  }

  Result<void> plan(Session& session) {
    const fs::path folder = fs::absolute(".") / "batch";  // where products would go does not matter here
    const auto manifest = batch::readManifest(second_, folder, defaults_);
    if (!manifest) return manifest.error();
    if (manifest->assets.empty())
      return inputError(fmt::format("{}: no line can be used; the first says: {}", displayPath(second_),
                                    manifest->bad.front().error));
    Console& console = session.console;
    const std::vector<batch::Cost> costs = batch::predictCosts(*manifest, &console);
    if (console.cancelled()) return failure("interrupted", error_code::kCancelled);
    batch::PlanOptions options;
    options.target_seconds = 60 * target_;
    options.jobs = std::max(1, jobs_);
    options.most = static_cast<std::size_t>(most_);
    batch::Calibration calibration;
    if (!calibrate_.empty()) {
      calibration = batch::calibrate(calibrate_);
      if (calibration.rows == 0)
        return inputError(
            fmt::format("{}: has no finished rows of a batch (--calibrate)", displayPath(calibrate_)));
      options.factor = calibration.factor;
    }
    const batch::Plan plan = batch::makePlan(*manifest, costs, options);
    if (!output_.empty()) {
      const std::string text = batch::plannedManifest(*manifest, costs, options.factor);
      if (output_ == "-") {
        if (auto written = console.writeStdout(text); !written) return written;
      } else if (auto saved = saveText(output_, text); !saved) {
        return saved;
      }
    }
    show(console, *manifest, plan, options, calibration);
    return saveJson(console, session.common.json, planJson(*manifest, plan, options, calibration));
  }

  static Json arrayJson(const batch::ArraySize& size) {
    return {{"tasks", size.tasks},
            {"longest_task_s", jsonNumber(size.longest_s)},
            {"mean_task_s", jsonNumber(size.mean_s)},
            {"longest_task_by_count_s", jsonNumber(size.by_count_s)}};
  }

  /// What to ask a cluster for: a quarter more than predicted, in whole numbers of 100 MB.
  static std::size_t requestMb(const batch::Plan& plan) {
    return 100 * static_cast<std::size_t>(std::ceil(1.25 * plan.task_mb / 100));
  }
  /// Predictions are off by half now and then: twice the longest task, in whole minutes.
  static std::size_t requestMinutes(const batch::Plan& plan) {
    return std::max<std::size_t>(5, static_cast<std::size_t>(std::ceil(2 * plan.chosen.longest_s / 60)));
  }

  static Json planJson(const batch::Manifest& manifest, const batch::Plan& plan,
                       const batch::PlanOptions& options, const batch::Calibration& calibration) {
    Json json = {{"assets", plan.assets},
                 {"bad_lines", manifest.bad.size()},
                 {"missing", plan.missing},
                 {"seconds", jsonNumber(plan.total_s)},
                 {"median_asset_s", jsonNumber(plan.median_s)},
                 {"longest_asset_s", jsonNumber(plan.longest_s)},
                 {"longest_asset", plan.longest_name},
                 {"largest_asset_mb", jsonNumber(plan.longest_mb)},
                 {"largest_asset", plan.largest_name},
                 {"target_s", jsonNumber(options.target_seconds)},
                 {"target_reached", plan.reached},
                 {"jobs", options.jobs},
                 {"array", arrayJson(plan.chosen)},
                 {"memory_mb", requestMb(plan)},
                 {"time_limit_minutes", requestMinutes(plan)},
                 {"others", Json::array()},
                 {"calibration", nullptr}};
    for (const batch::ArraySize& size : plan.others)
      json["others"].push_back(arrayJson(size));
    if (calibration.rows > 0) {
      json["calibration"] = {{"rows", calibration.rows},
                             {"factor", calibration.factor},
                             {"low", calibration.low},
                             {"high", calibration.high}};
    }
    return json;
  }

  void show(Console& console, const batch::Manifest& manifest, const batch::Plan& plan,
            const batch::PlanOptions& options, const batch::Calibration& calibration) const {
    console.heading(oneLine(displayPath(second_)));
    std::vector<std::vector<std::string>> lines = {
        {"assets",
         fmt::format("{}{}{}", grouped(plan.assets),
                     plan.missing > 0 ? fmt::format(", {} of them missing", grouped(plan.missing)) : "",
                     manifest.bad.empty()
                         ? ""
                         : fmt::format("; {} cannot be used",
                                       counted(manifest.bad.size(), "more line", "more lines")))},
        {"work",
         fmt::format("{} on one thread; an asset {} (median) to {} ({})", humanSeconds(plan.total_s),
                     humanSeconds(plan.median_s), humanSeconds(plan.longest_s), oneLine(plan.longest_name))},
        {"memory", fmt::format("up to {} for an asset ({})", humanBytes(1e6 * plan.longest_mb),
                               oneLine(plan.largest_name))}};
    if (calibration.rows > 0) {
      lines.push_back(
          {"calibration", fmt::format("{}: predictions times {:.2f} (80 % lie between {:.2f} and {:.2f})",
                                      counted(calibration.rows, "row", "rows"), calibration.factor,
                                      calibration.low, calibration.high)});
    } else {
      lines.push_back(
          {"calibration", "none: times are those of the machine in docs/batch.md (--calibrate DIR)"});
    }
    console.table(lines);
    console.line();
    std::vector<std::vector<std::string>> table = {
        {"tasks", "longest", "mean", "longest if shared by number"}};
    std::vector<batch::ArraySize> sizes = plan.others;
    sizes.push_back(plan.chosen);
    std::sort(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.tasks < b.tasks; });
    for (const batch::ArraySize& size : sizes) {
      table.push_back({fmt::format("{}{}", grouped(size.tasks), size.tasks == plan.chosen.tasks ? " *" : ""),
                       humanSeconds(size.longest_s), humanSeconds(size.mean_s),
                       humanSeconds(size.by_count_s)});
    }
    console.table(table);
    console.line();
    if (!plan.reached) {
      console.line(fmt::format(
          "  {} per task cannot be reached: {}.", humanSeconds(options.target_seconds),
          plan.longest_s > options.target_seconds
              ? fmt::format("'{}' alone takes {}", oneLine(plan.longest_name), humanSeconds(plan.longest_s))
              : fmt::format("it takes more than {} tasks", grouped(options.most))));
    }
    console.line(fmt::format("  Slurm:      sbatch --array=1-{} --cpus-per-task={} --mem={}M --time={} ...",
                             plan.chosen.tasks, options.jobs, requestMb(plan), requestMinutes(plan)));
    console.line(fmt::format("  Kubernetes: completions: {}, requests: cpu \"{}\", memory {}M",
                             plan.chosen.tasks, options.jobs, requestMb(plan)));
  }

  /// The manifest that rows belong to, if it can be read.
  std::optional<batch::Manifest> manifestOf(Session& session) const {
    const fs::path file = manifest_.empty() ? record_.manifest : fs::path(manifest_);
    auto manifest = batch::readManifest(file, second_, defaults_);
    if (!manifest) {
      session.console.warning(manifest.error().message +
                              "; rows are counted without it (--manifest names another place)");
      return {};
    }
    return std::move(*manifest);
  }

  Result<void> status(Session& session) {
    if (!manifest_.empty()) {
      std::error_code ignored;
      if (!fs::exists(manifest_, ignored))
        return inputError(fmt::format("{}: there is no such file (--manifest)", displayPath(manifest_)));
    }
    const auto manifest = manifestOf(session);
    // A seed of the whole batch is not known here; rows of this version, whatever it was, are fine.
    const std::string version =
        record_.version.starts_with(this->version(session)) ? record_.version : this->version(session);
    const batch::BatchStatus status =
        batch::readStatus(second_, record_, manifest ? &*manifest : nullptr, stale_, version);
    Console& console = session.console;
    console.heading(oneLine(displayPath(second_)));
    std::vector<std::vector<std::string>> lines = {
        {"assets", grouped(status.total)},
        {"done",
         grouped(status.done) + (status.outdated > 0
                                     ? fmt::format(", {} of them by another version or with other options",
                                                   grouped(status.outdated))
                                     : "")},
        {"failed", grouped(status.failed)},
        {"running", grouped(status.running)},
        {"stale", grouped(status.stale) +
                      (status.stale > 0 ? ": their workers are gone; the next worker takes them over" : "")},
        {"waiting", grouped(status.waiting)}};
    if (status.remaining_s > 0)
      lines.push_back({"left", humanSeconds(status.remaining_s) + " on one thread, predicted"});
    console.table(lines);
    showLeases(console, status);
    std::vector<std::pair<std::size_t, std::string>> reasons;
    for (const auto& [reason, count] : status.reasons)
      reasons.emplace_back(count, reason);
    std::stable_sort(reasons.begin(), reasons.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    if (!reasons.empty()) console.line("  why assets failed:");
    std::vector<std::vector<std::string>> table;
    for (std::size_t r = 0; r < std::min(kShown, reasons.size()); ++r)
      table.push_back({grouped(reasons[r].first), oneLine(reasons[r].second)});
    console.table(table, 4);
    Json json = {{"total", status.total},
                 {"done", status.done},
                 {"failed", status.failed},
                 {"running", status.running},
                 {"stale", status.stale},
                 {"waiting", status.waiting},
                 {"outdated", status.outdated},
                 {"cpu_seconds", jsonNumber(status.seconds)},
                 {"remaining_seconds", jsonNumber(status.remaining_s)}};
    json["leases"] = Json::array();
    for (const batch::FoundLease& lease : status.leases) {
      json["leases"].push_back({{"output", lease.info.name},
                                {"host", lease.info.host},
                                {"pid", lease.info.pid},
                                {"job", lease.info.job},
                                {"since", lease.info.since},
                                {"sign_of_life_s", jsonNumber(lease.age_s)},
                                {"stale", lease.dead || lease.age_s > stale_}});
    }
    json["reasons"] = Json::object();
    for (const auto& [count, reason] : reasons)
      json["reasons"][reason] = count;
    return saveJson(console, session.common.json, json);
  }

  void showLeases(Console& console, const batch::BatchStatus& status) const {
    std::vector<std::vector<std::string>> table;
    for (const batch::FoundLease& lease : status.leases) {
      if (table.size() == kShown) break;
      table.push_back({oneLine(lease.info.name),
                       oneLine(fmt::format("{}{}{}", lease.info.host, lease.info.job.empty() ? "" : ", ",
                                           lease.info.job)),
                       "since " + oneLine(lease.info.since),
                       lease.dead || lease.age_s > stale_
                           ? "stale"
                           : fmt::format("seen {} ago", humanSeconds(lease.age_s))});
    }
    if (table.empty()) return;
    console.line(
        status.leases.size() > table.size()
            ? fmt::format("  {} of {} that are worked on:", table.size(), grouped(status.leases.size()))
            : "  worked on:");
    console.table(table, 4);
  }

  Result<void> merge(Session& session) {
    const auto manifest = manifestOf(session);
    batch::CsvTable table;
    std::string lines;
    std::size_t done = 0, failed = 0;
    std::vector<GalleryItem> items;
    batch::visitRows(second_, manifest ? &*manifest : nullptr, [&](const Json& row) {
      table.add(row);
      lines += row.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
      ++(row.value("status", "") == "done" ? done : failed);
      items.push_back(galleryItem(row));
    });
    const std::string csv = table.text();
    const fs::path csv_file = fs::path(second_) / "results.csv",
                   lines_file = fs::path(second_) / "results.jsonl";
    {
      const NoInterrupt guard;
      const auto bytes = [](const std::string& text) {
        return std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
      };
      const FileContent files[] = {{csv_file, bytes(csv)}, {lines_file, bytes(lines)}};
      if (auto saved = writeFilesAtomically(files); !saved) return saved;
    }
    const std::size_t total = manifest ? manifest->size() : record_.assets + record_.bad_lines;
    const std::size_t missing = total > table.size() ? total - table.size() : 0;
    Json json = {{"rows", table.size()},
                 {"done", done},
                 {"failed", failed},
                 {"missing", missing},
                 {"csv", displayPath(csv_file)},
                 {"jsonl", displayPath(lines_file)},
                 {"gallery", nullptr}};
    std::vector<std::vector<std::string>> shown = {
        {"rows",
         fmt::format("{}: {} done, {} failed", grouped(table.size()), grouped(done), grouped(failed))},
        {"missing", grouped(missing)},
        {"table", oneLine(displayPath(csv_file))},
        {"rows as they are", oneLine(displayPath(lines_file))}};
    const bool asked = app_->count("--gallery") > 0;
    if (asked ? gallery_ : items.size() <= kMostDrawn) {
      const fs::path page = fs::path(second_) / "index.html";
      GalleryOptions options;
      options.progress = &session.console;
      options.write = [](const fs::path& path, std::span<const std::uint8_t> bytes) {
        return saveBytes(path, bytes);
      };
      const auto drawn = writeGallery(items, page, options);
      if (!drawn) return drawn.error();
      shown.push_back({"gallery", oneLine(displayPath(page))});
      json["gallery"] = displayPath(page);
    } else if (!asked) {
      shown.push_back(
          {"gallery", fmt::format("left out: more than {} products (--gallery)", grouped(kMostDrawn))});
    }
    session.console.table(shown);
    return saveJson(session.console, session.common.json, json);
  }

  /// A row as a card: its product with what is known of it, or why there is none.
  GalleryItem galleryItem(const Json& row) const {
    GalleryItem item;
    const auto text = [&](const Json& object, const char* key) {
      return object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : std::string();
    };
    item.name = text(row, "output");
    if (item.name.ends_with(".glb")) item.name.resize(item.name.size() - 4);
    item.error = text(row, "status") == "done" ? std::string() : text(row, "error");
    if (item.name.empty()) item.name = text(row, "input");
    if (item.name.empty() && row.contains("line")) item.name = "line " + row["line"].dump();
    if (!item.error.empty()) return item;
    item.product = fs::path(second_) / text(row, "output");
    const auto number = [&](std::string_view key) -> std::optional<double> {
      const Json& from = key == "run_cpu_s" && row.contains("batch") ? row["batch"] : row;
      if (!from.contains(key) || !from[std::string(key)].is_number()) return {};
      return from[std::string(key)].get<double>();
    };
    addGalleryFigures(number, item.figures);
    return item;
  }

  const CLI::App* app_ = nullptr;
  Work work_ = Work::kRun;
  std::string first_, second_, output_, defaults_, shard_, manifest_, calibrate_;
  batch::Shard chosen_;
  batch::BatchRecord record_;
  int shards_ = 0, jobs_ = 0, attempts_ = 3, most_ = 10000;
  double max_seconds_ = 0, interval_ = 30, grace_ = 30, stale_ = 180, target_ = 60;
  bool steal_ = false, retry_ = false, fresh_ = false, no_wait_ = false, strict_ = false, gallery_ = true;
};

}  // namespace

std::unique_ptr<Verb> makeBatch() {
  return std::make_unique<Batch>();
}

}  // namespace heatskin::cli
