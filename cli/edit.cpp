// heatskin edit: local changes of a product's mesh or look.

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/pipeline/edit_patch.h"
#include "heatskin/pipeline/edit_product.h"

#include "cli/inputs.h"
#include "cli/look_figures.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

class Edit : public Verb {
 public:
  void describe(CLI::App& app) override {
    app_ = &app;
    app.add_option("PRODUCT", product_, "A product: the .glb that 'heatskin fit' wrote")->required();
    app.add_option("-o,--output", output_, "The product to write")->required()->type_name("OUT.glb");
    app.add_option("--mesh", mesh_,
                   "The product's mesh after an edit: triangles moved, remeshed, deleted or added in places")
        ->type_name("CHANGED");
    app.add_option("--look", look_,
                   "With --mesh: where changed triangles have their look from: mesh (its own textures or "
                   "vertex colours),\nproduct (the nearest place of the product) or auto (mesh, if it has "
                   "any)")
        ->type_name("auto|mesh|product")
        ->check(CLI::IsMember({"auto", "mesh", "product"}))
        ->capture_default_str();
    app.add_option("--paint", paint_, "Paint strokes")->type_name("STROKES.json");
    app.add_option("--recolor", recolor_,
                   "Turn hue and saturation, stretch levels, look colours up in a table")
        ->type_name("RECOLOR.json");
    app.add_option("--mask", mask_, "Limit --paint and --recolor to regions")->type_name("MASK.json");
    app.add_option("--apply", apply_, "Apply the strokes and recolourings of a patch")
        ->type_name("PATCH.json");
    app.add_option("--undo", undo_, "Take a patch back: the kernels are those before it")
        ->type_name("PATCH.json");
    app.add_option("--save-patch", patch_,
                   "Also write a patch, which can be undone, applied again and applied to other levels of "
                   "detail")
        ->type_name("PATCH.json");
    app.footer(
        "Only kernels in reach of an edit change; all others keep their bytes. The formats of strokes, "
        "masks, "
        "recolourings\n"
        "and patches are in docs/transfer.md.\n\n"
        "Example:\n"
        "  heatskin edit model_fit.glb --mesh sculpted.glb -o out.glb\n"
        "  heatskin edit model_fit.glb --paint strokes.json -o out.glb --save-patch patch.json\n"
        "  heatskin edit out.glb --undo patch.json -o back.glb");
  }

  Result<void> prepare(Session& session) override {
    const auto given = [&](const char* option) { return app_->count(option) > 0; };
    const int kinds = (given("--mesh") ? 1 : 0) + (given("--paint") || given("--recolor") ? 1 : 0) +
                      (given("--apply") ? 1 : 0) + (given("--undo") ? 1 : 0);
    if (kinds != 1) {
      return usageError(
          "give one of --mesh, --paint and --recolor, --apply and --undo; see 'heatskin edit --help'");
    }
    if (given("--mask") && !given("--paint") && !given("--recolor"))
      return usageError("--mask applies to --paint and --recolor only; see 'heatskin edit --help'");
    if (given("--look") && !given("--mesh"))
      return usageError("--look applies to --mesh only; see 'heatskin edit --help'");
    if (given("--save-patch") && (given("--mesh") || given("--undo")))
      return usageError("--save-patch applies to changes of the look only; see 'heatskin edit --help'");
    session.files.reads(product_, "PRODUCT");
    for (const auto& [file, option] :
         {std::pair(&mesh_, "--mesh"), std::pair(&paint_, "--paint"), std::pair(&recolor_, "--recolor"),
          std::pair(&mask_, "--mask"), std::pair(&apply_, "--apply"), std::pair(&undo_, "--undo")}) {
      if (!file->empty()) session.files.reads(*file, option);
    }
    session.files.writes(output_, "-o", ".glb");
    if (!patch_.empty()) session.files.writes(patch_, "--save-patch", ".json");
    return {};
  }

  Result<void> run(Session& session) override {
    const auto product = openProduct(session, product_);
    if (!product) return product.error();
    warnAbout(session, product_, product->product.notices);
    EditOptions options;
    options.seed = session.common.seed;
    options.open = openOptions(session);
    options.look = look_ == "mesh"      ? EditLook::kMesh
                   : look_ == "product" ? EditLook::kProduct
                                        : EditLook::kAuto;
    EditPatch patch;
    auto outcome = change(session, *product, options, patch);
    if (!outcome) return outcome.error();
    warnAbout(session, mesh_.empty() ? product_ : mesh_, outcome->notices);
    if (!patch_.empty()) {
      if (auto saved = saveText(patch_, patchJson(patch)); !saved) return saved;
    }
    if (auto saved = saveBytes(output_, outcome->bytes); !saved) return saved;
    return show(session, *outcome);
  }

