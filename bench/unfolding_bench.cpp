// How well developments measure distance: the geometry table of the paper on spot, against the exact
// distances of 40 vertices that lie beside it.

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

#include "heatskin/base/files.h"
#include "heatskin/evaluation/unfolding_accuracy.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/surface/surface.h"

#include "bench/harness.h"

namespace heatskin::bench::unfolding {
namespace {

constexpr double kRadius = 0.4;
/// The other sources: every 73rd vertex from the 31st, around the mesh.
constexpr std::uint32_t kOtherStride = 73, kOtherFirst = 31;

/// The rules that are compared: the paper's with several tolerances, and ours.
constexpr struct {
  const char* name;
  local::Sight sight;
  double tolerance;
} kRules[] = {
    {"last_edge_0.1", local::Sight::kLastEdge, 0.1},   {"last_edge_0", local::Sight::kLastEdge, 0},
    {"last_edge_0.05", local::Sight::kLastEdge, 0.05}, {"last_edge_0.2", local::Sight::kLastEdge, 0.2},
    {"carried_0.1", local::Sight::kCarried, 0.1},      {"carried_0.3", local::Sight::kCarried, 0.3},
    {"carried_0.5", local::Sight::kCarried, 0.5},
};
constexpr double kSamePlace = 1e-6;  // surface units; vertices of the file are 1e-3 apart or more

/// Vertex positions of an OBJ, in the order of the file: the table counts vertices as the file does.
Result<std::vector<Vec3>> objPositions(const std::filesystem::path& path) {
  const auto bytes = readFile(path);
  if (!bytes) return bytes.error();
  std::istringstream text(std::string(bytes->begin(), bytes->end()));
  std::vector<Vec3> result;
  for (std::string line; std::getline(text, line);) {
    Vec3 p;
    if (std::sscanf(line.c_str(), "v %lf %lf %lf", &p[0], &p[1], &p[2]) == 3) result.push_back(p);
  }
  return result;
}

/// The surface's vertex for every vertex of the file.
Result<std::vector<std::uint32_t>> matchVertices(const Surface& surface, const std::vector<Vec3>& in_file) {
  std::vector<std::uint32_t> ours(in_file.size(), kNone);
  for (std::size_t i = 0; i < in_file.size(); ++i) {
    const Vec3 p = surface.surfaceFromAsset()(in_file[i]);
    for (std::uint32_t v = 0; v < surface.vertexCount() && ours[i] == kNone; ++v) {
      if ((surface.positions()[v] - p).norm() < kSamePlace) ours[i] = v;
    }
    if (ours[i] == kNone) return failure(fmt::format("vertex {} of the OBJ is not on the surface", i));
  }
  return ours;
}

/// source_index,source_vertex,target_vertex,exact_distance, gzipped.
Result<std::vector<ExactDistances>> readTable(const std::filesystem::path& path,
                                              const std::vector<std::uint32_t>& ours,
                                              std::uint32_t vertex_count) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) return inputError(fmt::format("{}: cannot be opened", displayPath(path)));
  std::map<unsigned, ExactDistances> rows;
  char line[256];
  gzgets(file.get(), line, sizeof(line));  // the header
  while (gzgets(file.get(), line, sizeof(line)) != nullptr) {
    unsigned index = 0, source = 0, target = 0;
    double distance = 0;
    if (std::sscanf(line, "%u,%u,%u,%lf", &index, &source, &target, &distance) != 4 ||
        source >= ours.size() || target >= ours.size()) {
      return inputError(fmt::format("{}: a line is not a distance: {}", displayPath(path), line));
    }
    ExactDistances& row = rows[index];
    row.source = ours[source];
    row.vertices.resize(vertex_count, std::numeric_limits<double>::infinity());
    row.vertices[ours[target]] = distance;
  }
  std::vector<ExactDistances> result;
  for (auto& [index, row] : rows)
    result.push_back(std::move(row));
  if (result.empty()) return inputError(fmt::format("{}: has no distances", displayPath(path)));
  return result;
}

Result<BenchReport> runUnfoldingBench(const BenchOptions& options) {
  BenchReport report;
  report.name = "unfolding";
  if (!options.asset.empty()) {
    return usageError("bench unfolding has exact distances for spot only; leave out --asset");
  }
  const std::filesystem::path folder = assetsFolder();
  if (folder.empty()) {
    return inputError("bench unfolding needs the shared assets; set HEATSKIN_ASSETS to their folder");
  }
  const auto path = folder / "spot" / "spot_triangulated.obj";
  LoadOptions load;
  load.load_images = false;
  const auto asset = loadAsset(path, load);
  if (!asset) return asset.error();
  const auto surface = buildSurface(*asset);
  if (!surface) return surface.error();
  const auto in_file = objPositions(path);
  if (!in_file) return in_file.error();
  const auto ours = matchVertices(*surface, *in_file);
  if (!ours) return ours.error();
  auto exact = readTable(folder / "spot" / "exact_distances.csv.gz", *ours, surface->vertexCount());
  if (!exact) return exact.error();

  // The table has vertices only; faces are added from our own solver.
  Progress& progress = options.progress != nullptr ? *options.progress : silentProgress();
  progress.begin("exact distances to faces", 0);
  std::vector<std::uint32_t> sources;
  for (const ExactDistances& row : *exact)
    sources.push_back(row.source);
  auto solved = exactDistances(*surface, sources, kRadius);
  for (std::size_t i = 0; i < solved.size(); ++i)
    (*exact)[i].centroids = std::move(solved[i].centroids);

  // Sources that no setting was chosen on, from our own solver.
  std::vector<std::uint32_t> others(sources.size());
  for (std::uint32_t i = 0; i < others.size(); ++i)
    others[i] = (i * kOtherStride + kOtherFirst) % surface->vertexCount();
  const auto others_exact = exactDistances(*surface, others, kRadius);
  progress.end();

  report.subject = fmt::format("spot, {} sources and as many others, radius {:g}", exact->size(), kRadius);
  const auto measure = [&](std::span<const ExactDistances> distances, const char* suffix) {
    for (const auto& rule : kRules) {
      local::LocalOptions unfolding;
      unfolding.sight = rule.sight;
      unfolding.edge_tolerance = rule.tolerance;
      const UnfoldingAccuracy result = unfoldingAccuracy(*surface, distances, kRadius, unfolding);
      const auto add = [&](const char* name, const char* unit, double value, std::string note = {}) {
        report.rows.push_back(
            countedRow(fmt::format("{}_{}{}", name, rule.name, suffix), unit, value, std::move(note)));
      };
      add("distance_error_median", "%", result.median,
          fmt::format("{} pairs of a source and a vertex", result.pairs));
      add("distance_error_p90", "%", result.p90);
      add("distance_error_p99", "%", result.p99);
      add("below_exact", "%", 100 * result.below_exact, "developed too short");
      add("missed", "%", 100 * result.missed, "vertices within the radius, no face of which is reached");
      add("faces_missed", "%", 100 * result.faces_missed,
          fmt::format("of {} faces whose centroid is within the radius", result.face_pairs));
    }
  };
  measure(*exact, "");
  measure(others_exact, "_others");
  return report;
}

const RegisterBench registration{"unfolding",
                                 "distance errors of unfoldings against exact geodesics on spot",
                                 &runUnfoldingBench,
                                 {"--seed", "--repeats"}};

}  // namespace
}  // namespace heatskin::bench::unfolding
