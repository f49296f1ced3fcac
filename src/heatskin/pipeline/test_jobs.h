#pragma once

// Small assets and fits that take a moment, for the tests of this module.

#include <filesystem>

#include "heatskin/io/asset.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/training/config.h"

#include "support/products.h"

namespace heatskin::testing {

/// A bumpy sphere with vertex colours that change smoothly. Its positions are not those a file would hold.
inline Asset coloredSphere(int level = 2) {
  Asset asset = assetOf(bumpySphere(level, 0.2, 1));
  Primitive& primitive = asset.meshes[0].primitives[0];
  for (const Vec3& p : primitive.positions) {
    const Vec3f c = (0.5 * (p.normalized() + Vec3::Ones())).cast<float>();
    primitive.colors.emplace_back(c[0], c[1], c[2], 1.0f);
  }
  return asset;
}

inline FitConfig smallConfig(Method method = Method::kLocal) {
  FitConfig config = *presetConfig("draft");
  config.evaluator.method = method;
  config.evaluator.thermal.rank = 32;
  config.evaluator.thermal.oversampling = 16;
  config.evaluator.spectral.modes = 40;
  config.train.steps = 30;
  config.train.batch = 256;
  config.train.sampling.pool = 5000;
  setKernelBudget(config, 60);
  return config;
}

/// A job whose preprocessing is kept nowhere.
inline FitJob smallJob(Method method = Method::kLocal) {
  static PreprocessingCache none;
  FitJob job;
  job.config = smallConfig(method);
  job.control.cache = &none;
  job.evaluation.surface_samples = 2000;
  job.evaluation.seam_samples = 500;
  job.evaluation.atlas_size = 0;
  job.evaluation.view_size = 64;
  job.evaluation.query_runs = 0;
  job.keep_budget = true;
  return job;
}

/// Without a cache on disk.
inline OpenOptions quietly() {
  static PreprocessingCache none;
  OpenOptions options;
  options.cache = &none;
  return options;
}

}  // namespace heatskin::testing
