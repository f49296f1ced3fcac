// heatskin import: models of other programs as products.

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/pipeline/hktex_model.h"
#include "heatskin/pipeline/pipeline.h"

#include "cli/inputs.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

class Import : public Verb {
 public:
  void describe(CLI::App& app) override {
    app.add_option("--hktex", model_, "A model of the HKTex authors (.npz)")
        ->required()
        ->type_name("MODEL.npz");
    app.add_option("--mesh", mesh_, "The mesh it was made for, with its faces in the same order")
        ->required()
        ->type_name("MESH");
    app.add_option("-o,--output", output_, "The product to write")->required()->type_name("OUT.glb");
    app.add_option("--method", method_, "Method that evaluates the kernels; the authors' is spectral")
        ->type_name("METHOD")
        ->check(CLI::IsMember(std::vector<std::string>(std::begin(kMethodNames), std::end(kMethodNames))))
        ->capture_default_str();
    app.footer(
        "The kernels become those of the model. Colours agree only approximately with the authors' program: "
        "its\n"
        "interpolation depends on how its eigenvectors were aligned.\n"
        "spectral computes 50 sets of eigenvectors of the mesh first, which takes a minute or more and is "
        "cached.\n\n"
        "Example:\n"
        "  heatskin import --hktex model.npz --mesh spot.obj -o spot_hktex.glb");
  }

  bool random() const override { return false; }

  Result<void> prepare(Session& session) override {
    session.files.reads(model_, "--hktex");
    session.files.reads(mesh_, "--mesh");
    session.files.writes(output_, "-o", ".glb");
    return {};
  }

  Result<void> run(Session& session) override {
    const auto model = readHktexModel(model_);
    if (!model) return model.error();
    auto asset = readAsset(session, mesh_);
    if (!asset) return asset.error();
    const Method method = *methodNamed(method_);
    const auto product = importHktex(*model, std::move(*asset), method, openOptions(session));
    if (!product) return product.error();
    warnAbout(session, mesh_, product->notices);
    if (auto saved = saveBytes(output_, product->bytes); !saved) return saved;

    Console& console = session.console;
    if (product->clamped_values > 0) {
      console.warning(fmt::format("{}: {} outside of their ranges and were clamped", displayPath(model_),
                                  counted(product->clamped_values, "value was", "values were")));
    }
    if (product->moved_positions > 0) {
      console.warning(fmt::format("{}: {} far outside of their faces: is this the right mesh?",
                                  displayPath(model_),
                                  counted(product->moved_positions, "kernel lay", "kernels lay")));
    }
    console.heading(oneLine(displayPath(std::filesystem::path(output_).filename())));
    console.table({{"kernels", grouped(product->kernels)},
                   {"method", method_},
                   {"note", "colours agree only approximately with the HKTex authors' program"}});
    return saveJson(console, session.common.json,
                    {{"file", displayPath(output_)},
                     {"model", displayPath(model_)},
                     {"mesh", displayPath(mesh_)},
                     {"kernels", product->kernels},
                     {"method", method_},
                     {"clamped_values", product->clamped_values},
                     {"moved_positions", product->moved_positions},
                     {"colors", "approximate"},
                     {"bytes", product->bytes.size()}});
  }

 private:
  std::string model_, mesh_, output_;
  std::string method_ = "spectral";
};

}  // namespace

std::unique_ptr<Verb> makeImport() {
  return std::make_unique<Import>();
}

}  // namespace heatskin::cli
