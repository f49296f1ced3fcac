// What finer meshes cost (paper, "Efficiency and scaling", figure "scaling"): one object, every triangle cut
// into four again and again; set-up, step, queries, memory. The same measurement as `bench scale`.

#include <algorithm>
#include <array>
#include <cmath>
#include <system_error>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heatskin/base/plural.h"
#include "heatskin/figures/plot.h"
#include "heatskin/study/aggregate.h"
#include "heatskin/study/fit_run.h"
#include "heatskin/study/scale_figure.h"
#include "heatskin/study/scale_level.h"
#include "heatskin/study/studies.h"

namespace heatskin::study {
namespace {

namespace fs = std::filesystem;

constexpr int kScaleLevels = 5, kScaleSteps = 120;

/// The paper measured full preprocessing up to 46,850 vertices and extrapolated beyond; ours refuses above
/// 120,000.
constexpr int kSpectralLevels = 3, kThermalLevels = 4;

/// Published (paper, text and figure "scaling"): HKTex preprocessing in seconds by vertices; the two largest
/// are extrapolated lower bounds.
struct PublishedScale {
  double vertices, seconds;
  bool extrapolated;
};
constexpr std::array kPublishedScale = {PublishedScale{2930, 122, false}, PublishedScale{46850, 750, false},
                                        PublishedScale{187394, 3248, true},
                                        PublishedScale{749570, 15471, true}};

/// Makes the level in a process of its own, so that what it needs does not count for what is measured
/// afterwards.
Result<void> makeLevelApart(const MeshSpec& mesh, int level, const fs::path& output) {
  const pid_t pid = ::fork();
  if (pid < 0) return failure("a process cannot be started");
  if (pid == 0) {
    int code = 1;
    try {
      code = writeScaleLevel(mesh.file, mesh.resolution, level, output).ok() ? 0 : 1;
    } catch (...) {
    }
    ::_exit(code);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return failure(fmt::format("level {} cannot be made", level));
  return {};
}

class ScalingStudy final : public Study {
 public:
  std::string_view name() const override { return "scaling"; }
  std::string_view summary() const override {
    return "set-up, step, queries and memory of one object at growing resolutions";
  }
  bool timed() const override { return true; }

  Result<std::vector<StudyRun>> plan(const StudySettings& settings) const override {
    const std::vector<MethodSpec> own = {{"local", "LocalHK PQ with proxy", "paper", {}},
                                         {"v0",
                                          "LocalHK V0 without proxy",
                                          "paper",
                                          {"local.window_sigma=0", "local.candidate_rule=per_face",
                                           "local.max_radius=0.4", "local.proxy_faces=0"}},
                                         {"thermal", "ThermalRF", "paper", {"method=thermal"}},
                                         {"spectral", "HKTex", "paper", {"method=spectral"}}};
    const MeshSpec mesh = meshesFor(settings, {subjectNamed(settings, "spot")}).front();
    auto mesh_json = toJson(mesh);
    if (!mesh_json) return mesh_json.error();
    std::vector<std::string> options = settings.subjects.options;
    // All 5,000 kernels from the start, as in the paper: steps are few.
    options.insert(options.begin(),
                   {fmt::format("steps={}", settings.quick ? 50 : kScaleSteps), "start.kernels=5000"});
    if (settings.quick)
      options.insert(options.end(), {"start.kernels=200", "density.max_kernels=200", "batch=512"});
    std::vector<StudyRun> runs;
    for (const MethodSpec& method : methodsFor(settings, own)) {
      const auto config = configOf(method, options, 0);
      if (!config) return config.error();
      if (settings.quick && config->evaluator.method != Method::kLocal) continue;
      int levels = settings.quick ? 2 : kScaleLevels;
      if (config->evaluator.method == Method::kSpectral) levels = std::min(levels, kSpectralLevels);
      if (config->evaluator.method == Method::kThermal) levels = std::min(levels, kThermalLevels);
      for (int level = 0; level < levels; ++level) {
        StudyRun run;
        run.name = fmt::format("{}_{}_level{}", mesh.name, method.name, level);
        run.work = {{"mesh", *mesh_json}, {"method", toJson(method)}, {"level", level}, {"options", options}};
        run.cost = (config->evaluator.method == Method::kLocal ? 20.0 : 60.0) * std::pow(3.0, level);
        runs.push_back(std::move(run));
      }
    }
    return runs;
  }

  Result<StudyOutcome> execute(const Json& work, const RunContext& context) const override {
    const MeshSpec mesh = meshFromJson(work.at("mesh"));
    const auto config =
        configOf(methodFromJson(work.at("method")), work.value("options", std::vector<std::string>()), 0);
    if (!config) return config.error();
    const fs::path file = context.folder / "level.glb";
    if (auto made = makeLevelApart(mesh, work.value("level", 0), file); !made) return made.error();
    StudyOutcome outcome;
    const auto figures = measureScale(file, *config);
    std::error_code ignored;
    fs::remove(file, ignored);
    if (!figures) {
      if (figures.error().kind != ErrorKind::kInput) return figures.error();
      outcome.values["refused"] = figures.error().message;
      return outcome;
    }
    outcome.values = {{"vertices", figures->vertices},
                      {"faces", figures->faces},
                      {"surface_psnr_filtered", jsonNumber(figures->psnr)},
                      {"seam_jump_p99", jsonNumber(figures->seam_p99)},
                      {"seam_jump_max", jsonNumber(figures->seam_max)}};
    outcome.timing = {{"setup_s", figures->setup_s},       {"load_s", figures->load_s},
                      {"surface_s", figures->surface_s},   {"preprocess_s", figures->proxy_s},
                      {"init_s", figures->init_s},         {"median_step_ms", figures->step_ms},
                      {"optimise_s", figures->optimise_s}, {"query_mpoints_s", figures->query_mpoints_s},
                      {"input_mb", figures->input_mb},     {"load_peak_mb", figures->load_peak_mb},
                      {"beyond_mb", figures->beyond_mb}};
    return outcome;
  }

  StudyReport report(std::span<const StudyRow> rows, const fs::path& /*folder*/) const override {
    StudyReport report;
    report.title = "Scaling";
    ReportTable table{"One object on finer and finer meshes",
                      {"method", "vertices", "set-up, s", "preprocessing, s", "median step, ms",
                       "queries, million/s", "memory beyond the input, MB", "PSNR, dB"},
                      {}};
    for (const StudyRow& row : rows) {
      const auto number = [&](std::string_view key, int decimals) {
        const double value = row.number(key);
        return std::isfinite(value) ? fmt::format("{:.{}f}", value, decimals) : std::string("-");
      };
      const double vertices = row.number("vertices");
      table.rows.push_back({row.text("method/title"),
                            std::isfinite(vertices) ? grouped(static_cast<std::size_t>(vertices))
                                                    : "level " + row.text("level"),
                            row.values.contains("refused") ? "refused" : number("setup_s", 2),
                            number("preprocess_s", 2), number("median_step_ms", 2),
                            number("query_mpoints_s", 2), number("beyond_mb", 0),
                            number("surface_psnr_filtered", 2)});
    }
    report.tables.push_back(std::move(table));
    if (ReportTable refused = refusals(rows); !refused.rows.empty())
      report.tables.push_back(std::move(refused));
    report.notes = {
        "Everything from the start with 5,000 kernels and 120 steps, as in the paper; nothing from a cache. "
        "Every triangle is "
        "cut into four from level to level, so the polyhedron and its texture stay the same.",
        "Paper: HKTex preprocessing 122 s at 2,930 and 750 s at 46,850 vertices, extrapolated to 3,248 s at "
        "187,394 and "
        "15,471 s at 749,570; LocalHK with its proxy 17.23 to 17.63 ms a step and 3.393 to 3.443 million "
        "queries a second from "
        "the smallest to the largest mesh (A100)."};
    report.figure = drawPlot(figure(rows));
    return report;
  }

 private:
  static Plot figure(std::span<const StudyRow> rows) {
    std::vector<ScalePoint> points;
    for (const auto& [name, title] : methodsIn(rows)) {
      for (const StudyRow& row : rows) {
        if (row.text("method/name") != name || !std::isfinite(row.number("vertices"))) continue;
        for (const char* panel : kScalePanels) {
          const std::string key = std::string_view(panel) == "step_ms" ? "median_step_ms" : panel;
          const double value = row.number(key);
          if (std::isfinite(value)) points.push_back({panel, name, title, row.number("vertices"), value});
        }
      }
    }
    Plot plot = scalePlot(points);
    PlotSeries paper;
    paper.name = "HKTex preprocessing, paper (A100)";
    paper.color = "#5b6470";
    paper.dash = "7 4";
    for (const PublishedScale& published : kPublishedScale) {
      PlotPoint point{published.vertices, published.seconds};
      point.hollow = published.extrapolated;
      paper.points.push_back(point);
    }
    plot.panels.front().series.push_back(std::move(paper));
    plot.notes = {"Rings and dashes: extrapolated in the paper."};
    return plot;
  }
};

}  // namespace

std::unique_ptr<Study> makeScalingStudy() {
  return std::make_unique<ScalingStudy>();
}

}  // namespace heatskin::study
