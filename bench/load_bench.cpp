// How fast large assets become surfaces, and how much memory that takes: the two largest shared assets, and
// the built-in pumpkin with about a million faces, written to a temporary GLB first so that reading a file is
// part of it.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/demo/pumpkin.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/glb_writer.h"
#include "heatskin/surface/surface.h"

#include "bench/harness.h"

namespace heatskin::bench::load {
namespace {

namespace fs = std::filesystem;

/// Vertices of the large pumpkin: about a million faces.
constexpr int kLargeVertices = 500'000;

/// A line of /proc/self/status in bytes; 0 where there is none.
double statusBytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(key + ":", 0) == 0) return std::stod(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}

/// Peak resident memory above the present level while `work` runs. The kernel's high-water mark is reset
/// first.
double peakBytesOf(const std::function<void()>& work) {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
  const double before = statusBytes("VmRSS");
  work();
  return std::max(0.0, statusBytes("VmHWM") - before);
}

/// A file that disappears with the bench.
struct TemporaryFile {
  fs::path path = fs::temp_directory_path() / fmt::format("heatskin_bench_{}.glb", ::getpid());
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
};

struct Subject {
  std::string name;
  fs::path path;
};

Result<void> measure(const Subject& subject, const BenchOptions& options, BenchReport& report) {
  std::vector<double> load, surface, appearance;
  double faces = 0, peak = 0;
  for (int run = 0; run <= options.repeats; ++run) {
    std::string error;
    double seconds[3] = {};
    const double bytes = peakBytesOf([&] {
      Result<Asset> asset = Error{};
      seconds[0] = secondsOf([&] { asset = loadAsset(subject.path); });
      if (!asset) return void(error = asset.error().message);
      Result<Surface> built = Error{};
      seconds[1] = secondsOf([&] { built = buildSurface(*asset); });
      if (!built) return void(error = built.error().message);
      seconds[2] = secondsOf([&] { const Appearance look(*asset, *built); });
      faces = built->faceCount();
    });
    if (!error.empty()) return inputError(error);
    if (run == 0) continue;  // warms the file cache
    load.push_back(seconds[0]);
    surface.push_back(seconds[1]);
    appearance.push_back(seconds[2]);
    peak = std::max(peak, bytes);
  }
  const auto perMillion = [&](std::vector<double> values) {
    for (double& v : values)
      v *= 1e6 / faces;
    return values;
  };
  report.rows.push_back(countedRow(subject.name + "_faces", "faces", faces));
  report.rows.push_back(measuredRow(subject.name + "_load", "s/Mface", perMillion(load), "file to asset"));
  report.rows.push_back(
      measuredRow(subject.name + "_surface", "s/Mface", perMillion(surface), "asset to surface"));
  report.rows.push_back(measuredRow(subject.name + "_appearance", "s/Mface", perMillion(appearance),
                                    "texture coordinates resolved"));
  report.rows.push_back(countedRow(subject.name + "_peak", "MB/Mface", peak / faces,
                                   "peak resident memory above the start, textures included"));
  return {};
}

Result<BenchReport> runLoadBench(const BenchOptions& options) {
  BenchReport report;
  report.name = "load";
  std::vector<Subject> subjects;
  TemporaryFile large;
  if (!options.asset.empty()) {
    subjects.push_back({options.asset.stem().string(), options.asset});
  } else {
    if (const fs::path folder = assetsFolder(); !folder.empty()) {
      subjects.push_back({"toy_car", folder / "toy_car.glb"});
      subjects.push_back({"cloth", folder / "cloth.glb"});
    }
    PumpkinOptions pumpkin;
    pumpkin.resolution = kLargeVertices;
    const Result<void> written = writeGlb(large.path, makePumpkin(pumpkin));
    if (!written) return written.error();
    subjects.push_back({"pumpkin_1m", large.path});
  }
  for (const Subject& subject : subjects) {
    report.subject += (report.subject.empty() ? "" : ", ") + subject.name;
    if (const Result<void> done = measure(subject, options, report); !done) return done.error();
  }
  return report;
}

const RegisterBench registration{
    "load", "time and memory from file to surface, per million faces", &runLoadBench, {"--seed"}};

}  // namespace
}  // namespace heatskin::bench::load
