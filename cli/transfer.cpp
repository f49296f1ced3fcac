// heatskin transfer: the same look on another mesh of the shape.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "heatskin/base/files.h"
#include "heatskin/pipeline/transfer_product.h"

#include "cli/fit_options.h"
#include "cli/inputs.h"
#include "cli/look_figures.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

class Transfer : public Verb {
 public:
  void describe(CLI::App& app) override {
    app_ = &app;
    app.add_option("PRODUCT", product_, "A product, whose kernels are carried over");
    app.add_option("--from", from_,
                   "Instead of a product: an asset with textures or vertex colours, to which new kernels on "
                   "the mesh\nare fitted")
        ->type_name("TEXTURED");
    app.add_option("--onto", mesh_, "The mesh that gets the look: another tessellation of the shape")
        ->required()
        ->type_name("MESH");
    app.add_option("-o,--output", output_, "The product to write")->required()->type_name("OUT.glb");
    app.add_option("--refit", refit_,
                   "auto: kernels around which the look came out wrong are fitted again, for a short while; "
                   "off: they\nstay as they were carried over")
        ->type_name("auto|off")
        ->check(CLI::IsMember({"auto", "off"}))
        ->capture_default_str();
    app.add_option("--max-distance", most_apart_,
                   "Points further apart than this part of the longest side do not belong together")
        ->type_name("PART")
        ->check(CLI::Range(1e-6, 1.0))
        ->capture_default_str();
    app.add_option("--reference", reference_,
                   "The asset that the source was made from, as ground truth for surface_psnr (default: the "
                   "source)")
        ->type_name("ASSET");
    app.add_option("--error-map", error_map_, "Draw the differences from the source")->type_name("PNG");
    app.add_option("--preset", preset_,
                   fmt::format("With --from: preset of the fit: {}", fmt::join(presetNames(), ", ")))
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option("--kernels", kernels_, "With --from: number of kernels (default: the preset's)")
        ->type_name("N")
        ->check(rangeOfOption("density.max_kernels"));
    app.add_option("--steps", steps_, "With --from: steps of the fit (default: the preset's)")
        ->type_name("N")
        ->check(rangeOfOption("steps", 1));
    app.add_option("--channels", channels_,
                   "With --from: what is fitted, separated by commas (default: what varies over the source)")
        ->type_name("NAMES")
        ->delimiter(',');
    app.add_flag("--extras", extras_, "Also write the kernels into the scene's extras, see 'heatskin fit'");
    app.footer(
        "A point of the mesh belongs to the nearest point of the source that faces the same way, so that the "
        "look\n"
        "never goes through a thin wall. Parts of the mesh without a counterpart are reported and filled "
        "from their\n"
        "surroundings. The mesh may be simplified, subdivided, remeshed, smoothed a little or scanned anew, "
        "and needs\n"
        "no texture coordinates.\n\n"
        "Example:\n"
        "  heatskin transfer model_fit.glb --onto remeshed.glb -o out.glb --error-map error.png\n"
        "  heatskin transfer --from model.glb --onto remeshed.obj -o out.glb");
  }

  Result<void> prepare(Session& session) override {
    if (product_.empty() == from_.empty())
      return usageError("give either PRODUCT or --from TEXTURED; see 'heatskin transfer --help'");
    if (from_.empty()) {
      for (const char* option : {"--preset", "--kernels", "--steps", "--channels"}) {
        if (app_->count(option) > 0) {
          return usageError(fmt::format(
              "{} applies to --from only: kernels of a product are carried over; see 'heatskin transfer "
              "--help'",
              option));
        }
      }
      session.files.reads(product_, "PRODUCT");
    } else {
      if (app_->count("--refit") > 0)
        return usageError("--refit applies to products only: with --from all kernels are fitted");
      auto config = presetConfig(preset_);
      if (!config) return config.error();
      config_ = std::move(*config);
      if (app_->count("--kernels") > 0) {
        config_.train.budget.automatic = false;
        setKernelBudget(config_, kernels_);
      }
      if (app_->count("--steps") > 0) config_.train.steps = steps_;
      config_.train.seed = session.common.seed;
      if (auto sound = checkConfig(config_); !sound) return sound;
      session.files.reads(from_, "--from");
    }
    session.files.reads(mesh_, "--onto");
    if (!reference_.empty()) session.files.reads(reference_, "--reference");
    session.files.writes(output_, "-o", ".glb");
    if (!error_map_.empty()) session.files.writes(error_map_, "--error-map", ".png");
    return {};
  }

