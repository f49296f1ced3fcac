// heatskin demo: the built-in pumpkin from nothing to a report. It is grown and painted by code, fitted,
// evaluated and drawn; no file is needed.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/base/machine.h"
#include "heatskin/base/parallel.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/demo/pumpkin.h"
#include "heatskin/evaluation/pictures.h"
#include "heatskin/io/glb_writer.h"
#include "heatskin/io/image.h"
#include "heatskin/kernels/simd_level.h"
#include "heatskin/pipeline/fit_product.h"
#include "heatskin/pipeline/stem.h"
#include "heatskin/rendering/camera.h"
#include "heatskin/rendering/render.h"
#include "heatskin/version.h"

#include "cli/evaluation_page.h"
#include "cli/fit_job.h"
#include "cli/inputs.h"
#include "cli/report_page.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

constexpr int kTurntableFrames = 24;

std::string turntableName(std::size_t frame) {
  return fmt::format("turntable_{:02}.png", frame);
}

class Demo : public Verb {
 public:
  void describe(CLI::App& app) override {
    app.add_option("-o,--output", folder_, "Folder of the report; made if it does not exist")
        ->type_name("DIR")
        ->capture_default_str();
    app.add_option("--resolution", pumpkin_.resolution, "Vertices of the pumpkin, about")
        ->type_name("N")
        ->check(CLI::Range(500, 1000000))
        ->capture_default_str();
    app.add_option("--texture", pumpkin_.texture_size, "Side of its texture in texels")
        ->type_name("N")
        ->check(CLI::Range(256, 4096))
        ->capture_default_str();
    app.add_option("--steps", steps_, "Optimisation steps")
        ->type_name("N")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    app.footer("Example:\n  heatskin demo -o demo-out");
  }

  Result<void> prepare(Session& session) override {
    if (folder_.empty())
      return usageError("-o: the name of the folder is empty; 'heatskin demo --help' explains");
    std::vector<std::string> names = {"pumpkin.glb",    "pumpkin_fit.glb", "pumpkin_fit.toml", "report.json",
                                      "hero_input.png", "hero_fitted.png", "stem.png"};
    for (int i = 0; i < kTurntableFrames; ++i)
      names.push_back(turntableName(static_cast<std::size_t>(i)));
    for (std::string& name : evaluationFiles())
      names.push_back(std::move(name));
    session.files.writesInto(folder_, names, "the report");
    session.files.locks(folder_ / "pumpkin_fit.glb");
    return {};
  }

  Result<void> run(Session& session) override {
    pumpkin_.seed = session.common.seed;
    Console& console = session.console;
    Stopwatch total, watch;

    const Asset pumpkin = makePumpkin(pumpkin_, console);
    console.begin("compressing", 0);
    const auto glb = encodeGlb(pumpkin);
    console.end();
    if (!glb) return glb.error();
    generate_s_ = watch.lap();
    const std::filesystem::path file = folder_ / "pumpkin.glb";
    if (auto saved = saveBytes(file, *glb); !saved) return saved;
    const auto subject = openAsset(session, file);
    if (!subject) return subject.error();
    warnAbout(session, *subject);

    FitJob job;
    auto config = presetConfig("default");
    if (!config) return config.error();
    job.config = std::move(*config);
    job.config.train.steps = steps_;
    job.config.train.seed = session.common.seed;
    job.output = folder_ / "pumpkin_fit.glb";
    job.resolved = folder_ / "pumpkin_fit.toml";
    job.keep_budget = true;
    const auto outcome = runFit(session, *subject, job);
    if (!outcome) return outcome.error();
    stem_below_half_ = stemBelowHalf(outcome->stored->texture, session.common.seed);

    watch.lap();
    ReportPage page(
        "A pumpkin without UVs",
        "Grown and painted by code, then fitted by heatskin: its colours now live in a few thousand "
        "kernels on the surface, which need no texture coordinates.");
    ReportPage::Rows tiles = evaluationTiles(*outcome->evaluation);
    tiles.emplace_back("for " + counted(outcome->fit.kernels.size(), "kernel", "kernels"),
                       humanBytes(static_cast<double>(outcome->stored->product.model_bytes)));
    tiles.emplace_back("optimisation", humanSeconds(outcome->fit.history.optimise_seconds));
    page.tiles(tiles);
    if (auto drawn = drawPictures(console, *subject, *outcome, page); !drawn) return drawn;
    pictures_s_ = watch.lap();
    total_s_ = total.lap();
    return report(session, *subject, job, *outcome, page);
  }

 private:
  /// Saves a picture without background and returns its bytes for the page.
  Result<std::vector<std::uint8_t>> save(const std::string& name, const ImageF& image) {
    auto png = encodePng(toPng8WithMask(image), image.width, image.height, 4);
    if (!png) return png.error();
    if (auto saved = saveBytes(folder_ / name, *png); !saved) return saved.error();
    files_.push_back(name);
    return pageImage(image);
  }

