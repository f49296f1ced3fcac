// heatskin fit: kernels for an asset, as a GLB that opens everywhere.

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/texture/product.h"

#include "cli/fit_job.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

namespace fs = std::filesystem;

bool sameFile(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) && !error;
}

/// All options with the values of the default preset.
std::string optionList() {
  const auto config = presetConfig("default");
  std::string text =
      "Options of a fit, for --set KEY=VALUE and for files given with --config (TOML; what stands before "
      "the\n"
      "dot is the section). Values are those of the preset 'default'.\n\n";
  for (const OptionInfo& option : fitOptions()) {
    text += fmt::format("{} = {}\n    {}{}{}. {}.\n", option.key,
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
    app.add_option("-o,--output", output_, "The product; its configuration goes beside it as .toml")
        ->required()
        ->type_name("OUT.glb");
    app.add_option("--method", method_, "Evaluator: local, thermal (ThermalRF) or spectral (HKTex)")
        ->type_name("NAME")
        ->capture_default_str();
    auto* preset = app.add_option("--preset", preset_,
                                  fmt::format("Where options come from: {}", fmt::join(presetNames(), ", ")))
                       ->type_name("NAME")
                       ->capture_default_str();
    app.add_option("--config", config_file_,
                   "Options from a TOML file (base = \"default\" builds upon a preset)")
        ->type_name("FILE")
        ->excludes(preset);
    app.add_option("--set", assignments_, "Set one option; may be given several times")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->take_all();
    app.add_option("--steps", steps_, "Optimisation steps (the preset's)")->type_name("N");
    app.add_option("--filter", filter_,
                   "How textures are read: auto (as the asset's samplers say), nearest, bilinear or paper "
                   "(the paper's formula; the preset's: paper for paper, auto otherwise)")
        ->type_name("FILTER")
        ->check(CLI::IsMember(filterChoices()));
    app.add_option("--kernels", kernels_,
                   "Most kernels (the preset's); with fewer the fit also starts with fewer")
        ->type_name("N");
    app.add_flag(
        "--resume", resume_,
        "Go on from the checkpoint; it is an error if there is none. --resume=auto then starts anew");
    app.add_option("--checkpoint", checkpoint_, "File for the state (OUT.glb.checkpoint); removed at the end")
        ->type_name("FILE");
    app.add_option("--checkpoint-every", interval_, "Seconds between two checkpoints")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, 1e6))
        ->capture_default_str();
    app.add_flag("--no-eval", no_eval_, "Do not evaluate the result");
    app.add_flag_callback(
        "--list-options", [] { throw CLI::CallForVersion(optionList(), 0); },
        "Say which options a fit has, and their values in the default preset");
    app.footer(
        "Ctrl-C saves the state and says how to go on; a killed fit loses at most the time between two\n"
        "checkpoints. A resumed fit ends with the same bytes as one that was never interrupted.\n\n"
        "Methods thermal and spectral prepare the surface first and keep that in ~/.cache/heatskin; the\n"
        "environment variable HEATSKIN_CACHE names another folder, HEATSKIN_CACHE=off keeps nothing.\n\n"
        "Example:\n"
        "  heatskin fit spot.obj -o spot_fit.glb --preset draft --set rates.color=0.01 --json fit.json");
  }

  Result<void> run(Session& session) override {
    auto job = prepare(session);
    if (!job) return job.error();
    auto subject = loadSubject(session, asset_);
    if (!subject) return subject.error();
    warnAbout(session, *subject);
    if (isProduct(subject->asset)) {
      return inputError(fmt::format("{}: is a fitted texture already; give the asset it was made from",
                                    displayPath(asset_)));
    }
    // LocalHK does not notice the rounding, and spares itself a second surface.
    if (job->config.evaluator.method != "local") {
      const auto moved = useStoredGeometry(subject->asset);
      if (!moved) return moved.error();
      if (*moved) subject = makeSubject(session, std::move(subject->asset));
      if (!subject) return subject.error();
    }
    if (auto something = checkSomethingToFit(subject->surface, subject->appearance, job->config.train.filter);
        !something) {
      return inputError(fmt::format("{}: {}", displayPath(asset_), something.error().message));
    }
    const auto outcome = runFit(session, *subject, *job);
    if (!outcome) return outcome.error();

    Json json = fitJson(*subject, *job, *outcome);
    json["overrides"] = assignments_;
    json["config"] = displayPath(job->resolved);
    Console& console = session.console;
    console.heading(oneLine(displayPath(output_)));
    std::vector<std::vector<std::string>> lines;
    for (const auto& [label, value] : fitRows(*job, *outcome))
      lines.push_back({label, value});
    lines.push_back(
        {"file", fmt::format("{}, options in {}", humanBytes(static_cast<double>(outcome->file_bytes)),
                             oneLine(displayPath(job->resolved)))});
    console.table(lines);
    return saveJson(console, session.common.json, json);
  }

 private:
  /// Everything that can be refused before the asset is read.
  Result<FitJob> prepare(Session& session) {
    FitJob job;
    auto config = config_file_.empty() ? presetConfig(preset_) : loadConfig(config_file_);
    if (!config) return config.error();
    job.config = std::move(*config);
    if (auto done = applyOptions(session, job.config); !done) return done.error();

    job.output = output_;
    if (auto writable = checkOutputFile(job.output, ".glb"); !writable) return writable.error();
    std::error_code ignored;
    if (fs::exists(job.output, ignored) && !fs::is_regular_file(job.output, ignored)) {
      return usageError(fmt::format("{}: is not a regular file; a product is read back after it was written",
                                    displayPath(job.output)));
    }
    if (sameFile(asset_, job.output)) {
      return usageError(
          fmt::format("{}: is the input; choose another name for the output", displayPath(job.output)));
    }
    job.resolved = fs::path(job.output).replace_extension(".toml");
    if (auto writable = checkOutputFile(job.resolved); !writable) return writable.error();
    if (!config_file_.empty() && sameFile(config_file_, job.resolved)) {
      // The very same text may be written again; someone's own notes may not be lost.
      const auto text = readFile(config_file_);
      const std::string resolved = configToml(job.config);
      if (!text || !std::equal(text->begin(), text->end(), resolved.begin(), resolved.end())) {
        return usageError(
            fmt::format("{}: would be replaced by the resolved options; choose another name for "
                        "the output or for the configuration",
                        displayPath(job.resolved)));
      }
    }

    job.checkpoint = checkpoint_.empty() ? fs::path(output_ + ".checkpoint") : fs::path(checkpoint_);
    if (auto writable = checkOutputFile(job.checkpoint); !writable) return writable.error();
    for (const fs::path& other : {fs::path(asset_), job.output, job.resolved}) {
      if (job.checkpoint == other || sameFile(job.checkpoint, other)) {
        return usageError(fmt::format("{}: cannot be the checkpoint as well", displayPath(other)));
      }
    }
    if (fs::exists(job.checkpoint, ignored) && !fs::is_regular_file(job.checkpoint, ignored)) {
      return usageError(fmt::format("{}: is not a regular file", displayPath(job.checkpoint)));
    }
    job.checkpoint_interval_s = interval_;
    job.evaluate = !no_eval_;
    if (resume_.empty()) {
      if (fs::exists(job.checkpoint, ignored)) {
        session.console.warning(fmt::format(
            "{}: the state of an unfinished fit is replaced; --resume goes on", displayPath(job.checkpoint)));
      }
    } else if (resume_ == "true") {
      job.resume = Resume::kMustBeThere;
      if (!fs::exists(job.checkpoint, ignored)) {
        return inputError(fmt::format(
            "{}: there is no checkpoint to go on from; start without --resume{}", displayPath(job.checkpoint),
            fs::exists(job.output, ignored) ? " (the product exists: the fit is over)" : ""));
      }
    } else if (resume_ == "auto") {
      job.resume = Resume::kIfThere;
    } else {
      return usageError(fmt::format("--resume={} is unknown; write --resume or --resume=auto", resume_));
    }
    return job;
  }

  Result<void> applyOptions(Session& session, FitConfig& config) {
    for (const std::string& assignment : assignments_) {
      if (auto set = setOption(config, assignment); !set) {
        return usageError(fmt::format("--set {}", set.error().message));
      }
    }
    if (app_->count("--method") > 0 || config_file_.empty()) {
      if (!setOption(config, "method=" + method_)) {
        return usageError(
            fmt::format("there is no method '{}'; there is {}", method_, fmt::join(kMethods, ", ")));
      }
    }
    if (app_->count("--seed") > 0) {
      if (auto set = setOption(config, fmt::format("seed={}", session.common.seed)); !set) return set;
    }
    if (app_->count("--steps") > 0) {
      if (auto set = setOption(config, fmt::format("steps={}", steps_)); !set) return set;
    }
    if (!filter_.empty()) {
      if (auto set = setOption(config, "filter=" + filter_); !set) return set;
    }
    if (app_->count("--kernels") > 0) {
      FitConfig trial = config;
      if (auto set = setOption(trial, fmt::format("density.max_kernels={}", kernels_)); !set) return set;
      setKernelBudget(config, static_cast<std::size_t>(kernels_));
    }
    return checkConfig(config);
  }

  CLI::App* app_ = nullptr;
  std::string asset_, output_, config_file_, checkpoint_, resume_, filter_;
  std::string method_ = "local", preset_ = "default";
  std::vector<std::string> assignments_;
  std::int64_t steps_ = 0, kernels_ = 0;
  double interval_ = 10;
  bool no_eval_ = false;
};

}  // namespace

std::unique_ptr<Verb> makeFit() {
  return std::make_unique<Fit>();
}

}  // namespace heatskin::cli
