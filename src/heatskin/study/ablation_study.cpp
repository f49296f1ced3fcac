// What makes the difference on spot (paper, "What closes the spot quality gap?"; METHOD section 12): one
// change at a time, from the first version of LocalHK to today's.

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "heatskin/evaluation/picture_quality.h"
#include "heatskin/figures/plot.h"
#include "heatskin/pipeline/evaluate_product.h"
#include "heatskin/study/aggregate.h"
#include "heatskin/study/fit_run.h"
#include "heatskin/study/studies.h"
#include "heatskin/surface/sampling.h"

namespace heatskin::study {
namespace {

constexpr double kNotPublished = std::numeric_limits<double>::quiet_NaN();

/// "V0" is the paper's first version: no window, candidates per face, a larger cap of the radius (METHOD
/// section 8).
const std::vector<std::string> kV0 = {"local.window_sigma=0", "local.candidate_rule=per_face",
                                      "local.max_radius=0.4"};

struct AblationRow {
  MethodSpec method;
  double paper = kNotPublished;  ///< published surface PSNR (one seed)
  double reference =
      kNotPublished;  ///< of an independent implementation (METHOD section 12), mean of its runs
};

AblationRow v0(std::string name, std::string title, std::vector<std::string> changes, double paper,
               double reference) {
  AblationRow row{{std::move(name), std::move(title), "paper", {}}, paper, reference};
  for (const std::string& option : kV0) {
    const std::string key = option.substr(0, option.find('='));
    // A change of V0's own option replaces it.
    if (std::none_of(changes.begin(), changes.end(),
                     [&](const std::string& c) { return c.starts_with(key + "="); }))
      row.method.options.push_back(option);
  }
  row.method.options.insert(row.method.options.end(), changes.begin(), changes.end());
  return row;
}

const std::vector<AblationRow>& ablationRows() {
  static const std::vector<AblationRow> kRows = [] {
    // Thirty times the paper's rate.
    const std::string sharp = "rates.sharpness=0.03865710735247593";
    std::vector<AblationRow> rows = {
        {{"hktex", "HKTex", "paper", {"method=spectral"}}, 33.62, 34.17},
        {{"hktex_seeded", "HKTex, coverage seeding", "paper", {"method=spectral", "density.rule=budget"}},
         kNotPublished,
         kNotPublished},
        {{"thermal", "ThermalRF", "paper", {"method=thermal"}}, 33.90, 34.34},
        v0("v0", "V0: no window, PF", {}, 31.17, 32.16),
        v0("v0_short", "V0, split along the short axis", {"density.split_axis=short"}, 31.17, 31.59),
        v0("v0_isotropic", "V0, isotropic", {"local.isotropic=true"}, 23.23, 24.70),
        v0("v0_euclidean", "V0, Euclidean distance and frame", {"local.euclidean=true"}, 31.02, 31.25),
        v0("v0_cap100", "V0, candidate cap 100", {"local.candidates=100"}, 30.97, kNotPublished),
        v0("v0_rebuild1", "V0, rebuild every step", {"rebuild_interval=1"}, 30.91, kNotPublished),
        v0("v0_radius", "V0, hard radius 0.2", {"local.max_radius=0.2"}, 31.29, 31.89),
        v0("v0_sharp", "V0, radius 0.2, sharpness rate x30", {"local.max_radius=0.2", sharp}, 32.16, 32.46),
        v0("v0_time", "V0, radius 0.2, t = 0.02", {"local.max_radius=0.2", "local.diffusion_time=0.02"},
           32.77, 32.37),
        {{"window_pf", "window 0.1, PF", "paper", {"local.candidate_rule=per_face"}}, 35.33, kNotPublished},
        {{"window_pf_short",
          "window 0.1, PF, split along the short axis",
          "paper",
          {"local.candidate_rule=per_face", "density.split_axis=short"}},
         35.33,
         35.46},
        {{"window_pq", "window 0.1, PQ (preset paper)", "paper", {}}, 35.33, 35.68},
        {{"angles", "PQ, angles not transported", "paper", {"transport_angle=false", "wrap_angle=false"}},
         kNotPublished,
         kNotPublished},
        {{"clamp", "PQ, straight-through clamp", "paper", {"clamp_gradient=straight_through"}},
         kNotPublished,
         kNotPublished},
        {{"window_007", "PQ, window 0.07", "paper", {"local.window_sigma=0.07"}},
         kNotPublished,
         kNotPublished},
        {{"cosine", "PQ, cosine decay", "paper", {"rates.decay=cosine"}}, kNotPublished, kNotPublished},
        {{"batch", "PQ, batch 16,384", "paper", {"batch=16384"}}, kNotPublished, kNotPublished},
        {{"pq_seeded", "PQ, coverage seeding", "paper", {"density.rule=budget"}},
         kNotPublished,
         kNotPublished},
        {{"compact", "our preset compact", "compact", {"filter=paper"}}, kNotPublished, kNotPublished}};
    return rows;
  }();
  return kRows;
}

const AblationRow* ablationRow(std::string_view method) {
  for (const AblationRow& row : ablationRows()) {
    if (row.method.name == method) return &row;
  }
  return nullptr;
}

std::string listed(const std::vector<double>& values) {
  std::string text;
  for (const double value : values)
    text += fmt::format("{}{:.2f}", text.empty() ? "" : ", ", value);
  return text;
}

std::string optional(double value) {
  return std::isfinite(value) ? fmt::format("{:.2f}", value) : "";
}

/// How much of the error is where no kernel reaches, which no step of the paper's density control can mend:
/// the PSNR of the rest. On the samples of the evaluation: another 200,000 differ by a tenth of a decibel.
void addHoles(const FittedRun& fitted, std::size_t samples, Json& values) {
  const KernelTexture& texture = fitted.stored.texture;
  const auto reference = referenceOf(fitted.stored, fitted.asset);
  if (!reference) return;
  const std::vector<SurfacePoint> points =
      sampleSurface(texture.surface(), samples, EvaluationOptions().seed, kEvaluationStream);
  std::vector<Vec3f> colors(points.size()), truth(points.size());
  std::vector<float> weights(points.size());
  texture.colors(points, colors, weights);
  reference->colors(points, truth, fitted.config.train.filter);
  double covered_error = 0, error = 0;
  std::size_t covered = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double squared = (colors[i] - truth[i]).cast<double>().squaredNorm();
    error += squared;
    if (weights[i] < 0.5f) continue;
    covered_error += squared;
    ++covered;
  }
  const auto psnr = [](double sum, std::size_t count) {
    return -10 * std::log10(sum / (3 * static_cast<double>(std::max<std::size_t>(1, count))));
  };
  values["covered_psnr"] = jsonNumber(psnr(covered_error, covered));
  values["uncovered_error_share"] = jsonNumber(error > 0 ? 1 - covered_error / error : 0);
}

class AblationStudy final : public Study {
 public:
  std::string_view name() const override { return "ablation"; }
  std::string_view summary() const override {
    return "one change at a time on spot: window, anisotropy, geometry, candidates, rates, seeding";
  }

