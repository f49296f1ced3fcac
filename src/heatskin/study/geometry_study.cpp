// How well distances and directions are measured without solving for them (paper, "Locality and geometric
// validation", table "geometry"): unfolding, Euclidean chord and shortest path along edges against exact
// geodesics; unfolded directions against those of the exact geodesics.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <queue>

#include <fmt/format.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/plural.h"
#include "heatskin/base/rng.h"
#include "heatskin/evaluation/unfolding_accuracy.h"
#include "heatskin/evaluators/local/supports.h"
#include "heatskin/figures/plot.h"
#include "heatskin/geodesic/exact_geodesic.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/metrics/statistics.h"
#include "heatskin/study/aggregate.h"
#include "heatskin/study/fit_run.h"
#include "heatskin/study/studies.h"
#include "heatskin/surface/sampling.h"

namespace heatskin::study {
namespace {

constexpr std::size_t kSources = 40, kQuickSources = 3;
constexpr double kRadius = 0.4;

/// Step of the differences that give exact directions, in units of the face's size. Distances are exact to
/// about 1e-9, so directions are to about 1e-5.
constexpr double kDifferenceStep = 1e-3;

/// Where two shortest paths meet, the distance has no direction: the difference of its values is then shorter
/// than 1.
constexpr double kNoDirection = 0.01;

/// Published (paper, table "geometry" and the text): per cent and degrees, on spot.
struct PublishedGeometry {
  const char* rule;
  double median, p90, p99;
};
constexpr std::array kPublishedGeometry = {PublishedGeometry{"unfold_paper", 0.03, 1.0, 6.9},
                                           PublishedGeometry{"euclid", 1.9, 10.8, 27.4},
                                           PublishedGeometry{"dijkstra", 6.9, 17.1, 32.9}};

struct DistanceRule {
  const char* key;
  const char* title;
};
constexpr std::array kDistanceRules = {DistanceRule{"unfold_paper", "unfolding, the paper's rule"},
                                       DistanceRule{"unfold_ours", "unfolding, our rule"},
                                       DistanceRule{"euclid", "Euclidean chord"},
                                       DistanceRule{"dijkstra", "shortest path along edges"}};

/// Those of preset `compact`.
local::LocalOptions ourRule() {
  const auto config = presetConfig("compact");
  return config ? config->evaluator.local : local::LocalOptions();
}

/// Lengths of the shortest paths along edges from a vertex, up to a radius.
std::vector<double> edgeDistances(const Surface& surface,
                                  const std::vector<std::vector<std::uint32_t>>& neighbours,
                                  std::uint32_t source, double radius) {
  std::vector<double> distances(surface.vertexCount(), std::numeric_limits<double>::infinity());
  using Entry = std::pair<double, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  distances[source] = 0;
  open.emplace(0, source);
  while (!open.empty()) {
    const auto [distance, v] = open.top();
    open.pop();
    // Paths along edges are longer than the exact ones, at most twice on all but degenerate meshes.
    if (distance > distances[v] || distance > 3 * radius) continue;
    for (const std::uint32_t w : neighbours[v]) {
      const double next = distance + (surface.positions()[w] - surface.positions()[v]).norm();
      if (next < distances[w]) {
        distances[w] = next;
        open.emplace(next, w);
      }
    }
  }
  return distances;
}

void addErrors(Json& values, const std::string& key, const std::vector<double>& errors) {
  for (const auto& [name, q] : {std::pair{"_median", 50.0}, std::pair{"_p90", 90.0}, std::pair{"_p99", 99.0}})
    values[key + name] = jsonNumber(percentile(errors, q));
}

/// Angles in degrees between unfolded and exact directions from a point to the vertices within the radius.
std::vector<double> directionErrors(const Surface& surface, const SurfacePoint& source,
                                    const local::LocalOptions& options) {
  const double size = std::sqrt(surface.areas()[source.face]);
  const Vec2 center = surface.faceCoordinates(source);
  const double h = kDifferenceStep * size;
  ExactGeodesicOptions bounded;
  bounded.radius = kRadius + 2 * h;
  std::array<std::vector<double>, 4> around;
  const std::array<Vec2, 4> steps = {Vec2(h, 0), Vec2(-h, 0), Vec2(0, h), Vec2(0, -h)};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    around[i] =
        exactGeodesics(surface, {source.face, surface.barycentric(source.face, center + steps[i])}, bounded)
            .distances;
  }

