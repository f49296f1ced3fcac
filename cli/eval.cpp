// heatskin eval: how close a fitted texture comes to the asset it was fitted to.

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/base/machine.h"
#include "heatskin/base/parallel.h"
#include "heatskin/evaluation/evaluate.h"
#include "heatskin/evaluation/pictures.h"
#include "heatskin/metrics/lpips.h"
#include "heatskin/pipeline/evaluate_product.h"
#include "heatskin/version.h"

#include "cli/evaluation_page.h"
#include "cli/inputs.h"
#include "cli/report_page.h"
#include "cli/report_sections.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

class Eval : public Verb {
 public:
  void describe(CLI::App& app) override {
    app.add_option("FILE", file_, "A product: the .glb that 'heatskin fit' wrote")->required();
    app.add_option("--reference", reference_, "The asset that the product was fitted to")
        ->required()
        ->type_name("ASSET");
    app.add_option("--report", report_, "Also write a report (report.html) with pictures into this folder")
        ->type_name("DIR");
    std::vector<std::string> filters = filterChoices();
    filters.emplace_back("both");
    app.add_option("--filter", filter_,
                   "Filter for the reference's textures: auto (what its samplers say), nearest, bilinear, "
                   "paper (the paper's formula), or both (auto and paper). Default: the filter of the fit")
        ->type_name("FILTER")
        ->check(CLI::IsMember(filters));
    app.add_option("--samples", options_.surface_samples, "Number of sample points on the surface")
        ->type_name("N")
        ->check(CLI::Range(1000, 20'000'000))
        ->capture_default_str();
    app.add_option("--as", method_,
                   "Evaluate the stored kernels with this method, without refitting, instead of the one they "
                   "were fitted with")
        ->type_name("METHOD")
        ->check(CLI::IsMember(std::vector<std::string>(std::begin(kMethodNames), std::end(kMethodNames))));
    addVariantOption(app, variant_);
    addLevelOption(app, level_);
    app.add_flag("--flip", options_.flip, "Also compute FLIP for views and atlas (takes some seconds)");
    app.add_option("--lpips-weights", lpips_weights_,
                   "Also compute LPIPS for views and atlas with the weights in FILE (.safetensors or .npz)")
        ->type_name("FILE");
    app.add_flag("--five-frame", five_frame_,
                 "Also compare five lit, path-traced pictures: equivalent to the HKTex authors' measure");
    app.add_option("--five-frame-samples", five_frame_samples_, "Samples per pixel of --five-frame")
        ->type_name("N")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    app.add_option("--error-full", error_full_,
                   "Error that the report's maps show brightest, in 8-bit levels")
        ->type_name("N")
        ->check(CLI::Range(1.0f, 255.0f))
        ->capture_default_str();
    app.footer(
        "Surface PSNR is measured at points distributed uniformly over the area. View metrics are means over "
        "the\n"
        "8 standard views (unlit, 512 x 512, foreground only). The atlas is 1024 x 1024 in the reference's "
        "UV\n"
        "layout. Points are weighted by visibility: fully transparent ones do not count.\n"
        "Filter paper reads texel round(u (W - 1)). Preset paper is fitted and compared with it; it is wrong "
        "for\n"
        "repeated textures. Textures are always read at full resolution, without mip maps.\n"
        "The seam jump is the colour difference between the two faces at an edge, in 8-bit levels. It is "
        "given for\n"
        "the product and for the reference, whose own colours may change at edges or differ across UV "
        "seams.\n"
        "--five-frame traces 5 pictures of 256 x 256 pixels in light from everywhere, on a floor, with the "
        "same\n"
        "paths for product and reference; every pixel counts. Compare only figures made with "
        "the same\n"
        "--five-frame-samples.\n\n"
        "Example:\n"
        "  heatskin eval spot_fit.glb --reference spot.obj --report spot_report --json -");
    app_ = &app;
  }

  Result<void> prepare(Session& session) override {
    if (app_->count("--report") > 0 && report_.empty())
      return usageError("--report: the name of the folder is empty; see 'heatskin eval --help'");
    if (app_->count("--error-full") > 0 && report_.empty())
      return usageError("--error-full applies to the maps of --report DIR; give both or leave it out");
    if (app_->count("--five-frame-samples") > 0 && !five_frame_)
      return usageError("--five-frame-samples applies to --five-frame; give both or leave it out");
    session.files.reads(file_, "FILE");
    session.files.reads(reference_, "--reference");
    session.files.reads(lpips_weights_, "--lpips-weights");
    session.files.writesInto(report_, evaluationFiles(), "--report");
    return {};
  }

