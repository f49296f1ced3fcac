#pragma once

// One object on finer and finer meshes: making a level, and measuring what a method needs for it. Memory is
// that of the process, so whoever wants it to be one level's own measures in a process of its own.

#include <cstddef>
#include <filesystem>

#include "heatskin/base/result.h"
#include "heatskin/training/config.h"

namespace heatskin::study {

/// Writes the asset of a level as GLB: `source` with every triangle cut into four `level` times; without a
/// source the pumpkin with `resolution` vertices, four times as many with each level.
Result<void> writeScaleLevel(const std::filesystem::path& source, int resolution, int level,
                             const std::filesystem::path& output);

/// What a level costs. Seconds, milliseconds, megabytes (10^6 bytes).
struct ScaleFigures {
  std::size_t vertices = 0, faces = 0, channels = 0;
  double load_s = 0, surface_s = 0;
  double proxy_s = 0;     ///< the evaluator's preprocessing
  double init_s = 0;      ///< from the surface to the first step
  double setup_s = 0;     ///< from the file to the first step
  double step_ms = 0;     ///< median
  double optimise_s = 0;  ///< all steps
  double query_mpoints_s = 0;
  double input_mb = 0;      ///< that hold the mesh: asset, surface, texture coordinates
  double load_peak_mb = 0;  ///< while it was loaded
  double beyond_mb = 0;     ///< what fitting and evaluating took on top of the input, at most
  double psnr = 0;          ///< surface PSNR as samplers filter, at most 200
  double seam_p99 = 0, seam_max = 0;
};

/// Loads, fits and evaluates, nothing from a cache. Refuses what the method refuses.
Result<ScaleFigures> measureScale(const std::filesystem::path& mesh, const FitConfig& config);

}  // namespace heatskin::study
