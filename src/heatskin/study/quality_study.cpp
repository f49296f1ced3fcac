// Quality of all methods on all meshes (paper, "Aggregate and per-mesh quality"): view PSNR above all,
// compared mesh by mesh.

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "heatskin/figures/plot.h"
#include "heatskin/study/aggregate.h"
#include "heatskin/study/fit_run.h"
#include "heatskin/study/studies.h"

namespace heatskin::study {
namespace {

/// Published figures (paper, table "quality" and the text before it), on the paper's own meshes.
struct PublishedQuality {
  const char* set;
  const char* method;
  double view_psnr, view_ssim, view_lpips, surface_psnr;
};
constexpr std::array kPublishedQuality = {PublishedQuality{"main", "hktex", 31.35, 0.937, 0.065, 31.68},
                                          PublishedQuality{"main", "pf", 29.37, 0.935, 0.072, 29.72},
                                          PublishedQuality{"main", "pq", 32.00, 0.940, 0.058, 32.39},
                                          PublishedQuality{"low", "hktex", 29.82, 0.947, 0.058, 29.65},
                                          PublishedQuality{"low", "pf", 29.92, 0.946, 0.054, 29.62},
                                          PublishedQuality{"low", "pq", 30.76, 0.954, 0.050, 30.76}};

struct PublishedChange {
  const char* set;
  const char* text;
};
constexpr std::array kPublishedChanges = {PublishedChange{"main", "+0.647 (sd 1.444), 9/10 wins, p = 0.0107"},
                                          PublishedChange{"low", "+0.945 (sd 0.717), 7/8 wins, p = 0.0352"}};

struct Figure {
  const char* key;
  const char* title;
  int decimals;
  Better better;
};
constexpr std::array kFigures = {Figure{"view_psnr", "view PSNR, dB", 2, Better::kHigher},
                                 Figure{"view_ssim", "view SSIM", 4, Better::kHigher},
                                 Figure{"view_flip", "view FLIP", 4, Better::kLower},
                                 Figure{"view_lpips", "view LPIPS", 4, Better::kLower},
                                 Figure{"five_frame_psnr", "five-frame PSNR, dB", 2, Better::kHigher},
                                 Figure{"surface_psnr", "surface PSNR, dB", 2, Better::kHigher},
                                 Figure{"atlas_psnr", "atlas PSNR, dB", 2, Better::kHigher},
                                 Figure{"coverage_below_half", "uncovered, share", 4, Better::kLower}};

/// Compared mesh by mesh: candidate and baseline.
constexpr std::array<std::pair<const char*, const char*>, 5> kPairs = {
    {{"pq", "hktex"}, {"pf", "hktex"}, {"pq", "pf"}, {"thermal", "hktex"}, {"compact", "pq"}}};

std::vector<std::string> setsIn(std::span<const StudyRow> rows) {
  std::vector<std::string> sets;
  for (const StudyRow& row : rows) {
    const std::string set = row.text("mesh/set");
    if (std::find(sets.begin(), sets.end(), set) == sets.end()) sets.push_back(set);
  }
  return sets;
}

std::string titleOf(std::span<const StudyRow> rows, std::string_view method) {
  for (const auto& [name, title] : methodsIn(rows)) {
    if (name == method) return title;
  }
  return std::string(method);
}

class QualityStudy final : public FitStudy {
 public:
  std::string_view name() const override { return "quality"; }
  std::string_view summary() const override {
    return "HKTex, LocalHK PF and PQ, ThermalRF and our preset on all meshes, main and low-poly set";
  }

  Result<std::vector<StudyRun>> plan(const StudySettings& settings) const override {
    FitPlan fits;
    fits.meshes = meshesFor(settings, standardMeshes(settings));
    fits.methods = methodsFor(settings, paperMethods());
    fits.seeds = seedsFor(settings);
    return planFits(fits, settings);
  }