 private:
  Result<EditOutcome> change(Session& session, const LoadedProduct& product, const EditOptions& options,
                             EditPatch& patch) {
    if (!mesh_.empty()) {
      auto mesh = readAsset(session, mesh_);
      if (!mesh) return mesh.error();
      return editMesh(product, std::move(*mesh), options);
    }
    if (!apply_.empty() || !undo_.empty()) {
      const std::string& file = apply_.empty() ? undo_ : apply_;
      const auto text = readText(file);
      if (!text) return text.error();
      const auto read = parsePatch(*text, displayPath(file), product, apply_.empty());
      if (!read) return read.error();
      return apply_.empty() ? undoEdit(product, *read, options)
                            : editLook(product, read->operations, options, &patch);
    }
    std::vector<EditOperation> operations;
    for (const auto& [file, kind] :
         {std::pair(&paint_, EditFile::kStrokes), std::pair(&recolor_, EditFile::kRecolor)}) {
      if (file->empty()) continue;
      const auto read = parsed(*file, kind, product);
      if (!read) return read.error();
      operations.insert(operations.end(), read->begin(), read->end());
    }
    if (!mask_.empty()) {
      const auto mask = parsed(mask_, EditFile::kMask, product);
      if (!mask) return mask.error();
      for (EditOperation& operation : operations)
        limitTo(operation, mask->front());
    }
    return editLook(product, operations, options, &patch);
  }

  static Result<std::string> readText(const std::string& file) {
    const auto bytes = readFile(file);
    if (!bytes) return bytes.error();
    return std::string(bytes->begin(), bytes->end());
  }

  static Result<std::vector<EditOperation>> parsed(const std::string& file, EditFile kind,
                                                   const LoadedProduct& product) {
    const auto text = readText(file);
    if (!text) return text.error();
    return parseEdits(*text, kind, displayPath(file), product);
  }

  Result<void> show(Session& session, const EditOutcome& outcome) {
    Console& console = session.console;
    const std::size_t kernels = outcome.stored->product.kernels.size();
    console.heading(oneLine(displayPath(std::filesystem::path(output_).filename())));
    console.table(
        {{"changed", fmt::format("{} % of the surface, {} triangles", fixed(100 * outcome.changed_area, 2),
                                 grouped(outcome.changed_triangles))},
         {"kernels", fmt::format("{}: {} as they were, {} changed or new", grouped(kernels),
                                 grouped(outcome.kernels_kept), grouped(outcome.kernels_changed))},
         {"against what was asked for", fixed(outcome.surface_psnr, 2) + " dB"},
         {"elsewhere against before", std::isfinite(outcome.surface_psnr_source)
                                          ? fixed(outcome.surface_psnr_source, 2) + " dB"
                                          : "the same"},
         {"file", humanBytes(static_cast<double>(outcome.bytes.size()))}});
    Json json = {{"file", displayPath(output_)}, {"product", displayPath(product_)}};
    addDecibels(json, "surface_psnr_source", outcome.surface_psnr_source);
    addDecibels(json, "surface_psnr", outcome.surface_psnr);
    json["kernels"] = kernels;
    json["kernels_kept"] = outcome.kernels_kept;
    json["kernels_changed"] = outcome.kernels_changed;
    json["kernels_added"] = outcome.kernels_added;
    json["kernels_dropped"] = outcome.kernels_dropped;
    json["changed_area"] = jsonNumber(outcome.changed_area);
    json["unmatched_area"] = jsonNumber(outcome.unmatched_area);
    json["changed_triangles"] = outcome.changed_triangles;
    json["removed_triangles"] = outcome.removed_triangles;
    json["refit_kernels"] = outcome.refit.free_kernels;
    json["refit_steps"] = outcome.refit.steps;
    json["refit_samples"] = outcome.refit.samples;
    if (!mesh_.empty()) json["look"] = outcome.look_of_mesh ? "mesh" : "product";
    addLooks(json, outcome.variants);
    json["bytes"] = outcome.bytes.size();
    return saveJson(console, session.common.json, json);
  }

  CLI::App* app_ = nullptr;
  std::string product_, output_, mesh_, paint_, recolor_, mask_, apply_, undo_, patch_;
  std::string look_ = "auto";
};

}  // namespace

std::unique_ptr<Verb> makeEdit() {
  return std::make_unique<Edit>();
}

}  // namespace heatskin::cli