  Result<void> drawPictures(Console& console, const LoadedAsset& subject, const FitOutcome& outcome,
                            ReportPage& page) {
    const KernelTexture& texture = outcome.stored->texture;
    const Surface& surface = texture.surface();
    const ColorSource fitted = textureColors(texture);
    // On the page without background, so that it suits light and dark.
    const auto shaded = [](const Surface& of, const Camera& camera, int width, int height,
                           const ColorSource& colors, int samples) {
      ShadedOptions options;
      options.supersampling = samples;
      options.transparent_background = true;
      return renderShaded(of, camera, width, height, colors, options).image;
    };

    console.begin("drawing the turntable", kTurntableFrames + 1);
    page.section("What it looks like", "Left what went in, a mesh with a UV texture; then what came out.");
    const std::vector<ImageF> heroes = {
        shaded(*subject.surface, framedCamera(*subject.surface, 22 * kDegree, 16 * kDegree, 4.0 / 3), 640,
               480, appearanceColors(subject.appearance), 3),
        shaded(surface, framedCamera(surface, 22 * kDegree, 16 * kDegree, 4.0 / 3), 640, 480, fitted, 3)};
    const auto input = save("hero_input.png", heroes[0]), output = save("hero_fitted.png", heroes[1]);
    if (!input) return input.error();
    if (!output) return output.error();
    console.update(1, "hero");
    std::vector<std::vector<std::uint8_t>> frames;
    for (const Camera& camera : turntable(surface, kTurntableFrames, 20 * kDegree, 4.0 / 3)) {
      const auto png = save(turntableName(frames.size()), shaded(surface, camera, 480, 360, fitted, 2));
      if (!png) return png.error();
      frames.push_back(*png);
      console.update(1 + frames.size(), "turntable");
    }
    console.end();
    page.gallery(
        {{{*input}, "input"}, {{*output}, "fitted"}, {frames, "fitted: drag to turn, or use the arrow keys"}},
        3, "Studio light.");

    const Reference reference(surface, subject.appearance);
    EvaluationPictureOptions options;
    options.progress = &console;
    options.close_ups.push_back(
        {"stem", "The stem",
         fmt::format("Thin, curved, behind a sharp crease: {} of it is covered by less than half.",
                     percent(stem_below_half_)),
         orbitCamera(stemSphere(surface), 30 * kDegree, 25 * kDegree, 1.0)});
    const auto names = addEvaluationPictures(page, folder_, texture, reference, options);
    if (!names) return names.error();
    files_.insert(files_.end(), names->begin(), names->end());
    return {};
  }

  Result<void> report(Session& session, const LoadedAsset& subject, const FitJob& job,
                      const FitOutcome& outcome, ReportPage& page) {
    const Machine machine = describeMachine(simdLevel());
    ReportPage::Rows rows = fitRows(outcome);
    rows.emplace_back("stem", percent(stem_below_half_) + " covered by less than half");
    page.section("Figures", "Of the file as stored, in this run.");
    page.drawing(lossCurve(outcome.fit.history),
                 "The loss over the steps: each batch's estimate of the mean squared error of the surface.",
                 true);
    page.table("The fit", rows);
    page.table("Where the time went", profileRows(outcome));
    page.table(
        "Everything else",
        {{"Growing and painting", humanSeconds(generate_s_)},
         {"Drawing this report", humanSeconds(pictures_s_)},
         {"In total", humanSeconds(total_s_)},
         {"Mesh", fmt::format("{}, {}", counted(subject.surface->report().vertices, "vertex", "vertices"),
                              counted(subject.surface->report().faces, "face", "faces"))},
         {"Product", humanBytes(static_cast<double>(outcome.bytes.size()))}});
    page.footer(fmt::format("heatskin {}, seed {}. {}, {}, {}, {} build.", kVersion, session.common.seed,
                            machine.cpu, counted(static_cast<std::size_t>(machine.cores), "core", "cores"),
                            machine.compiler, machine.build));

    Json json = fitJson(subject, job, outcome);
    json["stem_below_half"] = jsonNumber(stem_below_half_);
    json["generate_s"] = jsonNumber(generate_s_);
    json["pictures_s"] = jsonNumber(pictures_s_);
    json["total_s"] = jsonNumber(total_s_);
    json["pictures"] = files_;
    Console& console = session.console;
    if (auto saved = saveJson(console, (folder_ / "report.json").string(), json); !saved) return saved;
    if (auto saved = saveText(folder_ / "report.html", page.html()); !saved) return saved;

    rows.emplace_back("total", humanSeconds(total_s_));
    rows.emplace_back("report", oneLine(displayPath(folder_ / "report.html")));
    console.heading("The pumpkin");
    std::vector<std::vector<std::string>> lines;
    for (const auto& [label, value] : rows)
      lines.push_back({label, value});
    console.table(lines);
    return saveJson(console, session.common.json, json);
  }

  std::filesystem::path folder_ = "demo-out";
  PumpkinOptions pumpkin_;
  int steps_ = 2500;
  std::vector<std::string> files_;
  double generate_s_ = 0, pictures_s_ = 0, total_s_ = 0, stem_below_half_ = 0;
};

}  // namespace

std::unique_ptr<Verb> makeDemo() {
  return std::make_unique<Demo>();
}

}  // namespace heatskin::cli
