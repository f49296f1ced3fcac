// heatskin fit: kernels for an asset, as a GLB that opens everywhere.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "heatskin/base/files.h"
#include "heatskin/base/memory_budget.h"
#include "heatskin/evaluators/method_traits.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/training/config.h"
#include "heatskin/viewing/live_fit.h"
#include "heatskin/viewing/page.h"
#include "heatskin/viewing/server.h"

#include "cli/browser.h"
#include "cli/evaluation_page.h"
#include "cli/fit_job.h"
#include "cli/fit_options.h"
#include "cli/fit_report.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

namespace fs = std::filesystem;

/// All options with the values of the default preset.
std::string optionList() {
  const auto config = presetConfig("default");
  std::string text =
      "Options of a fit, for --set KEY=VALUE and for TOML files given with --config, where the part before "
      "the\n"
      "dot is the section. The values are those of preset 'default'.\n\n";
  for (const OptionInfo& option : fitOptions()) {
    text += fmt::format("{} = {}\n    [{}{}{}] {}\n", option.key,
                        config ? optionText(*config, option.key) : std::string("?"), option.type,
                        option.range.empty() ? "" : ", ", option.range, option.help);
  }
  return text;
}

class Fit : public Verb {
 public:
  std::uint64_t defaultSeed() const override { return TrainOptions().seed; }

