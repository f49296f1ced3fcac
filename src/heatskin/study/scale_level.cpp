#include "heatskin/study/scale_level.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

#include <malloc.h>

#include "heatskin/appearance/appearance_target.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/demo/pumpkin.h"
#include "heatskin/evaluation/evaluate.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/glb_writer.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/study/subdivide.h"
#include "heatskin/training/fit.h"

namespace heatskin::study {
namespace {

double statusBytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(key + ":", 0) == 0) return std::stod(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}

/// Resident bytes now; the high-water mark begins anew.
double restartPeak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
  return statusBytes("VmRSS");
}

}  // namespace

Result<void> writeScaleLevel(const std::filesystem::path& source, int resolution, int level,
                             const std::filesystem::path& output) {
  Asset asset;
  if (!source.empty()) {
    auto loaded = loadAsset(source);
    if (!loaded) return loaded.error();
    asset = std::move(*loaded);
    subdivide(asset, level);
  } else {
    PumpkinOptions pumpkin;
    pumpkin.resolution = resolution << (2 * level);
    asset = makePumpkin(pumpkin);
  }
  GlbOptions glb;
  glb.normals = false;
  return writeGlb(output, asset, glb);
}

Result<ScaleFigures> measureScale(const std::filesystem::path& mesh, const FitConfig& config) {
  ScaleFigures figures;
  const double nothing = restartPeak();
  Stopwatch watch;
  auto loaded = loadAsset(mesh);
  if (!loaded) return loaded.error();
  figures.load_s = watch.lap();
  const auto asset = openAssetToFit(std::move(*loaded), config.evaluator.method);
  if (!asset) return asset.error();
  figures.surface_s = watch.lap();
  figures.load_peak_mb = (statusBytes("VmHWM") - nothing) * 1e-6;
  const double input = restartPeak();
  figures.input_mb = (input - nothing) * 1e-6;

  const AppearanceTarget target(asset->appearance, config.train.filter);
  PreprocessingCache no_cache;
  FitControl control;
  control.cache = &no_cache;
  auto fitted = fit(*asset->surface, target, config, control);
  if (!fitted) return fitted.error();
  const auto texture = KernelTexture::withEvaluator(asset->surface, fitted->kernels,
                                                    config.evaluator.options(), fitted->evaluator);
  if (!texture) return texture.error();
  EvaluationOptions evaluation;
  evaluation.atlas_size = evaluation.view_size = 0;
  const auto quality = evaluate(*texture, asset->appearance, evaluation);
  if (!quality) return quality.error();

  figures.vertices = asset->surface->vertexCount();
  figures.faces = asset->surface->faceCount();
  figures.channels = target.layout().size();
  figures.proxy_s = fitted->preprocess_seconds;
  figures.init_s = fitted->init_seconds;
  figures.setup_s = figures.load_s + figures.surface_s + fitted->init_seconds;
  figures.step_ms = 1e3 * fitted->median_step_seconds;
  figures.optimise_s = fitted->history.optimise_seconds;
  figures.query_mpoints_s = quality->query_mpoints_s;
  figures.beyond_mb = (statusBytes("VmHWM") - input) * 1e-6;
  figures.psnr = std::min(quality->surface_psnr_filtered, 200.0);
  figures.seam_p99 = quality->seam ? quality->seam->p99 : 0;
  figures.seam_max = quality->seam ? quality->seam->maximum : 0;
  return figures;
}

}  // namespace heatskin::study
