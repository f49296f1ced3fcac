// New texture atlases: time and used area, ours beside xatlas where node and its package are there. Without
// an asset: a million triangles that share nothing, some of them without area.

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "heatskin/bake/atlas_charts.h"
#include "heatskin/bake/pack_charts.h"
#include "heatskin/base/plural.h"
#include "heatskin/base/rng.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/pipeline/node_tools.h"

#include "bench/harness.h"

namespace heatskin::bench::atlas {
namespace {

constexpr std::size_t kSoupTriangles = 1'000'000;
constexpr int kSide = 2048, kSoupSide = 8192, kGutter = 2;
constexpr double kXatlasSeconds = 120;

AtlasMesh soup(std::uint64_t seed) {
  AtlasMesh mesh;
  const RandomStream random(seed, 0);
  for (std::uint32_t t = 0; t < kSoupTriangles; ++t) {
    auto& corners = mesh.corners.emplace_back();
    const double size = t % 100 == 0 ? 0 : 0.01 + 0.02 * random.uniform(10 * std::uint64_t{t} + 9);
    for (std::uint32_t c = 0; c < 3; ++c) {
      for (std::uint32_t k = 0; k < 3; ++k)
        corners[c][k] = size * random.uniform(10 * std::uint64_t{t} + 3 * c + k);
    }
    mesh.across.push_back({kNone, kNone, kNone});
    mesh.vertices.push_back({3 * t, 3 * t + 1, 3 * t + 2});
  }
  return mesh;
}

double processorSeconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

Result<BenchReport> runAtlasBench(const BenchOptions& options) {
  BenchReport report;
  report.name = "atlas";
  AtlasMesh mesh;
  int side = kSide;
  if (options.asset.empty()) {
    mesh = soup(options.seed);
    side = kSoupSide;
    report.subject = fmt::format("{} triangles that share nothing", grouped(mesh.size()));
  } else {
    LoadOptions load;
    load.load_images = false;
    const auto asset = loadAsset(options.asset, load);
    if (!asset) return asset.error();
    SurfaceOptions surface_options;
    surface_options.principal_axes = false;
    const auto surface = buildSurface(*asset, surface_options);
    if (!surface) return surface.error();
    std::vector<std::uint32_t> faces(surface->faceCount());
    std::iota(faces.begin(), faces.end(), 0u);
    mesh = atlasMesh(*surface, faces);
    report.subject =
        fmt::format("{}, {} faces", options.asset.filename().string(), grouped(surface->faceCount()));
  }
  std::vector<double> grow, pack;
  AtlasCharts charts;
  PackOptions pack_options;
  pack_options.width = pack_options.height = side;
  pack_options.gutter = kGutter;
  Result<PackedAtlas> packed = failure("");
  for (int i = 0; i < options.repeats; ++i) {
    const double start = processorSeconds();
    charts = growCharts(mesh);
    const double between = processorSeconds();
    packed = packCharts(charts, pack_options);
    if (!packed) return packed.error();
    grow.push_back(between - start);
    pack.push_back(processorSeconds() - between);
  }
  report.rows.push_back(measuredRow("charts_s", "s", grow, "processor time, one thread"));
  report.rows.push_back(measuredRow("pack_s", "s", pack, fmt::format("{} x {} texels", side, side)));
  report.rows.push_back(countedRow("charts", "charts", static_cast<double>(charts.size())));
  report.rows.push_back(countedRow("area_used", "of the image", packed->area_used));
  report.rows.push_back(countedRow("gutter", "texels", packed->gutter));
  report.rows.push_back(countedRow("shrunk_charts", "charts", static_cast<double>(packed->shrunk_charts)));
  std::vector<std::uint32_t> chart_of;
  Result<PackedAtlas> other = failure("");
  const double seconds = secondsOf([&] { other = xatlasOf(mesh, side, kGutter, kXatlasSeconds, chart_of); });
  if (other) {
    std::uint32_t most = 0;
    for (const std::uint32_t chart : chart_of)
      most = std::max(most, chart + 1);
    report.rows.push_back(countedRow("xatlas_s", "s", seconds, "wall clock, in WebAssembly"));
    report.rows.push_back(countedRow("xatlas_charts", "charts", most));
    report.rows.push_back(countedRow("xatlas_area_used", "of the image", other->area_used));
  } else {
    report.rows.push_back(countedRow("xatlas_s", "s", seconds, other.error().message));
  }
  return report;
}

const RegisterBench registration{
    "atlas", "new texture atlases, ours and xatlas (default: a million triangles that share nothing)",
    &runAtlasBench};

}  // namespace
}  // namespace heatskin::bench::atlas
