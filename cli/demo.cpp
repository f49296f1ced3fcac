// heatskin demo: the built-in pumpkin from nothing to a report. Until fitting exists, it shows what fitting
// will stand on: the file, the surface, its appearance, walks, pictures and metrics.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/demo/pumpkin.h"
#include "heatskin/geodesic/walk.h"
#include "heatskin/io/glb_writer.h"
#include "heatskin/io/image.h"
#include "heatskin/metrics/flip.h"
#include "heatskin/metrics/psnr.h"
#include "heatskin/metrics/ssim.h"
#include "heatskin/rendering/atlas.h"
#include "heatskin/rendering/camera.h"
#include "heatskin/rendering/contact_sheet.h"
#include "heatskin/rendering/render.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/version.h"

#include "bench/harness.h"
#include "cli/pictures.h"
#include "cli/report_page.h"
#include "cli/subject.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

constexpr int kTurntableFrames = 24;
constexpr std::size_t kColorSamples = 200000;  // as many as the surface metrics of the evaluation use
constexpr std::size_t kWalks = 100000;
constexpr double kWalkLength = 0.1;  // normalised; a typical kernel radius

/// What the demo measured; becomes report.json.
struct Figures {
  double generate_s = 0, load_s = 0, pictures_s = 0;
  double color_mpoints_s = 0;
  double walks_s = 0;
  std::size_t walks_complete = 0;
  double walk_crossings = 0;
  double nearest_psnr = 0, nearest_ssim = 0, nearest_flip = 0;
  Vec3f mean_color = Vec3f::Zero();
};

/// A sphere around the top of the surface: the stem.
BoundingSphere stemSphere(const Surface& surface) {
  double low = surface.positions()[0].y(), high = low;
  for (const Vec3& p : surface.positions()) {
    low = std::min(low, p.y());
    high = std::max(high, p.y());
  }
  const double from = high - 0.17 * (high - low);
  Vec3 box_low = Vec3::Constant(1e30), box_high = Vec3::Constant(-1e30);
  for (const Vec3& p : surface.positions()) {
    if (p.y() < from) continue;
    box_low = box_low.cwiseMin(p);
    box_high = box_high.cwiseMax(p);
  }
  return {0.5 * (box_low + box_high), 0.5 * (box_high - box_low).norm()};
}

void measureColors(const Subject& subject, std::uint64_t seed, Figures& figures) {
  const auto points = sampleSurface(subject.surface, kColorSamples, seed);
  std::vector<Vec3f> colors(points.size());
  Stopwatch watch;
  subject.appearance.colors(points, colors);
  figures.color_mpoints_s = static_cast<double>(points.size()) / watch.lap() * 1e-6;
  Vec3 sum = Vec3::Zero();
  for (const Vec3f& color : colors)
    sum += color.cast<double>();
  figures.mean_color = (sum / static_cast<double>(colors.size())).cast<float>();
}

void measureWalks(const Subject& subject, std::uint64_t seed, Figures& figures) {
  constexpr std::uint64_t kPlaces = 1, kDirections = 2;  // streams
  const auto starts = sampleSurface(subject.surface, kWalks, seed, kPlaces);
  const RandomStream random(seed, kDirections);
  std::vector<Vec2> directions(starts.size());
  for (std::size_t i = 0; i < directions.size(); ++i) {
    const double angle = 2 * std::numbers::pi * random.uniform(i);
    directions[i] = kWalkLength * Vec2(std::cos(angle), std::sin(angle));
  }
  std::vector<WalkOutcome> outcomes(starts.size());
  const Walker walker(subject.surface);
  Stopwatch watch;
  walker.walk(starts, directions, outcomes);
  figures.walks_s = static_cast<double>(outcomes.size()) / watch.lap();
  for (const WalkOutcome& outcome : outcomes) {
    figures.walks_complete += outcome.stop == WalkStop::kComplete ? 1 : 0;
    figures.walk_crossings += outcome.crossings;
  }
  figures.walk_crossings /= static_cast<double>(outcomes.size());
}