  Result<void> run(Session& session) override {
    std::optional<LoadedProduct> product;
    std::optional<LoadedAsset> source, reference;
    if (!product_.empty()) {
      auto opened = openProduct(session, product_);
      if (!opened) return opened.error();
      warnAbout(session, product_, opened->product.notices);
      product.emplace(std::move(*opened));
    } else {
      auto opened = openAsset(session, from_);
      if (!opened) return opened.error();
      warnAbout(session, *opened);
      source.emplace(std::move(*opened));
    }
    if (!reference_.empty()) {
      auto opened = openAsset(session, reference_);
      if (!opened) return opened.error();
      reference.emplace(std::move(*opened));
    }
    auto mesh = readAsset(session, mesh_);
    if (!mesh) return mesh.error();

    TransferOptions options;
    options.refit = refit_ == "auto";
    options.most_apart = most_apart_;
    options.seed = session.common.seed;
    options.error_map = !error_map_.empty();
    options.extras = extras_;
    options.reference = reference ? &*reference : nullptr;
    options.open = openOptions(session);
    Result<TransferOutcome> outcome = failure("");
    if (product) {
      outcome = transferProduct(*product, std::move(*mesh), options);
    } else {
      const auto layout = fitChannels(*source, channels_, config_.train.filter, config_.evaluator.method);
      if (!layout) return layout.error();
      outcome = transferLook(*source, std::move(*mesh), config_, *layout, options);
    }
    if (!outcome) return outcome.error();
    warnAbout(session, mesh_, outcome->notices);
    if (options.error_map) {
      if (auto saved = savePng(error_map_, outcome->error_map); !saved) return saved;
    }
    if (auto saved = saveBytes(output_, outcome->bytes); !saved) return saved;
    return show(session, *outcome);
  }

 private:
  Result<void> show(Session& session, const TransferOutcome& outcome) {
    Console& console = session.console;
    const std::size_t kernels = outcome.stored->product.kernels.size();
    console.heading(oneLine(displayPath(std::filesystem::path(output_).filename())));
    std::vector<std::vector<std::string>> rows = {
        {"kernels", fmt::format("{}: {} as they were, {} refitted or new, {} dropped", grouped(kernels),
                                grouped(outcome.kernels_kept), grouped(outcome.kernels_changed),
                                grouped(outcome.kernels_dropped))},
        {"against the source", fixed(outcome.surface_psnr_source, 2) + " dB"}};
    if (!reference_.empty())
      rows.push_back({"against the reference", fixed(outcome.surface_psnr, 2) + " dB"});
    rows.push_back({"without a counterpart", fmt::format("{} % of the mesh, {} % of the source",
                                                         fixed(100 * outcome.unmatched_area, 2),
                                                         fixed(100 * outcome.source_unmatched_area, 2))});
    rows.push_back({"file", humanBytes(static_cast<double>(outcome.bytes.size()))});
    console.table(rows);
    Json json = {
        {"file", displayPath(output_)},
        {"source", displayPath(product_.empty() ? from_ : product_)},
        {"mesh", displayPath(mesh_)},
        {"reference", displayPath(reference_.empty() ? (product_.empty() ? from_ : product_) : reference_)}};
    addDecibels(json, "surface_psnr_source", outcome.surface_psnr_source);
    addDecibels(json, "surface_psnr", outcome.surface_psnr);
    json["kernels"] = kernels;
    json["kernels_kept"] = outcome.kernels_kept;
    json["kernels_changed"] = outcome.kernels_changed;
    json["kernels_dropped"] = outcome.kernels_dropped;
    json["kernels_added"] = outcome.kernels_added;
    json["unmatched_area"] = jsonNumber(outcome.unmatched_area);
    json["source_unmatched_area"] = jsonNumber(outcome.source_unmatched_area);
    json["refit_steps"] = outcome.refit.steps;
    json["refit_samples"] = outcome.refit.samples;
    json["refit_psnr_before"] = jsonNumber(outcome.refit.psnr_before);
    json["refit_psnr_after"] = jsonNumber(outcome.refit.psnr_after);
    json["triangles"] = outcome.stored->product.surface->faceCount();
    addLooks(json, outcome.variants);
    json["bytes"] = outcome.bytes.size();
    return saveJson(console, session.common.json, json);
  }

  CLI::App* app_ = nullptr;
  std::string product_, from_, mesh_, output_, reference_, error_map_;
  std::string refit_ = "auto", preset_ = "default";
  double most_apart_ = kMostApart;
  std::size_t kernels_ = 0;
  int steps_ = 0;
  std::vector<std::string> channels_;
  bool extras_ = false;
  FitConfig config_;
};

}  // namespace

std::unique_ptr<Verb> makeTransfer() {
  return std::make_unique<Transfer>();
}

}  // namespace heatskin::cli