  StudyReport report(std::span<const StudyRow> rows, const std::filesystem::path& /*folder*/) const override {
    StudyReport report;
    report.title = "Quality";
    for (const std::string& set : setsIn(rows)) {
      const auto in_set = [&](const StudyRow& row) { return row.text("mesh/set") == set; };
      addAggregate(report, rows, set, in_set);
      addComparisons(report, rows, set, in_set);
      report.tables.push_back(
          perMeshTable(rows, set, "view_psnr", 2, fmt::format("View PSNR by mesh, dB, set {}", set)));
      report.tables.push_back(
          perMeshTable(rows, set, "surface_psnr", 2, fmt::format("Surface PSNR by mesh, dB, set {}", set)));
      report.tables.push_back(
          perMeshTable(rows, set, "coverage_below_half", 4,
                       fmt::format("Share of the surface with a weight sum below 0.5, set {}", set)));
    }
    if (ReportTable refused = refusals(rows); !refused.rows.empty())
      report.tables.push_back(std::move(refused));
    report.notes = {
        "Seeds are averaged per mesh first, meshes have equal weight. ± is half of the 95 % interval of the "
        "mean by "
        "Student's t over meshes, (n) their number; p is that of an exact one-sided sign test.",
        "Meshes that the paper's rules do not admit are measured with LocalHK only, and count in no "
        "comparison with a "
        "method that refuses them.",
        "\"paper\" are the published figures on the paper's own meshes; only signs and sizes of differences "
        "compare.",
        "Textures are read with the paper's formula. Coarse meshes (set low) have a texture with a place of "
        "its own for "
        "every triangle, so their atlas is one of triangles."};
    report.figure = drawPlot(figure(rows));
    return report;
  }

 private:
  template <class Keep>
  static void addAggregate(StudyReport& report, std::span<const StudyRow> rows, const std::string& set,
                           const Keep& keep) {
    ReportTable table{
        fmt::format("Means over the meshes that all methods take, set {}", set), {"method"}, {}};
    std::vector<const Figure*> shown;
    std::vector<MeshTable> figures;
    for (const Figure& figure : kFigures) {
      MeshTable values = tabulate(rows, figure.key, keep);
      bool any = false;
      for (const auto& method : values.methods)
        any = any || !values.values(method).empty();
      if (!any) continue;
      keepCommon(values);
      shown.push_back(&figure);
      figures.push_back(std::move(values));
      table.header.emplace_back(figure.title);
    }
    Json& json = report.summary[set]["means"];
    for (const auto& [name, title] : methodsIn(rows)) {
      std::vector<std::string> line = {title};
      for (std::size_t f = 0; f < shown.size(); ++f) {
        const MeanInterval interval = meanInterval(figures[f].values(name));
        line.push_back(intervalText(interval, shown[f]->decimals));
        json[name][shown[f]->key] = toJson(interval);
      }
      table.rows.push_back(std::move(line));
      for (const PublishedQuality& published : kPublishedQuality) {
        if (set != published.set || name != published.method) continue;
        std::vector<std::string> paper = {title + ", paper"};
        for (const Figure* figure : shown) {
          const std::string_view key = figure->key;
          paper.push_back(key == "view_psnr"      ? fmt::format("{:.2f}", published.view_psnr)
                          : key == "view_ssim"    ? fmt::format("{:.3f}", published.view_ssim)
                          : key == "view_lpips"   ? fmt::format("{:.3f}", published.view_lpips)
                          : key == "surface_psnr" ? fmt::format("{:.2f}", published.surface_psnr)
                                                  : std::string());
        }
        table.rows.push_back(std::move(paper));
      }
    }
    report.tables.push_back(std::move(table));
  }

  /// Only meshes that every method has: means are then over the same ones.
  static void keepCommon(MeshTable& table) {
    for (std::size_t m = 0; m < table.meshes.size(); ++m) {
      bool all = true;
      for (const auto& values : table.means)
        all = all && values[m].has_value();
      if (all) continue;
      for (auto& values : table.means)
        values[m].reset();
    }
  }