  Result<std::vector<StudyRun>> plan(const StudySettings& settings) const override {
    FitPlan fits;
    fits.meshes = meshesFor(settings, {subjectNamed(settings, "spot")});
    std::vector<MethodSpec> own;
    for (const AblationRow& row : ablationRows()) {
      // The smoke version takes one row of each kind.
      if (settings.quick && row.method.name != "v0" && row.method.name != "v0_isotropic" &&
          row.method.name != "window_pq")
        continue;
      own.push_back(row.method);
    }
    fits.methods = methodsFor(settings, std::move(own));
    fits.seeds = seedsFor(settings);
    fits.views = false;
    return planFits(fits, settings);
  }

  Result<StudyOutcome> execute(const Json& work, const RunContext& context) const override {
    StudyOutcome outcome;
    const auto fitted = fitRun(work, context, outcome);
    if (!fitted) return fitted.error();
    if (*fitted) addHoles(**fitted, work.value("samples", std::size_t{200'000}), outcome.values);
    return outcome;
  }

  StudyReport report(std::span<const StudyRow> rows, const std::filesystem::path& /*folder*/) const override {
    StudyReport report;
    report.title = "Ablation";
    Plot plot;
    plot.title = "Surface PSNR, one change at a time";
    plot.panel_width = 1000;
    plot.panel_height = 460;
    // Rows are meshes and seeds: every seed counts as one here, because there is one mesh.
    std::vector<std::string> meshes;
    for (const StudyRow& row : rows) {
      const std::string mesh = row.text("mesh/name");
      if (std::find(meshes.begin(), meshes.end(), mesh) == meshes.end()) meshes.push_back(mesh);
    }
    for (const std::string& mesh : meshes) {
      ReportTable table{fmt::format("Surface PSNR on {}, dB", mesh),
                        {"setting", "mean of seeds, 95 %", "seeds", "change from V0", "uncovered",
                         "error there", "without it", "paper", "change, paper", "independent reference"},
                        {}};
      PlotPanel panel;
      panel.title = mesh;
      panel.y.label = "surface PSNR, dB";
      PlotSeries ours, paper;
      ours.name = "ours, mean and 95 % of seeds";
      paper.name = "paper, one seed";
      paper.color = "#5b6470";
      ours.mark = paper.mark = PlotMark::kDots;
      ours.radius = paper.radius = 5;
      const double base = meanInterval(seedValues(rows, mesh, "v0", "surface_psnr")).mean;
      for (const auto& [name, title] : methodsIn(rows)) {
        const std::vector<double> values = seedValues(rows, mesh, name, "surface_psnr");
        const MeanInterval interval = meanInterval(values);
        const AblationRow* published = ablationRow(name);
        const double change = interval.mean - base,
                     uncovered = mean(seedValues(rows, mesh, name, "coverage_below_half")),
                     there = mean(seedValues(rows, mesh, name, "uncovered_error_share"));
        const std::vector<double> covered = seedValues(rows, mesh, name, "covered_psnr");
        table.rows.push_back({title, intervalText(interval, 2), listed(values),
                              std::isfinite(change) ? fmt::format("{:+.2f}", change) : "-",
                              std::isfinite(uncovered) ? fmt::format("{:.3f} %", 100 * uncovered) : "-",
                              std::isfinite(there) ? fmt::format("{:.1f} %", 100 * there) : "-",
                              listed(covered), published ? optional(published->paper) : "",
                              published && std::isfinite(published->paper)
                                  ? fmt::format("{:+.2f}", published->paper - 31.17)
                                  : "",
                              published ? optional(published->reference) : ""});
        Json json = study::toJson(interval);
        json["seeds"] = values;
        json["paper"] = published ? jsonNumber(published->paper) : Json(nullptr);
        report.summary[mesh][name] = std::move(json);
        const auto x = static_cast<double>(panel.x.categories.size());
        panel.x.categories.push_back(title);
        if (interval.count > 0) ours.points.push_back({x, interval.mean, interval.low, interval.high});
        if (published && std::isfinite(published->paper)) {
          PlotPoint point{x, published->paper};
          point.hollow = true;
          paper.points.push_back(point);
        }
      }
      panel.series = {ours, paper};
      plot.panels.push_back(std::move(panel));
      report.tables.push_back(std::move(table));
    }
    if (ReportTable refused = refusals(rows); !refused.rows.empty())
      report.tables.push_back(std::move(refused));
    report.notes = {
        "± is half of the 95 % interval of the mean by Student's t over seeds, (n) their number.",
        "The paper's rows are one seed each, on spot. Rows with \"radius 0.2\" follow its caption: shape "
        "repairs use the "
        "radius-0.2 setting. It does not say along which axis LocalHK splits; rows of both axes have its "
        "number. "
        "\"Independent reference\" is a separate program, the mean of one or two runs.",
        "Uncovered: share of the surface with a weight sum below 0.5; \"error there\" is its share of the "
        "squared error, \"without it\" the PSNR of all other samples, by seed.",
        "Coverage seeding is the density rule that puts kernels where none reaches (density.rule = budget) "
        "instead of the "
        "paper's, which only splits and clones."};
    report.figure = drawPlot(plot);
    return report;
  }

 private:
  static std::vector<double> seedValues(std::span<const StudyRow> rows, const std::string& mesh,
                                        std::string_view method, std::string_view figure) {
    std::vector<double> values;
    for (const StudyRow& row : rows) {
      if (row.text("mesh/name") != mesh || row.text("method/name") != method || !row.error.empty()) continue;
      const double value = row.number(figure);
      if (std::isfinite(value)) values.push_back(value);
    }
    return values;
  }
};

}  // namespace

std::unique_ptr<Study> makeAblationStudy() {
  return std::make_unique<AblationStudy>();
}

}  // namespace heatskin::study