  void describe(CLI::App& app) override {
    app_ = &app;
    app.add_option("ASSET", asset_, "A .glb, .gltf, .obj or .ply file")->required();
    app.add_option("-o,--output", output_,
                   "The product to write; the options used are written beside it as .toml")
        ->required()
        ->type_name("OUT.glb");
    app.add_option("--method", method_,
                   "Method: local (LocalHK, the presets' choice), thermal (ThermalRF) or spectral (HKTex)")
        ->type_name("NAME");
    auto* preset =
        app.add_option("--preset", preset_,
                       fmt::format("Preset that the options start from: {}", fmt::join(presetNames(), ", ")))
            ->type_name("NAME")
            ->capture_default_str();
    app.add_option("--config", config_file_,
                   "Read options from a TOML file; base = \"default\" in it starts from that preset")
        ->type_name("FILE")
        ->excludes(preset);
    app.add_option("--set", assignments_, "Set one option; may be given several times")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->take_all();
    app.add_option("--steps", steps_, "Optimisation steps (default: the preset's)")
        ->type_name("N")
        ->check(rangeOfOption("steps", 1));
    app.add_option("--filter", filter_,
                   "Texture filter: auto (what the asset's samplers say), nearest, bilinear or paper (the "
                   "paper's formula). Default: paper with preset paper, auto with the others")
        ->type_name("FILTER")
        ->check(CLI::IsMember(filterChoices()));
    app.add_option("--channels", channels_,
                   "What is fitted, separated by commas: base_color, alpha, metallic, roughness, ...\n"
                   "(default: what varies over the surface; base_color alone with preset paper).\n"
                   "roughness:0.5 also sets its weight")
        ->type_name("NAMES")
        ->delimiter(',');
    app.add_option("--kernels", kernels_,
                   "Number of kernels, or auto: the fit runs in stages with more and more kernels until it "
                   "reaches the\n"
                   "target or a bound, or until more kernels bring little (default: auto with preset "
                   "default, otherwise\n"
                   "the preset's number, or more if covering all parts of the asset takes more)")
        ->type_name("N|auto");
    app.add_option("--target-psnr", target_psnr_,
                   "With --kernels auto: stop when this surface PSNR is reached (default: 38)")
        ->type_name("DB")
        ->check(CLI::Range(1.0, 100.0));
    app.add_option("--max-kernels", max_kernels_,
                   "With --kernels auto: the largest number of kernels (default: 100000)")
        ->type_name("N")
        ->check(rangeOfOption("density.max_kernels"));
    app.add_option("--max-bytes", max_bytes_,
                   "With --kernels auto: the largest size of the kernels in the product, such as 200k or 1M")
        ->type_name("SIZE");
    app.add_option("--max-seconds", max_seconds_,
                   "With --kernels auto: no stage that would probably exceed this time of optimisation; the "
                   "result\n"
                   "then depends on the speed of the machine")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.001, 1e9));
    auto* fallback =
        app.add_option(
               "--fallback", fallback_,
               "What programs see that do not know kernels: texture (a small image of the kernels' colours "
               "where\n"
               "the input had one, else colours at the vertices), vertex (colours at the vertices), original "
               "(the\n"
               "input's textures, which stay in the file) or none (one colour)")
            ->type_name("NAME")
            ->check(
                CLI::IsMember(std::vector<std::string>(std::begin(kFallbackNames), std::end(kFallbackNames))))
            ->capture_default_str();
    app.add_flag("--no-charts", no_charts_,
                 "Leave out where each kernel reaches: the smallest file, but only heatskin itself can then\n"
                 "evaluate it exactly");
    app.add_flag("--keep-textures", keep_textures_, "The same as --fallback original")->excludes(fallback);
    app.add_flag(
        "--no-variants", no_variants_,
        "Fit the default materials alone; material variants (KHR_materials_variants) stay in the file "
        "as they\n"
        "are. By default kernels have values for every variant");
    app.add_flag("--extras", extras_,
                 "Also write the kernels into the scene's extras, which programs keep that drop extensions "
                 "they do\n"
                 "not know; they take a third more bytes there");
    app.add_flag("--resume", resume_,
                 "Resume from the checkpoint; a missing one is an error. --resume=auto starts over if it is "
                 "missing or damaged");
    app.add_option("--checkpoint", checkpoint_,
                   "Checkpoint file (default: OUT.glb.checkpoint); removed when the fit is complete")
        ->type_name("FILE");
    app.add_option("--checkpoint-every", interval_, "Seconds between checkpoints")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, 1e6))
        ->capture_default_str();
    app.add_option("--report", report_,
                   "Also write a report into this folder: report.html with pictures, curves, figures and the "
                   "product to\n"
                   "turn around")
        ->type_name("DIR");
    app.add_flag(
        "--live", live_,
        "Print the address of a page on this machine that shows the fit as it happens, and can pause it or "
        "end it\n"
        "as it is; the product is the same with and without");
    app.add_option("--live-port", live_port_, "Port of that page; 0: one that is free")
        ->type_name("N")
        ->check(CLI::Range(0, 65535));
    app.add_flag("--open", open_, "With --live: open the page in the system's browser");
    app.add_flag("--no-eval", no_eval_, "Do not evaluate the product");
    app.add_flag_callback(
        "--list-options", [] { throw CLI::CallForVersion(optionList(), 0); },
        "Print all options of a fit, with their values in preset default, and exit");
    app.footer(
        "Ctrl-C saves a checkpoint and prints the command that resumes the fit; a fit that is killed loses "
        "only\n"
        "the work since its last checkpoint. A resumed fit writes the same bytes as one that was never "
        "interrupted.\n\n"
        "The methods thermal and spectral preprocess the surface and cache the result in ~/.cache/heatskin; "
        "the\n"
        "environment variable HEATSKIN_CACHE names another folder, HEATSKIN_CACHE=off disables the cache.\n\n"
        "Example:\n"
        "  heatskin fit spot.obj -o spot_fit.glb --preset draft --set rates.color=0.01 --json fit.json");
  }

  Result<void> prepare(Session& session) override {
    auto job = makeJob(session);
    if (!job) return job.error();
    job_ = std::move(*job);
    return {};
  }

  Result<void> run(Session& session) override {
    std::error_code ignored;
    const fs::path& checkpoint = job_.control.checkpoint;
    if (job_.control.resume == Resume::kNo && fs::exists(checkpoint, ignored)) {
      session.console.warning(fmt::format(
          "{}: the checkpoint of an unfinished fit will be replaced; --resume would continue that fit",
          displayPath(checkpoint)));
    }
    std::unique_ptr<LiveFit> live;
    std::vector<ViewedFile> original;
    std::unique_ptr<ViewServer> server;
    if (live_) {
      auto shown = readForViewing(asset_);
      if (!shown) return shown.error();
      original.push_back({std::move(*shown), nullptr});
      live = std::make_unique<LiveFit>();
      auto started =
          ViewServer::start(original, {.port = static_cast<std::uint16_t>(live_port_), .live = live.get()});
      if (!started) return started.error();
      server = std::move(*started);
      // Not with the results: those come when there is nothing to look at any more.
      fmt::print(stderr, "{}\n", server->address());
      std::fflush(stderr);
      if (open_ && !openInBrowser(server->address()))
        session.console.warning("no browser could be opened; open the address yourself");
    }
    std::vector<fs::path> references;
    auto asset = readAsset(session, asset_, &references);
    if (!asset) return asset.error();
    if (no_variants_) forgetVariants(*asset);
    const auto subject =
        openAssetToFit(std::move(*asset), job_.config.evaluator.method, openOptions(session));
    if (!subject) return subject.error();
    warnAbout(session, *subject);
    // The published method knows colours.
    if (app_->count("--channels") > 0 || job_.config.preset != "paper") {
      const auto layout = chosenChannels(*subject);
      if (!layout) return layout.error();
      job_.layout = *layout;
    }
    const auto outcome = runFit(session, *subject, job_, live.get());
    if (live != nullptr) tellPage(*live, outcome, session);
    if (!outcome) return outcome.error();

    Json json = fitJson(*subject, job_, *outcome);
    json["overrides"] = assignments_;
    json["config"] = displayPath(job_.resolved);
    json["references"] = Json::array();  // the other files the asset consists of
    for (const fs::path& file : references)
      json["references"].push_back(displayPath(file));
    Console& console = session.console;
    const ReportPage::Rows rows = fitRows(*outcome);
    if (!report_.empty()) {
      const auto pictures = writeFitReport(session, report_, *subject, job_, *outcome, rows);
      if (!pictures) return pictures.error();
      json["report"] = displayPath(fs::path(report_) / "report.html");
      json["pictures"] = *pictures;
    }
    console.heading(oneLine(displayPath(output_)));
    std::vector<std::vector<std::string>> lines;
    for (const auto& [label, value] : rows)
      lines.push_back({label, value});
    for (auto& line : fileLines(*outcome))
      lines.push_back(std::move(line));
    lines.push_back(
        {"file", fmt::format("{}, options in {}", humanBytes(static_cast<double>(outcome->bytes.size())),
                             oneLine(displayPath(job_.resolved)))});
    if (!report_.empty())
      lines.push_back({"report", oneLine(displayPath(fs::path(report_) / "report.html"))});
    if (!outcome->why_larger.empty()) {
      const auto input = static_cast<double>(subject->asset.input_bytes);
      lines.push_back(
          {"larger", fmt::format("than the input ({}): it adds {}", humanBytes(input), outcome->why_larger)});
    }
    console.table(lines);
    if (auto saved = saveJson(console, session.common.json, json); !saved) return saved;
    // The page takes what it has not got yet.
    if (live != nullptr) live->waitForPages(kPagesSeconds, interrupted);
    return {};
  }

 private:
  /// How long the end of a fit waits for pages that look at it.
  static constexpr double kPagesSeconds = 20;

  static void tellPage(LiveFit& live, const Result<FitOutcome>& outcome, const Session& session) {
    if (!outcome) {
      live.failed(oneLine(outcome.error().message));
      live.waitForPages(1, [] { return false; });
      return;
    }
    std::vector<std::pair<std::string, std::string>> figures;
    for (const auto& [label, value] : fitRows(*outcome))
      figures.emplace_back(label, value);
    figures.emplace_back("command", session.command);
    live.done(outcome->bytes, std::move(figures));
  }

  /// Channels as they were named, with the weights that were given after a colon.
  Result<ChannelLayout> chosenChannels(const LoadedAsset& subject) const {
    std::vector<std::string> names;
    std::map<std::string, double> weights;
    for (const std::string& given : channels_) {
      const std::size_t colon = given.find(':');
      names.push_back(given.substr(0, colon));
      if (colon == std::string::npos) continue;
      double weight = 0;
      const char* end = given.data() + given.size();
      const auto [stop, problem] = std::from_chars(given.data() + colon + 1, end, weight);
      if (problem != std::errc() || stop != end || !(weight >= 1e-3 && weight <= 1e3)) {
        return usageError(
            fmt::format("--channels {}: a weight is a number from 0.001 to 1000", oneLine(given)));
      }
      weights[names.back()] = weight;
    }
    auto layout = fitChannels(subject, names, job_.config.train.filter, job_.config.evaluator.method);
    if (!layout || weights.empty()) return layout;
    std::vector<ChannelGroup> groups(layout->groups().begin(), layout->groups().end());
    for (ChannelGroup& group : groups) {
      if (const auto found = weights.find(group.name); found != weights.end()) group.weight = found->second;
    }
    return ChannelLayout::make(std::move(groups));
  }

  /// What the file has and has not of the input, and what it looks like without kernels.
  static std::vector<std::vector<std::string>> fileLines(const FitOutcome& outcome) {
    std::vector<std::vector<std::string>> lines;
    if (const std::string line = keptLine(outcome.kept, outcome.dropped); !line.empty())
      lines.push_back({"input", line});
    if (outcome.fallback_psnr)
      lines.push_back({"without kernels", fmt::format("{} dB", fixed(*outcome.fallback_psnr, 2))});
    return lines;
  }

  /// Everything that can be refused before the asset is read.
  Result<FitJob> makeJob(Session& session) {
    FitJob job;
    auto config = config_file_.empty() ? presetConfig(preset_) : loadConfig(config_file_);
    if (!config) return config.error();
    job.config = std::move(*config);
    if (auto done = applyOptions(session, job.config); !done) return done.error();

    if (output_.empty()) return usageError("-o: the name of the file is empty; see 'heatskin fit --help'");
    job.output = output_;
    job.resolved = fs::path(job.output).replace_extension(".toml");
    job.control.checkpoint = checkpoint_.empty() ? fs::path(output_ + ".checkpoint") : fs::path(checkpoint_);
    std::error_code ignored;
    for (const fs::path& file : {job.output, job.control.checkpoint}) {
      if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored) &&
          !fs::is_directory(file, ignored)) {
        return usageError(fmt::format(
            "{}: is not a regular file, which is needed because it is read back; choose another name",
            displayPath(file)));
      }
    }
    session.files.reads(asset_, "ASSET");
    // The very same text may be written again; someone's own notes may not be lost.
    if (!config_file_.empty()) {
      const auto text = readFile(config_file_);
      const std::string resolved = configToml(job.config);
      if (!text || !std::equal(text->begin(), text->end(), resolved.begin(), resolved.end()))
        session.files.reads(config_file_, "--config");
    }
    session.files.writes(job.output, "-o", ".glb");
    session.files.writes(job.resolved, "the options beside the product");
    session.files.writes(job.control.checkpoint, "the checkpoint");
    session.files.locks(job.output);
    session.files.locks(job.control.checkpoint);
    if (app_->count("--report") > 0 && report_.empty())
      return usageError("--report: the name of the folder is empty; see 'heatskin fit --help'");
    session.files.writesInto(report_, evaluationFiles(), "--report");
    for (const char* option : {"--live-port", "--open"}) {
      if (app_->count(option) > 0 && !live_)
        return usageError(fmt::format("{} applies to --live; give both or leave it out", option));
    }
    job.control.checkpoint_interval_s = interval_;
    job.evaluate = !no_eval_;
    job.charts = !no_charts_;
    if (keep_textures_) fallback_ = "original";
    job.fallback =
        static_cast<Fallback>(std::find(std::begin(kFallbackNames), std::end(kFallbackNames), fallback_) -
                              std::begin(kFallbackNames));
    job.extras = extras_;
    // A budget that the user named stays.
    job.keep_budget = app_->count("--kernels") > 0 || app_->count("--max-kernels") > 0 ||
                      !config_file_.empty() ||
                      std::any_of(assignments_.begin(), assignments_.end(),
                                  [](const std::string& a) { return a.starts_with("density.max_kernels"); });
    if (resume_.empty()) {
      job.control.resume = Resume::kNo;
    } else if (resume_ == "true") {
      job.control.resume = Resume::kMustBeThere;
      if (!fs::exists(job.control.checkpoint, ignored)) {
        return inputError(
            fmt::format("{}: there is no checkpoint to resume from; start without --resume{}",
                        displayPath(job.control.checkpoint),
                        fs::exists(job.output, ignored) ? " (the product exists: the fit is complete)" : ""));
      }
    } else if (resume_ == "auto") {
      job.control.resume = Resume::kIfThere;
    } else {
      return usageError(fmt::format("--resume={} is unknown; write --resume or --resume=auto", resume_));
    }
    return job;
  }

  /// The options that have a name of their own beside --set.
  struct Shortcut {
    const char* option;
    std::string_view key;
    std::string value;
  };

  Result<void> applyOptions(Session& session, FitConfig& config) {
    GivenOptions given;
    if (auto assigned = given.assign(config, assignments_); !assigned) return assigned;
    const Shortcut shortcuts[] = {{"--method", "method", method_},
                                  {"--seed", "seed", std::to_string(session.common.seed)},
                                  {"--steps", "steps", std::to_string(steps_)},
                                  {"--filter", "filter", filter_}};
    for (const auto& [option, key, value] : shortcuts) {
      if (app_->count(option) == 0) continue;
      if (auto set = given.shortcut(config, option, key, value); !set) return set;
    }
    if (auto done = applyBudget(config, given); !done) return done;
    given.warnWithoutEffect(session.console, config);
    return checkConfig(config);
  }

  /// --kernels and what bounds it.
  Result<void> applyBudget(FitConfig& config, const GivenOptions& given) {
    BudgetOptions& budget = config.train.budget;
    const bool counted = app_->count("--kernels") > 0 && kernels_ != "auto";
    for (const char* option :
         {"--kernels", "--target-psnr", "--max-kernels", "--max-bytes", "--max-seconds"}) {
      if (app_->count(option) == 0) continue;
      if (counted && std::string_view(option) != "--kernels") {
        return usageError(fmt::format("--kernels {} and {} contradict each other; {} is for --kernels auto",
                                      oneLine(kernels_), option, option));
      }
      if (!counted && !traits(config.evaluator.method).has_lengths) {
        return usageError(
            fmt::format("{}: only method local can choose the number of kernels; give {} a number",
                        kernels_ == "auto" ? "--kernels auto" : option, methodName(config.evaluator.method)));
      }
      budget.automatic = !counted;
    }
    if (counted) {
      std::string text = kernels_.starts_with("+") ? kernels_.substr(1) : kernels_;
      std::size_t count = 0;
      const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
      if (problem != std::errc() || end != text.data() + text.size() ||
          !rangeOfOption("density.max_kernels")(text).empty()) {
        return usageError(fmt::format(
            "--kernels {}: give a whole number from 1 to 1000000, or auto; see 'heatskin fit --help'",
            oneLine(kernels_)));
      }
      if (given.contains("density.max_kernels") && config.train.density.max_kernels != count) {
        return usageError(fmt::format("{} and --kernels {} contradict each other; give only one of them",
                                      given.sourceOf("density.max_kernels"), kernels_));
      }
      setKernelBudget(config, count);
    }
    if (app_->count("--max-kernels") > 0) {
      const auto most = static_cast<std::size_t>(max_kernels_);
      if (given.contains("density.max_kernels") && config.train.density.max_kernels != most) {
        return usageError(fmt::format("{} and --max-kernels {} contradict each other; give only one of them",
                                      given.sourceOf("density.max_kernels"), most));
      }
      setKernelBudget(config, most);
    }
    if (app_->count("--target-psnr") > 0) budget.target_psnr = target_psnr_;
    if (app_->count("--max-seconds") > 0) budget.max_seconds = max_seconds_;
    if (app_->count("--max-bytes") > 0) {
      const auto bytes = parseBytes(max_bytes_);
      if (!bytes || *bytes == 0) {
        return usageError(
            fmt::format("--max-bytes {}: give a size such as 200k or 1M; see 'heatskin fit --help'",
                        oneLine(max_bytes_)));
      }
      budget.max_bytes = *bytes;
    }
    return {};
  }

  CLI::App* app_ = nullptr;
  FitJob job_;
  std::vector<std::string> channels_;
  std::string asset_, output_, config_file_, checkpoint_, resume_, filter_, report_;
  std::string method_, preset_ = "default";
  std::vector<std::string> assignments_;
  std::int64_t steps_ = 0, max_kernels_ = 0;
  std::string kernels_, max_bytes_;
  double target_psnr_ = 0, max_seconds_ = 0;
  double interval_ = 10;
  std::string fallback_ = "texture";
  int live_port_ = 0;
  bool live_ = false, open_ = false;
  bool no_eval_ = false, keep_textures_ = false, extras_ = false, no_charts_ = false, no_variants_ = false;
};

}  // namespace

std::unique_ptr<Verb> makeFit() {
  return std::make_unique<Fit>();
}

}  // namespace heatskin::cli
