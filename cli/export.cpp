// heatskin export: a product, or its kernels, in the formats of other programs.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/pipeline/attach_product.h"
#include "heatskin/pipeline/bake_product.h"
#include "heatskin/pipeline/export_arrays.h"
#include "heatskin/pipeline/export_usdz.h"
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
    app.add_flag("--usdz", usdz_, "Bake and write a USDZ file, which phones show");
    app.add_flag("--ply", ply_, "Write the mesh with the kernels' colours at its vertices (.ply)");
    app.add_option("--kernels", kernels_, "Write the kernels as arrays (npz) or as JSON (json)")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"npz", "json"}));
    app.add_option("--size", size_, "With --usdz: side of the images in texels (default: by their content)")
        ->type_name("N")
        ->check(CLI::Range(1, 16384));
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
        "docs/baking.md describes the arrays of --kernels.\n\n"
        "Example:\n"
        "  heatskin export --usdz spot_fit.glb -o spot.usdz\n"
        "  heatskin export --kernels npz spot_fit.glb -o kernels.npz\n"
        "  heatskin export --hktex spot_fit.glb -o model.npz");
  }

  Result<void> prepare(Session& session) override {
    const int chosen = int{hktex_} + int{sidecar_} + int{usdz_} + int{ply_} + (kernels_.empty() ? 0 : 1);
    if (chosen != 1) {
      return usageError(
          "give one of --usdz, --ply, --kernels, --sidecar and --hktex; see 'heatskin export --help'");
    }
    if (size_ > 0 && !usdz_) return usageError("--size is for --usdz; see 'heatskin export --help'");
    session.files.reads(file_, "FILE");
    session.files.writes(output_, "-o",
                         hktex_     ? ".npz"
                         : sidecar_ ? ".glb"
                         : usdz_    ? ".usdz"
                         : ply_     ? ".ply"
                                    : "." + kernels_);
    return {};
  }

  Result<void> run(Session& session) override {
    if (usdz_) return writeUsdz(session);
    if (ply_) return writePly(session);
    if (!kernels_.empty()) return writeKernels(session);
    return hktex_ ? writeModel(session) : writeSidecar(session);
  }

 private:
  Result<void> writeUsdz(Session& session) {
    const auto product = openProduct(session, file_);
    if (!product) return product.error();
    warnAbout(session, file_, product->product.notices);
    BakeJob job;
    job.size = size_;
    job.seed = session.common.seed;
    job.progress = &session.console;
    const auto baked = bakeProduct(*product, job);
    if (!baked) return baked.error();
    warnAbout(session, file_, baked->notices);
    const auto usdz = encodeUsdz(baked->bytes);
    if (!usdz) return usdz.error();
    warnAbout(session, file_, usdz->notices);
    if (auto saved = saveBytes(output_, usdz->bytes); !saved) return saved;
    Console& console = session.console;
    console.heading(oneLine(displayPath(std::filesystem::path(output_).filename())));
    console.table({{"layer", fmt::format("{}, {}", counted(usdz->meshes, "mesh", "meshes"),
                                         counted(usdz->materials, "material", "materials"))},
                   {"images", fmt::format("{} of {} x {}", usdz->images, baked->width, baked->height)},
                   {"size", humanBytes(static_cast<double>(usdz->bytes.size()))}});
    Json json = {{"file", displayPath(output_)}, {"product", displayPath(file_)}, {"meshes", usdz->meshes},
                 {"materials", usdz->materials}, {"images", usdz->images},        {"width", baked->width},
                 {"height", baked->height},      {"bytes", usdz->bytes.size()}};
    if (baked->evaluation) addDecibels(json, "surface_psnr", baked->evaluation->surface_psnr);
    return saveJson(console, session.common.json, json);
  }

  Result<void> writePly(Session& session) {
    const auto product = openProduct(session, file_);
    if (!product) return product.error();
    warnAbout(session, file_, product->product.notices);
    return writeBytes(session, encodePly(*product), product->product.kernels.size());
  }

  Result<void> writeKernels(Session& session) {
    auto asset = readAsset(session, file_);
    if (!asset) return asset.error();
    const auto product = decodeProduct(std::move(*asset));
    if (!product) return product.error();
    warnAbout(session, file_, product->notices);
    if (kernels_ == "npz") return writeBytes(session, encodeKernelArrays(*product), product->kernels.size());
    const std::string text = kernelJson(*product);
    return writeBytes(session, {text.begin(), text.end()}, product->kernels.size());
  }

  Result<void> writeBytes(Session& session, const std::vector<std::uint8_t>& bytes, std::size_t kernels) {
    if (auto saved = saveBytes(output_, bytes); !saved) return saved;
    Console& console = session.console;
    console.heading(oneLine(displayPath(std::filesystem::path(output_).filename())));
    console.table({{"kernels", grouped(kernels)}, {"size", humanBytes(static_cast<double>(bytes.size()))}});
    return saveJson(console, session.common.json,
                    {{"file", displayPath(output_)},
                     {"product", displayPath(file_)},
                     {"kernels", kernels},
                     {"bytes", bytes.size()}});
  }

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

  std::string file_, output_, kernels_;
  bool hktex_ = false, sidecar_ = false, usdz_ = false, ply_ = false;
  int size_ = 0;
};

}  // namespace

std::unique_ptr<Verb> makeExport() {
  return std::make_unique<Export>();
}

}  // namespace heatskin::cli
