// heatskin export: kernels of a product in the formats of other programs.

#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/pipeline/attach_product.h"
#include "heatskin/pipeline/hktex_model.h"
#include "heatskin/product/product.h"

#include "cli/inputs.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

class Export : public Verb {
 public:
  void describe(CLI::App& app) override {
    app.add_option("FILE", file_, "A product: the .glb that 'heatskin fit' wrote")->required();
    app.add_flag("--hktex", hktex_, "Write a model of the HKTex authors (.npz)");
    app.add_flag("--sidecar", sidecar_,
                 "Write the kernels with the positions and triangles they need and nothing else (.glb), for "
                 "'heatskin attach'");
    app.add_option("-o,--output", output_, "The file to write")->required()->type_name("FILE");
    app.footer(
        "An HKTex model belongs to the product's mesh: faces are numbered as in the product, all meshes one "
        "after "
        "the\n"
        "other. It holds base colours alone, in half precision. Only kernels of length 1 fit into it, those "
        "of the\n"
        "preset paper. The authors' program evaluates kernels as method spectral does, and agrees with it "
        "only\n"
        "approximately; kernels fitted with another method look different there.\n\n"
        "Example:\n"
        "  heatskin export --hktex spot_fit.glb -o model.npz");
  }

  bool random() const override { return false; }

  Result<void> prepare(Session& session) override {
    if (hktex_ == sidecar_)
      return usageError("give either --hktex or --sidecar; see 'heatskin export --help'");
    session.files.reads(file_, "FILE");
    session.files.writes(output_, "-o", hktex_ ? ".npz" : ".glb");
    return {};
  }

  Result<void> run(Session& session) override { return hktex_ ? writeModel(session) : writeSidecar(session); }

 private:
  Result<void> writeSidecar(Session& session) {
    auto asset = readAsset(session, file_);
    if (!asset) return asset.error();
    const auto product = decodeProduct(std::move(*asset));
    if (!product) return product.error();
    warnAbout(session, file_, product->notices);
    const auto bytes = encodeSidecar(*product);
    if (!bytes) return bytes.error().prefixed(displayPath(file_) + ": ");
    if (auto saved = saveBytes(output_, *bytes); !saved) return saved;
    Console& console = session.console;
    console.heading(oneLine(displayPath(std::filesystem::path(output_).filename())));
    console.table({{"kernels", grouped(product->kernels.size())},
                   {"size", humanBytes(static_cast<double>(bytes->size()))}});
    return saveJson(console, session.common.json,
                    {{"file", displayPath(output_)},
                     {"product", displayPath(file_)},
                     {"kernels", product->kernels.size()},
                     {"bytes", bytes->size()}});
  }

  Result<void> writeModel(Session& session) {
    auto asset = readAsset(session, file_);
    if (!asset) return asset.error();
    const auto product = decodeProduct(std::move(*asset), Method::kSpectral);
    if (!product) return product.error();
    warnAbout(session, file_, product->notices);
    const auto model = hktexFromKernels(product->kernels, product->asset, *product->surface);
    if (!model) return model.error().prefixed(displayPath(file_) + ": ");
    Console& console = session.console;
    const std::string method(methodName(product->options));
    if (methodOf(product->options) != Method::kSpectral) {
      console.warning(
          fmt::format("{}: was fitted with method {}: the HKTex authors' program shows its kernels "
                      "as method spectral does, which looks different",
                      displayPath(file_), method));
    }
    if (product->kernels.layout.groups().size() > 1) {
      console.warning(fmt::format("{}: an HKTex model holds base colours alone; other channels were left out",
                                  displayPath(file_)));
    }
    const std::vector<std::uint8_t> bytes = encodeHktexModel(*model);
    if (auto saved = saveBytes(output_, bytes); !saved) return saved;
    console.heading(oneLine(displayPath(std::filesystem::path(output_).filename())));
    console.table({{"kernels", grouped(model->size())},
                   {"size", humanBytes(static_cast<double>(bytes.size()))},
                   {"note", "colours agree only approximately with the HKTex authors' program"}});
    return saveJson(console, session.common.json,
                    {{"file", displayPath(output_)},
                     {"product", displayPath(file_)},
                     {"kernels", model->size()},
                     {"fitted_method", method},
                     {"colors", "approximate"},
                     {"bytes", bytes.size()}});
  }

  std::string file_, output_;
  bool hktex_ = false, sidecar_ = false;
};

}  // namespace

std::unique_ptr<Verb> makeExport() {
  return std::make_unique<Export>();
}

}  // namespace heatskin::cli
