// heatskin lod: levels of detail of a product.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/pipeline/lod_product.h"

#include "cli/inputs.h"
#include "cli/look_figures.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

class Lod : public Verb {
 public:
  void describe(CLI::App& app) override {
    app.add_option("PRODUCT", product_, "A product: the .glb that 'heatskin fit' wrote")->required();
    app.add_option("-o,--output", output_,
                   "The products to write, with %d for the number of the level; without it, one file with "
                   "all levels\n(MSFT_lod); --level of other verbs chooses one of them")
        ->required()
        ->type_name("OUT_%d.glb");
    app.add_option("--levels", options_.levels, "Number of levels; the first is the product itself")
        ->type_name("N")
        ->check(CLI::Range(1, 16))
        ->capture_default_str();
    app.add_option("--face-ratio", options_.face_ratio, "Triangles of a level as a part of the level before")
        ->type_name("PART")
        ->check(CLI::Range(0.01, 0.95))
        ->capture_default_str();
    app.add_option("--kernel-ratio", options_.kernel_ratio,
                   "Kernels of a level as a part of the level before, where kernels are merged; 1: the same "
                   "kernels\non every level")
        ->type_name("PART")
        ->check(CLI::Range(0.01, 1.0))
        ->capture_default_str();
    app.add_option("--merge-from", options_.merge_from,
                   "The first level whose kernels are merged; those before have all of them")
        ->type_name("N")
        ->check(CLI::Range(1, 16))
        ->capture_default_str();
    app.add_flag("--no-refit", no_refit_, "Leave out the short refit of each level");
    app.footer(
        "Triangles are simplified without regard to texture coordinates, which kernels do not need. The "
        "error on a\n"
        "screen is that of the shape: of 99 % of both surfaces, in pixels of a picture of 1080 lines that "
        "the object\n"
        "fills; from the given distance on it is less than one (field of view: 60 degrees).\n\n"
        "Example:\n"
        "  heatskin lod model_fit.glb --levels 4 -o model_%d.glb --json levels.json");
  }

  Result<void> prepare(Session& session) override {
    session.files.reads(product_, "PRODUCT");
    const std::size_t at = output_.find("%d");
    separate_ = at != std::string::npos;
    if (separate_ && output_.find("%d", at + 2) != std::string::npos)
      return usageError("-o: the name has %d twice; see 'heatskin lod --help'");
    for (int l = 0; l < (separate_ ? options_.levels : 1); ++l) {
      std::string name = output_;
      if (separate_) name.replace(at, 2, std::to_string(l));
      names_.push_back(name);
      session.files.writes(name, "-o", ".glb");
    }
    return {};
  }

  Result<void> run(Session& session) override {
    const auto product = openProduct(session, product_);
    if (!product) return product.error();
    warnAbout(session, product_, product->product.notices);
    options_.refit = !no_refit_;
    options_.seed = session.common.seed;
    options_.open = openOptions(session);
    options_.bare = !separate_;
    const auto outcome = lodProduct(*product, options_);
    if (!outcome) return outcome.error();
    warnAbout(session, product_, outcome->notices);
    std::vector<std::size_t> bytes;
    if (separate_) {
      for (std::size_t l = 0; l < names_.size(); ++l) {
        if (auto saved = saveBytes(names_[l], outcome->levels[l].bytes); !saved) return saved;
        bytes.push_back(outcome->levels[l].bytes.size());
      }
    } else {
      const auto joined = joinLevels(*outcome);
      if (!joined) return joined.error();
      if (auto saved = saveBytes(names_[0], *joined); !saved) return saved;
      bytes.push_back(joined->size());
    }
    return show(session, *outcome, bytes);
  }

 private:
  Result<void> show(Session& session, const LodOutcome& outcome, const std::vector<std::size_t>& bytes) {
    Console& console = session.console;
    console.heading(oneLine(displayPath(std::filesystem::path(output_).filename())));
    std::vector<std::vector<std::string>> rows = {
        {"level", "triangles", "kernels", "colour", "shape", "from a distance of", "bytes"}};
    Json levels = Json::array();
    for (std::size_t l = 0; l < outcome.levels.size(); ++l) {
      const LodLevel& level = outcome.levels[l];
      rows.push_back({std::to_string(l), grouped(level.triangles), grouped(level.kernels),
                      l == 0 ? "" : fixed(level.surface_psnr_source, 2) + " dB",
                      l == 0 ? "" : fmt::format("{} pixels", fixed(level.pixels, 2)),
                      l == 0 ? "" : fmt::format("{:.3g}", level.switch_distance),
                      grouped(level.bytes.size())});
      Json json = {{"level", l}};
      if (separate_) json["file"] = displayPath(names_[l]);
      json["triangles"] = level.triangles;
      json["kernels"] = level.kernels;
      addDecibels(json, "surface_psnr_source", level.surface_psnr_source);
      json["mean_distance"] = jsonNumber(level.mean_distance);
      json["largest_distance"] = jsonNumber(level.largest_distance);
      json["screen_error_pixels"] = jsonNumber(level.pixels);
      json["switch_distance"] = jsonNumber(level.switch_distance);
      json["screen_coverage"] = jsonNumber(level.screen_coverage);
      addLooks(json, level.variants);
      json["bytes"] = level.bytes.size();
      levels.push_back(std::move(json));
    }
    console.table(rows);
    Json files = Json::array();
    for (const std::string& name : names_)
      files.push_back(displayPath(name));
    return saveJson(console, session.common.json,
                    {{"product", displayPath(product_)},
                     {"files", std::move(files)},
                     {"screen_lines", kScreenLines},
                     {"screen_field_degrees", kScreenField},
                     {"file_bytes", bytes},
                     {"levels", std::move(levels)}});
  }

  std::string product_, output_;
  bool separate_ = false, no_refit_ = false;
  std::vector<std::string> names_;
  LodOptions options_;
};

}  // namespace

std::unique_ptr<Verb> makeLod() {
  return std::make_unique<Lod>();
}

}  // namespace heatskin::cli