  template <class Keep>
  static void addComparisons(StudyReport& report, std::span<const StudyRow> rows, const std::string& set,
                             const Keep& keep) {
    ReportTable table{fmt::format("Mesh by mesh, set {}: difference, wins, sign test", set),
                      {"", "view PSNR, dB", "surface PSNR, dB", "view PSNR, paper"},
                      {}};
    const MeshTable views = tabulate(rows, "view_psnr", keep), surface = tabulate(rows, "surface_psnr", keep);
    for (const auto& [candidate, baseline] : kPairs) {
      const Comparison by_view = compare(views, candidate, baseline),
                       by_surface = compare(surface, candidate, baseline);
      if (by_view.difference.count == 0) continue;
      std::string paper;
      for (const PublishedChange& published : kPublishedChanges) {
        if (set == published.set && std::string_view(candidate) == "pq" &&
            std::string_view(baseline) == "hktex")
          paper = published.text;
      }
      table.rows.push_back({fmt::format("{} - {}", titleOf(rows, candidate), titleOf(rows, baseline)),
                            comparisonText(by_view, 3), comparisonText(by_surface, 3), paper});
      Json& json = report.summary[set]["pairs"][fmt::format("{}-{}", candidate, baseline)];
      json["view_psnr"] = toJson(by_view);
      json["surface_psnr"] = toJson(by_surface);
      if (std::string_view(candidate) == "pq" && std::string_view(baseline) == "hktex") {
        report.lead.push_back(fmt::format("Set {}: LocalHK PQ against HKTex, view PSNR in dB: {}.", set,
                                          comparisonText(by_view, 2)));
      }
    }
    if (!table.rows.empty()) report.tables.push_back(std::move(table));
  }

  static Plot figure(std::span<const StudyRow> rows) {
    Plot plot;
    plot.title = "View PSNR by mesh";
    plot.columns = 2;
    plot.panel_width = 520;
    plot.panel_height = 380;
    for (const std::string& set : setsIn(rows)) {
      const auto keep = [&](const StudyRow& row) { return row.text("mesh/set") == set; };
      const MeshTable table = tabulate(rows, "view_psnr", keep);
      PlotPanel all;
      all.title = fmt::format("all methods, set {}", set);
      all.y.label = "view PSNR, dB";
      all.x.categories = table.meshes;
      PlotPanel changes;
      changes.title = fmt::format("against HKTex, set {}", set);
      changes.y.label = "difference, dB";
      for (const auto& [name, title] : methodsIn(rows)) {
        PlotSeries dots, bars;
        dots.name = bars.name = title;
        dots.color = bars.color = methodColor(name);
        dots.mark = PlotMark::kDots;
        dots.radius = 4.5;
        bars.mark = PlotMark::kBars;
        std::size_t method = 0;
        while (method < table.methods.size() && table.methods[method] != name)
          ++method;
        const auto &values = table.of(name), &baseline = table.of("hktex");
        for (std::size_t m = 0; m < values.size(); ++m) {
          if (!values[m]) continue;
          const double sd = table.seed_sd[method][m];
          dots.points.push_back({static_cast<double>(m), *values[m], *values[m] - sd, *values[m] + sd});
          // Our preset differs in everything; beside it the others' differences could not be seen.
          if (name == "hktex" || name == "compact" || m >= baseline.size() || !baseline[m]) continue;
          // Only meshes with a baseline have a place.
          const auto place =
              std::find(changes.x.categories.begin(), changes.x.categories.end(), table.meshes[m]);
          const auto x = static_cast<double>(place - changes.x.categories.begin());
          if (place == changes.x.categories.end()) changes.x.categories.push_back(table.meshes[m]);
          bars.points.push_back({x, *values[m] - *baseline[m]});
        }
        all.series.push_back(std::move(dots));
        if (!bars.points.empty()) changes.series.push_back(std::move(bars));
      }
      plot.panels.push_back(std::move(all));
      if (!changes.series.empty()) plot.panels.push_back(std::move(changes));
    }
    plot.notes = {
        "Dots: means over seeds, with the standard deviation of the seeds. Bars: differences of such means."};
    return plot;
  }
};

}  // namespace

std::unique_ptr<Study> makeQualityStudy() {
  return std::make_unique<QualityStudy>();
}

}  // namespace heatskin::study
