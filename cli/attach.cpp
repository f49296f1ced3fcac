// heatskin attach: kernels back into a file that other programs have worked on.

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/pipeline/attach_product.h"

#include "cli/inputs.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

class Attach : public Verb {
 public:
  void describe(CLI::App& app) override {
    app.add_option("KERNELS", kernels_,
                   "The original product, or a sidecar that 'heatskin export --sidecar' wrote")
        ->required();
    app.add_option("--to", model_,
                   "The model that gets the kernels: what another program made of the product")
        ->required()
        ->type_name("MODEL");
    app.add_option("-o,--output", output_, "The product to write")->required()->type_name("OUT.glb");
    app.add_flag("--extras", extras_, "Also write the kernels into the scene's extras, see 'heatskin fit'");
    app.footer(
        "The model must have the same triangles: vertices may be reordered, joined, split or rounded, "
        "triangles\n"
        "reordered, parts joined or separated, nodes flattened, everything moved or scaled evenly. "
        "Everything "
        "else\n"
        "in the model stays as it is. Colours before and after are compared, and the differences are "
        "printed.\n\n"
        "Example:\n"
        "  gltfpack -i model_fit.glb -o packed.glb && heatskin attach model_fit.glb --to packed.glb -o "
        "out.glb");
  }

  Result<void> prepare(Session& session) override {
    session.files.reads(kernels_, "KERNELS");
    session.files.reads(model_, "--to");
    session.files.writes(output_, "-o", ".glb");
    return {};
  }

  Result<void> run(Session& session) override {
    const auto product = openProduct(session, kernels_);
    if (!product) return product.error();
    warnAbout(session, kernels_, product->product.notices);
    auto model = readAsset(session, model_);
    if (!model) return model.error();
    AttachOptions options;
    options.extras = extras_;
    options.seed = session.common.seed;
    options.open = openOptions(session);
    const auto outcome = attachKernels(*product, std::move(*model), options);
    if (!outcome) return outcome.error();
    warnAbout(session, model_, outcome->notices);
    if (auto saved = saveBytes(output_, outcome->bytes); !saved) return saved;

    Console& console = session.console;
    console.heading(oneLine(displayPath(std::filesystem::path(output_).filename())));
    console.table(
        {{"kernels", outcome->moved_kernels == 0
                         ? grouped(outcome->kernels)
                         : fmt::format("{}, {} of them moved to the nearest triangle with an area",
                                       grouped(outcome->kernels), grouped(outcome->moved_kernels))},
         {"triangles", outcome->lost_triangles == 0
                           ? fmt::format("{}, all found", grouped(outcome->triangles))
                           : fmt::format("{}, all found but {} that have no area any more",
                                         grouped(outcome->triangles), grouped(outcome->lost_triangles))},
         {"corners", fmt::format("moved by {:.2g} of the longest side at most", outcome->largest_move)},
         {"colours",
          fmt::format("differ by {:.2f} of 255 levels in the mean, {:.2f} in 99 % and {:.1f} at most",
                      outcome->mean_difference, outcome->p99_difference, outcome->largest_difference)},
         {"file", humanBytes(static_cast<double>(outcome->bytes.size()))}});
    return saveJson(console, session.common.json,
                    {{"file", displayPath(output_)},
                     {"product", displayPath(kernels_)},
                     {"model", displayPath(model_)},
                     {"kernels", outcome->kernels},
                     {"moved_kernels", outcome->moved_kernels},
                     {"triangles", outcome->triangles},
                     {"lost_triangles", outcome->lost_triangles},
                     {"largest_move", jsonNumber(outcome->largest_move)},
                     {"tolerance", jsonNumber(outcome->tolerance)},
                     {"mean_difference", jsonNumber(outcome->mean_difference)},
                     {"p99_difference", jsonNumber(outcome->p99_difference)},
                     {"largest_difference", jsonNumber(outcome->largest_difference)},
                     {"bytes", outcome->bytes.size()}});
  }

 private:
  std::string kernels_, model_, output_;
  bool extras_ = false;
};

}  // namespace

std::unique_ptr<Verb> makeAttach() {
  return std::make_unique<Attach>();
}

}  // namespace heatskin::cli
