// heatskin rd: kernels beside UV textures and vertex colours, quality against bytes and seconds.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "heatskin/base/files.h"
#include "heatskin/base/machine.h"
#include "heatskin/base/parallel.h"
#include "heatskin/base/plural.h"
#include "heatskin/pipeline/rate_distortion.h"
#include "heatskin/training/config.h"
#include "heatskin/version.h"

#include "cli/evaluation_page.h"
#include "cli/fit_options.h"
#include "cli/inputs.h"
#include "cli/interrupt.h"
#include "cli/rd_report.h"
#include "cli/remedies.h"
#include "cli/report_page.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

constexpr int kRatePictureSize = 360;

std::span<const std::uint8_t> bytesOf(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

class Rd : public Verb {
 public:
  std::uint64_t defaultSeed() const override { return TrainOptions().seed; }

  void describe(CLI::App& app) override {
    app_ = &app;
    app.add_option("ASSET", asset_, "A .glb, .gltf, .obj or .ply file")->required();
    app.add_option("-o,--output", folder_,
                   "Folder for tables, drawing and report; created if it does not exist")
        ->required()
        ->type_name("DIR");
    app.add_option("--kernels", kernels_, "Numbers of kernels to fit, separated by commas")
        ->type_name("LIST")
        ->capture_default_str();
    app.add_option("--max-kernels", max_kernels_, "Leave out larger numbers of kernels")
        ->type_name("N")
        ->check(rangeOfOption("density.max_kernels"));
    app.add_option(
           "--max-seconds", job_.max_seconds,
           "Leave out numbers of kernels with which all fits together would probably take longer; the "
           "rows\n"
           "then depend on the speed of the machine")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.001, 1e9));
    app.add_option(
           "--preset", preset_,
           fmt::format("Preset that the options of the fits start from: {}", fmt::join(presetNames(), ", ")))
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option("--set", assignments_, "Set one option of the fits; may be given several times")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->take_all();
    app.add_option("--steps", steps_, "Optimisation steps of each fit (default: the preset's)")
        ->type_name("N")
        ->check(rangeOfOption("steps", 1));
    app.add_option("--samples", job_.evaluation.surface_samples, "Number of sample points on the surface")
        ->type_name("N")
        ->check(CLI::Range(1000, 20'000'000))
        ->capture_default_str();
    app.add_option("--view-size", job_.evaluation.view_size,
                   "Side of the views that SSIM and FLIP are computed on")
        ->type_name("N")
        ->check(CLI::Range(16, 2048))
        ->capture_default_str();
    app.footer(
        "Writes index.html (report with pictures), rd.svg (PSNR over bytes), rd.md (tables), rd.csv and "
        "rd.json "
        "(all rows).\n"
        "Textures are tried as PNG, JPEG and WebP in several qualities, at full size and at halves of it "
        "down to "
        "32 texels;\n"
        "their bytes include texture coordinates. Vertex colours are tried on the mesh and on its midpoint "
        "subdivisions.\n"
        "All rows are measured at the same points and in the same views, against the asset with its textures "
        "read as its\n"
        "samplers say. Everything but seconds is the same in every run.\n\n"
        "Example:\n"
        "  heatskin rd spot.obj -o spot_rd --kernels 1000,4000,16000 --max-seconds 300");
  }

  Result<void> prepare(Session& session) override {
    if (folder_.empty()) return usageError("-o: the name of the folder is empty; see 'heatskin rd --help'");
    auto config = presetConfig(preset_);
    if (!config) return config.error();
    job_.config = std::move(*config);
    GivenOptions given;
    if (auto assigned = given.assign(job_.config, assignments_); !assigned) return assigned;
    if (app_->count("--seed") > 0) {
      auto set = given.shortcut(job_.config, "--seed", "seed", std::to_string(session.common.seed));
      if (!set) return set;
    }
    if (app_->count("--steps") > 0) {
      if (auto set = given.shortcut(job_.config, "--steps", "steps", std::to_string(steps_)); !set)
        return set;
    }
    for (const char* key : {"density.max_kernels", "budget.automatic"}) {
      if (given.contains(key)) {
        return usageError(fmt::format("{}: --kernels says how many kernels there are; leave one of them out",
                                      given.sourceOf(key)));
      }
    }
    job_.config.train.budget.automatic = false;
    given.warnWithoutEffect(session.console, job_.config);
    if (auto parsed = parseBudgets(); !parsed) return parsed;
    for (const std::size_t budget : job_.budgets) {
      FitConfig one = job_.config;
      setKernelBudget(one, budget);
      if (auto sound = checkConfig(one); !sound) return sound;
    }
    session.files.reads(asset_, "ASSET");
    session.files.writesInto(folder_, {"index.html", "rd.svg", "rd.md", "rd.csv", "rd.json"}, "-o");
    return {};
  }

  Result<void> run(Session& session) override {
    Console& console = session.console;
    auto asset = readAsset(session, asset_);
    if (!asset) return asset.error();
    forgetVariants(*asset);  // images and kernels are compared for one look
    const auto subject =
        openAssetToFit(std::move(*asset), job_.config.evaluator.method, openOptions(session));
    if (!subject) return subject.error();
    warnAbout(session, *subject);
    job_.evaluation.seed = CommonOptions().seed;  // of `heatskin eval`, so that it shows the same figures
    job_.picture_size = kRatePictureSize;
    job_.progress = &console;
    job_.notify = [&](const Notice& notice) { console.warning(worded(notice)); };
    const auto outcome = measureRateDistortion(*subject, job_);
    if (!outcome) return outcome.error();
    if (!outcome->left_out.empty()) {
      console.warning(fmt::format("{} kernels are left out: they would probably exceed --max-seconds {:g}",
                                  listed(outcome->left_out), job_.max_seconds));
    }
    return write(session, *subject, *outcome);
  }

 private:
  static std::string listed(const std::vector<std::size_t>& counts) {
    std::vector<std::string> texts;
    for (const std::size_t count : counts)
      texts.push_back(grouped(count));
    return fmt::format("{}", fmt::join(texts, " and "));
  }

  Result<void> parseBudgets() {
    std::string_view rest = kernels_;
    const CLI::Range range = rangeOfOption("density.max_kernels");
    while (true) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      const std::string_view part = rest.substr(0, end);
      std::size_t count = 0;
      const auto [stop, problem] = std::from_chars(part.data(), part.data() + part.size(), count);
      std::string text(part);
      if (problem != std::errc() || stop != part.data() + part.size() || !range(text).empty()) {
        return usageError(
            fmt::format("--kernels {}: give whole numbers from 1 to 1000000 with commas between them; see "
                        "'heatskin rd --help'",
                        oneLine(kernels_)));
      }
      if (max_kernels_ == 0 || count <= static_cast<std::size_t>(max_kernels_)) job_.budgets.push_back(count);
      if (end == rest.size()) break;
      rest.remove_prefix(end + 1);
    }
    if (job_.budgets.empty()) {
      return usageError(
          fmt::format("--max-kernels {} leaves none of --kernels {}; raise one or lower the other",
                      max_kernels_, oneLine(kernels_)));
    }
    return {};
  }

  Result<void> write(Session& session, const LoadedAsset& subject, const RateDistortion& outcome) {
    const std::string name = oneLine(displayPath(std::filesystem::path(asset_).filename()));
    const SurfaceReport& mesh = subject.surface->report();
    Json json = {{"file", asset_}};
    json.update(rateJson(outcome));
    json["method"] = methodName(job_.config.evaluator.method);
    json["preset"] = job_.config.preset;
    json["overrides"] = assignments_;
    // Not given: they follow from each fit's number of kernels.
    json["steps"] = job_.config.train.steps > 0 ? Json(job_.config.train.steps) : Json();
    json["seed"] = job_.config.train.seed;
    json["sample_seed"] = job_.evaluation.seed;
    json["surface_samples"] = job_.evaluation.surface_samples;
    json["view_size"] = job_.evaluation.view_size;
    json["threads"] = threadCount();
    json["peak_rss_mb"] = jsonNumber(static_cast<double>(peakResidentBytes()) * 1e-6);
    json["vertices"] = mesh.vertices;
    json["faces"] = mesh.faces;
    json["version"] = kVersion;
    std::vector<Notice> notices = subject.notices;
    notices.insert(notices.end(), outcome.notices.begin(), outcome.notices.end());
    json["warnings"] = messages(notices, true);

    auto page = report(outcome, name, session.command);
    if (!page) return page.error();
    const std::string json_text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    const std::string csv = rateCsv(outcome), svg = rateDrawing(outcome, name),
                      markdown = rateMarkdown(outcome, name, session.command);
    const std::vector<FileContent> files = {{folder_ / "rd.csv", bytesOf(csv)},
                                            {folder_ / "rd.svg", bytesOf(svg)},
                                            {folder_ / "rd.md", bytesOf(markdown)},
                                            {folder_ / "index.html", bytesOf(*page)},
                                            {folder_ / "rd.json", bytesOf(json_text)}};
    {
      const NoInterrupt guard;
      if (auto saved = writeFilesAtomically(files); !saved) return saved;
    }

    Console& console = session.console;
    console.heading(name);
    std::vector<std::vector<std::string>> lines = {rateHeader()};
    for (const auto& rows : {kernelRows(outcome), frontImages(outcome), vertexColorRows(outcome)}) {
      for (const RateRow* row : rows)
        lines.push_back(rateCells(*row));
    }
    console.table(lines);
    console.line();
    for (const std::string& sentence : verdict(outcome))
      console.line("  " + sentence);
    console.line();
    console.table({{"report", oneLine(displayPath(folder_ / "index.html"))}});
    return saveJson(console, session.common.json, json);
  }

  static Result<std::string> report(const RateDistortion& outcome, const std::string& name,
                                    const std::string& command) {
    const std::vector<std::string> sentences = verdict(outcome);
    ReportPage page(name,
                    "Kernels, UV textures and vertex colours of the same asset: quality against bytes.");
    page.section("What the figures say", fmt::format("{}", fmt::join(sentences, " ")));
    page.drawing(rateDrawing(outcome, name),
                 "Surface PSNR against the asset with its own textures. Up and to the left is better.", true);

    page.section(
        "At about the same number of bytes",
        "For each number of kernels, the best image and the best vertex colours that take no more bytes; "
        "unlit, the whole asset and the place where the fewest kernels are worst.");
    for (const RateRow* kernels : kernelRows(outcome)) {
      const auto within = static_cast<double>(kernels->bytes);
      const RateRow* image = outcome.bestWithin(within, isImage);
      const RateRow* colors =
          outcome.bestWithin(within, [](RateKind kind) { return kind == RateKind::kVertexColors; });
      std::vector<ReportPage::Cell> cells;
      int columns = 0;
      for (std::size_t picture = 0; picture < kernels->pictures.size(); ++picture) {
        columns = 0;
        const auto add = [&](const std::vector<ImageF>& pictures, const std::string& label) -> Result<void> {
          auto bytes = pageImage(pictures[picture]);
          if (!bytes) return bytes.error();
          cells.push_back({{std::move(*bytes)}, label});
          ++columns;
          return {};
        };
        if (auto r = add(outcome.reference, "the asset"); !r) return r.error();
        for (const RateRow* row : {kernels, image, colors}) {
          if (row == nullptr) continue;
          if (auto r = add(row->pictures, fmt::format("{}: {}, {}", rowName(*row),
                                                      humanBytes(static_cast<double>(row->bytes)),
                                                      decibels(row->surface_psnr)));
              !r)
            return r.error();
        }
      }
      page.gallery(
          cells, columns,
          fmt::format("Up to {}.{}{}", humanBytes(within), image == nullptr ? " No image is that small." : "",
                      colors == nullptr ? " No vertex colours are that small." : ""));
    }

    page.section("Figures");
    const auto table = [&](const char* caption, const std::vector<const RateRow*>& rows) {
      if (rows.empty()) return;
      std::vector<std::vector<std::string>> cells;
      for (const RateRow* row : rows)
        cells.push_back(rateCells(*row));
      page.figures(caption, rateHeader(), cells);
    };
    table("Kernels", kernelRows(outcome));
    table("UV textures that no other image beats with as few bytes (rd.csv has all)", frontImages(outcome));
    table("Vertex colours", vertexColorRows(outcome));
    page.section("What is counted");
    ReportPage::Rows rules;
    for (const std::string& rule : rateRules(outcome)) {
      const std::size_t colon = rule.find(": ");
      if (colon < 20) {
        rules.emplace_back(rule.substr(0, colon), rule.substr(colon + 2));
      } else {
        rules.emplace_back("Truth", rule);
      }
    }
    page.table("", rules);
    page.footer(fmt::format("heatskin {}; {}", kVersion, command));
    return page.html();
  }

  const CLI::App* app_ = nullptr;
  RateDistortionJob job_;
  std::string asset_, kernels_ = "1000,4000,16000,64000", preset_ = "default";
  std::filesystem::path folder_;
  std::vector<std::string> assignments_;
  std::int64_t steps_ = 0, max_kernels_ = 0;
};

}  // namespace

std::unique_ptr<Verb> makeRd() {
  return std::make_unique<Rd>();
}

}  // namespace heatskin::cli