  Result<void> run(Session& session) override {
    std::optional<LpipsModel> lpips;
    if (!lpips_weights_.empty()) {
      auto model = LpipsModel::load(lpips_weights_);
      if (!model) return model.error();
      lpips = std::move(*model);
      options_.lpips = &*lpips;
    }
    options_.seed = session.common.seed;
    options_.five_frame_samples = five_frame_ ? five_frame_samples_ : 0;

    const auto fitted = openProduct(session, file_, methodNamed(method_), variant_, level_);
    if (!fitted) return fitted.error();
    warnAbout(session, file_, fitted->product.notices);
    SurfaceOptions plain;
    plain.principal_axes = false;  // only colours are asked of the reference
    const auto subject = openAsset(session, reference_, plain, variant_);
    if (!subject) return subject.error();
    const auto reference = referenceOf(*fitted, *subject);
    if (!reference) return reference.error();
    warnAbout(session, reference_, reference->notices());
    std::optional<Filter> filter;  // as the fit did
    if (!filter_.empty()) filter = filter_ == "both" ? Filter::kAuto : filterNamed(filter_);
    const auto evaluation = evaluateProduct(*fitted, *reference, options_, filter, session.console);
    if (!evaluation) return evaluation.error();
    std::optional<Evaluation> other;
    if (filter_ == "both") {
      EvaluationOptions options = options_;
      options.query_runs = 0;
      options.five_frame_samples = 0;  // their filter is fixed
      auto second = evaluateProduct(*fitted, *reference, options, Filter::kPaper, session.console);
      if (!second) return second.error();
      other = std::move(*second);
    }
    return show(session, *fitted, *subject, *reference, *evaluation, other, filter);
  }

 private:
  Result<void> show(Session& session, const LoadedProduct& fitted, const LoadedAsset& subject,
                    const Reference& reference, const Evaluation& evaluation,
                    const std::optional<Evaluation>& other, std::optional<Filter> filter) {
    const Product& product = fitted.product;
    const SurfaceReport& mesh = product.surface->report();
    Console& console = session.console;
    Json json = {{"file", file_}, {"reference", reference_}};
    addEvaluation(json, evaluation);
    addMaterials(json, evaluation, subject.asset);
    if (other) {
      for (const Evaluation* e : {&evaluation, &*other}) {
        Json& entry = json["by_filter"][e->filter_used];
        addEvaluation(entry, *e);
        addMaterials(entry, *e, subject.asset);
      }
    }
    json["variant"] = variant_.empty() ? Json() : Json(variant_);
    json["mapped_reference"] = reference.mapped();
    EvaluationOptions with_filter = options_;
    with_filter.filter = filter.value_or(fitFilter(product.info));
    const std::optional<double> fallback = fallbackPsnr(fitted, subject, with_filter);
    json["fallback_psnr"] = fallback ? jsonNumber(*fallback) : Json();
    const auto contents = keptContents(fitted, subject);
    if (!contents) return contents.error();
    json["kept"] = contents->kept;
    json["dropped"] = contents->dropped;
    json["kernels"] = product.kernels.size();
    for (const char* key : {"init_s", "preprocess_s", "optimise_s", "median_step_ms"})
      json[key] = nullptr;  // known to fit only
    json["peak_rss_mb"] = jsonNumber(static_cast<double>(peakResidentBytes()) * 1e-6);
    json["model_bytes"] = product.model_bytes;
    json["chart_bytes"] = product.chart_bytes;
    json["variant_bytes"] = product.variant_bytes;
    json["bytes_per_kernel"] = jsonNumber(product.bytesPerKernel());
    json["method"] = methodName(fitted.texture.options());
    json["fitted_method"] = methodName(product.options);
    json["preset"] = product.info.preset;
    json["seed"] = product.info.seed;
    json["steps"] = product.info.steps;
    json["sample_seed"] = options_.seed;
    json["threads"] = threadCount();
    json["vertices"] = mesh.vertices;
    json["faces"] = mesh.faces;

    ReportPage::Rows rows = evaluationRows(evaluation);
    if (other) {
      const ReportPage::Rows more = evaluationRows(*other);
      // What depends on the filter: the figures before the coverage.
      std::size_t at = 0;
      while (at < rows.size() && rows[at].first != "uncovered")
        ++at;
      for (const auto& [label, value] : more) {
        if (label == "surface" || label == "views" || label == "atlas")
          rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(at++), {label + ", paper", value});
      }
    }
    if (fallback) rows.emplace_back("without kernels", fmt::format("PSNR {} dB", fixed(*fallback, 2)));
    if (!variant_.empty()) rows.emplace_back("variant", oneLine(variant_));
    rows.emplace_back("kernels", kernelsInBytes(product));
    rows.emplace_back("fit",
                      fmt::format("method {}{}{}, {}, seed {}", methodName(product.options),
                                  product.info.preset.empty() ? "" : ", preset ", product.info.preset,
                                  counted(static_cast<std::size_t>(product.info.steps), "step", "steps"),
                                  product.info.seed));
    if (methodOf(fitted.texture.options()) != methodOf(product.options))
      rows.emplace_back("evaluated as", std::string(methodName(fitted.texture.options())));
    if (const std::string line = keptLine(contents->kept, contents->dropped); !line.empty())
      rows.emplace_back("input", line);
    console.heading(oneLine(displayPath(std::filesystem::path(file_).filename())));
    std::vector<std::vector<std::string>> lines;
    for (const auto& [label, value] : rows)
      lines.push_back({label, value});
    console.table(lines);
    const ReportPage::Rows materials = materialRows(evaluation, subject.asset);
    if (!materials.empty()) {
      console.heading("By material");
      lines.clear();
      for (const auto& [label, value] : materials)
        lines.push_back({label, value});
      console.table(lines);
    }