  local::SupportSource from;
  from.face = source.face;
  from.center = center.cast<float>();
  from.radius = static_cast<float>(kRadius);
  const local::SupportBuilder builder(surface, options);
  std::vector<std::uint8_t> seen(surface.vertexCount(), 0);
  std::vector<double> errors;
  for (const auto& [face, motion] : builder.propagate(from)) {
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint32_t v = surface.faces()[face][c];
      // The first face that reaches a vertex decides, as for distances.
      if (seen[v] != 0) continue;
      seen[v] = 1;
      const Vec2 offset = surface.corners()[face][c] - Vec2(motion.x, motion.y);
      const Vec2 unfolded(motion.cosine * offset.x() + motion.sine * offset.y(),
                          -motion.sine * offset.x() + motion.cosine * offset.y());
      const Vec2 gradient((around[0][v] - around[1][v]) / (2 * h), (around[2][v] - around[3][v]) / (2 * h));
      // Distances grow away from the vertex.
      const Vec2 exact = -gradient, direction = unfolded - center;
      if (!std::isfinite(exact.norm()) || std::abs(exact.norm() - 1) > kNoDirection || direction.norm() < h)
        continue;
      const double angle = std::abs(std::atan2(cross2(exact, direction), exact.dot(direction)));
      errors.push_back(angle * 180 / std::numbers::pi);
    }
  }
  return errors;
}

class GeometryStudy final : public Study {
 public:
  std::string_view name() const override { return "geometry"; }
  std::string_view summary() const override {
    return "unfolded, Euclidean and edge-graph distances and directions against exact geodesics";
  }

  Result<std::vector<StudyRun>> plan(const StudySettings& settings) const override {
    std::vector<MeshSpec> own;
    // One resolution of the pumpkin and one coarse version of each object are enough here.
    for (const MeshSpec& mesh : standardMeshes(settings)) {
      const bool pumpkin = mesh.file.empty() && mesh.set == "main";
      if (mesh.set == "main" && (!pumpkin || mesh.resolution == 3000)) own.push_back(mesh);
    }
    std::vector<StudyRun> runs;
    for (const MeshSpec& mesh : meshesFor(settings, std::move(own))) {
      auto json = toJson(mesh);
      if (!json) return json.error();
      StudyRun run;
      run.name = fmt::format("{}_geometry", mesh.name);
      run.work = {
          {"mesh", *json}, {"sources", settings.quick ? kQuickSources : kSources}, {"radius", kRadius}};
      run.cost = settings.quick ? 1 : 30;
      runs.push_back(std::move(run));
    }
    return runs;
  }