/// The 8 standard views with the nearest texel against bilinear: what the choice of filter is worth.
Result<void> measureFilters(const Subject& subject, Figures& figures) {
  SquaredError error;
  const auto views = standardViews(subject.surface);
  for (const Camera& camera : views) {
    const auto draw = [&](Filter filter) {
      return renderAlbedo(subject.surface, camera, 512, 512, appearanceColors(subject.appearance, filter));
    };
    const ImageF smooth = draw(Filter::kBilinear).image, nearest = draw(Filter::kNearest).image;
    const auto squared = squaredError(smooth, nearest);
    if (!squared) return squared.error();
    error += *squared;
    const auto similarity = ssim(smooth, nearest);
    if (!similarity) return similarity.error();
    const auto visible = flip(smooth, nearest);
    if (!visible) return visible.error();
    figures.nearest_ssim += *similarity / static_cast<double>(views.size());
    figures.nearest_flip += *visible / static_cast<double>(views.size());
  }
  figures.nearest_psnr = psnrFromMse(error.mean());
  return {};
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
    app.footer("Example:\n  heatskin demo -o demo-out");
  }

  Result<void> run(Session& session) override {
    if (auto ready = makeOutputFolder(folder_); !ready) return ready;
    pumpkin_.seed = session.common.seed;
    Console& console = session.console;
    Figures figures;
    Stopwatch watch;

    console.begin("growing the pumpkin", 0);
    const auto glb = encodeGlb(makePumpkin(pumpkin_));
    console.end();
    if (!glb) return glb.error();
    figures.generate_s = watch.lap();
    const std::filesystem::path file = folder_ / "pumpkin.glb";
    if (auto saved = saveBytes(file, *glb); !saved) return saved;

    watch.lap();
    const auto subject = loadSubject(session, file);
    if (!subject) return subject.error();
    figures.load_s = watch.lap();
    warnAbout(session, *subject);

    console.begin("measuring", 3);
    measureColors(*subject, session.common.seed, figures);
    console.update(1, "colours");
    measureWalks(*subject, session.common.seed, figures);
    console.update(2, "walks");
    if (auto measured = measureFilters(*subject, figures); !measured) return measured;
    console.end();

    ReportPage page(
        "A pumpkin without a download",
        "Made by code, painted by code, written as a GLB, read back, welded into a surface, walked on, "
        "drawn and measured by heatskin. Fitting kernels to it comes next.");
    page.tiles({{"vertices", grouped(subject->surface.vertexCount())},
                {"faces", grouped(subject->surface.faceCount())},
                {"texture", fmt::format("{0} x {0}", subject->asset.images[0].width)},
                {"colours per second", fmt::format("{:.1f} M", figures.color_mpoints_s)},
                {"walks per second", fmt::format("{:.2f} M", figures.walks_s * 1e-6)}});
    watch.lap();
    if (auto drawn = drawPictures(console, *subject, page); !drawn) return drawn;
    figures.pictures_s = watch.lap();
    return report(session, *subject, figures, page, glb->size());
  }

 private:
  /// Saves a picture and returns its bytes for the page.
  Result<std::vector<std::uint8_t>> save(const std::string& name, const ImageF& image) {
    auto png = encodePng(toPng8(image), image.width, image.height, 3);
    if (!png) return png.error();
    if (auto saved = saveBytes(folder_ / name, *png); !saved) return saved.error();
    files_.push_back(name);
    return png;
  }

  Result<void> drawPictures(Console& console, const Subject& subject, ReportPage& page) {
    const Surface& surface = subject.surface;
    const auto colors = appearanceColors(subject.appearance);
    console.begin("drawing", 5 + kTurntableFrames);
    std::size_t done = 0;
    const auto shaded = [&](const Camera& camera, int width, int height, int samples = 3, float wire = 0) {
      ShadedOptions options;
      options.supersampling = samples;
      options.wire.width = wire;
      return renderShaded(surface, camera, width, height, colors, options).image;
    };
    const Camera hero = orbitCamera(boundingSphere(surface), 22 * kDegree, 16 * kDegree, 4.0 / 3);
    const auto add = [&](const std::string& name, const ImageF& image, const char* caption,
                         bool wide = false) -> Result<void> {
      const auto png = save(name, image);
      if (!png) return png.error();
      page.picture(*png, caption, wide);
      console.update(++done, name);
      return {};
    };

    page.section("What it looks like");
    if (auto r = add("hero.png", shaded(hero, 960, 720), "Studio light."); !r) return r;
    std::vector<std::vector<std::uint8_t>> frames;
    for (const Camera& camera : turntable(surface, kTurntableFrames)) {
      const auto png = save(fmt::format("turntable_{:02}.png", frames.size()), shaded(camera, 360, 270, 2));
      if (!png) return png.error();
      frames.push_back(*png);
      console.update(++done, "turntable");
    }
    page.turntable(frames, "Drag to turn it, or use the arrow keys.");

    page.section(
        "What the next step has to live with",
        "The stem is thin, curved and joined to the body by a sharp crease: colour must not leak across it.");
    const BoundingSphere stem = stemSphere(surface);
    if (auto r = add("stem.png", shaded(orbitCamera(stem, 30 * kDegree, 25 * kDegree, 4.0 / 3), 640, 480),
                     "The stem.");
        !r)
      return r;
    if (auto r = add("mesh.png", shaded(hero, 640, 480, 3, 0.7f), "The triangles."); !r) return r;

    std::vector<ImageF> views;
    std::vector<std::string> labels;
    RenderOptions smooth;
    smooth.supersampling = 2;
    smooth.background = Vec3f(1, 1, 1);
    for (const Camera& camera : standardViews(surface)) {
      labels.push_back(fmt::format("view {}", views.size()));
      views.push_back(renderAlbedo(surface, camera, 256, 256, colors, smooth).image);
    }
    SheetOptions sheet;
    sheet.columns = 4;
    page.section("The eight standard views", "Colours without light, as the evaluation compares them.");
    if (auto r =
            add("views.png", contactSheet(views, labels, sheet), "Azimuth in steps of 45 degrees.", true);
        !r)
      return r;

    page.section("Texture and mesh");
    const AtlasBuffer atlas = rasteriseAtlas(surface, subject.appearance);
    if (auto r = add("atlas.png", atlasPicture(atlas, colors, Vec3f(1, 1, 1)),
                     "The UV atlas the asset comes with, drawn from the surface.");
        !r)
      return r;
    console.end();
    return {};
  }

  Result<void> report(Session& session, const Subject& subject, const Figures& figures, ReportPage& page,
                      std::size_t glb_bytes) {
    const Surface& surface = subject.surface;
    const SurfaceReport& mesh = surface.report();
    const bench::Machine machine = bench::describeMachine();
    const double peak_mb = static_cast<double>(bench::peakResidentBytes()) * 1e-6;
    const std::vector<std::string> warnings = messages(subject.notices, true);
    std::string problems;
    for (const std::string& warning : warnings)
      problems += (problems.empty() ? "" : "; ") + warning;

    page.table("Mesh", {{"Vertices, welded", grouped(mesh.vertices)},
                        {"Vertices, as stored", grouped(subject.asset.stored_vertices)},
                        {"Faces", grouped(mesh.faces)},
                        {"Components", grouped(mesh.components)},
                        {"Boundary edges", grouped(mesh.boundary_edges)},
                        {"Non-manifold edges", grouped(mesh.nonmanifold_edges)},
                        {"Area, normalised", fmt::format("{:.4f}", surface.totalArea())},
                        {"Mean edge, normalised", fmt::format("{:.4f}", surface.meanEdgeLength())},
                        {"Problems", problems.empty() ? "none" : problems},
                        {"File", humanBytes(static_cast<double>(glb_bytes))}});
    page.table("Measured in this run",
               {{"Growing and painting", humanSeconds(figures.generate_s)},
                {"Reading, surface, appearance", humanSeconds(figures.load_s)},
                {"Drawing all pictures", humanSeconds(figures.pictures_s)},
                {"Colour queries, nearest texel", fmt::format("{:.1f} M/s", figures.color_mpoints_s)},
                {fmt::format("Walks of length {:g}", kWalkLength),
                 fmt::format("{:.2f} M/s", figures.walks_s * 1e-6)},
                {"Walks that reached their end",
                 fmt::format("{} of {}", grouped(figures.walks_complete), grouped(kWalks))},
                {"Nearest against bilinear, 8 views",
                 fmt::format("{:.1f} dB, SSIM {:.4f}, FLIP {:.4f}", figures.nearest_psnr,
                             figures.nearest_ssim, figures.nearest_flip)},
                {"Peak memory", fmt::format("{:.0f} MB", peak_mb)},
                {"Threads", std::to_string(threadCount())}});
    page.footer(fmt::format("heatskin {}, seed {}. {}, {} cores, {}, {} build.", kVersion,
                            session.common.seed, machine.cpu, machine.cores, machine.compiler,
                            machine.build));

    const Json json = {{"version", kVersion},
                       {"seed", session.common.seed},
                       {"threads", threadCount()},
                       {"vertices", mesh.vertices},
                       {"faces", mesh.faces},
                       {"components", mesh.components},
                       {"boundary_edges", mesh.boundary_edges},
                       {"nonmanifold_edges", mesh.nonmanifold_edges},
                       {"warnings", warnings},
                       {"area", jsonNumber(surface.totalArea())},
                       {"texture_size", subject.asset.images[0].width},
                       {"glb_bytes", glb_bytes},
                       {"mean_color",
                        {jsonNumber(figures.mean_color[0]), jsonNumber(figures.mean_color[1]),
                         jsonNumber(figures.mean_color[2])}},
                       {"generate_s", jsonNumber(figures.generate_s)},
                       {"load_s", jsonNumber(figures.load_s)},
                       {"pictures_s", jsonNumber(figures.pictures_s)},
                       {"color_mpoints_s", jsonNumber(figures.color_mpoints_s)},
                       {"walks_per_s", jsonNumber(figures.walks_s)},
                       {"walks", kWalks},
                       {"walks_complete", figures.walks_complete},
                       {"walk_crossings", jsonNumber(figures.walk_crossings)},
                       {"nearest_vs_bilinear",
                        {{"view_psnr", jsonNumber(figures.nearest_psnr)},
                         {"view_ssim", jsonNumber(figures.nearest_ssim)},
                         {"view_flip", jsonNumber(figures.nearest_flip)}}},
                       {"peak_rss_mb", jsonNumber(peak_mb)},
                       {"pictures", files_}};
    Console& console = session.console;
    if (auto saved = saveJson(console, (folder_ / "report.json").string(), json); !saved) return saved;
    if (auto saved = saveText(folder_ / "report.html", page.html()); !saved) return saved;

    console.heading("The pumpkin");
    console.table(
        {{"mesh", fmt::format("{}, {}, {} problems", counted(mesh.vertices, "vertex", "vertices"),
                              counted(mesh.faces, "face", "faces"), warnings.size())},
         {"reading", fmt::format("{} for file, surface and appearance", humanSeconds(figures.load_s))},
         {"colours", fmt::format("{:.1f} million per second", figures.color_mpoints_s)},
         {"walks", fmt::format("{:.2f} million per second, {} of {} reached their end",
                               figures.walks_s * 1e-6, grouped(figures.walks_complete), grouped(kWalks))},
         {"filters", fmt::format("nearest against bilinear: {:.1f} dB, SSIM {:.4f}, FLIP {:.4f}",
                                 figures.nearest_psnr, figures.nearest_ssim, figures.nearest_flip)},
         {"pictures", fmt::format("{} in {}", files_.size(), humanSeconds(figures.pictures_s))},
         {"memory", fmt::format("{:.0f} MB at most", peak_mb)},
         {"report", oneLine(displayPath(folder_ / "report.html"))}});
    return saveJson(console, session.common.json, json);
  }

  std::filesystem::path folder_ = "demo-out";
  PumpkinOptions pumpkin_;
  std::vector<std::string> files_;
};

}  // namespace

std::unique_ptr<Verb> makeDemo() {
  return std::make_unique<Demo>();
}

}  // namespace heatskin::cli