    if (!report_.empty()) {
      auto files = writeReport(session, fitted, reference, evaluation, rows, materials);
      if (!files) return files.error();
      json["report"] = displayPath(std::filesystem::path(report_) / "report.html");
      json["pictures"] = *files;
      console.table({{"report", oneLine(displayPath(std::filesystem::path(report_) / "report.html"))}});
    }
    return saveJson(console, session.common.json, json);
  }

  Result<std::vector<std::string>> writeReport(Session& session, const LoadedProduct& fitted,
                                               const Reference& reference, const Evaluation& evaluation,
                                               const ReportPage::Rows& rows,
                                               const ReportPage::Rows& materials) {
    const std::string name = displayPath(std::filesystem::path(file_).filename());
    ReportPage page(name, fmt::format("{} compared with {}: how close they come, and where they differ.",
                                      counted(fitted.product.kernels.size(), "kernel", "kernels"),
                                      displayPath(std::filesystem::path(reference_).filename())));
    page.tiles(evaluationTiles(evaluation));
    const auto product = readFile(file_);
    if (!product) return product.error();
    addViewer(page, name, *product, reference_);
    EvaluationPictureOptions options;
    options.error_full = error_full_;
    options.progress = &session.console;
    auto files = addEvaluationPictures(page, report_, fitted.texture, reference, options);
    if (!files) return files.error();
    page.section("Figures");
    page.table("Overall", rows);
    if (!materials.empty()) page.table("By material", materials);
    if (!evaluation.views.empty()) page.table("View by view", viewRows(evaluation));
    ReportPage::Rows notes;
    for (const Notice& notice : reference.notices())
      notes.emplace_back("Reference", notice.message);
    if (!notes.empty()) page.table("Notes", notes);
    page.table("Measured with", {{"Surface samples", grouped(evaluation.surface_samples)},
                                 {"Textures read", evaluation.filter_used},
                                 {"Views, atlas", fmt::format("{0} x {0} and {1} x {1} pixels",
                                                              options_.view_size, options_.atlas_size)},
                                 {"Seed of the samples", fmt::format("{}", options_.seed)},
                                 {"Threads", fmt::format("{}", threadCount())}});
    addKernelHistograms(page, fitted.product.kernels);
    page.note(
        "Curves of loss and PSNR over the steps are not here: a product does not hold the history of its "
        "fit. "
        "The page that 'fit --report' writes has them.");
    addCommand(page, session.command, optionsBeside(file_),
               "Options of the fit, from the file beside the product");
    page.footer(fmt::format("heatskin {}; {}; sample seed {}.", kVersion, fitted.product.info.generator,
                            options_.seed));
    if (auto saved = saveText(std::filesystem::path(report_) / "report.html", page.html()); !saved)
      return saved.error();
    return files;
  }

  const CLI::App* app_ = nullptr;
  std::string file_, reference_, report_, lpips_weights_, method_;
  std::string filter_, variant_;
  std::size_t level_ = 0;
  float error_full_ = kErrorFull;
  bool five_frame_ = false;
  int five_frame_samples_ = kFiveFrameSamples;
  EvaluationOptions options_;
};

}  // namespace

std::unique_ptr<Verb> makeEval() {
  return std::make_unique<Eval>();
}

}  // namespace heatskin::cli