  Result<StudyOutcome> execute(const Json& work, const RunContext& /*context*/) const override {
    auto asset = makeAsset(meshFromJson(work.at("mesh")));
    if (!asset) return asset.error();
    SurfaceOptions plain;
    plain.principal_axes = false;
    const auto surface = buildSurface(*asset, plain);
    if (!surface) return surface.error();
    const auto count = work.value("sources", kSources);
    StudyOutcome outcome;
    Json& values = outcome.values;
    values["vertices"] = surface->vertexCount();
    values["faces"] = surface->faceCount();

    // Vertices of area-uniform faces: parts with small triangles do not count more.
    const std::vector<SurfacePoint> points = sampleSurface(*surface, count, 0);
    std::vector<std::uint32_t> sources;
    for (const SurfacePoint& p : points)
      sources.push_back(surface->faces()[p.face][0]);
    const auto exact = exactDistances(*surface, sources, kRadius);
    if (exact.empty()) return failure("exact distances cannot be computed on this mesh");

    for (const auto& [key, options] :
         {std::pair{"unfold_paper", local::LocalOptions()}, std::pair{"unfold_ours", ourRule()}}) {
      const UnfoldingAccuracy accuracy = unfoldingAccuracy(*surface, exact, kRadius, options);
      const std::string prefix = key;
      values["pairs"] = accuracy.pairs;
      values[prefix + "_median"] = jsonNumber(accuracy.median);
      values[prefix + "_p90"] = jsonNumber(accuracy.p90);
      values[prefix + "_p99"] = jsonNumber(accuracy.p99);
      values[prefix + "_missed"] = jsonNumber(100 * accuracy.missed);
      values[prefix + "_below_exact"] = jsonNumber(100 * accuracy.below_exact);
    }
    addOthers(*surface, exact, values);
    for (const auto& [key, options] :
         {std::pair{"direction_paper", local::LocalOptions()}, std::pair{"direction_ours", ourRule()}}) {
      std::vector<std::vector<double>> parts(points.size());
      parallelFor(points.size(), 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
          parts[i] = directionErrors(*surface, {points[i].face, Vec3::Constant(1.0 / 3)}, options);
      });
      std::vector<double> errors;
      for (const auto& part : parts)
        errors.insert(errors.end(), part.begin(), part.end());
      addErrors(values, key, errors);
      values["direction_pairs"] = errors.size();
    }
    return outcome;
  }

  StudyReport report(std::span<const StudyRow> rows, const std::filesystem::path& /*folder*/) const override {
    StudyReport report;
    report.title = "Geometry";
    ReportTable distances{
        "Errors of distances, per cent: median / p90 / p99", {"mesh", "vertices", "pairs"}, {}};
    for (const DistanceRule& rule : kDistanceRules)
      distances.header.emplace_back(rule.title);
    ReportTable others{"Directions (degrees: median / p90 / p99) and pairs that unfolding misses",
                       {"mesh", "directions, paper's rule", "directions, our rule", "missed, paper's rule",
                        "missed, our rule", "too short, paper's rule"},
                       {}};
    const auto three = [](const StudyRow& row, const std::string& key) {
      return fmt::format("{:.3f} / {:.2f} / {:.2f}", row.number(key + "_median"), row.number(key + "_p90"),
                         row.number(key + "_p99"));
    };
    for (const StudyRow& row : rows) {
      if (!row.error.empty()) continue;
      const std::string mesh = row.text("mesh/name");
      std::vector<std::string> line = {mesh, grouped(static_cast<std::size_t>(row.number("vertices"))),
                                       grouped(static_cast<std::size_t>(row.number("pairs")))};
      for (const DistanceRule& rule : kDistanceRules)
        line.push_back(three(row, rule.key));
      distances.rows.push_back(std::move(line));
      others.rows.push_back({mesh, three(row, "direction_paper"), three(row, "direction_ours"),
                             fmt::format("{:.2f} %", row.number("unfold_paper_missed")),
                             fmt::format("{:.2f} %", row.number("unfold_ours_missed")),
                             fmt::format("{:.1f} %", row.number("unfold_paper_below_exact"))});
    }
    std::vector<std::string> published = {"spot, paper", "2,930", "8,108"};
    for (const DistanceRule& rule : kDistanceRules) {
      std::string text;
      for (const PublishedGeometry& p : kPublishedGeometry) {
        if (std::string_view(p.rule) == rule.key) text = fmt::format("{} / {} / {}", p.median, p.p90, p.p99);
      }
      published.push_back(text);
    }
    distances.rows.push_back(std::move(published));
    others.rows.push_back({"spot, paper", "1.9 / 11.0 / -", "", "2.8 %", "", ""});
    report.tables = {std::move(distances), std::move(others)};
    for (const DistanceRule& rule : kDistanceRules) {
      std::vector<double> medians;
      for (const StudyRow& row : rows) {
        const double value = row.number(std::string(rule.key) + "_median");
        if (row.error.empty() && std::isfinite(value)) medians.push_back(value);
      }
      report.summary[rule.key]["median"] = toJson(meanInterval(medians));
    }
    report.notes = {
        "Exact geodesics by our own solver. Distances from vertices of 40 area-uniform faces to all vertices "
        "within 0.4 (longest "
        "side 2).",
        "Directions from the centroids of these faces: unfolded against the gradient of the exact distance "
        "at the source, by "
        "differences of exact solutions. The paper compares with a vector-heat log map, which is itself an "
        "approximation. Vertices "
        "with two shortest paths have no direction and are left out.",
        "\"Our rule\" is that of preset compact: the visibility window is carried through all edges, edge "
        "tolerance 0.3."};
    report.figure = drawPlot(figure(rows));
    return report;
  }

 private:
  static void addOthers(const Surface& surface, const std::vector<ExactDistances>& exact, Json& values) {
    std::vector<std::vector<std::uint32_t>> neighbours(surface.vertexCount());
    for (const auto& face : surface.faces()) {
      for (std::size_t e = 0; e < 3; ++e) {
        neighbours[face[e]].push_back(face[(e + 1) % 3]);
        neighbours[face[(e + 1) % 3]].push_back(face[e]);
      }
    }
    std::vector<double> euclid, dijkstra;
    for (const ExactDistances& from : exact) {
      const std::vector<double> along = edgeDistances(surface, neighbours, from.source, kRadius);
      for (std::uint32_t v = 0; v < surface.vertexCount(); ++v) {
        const double truth = from.vertices[v];
        if (v == from.source || !(truth <= kRadius)) continue;
        const double chord = (surface.positions()[v] - surface.positions()[from.source]).norm();
        euclid.push_back(100 * std::abs(chord - truth) / truth);
        if (std::isfinite(along[v])) dijkstra.push_back(100 * std::abs(along[v] - truth) / truth);
      }
    }
    addErrors(values, "euclid", euclid);
    addErrors(values, "dijkstra", dijkstra);
  }

  static Plot figure(std::span<const StudyRow> rows) {
    Plot plot;
    plot.title = "Errors of distances and directions within 0.4, p90";
    plot.columns = 2;
    plot.panel_width = 560;
    plot.panel_height = 380;
    PlotPanel distances, directions;
    distances.title = "distance";
    distances.y.label = "error at p90, %";
    distances.y.scale = AxisScale::kLogarithmic;
    directions.title = "direction of unfolding";
    directions.y.label = "error at p90, degrees";
    for (const StudyRow& row : rows) {
      if (row.error.empty()) distances.x.categories.push_back(row.text("mesh/name"));
    }
    directions.x.categories = distances.x.categories;
    const auto series = [&](const std::string& key, const std::string& title, std::string_view color) {
      PlotSeries made;
      made.name = title;
      made.color = color;
      made.mark = PlotMark::kDots;
      made.radius = 5;
      double x = 0;
      for (const StudyRow& row : rows) {
        if (row.error.empty()) made.points.push_back({x++, row.number(key + "_p90")});
      }
      return made;
    };
    for (std::size_t i = 0; i < kDistanceRules.size(); ++i)
      distances.series.push_back(series(kDistanceRules[i].key, kDistanceRules[i].title, plotColor(i)));
    directions.series = {series("direction_paper", kDistanceRules[0].title, plotColor(0)),
                         series("direction_ours", kDistanceRules[1].title, plotColor(1))};
    plot.panels = {std::move(distances), std::move(directions)};
    return plot;
  }
};

}  // namespace

std::unique_ptr<Study> makeGeometryStudy() {
  return std::make_unique<GeometryStudy>();
}

}  // namespace heatskin::study
